// The state of a build: events indexed by track, GPU operations joined to their launches, what the
// rules found so far.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "api_names.hpp"
#include "impl.hpp"
#include "quantile.hpp"

namespace ergon::graph {

/// Index of a GPU operation in the draft: operations of one stream lie side by side in start order.
/// As a node it comes before all host nodes.
using Op = std::uint32_t;

/// A start is explained when a rule would have allowed it at most this much earlier, latencies
/// included.
inline constexpr Nanos kTolerance = 10'000;
/// Clocks of host and GPU are aligned, and old traces rounded, to about this.
inline constexpr Nanos kRounding = 2'000;

/// What the name of an event says.
inline constexpr std::uint8_t kNameCollective = 1;
inline constexpr std::uint8_t kNameToHost = 2;
inline constexpr std::uint8_t kNamePageable = 4;  ///< host memory not said to be pinned
inline constexpr std::uint8_t kNameCommScope =
    8;                                         ///< of annotations: "nccl:all_reduce" and the like
inline constexpr std::uint8_t kNameStep = 16;  ///< "ProfilerStep#N"

/// What a launch latency depends on.
enum class OpClass : std::uint8_t { kKernel, kCopy, kMemset, kGraph };
inline constexpr std::size_t kOpClasses = 4;

/// A node of the draft: operations first (their Op), then host nodes thread by thread.
using Pre = std::uint32_t;

struct HostThread {
  std::uint32_t table = 0, process = 0;
  std::uint32_t begin = 0, end = 0;  ///< global event ids
  Pre first = 0, last = 0;           ///< its nodes [first, last)
  bool has_ops = false;              ///< runs host operations, not only API calls
  bool launches = false;             ///< launches GPU work
};
/// Time in which a thread does nothing, before node `after`; the first node of a thread follows an
/// endless one.
struct HostGap {
  std::uint32_t thread = 0;
  Pre after = 0;
  Nanos begin = 0, end = 0;
};
/// A thread's node starts after a node of another thread has ended.
struct HandOff {
  Pre from = 0, to = 0;
  Known known = Known::kInferred;
  friend auto operator<=>(const HandOff&, const HandOff&) = default;
};
/// From when a member of a collective has all the others with it; a node after the host nodes.
struct Transfer {
  Op op = 0;
  std::uint32_t group = 0;
  Nanos at = 0;
  Known known = Known::kInferred;
};
struct Stream {
  std::uint32_t table = 0, process = kNone;
  std::int32_t gpu = -1;
  std::int64_t context = -1, stream = -1;
  std::uint32_t begin = 0, end = 0;  ///< global event ids
  Op first = 0, last = 0;            ///< operations [first, last)
  std::vector<Op> launched;          ///< those with a known launch, in order of launch
  bool shared = false;               ///< its row in the file holds work of several processes
};
struct Process {
  std::uint32_t table = 0;
  std::int64_t pid = 0;
  std::vector<std::uint32_t>
      calls;  ///< API calls that launch, record, wait or synchronise, in time order
};

/// GPU work after GPU work, beyond stream order.
struct OpEdge {
  Op from = 0, to = 0;
  Rule rule = Rule::kEventWait;
  Known known = Known::kInferred;
};
/// A call that returns no earlier than an operation's end (or start + lag).
struct HostWait {
  std::uint32_t call = 0;  ///< global event id
  Op op = 0;
  Rule rule = Rule::kStreamSync;
  Known known = Known::kInferred;
  bool from_start = false;
  Pre at = kNone;  ///< the node at which the call returns
};

/// Latencies learnt from the trace, each a low quantile: what no event was seen to beat.
struct Latencies {
  std::vector<Nanos> launch;     ///< [thread * kOpClasses + class], from the start of the call
  std::vector<Nanos> lead;       ///< [class]: how long before its call returns an operation starts
  std::vector<Nanos> stream;     ///< [gpu]: between operations of a stream with work waiting
  std::vector<Nanos> graph_gap;  ///< [gpu]: the same within one graph launch
  Nanos sync_return = 0;  ///< from the end of the awaited operation to the return of the call
  Nanos launch_call = 0;  ///< how long a launching call takes
};

struct Draft {
  std::vector<const trace::EventTable*> tables;
  BuildOptions options;
  std::vector<std::uint32_t> base;
  std::vector<Nanos> clock;
  std::vector<std::uint32_t> track_base;
  std::vector<std::uint32_t> place_of_track;  ///< index into streams or threads
  std::vector<std::int32_t> gpu_of_track;

