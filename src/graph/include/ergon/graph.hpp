// The execution graph of a trace: built by rules, re-timed exactly, asked for critical path, slack
// and what-if.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/trace.hpp"

namespace ergon::graph {

/// Index of a node. Nodes are in topological order: every edge goes from a lower to a higher index.
using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = 0xffffffffU;

enum class NodeKind : std::uint8_t {
  kKernel,
  kCopy,
  kMemset,
  kCollective,  ///< a communication kernel (NCCL, RCCL)
  kApi,         ///< the part of a runtime or driver call in which the host works
  kHost,        ///< a stretch of a host operation in which none of its children runs
  kSync,        ///< the moment at which a blocking call returns
};
/// "kernel", "copy", ...: the words of the contract.
const char* to_string(NodeKind kind);
constexpr bool on_gpu(NodeKind kind) { return kind <= NodeKind::kCollective; }

/// Why one node waits for another. One file of src/graph/rules each.
enum class Rule : std::uint8_t {
  kThreadOrder,    ///< a host thread does one thing after another
  kLaunch,         ///< GPU work starts after the call that launched it, by the launch latency
  kGraphLaunch,    ///< the same where one call launched many operations (CUDA graph, HIP graph)
  kStreamOrder,    ///< operations of one (process, device, context, stream) in order
  kStreamOverlap,  ///< the same where the second starts before the first has ended (programmatic
                   ///< dependent launch)
  kDefaultStream,  ///< the legacy default stream against the blocking streams of its device
  kEventWait,      ///< cudaStreamWaitEvent: GPU work after GPU work of another stream
  kEventSync,      ///< cudaEventSynchronize returns after the recorded work
  kStreamSync,     ///< cudaStreamSynchronize returns after the stream's work
  kDeviceSync,     ///< cudaDeviceSynchronize, cudaFree, ... return after the device's work
  kBlockingCopy,   ///< a blocking copy returns after the copy
  kQueueFull,      ///< a launch waits until the queue has room
  kSharedGpu,      ///< work of another stream fills the GPU
  kThreadHandOff,  ///< one host thread waits for another (backward pass)
  kCollective,     ///< the members of a collective wait for the last of them
};
inline constexpr std::size_t kRules = 15;
const char* to_string(Rule rule);

/// How an edge is known.
enum class Known : std::uint8_t { kRecorded, kInferred, kAssumed };
const char* to_string(Known known);

/// start(node) >= end(from) + lag, or start(from) + lag where `from_start`.
struct Edge {
  NodeId from = kNoNode;
  Nanos lag = 0;
  Rule rule = Rule::kThreadOrder;
  Known known = Known::kRecorded;
  bool from_start = false;
};

/// A GPU of the graph: a device of one table.
struct Gpu {
  std::uint32_t table = 0;
  std::int32_t device = 0;  ///< as the trace counts
  std::string name;         ///< as the trace says; empty: unknown
  /// By which answers, packs, policies and selections name it: the device where no two GPUs of the
  /// tables have the same, else its place among the GPUs of all tables, selected or not.
  std::int32_t number = 0;
  std::int64_t rank = -1;  ///< of the table's trace, as that says; -1: unknown
  std::string trace;       ///< path of the table's trace
};

/// A half-open time range of a table's clock, in ns.
struct TimeRange {
  Nanos begin = 0;
  Nanos end = 0;
};

struct BuildOptions {
  bool use_sync_records =
      true;  ///< false: as if the trace had no cuda_sync records (edges are inferred)
  std::optional<TimeRange> range =
      {};  ///< only host events that start in it, and the GPU work they launch
  std::optional<std::int32_t> gpu = {};  ///< only GPU work of the GPU of this number
};

/// What was cut or mended while building, by kind; deterministic.
struct BuildNote {
  std::string code;  ///< "cycle_broken", "kernel_before_launch", ...: stable words
  std::string message;
  std::uint64_t count = 0;
};

/// Numbers of the contract's `counts`.
struct Counts {
  std::uint64_t host_ops = 0, api_calls = 0, kernels = 0, copies = 0, memsets = 0, collectives = 0;
  std::uint64_t gpus = 0, processes = 0, streams = 0;
};

/// The graph. Tables must outlive it. Re-timing: start = max over in-edges of (end|start of `from`
/// + lag) + residual; a node without in-edges is an anchor, held at its observed start.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] NodeKind kind(NodeId n) const;
  /// The event the node is (part of), and its table. A host operation with children has several
  /// nodes.
  [[nodiscard]] trace::EventId event(NodeId n) const;
  [[nodiscard]] std::uint32_t table(NodeId n) const;
  [[nodiscard]] const trace::EventTable& table_of(NodeId n) const;
  [[nodiscard]] std::string_view name(NodeId n) const;
  /// Index into gpus(); -1 for host nodes.
  [[nodiscard]] std::int32_t gpu(NodeId n) const;
  /// The event's track in its table (stream, or host thread).
  [[nodiscard]] const trace::Track& track(NodeId n) const;
  [[nodiscard]] Nanos start(NodeId n) const;  ///< observed, on the common clock of all tables
  [[nodiscard]] Nanos duration(
      NodeId n) const;  ///< observed, without what an edge explains as waiting
  [[nodiscard]] Nanos residual(
      NodeId n) const;  ///< what no edge explains of the start; 0 for anchors
  [[nodiscard]] bool is_anchor(NodeId n) const;
  [[nodiscard]] std::size_t edge_count(NodeId n) const;
  [[nodiscard]] Edge edge(NodeId n, std::size_t i) const;
  [[nodiscard]] std::size_t edges() const;

