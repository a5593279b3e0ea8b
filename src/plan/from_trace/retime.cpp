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

// Place in the graph of each GPU of the packs, which have the graph's numbers as ids.
std::vector<std::size_t> graph_gpus(const graph::Graph& graph, const TracePacks& packs) {
  std::vector<std::size_t> places;
  for (const Gpu& gpu : packs.problem.gpus) {
    const auto at = std::ranges::find(graph.gpus(), parse_number<std::int32_t>(gpu.id),
                                      [](const auto& g) { return std::optional(g.number); });
    ERGON_CHECK(at != graph.gpus().end(), "GPUs of a trace are named by their number in it");
    places.push_back(static_cast<std::size_t>(at - graph.gpus().begin()));
  }
  return places;
}

double length_s(const TracePacks& packs, double late_ns) {
  return to_seconds(packs.window.end_ns - packs.window.begin_ns + static_cast<Nanos>(late_ns)).si();
}

}  // namespace

// Made once for all re-timings of a window.
const WindowRetimer& retimer_of(const graph::Graph& graph, const TracePacks& packs) {
  if (!packs.retimer) {
    const NodeTimes times(graph, packs.window, packs.nodes, packs.table, packs.curves);
    const bool longer = std::ranges::all_of(packs.curves, [&](const Curve& curve) {
      return std::ranges::all_of(packs.clocks,
                                 [&](std::size_t clock) { return curve.time_ratio[clock] >= 1; });
    });
    packs.retimer = std::make_shared<WindowRetimer>(
        graph, packs.window,
        [&](NodeId n) { return times.scales(n) && graph::on_gpu(graph.kind(n)); }, longer,
        packs.nodes.operations());
  }
  return *packs.retimer;
}

double retime_choice(const graph::Graph& graph, const TracePacks& packs,
                     std::span<const std::uint32_t> choice) {
  // The clock of each GPU at each moment, as the packs lie in the trace. Operations come in order.
  struct Line {
    std::vector<std::pair<Nanos, std::size_t>> clocks;
    std::size_t next = 0;
  };
  std::vector<Line> lines(graph.gpus().size());
  const std::vector<std::size_t> places = graph_gpus(graph, packs);
  for (std::size_t i = 0; i < packs.packs.size(); ++i) {
    const Pack& pack = packs.problem.packs[i];
    const std::size_t from_top = pack.options.size() - 1 - choice[i];
    lines[places[pack.gpu]].clocks.emplace_back(packs.packs[i].start_ns,
                                                packs.clocks[packs.clocks.size() - 1 - from_top]);
  }
  const NodeTimes times(graph, packs.window, packs.nodes, packs.table, packs.curves);
  const bool one_gpu = lines.size() == 1;
  const auto late =
      retimer_of(graph, packs).run<1>([&](const WindowRetimer::Kept& node, auto& out) {
        Line& line = lines[one_gpu ? 0 : static_cast<std::size_t>(graph.gpu(node.id))];
        const Nanos start = graph.start(node.id);
        while (line.next < line.clocks.size() && line.clocks[line.next].first <= start) ++line.next;
        const auto observed = static_cast<Nanos>(node.observed_ns);
        const Nanos length = line.next == 0
                                 ? observed
                                 : times.at(node.id, observed, line.clocks[line.next - 1].second);
        out.set(0, static_cast<double>(length - observed));
      });
  return length_s(packs, late[0]);
}

double switching_s(const Problem& problem, const Solution& solution) {
  if (solution.value.switches == 0 || problem.switching.time_s <= 0) return 0;
  Problem free = problem;
  free.switching.time_s = 0;
  return solution.value.time_s - evaluate(free, solution.choice).time_s;
}

double retimed_time(const graph::Graph& graph, const TracePacks& packs, const Solution& solution) {
  return retime_choice(graph, packs, solution.choice) + switching_s(packs.problem, solution);
}

void count_late_end(const Problem& problem, double retimed_s, Solution& solution) {
  Evaluation& value = solution.value;
  const double late_s = retimed_s - value.time_s;
  if (late_s <= 1e-9 * value.time_s) return;
  value.time_s = retimed_s;
  for (const Gpu& gpu : problem.gpus) value.energy_j += gpu.idle_power_w * late_s;
  solution.lower_bound_j = std::min(solution.lower_bound_j, value.energy_j);
  solution.optimal = false;
}

std::vector<double> window_times(const graph::Graph& graph, const TracePacks& packs) {
  // Each clock once.
  std::vector<std::size_t> missing;
  for (const std::size_t clock : packs.clocks)
    if (!packs.window_s.contains(clock)) missing.push_back(clock);
  in_lanes(missing, [&](auto lanes, std::span<const std::size_t> clocks) {
    const ClockGrowth<lanes()> growth(packs.table, packs.nodes, packs.window.first, packs.curves,
                                      clocks);
    const auto late = retimer_of(graph, packs).template run<lanes()>(growth);
    for (std::size_t i = 0; i < clocks.size(); ++i)
      packs.window_s[clocks[i]] = length_s(packs, late[i]);
  });
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
