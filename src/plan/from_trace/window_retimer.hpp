// The window's graph with everything contracted that no clock can pull apart, for many re-timings.
#pragma once
#include <cstdint>
#include <vector>

#include "ergon/plan/trace_packs.hpp"
#include "lanes.hpp"

namespace ergon::plan {

/// A node that waits for one other alone starts a fixed time after it (host calls in a row, say):
/// only nodes with several waits, and operations whose duration follows the clock, are kept. Exact
/// where no duration is shorter than in the trace; otherwise nothing is contracted.
class WindowRetimer {
 public:
  /// `scales(n)`: the duration of node n follows the clock. `longer`: it is never shorter than in
  /// the trace. Keeps no reference.
  template <class Scales>
  WindowRetimer(const graph::Graph& graph, const Window& window, Scales&& scales, bool longer)
      : window_(window) {
    const bool open = window.next == graph::kNoNode;
    const graph::NodeId last = open ? window.last : window.next + 1;
    places_.reserve(last - window.first);
    for (graph::NodeId n = window.first; n < last; ++n) add(graph, n, scales(n), longer);
    if (!open) next_start_ = graph.start(window.next);
    finish(open);
  }

  /// The window's length (ns) in each lane: until the following step begins, or until the last end.
  /// `durations(node, lanes)` fills the durations of a node that scales, in ascending order.
  template <class Durations>
  Lanes run(Durations&& durations) {
    for (std::size_t k = 0; k < kept_.size(); ++k) {
      const Kept& node = kept_[k];
      Lanes& start = times_[2 * k];
      start.fill(node.floor);
      for (std::uint32_t e = node.first_wait; e < node.last_wait; ++e) {
        const Lanes& from = times_[waits_[e].base];
        for (std::size_t i = 0; i < kLanes; ++i)
          start[i] = std::max(start[i], from[i] + waits_[e].lag);
      }
      for (std::size_t i = 0; i < kLanes; ++i) start[i] += node.residual;
      if (!node.scales) continue;
      Lanes length;
      durations(node.id, length);
      for (std::size_t i = 0; i < kLanes; ++i) times_[2 * k + 1][i] = start[i] + length[i];
    }
    return length();
  }

 private:
  static constexpr std::uint32_t kAbsolute = ~std::uint32_t{0};
  // A moment: `lag` after the start (base 2k) or end (2k + 1) of kept node k, or after time 0.
  struct Place {
    std::uint32_t base = kAbsolute;
    Nanos lag = 0;
  };
  struct Kept {
    graph::NodeId id = 0;
    std::uint32_t first_wait = 0, last_wait = 0;
    bool scales = false;
    Nanos floor = 0;
    Nanos residual = 0;
  };

  void add(const graph::Graph& graph, graph::NodeId n, bool scales, bool longer);
  void finish(bool open);
  [[nodiscard]] Lanes length() const;

  Window window_;
  Nanos next_start_ = 0;
  std::vector<Place> places_;  // start of each node; of the next step's first at the end
  std::vector<Kept> kept_;
  std::vector<Place> waits_;
  std::vector<Place> ends_;  // what the length is the latest of
  std::vector<Nanos> tail_;  // by base: latest end after it
  Nanos absolute_end_ = 0;
  std::vector<Lanes> times_;
};

}  // namespace ergon::plan
