// Start times from durations: one walk in topological order.
#include <algorithm>

#include "impl.hpp"

namespace ergon::graph {
namespace {

inline Nanos start_of(const Graph::Impl& g, NodeId n, const std::vector<Nanos>& starts,
                      const std::vector<Nanos>& durations) {
  const std::uint32_t first = g.offset[n];
  const std::uint32_t last = g.offset[n + 1];
  if (first == last) return g.start[n];
  Nanos latest = std::int64_t{-1} << 62;
  for (std::uint32_t e = first; e < last; ++e) {
    const NodeId from = g.from[e];
    latest =
        std::max(latest, Graph::Impl::bound(starts[from], durations[from], g.lag[e], g.flags[e]));
  }
  return latest + g.residual[n];
}

}  // namespace

Retimer::Retimer(const Graph& graph)
    : graph_(&graph), durations_(graph.size()), starts_(graph.size()) {
  reset_durations();
  for (NodeId n = 0; n < starts_.size(); ++n) starts_[n] = graph.impl().start[n];
}

void Retimer::reset_durations() {
  for (NodeId n = 0; n < durations_.size(); ++n) durations_[n] = graph_->impl().duration[n];
}

Nanos Retimer::run() {
  if (starts_.empty()) return 0;
  const Graph::Impl& g = graph_->impl();
  Nanos first = std::int64_t{1} << 62;
  Nanos last = std::int64_t{-1} << 62;
  for (NodeId n = 0; n < starts_.size(); ++n) {
    starts_[n] = start_of(g, n, starts_, durations_);
    first = std::min(first, starts_[n]);
    last = std::max(last, starts_[n] + durations_[n]);
  }
  return last - first;
}

Nanos Retimer::run_range(NodeId first, NodeId last) {
  const Graph::Impl& g = graph_->impl();
  Nanos end = std::int64_t{-1} << 62;
  for (NodeId n = first; n < last; ++n) {
    starts_[n] = start_of(g, n, starts_, durations_);
    end = std::max(end, starts_[n] + durations_[n]);
  }
  return end;
}

}  // namespace ergon::graph