  /// A collective whose other members are in the graph too has two nodes: its arrival, with no
  /// duration, and its transfer, from the moment at which the last member has arrived (rule
  /// kCollective, first the edge from its own arrival). arrival() of a transfer, transfer() of an
  /// arrival; of every other node, the node itself.
  [[nodiscard]] NodeId arrival(NodeId n) const;
  [[nodiscard]] NodeId transfer(NodeId n) const;
  /// The API call that launched a GPU node; kNoNode where the trace does not say. See Operators for
  /// the host operation around it.
  [[nodiscard]] NodeId launch(NodeId n) const;

  [[nodiscard]] const std::vector<Gpu>& gpus() const;
  [[nodiscard]] const std::vector<BuildNote>& notes() const;
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] Nanos span_begin() const;  ///< first observed start
  [[nodiscard]] Nanos span_end() const;    ///< last observed end

  struct Impl;
  [[nodiscard]] const Impl& impl() const { return *impl_; }
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Builds the graph of one job from the tables of its ranks (one or more). Damaged data never
/// fails: what had to be dropped is in notes(). kMalformedInput when no table has a single host or
/// GPU event.
Result<Graph> build(std::span<const trace::EventTable* const> tables,
                    const BuildOptions& options = {});
/// All GPUs of the tables with their numbers, as build() without a selection gives them.
std::vector<Gpu> gpus_of(std::span<const trace::EventTable* const> tables);
/// What tells the tables of a job apart: "rank 5" where each trace says a rank of its own, else
/// "trace 0", "trace 1", ... in order; empty for one table.
std::vector<std::string> labels_of(std::span<const trace::EventTable* const> tables);
Result<Graph> build(const trace::EventTable& table, const BuildOptions& options = {});

/// Computes start times from durations; reusable, allocates only in its constructor. The graph must
/// outlive it.
class Retimer {
 public:
  explicit Retimer(const Graph& graph);
  /// Durations in ns (>= 0) of all nodes, to be changed between runs; observed ones at first.
  [[nodiscard]] std::span<Nanos> durations() { return durations_; }
  [[nodiscard]] std::span<const Nanos> durations() const { return durations_; }
  void reset_durations();
  /// Start times of the latest run; observed ones at first.
  [[nodiscard]] std::span<const Nanos> starts() const { return starts_; }
  /// Re-times everything; the makespan, last end minus first start.
  Nanos run();
  /// Re-times nodes [first, last) alone, all others held where they are; the latest end among the
  /// nodes [first, last). Nodes of a time window are contiguous: see node_at().
  Nanos run_range(NodeId first, NodeId last);
  [[nodiscard]] const Graph& graph() const { return *graph_; }

 private:
  const Graph* graph_;
  std::vector<Nanos> durations_;
  std::vector<Nanos> starts_;
};
/// The first node whose observed start is at or after `t`.
NodeId node_at(const Graph& graph, Nanos t);

/// The innermost host operation of each host event, and through the launch of each GPU node.
class Operators {
 public:
  explicit Operators(const Graph& graph);
  /// Of a GPU node, the operation that launched it (by its call, else by the external id); of an
  /// API node, the operation around it; of a host node, its own. trace::kNoEvent: none. The table
  /// is graph.table(n).
  [[nodiscard]] trace::EventId of(NodeId n) const;
  /// The innermost host operation around a host operation or API call; trace::kNoEvent: none.
  [[nodiscard]] trace::EventId parent(std::uint32_t table, trace::EventId event) const;

 private:
  const Graph* graph_;
  std::vector<std::uint32_t> parent_;  ///< by global event id
  std::vector<std::pair<std::int64_t, std::uint32_t>>
      by_external_;  ///< (external id, event), sorted
  std::vector<std::uint32_t> base_;
};

/// The times that an analysis reads: as observed, or those of a re-timer's latest run.
class Timing {
 public:
  Timing(const Graph& graph) : graph_(&graph) {}  // NOLINT(google-explicit-constructor)
  Timing(const Retimer& timed)
      : graph_(&timed.graph()), timed_(&timed) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  /// The re-timer, or nullptr for the observed times.
  [[nodiscard]] const Retimer* timed() const { return timed_; }
  [[nodiscard]] Nanos start(NodeId n) const {
    return timed_ != nullptr ? timed_->starts()[n] : graph_->start(n);
  }
  [[nodiscard]] Nanos duration(NodeId n) const {
    return timed_ != nullptr ? timed_->durations()[n] : graph_->duration(n);
  }
  [[nodiscard]] Nanos end(NodeId n) const { return start(n) + duration(n); }

