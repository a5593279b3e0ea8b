// Prices segments: time from re-timing each one at every clock, energy from the response of its
// operations.
#include "price.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "window_retimer.hpp"

namespace ergon::plan {

using graph::NodeId;

double NodeTimes::dynamic_j(NodeId n, std::size_t clock) const {
  const NodeModel& m = (*models_)[n - window_->first];
  if (m.curve < 0) return double{m.core_j} * table_->voltage2[clock] + double{m.memory_j};
  const double power = curves_[static_cast<std::size_t>(m.curve)].power_w[clock];
  const double seconds = to_seconds(graph_->duration(n)).si() * ratio(n, clock);
  return (power - table_->idle_w[clock] - table_->active_w[clock]) * seconds;
}

namespace {

// Of each segment, the time in which any operation runs, those of earlier segments too: cutting
// finer changes no sum.
std::vector<double> busy_seconds(const graph::Graph& graph, std::span<const NodeId> operations,
                                 std::span<const Segment> segments, Nanos window_end) {
  std::vector<double> result;
  Nanos until = segments.empty() ? 0 : segments.front().start_ns;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const Nanos to = s + 1 < segments.size() ? segments[s + 1].start_ns : window_end;
    Nanos from = segments[s].start_ns;
    Nanos busy = std::clamp(until, from, std::max(from, to)) - from;
    from += busy;
    for (const NodeId n :
         operations.subspan(segments[s].begin, segments[s].end - segments[s].begin)) {
      const NodeId last = graph.transfer(n);  // a member of a collective that waits polls
      const Nanos end =
          std::max(graph.start(n) + graph.duration(n), graph.start(last) + graph.duration(last));
      until = std::max(until, end);
      const Nanos start = std::max(graph.start(n), from);
      const Nanos stop = std::min(end, to);
      if (stop > start) {
        busy += stop - start;
        from = stop;
      }
    }
    result.push_back(to_seconds(busy).si());
  }
  return result;
}

// The nodes [first, last) that start within a segment.
struct Stretch {
  NodeId first = 0;
  NodeId last = 0;
};

// For each stretch the nodes after it that one of its nodes has an edge to. What other GPUs wait
// for is left to the coupling of packs.
std::vector<std::vector<NodeId>> followers_of(const graph::Graph& graph, const Window& window,
                                              std::span<const Stretch> stretches,
                                              std::int32_t gpu) {
  std::vector<std::vector<NodeId>> followers(stretches.size());
  std::size_t at = 0;
  // What follows a window without a next step is no part of it.
  const auto last = window.next == graph::kNoNode ? window.last : static_cast<NodeId>(graph.size());
  for (NodeId n = window.first; n < last; ++n) {
    while (at < stretches.size() && n >= stretches[at].last) ++at;
    if (graph.gpu(n) >= 0 && graph.gpu(n) != gpu) continue;
    for (std::size_t e = 0; e < graph.edge_count(n); ++e) {
      const NodeId from = graph.edge(n, e).from;
      if (from < window.first || from >= window.last) continue;
      if (at < stretches.size() && from >= stretches[at].first) continue;
      const auto after =
          std::upper_bound(stretches.begin(), stretches.end(), from,
                           [](NodeId node, const Stretch& s) { return node < s.first; });
      auto& list = followers[static_cast<std::size_t>(after - stretches.begin() - 1)];
      if (list.empty() || list.back() != n) list.push_back(n);
    }
  }
  return followers;
}

bool waits_for_collective(const graph::Graph& graph, NodeId n) {
  if (graph.kind(n) == graph::NodeKind::kCollective) return false;
  for (std::size_t e = 0; e < graph.edge_count(n); ++e) {
    const graph::Edge edge = graph.edge(n, e);
    if (!edge.from_start && graph.kind(edge.from) == graph::NodeKind::kCollective) return true;
  }
  return false;
}

// What a segment's operations take at each clock, beside its length.
struct Costs {
  std::vector<double> busy_s, dynamic_j;
};
Costs costs_of(const graph::Graph& graph, const NodeTimes& times,
               std::span<const NodeId> operations, const SegmentPrice& price,
               const model::ClockTable& table, std::span<const std::size_t> clocks) {
  Costs costs;
  const model::Response& r = price.response;
  double measured_s = 0;
  for (const NodeId n : operations) {
    if (times.measured(n)) measured_s += to_seconds(graph.duration(n)).si();
  }
  const double observed = r.observed_s();
  for (const std::size_t clock : clocks) {
    // Modelled responses add up; measured ones are looked up one by one.
    double slow = r.core_s * table.core[clock] + r.memory_s * table.memory[clock] + r.fixed_s;
    double dynamic = r.core_j * table.voltage2[clock] + r.memory_j;
    if (measured_s > 0) {
      slow = 0;
      dynamic = 0;
      for (const NodeId n : operations) {
        slow += to_seconds(graph.duration(n)).si() * times.ratio(n, clock);
        dynamic += times.dynamic_j(n, clock);
      }
    }
    costs.busy_s.push_back(observed > 0 ? price.busy_s * slow / observed : 0);
    costs.dynamic_j.push_back(dynamic);
  }
  return costs;
}

// By how much each segment alone delays what follows it.
class Delays {
 public:
  Delays(const graph::Graph& graph, const Window& window, const NodeTimes& times,
         std::span<const NodeId> operations, std::span<const Segment> segments)
      : graph_(graph),
        window_(window),
        times_(times),
        operations_(operations),
        segments_(segments),
        gpu_(operations.empty() ? -1 : graph.gpu(operations.front())),
        lanes_(graph, gpu_) {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const NodeId first = s == 0 ? window.first : graph::node_at(graph, segments[s].start_ns);
      if (s > 0) stretches_.back().last = first;
      stretches_.push_back({first, window.last});
    }
    followers_ = followers_of(graph, window, stretches_, gpu_);
  }

