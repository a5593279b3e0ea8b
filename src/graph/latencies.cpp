// Latencies learnt from the trace as low quantiles, and the bounds made with them.
#include <algorithm>
#include <array>
#include <optional>

#include "draft.hpp"

namespace ergon::graph {
namespace {

constexpr double kLow = 0.05;
constexpr std::uint64_t kEnough = 20;       // samples below which a class falls back to a wider one
constexpr Nanos kDefaultStreamGap = 1'000;  // where no stream ever had work waiting

// Launch latencies: of all, and of those that were given no other work to wait for.
struct Seen {
  DurationHistogram all, unheld;

  void add(Nanos latency, bool held) {
    all.add(latency);
    if (!held) unheld.add(latency);
  }
  // The low quantile, where a share of them above it waited for nothing else.
  [[nodiscard]] std::optional<Nanos> low() const {
    const auto count = static_cast<double>(all.count());
    if (static_cast<double>(unheld.count()) >= kLow * count) return all.quantile(kLow);
    return unheld.count() > 0 ? std::optional(unheld.quantile(kLow)) : std::nullopt;
  }
};

struct Samples {
  std::vector<Seen> by_thread;
  std::array<Seen, kOpClasses> by_class;
  std::array<DurationHistogram, kOpClasses> lead;
};

// Whether an operation may have waited for an event: a wait was called for between the launch
// before it on its stream and its own, and it starts when work of another stream ends that was
// launched earlier and still ran.
class Held {
 public:
  explicit Held(const Draft& d) : d_(d), waits_(d.processes.size()) {
    for (std::size_t p = 0; p < waits_.size(); ++p) waits_[p] = wait_calls(d, d.processes[p]);
  }
  bool operator()(Op k) const {
    const std::uint32_t mine = d_.op_stream[k];
    const Stream& own = d_.streams[mine];
    const std::uint32_t call = d_.op_call[k];
    const std::uint32_t process = d_.threads[d_.place(call)].process;
    const Nanos called = d_.start(call);
    const Op before = d_.op_previous[k];
    const bool launched = before != kNone && d_.op_call[before] != kNone;
    const Nanos since = launched ? d_.start(d_.op_call[before]) : kNever;
    if (!wait_between(waits_[process], since, called)) return false;
    for (std::uint32_t s = 0; s < d_.streams.size(); ++s) {
      if (s == mine || d_.streams[s].process != own.process) continue;
      const Op x = last_launched_before(d_, s, called);
      if (x == kNone || d_.op_end(x) <= called) continue;
      const Nanos late = d_.op_start(k) - d_.op_end(x);
      if (late >= -kRounding && late <= kTolerance) return true;
    }
    return false;
  }

