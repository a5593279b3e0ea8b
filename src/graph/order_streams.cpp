// Which operation each one follows in its stream, and the calls of each process in time order.
#include <algorithm>
#include <queue>

#include "draft.hpp"

namespace ergon::graph {
namespace {

// An overlap this short is the head of the next kernel under the tail of the last (programmatic
// dependent launch); more than this and more than half of the earlier operation is two branches of
// a CUDA graph.
constexpr Nanos kShortOverlap = 20'000;

void order_stream(Draft& d, const Stream& s) {
  using OpenWork = std::pair<Nanos, Op>;
  std::priority_queue<OpenWork, std::vector<OpenWork>, std::greater<>> open;
  Op ended = kNone;
  for (Op k = s.first; k < s.last; ++k) {
    const Nanos start = d.op_start(k);
    while (!open.empty() && open.top().first <= start) {
      ended = open.top().second;  // the last one popped ended last
      open.pop();
    }
    if (k > s.first) {
      const Op last = k - 1;
      const Nanos overlap = d.op_end(last) - start;
      const bool tail =  // or nothing else is known of its start
          (ended == kNone && d.op_call[k] == kNone) ||
          overlap <= std::max(kShortOverlap, d.duration(d.op_event[last]) / 2);
      d.op_previous[k] = overlap > 0 && tail ? last : ended;
      d.op_overlaps[k] = d.op_previous[k] != kNone && d.op_end(d.op_previous[k]) > start;
    }
    open.emplace(d.op_end(k), k);
  }
}

bool matters(ApiClass c) {
  return launches(c) || blocks_host(c) || c == ApiClass::kEventRecord || c == ApiClass::kStreamWait;
}

}  // namespace

void order_streams(Draft& d) {
  d.op_previous.assign(d.op_event.size(), kNone);
  d.op_overlaps.assign(d.op_event.size(), false);
  for (const Stream& s : d.streams) order_stream(d, s);
}

void sequence_calls(Draft& d) {
  for (const HostThread& thread : d.threads) {
    std::vector<std::uint32_t>& calls = d.processes[thread.process].calls;
    const std::size_t old = calls.size();
    for (std::uint32_t e = thread.begin; e < thread.end; ++e) {
      if (d.kind(e) == trace::EventKind::kApi && matters(d.api(e)) && d.in_range(e))
        calls.push_back(e);
    }
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(d.start(a), a) < std::pair(d.start(b), b);
    };
    std::inplace_merge(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(old), calls.end(),
                       earlier);
  }
  for (const Process& p : d.processes) {
    for (const std::uint32_t call : p.calls) {
      if (!launches(d.api(call))) continue;
      d.each_op_of(call, [&](Op k) { d.streams[d.op_stream[k]].launched.push_back(k); });
    }
  }
}

}  // namespace ergon::graph
