// One question answered: the plan within a bound, beside the default, the best uniform clock and
// the lower bound.
#pragma once
#include <optional>

#include "ergon/base.hpp"
#include "ergon/plan.hpp"

namespace ergon::plan {

/// The bound: a slowdown against the default clocks, or a time.
struct Bound {
  std::optional<double> max_slowdown = {};  ///< 0.03: at most 3 % more time
  std::optional<Seconds> deadline = {};
};

struct Outcome {
  Choice default_choice;
  Evaluation default_value;
  double deadline_s = 0;
  std::optional<Uniform> uniform;
  Solution plan;
  bool uniform_is_best = false;     ///< no plan of several clocks saves more than one clock for all
  std::optional<double> retimed_s;  ///< the plan's time when the whole graph is re-timed
  int repairs = 0;                  ///< how often the plan was tightened because re-timing said so
};

/// kInfeasible carries nearest.time_s and nearest.energy_j.
Result<Outcome> decide(const Problem& problem, const Bound& bound,
                       const SolveOptions& options = {});

/// Fills what follows from plan, bound and uniform clock: `plan.optimal` where the bound reaches
/// the plan (relative 1e-9), and `uniform_is_best`.
void settle(const Problem& problem, Outcome& out);

}  // namespace ergon::plan
