// The whole window re-timed: at the clocks of a choice, and at every single clock.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "price.hpp"
#include "window_retimer.hpp"

namespace ergon::plan {
namespace {

using graph::NodeId;

std::size_t graph_gpu(const TracePacks& packs, std::uint32_t gpu) {
  return static_cast<std::size_t>(std::stoul(packs.problem.gpus[gpu].id));
}

// Made once for all re-timings of a window.
WindowRetimer& retimer_of(const graph::Graph& graph, const TracePacks& packs) {
  if (!packs.retimer) {
    const NodeTimes times(graph, packs.window, packs.nodes, packs.table, packs.curves);
    const bool longer = std::ranges::all_of(packs.curves, [&](const Curve& curve) {
      return std::ranges::all_of(packs.clocks,
                                 [&](std::size_t clock) { return curve.time_ratio[clock] >= 1; });
    });
    packs.retimer = std::make_shared<WindowRetimer>(
        graph, packs.window, [&](NodeId n) { return graph.gpu(n) >= 0 && times.scales(n); },
        longer);
  }
  return *packs.retimer;
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
  const Lanes length = retimer_of(graph, packs).run([&](NodeId n, Lanes& out) {
    const auto& list = clocks[static_cast<std::size_t>(graph.gpu(n))];
    const auto at = std::upper_bound(list.begin(), list.end(), graph.start(n),
                                     [](Nanos t, const auto& entry) { return t < entry.first; });
    out.fill(at != list.begin() ? times.at(n, std::prev(at)->second) : graph.duration(n));
  });
  return to_seconds(length[0]).si();
}

std::vector<double> window_times(const graph::Graph& graph, const TracePacks& packs) {
  const NodeTimes times(graph, packs.window, packs.nodes, packs.table, packs.curves);
  WindowRetimer& retimer = retimer_of(graph, packs);
  // Each clock once.
  std::vector<std::size_t> missing;
  for (const std::size_t clock : packs.clocks)
    if (!packs.window_s.contains(clock)) missing.push_back(clock);
  for (std::size_t block = 0; block < missing.size(); block += kLanes) {
    const std::size_t width = std::min(kLanes, missing.size() - block);
    std::array<std::size_t, kLanes> clocks;
    for (std::size_t i = 0; i < kLanes; ++i) clocks[i] = missing[block + std::min(i, width - 1)];
    const Lanes length = retimer.run([&](NodeId n, Lanes& out) {
      const Nanos observed = graph.duration(n);
      for (std::size_t i = 0; i < kLanes; ++i) out[i] = times.at(n, observed, clocks[i]);
    });
    for (std::size_t i = 0; i < width; ++i) packs.window_s[clocks[i]] = to_seconds(length[i]).si();
  }
  std::vector<double> result;
  result.reserve(packs.clocks.size());
  for (const std::size_t clock : packs.clocks) result.push_back(packs.window_s.at(clock));
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
