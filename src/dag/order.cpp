// Topological order, and what to do when there is none.
#include <algorithm>
#include <functional>
#include <queue>
#include <string>

#include "ergon/dag.hpp"

namespace ergon::dag {
namespace {

// One cycle among the nodes that Kahn's algorithm could not place: walk to unplaced predecessors
// until one repeats.
std::vector<Node> find_cycle(const Csr& in, const std::vector<std::uint32_t>& open) {
  Node n = 0;
  while (open[n] == 0) ++n;
  std::vector<bool> seen(open.size(), false);
  while (!seen[n]) {
    seen[n] = true;
    for (const Node p : in.row(n)) {
      if (open[p] != 0) {
        n = p;
        break;
      }
    }
  }
  std::vector<Node> cycle{n};
  for (Node at = n;;) {
    for (const Node p : in.row(at)) {
      if (open[p] != 0) {
        at = p;
        break;
      }
    }
    if (at == n) break;
    cycle.push_back(at);
  }
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

}  // namespace

Result<std::vector<Node>> topological_order(std::size_t nodes, std::span<const Arc> arcs) {
  const Csr out = Csr::outgoing(nodes, arcs);
  std::vector<std::uint32_t> open(nodes, 0);
  for (const Arc& arc : arcs) ++open[arc.to];
  std::priority_queue<Node, std::vector<Node>, std::greater<>> ready;
  for (Node n = 0; n < nodes; ++n) {
    if (open[n] == 0) ready.push(n);
  }
  std::vector<Node> order;
  order.reserve(nodes);
  while (!ready.empty()) {
    const Node n = ready.top();
    ready.pop();
    order.push_back(n);
    for (const Node to : out.row(n)) {
      if (--open[to] == 0) ready.push(to);
    }
  }
  if (order.size() == nodes) return order;
  const std::vector<Node> cycle = find_cycle(Csr::incoming(nodes, arcs), open);
  std::string text = "a cycle of " + std::to_string(cycle.size()) + ": ";
  const std::size_t shown = std::min<std::size_t>(cycle.size(), 8);
  for (std::size_t i = 0; i < shown; ++i) text += std::to_string(cycle[i]) + " -> ";
  text += shown < cycle.size() ? "..." : std::to_string(cycle.front());
  return fail(Errc::kMalformedInput, std::move(text), "remove one of these dependencies");
}

Acyclic break_cycles(std::size_t nodes, std::span<const Arc> arcs) {
  const Csr out = Csr::outgoing(nodes, arcs);
  enum class Mark : std::uint8_t { kNew, kOnPath, kDone };
  std::vector<Mark> mark(nodes, Mark::kNew);
  struct Frame {
    Node node;
    std::uint32_t next;
  };
  std::vector<Frame> path;
  Acyclic result;
  std::vector<Node> finished;
  finished.reserve(nodes);
  for (Node root = 0; root < nodes; ++root) {
    if (mark[root] != Mark::kNew) continue;
    mark[root] = Mark::kOnPath;
    path.push_back({root, 0});
    while (!path.empty()) {
      Frame& top = path.back();
      const auto row = out.row(top.node);
      if (top.next == row.size()) {
        mark[top.node] = Mark::kDone;
        finished.push_back(top.node);
        path.pop_back();
        continue;
      }
      const std::uint32_t at = top.next++;
      const Node to = row[at];
      if (mark[to] == Mark::kOnPath) {
        result.dropped.push_back(out.arc_ids(top.node)[at]);
      } else if (mark[to] == Mark::kNew) {
        mark[to] = Mark::kOnPath;
        path.push_back({to, 0});
      }
    }
  }
  std::sort(result.dropped.begin(), result.dropped.end());
  if (result.dropped.empty()) {
    // the order that topological_order would give
    result.order = *topological_order(nodes, arcs);
  } else {
    result.order.assign(finished.rbegin(), finished.rend());
  }
  return result;
}

}  // namespace ergon::dag
