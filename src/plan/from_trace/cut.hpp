// Where a GPU's window is cut into packs.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ergon/graph.hpp"
#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {

/// A stretch of one GPU's operations, in order of start.
struct Segment {
  std::uint32_t begin = 0;  ///< [begin, end) in the GPU's list of operations
  std::uint32_t end = 0;
  Nanos start_ns = 0;  ///< where it is cut off from what comes before
  bool hard = false;   ///< never joined with what comes before
};

struct CutOptions {
  std::size_t max_packs = 1000;
  double limit_w = 0;  ///< the device's power limit: scale of power differences
};

/// Cuts `operations` (nodes of one GPU in order of start) where the clock response changes and
/// nothing that scales runs across the cut; always where `hard_cuts` (ascending, one flag an
/// operation) asks for it. Neighbours of like response are joined, the most alike first.
std::vector<Segment> cut_segments(const graph::Graph& graph, const Window& window,
                                  const NodeModels& models,
                                  std::span<const graph::NodeId> operations,
                                  const std::vector<bool>& hard_cuts, const CutOptions& options);

}  // namespace ergon::plan
