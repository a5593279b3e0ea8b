// Couples the packs of several GPUs where the graph has an edge from one GPU to another.
#include "coupling.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "ergon/io.hpp"

namespace ergon::plan {
namespace {

using graph::NodeId;

std::size_t position(const graph::Graph& graph, std::span<const NodeId> operations,
                     Nanos at_or_after) {
  const auto at = std::lower_bound(operations.begin(), operations.end(), at_or_after,
                                   [&](NodeId n, Nanos t) { return graph.start(n) < t; });
  return static_cast<std::size_t>(at - operations.begin());
}

// The moment on the awaited GPU that the waiting one needs.
Nanos awaited_moment(const graph::Graph& graph, const Meeting& m) {
  return graph.start(m.awaited) + (m.from_start ? 0 : graph.duration(m.awaited));
}

// The value of a string or number member of a detail object, as text; empty where there is none.
std::string member(std::string_view detail, std::string_view name) {
  const auto document = io::parse_json(detail);
  if (!document) return {};
  const Value* v = document->find(name);
  if (v == nullptr) return {};
  if (const auto* text = v->as_string()) return *text;
  if (const auto* number = v->as_int()) return std::to_string(*number);
  return {};
}

// The same on every rank: the process group and the position of the collective in it. Without a
// recorded sequence number the order in the window counts.
std::string key_of(const graph::Graph& graph, NodeId n, std::map<std::string, int>& seen) {
  const trace::EventTable& table = graph.table_of(n);
  const std::string group = member(table.detail_of(graph.event(n)), "Process Group Name");
  if (const auto seq = table.collective_seq.get(graph.event(n))) {
    return group + "#" + std::to_string(*seq);
  }
  const std::string name = group + ":" + std::string(graph.name(n));
  return name + "#" + std::to_string(seen[name]++);
}

void find_lone_collectives(const graph::Graph& graph, const Window& window,
                           std::span<const std::vector<NodeId>> operations, Coupling& coupling) {
  std::map<NodeId, std::size_t> index;
  std::map<std::string, int> seen;
  for (std::size_t g = 0; g < operations.size(); ++g) {
    for (std::size_t i = 0; i < operations[g].size(); ++i) {
      const NodeId n = operations[g][i];
      if (graph.kind(n) != graph::NodeKind::kCollective || graph.transfer(n) != n ||
          graph.arrival(n) != n)
        continue;
      index.emplace(n, coupling.collectives.size());
      coupling.collectives.push_back({.key = key_of(graph, n, seen), .node = n, .gpu = g});
      coupling.hard_cuts[g][i] = true;
    }
  }
  if (index.empty()) return;
  for (std::size_t g = 0; g < operations.size(); ++g) {
    for (std::size_t i = 0; i < operations[g].size(); ++i) {
      const NodeId n = operations[g][i];
      if (n >= window.last || graph.kind(n) == graph::NodeKind::kCollective) continue;
      for (std::size_t e = 0; e < graph.edge_count(n); ++e) {
        const auto at = index.find(graph.edge(n, e).from);
        if (at == index.end() || graph.edge(n, e).from_start) continue;
        LoneCollective& c = coupling.collectives[at->second];
        if (c.result != graph::kNoNode || c.gpu != g) continue;
        c.result = n;
        coupling.hard_cuts[g][i] = true;
      }
    }
  }
}

}  // namespace

namespace {

// The first operation after each transfer that waits for its end. Between the two the GPU works on
// without the other members.
std::map<NodeId, std::pair<NodeId, Nanos>> results_of(
    const graph::Graph& graph, std::span<const std::vector<NodeId>> operations) {
  std::map<NodeId, std::pair<NodeId, Nanos>> results;
  for (const auto& list : operations) {
    for (const NodeId n : list) {
      for (std::size_t e = 0; e < graph.edge_count(n); ++e) {
        const graph::Edge edge = graph.edge(n, e);
        if (!edge.from_start && graph.arrival(edge.from) != edge.from)
          results.try_emplace(edge.from, n, graph.duration(edge.from) + edge.lag);
      }
    }
  }
  return results;
}

}  // namespace

Coupling find_coupling(const graph::Graph& graph, const Window& window,
                       std::span<const std::vector<NodeId>> operations) {
  Coupling coupling;
  for (const auto& list : operations) coupling.hard_cuts.emplace_back(list.size(), false);
  find_lone_collectives(graph, window, operations, coupling);
  if (operations.size() < 2) return coupling;
  const auto results = results_of(graph, operations);
  for (const auto& list : operations) {
    for (const NodeId n : list) {
      for (std::size_t e = 0; e < graph.edge_count(n); ++e) {
        const graph::Edge edge = graph.edge(n, e);
        if (edge.from < window.first || graph.gpu(edge.from) < 0 ||
            graph.gpu(edge.from) == graph.gpu(n))
          continue;
        Meeting m{.waiting = n,
                  .awaited = edge.from,
                  .waiting_gpu = static_cast<std::size_t>(graph.gpu(n)),
                  .awaited_gpu = static_cast<std::size_t>(graph.gpu(edge.from)),
                  .from_start = edge.from_start,
                  .lag = {}};
        if (const auto result = results.find(n); result != results.end()) {
          m.waiting = result->second.first;
          m.lag = result->second.second;
        }
        coupling.meetings.push_back(m);
      }
    }
  }
  const auto cut = [&](std::size_t gpu, Nanos at) {
    const std::size_t i = position(graph, operations[gpu], at);
    if (i < operations[gpu].size()) coupling.hard_cuts[gpu][i] = true;
  };
  for (const Meeting& m : coupling.meetings) {
    cut(m.waiting_gpu, graph.start(m.waiting));
    cut(m.awaited_gpu, awaited_moment(graph, m));
  }
  return coupling;
}

void name_collectives(const graph::Graph& graph, const Coupling& coupling,
                      std::span<const SegmentRef> refs, TracePacks& packs) {
  const auto pack_at = [&](std::size_t gpu, Nanos t) -> std::int64_t {
    for (std::size_t i = 0; i < refs.size(); ++i) {
      if (refs[i].graph_gpu == gpu && packs.packs[i].start_ns == t)
        return static_cast<std::int64_t>(i);
    }
    return -1;
  };
  for (const LoneCollective& c : coupling.collectives) {
    const std::int64_t start = pack_at(c.gpu, graph.start(c.node));
    const std::int64_t result =
        c.result == graph::kNoNode ? -1 : pack_at(c.gpu, graph.start(c.result));
    if (start < 0 || result < 0) continue;
    packs.packs[static_cast<std::size_t>(start)].collectives_started.push_back(c.key);
    packs.packs[static_cast<std::size_t>(result)].collectives_awaited.push_back(c.key);
    packs.collective_s[c.key] = to_seconds(graph.start(c.result) - graph.start(c.node)).si();
  }
}

void couple(const graph::Graph& graph, const Coupling& coupling, std::span<const SegmentRef> refs,
            TracePacks& packs) {
  // Packs in order of their start in the trace: each is then listed after all that it waits for.
  std::vector<std::uint32_t> order(refs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Nanos sa = packs.packs[a].start_ns;
    const Nanos sb = packs.packs[b].start_ns;
    return sa != sb ? sa < sb : a < b;
  });
  std::vector<std::uint32_t> rank(order.size());
  std::vector<Pack> sorted;
  std::vector<PackInfo> infos;
  std::map<std::size_t, std::vector<std::uint32_t>> by_gpu;  // new indices, in order
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    sorted.push_back(std::move(packs.problem.packs[order[i]]));
    infos.push_back(std::move(packs.packs[order[i]]));
    by_gpu[refs[order[i]].graph_gpu].push_back(i);
  }
  std::vector<std::vector<Option>> kept_back;
  kept_back.reserve(order.size());
  for (const std::uint32_t i : order) kept_back.push_back(std::move(packs.kept_back[i]));
  packs.kept_back = std::move(kept_back);
  packs.problem.packs = std::move(sorted);
  packs.packs = std::move(infos);

  // Of all that a pack waits for on another GPU the latest counts.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Nanos> lags;
  for (const Meeting& m : coupling.meetings) {
    const Nanos waits_at = graph.start(m.waiting);
    const Nanos needs = awaited_moment(graph, m);
    const auto last_that = [&](std::size_t gpu, auto&& holds) -> std::int64_t {
      std::int64_t found = -1;
      for (const std::uint32_t i : by_gpu[gpu]) {
        if (!holds(packs.packs[i])) break;
        found = i;
      }
      return found;
    };
    const std::int64_t waiting =
        last_that(m.waiting_gpu, [&](const PackInfo& p) { return p.start_ns <= waits_at; });
    const std::int64_t awaited = last_that(
        m.awaited_gpu, [&](const PackInfo& p) { return p.end_ns <= std::max(needs, p.start_ns); });
    if (waiting < 0 || awaited < 0 || awaited >= waiting) continue;
    const Nanos awaited_end = packs.packs[static_cast<std::size_t>(awaited)].end_ns;
    const Nanos seen = packs.packs[static_cast<std::size_t>(waiting)].start_ns - awaited_end;
    if (seen < 0) continue;
    // (a pack that begins before the operation, or ends before the awaited moment, adds that time)
    const Nanos lag =
        m.lag ? std::clamp<Nanos>(
                    *m.lag + needs - awaited_end -
                        (waits_at - packs.packs[static_cast<std::size_t>(waiting)].start_ns),
                    0, seen)
              : seen;
    Nanos& most = lags[{static_cast<std::uint32_t>(waiting), static_cast<std::uint32_t>(awaited)}];
    most = std::max(most, lag);
  }
  for (const auto& [pair, lag] : lags) {
    packs.problem.packs[pair.first].after.push_back({pair.second, to_seconds(lag).si()});
  }
}

}  // namespace ergon::plan
