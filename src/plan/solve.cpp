// Which optimiser a problem gets.
#include <algorithm>
#include <cmath>

#include "chain.hpp"
#include "ergon/plan.hpp"
#include "exact.hpp"

namespace ergon::plan {
namespace {

// Partial plans a pack for which a proof of optimality is worth the time, and for all packs.
constexpr std::size_t kLabels = 100'000;
constexpr std::size_t kAllLabels = 4'000'000;

}  // namespace

Result<Solution> solve(const Problem& problem, double deadline_s, const SolveOptions& options) {
  if (std::isnan(deadline_s) || deadline_s < 0) {
    return fail(Errc::kInvalidArgument, "the deadline is not a time of zero or more",
                "give a deadline in seconds");
  }
  if (problem.packs.empty()) return solve_exact(problem, deadline_s, 0);
  if (is_chain(problem)) return solve_chain(problem, deadline_s, options);
  const std::size_t labels = std::min(kLabels, kAllLabels / problem.packs.size());
  ERGON_TRY(Solution found, solve_exact(problem, deadline_s, labels));
  if (!found.choice.empty()) return found;
  return fail(Errc::kUnsupported,
              "no plan was found for so many coupled packs, and none was ruled out",
              "allow a later deadline");
}

}  // namespace ergon::plan
