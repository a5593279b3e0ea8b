// The tolerances of the contract, shared by the evaluation and the optimisers.
#pragma once

namespace ergon::plan {

/// Feasible is time <= deadline * (1 + kTimeTolerance); a run is long enough at min_run * (1 -
/// kTimeTolerance), so that decimal figures that add up to the bound count as meeting it.
inline constexpr double kTimeTolerance = 1e-9;

inline double latest_end(double deadline_s) { return deadline_s * (1 + kTimeTolerance); }
inline double shortest_run(double min_run_s) { return min_run_s * (1 - kTimeTolerance); }

}  // namespace ergon::plan
