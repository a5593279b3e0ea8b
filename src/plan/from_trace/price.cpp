// Prices segments: time from re-timing each one at every clock, energy from the response of its
// operations.
#include "price.hpp"

#include <cmath>

namespace ergon::plan {

using graph::NodeId;

Nanos NodeTimes::at(NodeId n, std::size_t clock) const {
  const Nanos observed = graph_->duration(n);
  if (!scales(n) || clock == table_->reference_index) return observed;
  return std::llround(static_cast<double>(observed) * ratio(n, clock));
}

double NodeTimes::dynamic_j(NodeId n, std::size_t clock) const {
  const NodeModel& m = models_[n - window_->first];
  if (m.curve < 0) return double{m.core_j} * table_->voltage2[clock] + double{m.memory_j};
  const double power = curves_[static_cast<std::size_t>(m.curve)].power_w[clock];
  const double seconds = to_seconds(graph_->duration(n)).si() * ratio(n, clock);
  return (power - table_->idle_w[clock] - table_->active_w[clock]) * seconds;
}

namespace {

// Time in which any of the operations [begin, end) runs, within [from, to).
double busy_seconds(const graph::Graph& graph, std::span<const NodeId> operations, Nanos from,
                    Nanos to) {
  Nanos busy = 0;
  Nanos until = from;
  for (const NodeId n : operations) {
    const Nanos start = std::max(graph.start(n), until);
    const Nanos end = std::min(graph.start(n) + graph.duration(n), to);
    if (end > start) {
      busy += end - start;
      until = end;
    }
  }
  return to_seconds(busy).si();
}

class Pricer {
 public:
  Pricer(const graph::Graph& graph, const Window& window, const NodeTimes& times,
         std::span<const NodeModel> models, const model::ClockTable& table,
         std::span<const std::size_t> clocks, std::span<const NodeId> operations)
      : graph_(graph),
        window_(window),
        times_(times),
        models_(models),
        table_(table),
        clocks_(clocks),
        operations_(operations),
        gpu_(operations.empty() ? -1 : graph.gpu(operations.front())),
        lanes_(graph, gpu_) {}

  // `next`: the operation that begins what follows, kNoNode at the end of the trace.
  SegmentPrice price(const Segment& segment, Nanos end_ns, NodeId next) {
    SegmentPrice price;
    const auto mine = operations_.subspan(segment.begin, segment.end - segment.begin);
    double work_s = 0;
    for (const NodeId n : mine) {
      const double t = to_seconds(graph_.duration(n)).si();
      const NodeModel& m = models_[n - window_.first];
      work_s += t;
      price.response += model::Response{.core_s = t * double{m.core},
                                        .memory_s = t * double{m.memory},
                                        .fixed_s = t * (1 - double{m.core} - double{m.memory}),
                                        .core_j = double{m.core_j},
                                        .memory_j = double{m.memory_j}};
      price.known_s[static_cast<std::size_t>(m.known)] += t;
    }
    price.busy_s = busy_seconds(graph_, mine, segment.start_ns, end_ns);
    const std::vector<Nanos> times = retime(segment, end_ns, next);
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      const std::size_t clock = clocks_[i];
      double slow_s = 0;
      double dynamic = 0;
      for (const NodeId n : mine) {
        slow_s += to_seconds(graph_.duration(n)).si() * times_.ratio(n, clock);
        dynamic += times_.dynamic_j(n, clock);
      }
      const double time = to_seconds(times[i]).si();
      const double busy = work_s > 0 ? std::min(time, price.busy_s * slow_s / work_s) : 0;
      price.options.push_back(
          {table_.clocks[clock].si(), time,
           std::max(0.0, dynamic + table_.active_w[clock] * busy + table_.idle_w[clock] * time)});
    }
    return price;
  }

 private:
  // The segment's length at each clock: how much later than in the trace the following operation
  // starts; at the end of the trace, how much later the last work ends.
  std::vector<Nanos> retime(const Segment& segment, Nanos end_ns, NodeId next) {
    const Nanos length = end_ns - segment.start_ns;
    std::vector<Nanos> result(clocks_.size(), length);
    const NodeId first = graph::node_at(graph_, segment.start_ns);
    const NodeId last =
        next != graph::kNoNode ? next + 1 : std::max(first, graph::node_at(graph_, end_ns));
    for (std::size_t block = 0; block < clocks_.size(); block += kLanes) {
      const std::size_t width = std::min(kLanes, clocks_.size() - block);
      lanes_.run(first, last, [&](NodeId n, Lanes& out) {
        if (graph_.gpu(n) != gpu_ || !times_.scales(n)) {
          out.fill(graph_.duration(n));
          return;
        }
        for (std::size_t i = 0; i < kLanes; ++i)
          out[i] = times_.at(n, clocks_[block + std::min(i, width - 1)]);
      });
      for (std::size_t i = 0; i < width; ++i) {
        Nanos late = 0;
        if (next != graph::kNoNode) {
          late = lanes_.start(next)[i] - graph_.start(next);
        } else {
          for (NodeId n = first; n < last; ++n) late = std::max(late, lanes_.end(n)[i] - end_ns);
        }
        result[block + i] = std::max<Nanos>(0, length + late);
      }
    }
    return result;
  }

  const graph::Graph& graph_;
  const Window& window_;
  const NodeTimes& times_;
  std::span<const NodeModel> models_;
  const model::ClockTable& table_;
  std::span<const std::size_t> clocks_;
  std::span<const NodeId> operations_;
  std::int32_t gpu_;
  LaneRetimer lanes_;
};

}  // namespace

std::vector<SegmentPrice> price_segments(const graph::Graph& graph, const Window& window,
                                         const NodeTimes& times, std::span<const NodeModel> models,
                                         const model::ClockTable& table,
                                         std::span<const std::size_t> clocks,
                                         std::span<const NodeId> operations,
                                         std::span<const Segment> segments) {
  Pricer pricer(graph, window, times, models, table, clocks, operations);
  std::vector<SegmentPrice> prices;
  prices.reserve(segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    const Nanos end = last ? window.end_ns : segments[i + 1].start_ns;
    const NodeId next = last ? window.next : operations[segments[i + 1].begin];
    prices.push_back(pricer.price(segments[i], end, next));
  }
  return prices;
}

}  // namespace ergon::plan
