// Operations that no rule explains but that start just when work on another stream ends. With a
// stream wait called between the two launches, or inside one CUDA graph, the edge is inferred;
// without, it is assumed.
#include <algorithm>

#include "draft.hpp"

namespace ergon::graph {
namespace {

std::vector<Nanos> wait_calls(const Draft& d, const Process& p) {
  std::vector<Nanos> times;
  for (const std::uint32_t call : p.calls) {
    if (d.api(call) == ApiClass::kStreamWait) times.push_back(d.start(call));
  }
  return times;
}

bool wait_between(const std::vector<Nanos>& waits, Nanos begin, Nanos end) {
  const auto it = std::lower_bound(waits.begin(), waits.end(), begin);
  return it != waits.end() && *it < end;
}

}  // namespace

void find_coincidences(Draft& d) {
  std::vector<std::pair<Nanos, Op>> by_end;
  for (std::uint32_t table = 0; table < d.tables.size(); ++table) {
    by_end.clear();
    std::size_t busy = 0;
    for (const Stream& s : d.streams) {
      if (s.table != table || s.first == s.last) continue;
      ++busy;
    }
    if (busy < 2) continue;

    std::vector<Op> late;
    for (const Stream& s : d.streams) {
      if (s.table != table) continue;
      for (Op k = s.first; k < s.last; ++k) {
        const Nanos best = std::max(d.launch_bound(k), d.stream_bound(k));
        if (best != kNever && d.op_start(k) > best + kTolerance) late.push_back(k);
      }
    }
    // what the waits already explain
    std::vector<Op> explained;
    for (const OpEdge& e : d.op_edges) {
      if (d.op_start(e.to) - d.op_end(e.from) <= kTolerance) explained.push_back(e.to);
    }
    std::sort(explained.begin(), explained.end());
    std::erase_if(late,
                  [&](Op k) { return std::binary_search(explained.begin(), explained.end(), k); });
    if (late.empty()) continue;

    for (const Stream& s : d.streams) {
      if (s.table != table) continue;
      for (Op k = s.first; k < s.last; ++k) by_end.emplace_back(d.op_end(k), k);
    }
    std::sort(by_end.begin(), by_end.end());
    std::vector<std::vector<Nanos>> waits(d.processes.size());
    for (std::size_t p = 0; p < d.processes.size(); ++p) {
      if (d.processes[p].table == table) waits[p] = wait_calls(d, d.processes[p]);
    }

    for (const Op k : late) {
      const Nanos start = d.op_start(k);
      auto it = std::upper_bound(by_end.begin(), by_end.end(), std::pair(start, kNone));
      for (int tries = 0; it != by_end.begin() && tries < 16; ++tries) {
        --it;
        const Op x = it->second;
        if (it->first < start - kTolerance) break;
        if (d.op_stream[x] == d.op_stream[k]) continue;
        const std::uint32_t before = d.op_call[x];
        const std::uint32_t after = d.op_call[k];
        const bool known = before != kNone && after != kNone;
        if (known && d.start(before) > d.start(after)) continue;
        const std::uint32_t process = d.streams[d.op_stream[k]].process;
        if (process != d.streams[d.op_stream[x]].process) continue;
        const bool evident =
            known &&
            (before == after ||
             (process != kNone && wait_between(waits[process], d.start(before), d.start(after))));
        d.op_edges.push_back(
            {x, k, Rule::kEventWait, evident ? Known::kInferred : Known::kAssumed});
        break;
      }
    }
  }
}

}  // namespace ergon::graph