  // At each clock of `clocks` (at most kLanes): the most that any follower is late were all others
  // on time; at the end of the trace, by how much later the last work ends.
  Lanes late(std::size_t s, std::span<const std::size_t> clocks) {
    const Stretch& stretch = stretches_[s];
    lanes_.run(stretch.first, stretch.last, [&](NodeId n, Lanes& out) {
      if (graph_.gpu(n) != gpu_ || !times_.scales(n)) {
        out.fill(graph_.duration(n));
        return;
      }
      for (std::size_t i = 0; i < kLanes; ++i) {
        out[i] = times_.at(n, clocks[std::min(i, clocks.size() - 1)]);
      }
    });
    Lanes late{};
    for (const NodeId n : followers_[s]) {
      const Lanes start = lanes_.start_after(n);
      const Nanos observed = graph_.start(n);
      for (std::size_t i = 0; i < kLanes; ++i) late[i] = std::max(late[i], start[i] - observed);
    }
    if (window_.next == graph::kNoNode && s + 1 == stretches_.size()) {
      for (NodeId n = stretch.first; n < stretch.last; ++n) {
        const Lanes& end = lanes_.end(n);
        for (std::size_t i = 0; i < kLanes; ++i) {
          late[i] = std::max(late[i], end[i] - window_.end_ns);
        }
      }
    }
    for (const NodeId n : window_.tails) {
      if (n < stretch.first || n >= stretch.last) continue;
      const Lanes& end = lanes_.end(n);
      const Nanos observed = graph_.start(n) + graph_.duration(n);
      for (std::size_t i = 0; i < kLanes; ++i) late[i] = std::max(late[i], end[i] - observed);
    }
    return late;
  }

  // After late() of the same segment: by how much the operation after it, which waits for a
  // collective, would start later (or earlier) than observed if it did not.
  [[nodiscard]] Lanes own_late(std::size_t s) const {
    const NodeId n = operations_[segments_[s + 1].begin];
    Lanes start = lanes_.start_after(
        n, [&](NodeId from) { return graph_.kind(from) == graph::NodeKind::kCollective; });
    for (Nanos& t : start) t -= graph_.start(n);
    return start;
  }

 private:
  const graph::Graph& graph_;
  const Window& window_;
  const NodeTimes& times_;
  std::span<const NodeId> operations_;
  std::span<const Segment> segments_;
  std::int32_t gpu_;
  LaneRetimer lanes_;
  std::vector<Stretch> stretches_;
  std::vector<std::vector<NodeId>> followers_;
};

// Clocks whose delays are re-timed; those between are interpolated in the time of what follows the
// clock. All of them for windows of ordinary size.
std::vector<std::size_t> anchors_of(std::span<const std::size_t> clocks, std::size_t nodes) {
  constexpr std::size_t kNodesForAll = 400'000;
  if (nodes <= kNodesForAll || clocks.size() <= 2 * kLanes) return {clocks.begin(), clocks.end()};
  std::vector<std::size_t> anchors;
  anchors.reserve(2 * kLanes);
  for (std::size_t k = 0; k < 2 * kLanes; ++k) {
    anchors.push_back(clocks[k * (clocks.size() - 1) / (2 * kLanes - 1)]);
  }
  return anchors;
}

