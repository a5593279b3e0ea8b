// Measured kernels of a trace: their own times and energies instead of a model.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

using graph::NodeId;

// The table's clock that is meant by a measured one: the same to the nearest megahertz.
std::optional<std::size_t> clock_index(const model::ClockTable& table, double hz) {
  for (std::size_t i = 0; i < table.clocks.size(); ++i) {
    if (std::abs(table.clocks[i].si() - hz) < 0.6e6) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<MeasuredNodes> measured_nodes(const graph::Graph& graph, const Window& window,
                                     const model::Device& device, Hertz trace_clock,
                                     std::span<const MeasuredRow> rows) {
  if (!device.supports(trace_clock)) return fail(clock_not_supported(device, trace_clock));
  const model::ClockTable table = model::clock_table(device, trace_clock);
  std::map<std::string, std::vector<Option>, std::less<>> by_name;
  for (const MeasuredRow& row : rows) by_name[row.pack].push_back(row.option);

  MeasuredNodes result;
  std::map<std::string, std::int32_t, std::less<>> index;
  for (auto& [name, points] : by_name) {
    const auto top =
        std::max_element(points.begin(), points.end(),
                         [](const Option& a, const Option& b) { return a.clock_hz < b.clock_hz; });
    Curve curve{.name = name,
                .time_ratio = std::vector<double>(table.clocks.size(),
                                                  std::numeric_limits<double>::quiet_NaN()),
                .power_w = std::vector<double>(table.clocks.size(),
                                               std::numeric_limits<double>::quiet_NaN())};
    if (!(top->time_s > 0)) {
      return fail(Errc::kMalformedInput,
                  "the measured time of '" + name + "' at its top clock is 0",
                  "a kernel takes time at every clock");
    }
    for (const Option& point : points) {
      const auto i = clock_index(table, point.clock_hz);
      if (!i) return fail(clock_not_supported(device, Hertz(point.clock_hz)));
      curve.time_ratio[*i] = point.time_s / top->time_s;
      curve.power_w[*i] = point.time_s > 0 ? point.energy_j / point.time_s : 0;
    }
    if (!std::isfinite(curve.time_ratio[table.reference_index])) {
      return fail(Errc::kInvalidArgument,
                  "'" + name + "' was not measured at the clock of the trace",
                  "measure it there too, or name the trace's clock with --trace-clock");
    }
    // Ratios are against the trace's clock from here on.
    const double base = curve.time_ratio[table.reference_index];
    for (double& ratio : curve.time_ratio) ratio /= base;
    index.emplace(name, static_cast<std::int32_t>(result.curves.size()));
    result.curves.push_back(std::move(curve));
  }

  result.models = NodeModels(window.last - window.first, [&](std::size_t i) {
    return graph::on_gpu(graph.kind(window.first + static_cast<NodeId>(i)));
  });
  bool any = false;
  for (NodeId n = window.first; n < window.last; ++n) {
    const graph::NodeKind kind = graph.kind(n);
    if (!graph::on_gpu(kind)) continue;
    NodeModel& m = result.models.of(n - window.first);
    if (const auto at = index.find(graph.name(n)); at != index.end()) {
      m.curve = at->second;
      m.known = model::Known::kMeasured;
      any = true;
    } else if (kind == graph::NodeKind::kKernel) {
      m.core = 1;
      m.known = model::Known::kUnknown;
      ++result.unmeasured;
    } else {
      m.known = model::Known::kClass;
    }
  }
  if (!any) {
    return fail(
        Errc::kInvalidArgument, "no kernel of the trace bears a name of the measurements",
        "the column 'pack' holds kernel names exactly as 'ergon graph' prints them with -f json");
  }
  return result;
}

}  // namespace ergon::plan
