// Directed acyclic graphs of plain indices: compressed rows, order, longest path, slack. Knows
// nothing of traces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::dag {

using Node = std::uint32_t;

/// `to` comes after `from`.
struct Arc {
  Node from = 0;
  Node to = 0;
};

/// The arcs of each node side by side (compressed sparse rows), in the order in which they were
/// given.
class Csr {
 public:
  Csr() = default;
  /// One row a node with its arcs' other ends; `incoming`: rows are targets, entries are sources.
  /// Arcs must name nodes below `nodes`.
  static Csr incoming(std::size_t nodes, std::span<const Arc> arcs);
  static Csr outgoing(std::size_t nodes, std::span<const Arc> arcs);

  [[nodiscard]] std::size_t nodes() const { return offset_.empty() ? 0 : offset_.size() - 1; }
  [[nodiscard]] std::size_t arcs() const { return ends_.size(); }
  /// The other ends of a node's arcs.
  [[nodiscard]] std::span<const Node> row(Node n) const {
    return std::span(ends_).subspan(offset_[n], offset_[n + 1] - offset_[n]);
  }
  /// The positions of those arcs in the list that made this: weights are looked up with them.
  [[nodiscard]] std::span<const std::uint32_t> arc_ids(Node n) const {
    return std::span(ids_).subspan(offset_[n], offset_[n + 1] - offset_[n]);
  }

 private:
  static Csr make(std::size_t nodes, std::span<const Arc> arcs, bool by_target);
  std::vector<std::uint32_t> offset_;
  std::vector<Node> ends_;
  std::vector<std::uint32_t> ids_;
};

/// All nodes, each after its predecessors; of several possible orders the one that takes the lowest
/// index first. kMalformedInput names one cycle, node by node.
Result<std::vector<Node>> topological_order(std::size_t nodes, std::span<const Arc> arcs);

/// An order after leaving out arcs that close cycles: with nodes visited from the lowest index and
/// arcs in the order given, each arc that leads back into the path being walked is dropped.
/// Deterministic, linear time, never fails.
struct Acyclic {
  std::vector<Node> order;
  std::vector<std::uint32_t> dropped;  ///< positions of the dropped arcs, ascending
};
Acyclic break_cycles(std::size_t nodes, std::span<const Arc> arcs);

/// Earliest starts when node n takes weight[n] and arc a adds lag[a] (may be negative) after the
/// end of its source; nodes without predecessors start at 0. `order` is topological for `incoming`.
std::vector<std::int64_t> earliest_starts(const Csr& incoming, std::span<const Node> order,
                                          std::span<const std::int64_t> weight,
                                          std::span<const std::int64_t> lag);
/// Latest starts that leave every node of it no later than `end`: the same walk backwards.
std::vector<std::int64_t> latest_starts(const Csr& incoming, std::span<const Node> order,
                                        std::span<const std::int64_t> weight,
                                        std::span<const std::int64_t> lag, std::int64_t end);

/// The chain of nodes that decides the last end of `start` + `weight`; of equals the lowest index.
/// Ascending in time.
std::vector<Node> longest_path(const Csr& incoming, std::span<const std::int64_t> start,
                               std::span<const std::int64_t> weight,
                               std::span<const std::int64_t> lag);

}  // namespace ergon::dag
