// The window's graph with everything contracted that no clock can pull apart, for many re-timings.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "ergon/plan/trace_packs.hpp"
#include "wide.hpp"

namespace ergon::plan {

/// A node that waits for one other alone starts a fixed time after it (host calls in a row, say):
/// only nodes with several waits, and operations whose duration follows the clock, are kept. What
/// is re-timed is by how much each is later than in the trace, as whole nanoseconds in doubles.
/// Exact where no duration is shorter than in the trace; otherwise nothing is contracted.
class WindowRetimer {
 public:
  /// A node that is kept.
  struct Kept {
    double observed_ns = 0;  ///< duration in the trace, if it scales
    double floor_slack_ns =
        0;  ///< how much earlier it could start as far as the window's outside goes
    graph::NodeId id = 0;
    std::uint32_t waits_end = 0;  ///< in waits_; they begin where those of the node before end
    std::uint32_t start_slot = 0, end_slot = 0;
    graph::NodeId start_reach = 0, end_reach = 0;  ///< the last node contracted into either
    bool scales = false;
  };
  template <std::size_t kWidth>
  using Late = Wide<kWidth>;  // ns, one lane a variant

  /// `scales(n)`: the duration of node n follows the clock. `longer`: it is never shorter than in
  /// the trace. `operations`: about how many scale. Keeps no reference.
  template <class Scales>
  WindowRetimer(const graph::Graph& graph, const Window& window, Scales&& scales, bool longer,
                std::size_t operations)
      : window_(window), longer_(longer) {
    const bool open = window.next == graph::kNoNode;
    const graph::NodeId last = open ? window.last : window.next + 1;
    base_.reserve(last - window.first);
    // Address space for what is typical; memory only for what comes.
    kept_.reserve(operations + operations / 2);
    waits_.reserve(3 * operations);
    start_.reserve(kept_.capacity());
    duration_.reserve(kept_.capacity());
    latest_.reserve(2 * kept_.capacity());
    for (graph::NodeId n = window.first; n < last; ++n) add(graph, n, scales(n));
    finish();
  }

  /// By how many ns the following step begins later than in the trace, or the last end lies later
  /// than the window's. `growth(kept, lanes)` fills by how much the duration of a node that scales
  /// is longer than observed; nodes come in ascending order.
  template <std::size_t kWidth, class Growth>
  Late<kWidth> run(Growth&& growth) const {
    std::vector<Late<kWidth>> late(slots_, Late<kWidth>{});
    Late<kWidth> result;
    result.fill(absolute_late_ns_);
    auto tail = tails_.begin();
    std::uint32_t w = 0;
    for (std::uint32_t k = 0; k < kept_.size(); ++k) {
      const Kept& node = kept_[k];
      Late<kWidth> start;
      start.fill(longer_ ? 0 : -node.floor_slack_ns);
      for (; w < node.waits_end; ++w) start.at_least(late[waits_[w].slot], waits_[w].slack_ns);
      late[node.start_slot] = start;
      Late<kWidth> end = start;
      if (node.scales) {
        Late<kWidth> longer;
        growth(node, longer);
        end += longer;
        late[node.end_slot] = end;
      }
      for (; tail != tails_.end() && tail->kept == k; ++tail)
        result.at_least(tail->of_end ? end : start, tail->slack_ns);
    }
    return result;
  }

  /// Each stretch of nodes alone, all others held where the trace has them: the most that any node
  /// after it is late; of the last one the window's end too. `ends`: the node after each stretch.
  /// Only for windows without a following step and without tails, where nothing gets shorter.
  template <std::size_t kWidth, class Growth>
  std::vector<Late<kWidth>> run_alone(std::span<const graph::NodeId> ends, Growth&& growth) const {
    std::vector<Late<kWidth>> late(slots_, Late<kWidth>{});
    std::vector<std::uint32_t> stretch_of(slots_, 0);
    std::vector<Late<kWidth>> result(ends.size(), Late<kWidth>{});
    auto tail = tails_.begin();
    std::uint32_t w = 0;
    std::uint32_t s = 0;
    for (std::uint32_t k = 0; k < kept_.size(); ++k) {
      const Kept& node = kept_[k];
      while (s + 1 < ends.size() && node.id >= ends[s]) ++s;
      Late<kWidth> start = {};
      for (; w < node.waits_end; ++w) {
        const Wait& wait = waits_[w];
        const std::uint32_t from = stretch_of[wait.slot];
        (from == s ? start : result[from]).at_least(late[wait.slot], wait.slack_ns);
      }
      late[node.start_slot] = start;
      stretch_of[node.start_slot] = s;
      if (node.start_reach >= ends[s]) result[s].at_least(start, 0);
      Late<kWidth> end = start;
      if (node.scales) {
        Late<kWidth> longer;
        growth(node, longer);
        end += longer;
        late[node.end_slot] = end;
        stretch_of[node.end_slot] = s;
        if (node.end_reach >= ends[s]) result[s].at_least(end, 0);
      }
      for (; tail != tails_.end() && tail->kept == k; ++tail) {
        if (s + 1 == ends.size()) result[s].at_least(tail->of_end ? end : start, tail->slack_ns);
      }
    }
    return result;
  }

