// Which optimiser a problem gets.
#include <algorithm>
#include <cmath>

#include "chain.hpp"
#include "coupled.hpp"
#include "ergon/plan.hpp"
#include "exact.hpp"

namespace ergon::plan {
namespace {

// Partial plans a pack for which a proof of optimality is worth the time, and for all packs.
constexpr std::size_t kLabels = 100'000;
constexpr std::size_t kProvable = 40;  // packs

}  // namespace

Result<Solution> solve(const Problem& problem, double deadline_s, const SolveOptions& options) {
  if (std::isnan(deadline_s) || deadline_s < 0) {
    return fail(Errc::kInvalidArgument, "the deadline is not a time of zero or more",
                "give a deadline in seconds");
  }
  if (problem.packs.empty()) return solve_exact(problem, deadline_s, 0);
  if (is_chain(problem)) return solve_chain(problem, deadline_s, options);
  // A proof where the packs are few; a certified gap elsewhere.
  if (problem.packs.size() <= kProvable) {
    auto proof = solve_exact(problem, deadline_s, kLabels);
    if (!proof || (proof->optimal && !proof->choice.empty())) return proof;
    auto found = solve_coupled(problem, deadline_s, options);
    if (!found) return proof->choice.empty() ? found : proof;
    // Both bounds hold, whichever plan is the better one.
    const double bound = std::max(found->lower_bound_j, proof->lower_bound_j);
    Solution& best =
        !proof->choice.empty() && proof->value.energy_j < found->value.energy_j ? *proof : *found;
    best.lower_bound_j = std::min(bound, best.value.energy_j);
    return std::move(best);
  }
  return solve_coupled(problem, deadline_s, options);
}

}  // namespace ergon::plan
