// Does the graph give the trace back, and how does it answer to longer kernels?
#include <algorithm>

#include "impl.hpp"

namespace ergon::graph {
namespace {

// The trace's own time for a node, where the node stands for the beginning or the end of its event.
Nanos traced_start(const Graph::Impl& g, NodeId n) {
  const std::uint32_t t = g.table_of(g.event[n]);
  const trace::EventTable& table = *g.tables[t];
  const trace::EventId e = g.event[n] - g.base[t];
  if (g.arrival(n) != n) return table.end_ns(e) + g.clock[t] - g.duration[n];
  if (on_gpu(g.kind[n])) return table.start_ns[e] + g.clock[t];
  // (calls that overlap without being nested, in damaged traces, return one after another)
  if (g.kind[n] == NodeKind::kSync) return std::max(table.end_ns(e) + g.clock[t], g.start[n]);
  return g.start[n];
}

Nanos gpu_busy(const Graph& graph) {
  const Graph::Impl& g = graph.impl();
  Nanos busy = 0;
  Nanos until = std::int64_t{-1} << 62;
  for (NodeId n = 0; n < g.size(); ++n) {  // starts ascend
    if (!on_gpu(g.kind[n])) continue;
    const NodeId last = graph.transfer(n);  // a member that waits for the others polls
    const Nanos start = g.start[n];
    const Nanos end = g.start[last] + g.duration[last];
    busy += std::max<Nanos>(0, end - std::max(start, until));
    until = std::max(until, end);
  }
  return busy;
}

}  // namespace

Replay check_replay(const Graph& graph) {
  const Graph::Impl& g = graph.impl();
  Replay r;
  Retimer retimer(graph);
  const Nanos span = retimer.run();
  std::uint64_t kernels = 0;
  std::uint64_t unexplained = 0;
  for (NodeId n = 0; n < g.size(); ++n) {
    const Nanos difference = std::abs(retimer.starts()[n] - traced_start(g, n));
    if (difference > r.max_difference_ns) {
      r.max_difference_ns = difference;
      r.worst = n;
    }
    r.residual_ns_total += g.residual[n];
    if (g.kind[n] == NodeKind::kKernel || g.kind[n] == NodeKind::kCollective) {
      const bool transfer = g.arrival(n) != n;
      kernels += transfer ? 0 : 1;
      unexplained += g.residual[n] > 0 || graph.is_anchor(n) ? 1 : 0;
      retimer.durations()[n] *= 2;
    }
  }
  r.nodes = g.size();
  if (kernels > 0)
    r.unexplained_share = static_cast<double>(unexplained) / static_cast<double>(kernels);
  r.gpu_busy_ns = gpu_busy(graph);
  if (r.gpu_busy_ns > 0 && kernels > 0) {
    r.response = static_cast<double>(retimer.run() - span) / static_cast<double>(r.gpu_busy_ns);
  }
  return r;
}

}  // namespace ergon::graph
