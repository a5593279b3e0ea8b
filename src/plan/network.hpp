// The packs of all GPUs as a network of event times, with everything contracted that no edge looks
// at.
#pragma once
#include <cstdint>
#include <vector>

#include "ergon/plan.hpp"

namespace ergon::plan {

/// Nodes are events with a time, arcs say how long after its tail the head comes at the earliest: a
/// *segment* (packs of one GPU in a row that nothing else waits for or delays) by the time of its
/// packs and of the clock changes charged to it, an *edge* by its lag and, between two packs of a
/// GPU, by the change of clock between them. Lagrange multipliers of the arcs are a flow from
/// kBegin to kEnd: the price of time, in watt, of each segment and edge.
struct Network {
  static constexpr std::uint32_t kBegin = 0;  ///< time 0
  static constexpr std::uint32_t kEnd = 1;    ///< the makespan

  struct Arc {
    std::uint32_t tail = 0;
    std::uint32_t head = 0;
    double lag_s = 0;
    std::uint32_t first = 0;  ///< the packs row[first] to row[last - 1]; none for an edge
    std::uint32_t last = 0;
  };

  /// An `after` that is kept: between two indices into row, on an edge.
  struct Wait {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t arc = 0;
  };

  std::uint32_t nodes = 2;
  std::vector<Arc> arcs;
  std::vector<std::uint32_t> row;        ///< packs of GPU 0 in order, then of GPU 1, ...
  std::vector<std::uint32_t> row_begin;  ///< per GPU the index into row, and one more
  std::vector<std::uint32_t> pack_arc;   ///< by index into row
  /// By index into row: the arc that a clock change before the pack lengthens; for the first pack
  /// of a GPU the arc that the change at the end of a repeating step lengthens.
  std::vector<std::uint32_t> switch_arc;
  std::vector<Wait> waits;  ///< in ascending order of `to`
  double idle_w = 0;        ///< of all GPUs together: the price of the makespan itself
};

/// Leaves out edges that others imply whatever the clocks are.
Network make_network(const Problem& problem);

}  // namespace ergon::plan
