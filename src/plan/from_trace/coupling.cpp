// Couples the packs of several GPUs where the graph has an edge from one GPU to another.
#include "coupling.hpp"

#include <algorithm>
#include <map>
#include <numeric>

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

}  // namespace

Coupling find_coupling(const graph::Graph& graph, const Window& window,
                       std::span<const std::vector<NodeId>> operations) {
  Coupling coupling;
  for (const auto& list : operations) coupling.hard_cuts.emplace_back(list.size(), false);
  if (operations.size() < 2) return coupling;
  for (const auto& list : operations) {
    for (const NodeId n : list) {
      for (std::size_t e = 0; e < graph.edge_count(n); ++e) {
        const graph::Edge edge = graph.edge(n, e);
        if (edge.from < window.first || graph.gpu(edge.from) < 0 ||
            graph.gpu(edge.from) == graph.gpu(n))
          continue;
        coupling.meetings.push_back({.waiting = n,
                                     .awaited = edge.from,
                                     .waiting_gpu = static_cast<std::size_t>(graph.gpu(n)),
                                     .awaited_gpu = static_cast<std::size_t>(graph.gpu(edge.from)),
                                     .from_start = edge.from_start});
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

void couple(const graph::Graph& graph, const Coupling& coupling, std::span<const SegmentRef> refs,
            TracePacks& packs) {
  // Packs in order of their start in the trace: each is then listed after all that it waits for.
  std::vector<std::uint32_t> order(refs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return packs.packs[a].start_ns < packs.packs[b].start_ns;
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
    const Nanos lag = packs.packs[static_cast<std::size_t>(waiting)].start_ns -
                      packs.packs[static_cast<std::size_t>(awaited)].end_ns;
    if (lag < 0) continue;
    lags[{static_cast<std::uint32_t>(waiting), static_cast<std::uint32_t>(awaited)}] = lag;
  }
  for (const auto& [pair, lag] : lags) {
    packs.problem.packs[pair.first].after.push_back({pair.second, to_seconds(lag).si()});
  }
}

}  // namespace ergon::plan
