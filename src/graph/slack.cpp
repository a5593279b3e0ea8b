// Slack: the walk in reverse topological order.
#include <algorithm>

#include "binding.hpp"

namespace ergon::graph {

Slack slack(const Timing& given, std::optional<Nanos> end) {
  const Graph::Impl& g = given.graph().impl();
  const Times timing(given);
  const std::size_t n_nodes = g.size();
  Slack s;
  if (n_nodes == 0) return s;
  Nanos last = timing.end(0);
  for (NodeId n = 0; n < n_nodes; ++n) last = std::max(last, timing.end(n));
  if (end) last = *end;

  // latest_end: by taking longer; latest_start: by starting later, which moves what follows the
  // start too
  std::vector<Nanos>& latest_end = s.total_ns;
  latest_end.assign(n_nodes, last);
  s.free_ns.assign(n_nodes, last);
  std::vector<Nanos> latest_start(n_nodes, last);
  for (NodeId n = static_cast<NodeId>(n_nodes); n-- > 0;) {
    latest_start[n] = std::min(latest_start[n], latest_end[n] - timing.duration(n));
    const Nanos latest_bound = latest_start[n] - g.residual[n];
    const Nanos bound_now = timing.start(n) - g.residual[n];
    for (std::size_t e = g.offset[n]; e < g.offset[n + 1]; ++e) {
      const NodeId from = g.from[e];
      const Nanos after_start = edge_bound(g, timing, e) - timing.start(from);
      latest_start[from] = std::min(latest_start[from], latest_bound - after_start);
      if (edge_from_start(g.flags[e])) continue;
      latest_end[from] = std::min(latest_end[from], latest_bound - g.lag[e]);
      s.free_ns[from] = std::min(s.free_ns[from], bound_now - g.lag[e]);
    }
  }
  for (NodeId n = 0; n < n_nodes; ++n) {
    s.total_ns[n] -= timing.end(n);
    s.free_ns[n] -= timing.end(n);
  }
  return s;
}

}  // namespace ergon::graph
