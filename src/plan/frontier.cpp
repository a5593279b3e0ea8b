// The time-energy frontier: one problem at many deadlines, work shared between them.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "chain.hpp"
#include "coupled.hpp"
#include "ergon/plan.hpp"
#include "evaluate.hpp"

namespace ergon::plan {
namespace {

// A figure of an error, such as that of the fastest plan.
std::optional<double> figure(const Error& error, const char* name) {
  for (const auto& [key, value] : error.figures)
    if (key == name) return value;
  return std::nullopt;
}

}  // namespace

Result<std::vector<FrontierPoint>> frontier_at(const Problem& problem,
                                               std::span<const double> deadlines_s,
                                               const SolveOptions& options) {
  std::vector<std::size_t> order(deadlines_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t k) { return deadlines_s[k]; });
  const bool chain = is_chain(problem);
  const bool changes = problem.switching.time_s > 0 || problem.switching.energy_j > 0 ||
                       problem.switching.min_run_s > 0;
  std::optional<CoupledSolver> solver;
  std::vector<FrontierPoint> out(deadlines_s.size());
  double bound = -std::numeric_limits<double>::infinity();
  for (const std::size_t k : order) {
    Result<Solution> found = fail(Errc::kInfeasible, "");
    if (chain && changes) {
      found = solve_chain(problem, deadlines_s[k], options);
    } else {
      if (!solver) solver.emplace(problem);
      found = solver->solve(deadlines_s[k], options);
    }
    if (!found) return fail(std::move(found).error());
    // What no plan beats within a later deadline, none beats within this one.
    bound = std::max(bound, found->lower_bound_j);
    found->lower_bound_j = std::min(bound, found->value.energy_j);
    out[k] = {deadlines_s[k], *std::move(found)};
  }
  // A plan for an earlier deadline will do for a later one.
  const FrontierPoint* best = nullptr;
  for (std::size_t at = order.size(); at-- > 0;) {
    FrontierPoint& point = out[order[at]];
    if (best != nullptr && best->solution.value.energy_j < point.solution.value.energy_j) {
      point.solution.choice = best->solution.choice;
      point.solution.value = best->solution.value;
      point.solution.lower_bound_j =
          std::min(point.solution.lower_bound_j, point.solution.value.energy_j);
    } else {
      best = &point;
    }
  }
  return out;
}

Result<std::vector<FrontierPoint>> frontier(const Problem& problem, std::size_t points,
                                            const SolveOptions& options) {
  if (problem.packs.empty()) return std::vector<FrontierPoint>{};
  // Slower than this no plan can be; the least energy within it is the least there is.
  double slowest = 0;
  for (const Pack& pack : problem.packs) {
    double most = 0;
    for (const Option& o : pack.options) most = std::max(most, o.time_s);
    double lag = 0;
    for (const After& a : pack.after) lag = std::max(lag, a.lag_s);
    slowest += most + lag + problem.switching.time_s;
  }
  const auto fast = solve(problem, 0, options);
  double from = 0;
  if (!fast) {
    const auto time = figure(fast.error(), "nearest.time_s");
    if (!time) return fail(fast.error());
    from = *time;
  }
  ERGON_TRY(const Solution slow, solve(problem, slowest + problem.switching.time_s, options));
  const double to = std::max(slow.value.time_s, from);
  std::vector<double> deadlines;
  const std::size_t count = std::max<std::size_t>(points, 2);
  deadlines.reserve(count);
  for (std::size_t k = 0; k < count; ++k)
    deadlines.push_back(from +
                        (to - from) * static_cast<double>(k) / static_cast<double>(count - 1));
  return frontier_at(problem, deadlines, options);
}

}  // namespace ergon::plan
