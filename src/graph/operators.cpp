// The host operation behind each node.
#include <algorithm>

#include "ergon/base/radix_sort.hpp"
#include "impl.hpp"

namespace ergon::graph {

Operators::Operators(const Graph& graph) : graph_(&graph) {
  const Graph::Impl& g = graph.impl();
  base_ = g.base;
  parent_.assign(g.base.back(), kNone);
  // Only GPU work without a launch is looked up by its external id.
  bool by_external = false;
  for (NodeId n = 0; n < g.size() && !by_external; ++n) {
    by_external = on_gpu(g.kind[n]) && g.launch(n) == kNoNode;
  }
  struct Open {
    std::uint32_t event;
    Nanos end;
  };
  std::vector<Open> open;
  for (std::size_t t = 0; t < g.tables.size(); ++t) {
    const trace::EventTable& table = *g.tables[t];
    std::uint32_t track = kNone;
    for (trace::EventId e = 0; e < table.size(); ++e) {
      if (table.track[e] != track) open.clear();
      track = table.track[e];
      const trace::EventKind kind = table.kind[e];
      if (kind != trace::EventKind::kHostOp && kind != trace::EventKind::kApi) continue;
      while (!open.empty() && open.back().end <= table.start_ns[e]) open.pop_back();
      if (!open.empty()) parent_[g.base[t] + e] = open.back().event;
      if (kind != trace::EventKind::kHostOp) continue;
      open.push_back({g.base[t] + e, table.end_ns(e)});
      if (by_external && table.external_id[e] >= 0)
        by_external_.emplace_back(table.external_id[e], g.base[t] + e);
    }
  }
  // Of one id the events ascend already.
  radix_sort(by_external_, [](const auto& entry) { return entry.first; });
}

trace::EventId Operators::parent(std::uint32_t table, trace::EventId event) const {
  const std::uint32_t p = parent_[base_[table] + event];
  return p == kNone ? trace::kNoEvent : p - base_[table];
}

trace::EventId Operators::of(NodeId n) const {
  const Graph::Impl& g = graph_->impl();
  const std::uint32_t t = g.table_of(g.event[n]);
  if (g.kind[n] == NodeKind::kHost) return g.event[n] - g.base[t];
  if (!on_gpu(g.kind[n])) return parent(t, g.event[n] - g.base[t]);
  const NodeId call = g.launch(n);
  if (call != kNoNode) return parent(t, g.event[call] - g.base[t]);
  const std::int64_t id = g.tables[t]->external_id[g.event[n] - g.base[t]];
  if (id < 0) return trace::kNoEvent;
  auto it = std::lower_bound(by_external_.begin(), by_external_.end(),
                             std::pair<std::int64_t, std::uint32_t>(id, g.base[t]));
  if (it == by_external_.end() || it->first != id || it->second >= g.base[t + 1])
    return trace::kNoEvent;
  return it->second - g.base[t];
}

}  // namespace ergon::graph