  std::vector<HostThread> threads;
  std::vector<Stream> streams;
  std::vector<Process> processes;
  std::vector<Gpu> gpus;
  std::vector<std::vector<ApiClass>> api_class;       ///< [table][string]
  std::vector<std::vector<std::uint8_t>> name_flags;  ///< [table][string], of the names of events

  std::vector<std::uint32_t> op_event;
  std::vector<std::uint32_t> op_call;    ///< launching call, kNone
  std::vector<std::uint32_t> op_stream;  ///< index into streams
  std::vector<Op> op_previous;           ///< in its stream: the operation it follows; kNone
  std::vector<bool> op_overlaps;         ///< starts before op_previous has ended
  /// Per event: of a GPU operation its Op; of a call the first Op it launched or its sync record;
  /// kNone.
  std::vector<std::uint32_t> slot;
  std::vector<std::pair<std::uint32_t, Op>>
      further;  ///< (call, op): all but the first of a call, sorted

  // host nodes; node p is at index p - op_event.size()
  std::vector<std::uint32_t> host_event;
  std::vector<NodeKind> host_kind;
  std::vector<Nanos> host_start, host_duration;
  std::vector<std::uint8_t>
      host_annotation;  ///< not 0: a stretch of an annotation in which no operation runs
  std::vector<HostGap> gaps;
  std::vector<HandOff> hand_offs;
  std::vector<Transfer> transfers;              ///< by start, those of a group side by side
  Pre first_transfer = kNone;                   ///< its nodes come last
  std::vector<std::pair<Op, Pre>> transfer_of;  ///< sorted
  std::vector<Pre> waiting;                     ///< return nodes of calls that waited, sorted

  Latencies latency;
  std::vector<OpEdge> op_edges;
  std::vector<HostWait> waits;
  std::vector<BuildNote> notes;

