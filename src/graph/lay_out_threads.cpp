// Host threads as rows of nodes: what runs innermost between two boundaries of nested events is one
// node; a blocking call ends in a node of its own, so that what it waited for can hold its return.
#include <algorithm>
#include <limits>

#include "draft.hpp"

namespace ergon::graph {
namespace {

constexpr bool only_waits(ApiClass c) {
  return c == ApiClass::kEventSync || c == ApiClass::kStreamSync || c == ApiClass::kDeviceSync;
}

constexpr Nanos kGap = 20'000;  // shorter gaps are no hand-over between threads

struct Open {
  std::uint32_t event = 0;
  Nanos end = 0;
  NodeKind kind = NodeKind::kHost;
  std::uint32_t wait_begin = 0, wait_end = 0;  // into Draft::waits
  bool annotation = false;
};

class ThreadLayout {
 public:
  ThreadLayout(Draft& d, std::uint32_t thread) : d_(d), thread_(thread), t_(d.threads[thread]) {}

  void run() {
    t_.first = next_pre();
    Nanos first_mark = 0;
    Nanos last_mark = 0;
    std::uint32_t first_event = kNone;
    std::uint32_t last_event = kNone;
    bool begun = false;
    const Draft::Ref base = d_.ref(t_.begin);
    const trace::EventTable& table = *base.table;
    const std::vector<std::uint8_t>& flags = d_.name_flags[t_.table];
    Nanos range_end = std::numeric_limits<Nanos>::max();
    if (d_.options.range && d_.options.range->end < range_end - base.clock)
      range_end = d_.options.range->end + base.clock;
    wait_ = static_cast<std::uint32_t>(
        std::partition_point(d_.waits.begin(), d_.waits.end(),
                             [&](const HostWait& w) { return w.call < t_.begin; }) -
        d_.waits.begin());
    for (std::uint32_t e = t_.begin; e < t_.end; ++e) {
      const trace::EventId local = base.event + (e - t_.begin);
      const trace::EventKind kind = table.kind[local];
      const bool annotation = kind == trace::EventKind::kAnnotation;
      const bool named = annotation || kind == trace::EventKind::kHostOp;
      const bool mark = named && (flags[table.name[local]] & kNameStep) != 0;
      const bool host = named && !mark;
      if (!mark && !host && kind != trace::EventKind::kApi) continue;
      const Nanos start = table.start_ns[local] + base.clock;
      if (!d_.in_range(e)) continue;
      Nanos end = start + table.duration_ns[local];
      // What a host operation does after the range is out of it, as its children there are.
      if (named) end = std::max(start, std::min(end, range_end));
      if (mark) {
        if (first_event == kNone || start < first_mark) first_mark = start, first_event = e;
        if (last_event == kNone || end > last_mark) last_mark = end, last_event = e;
        if (!begun && next_pre() == t_.first) {
          emit_mark(first_event, first_mark);
          begun = true;
        }
        continue;
      }
      begun = true;
      t_.has_ops = t_.has_ops || (host && !annotation);
      advance(start);
      if (host) {
        open_.push_back({e, end, NodeKind::kHost, 0, 0, annotation});
      } else {
        open_call(e, end);
      }
    }
    while (!open_.empty()) advance(open_.back().end);
    if (last_event != kNone && last_mark > last_end_) emit_mark(last_event, last_mark);
    t_.last = next_pre();
  }

 private:
  [[nodiscard]] Pre next_pre() const {
    return static_cast<Pre>(d_.op_event.size() + d_.host_event.size());
  }

  void emit(std::uint32_t event, NodeKind kind, Nanos start, Nanos duration,
            bool annotation = false) {
    const Pre p = next_pre();
    if (!annotation) {
      if (start - last_work_ >= kGap) d_.gaps.push_back({thread_, p, last_work_, start});
      last_work_ = start + duration;
    }
    d_.host_annotation.push_back(annotation ? 1 : 0);
    d_.host_event.push_back(event);
    d_.host_kind.push_back(kind);
    d_.host_start.push_back(start);
    d_.host_duration.push_back(duration);
    last_end_ = start + duration;
  }
  void emit_mark(std::uint32_t event, Nanos at) { emit(event, NodeKind::kHost, at, 0, true); }

