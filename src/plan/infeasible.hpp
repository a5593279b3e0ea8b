// The errors of every optimiser when no plan meets the deadline.
#pragma once
#include "ergon/plan.hpp"

namespace ergon::plan {

/// kInfeasible with figures nearest.time_s and nearest.energy_j: the fastest plan, and of all plans
/// that fast the one with the least energy.
Error too_early(double deadline_s, const Evaluation& nearest);

/// kInfeasible without figures: min_run_s leaves no plan, whatever the deadline.
Error no_plan_at_all();

}  // namespace ergon::plan
