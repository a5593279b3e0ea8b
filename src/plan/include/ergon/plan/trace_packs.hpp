// From the execution graph of a trace to packs: which step is planned, where it is cut, what each
// pack costs at every clock.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/graph.hpp"
#include "ergon/model.hpp"
#include "ergon/plan.hpp"
#include "ergon/plan/outcome.hpp"

namespace ergon::plan {

/// What a pack is made of, beside its options.
struct PackInfo {
  Nanos start_ns = 0;  ///< on the graph's clock
  Nanos end_ns = 0;
  double busy_s = 0;  ///< in which its GPU runs something
  std::uint64_t operations = 0;
  std::string first_operation;  ///< name of the first GPU operation
  std::int64_t occurrence = 0;  ///< which one of that name in the window on that GPU, from 0
  model::Response response;     ///< sum over its operations
  std::vector<std::string> collectives_started =
      {};  ///< of one rank of a job: begin with this pack
  std::vector<std::string> collectives_awaited = {};  ///< whose result this pack waits for
  std::vector<double> own_time_s =
      {};  ///< by option: its time if no collective were waited for after it
  std::array<double, model::kKnownKinds> known_s = {};  ///< GPU time by how the response is known
};

/// How one GPU operation answers to the clock; all zero for host nodes. Shares of its duration; the
/// rest of the time is fixed.
struct NodeModel {
  float core = 0;
  float memory = 0;
  float core_j = 0;
  float memory_j = 0;
  float core_low = 0;  ///< interval of core, as a share of its duration
  float core_high = 0;
  float dynamic_low_j = 0;  ///< interval of core_j + memory_j
  float dynamic_high_j = 0;
  model::Known known = model::Known::kUnknown;
  std::int32_t curve = -1;  ///< index into TraceOptions::curves: measured, the shares are not used
};

/// The responses of a window's GPU operations, by node less the window's first. All other nodes
/// have none of their own: a few bits each.
class NodeModels {
 public:
  NodeModels() = default;
  /// `is_operation(i)`: whether node i of the window's `nodes` has a response.
  template <class IsOperation>
  NodeModels(std::size_t nodes, IsOperation&& is_operation)
      : size_(nodes), bits_((nodes + kWord - 1) / kWord), before_(bits_.size()) {
    std::uint32_t count = 0;
    for (std::size_t word = 0; word < bits_.size(); ++word) {
      before_[word] = count;
      const std::size_t end = std::min(nodes, (word + 1) * kWord);
      for (std::size_t i = word * kWord; i < end; ++i)
        bits_[word] |= std::uint64_t{is_operation(i)} << i % kWord;
      count += static_cast<std::uint32_t>(std::popcount(bits_[word]));
    }
    models_.resize(count);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t operations() const { return models_.size(); }
  [[nodiscard]] const NodeModel& operator[](std::size_t i) const {
    static constexpr NodeModel kNoModel = {};
    return has(i) ? models_[index(i)] : kNoModel;
  }
  /// Calls `visit` with each operation, ascending.
  template <class Visit>
  void each_operation(Visit&& visit) const {
    for (std::size_t word = 0; word < bits_.size(); ++word) {
      for (std::uint64_t rest = bits_[word]; rest != 0; rest &= rest - 1)
        visit(word * kWord + static_cast<std::size_t>(std::countr_zero(rest)));
    }
  }
  /// Of an operation.
  [[nodiscard]] NodeModel& of(std::size_t i) {
    ERGON_CHECK(has(i), "only operations have a response");
    return models_[index(i)];
  }

 private:
  static constexpr std::size_t kWord = 64;
  [[nodiscard]] bool has(std::size_t i) const { return (bits_[i / kWord] >> i % kWord & 1U) != 0; }
  [[nodiscard]] std::size_t index(std::size_t i) const {
    const std::uint64_t lower = bits_[i / kWord] & ((std::uint64_t{1} << i % kWord) - 1);
    return before_[i / kWord] + static_cast<std::size_t>(std::popcount(lower));
  }
  std::size_t size_ = 0;
  std::vector<std::uint64_t> bits_;    // which nodes are operations
  std::vector<std::uint32_t> before_;  // operations before each word
  std::vector<NodeModel> models_;
};

/// A measured response, one entry a clock of the ClockTable; NaN where it was not measured.
struct Curve {
  std::string name;
  std::vector<double> time_ratio;  ///< against the trace's clock
  std::vector<double> power_w;     ///< of the whole GPU while it runs
};

struct TraceOptions {
  std::optional<Hertz> trace_clock = {};       ///< unset: the device's default clock, assumed
  std::optional<Seconds> switch_latency = {};  ///< unset: the device file's
  std::optional<Joules> switch_energy = {};    ///< unset: the device's power over the latency
  std::optional<Seconds> min_run = {};         ///< unset: kMinRunLatencies switch latencies
  std::optional<Hertz> lowest_clock = {};      ///< offer no clock below it
  bool whole = false;                          ///< plan the whole trace, even where a step repeats
  std::size_t max_packs = 1000;                ///< on one GPU; several GPUs share half as many
  std::size_t max_clocks = 64;                 ///< supported clocks are thinned evenly to so many
  std::vector<Curve> curves =
      {};  ///< with measurements, only clocks that all curves have are offered
};
/// Runs of one clock are kept at least so many switch latencies long.
inline constexpr double kMinRunLatencies = 5;

/// The part of the graph that is planned.
struct Window {
  graph::NodeId first = 0;  ///< nodes [first, last) start in it
  graph::NodeId last = 0;
  graph::NodeId next = graph::kNoNode;  ///< the operation that begins the following step, if any
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  /// Without a following step: the last host node of each thread. The window's end moves with
  /// them, although an idle tail may lie between.
  std::vector<graph::NodeId> tails = {};
  bool repeats = false;
  std::string step;       ///< name of the step; empty: the whole trace
  std::size_t steps = 0;  ///< steps found in the trace
};

/// A kernel's share in finest_bound(): one pack of its own.
struct FineGroup {
  double length_s = 0;   ///< from its start to the next operation's start
  double overlap_s = 0;  ///< of its duration, what runs beside the next one
  double busy_s = 0;
  double observed_s = 0;  ///< its duration
  float core = 0;         ///< as NodeModel
  float memory = 0;
  float core_j = 0;
  float memory_j = 0;
  std::uint32_t gpu = 0;
  bool fixed = false;  ///< unknown response: kept at the trace's clock
};

class WindowRetimer;

/// What can be chosen from; planning narrows it and counts delays further or less far.
struct Offer {
  Problem problem;  ///< one option per offered clock, ascending; the last is the trace's
  std::vector<PackInfo> packs;  ///< as problem.packs
  /// All options of packs that are kept at the trace's clock (unknown response, priced as 1/f), for
  /// clocks that are the same for every pack; empty for the others.
  std::vector<std::vector<Option>> kept_back;
  std::vector<std::size_t> clocks;  ///< offered clocks: indices into table.clocks, ascending
  /// Share of each pack's delay that the options count. With 1 all delays add up, although gaps and
  /// parallel streams take some up; decide_trace() lowers it as far as re-timing the plan confirms.
  double delay_share = 1;
};

/// The packs of a trace, and what a plan of them can be checked against.
struct TracePacks : Offer {
  [[nodiscard]] const Offer& offer() const { return *this; }
  [[nodiscard]] Offer& offer() { return *this; }