 private:
  const Draft& d_;
  std::vector<std::vector<Nanos>> waits_;  // by process
};

// Launches that met an idle stream: the operation waited for nothing but its launch.
Samples idle_launches(const Draft& d) {
  const Held held(d);
  Samples samples;
  samples.by_thread.resize(d.threads.size() * kOpClasses);
  for (Op k = 0; k < d.op_event.size(); ++k) {
    if (!d.leads_launch(k)) continue;
    const std::uint32_t call = d.op_call[k];
    const Nanos called = d.start(call);
    if (d.op_previous[k] != kNone && d.op_end(d.op_previous[k]) > called) continue;
    const auto c = static_cast<std::size_t>(d.op_class(k));
    const Nanos latency = d.op_start(k) - called;
    const bool waited = held(k);
    samples.by_thread[d.place(call) * kOpClasses + c].add(latency, waited);
    samples.by_class[c].add(latency, waited);
    samples.lead[c].add(d.end(call) - d.op_start(k));
  }
  return samples;
}

}  // namespace

void learn_latencies(Draft& d) {
  const Samples samples = idle_launches(d);
  d.latency.launch.assign(samples.by_thread.size(), 0);
  d.latency.lead.assign(kOpClasses, 0);
  std::array<Nanos, kOpClasses> typical{};
  for (std::size_t c = 0; c < kOpClasses; ++c) {
    const Seen& all = samples.by_class[c];
    typical[c] = all.all.quantile(0.5);
    d.latency.lead[c] = samples.lead[c].quantile(1 - kLow);
    for (std::size_t t = 0; t < d.threads.size(); ++t) {
      const Seen& own = samples.by_thread[t * kOpClasses + c];
      const bool many = own.all.count() >= kEnough;
      // Where all waited for events, others say how soon work can start.
      std::optional<Nanos> low = many ? own.low() : all.low();
      if (!low && many) low = all.low();
      if (!low) low = samples.by_class[static_cast<std::size_t>(OpClass::kKernel)].low();
      const Nanos seen = (many ? own : all).all.quantile(kLow);
      d.latency.launch[t * kOpClasses + c] = std::min(low.value_or(seen), seen);
    }
  }

  std::vector<DurationHistogram> stream(d.gpus.size());
  std::vector<DurationHistogram> graph(d.gpus.size());
  for (Op k = 0; k < d.op_event.size(); ++k) {
    const Op previous = d.op_previous[k];
    if (previous == kNone || d.op_overlaps[k] || d.op_call[k] == kNone) continue;
    const auto gpu = static_cast<std::size_t>(d.streams[d.op_stream[k]].gpu);
    const Nanos gap = d.op_start(k) - d.op_end(previous);
    if (!d.leads_launch(k)) {
      if (d.op_call[previous] == d.op_call[k]) graph[gpu].add(gap);
    } else if (d.op_end(previous) >
               d.start(d.op_call[k]) + 2 * typical[static_cast<std::size_t>(d.op_class(k))]) {
      stream[gpu].add(gap);
    }
  }
  for (std::size_t g = 0; g < d.gpus.size(); ++g) {
    // (where even the shortest gaps are long, something else held all of them)
    const Nanos gap = stream[g].quantile(kLow);
    d.latency.stream.push_back(stream[g].count() > 0 && gap <= kTolerance ? gap
                                                                          : kDefaultStreamGap);
    d.latency.graph_gap.push_back(graph[g].count() > 0 ? graph[g].quantile(kLow)
                                                       : d.latency.stream.back());
  }
}

Draft::LaunchLag Draft::launch_lag(Op k) const {
  const std::uint32_t call = op_call[k];
  const auto c = static_cast<std::size_t>(op_class(k));
  const Nanos floor = latency.launch[place(call) * kOpClasses + c];
  const Nanos seen = op_start(k) - start(call);
  const Nanos lead = latency.lead[c];
  // A call that takes long (it loads a module, it waits for a lock) launches towards its end.
  const Nanos before_return = end(call) - op_start(k);
  if (leads_launch(k) && duration(call) - lead > floor && before_return <= lead + kTolerance) {
    return {-std::max(lead, before_return), true};
  }
  if (op_named(k, kNamePageable) && before_return > 0 && seen > floor + kTolerance) {
    return {-before_return, true};  // the call copies into pinned memory first
  }
  return {std::min(floor, seen), false};
}

Nanos Draft::launch_bound(Op k) const {
  if (op_call[k] == kNone) return kNever;
  const LaunchLag l = launch_lag(k);
  return start(op_call[k]) +
         (l.from_end ? std::max<Nanos>(0, duration(op_call[k]) + l.lag) : l.lag);
}

Nanos Draft::stream_lag(Op k) const {
  const Op previous = op_previous[k];
  const auto gpu = static_cast<std::size_t>(streams[op_stream[k]].gpu);
  const bool same_launch = op_call[k] != kNone && op_call[previous] == op_call[k];
  return std::min(same_launch ? latency.graph_gap[gpu] : latency.stream[gpu],
                  op_start(k) - op_end(previous));
}

Nanos Draft::stream_bound(Op k) const {
  if (op_previous[k] == kNone) return kNever;
  return op_start(op_previous[k]) +
         std::max<Nanos>(0, duration(op_event[op_previous[k]]) + stream_lag(k));
}

}  // namespace ergon::graph
