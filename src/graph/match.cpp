// The same work in two steps, by name and order.
#include <algorithm>
#include <unordered_map>

#include "impl.hpp"

namespace ergon::graph {
namespace {

// One event of a step and its nodes: a GPU operation has one, a host event one a piece.
struct Work {
  std::uint64_t track_and_name = 0;
  std::uint32_t instance = 0;  ///< how many of that name on that track came before it in the step
  std::vector<NodeId> nodes;
};

std::uint64_t key_of(const trace::EventTable& table, trace::EventId e) {
  return (std::uint64_t{table.track[e]} << 32U) | table.name[e];
}

// Host events are counted in the table, so that one too short to have a node still counts; GPU work
// in order of start.
std::vector<Work> work_of(const Graph& graph, const Step& step) {
  const Graph::Impl& g = graph.impl();
  const trace::EventTable& table = *g.tables[step.table];
  std::unordered_map<std::uint64_t, std::uint32_t> seen;
  std::unordered_map<trace::EventId, std::uint32_t> instance;
  for (trace::EventId e = 0; e < table.size(); ++e) {
    const trace::EventKind kind = table.kind[e];
    if (kind != trace::EventKind::kHostOp && kind != trace::EventKind::kApi &&
        kind != trace::EventKind::kAnnotation) {
      continue;
    }
    if (table.start_ns[e] < step.host.begin || table.start_ns[e] >= step.host.end) continue;
    instance[e] = seen[key_of(table, e)]++;
  }
  std::vector<Work> work;
  std::unordered_map<trace::EventId, std::size_t> place;
  for (const NodeId n : nodes_of(graph, step)) {
    const trace::EventId e = graph.event(n);
    const auto [it, fresh] = place.try_emplace(e, work.size());
    if (fresh) {
      Work w;
      w.track_and_name = key_of(table, e);
      if (on_gpu(g.kind[n])) {
        w.instance = seen[w.track_and_name]++;
      } else if (const auto counted = instance.find(e); counted != instance.end()) {
        w.instance = counted->second;
      } else {
        continue;  // began before the step
      }
      work.push_back(std::move(w));
    }
    work[it->second].nodes.push_back(n);
  }
  return work;
}

struct Key {
  std::uint64_t track_and_name;
  std::uint32_t instance;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h =
        (k.track_and_name ^ (std::uint64_t{k.instance} << 17U)) * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(h ^ (h >> 29U));
  }
};

template <class Use>
void each_pair(const Graph& graph, const Step& a, const Step& b, Use&& use) {
  if (a.table != b.table) return;
  const std::vector<Work> others = work_of(graph, b);
  std::unordered_map<Key, const Work*, KeyHash> find;
  for (const Work& w : others) find.try_emplace({w.track_and_name, w.instance}, &w);
  for (const Work& w : work_of(graph, a)) {
    const auto it = find.find({w.track_and_name, w.instance});
    if (it != find.end()) use(w, *it->second);
  }
}

}  // namespace

std::vector<std::pair<NodeId, NodeId>> match_nodes(const Graph& graph, const Step& a,
                                                   const Step& b) {
  std::vector<std::pair<NodeId, NodeId>> pairs;
  each_pair(graph, a, b, [&](const Work& x, const Work& y) {
    for (std::size_t i = 0; i < std::min(x.nodes.size(), y.nodes.size()); ++i) {
      if (graph.kind(x.nodes[i]) == graph.kind(y.nodes[i]))
        pairs.emplace_back(x.nodes[i], y.nodes[i]);
    }
  });
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::uint64_t exchange_durations(const Graph& graph, const Step& a, const Step& b, bool host,
                                 std::span<Nanos> durations) {
  ERGON_CHECK(durations.size() == graph.size(), "one duration a node");
  std::uint64_t exchanged = 0;
  each_pair(graph, a, b, [&](const Work& x, const Work& y) {
    if (!host && !on_gpu(graph.kind(x.nodes.front()))) return;
    exchanged += x.nodes.size();
    if (x.nodes.size() == y.nodes.size()) {
      for (std::size_t i = 0; i < x.nodes.size(); ++i)
        durations[x.nodes[i]] = graph.duration(y.nodes[i]);
      return;
    }
    // cut differently: the whole time is exchanged, in the proportions of `a`
    Nanos mine = 0;
    Nanos other = 0;
    for (const NodeId n : x.nodes) mine += graph.duration(n);
    for (const NodeId n : y.nodes) other += graph.duration(n);
    Nanos left = other;
    for (const NodeId n : x.nodes) {
      const double share =
          mine > 0 ? static_cast<double>(graph.duration(n)) / static_cast<double>(mine) : 0;
      durations[n] = std::min(left, static_cast<Nanos>(static_cast<double>(other) * share));
      left -= durations[n];
    }
    durations[x.nodes.back()] += left;
  });
  return exchanged;
}

}  // namespace ergon::graph