 private:
  static constexpr std::uint32_t kAbsolute = ~std::uint32_t{0};
  struct Wait {
    double slack_ns = 0;  // by how much what it waits for could be later without moving it
    std::uint32_t slot =
        0;  // its base while the graph is read: 2k start of kept node k, 2k + 1 end
  };
  struct Tail {
    std::uint32_t kept = 0;
    bool of_end = false;
    double slack_ns = 0;
  };

  void add(const graph::Graph& graph, graph::NodeId n, bool scales);
  bool contract(const graph::Graph& graph, graph::NodeId n);
  [[nodiscard]] Nanos end_of(const graph::Graph& graph, graph::NodeId n) const;
  void finish();
  void find_tails();
  void give_slots();

  Window window_;
  bool longer_;
  std::vector<Kept> kept_;
  std::vector<Wait> waits_;
  std::vector<Tail> tails_;  // what the window's end is the latest of, by kept node
  double absolute_late_ns_ = 0;
  std::size_t slots_ = 1;  // of times that are still needed; the first is of those that never are
  // While the graph is read.
  std::vector<std::uint32_t> base_;      // of each node: what it starts a fixed time after
  std::vector<Nanos> latest_;            // by base: the latest observed end after it
  std::vector<Nanos> start_, duration_;  // of kept nodes, observed
};

/// The growth of durations at one clock a lane.
template <std::size_t kWidth>
struct ClockGrowth {
  const NodeModels& models;
  graph::NodeId first = 0;
  std::span<const Curve> curves;
  std::array<std::size_t, kWidth> clocks;
  Wide<kWidth> core, memory;  ///< beyond 1

  ClockGrowth(const model::ClockTable& table, const NodeModels& node_models,
              graph::NodeId first_node, std::span<const Curve> node_curves,
              std::span<const std::size_t> lanes)
      : models(node_models), first(first_node), curves(node_curves) {
    for (std::size_t i = 0; i < kWidth; ++i) {
      clocks[i] = lanes[std::min(i, lanes.size() - 1)];
      core.set(i, table.core[clocks[i]] - 1);
      memory.set(i, table.memory[clocks[i]] - 1);
    }
  }
  void operator()(const WindowRetimer::Kept& node, Wide<kWidth>& out) const {
    const NodeModel& m = models[node.id - first];
    const double t = node.observed_ns;
    if (m.curve >= 0) {
      const auto& ratios = curves[static_cast<std::size_t>(m.curve)].time_ratio;
      for (std::size_t i = 0; i < kWidth; ++i)
        out.set(i, std::floor(t * ratios[clocks[i]] + 0.5) - t);
      return;
    }
    const auto by_core = double{m.core};
    const auto by_memory = double{m.memory};
    for (std::size_t p = 0; p < Wide<kWidth>::kParts; ++p) {
      auto length = t * (1 + by_core * core.part[p] + by_memory * memory.part[p]) + 0.5;
      floor_into(length);
      out.part[p] = length - t;
    }
  }
};

/// Calls `visit` with std::integral_constant<std::size_t, lanes> and the items, 16 at a time, the
/// last ones in as few lanes as hold them.
template <class Visit>
void in_lanes(std::span<const std::size_t> items, Visit&& visit) {
  while (!items.empty()) {
    const auto some = items.first(std::min<std::size_t>(16, items.size()));
    if (some.size() > 8) {
      visit(std::integral_constant<std::size_t, 16>{}, some);
    } else if (some.size() > 4) {
      visit(std::integral_constant<std::size_t, 8>{}, some);
    } else {
      visit(std::integral_constant<std::size_t, 4>{}, some);
    }
    items = items.subspan(some.size());
  }
}

}  // namespace ergon::plan