 private:
  const Graph* graph_;
  const Retimer* timed_ = nullptr;
};

/// The edge that decides when a node starts (index for Graph::edge); of equals the one from the
/// GPU. nullopt for anchors.
std::optional<std::size_t> binding_edge(const Timing& timing, NodeId n);

/// One time share of the critical path.
struct Share {
  std::string name;
  Nanos time_ns = 0;
};
/// The chain of decisive edges that ends at the last end. All lists, and the four parts, sum to
/// `span_ns` exactly.
struct CriticalPath {
  Nanos span_ns = 0, work_ns = 0, latency_ns = 0, host_gap_ns = 0, unexplained_ns = 0;
  Nanos anchor_ns = 0;        ///< of unexplained: from the first start to the path's anchor
  std::vector<NodeId> nodes;  ///< in time order
  std::vector<Share> by_kind, by_kernel, by_operator, by_thread;  ///< largest first
};
CriticalPath critical_path(const Timing& timing, const Operators& operators);

/// Total slack: how much longer a node could take without moving the last end (or `end`); free
/// slack: without moving any successor. (Contract: `slack`.) One value a node.
struct Slack {
  std::vector<Nanos> total_ns;
  std::vector<Nanos> free_ns;
};
Slack slack(const Timing& timing, std::optional<Nanos> end = {});

/// Time in which a GPU runs nothing, by what it waited for: "launch", "sync", "copy", "collective",
/// "host", "unknown".
struct IdleCause {
  std::int32_t gpu = 0;
  std::string cause;
  Nanos time_ns = 0;
  std::uint64_t count = 0;
};
std::vector<IdleCause> idle_gaps(const Timing& timing);

struct RuleCount {
  Rule rule{};
  std::uint64_t recorded = 0, inferred = 0, assumed = 0;
  std::uint64_t binding = 0;  ///< nodes whose start this rule decided
};
/// Rules without edges are left out.
std::vector<RuleCount> edges_by_rule(const Timing& timing);

/// Replay: re-times with all factors 1 and compares with the trace node by node.
struct Replay {
  Nanos max_difference_ns = 0;
  std::uint64_t nodes = 0;
  NodeId worst = kNoNode;
  Nanos residual_ns_total = 0;
  /// Of all kernels, those whose start no rule explains (docs/explain/graph.md).
  double unexplained_share = 0;
  /// Growth of the span over GPU-busy time when every kernel takes twice as long; null where no GPU
  /// is busy.
  std::optional<double> response = {};
  Nanos gpu_busy_ns = 0;  ///< union over all GPUs of the time in which any runs something
};
Replay check_replay(const Graph& graph);

/// A change of durations: `kernel=~REGEX:xFACTOR`, `copy=~...`, `host=~...`, or `:+TIME`/`:-TIME`
/// (with unit). `kernel` matches kernels and collectives, `copy` copies and memsets, `host` host
/// operations and API calls.
class WhatIf {
 public:
  /// kInvalidArgument with the accepted spellings.
  static Result<WhatIf> parse(std::string_view text);
  /// Applies the rule to the durations of all matching nodes; returns how many matched.
  std::uint64_t apply(const Graph& graph, std::span<Nanos> durations) const;
  /// The same; sets `touched` (one a node) for the nodes that match.
  std::uint64_t apply(const Graph& graph, std::span<Nanos> durations,
                      std::vector<bool>& touched) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

/// One step (iteration) of a table.
struct Step {
  std::string name;  ///< "ProfilerStep#12", or "step 3" where found by repetition
  std::uint32_t table = 0;
  TimeRange host;  ///< of the host thread that runs the step
  bool annotated = false;
  /// Share of its kernel launches that the next step (for the last: the one before) has too; 1 for
  /// a lone step. Low: a warm-up, or other work.
  double alike = 1;
};
/// Steps from annotations (ProfilerStep#N, else the most regular annotation that repeats), else
/// from the repetition of the kernel sequence; empty where there is none.
std::vector<Step> find_steps(const Graph& graph);
/// The nodes of a step: host nodes that start in it and the GPU work they launched, ascending.
std::vector<NodeId> nodes_of(const Graph& graph, const Step& step);
/// Node pairs (a, b) of two steps of one table: the same name, track and order, and for host events
/// the same piece. Ascending.
std::vector<std::pair<NodeId, NodeId>> match_nodes(const Graph& graph, const Step& a,
                                                   const Step& b);
/// Gives the nodes of step `a` the durations that the same work has in step `b`: GPU work, and with
/// `host` host events too (whole events, where they are cut into different pieces). How many nodes.
std::uint64_t exchange_durations(const Graph& graph, const Step& a, const Step& b, bool host,
                                 std::span<Nanos> durations);

}  // namespace ergon::graph
