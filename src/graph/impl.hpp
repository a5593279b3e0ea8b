// How a graph lies in memory: columns over nodes, edges in rows by target.
#pragma once
#include <cstdint>
#include <vector>

#include "ergon/graph.hpp"
#include "packed_nanos.hpp"

namespace ergon::graph {

inline constexpr std::uint32_t kNone = 0xffffffffU;

/// Edge flags in one byte: rule, known, from_start.
constexpr std::uint8_t pack_edge(Rule rule, Known known, bool from_start) {
  return static_cast<std::uint8_t>(static_cast<unsigned>(rule) |
                                   (static_cast<unsigned>(known) << 4U) |
                                   (from_start ? 0x40U : 0U));
}
constexpr Rule edge_rule(std::uint8_t flags) { return static_cast<Rule>(flags & 15U); }
constexpr Known edge_known(std::uint8_t flags) { return static_cast<Known>((flags >> 4U) & 3U); }
constexpr bool edge_from_start(std::uint8_t flags) { return (flags & 0x40U) != 0; }
static_assert(kRules <= 16, "a rule has four bits in an edge");

struct Graph::Impl {
  std::vector<const trace::EventTable*> tables;
  std::vector<std::uint32_t> base;  ///< first global event id of each table, and the total
  std::vector<Nanos> clock;         ///< what to add to a table's times for the common clock
  // nodes
  std::vector<std::uint32_t> event;  ///< global event id
  std::vector<NodeKind> kind;
  PackedNanos start, duration, residual;
  // edges into node n: [offset[n], offset[n + 1])
  std::vector<std::uint32_t> offset;
  std::vector<NodeId> from;
  std::vector<std::int32_t> lag;
  std::vector<std::uint8_t> flags;

  std::vector<std::pair<NodeId, NodeId>> coupled;  ///< arrival and transfer, sorted

  std::vector<Gpu> gpus;
  std::vector<std::uint32_t> track_base;  ///< of each table: first index into gpu_of_track
  std::vector<std::int32_t> gpu_of_track;
  std::vector<BuildNote> notes;
  Counts counts;
  Nanos span_begin = 0, span_end = 0;
  NodeId last_to_end = 0;  ///< the first of those that end at span_end

  [[nodiscard]] std::size_t size() const { return event.size(); }
  [[nodiscard]] std::uint32_t table_of(std::uint32_t global) const {
    if (tables.size() == 1) return 0;
    return static_cast<std::uint32_t>(std::upper_bound(base.begin(), base.end(), global) -
                                      base.begin()) -
           1;
  }
  /// Of a transfer its arrival, of all others the node itself.
  [[nodiscard]] NodeId arrival(NodeId n) const {
    if (kind[n] != NodeKind::kCollective) return n;
    const std::uint32_t first = offset[n];
    const bool transfer = first < offset[n + 1] && edge_rule(flags[first]) == Rule::kCollective;
    return transfer ? from[first] : n;
  }
  /// Of an arrival its transfer, of all others the node itself.
  [[nodiscard]] NodeId transfer(NodeId n) const {
    if (kind[n] != NodeKind::kCollective) return n;
    const auto it =
        std::lower_bound(coupled.begin(), coupled.end(), std::pair<NodeId, NodeId>{n, 0});
    return it != coupled.end() && it->first == n ? it->second : n;
  }
  /// The call that launched a GPU node; kNoNode.
  [[nodiscard]] NodeId launch(NodeId n) const {
    n = arrival(n);
    for (std::uint32_t e = offset[n]; e < offset[n + 1]; ++e) {
      const Rule rule = edge_rule(flags[e]);
      if (rule == Rule::kLaunch || rule == Rule::kGraphLaunch) return from[e];
    }
    return kNoNode;
  }
  /// Index into gpus of a GPU node.
  [[nodiscard]] std::size_t gpu(NodeId n) const {
    const std::uint32_t t = table_of(event[n]);
    const std::uint32_t track = tables[t]->track[event[n] - base[t]];
    return static_cast<std::size_t>(gpu_of_track[track_base[t] + track]);
  }
  /// The earliest start that edge e allows.
  static Nanos bound(Nanos from_start_ns, Nanos from_duration, Nanos lag_ns,
                     std::uint8_t edge_flags) {
    if (edge_from_start(edge_flags)) return from_start_ns + lag_ns;
    return from_start_ns + std::max<Nanos>(0, from_duration + lag_ns);
  }
};

}  // namespace ergon::graph