  [[nodiscard]] std::uint32_t table_of(std::uint32_t e) const {
    if (tables.size() == 1) return 0;
    return static_cast<std::uint32_t>(std::upper_bound(base.begin(), base.end(), e) -
                                      base.begin()) -
           1;
  }
  struct Ref {
    const trace::EventTable* table;
    trace::EventId event;
    Nanos clock;
  };
  [[nodiscard]] Ref ref(std::uint32_t e) const {
    const std::uint32_t t = table_of(e);
    return {tables[t], e - base[t], clock[t]};
  }
  [[nodiscard]] Nanos start(std::uint32_t e) const {
    const Ref r = ref(e);
    return r.table->start_ns[r.event] + r.clock;
  }
  [[nodiscard]] Nanos duration(std::uint32_t e) const {
    const Ref r = ref(e);
    return r.table->duration_ns[r.event];
  }
  [[nodiscard]] Nanos end(std::uint32_t e) const {
    const Ref r = ref(e);
    return r.table->start_ns[r.event] + r.table->duration_ns[r.event] + r.clock;
  }
  /// Whether the event starts in BuildOptions::range.
  [[nodiscard]] bool in_range(std::uint32_t e) const {
    if (!options.range) return true;
    const Ref r = ref(e);
    const Nanos at = r.table->start_ns[r.event];
    return at >= options.range->begin && at < options.range->end;
  }
  [[nodiscard]] trace::EventKind kind(std::uint32_t e) const {
    const Ref r = ref(e);
    return r.table->kind[r.event];
  }
  [[nodiscard]] ApiClass api(std::uint32_t e) const {
    const std::uint32_t t = table_of(e);
    return api_class[t][tables[t]->name[e - base[t]]];
  }
  [[nodiscard]] std::uint32_t place(std::uint32_t e) const {
    const std::uint32_t t = table_of(e);
    return place_of_track[track_base[t] + tables[t]->track[e - base[t]]];
  }
  [[nodiscard]] Nanos node_start(Pre p) const {
    return p < op_event.size() ? start(op_event[p]) : host_start[p - op_event.size()];
  }
  [[nodiscard]] Nanos node_end(Pre p) const {
    return p < op_event.size()
               ? end(op_event[p])
               : host_start[p - op_event.size()] + host_duration[p - op_event.size()];
  }
  [[nodiscard]] Nanos op_start(Op k) const { return start(op_event[k]); }
  [[nodiscard]] Nanos op_end(Op k) const { return end(op_event[k]); }
  [[nodiscard]] OpClass op_class(Op k) const;
  [[nodiscard]] bool op_named(Op k, std::uint8_t flag) const {
    const std::uint32_t e = op_event[k];
    const std::uint32_t t = table_of(e);
    return (name_flags[t][tables[t]->name[e - base[t]]] & flag) != 0;
  }
  template <class Use>
  void each_op_of(std::uint32_t call, Use&& use) const {
    if (slot[call] == kNone) return;
    use(slot[call]);
    auto it =
        std::lower_bound(further.begin(), further.end(), std::pair<std::uint32_t, Op>{call, 0});
    for (; it != further.end() && it->first == call; ++it) use(it->second);
  }
  /// The node with which an operation ends.
  [[nodiscard]] Pre end_node(Op k) const {
    if (transfer_of.empty()) return k;
    const auto it =
        std::lower_bound(transfer_of.begin(), transfer_of.end(), std::pair<Op, Pre>{k, 0});
    return it != transfer_of.end() && it->first == k ? it->second : k;
  }
  /// The first operation of its launch.
  [[nodiscard]] bool leads_launch(Op k) const {
    return op_call[k] != kNone &&
           !std::binary_search(further.begin(), further.end(), std::pair(op_call[k], k));
  }
  /// Earliest start that launch and stream order allow, floors included.
  [[nodiscard]] Nanos launch_bound(Op k) const;
  [[nodiscard]] Nanos stream_bound(Op k) const;
  /// The lag of the launch edge: from the call's start, or (negative) from its end where
  /// `from_end`.
  struct LaunchLag {
    Nanos lag = 0;
    bool from_end = false;
  };
  [[nodiscard]] LaunchLag launch_lag(Op k) const;
  [[nodiscard]] Nanos stream_lag(Op k) const;

  void note(std::string code, std::string message, std::uint64_t count = 1);
};

inline constexpr Nanos kNever = std::int64_t{-1} << 62;

/// Steps of the build, in this order (build.cpp).
void index_tracks(Draft& draft);
void correlate(Draft& draft);
/// Drops operations outside BuildOptions::range: those whose launch (or, without one, start) is.
void filter_operations(Draft& draft);
void order_streams(Draft& draft);
void sequence_calls(Draft& draft);
void learn_latencies(Draft& draft);
void lay_out_threads(Draft& draft);
/// Fills the graph; the draft is spent.
void assemble(Draft&& draft, Graph::Impl& graph);

// rules/
/// What a cuda_sync record says; -1 where it does not.
struct SyncRecord {
  std::int64_t stream = -1, wait_on_stream = -1, record_correlation = -1;
};
SyncRecord read_sync_record(const Draft& draft, std::uint32_t event);
/// The stream of that number beside the record's track; kNone.
std::uint32_t stream_numbered(const Draft& draft, std::uint32_t record, std::int64_t number);
/// The last operation launched on a stream before `t`; kNone.
Op last_launched_before(const Draft& draft, std::uint32_t stream, Nanos t);
/// When a process made streams wait for events, ascending; and whether it did so in [begin, end).
std::vector<Nanos> wait_calls(const Draft& draft, const Process& process);
bool wait_between(const std::vector<Nanos>& waits, Nanos begin, Nanos end);
void find_event_waits(Draft& draft);
void find_default_stream(Draft& draft);
void find_coincidences(Draft& draft);
void find_host_waits(Draft& draft);
void find_hand_offs(Draft& draft);
void find_collectives(Draft& draft);
/// Gives the transfers their nodes; after all host nodes are laid out.
void place_transfers(Draft& draft);

}  // namespace ergon::graph
