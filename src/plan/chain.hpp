// Least energy within a deadline for packs that run one after another on one GPU.
#pragma once
#include <optional>

#include "ergon/plan.hpp"

namespace ergon::plan {

/// Whether all packs run on one GPU and no wait can ever delay one of them: then the time is the
/// sum of the packs and changes. Other GPUs may stand idle beside it.
bool is_chain(const Problem& problem);

/// Lagrangian bound, joined plans and label search; a repeating chain is cut where the plans agree
/// and solved for each way to cross the cut. Small instances are solved to proven optimality.
/// Needs is_chain(). kInfeasible as solve().
Result<Solution> solve_chain(const Problem& problem, double deadline_s,
                             const SolveOptions& options);

}  // namespace ergon::plan
