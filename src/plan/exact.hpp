// Proven optimum of small problems with any number of GPUs and waits: branch and bound.
#pragma once
#include <cstddef>

#include "ergon/plan.hpp"

namespace ergon::plan {

/// Places the packs in the order of the file; keeps the partial plans that no other one dominates
/// and whose bound (Lagrangian prices on the waits, exact dynamic programs for each GPU's rest) is
/// below the best plan known. At most `labels` partial plans a pack: where that is not enough,
/// Solution::optimal is false, the bound is that of the best partial plan dropped, and the choice
/// may be empty. kInfeasible as solve(). For tens of packs.
Result<Solution> solve_exact(const Problem& problem, double deadline_s, std::size_t labels);

}  // namespace ergon::plan
