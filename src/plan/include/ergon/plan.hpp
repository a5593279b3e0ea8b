// Clock plans for packs: the problem, its exact evaluation, the optimiser with a certified lower
// bound.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::plan {

/// One way to run a pack.
struct Option {
  double clock_hz = 0;
  double time_s = 0;
  double energy_j = 0;
};

/// A dependency: the pack starts no earlier than `lag_s` after pack `pack` (an index into
/// Problem::packs) has ended.
struct After {
  std::uint32_t pack = 0;
  double lag_s = 0;
};

struct Pack {
  std::string id;
  std::uint32_t gpu = 0;        ///< index into Problem::gpus
  std::vector<After> after;     ///< all of lower index
  std::vector<Option> options;  ///< at least one; no clock twice; in the order of the file
};

struct Gpu {
  std::string id;
  double idle_power_w = 0;
};

struct SwitchCost {
  double time_s = 0;
  double energy_j = 0;
  double min_run_s = 0;
};

/// The pack file ergon.packs/1 in memory: semantics as in CONTRACT "pack, plan".
struct Problem {
  std::vector<Gpu> gpus;
  SwitchCost switching;
  bool repeats = false;
  std::vector<Pack> packs;
};

/// Reads and checks a pack file: kMalformedInput naming the pack and what is wrong (cycle, listed
/// too early, no options, a clock twice, NaN, negative figures, missing idle power).
Result<Problem> read_packs(std::string_view json_text);
std::string write_packs(const Problem& problem);

/// One row of a --measured CSV: an option of a pack, or of a kernel name.
struct MeasuredRow {
  std::string pack;
  Option option;
  std::uint64_t line = 0;  ///< in the file, from 1
};
/// Reads `pack,clock_hz,time_s,energy_j` (columns in any order, others beside them are ignored).
/// kMalformedInput with the line: not a number, negative, a clock twice for one pack, ...
Result<std::vector<MeasuredRow>> read_measured(std::string_view csv_text);
/// What measured options mean without a trace: packs in order of first appearance, one after
/// another on one GPU without idle power; no switch cost (set Problem::switching afterwards).
Result<Problem> measured_chain(std::span<const MeasuredRow> rows);

/// The chosen option of each pack (index into Pack::options).
using Choice = std::vector<std::uint32_t>;

/// What a choice costs: the makespan, all energy, and whether every run is at least min_run_s long
/// where a GPU has more than one. Straight from the contract's text; the optimiser's results are
/// checked with it.
struct Evaluation {
  double time_s = 0;
  double energy_j = 0;
  std::uint32_t switches = 0;  ///< clock changes, the wrap-around included
  bool runs_long_enough = true;
};
Evaluation evaluate(const Problem& problem, std::span<const std::uint32_t> choice);

struct Solution {
  Choice choice;
  Evaluation value;
  double lower_bound_j = 0;  ///< certified: no feasible plan costs less
  bool optimal = false;      ///< proven equal to the bound within rounding
};

struct SolveOptions {
  double target_gap =
      1e-4;        ///< stop when (energy - bound) / bound is below; chains go on where it is cheap
  int effort = 1;  ///< scales the iteration counts; never a wall-clock limit
  bool quick = false;  ///< chains do not go on below target_gap either
};

/// Least energy with makespan <= deadline_s * (1 + 1e-9). kInfeasible carries figures
/// nearest.time_s, nearest.energy_j.
Result<Solution> solve(const Problem& problem, double deadline_s, const SolveOptions& options = {});

struct FrontierPoint {
  double deadline_s = 0;
  Solution solution;
};
/// At least `points` deadlines from the fastest plan to the least-energy plan, in one pass that
/// shares work.
Result<std::vector<FrontierPoint>> frontier(const Problem& problem, std::size_t points,
                                            const SolveOptions& options = {});
/// The same for given deadlines (ascending or not). Where several GPUs leave little between plan
/// and bound, a search tries to prove the optimum.
Result<std::vector<FrontierPoint>> frontier_at(const Problem& problem,
                                               std::span<const double> deadlines_s,
                                               const SolveOptions& options = {});

/// Per pack its highest listed clock.
Choice default_choice(const Problem& problem);
/// The clock that all packs of a choice run at; nullopt where there are several.
std::optional<double> single_clock(const Problem& problem, std::span<const std::uint32_t> choice);
/// The best single clock that every pack lists and that meets the deadline; nullopt where no clock
/// is common.
struct Uniform {
  double clock_hz = 0;
  Choice choice;
  Evaluation value;
};
std::optional<Uniform> best_uniform(const Problem& problem, double deadline_s);

}  // namespace ergon::plan
