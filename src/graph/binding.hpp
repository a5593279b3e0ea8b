// Which edge decides a start.
#pragma once
#include <algorithm>

#include "impl.hpp"

namespace ergon::graph {

/// A Timing whose look-ups are inlined, for walks over all nodes.
class Times {
 public:
  explicit Times(const Timing& timing) : g_(timing.graph().impl()) {
    if (timing.timed() == nullptr) return;
    starts_ = timing.timed()->starts().data();
    durations_ = timing.timed()->durations().data();
  }
  [[nodiscard]] Nanos start(NodeId n) const {
    return starts_ != nullptr ? starts_[n] : g_.start[n];
  }
  [[nodiscard]] Nanos duration(NodeId n) const {
    return starts_ != nullptr ? durations_[n] : g_.duration[n];
  }
  [[nodiscard]] Nanos end(NodeId n) const { return start(n) + duration(n); }
  /// From the first start to the last end, and the first node that ends then.
  struct Span {
    Nanos begin = 0, end = 0;
    NodeId last = 0;
  };
  [[nodiscard]] Span span() const {
    Span s{g_.span_begin, g_.span_end, g_.last_to_end};
    if (starts_ == nullptr || g_.size() == 0) return s;
    s = {start(0), end(0), 0};
    for (NodeId n = 1; n < g_.size(); ++n) {
      s.begin = std::min(s.begin, start(n));
      if (end(n) > s.end) s.end = end(n), s.last = n;
    }
    return s;
  }

 private:
  const Graph::Impl& g_;
  const Nanos* starts_ = nullptr;
  const Nanos* durations_ = nullptr;
};

/// Bound of edge e (position in the graph's edge arrays) at the given times.
inline Nanos edge_bound(const Graph::Impl& g, const Times& timing, std::size_t e) {
  const NodeId from = g.from[e];
  return Graph::Impl::bound(timing.start(from), timing.duration(from), g.lag[e], g.flags[e]);
}

/// Position of the decisive edge; `none` for anchors. Of equal bounds the host's own order yields.
inline std::size_t decisive_edge(const Graph::Impl& g, const Times& timing, NodeId n,
                                 std::size_t none) {
  const std::size_t first = g.offset[n];
  const std::size_t last = g.offset[n + 1];
  if (last - first == 1) return first;
  std::size_t best = none;
  Nanos latest = 0;
  for (std::size_t e = first; e < last; ++e) {
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
