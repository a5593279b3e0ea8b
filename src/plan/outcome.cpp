// Puts default, uniform clock, plan and bound side by side.
#include "ergon/plan/outcome.hpp"

#include <algorithm>

namespace ergon::plan {
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
  out.uniform_is_best =
      out.uniform && out.uniform->value.energy_j <= out.plan.value.energy_j * (1 + 1e-9);
  return out;
}

Result<Outcome> decide(Problem& problem, const SingleClocks& single, const Bound& bound,
                       const SolveOptions& options) {
  ERGON_TRY(Outcome out, decide(problem, bound, options));
  if (single.retimed.empty()) return out;
  Problem all = problem;
  for (std::size_t i = 0; i < single.kept_back.size(); ++i) {
    if (!single.kept_back[i].empty()) all.packs[i].options = single.kept_back[i];
  }
  for (const Uniform& candidate : single.retimed) {
    if (candidate.value.time_s > out.deadline_s * (1 + 1e-9)) continue;
    if (out.uniform && out.uniform->value.energy_j <= candidate.value.energy_j) continue;
    Choice choice;
    for (const Pack& pack : all.packs) {
      const auto at = std::ranges::find(pack.options, candidate.clock_hz, &Option::clock_hz);
      if (at == pack.options.end()) break;
      choice.push_back(static_cast<std::uint32_t>(at - pack.options.begin()));
    }
    if (choice.size() != all.packs.size()) continue;
    out.uniform = candidate;
    out.uniform->choice = std::move(choice);
  }
  if (out.uniform && out.uniform->value.energy_j < out.plan.value.energy_j * (1 - 1e-9)) {
    problem = std::move(all);
    out.default_choice = default_choice(problem);
    out.plan = {.choice = out.uniform->choice, .value = out.uniform->value};
    const auto wide = solve(problem, out.deadline_s, options);
    if (wide) out.plan.lower_bound_j = std::min(wide->lower_bound_j, out.plan.value.energy_j);
  }
  out.uniform_is_best =
      out.uniform && (out.uniform->value.energy_j <= out.plan.value.energy_j * (1 + 1e-9) ||
                      single_clock(problem, out.plan.choice) == out.uniform->clock_hz);
  return out;
}

}  // namespace ergon::plan
