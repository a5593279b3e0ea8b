// Which optimiser a problem gets.
#include "chain.hpp"
#include "ergon/plan.hpp"
#include "exact.hpp"

namespace ergon::plan {
namespace {

// Partial plans a pack for which a proof of optimality is worth the time.
constexpr std::size_t kLabels = 100'000;

}  // namespace

Result<Solution> solve(const Problem& problem, double deadline_s, const SolveOptions& options) {
  if (is_chain(problem)) return solve_chain(problem, deadline_s, options);
  return solve_exact(problem, deadline_s, kLabels);
}

}  // namespace ergon::plan
