// Traces with the answer's tracks, for ui.perfetto.dev.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ergon/graph.hpp"

namespace ergon::cli {

/// From `start_ns` on a GPU is to run at `clock_hz`.
struct ClockChange {
  std::string gpu;  ///< as in the pack file
  Nanos start_ns = 0;
  double clock_hz = 0;
};

/// Chrome JSON for Perfetto: the events, a track with the critical path, slack of GPU work as
/// arguments and as a counter, and a counter of each GPU's planned clock where `clocks` are given.
std::string perfetto_text(const graph::Graph& graph, const std::vector<ClockChange>& clocks = {});

}  // namespace ergon::cli