// Values at all clocks from those at the anchors (both ascending).
double between(std::span<const std::size_t> anchors, std::span<const double> values,
               const model::ClockTable& table, std::size_t clock) {
  const auto at = std::lower_bound(anchors.begin(), anchors.end(), clock);
  const auto i = static_cast<std::size_t>(at - anchors.begin());
  if (at != anchors.end() && *at == clock) return values[i];
  const double low = table.core[anchors[i - 1]];
  const double high = table.core[anchors[i]];
  const double share = (table.core[clock] - low) / (high - low);
  return values[i - 1] + share * (values[i] - values[i - 1]);
}

// The same in one pass over the contracted window: seconds by segment and anchor.
std::vector<std::vector<double>> late_alone(const graph::Graph& graph, const Window& window,
                                            const NodeModels& models,
                                            const model::ClockTable& table,
                                            std::span<const std::size_t> anchors,
                                            std::span<const Segment> segments,
                                            const WindowRetimer& retimer) {
  std::vector<NodeId> ends;
  for (std::size_t s = 1; s < segments.size(); ++s)
    ends.push_back(graph::node_at(graph, segments[s].start_ns));
  ends.push_back(window.last);
  std::vector<std::vector<double>> late(segments.size());
  in_lanes(anchors, [&](auto lanes, std::span<const std::size_t> clocks) {
    const ClockGrowth<lanes()> growth(table, models, window.first, {}, clocks);
    const auto all = retimer.run_alone<lanes()>(ends, growth);
    for (std::size_t s = 0; s < segments.size(); ++s) {
      for (std::size_t i = 0; i < clocks.size(); ++i)
        late[s].push_back(to_seconds(static_cast<Nanos>(all[s][i])).si());
    }
  });
  return late;
}

}  // namespace

std::vector<SegmentPrice> price_segments(const graph::Graph& graph, const Window& window,
                                         const NodeTimes& times, const NodeModels& models,
                                         const model::ClockTable& table,
                                         std::span<const std::size_t> clocks,
                                         std::span<const NodeId> operations,
                                         std::span<const Segment> segments,
                                         const WindowRetimer* retimer) {
  const std::vector<std::size_t> anchors = anchors_of(clocks, window.last - window.first);
  std::vector<std::vector<double>> late(segments.size());  // by segment and anchor
  std::vector<std::vector<double>> own(segments.size());
  const auto waits = [&](std::size_t s) {
    return s + 1 < segments.size() &&
           waits_for_collective(graph, operations[segments[s + 1].begin]);
  };
  bool any_waits = false;
  for (std::size_t s = 0; s < segments.size() && !any_waits; ++s) any_waits = waits(s);
  if (retimer != nullptr && !any_waits) {
    late = late_alone(graph, window, models, table, anchors, segments, *retimer);
  } else {
    Delays delays(graph, window, times, operations, segments);
    for (std::size_t s = 0; s < segments.size(); ++s) {
      for (std::size_t block = 0; block < anchors.size(); block += kLanes) {
        const std::size_t width = std::min(kLanes, anchors.size() - block);
        const Lanes all = delays.late(s, std::span(anchors).subspan(block, width));
        for (std::size_t i = 0; i < width; ++i) late[s].push_back(to_seconds(all[i]).si());
        if (!waits(s)) continue;
        const Lanes alone = delays.own_late(s);
        for (std::size_t i = 0; i < width; ++i) own[s].push_back(to_seconds(alone[i]).si());
      }
    }
  }

  const std::vector<double> busy = busy_seconds(graph, operations, segments, window.end_ns);
  std::vector<SegmentPrice> prices(segments.size());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    SegmentPrice& price = prices[s];
    const Nanos end = s + 1 < segments.size() ? segments[s + 1].start_ns : window.end_ns;
    const double length = to_seconds(end - segments[s].start_ns).si();
    const auto mine = operations.subspan(segments[s].begin, segments[s].end - segments[s].begin);
    for (const NodeId n : mine) {
      const double t = to_seconds(graph.duration(n)).si();
      const NodeModel& m = models[n - window.first];
      price.response += response_of(m, t);
      price.known_s[static_cast<std::size_t>(m.known)] += t;
    }
    price.busy_s = busy[s];
    const Costs costs = costs_of(graph, times, mine, price, table, clocks);
    for (std::size_t k = 0; k < clocks.size(); ++k) {
      const double time = length + between(anchors, late[s], table, clocks[k]);
      const double active_s = std::min(time, costs.busy_s[k]);
      const double energy = costs.dynamic_j[k] + table.active_w[clocks[k]] * active_s +
                            table.idle_w[clocks[k]] * time;
      price.options.push_back({table.clocks[clocks[k]].si(), time, std::max(0.0, energy)});
      if (waits(s))
        price.own_time_s.push_back(
            std::max(0.0, length + between(anchors, own[s], table, clocks[k])));
    }
  }
  return prices;
}

}  // namespace ergon::plan
