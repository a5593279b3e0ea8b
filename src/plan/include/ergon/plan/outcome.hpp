// One question answered: the plan within a bound, beside the default, the best uniform clock and
// the lower bound.
#pragma once
#include <optional>
#include <vector>

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

/// What a pack file of a trace says of single clocks: re-timed on the graph, so better known than
/// the packs' sum.
struct SingleClocks {
  std::vector<Uniform> retimed;  ///< choices are not filled
  /// Of packs that are kept at the trace's clock (unknown response): options at every clock, for
  /// clocks that are the same for every pack; empty for the others. As problem.packs.
  std::vector<std::vector<Option>> kept_back;
};
/// As decide(), with the single clocks of `single`. Where one of them wins, `problem` offers the
/// kept-back options afterwards and the bound holds for that.
Result<Outcome> decide(Problem& problem, const SingleClocks& single, const Bound& bound,
                       const SolveOptions& options = {});

}  // namespace ergon::plan
