// Puts default, uniform clock, plan and bound side by side.
#include "ergon/plan/outcome.hpp"

#include <algorithm>

namespace ergon::plan {
namespace {

constexpr double kTimeTolerance = 1e-9;  // the contract's: feasible is time <= deadline (1 + 1e-9)
constexpr int kMostRepairs = 6;

Solution from_uniform(const Uniform& uniform, double lower_bound_j) {
  return {.choice = uniform.choice,
          .value = uniform.value,
          .lower_bound_j = lower_bound_j,
          .optimal = false};
}

}  // namespace

Result<Outcome> decide(const Problem& problem, const Bound& bound, const SolveOptions& options,
                       const std::function<double(const Choice&)>& retime) {
  Outcome out;
  out.default_choice = default_choice(problem);
  out.default_value = evaluate(problem, out.default_choice);
  out.deadline_s = bound.deadline ? bound.deadline->si()
                                  : out.default_value.time_s * (1 + bound.max_slowdown.value_or(0));
  ERGON_TRY(out.plan, solve(problem, out.deadline_s, options));
  const double lower_bound = out.plan.lower_bound_j;
  out.uniform = best_uniform(problem, out.deadline_s);

  if (retime) {
    double tighter = out.deadline_s;
    double time = retime(out.plan.choice);
    while (time > out.deadline_s * (1 + kTimeTolerance) && out.repairs < kMostRepairs) {
      ++out.repairs;
      tighter -= 1.05 * (time - out.deadline_s);
      auto again = solve(problem, tighter, options);
      if (!again) break;
      out.plan = *std::move(again);
      time = retime(out.plan.choice);
    }
    out.plan.lower_bound_j = std::min(lower_bound, out.plan.value.energy_j);
    out.retimed_s = time;
  }
  if (out.uniform && out.uniform->value.energy_j < out.plan.value.energy_j) {
    out.plan = from_uniform(*out.uniform, out.plan.lower_bound_j);
    if (retime) out.retimed_s = retime(out.plan.choice);
  }
  out.uniform_is_best =
      out.uniform && out.uniform->value.energy_j <= out.plan.value.energy_j * (1 + 1e-9);
  return out;
}

}  // namespace ergon::plan