  void open_call(std::uint32_t e, Nanos end) {
    // Waits are sorted by call, and calls come in order.
    while (wait_ < d_.waits.size() && d_.waits[wait_].call < e) ++wait_;
    const std::uint32_t wait_begin = wait_;
    while (wait_ < d_.waits.size() && d_.waits[wait_].call == e) ++wait_;
    const ApiClass c = d_.api(e);
    const bool needed = launches(c) || wait_begin != wait_;
    t_.launches = t_.launches || (launches(c) && d_.slot[e] != kNone);
    d_.slot[e] = kNone;
    if (needed) {
      d_.slot[e] = next_pre();
      fresh_call_ = true;
    }
    open_.push_back({e, end, NodeKind::kApi, wait_begin, wait_});
  }

  // The innermost event has run from at_ to `to`.
  void piece(Nanos to) {
    const Open& top = open_.back();
    if (to > at_ || fresh_call_) emit(top.event, top.kind, at_, to - at_, top.annotation);
    fresh_call_ = false;
    at_ = to;
  }

  void close() {
    if (open_.back().wait_begin == open_.back().wait_end) return open_.pop_back();
    const Open top = open_.back();
    open_.pop_back();
    Nanos held = kNever;
    bool by_start = false;
    for (std::uint32_t i = top.wait_begin; i < top.wait_end; ++i) {
      HostWait& w = d_.waits[i];
      w.at = next_pre();
      held = std::max(held, w.from_start ? d_.op_start(w.op) : d_.op_end(w.op));
      by_start = by_start || w.from_start;
    }
    const std::size_t last = d_.host_event.size() - 1;
    const Nanos returned = at_;
    Nanos resumed = returned;
    if (d_.host_event[last] == top.event && held > d_.host_start[last]) {
      // Its own work is what a call costs that need not wait; the rest was waiting, and what it
      // does after that.
      const ApiClass c = d_.api(top.event);
      const Nanos own = launches(c) ? d_.latency.launch_call : 0;
      d_.host_duration[last] = std::min({own, held - d_.host_start[last], d_.host_duration[last]});
      if (only_waits(c)) {
        d_.waiting.push_back(next_pre());
      } else if (!by_start && returned - held > d_.latency.sync_return + kTolerance) {
        resumed = held + d_.latency.sync_return;
      }
    }
    last_end_ = resumed;
    emit(top.event, resumed < returned ? NodeKind::kApi : NodeKind::kSync, resumed,
         returned - resumed);
  }

  void advance(Nanos to) {
    while (!open_.empty() && open_.back().end <= to) {
      const Nanos end = std::max(open_.back().end, at_);
      piece(end);
      close();
    }
    if (open_.empty()) {
      at_ = std::max(at_, to);
    } else if (to > at_ || fresh_call_) {
      piece(std::max(to, at_));
    }
  }

  Draft& d_;
  std::uint32_t thread_;
  HostThread& t_;
  std::vector<Open> open_;
  std::uint32_t wait_ = 0;   // the first of Draft::waits that is not of an earlier call
  Nanos at_ = kNever;        // the thread is laid out up to here
  Nanos last_end_ = kNever;  // end of its latest node
  Nanos last_work_ =
      kNever;  // the same, annotations left out: in them a thread may wait for another
  bool fresh_call_ =
      false;  // the innermost event is a call that must have a node, even an empty one
};

}  // namespace

void lay_out_threads(Draft& d) {
  DurationHistogram calls;
  for (const Process& p : d.processes) {
    for (const std::uint32_t call : p.calls) {
      if (launches(d.api(call))) calls.add(d.duration(call));
    }
  }
  d.latency.launch_call = calls.quantile(0.5);
  // Address space for what is typical; memory only for what comes.
  std::size_t events = 0;
  for (const HostThread& t : d.threads) events += t.end - t.begin;
  const std::size_t nodes = 2 * events;
  d.host_event.reserve(nodes);
  d.host_kind.reserve(nodes);
  d.host_start.reserve(nodes);
  d.host_duration.reserve(nodes);
  d.host_annotation.reserve(nodes);
  for (std::uint32_t t = 0; t < d.threads.size(); ++t) ThreadLayout(d, t).run();
  std::sort(d.waiting.begin(), d.waiting.end());
}

}  // namespace ergon::graph
