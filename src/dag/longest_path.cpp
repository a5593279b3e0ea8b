// Earliest and latest starts, and the chain that decides the end.
#include <algorithm>
#include <limits>

#include "ergon/dag.hpp"

namespace ergon::dag {

std::vector<std::int64_t> earliest_starts(const Csr& incoming, std::span<const Node> order,
                                          std::span<const std::int64_t> weight,
                                          std::span<const std::int64_t> lag) {
  std::vector<std::int64_t> start(incoming.nodes(), 0);
  for (const Node n : order) {
    const auto from = incoming.row(n);
    const auto ids = incoming.arc_ids(n);
    for (std::size_t i = 0; i < from.size(); ++i) {
      start[n] = std::max(start[n], start[from[i]] + weight[from[i]] + lag[ids[i]]);
    }
  }
  return start;
}

std::vector<std::int64_t> latest_starts(const Csr& incoming, std::span<const Node> order,
                                        std::span<const std::int64_t> weight,
                                        std::span<const std::int64_t> lag, std::int64_t end) {
  std::vector<std::int64_t> latest(incoming.nodes());
  for (std::size_t n = 0; n < latest.size(); ++n) latest[n] = end - weight[n];
  for (std::size_t k = order.size(); k-- > 0;) {
    const Node n = order[k];
    const auto from = incoming.row(n);
    const auto ids = incoming.arc_ids(n);
    for (std::size_t i = 0; i < from.size(); ++i) {
      latest[from[i]] = std::min(latest[from[i]], latest[n] - lag[ids[i]] - weight[from[i]]);
    }
  }
  return latest;
}

std::vector<Node> longest_path(const Csr& incoming, std::span<const std::int64_t> start,
                               std::span<const std::int64_t> weight,
                               std::span<const std::int64_t> lag) {
  std::vector<Node> path;
  if (incoming.nodes() == 0) return path;
  Node last = 0;
  for (Node n = 1; n < incoming.nodes(); ++n) {
    if (start[n] + weight[n] > start[last] + weight[last]) last = n;
  }
  for (Node n = last;;) {
    path.push_back(n);
    const auto from = incoming.row(n);
    const auto ids = incoming.arc_ids(n);
    constexpr Node kNone = std::numeric_limits<Node>::max();
    Node decides = kNone;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (start[from[i]] + weight[from[i]] + lag[ids[i]] == start[n])
        decides = std::min(decides, from[i]);
    }
    if (decides == kNone) break;
    n = decides;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace ergon::dag
