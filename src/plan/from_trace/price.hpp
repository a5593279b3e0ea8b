// What each segment of a GPU costs at every offered clock.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "cut.hpp"
#include "lanes.hpp"

namespace ergon::plan {

/// Durations of a window's nodes at the clocks of the table.
class NodeTimes {
 public:
  NodeTimes(const graph::Graph& graph, const Window& window, const NodeModels& models,
            const model::ClockTable& table, std::span<const Curve> curves)
      : graph_(&graph), window_(&window), models_(&models), table_(&table), curves_(curves) {}

  /// Duration against the trace's clock; exactly 1 there.
  [[nodiscard]] double ratio(graph::NodeId n, std::size_t clock) const {
    const NodeModel& m = (*models_)[n - window_->first];
    if (m.curve >= 0) return curves_[static_cast<std::size_t>(m.curve)].time_ratio[clock];
    return 1 + double{m.core} * (table_->core[clock] - 1) +
           double{m.memory} * (table_->memory[clock] - 1);
  }
  [[nodiscard]] bool scales(graph::NodeId n) const {
    if (n < window_->first || n >= window_->last) return false;
    const NodeModel& m = (*models_)[n - window_->first];
    return m.core > 0 || m.memory > 0 || m.curve >= 0;
  }
  [[nodiscard]] bool measured(graph::NodeId n) const {
    return (*models_)[n - window_->first].curve >= 0;
  }
  [[nodiscard]] Nanos at(graph::NodeId n, std::size_t clock) const {
    return scales(n) ? at(n, graph_->duration(n), clock) : graph_->duration(n);
  }
  /// The same of a node that scales and was `observed` to take so long.
  [[nodiscard]] Nanos at(graph::NodeId n, Nanos observed, std::size_t clock) const {
    if (clock == table_->reference_index) return observed;
    // To the nearest; durations and ratios are not negative. lround() is a call for each.
    // NOLINTNEXTLINE(bugprone-incorrect-roundings)
    return static_cast<Nanos>(static_cast<double>(observed) * ratio(n, clock) + 0.5);
  }
  /// Joules beyond idle and active power.
  [[nodiscard]] double dynamic_j(graph::NodeId n, std::size_t clock) const;

 private:
  const graph::Graph* graph_;
  const Window* window_;
  const NodeModels* models_;
  const model::ClockTable* table_;
  std::span<const Curve> curves_;
};

/// The response of an operation that was observed to take `seconds`.
inline model::Response response_of(const NodeModel& m, double seconds) {
  return {.core_s = seconds * double{m.core},
          .memory_s = seconds * double{m.memory},
          .fixed_s = seconds * (1 - double{m.core} - double{m.memory}),
          .core_j = double{m.core_j},
          .memory_j = double{m.memory_j},
          .core_low_s = seconds * double{m.core_low},
          .core_high_s = seconds * double{m.core_high},
          .dynamic_low_j = double{m.dynamic_low_j},
          .dynamic_high_j = double{m.dynamic_high_j}};
}

/// One option a clock of `clocks` (indices into the table), ascending, for each segment. The time
/// is the segment's length plus the most that it delays anything after it: on the safe side, since
/// later idle gaps and parallel streams may take up what each segment alone passes on
/// (TracePacks::delay_share corrects it).
struct SegmentPrice {
  std::vector<Option> options;
  std::vector<double> own_time_s;  ///< as PackInfo; empty where no collective is waited for
  double busy_s = 0;
  model::Response response;
  std::array<double, model::kKnownKinds> known_s = {};
};
///
/// `retimer`: of the window, where run_alone() holds for it and one GPU's operations; else nullptr.
std::vector<SegmentPrice> price_segments(const graph::Graph& graph, const Window& window,
                                         const NodeTimes& times, const NodeModels& models,
                                         const model::ClockTable& table,
                                         std::span<const std::size_t> clocks,
                                         std::span<const graph::NodeId> operations,
                                         std::span<const Segment> segments,
                                         const WindowRetimer* retimer);

/// The window with its operations that answer to the clock, contracted; kept in `packs`.
const WindowRetimer& retimer_of(const graph::Graph& graph, const TracePacks& packs);

}  // namespace ergon::plan
