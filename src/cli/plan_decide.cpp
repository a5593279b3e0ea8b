// A plan within a bound; where none is, what the nearest one costs.
#include <algorithm>
#include <optional>

#include "planning.hpp"

namespace ergon::cli {
namespace {

Result<plan::Outcome> decide(TraceJob* job, const plan::Problem& problem,
                             const plan::Bound& bound) {
  if (job != nullptr)
    return plan::decide_trace(*job->graph, job->packs, bound, {.target_gap = 1e-3});
  return plan::decide(problem, bound);
}

}  // namespace

Result<plan::Outcome> decide_or_nearest(TraceJob* job, const plan::Problem& problem,
                                        const plan::Bound& bound) {
  std::optional<plan::Offer> before;
  if (job != nullptr) before = job->packs.offer();
  auto outcome = decide(job, problem, bound);
  if (outcome || outcome.error().code != Errc::kInfeasible) return outcome;
  auto& figures = outcome.error().figures;
  const auto figure = [&](std::string_view name) {
    return std::ranges::find(figures, name, &std::pair<std::string, double>::first);
  };
  const auto time = figure("nearest.time_s");
  const auto energy = figure("nearest.energy_j");
  if (time == figures.end() || energy == figures.end()) return outcome;
  if (before) job->packs.offer() = *std::move(before);
  const plan::Bound there{.max_slowdown = {}, .deadline = Seconds(time->second)};
  if (const auto nearest = decide(job, problem, there))
    energy->second = nearest->plan.value.energy_j;
  return outcome;
}

}  // namespace ergon::cli