  model::ClockTable table;
  bool trace_clock_assumed = true;
  Seconds switch_latency{};
  Origin switch_origin = Origin::kAssumed;
  double change_energy_j = 0;                  ///< of a change of clock itself (device file)
  std::optional<double> switch_energy_j = {};  ///< as the user says, instead of a derived one
  Window window;
  std::map<std::string, double> collective_s;  ///< from each collective's start to its result's use
  NodeModels nodes;                            ///< of window nodes [first, last)
  std::vector<Curve> curves;                   ///< measured responses, as given
  std::vector<FineGroup> fine;
  std::array<double, model::kKnownKinds> known_s = {};
  mutable std::shared_ptr<WindowRetimer> retimer;  ///< made when the window is first re-timed
  mutable std::map<std::size_t, double> window_s;  ///< by clock: the window re-timed at it so far
  std::uint64_t operations = 0;
  std::uint64_t below_break = 0;  ///< supported clocks that are not offered: below the regime break
  std::uint64_t power_capped = 0;  ///< operations whose modelled power exceeds the limit
};

/// The step that is planned: the typical one of the trace's steps, or the whole trace.
/// kMalformedInput without GPU work.
Result<Window> choose_window(const graph::Graph& graph, bool whole);

struct ClassifiedNodes {
  NodeModels models;
  std::uint64_t power_capped = 0;  ///< operations whose modelled power exceeds the limit
};
/// Responses from operator shapes, copy and message sizes and kernel classes. kInvalidArgument for
/// a clock that the device does not support.
Result<ClassifiedNodes> node_models(const graph::Graph& graph, const Window& window,
                                    const model::Device& device, Hertz trace_clock);
/// Measured options by kernel name instead of any model: only the measured clocks count, a kernel's
/// time ratio and power against its top clock are used, and GPU work that was not measured is of
/// unknown response (copies keep their time). kInvalidArgument when no operation of the window
/// bears a measured name, or a clock is none of the device's.
struct MeasuredNodes {
  NodeModels models;
  std::vector<Curve> curves;
  std::uint64_t unmeasured = 0;  ///< kernels without a measurement
};
Result<MeasuredNodes> measured_nodes(const graph::Graph& graph, const Window& window,
                                     const model::Device& device, Hertz trace_clock,
                                     std::span<const MeasuredRow> rows);
/// The error of a clock that the device does not have, with the nearest one.
Error clock_not_supported(const model::Device& device, Hertz clock);

/// Cuts and prices a window. kInvalidArgument for a trace clock that the device does not support.
Result<TracePacks> cut_packs(const graph::Graph& graph, const Window& window, NodeModels nodes,
                             const model::Device& device, const TraceOptions& options = {});

/// Least energy that one pack an operation without switch cost could reach within the deadline: a
/// Lagrangian bound over all operations, GPUs relaxed from one another (docs/explain/planning.md).
double finest_bound(const graph::Graph& graph, const TracePacks& packs, double deadline_s);

/// The window's time when the graph is re-timed with every operation at the clock of its pack: an
/// independent check of Evaluation::time_s.
double retime_choice(const graph::Graph& graph, const TracePacks& packs,
                     std::span<const std::uint32_t> choice);
/// What changes of clock add to the packs' makespan, seconds; the graph knows nothing of them.
double switching_s(const Problem& problem, const Solution& solution);
/// Seconds of the window with the plan: re-timed, and the changes of clock.
double retimed_time(const graph::Graph& graph, const TracePacks& packs, const Solution& solution);
/// Where re-timing says more than the packs (they know waits between GPUs and streams only from the
/// trace's clock), the plan's time is what it says, with idle power until then.
void count_late_end(const Problem& problem, double retimed_s, Solution& solution);

/// What is left of a plan that re-timing finds late when the packs that make it late stay at the
/// default clock; nullopt where nothing is that saves energy.
std::optional<Solution> hold_back(const graph::Graph& graph, const TracePacks& packs,
                                  const Solution& late, double limit_s);

/// The window's time at every offered clock, all GPUs at that clock.
std::vector<double> window_times(const graph::Graph& graph, const TracePacks& packs);
/// Every offered clock for the whole window, re-timed on the graph; energies as in the packs.
std::vector<Uniform> uniform_clocks(const graph::Graph& graph, const TracePacks& packs);

/// The interval of what a plan is said to cost. The observed times at the trace's clock carry none.
struct Spread {
  double time_low_s = 0, time_high_s = 0;
  double energy_low_j = 0, energy_high_j = 0;
  double saved_low = 0, saved_high = 0;  ///< share of the default's energy
};
/// Errors of a model are common to its kernels and do not cancel: idle power, the power of work,
/// and the share of time that follows the clock each stand at one end of their interval for all
/// kernels. The ends are those of the eight combinations. `clocks_hz`: of each pack. nullopt where
/// responses are measured.
std::optional<Spread> spread_of(const TracePacks& packs, std::span<const double> clocks_hz,
                                const Evaluation& value, const Evaluation& default_value);

/// Sets time and energy of a change from the latency: meanwhile the clock is the old or the new
/// one, so the worse of both is charged, between the ends of the offered range.
void price_switching(TracePacks& packs);
/// Offers the kept-back options as well.
void offer_kept_back(TracePacks& packs);
/// Takes the lowest `count` clocks off offer. A narrower range makes each change cheaper.
void drop_lowest_clocks(TracePacks& packs, std::size_t count);

/// Counts `share` of each pack's delay in packs.problem.
void set_delay_share(TracePacks& packs, double share);
/// Counts as much of the delays as re-timing finds at single clocks: the largest share over the
/// clocks that make the window at most 30 % longer. Plans of such packs need no graph.
void calibrate_delays(const graph::Graph& graph, TracePacks& packs);

/// As frontier(), beside what single clocks reach on the re-timed graph: no single clock lies below
/// it, every plan is re-timed, and bounds never rise with the deadline.
Result<std::vector<FrontierPoint>> frontier_trace(const graph::Graph& graph,
                                                  const TracePacks& packs, std::size_t points,
                                                  const SolveOptions& options = {});

/// As decide(), with every plan re-timed on the graph: packs.delay_share is set so that the plan's
/// packs and the re-timed window agree, a plan that misses the deadline there is tightened, and the
/// uniform clocks are the re-timed ones.
Result<Outcome> decide_trace(const graph::Graph& graph, TracePacks& packs, const Bound& bound,
                             const SolveOptions& options = {});

}  // namespace ergon::plan
