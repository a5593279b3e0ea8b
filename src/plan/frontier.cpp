// The time-energy frontier: one problem at many deadlines, work shared between them.
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "chain.hpp"
#include "coupled.hpp"
#include "ergon/plan.hpp"
#include "exact.hpp"

namespace ergon::plan {
namespace {

// A figure of an error, such as that of the fastest plan.
std::optional<double> figure(const Error& error, const char* name) {
  for (const auto& [key, value] : error.figures)
    if (key == name) return value;
  return std::nullopt;
}

// Solves one problem at many deadlines.
class Sweep {
 public:
  Sweep(const Problem& problem, const SolveOptions& options)
      : problem_(problem), options_(options) {
    const SwitchCost& cost = problem.switching;
    const bool changes = cost.time_s > 0 || cost.energy_j > 0 || cost.min_run_s > 0;
    if (!is_chain(problem) || !changes) coupled_.emplace(problem);
  }

  Result<Solution> solve(double deadline_s) {
    if (coupled_) return coupled_->solve(deadline_s, options_);
    return solve_chain(problem_, deadline_s, options_);
  }
  Result<std::vector<FrontierPoint>> at(std::span<const double> deadlines_s, bool prove);

 private:
  const Problem& problem_;
  SolveOptions options_;
  std::optional<CoupledSolver> coupled_;
};

// Where the bound is this near, a search may end in a proof.
constexpr double kNearlyProven = 0.02;       // gap x packs
constexpr std::size_t kProvable = 300;       // packs
constexpr std::size_t kLabelsPerPack = 500;  // partial plans a pack

void prove_optimum(const Problem& problem, double deadline_s, Solution& found) {
  const double gap_j = found.value.energy_j - found.lower_bound_j;
  if (found.optimal || problem.packs.size() > kProvable ||
      !(gap_j * static_cast<double>(problem.packs.size()) <= kNearlyProven * found.lower_bound_j))
    return;
  const auto proof = solve_exact(problem, deadline_s, kLabelsPerPack);
  if (!proof || proof->choice.empty()) return;
  const double bound = std::max(found.lower_bound_j, proof->lower_bound_j);
  if (proof->value.energy_j < found.value.energy_j) found = *proof;
  found.lower_bound_j = std::min(bound, found.value.energy_j);
  found.optimal = found.optimal || proof->optimal;
}

Result<std::vector<FrontierPoint>> Sweep::at(std::span<const double> deadlines_s, bool prove) {
  std::vector<std::size_t> order(deadlines_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t k) { return deadlines_s[k]; });
  std::vector<FrontierPoint> out(deadlines_s.size());
  double bound = -std::numeric_limits<double>::infinity();
  const FrontierPoint* previous = nullptr;
  for (const std::size_t k : order) {
    if (previous != nullptr && previous->deadline_s == deadlines_s[k]) {
      out[k] = *previous;
      continue;
    }
    auto found = solve(deadlines_s[k]);
    if (!found) return fail(std::move(found).error());
    if (prove) prove_optimum(problem_, deadlines_s[k], *found);
    // What no plan beats within a later deadline, none beats within this one.
    bound = std::max(bound, found->lower_bound_j);
    found->lower_bound_j = std::min(bound, found->value.energy_j);
    out[k] = {deadlines_s[k], *std::move(found)};
    previous = &out[k];
  }
  // A plan for an earlier deadline will do for a later one.
  const FrontierPoint* best = nullptr;
  for (std::size_t at = order.size(); at-- > 0;) {
    FrontierPoint& point = out[order[at]];
    if (best != nullptr && best->solution.value.energy_j < point.solution.value.energy_j) {
      const double least = point.solution.lower_bound_j;
      point.solution = best->solution;
      point.solution.lower_bound_j = std::min(least, point.solution.value.energy_j);
      point.solution.optimal = false;
    } else {
      best = &point;
    }
  }
  return out;
}

}  // namespace

Result<std::vector<FrontierPoint>> frontier_at(const Problem& problem,
                                               std::span<const double> deadlines_s,
                                               const SolveOptions& options) {
  return Sweep(problem, options).at(deadlines_s, problem.gpus.size() > 1);
}

Result<std::vector<FrontierPoint>> frontier(const Problem& problem, std::size_t points,
                                            const SolveOptions& options) {
  if (problem.packs.empty()) return std::vector<FrontierPoint>{};
  // Slower than this no plan can be; the least energy within it is the least there is.
  double slowest = problem.switching.time_s;
  for (const Pack& pack : problem.packs) {
    double most = 0;
    for (const Option& o : pack.options) most = std::max(most, o.time_s);
    double lag = 0;
    for (const After& a : pack.after) lag = std::max(lag, a.lag_s);
    slowest += most + lag + problem.switching.time_s;
  }
  Sweep sweep(problem, options);
  const auto fast = sweep.solve(0);
  double from = 0;
  if (!fast) {
    const auto time = figure(fast.error(), "nearest.time_s");
    if (!time) return fail(fast.error());
    from = *time;
  }
  ERGON_TRY(const Solution slow, sweep.solve(slowest));
  const double to = std::max(slow.value.time_s, from);
  std::vector<double> deadlines;
  const std::size_t count = std::max<std::size_t>(points, 2);
  deadlines.reserve(count);
  for (std::size_t k = 0; k < count; ++k)
    deadlines.push_back(from +
                        (to - from) * static_cast<double>(k) / static_cast<double>(count - 1));
  return sweep.at(deadlines, false);
}

}  // namespace ergon::plan
