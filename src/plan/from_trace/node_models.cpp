// The clock response of every GPU operation of a window, from operator shapes, sizes and kernel
// names.
#include <cmath>
#include <unordered_map>
#include <vector>

#include "ergon/plan/trace_packs.hpp"
#include "ergon/work.hpp"

namespace ergon::plan {
namespace {

using graph::NodeId;

NodeModel model_of(const model::Response& response, model::Known known) {
  NodeModel m;
  const double all = response.observed_s();
  if (all > 0) {
    m.core = static_cast<float>(response.core_s / all);
    m.memory = static_cast<float>(response.memory_s / all);
    m.core_low = static_cast<float>(response.core_low_s / all);
    m.core_high = static_cast<float>(response.core_high_s / all);
  }
  m.dynamic_low_j = static_cast<float>(response.dynamic_low_j);
  m.dynamic_high_j = static_cast<float>(response.dynamic_high_j);
  m.core_j = static_cast<float>(response.core_j);
  m.memory_j = static_cast<float>(response.memory_j);
  m.known = known;
  return m;
}

}  // namespace

Result<ClassifiedNodes> node_models(const graph::Graph& graph, const Window& window,
                                    const model::Device& device, Hertz trace_clock) {
  if (!device.supports(trace_clock)) return fail(clock_not_supported(device, trace_clock));
  const model::ClockTable table = model::clock_table(device, trace_clock);
  ClassifiedNodes result;
  result.models = NodeModels(window.last - window.first, [&](std::size_t i) {
    return graph::on_gpu(graph.kind(window.first + static_cast<NodeId>(i)));
  });

  const graph::Operators operators(graph);
  // Classification works on one table of events at a time.
  struct Asked {
    std::vector<NodeId> nodes;
    std::vector<trace::EventId> events, operators;
  };
  std::unordered_map<std::uint32_t, Asked> by_table;
  result.models.each_operation([&](std::size_t i) {
    const NodeId n = window.first + static_cast<NodeId>(i);
    Asked& asked = by_table[graph.table(n)];
    if (asked.nodes.empty()) {  // address space; memory only for what comes
      asked.nodes.reserve(result.models.operations());
      asked.events.reserve(result.models.operations());
      asked.operators.reserve(result.models.operations());
    }
    asked.nodes.push_back(n);
    asked.events.push_back(graph.event(n));
    asked.operators.push_back(operators.of(n));
  });
  for (const auto& [index, asked] : by_table) {
    const work::Classified classified =
        work::classify(graph.table_of(asked.nodes.front()), asked.events, asked.operators);
    std::vector<model::Responder> responders;
    responders.reserve(classified.pieces.size());
    for (const work::Piece& piece : classified.pieces) {
      responders.emplace_back(device, table, piece.work ? &*piece.work : nullptr, piece.kind,
                              piece.known);
    }
    for (std::size_t i = 0; i < asked.nodes.size(); ++i) {
      const NodeId n = asked.nodes[i];
      const std::uint32_t piece = classified.piece[i];
      bool capped = false;
      const model::Response response = responders[piece](to_seconds(graph.duration(n)), &capped);
      result.power_capped += capped ? 1 : 0;
      result.models.of(n - window.first) = model_of(response, classified.pieces[piece].known);
    }
  }
  return result;
}

Error clock_not_supported(const model::Device& device, Hertz clock) {
  const auto mhz = [](Hertz f) { return std::to_string(std::llround(f.si() / 1e6)) + "MHz"; };
  return {.code = Errc::kInvalidArgument,
          .message = mhz(clock) + " is no clock of " + device.name,
          .hint = "the nearest one is " + mhz(device.nearest_clock(clock)) + "; it runs from " +
                  mhz(device.min_clock()) + " to " + mhz(device.max_clock())};
}

}  // namespace ergon::plan
