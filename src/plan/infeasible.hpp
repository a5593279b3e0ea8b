// The errors of every optimiser when no plan meets the deadline.
#pragma once
#include "ergon/plan.hpp"

namespace ergon::plan {

/// kInfeasible with figures nearest.time_s and nearest.energy_j: the fastest plan, and of all plans
/// that fast the one with the least energy.
/// Not `proven`: a faster plan than `nearest` may exist, and the texts say so.
Error too_early(double deadline_s, const Evaluation& nearest, bool proven = true);

/// kInfeasible without figures: min_run_s leaves no plan, whatever the deadline.
Error no_plan_at_all(bool proven = true);

}  // namespace ergon::plan
