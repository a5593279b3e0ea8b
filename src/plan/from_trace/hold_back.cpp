// What is left of a late plan when the packs that make it late stay at the default clock.
#include <algorithm>
#include <deque>
#include <utility>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

// Re-timings cost in proportion to the window; so many nodes may be visited.
constexpr std::size_t kMostVisits = 300'000'000;
constexpr std::size_t kFewestRetimings = 50;
constexpr std::size_t kMostRetimings = 4'000;

}  // namespace

std::optional<Solution> hold_back(const graph::Graph& graph, const TracePacks& packs,
                                  const Solution& late, double limit_s) {
  const Problem& problem = packs.problem;
  const auto at = [&](Choice choice) {
    Solution solution;
    solution.value = evaluate(problem, choice);
    solution.choice = std::move(choice);
    return solution;
  };
  Solution best = at(default_choice(problem));
  const double default_j = best.value.energy_j;
  if (retimed_time(graph, packs, best) > limit_s) return std::nullopt;
  const std::size_t nodes = std::max<std::size_t>(1, packs.window.last - packs.window.first);
  std::size_t left = std::clamp(kMostVisits / nodes, kFewestRetimings, kMostRetimings);
  // Ever smaller parts of the late plan are taken on, as long as that is in time and saves energy.
  std::deque<std::pair<std::size_t, std::size_t>> parts = {{0, problem.packs.size()}};
  for (; !parts.empty() && left > 0; parts.pop_front()) {
    const auto [begin, end] = parts.front();
    Choice choice = best.choice;
    std::copy(late.choice.begin() + static_cast<std::ptrdiff_t>(begin),
              late.choice.begin() + static_cast<std::ptrdiff_t>(end),
              choice.begin() + static_cast<std::ptrdiff_t>(begin));
    if (choice == best.choice) continue;
    Solution more = at(std::move(choice));
    const bool saves = more.value.runs_long_enough && more.value.energy_j <= best.value.energy_j;
    if (saves) --left;
    if (saves && retimed_time(graph, packs, more) <= limit_s) {
      best = std::move(more);
    } else if (end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      parts.emplace_back(begin, middle);
      parts.emplace_back(middle, end);
    }
  }
  if (!(best.value.energy_j < default_j)) return std::nullopt;
  best.lower_bound_j = std::min(late.lower_bound_j, best.value.energy_j);
  return best;
}

}  // namespace ergon::plan
