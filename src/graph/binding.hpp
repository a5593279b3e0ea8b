// Which edge decides a start.
#pragma once
#include "impl.hpp"

namespace ergon::graph {

/// Bound of edge e (position in the graph's edge arrays) at the given times.
inline Nanos edge_bound(const Graph::Impl& g, const Timing& timing, std::size_t e) {
  const NodeId from = g.from[e];
  return Graph::Impl::bound(timing.start(from), timing.duration(from), g.lag[e], g.flags[e]);
}

/// Position of the decisive edge; `none` for anchors. Of equal bounds the host's own order yields.
inline std::size_t decisive_edge(const Graph::Impl& g, const Timing& timing, NodeId n,
                                 std::size_t none) {
  std::size_t best = none;
  Nanos latest = 0;
  for (std::size_t e = g.offset[n]; e < g.offset[n + 1]; ++e) {
    const Nanos bound = edge_bound(g, timing, e);
    const bool rather = best != none && bound == latest &&
                        edge_rule(g.flags[best]) == Rule::kThreadOrder &&
                        edge_rule(g.flags[e]) != Rule::kThreadOrder;
    if (best == none || bound > latest || rather) {
      best = e;
      latest = bound;
    }
  }
  return best;
}
inline constexpr std::size_t kNoEdge = ~std::size_t{0};

}  // namespace ergon::graph
