// The whole window re-timed: at the clocks of a choice, and at every single clock.
#include <algorithm>
#include <string>

#include "price.hpp"

namespace ergon::plan {
namespace {

using graph::NodeId;

// Runs the window and returns its length in each lane: until the following step begins, or until
// the last end.
template <class Durations>
Lanes window_lengths(const graph::Graph& graph, const Window& window, LaneRetimer& lanes,
                     Durations&& durations) {
  const bool open = window.next == graph::kNoNode;
  const NodeId last = open ? window.last : window.next + 1;
  lanes.run(window.first, last, durations);
  Lanes length;
  length.fill(window.end_ns - window.begin_ns);
  if (!open) {
    const Lanes& start = lanes.start(window.next);
    for (std::size_t i = 0; i < kLanes; ++i) length[i] += start[i] - graph.start(window.next);
    return length;
  }
  for (NodeId n = window.first; n < last; ++n) {
    const Lanes& end = lanes.end(n);
    for (std::size_t i = 0; i < kLanes; ++i) {
      length[i] = std::max(length[i], end[i] - window.begin_ns);
    }
  }
  return length;
}

std::size_t graph_gpu(const TracePacks& packs, std::uint32_t gpu) {
  return static_cast<std::size_t>(std::stoul(packs.problem.gpus[gpu].id));
}

}  // namespace

double retime_choice(const graph::Graph& graph, const TracePacks& packs,
                     std::span<const std::uint32_t> choice) {
  const NodeTimes times(graph, packs.window, packs.nodes, packs.table, packs.curves);
  // The clock of each GPU at each moment, as the packs lie in the trace.
  std::vector<std::vector<std::pair<Nanos, std::size_t>>> clocks(graph.gpus().size());
  for (std::size_t i = 0; i < packs.packs.size(); ++i) {
    const Pack& pack = packs.problem.packs[i];
    const std::size_t from_top = pack.options.size() - 1 - choice[i];
    clocks[graph_gpu(packs, pack.gpu)].emplace_back(
        packs.packs[i].start_ns, packs.clocks[packs.clocks.size() - 1 - from_top]);
  }
  LaneRetimer lanes(graph);
  const Lanes length = window_lengths(graph, packs.window, lanes, [&](NodeId n, Lanes& out) {
    const std::int32_t gpu = graph.gpu(n);
    Nanos duration = graph.duration(n);
    if (gpu >= 0 && times.scales(n)) {
      const auto& list = clocks[static_cast<std::size_t>(gpu)];
      const auto at = std::upper_bound(list.begin(), list.end(), graph.start(n),
                                       [](Nanos t, const auto& entry) { return t < entry.first; });
      if (at != list.begin()) duration = times.at(n, std::prev(at)->second);
    }
    out.fill(duration);
  });
  return to_seconds(length[0]).si();
}

std::vector<double> window_times(const graph::Graph& graph, const TracePacks& packs) {
  const NodeTimes times(graph, packs.window, packs.nodes, packs.table, packs.curves);
  LaneRetimer lanes(graph);
  std::vector<double> result;
  for (std::size_t block = 0; block < packs.clocks.size(); block += kLanes) {
    const std::size_t width = std::min(kLanes, packs.clocks.size() - block);
    const Lanes length = window_lengths(graph, packs.window, lanes, [&](NodeId n, Lanes& out) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        out[i] = graph.gpu(n) >= 0 ? times.at(n, packs.clocks[block + std::min(i, width - 1)])
                                   : graph.duration(n);
      }
    });
    for (std::size_t i = 0; i < width; ++i) result.push_back(to_seconds(length[i]).si());
  }
  return result;
}

std::vector<Uniform> uniform_clocks(const graph::Graph& graph, const TracePacks& packs) {
  const Problem& problem = packs.problem;
  const std::vector<double> lengths = window_times(graph, packs);
  std::vector<Uniform> result;
  for (std::size_t k = 0; k < packs.clocks.size(); ++k) {
    const std::size_t clock = packs.clocks[k];
    const double idle_w = packs.table.idle_w[clock];
    Uniform uniform{.clock_hz = packs.table.clocks[clock].si(), .choice = {}, .value = {}};
    uniform.value.time_s = lengths[k];
    // The packs' energies without their idle part, and idle power over the re-timed window.
    for (std::size_t i = 0; i < problem.packs.size(); ++i) {
      const auto& options =
          packs.kept_back[i].empty() ? problem.packs[i].options : packs.kept_back[i];
      uniform.choice.push_back(static_cast<std::uint32_t>(k));
      uniform.value.energy_j += options[k].energy_j - idle_w * options[k].time_s;
    }
    uniform.value.energy_j += idle_w * lengths[k] * static_cast<double>(problem.gpus.size());
    result.push_back(std::move(uniform));
  }
  return result;
}

}  // namespace ergon::plan
