// Re-times a stretch of the graph at several clocks at once: one lane a clock.
#pragma once
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "ergon/graph.hpp"

namespace ergon::plan {

inline constexpr std::size_t kLanes = 8;
using Lanes = std::array<Nanos, kLanes>;

/// Start times of nodes [first, last) in kLanes variants; everything before `first` is held where
/// the trace has it. Allocates once.
class LaneRetimer {
 public:
  /// With `own_gpu` >= 0 the operations of that GPU do not wait for other GPUs: that waiting is
  /// left to the coupling of packs.
  explicit LaneRetimer(const graph::Graph& graph, std::int32_t own_gpu = -1)
      : graph_(&graph), own_gpu_(own_gpu) {}

  /// `durations(node, lanes)` fills the durations of a node; it is called once a node, in order.
  template <class Durations>
  void run(graph::NodeId first, graph::NodeId last, Durations&& durations) {
    first_ = first;
    last_ = last;
    starts_.resize(last - first);
    ends_.resize(last - first);
    for (graph::NodeId n = first; n < last; ++n) {
      Lanes& start = starts_[n - first];
      place(n, start);
      Lanes length;
      durations(n, length);
      Lanes& end = ends_[n - first];
      for (std::size_t i = 0; i < kLanes; ++i) end[i] = start[i] + length[i];
    }
  }
  [[nodiscard]] const Lanes& start(graph::NodeId n) const { return starts_[n - first_]; }
  [[nodiscard]] const Lanes& end(graph::NodeId n) const { return ends_[n - first_]; }

  /// Where a node after the stretch would start if everything after it but this node were held.
  [[nodiscard]] Lanes start_after(graph::NodeId n) const {
    return start_after(n, [](graph::NodeId) { return false; });
  }
  /// The same without the edges from nodes that `skip` names.
  template <class Skip>
  [[nodiscard]] Lanes start_after(graph::NodeId n, Skip&& skip) const {
    Lanes start;
    place(n, start, skip);
    return start;
  }

 private:
  void place(graph::NodeId n, Lanes& start) const {
    place(n, start, [](graph::NodeId) { return false; });
  }
  template <class Skip>
  void place(graph::NodeId n, Lanes& start, Skip&& skip) const {
    const std::size_t edges = graph_->edge_count(n);
    if (edges == 0) {
      start.fill(graph_->start(n));
      return;
    }
    start.fill(graph_->span_begin());
    const bool own = own_gpu_ >= 0 && graph_->gpu(n) == own_gpu_;
    for (std::size_t e = 0; e < edges; ++e) {
      const graph::Edge edge = graph_->edge(n, e);
      if (skip(edge.from)) continue;
      if (own && graph_->gpu(edge.from) >= 0 && graph_->gpu(edge.from) != own_gpu_) continue;
      if (edge.from >= first_ && edge.from < last_) {
        const Lanes& from =
            edge.from_start ? starts_[edge.from - first_] : ends_[edge.from - first_];
        for (std::size_t i = 0; i < kLanes; ++i) start[i] = std::max(start[i], from[i] + edge.lag);
      } else {
        const Nanos from = graph_->start(edge.from) +
                           (edge.from_start ? 0 : graph_->duration(edge.from)) + edge.lag;
        for (std::size_t i = 0; i < kLanes; ++i) start[i] = std::max(start[i], from);
      }
    }
    const Nanos residual = graph_->residual(n);
    for (std::size_t i = 0; i < kLanes; ++i) start[i] += residual;
  }

  const graph::Graph* graph_;
  std::int32_t own_gpu_;
  graph::NodeId first_ = 0;
  graph::NodeId last_ = 0;
  std::vector<Lanes> starts_;
  std::vector<Lanes> ends_;
};

}  // namespace ergon::plan
