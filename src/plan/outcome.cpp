// Puts default, uniform clock, plan and bound side by side.
#include "ergon/plan/outcome.hpp"

#include <algorithm>

namespace ergon::plan {

void settle(const Problem& problem, Outcome& out) {
  constexpr double kSame = 1e-9;
  const double energy_j = out.plan.value.energy_j;
  out.plan.optimal = out.plan.optimal || energy_j <= out.plan.lower_bound_j * (1 + kSame);
  out.uniform_is_best =
      out.uniform && (out.uniform->value.energy_j <= energy_j * (1 + kSame) ||
                      single_clock(problem, out.plan.choice) == out.uniform->clock_hz);
}

Result<Outcome> decide(const Problem& problem, const Bound& bound, const SolveOptions& options) {
  Outcome out;
  out.default_choice = default_choice(problem);
  out.default_value = evaluate(problem, out.default_choice);
  out.deadline_s = bound.deadline ? bound.deadline->si()
                                  : out.default_value.time_s * (1 + bound.max_slowdown.value_or(0));
  ERGON_TRY(out.plan, solve(problem, out.deadline_s, options));
  out.uniform = best_uniform(problem, out.deadline_s);

  if (out.uniform && out.uniform->value.energy_j < out.plan.value.energy_j) {
    out.plan.choice = out.uniform->choice;
    out.plan.value = out.uniform->value;
  }
  settle(problem, out);
  return out;
}

}  // namespace ergon::plan
