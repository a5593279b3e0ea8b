// Prices segments: time from re-timing each one at every clock, energy from the response of its
// operations.
#include "price.hpp"

#include <algorithm>
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

// Time in which any of the operations runs, within [from, to).
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
  for (NodeId n = window.first; n < graph.size(); ++n) {
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

// What a segment's operations take at one clock.
struct Work {
  double slow_s = 0;  // their durations added up
  double busy_s = 0;
  double dynamic_j = 0;
};

class Pricer {
 public:
  Pricer(const graph::Graph& graph, const NodeTimes& times, const model::ClockTable& table,
         std::span<const std::size_t> clocks, std::int32_t gpu)
      : graph_(graph),
        times_(times),
        table_(table),
        clocks_(clocks),
        gpu_(gpu),
        lanes_(graph, gpu) {}

  // By how much what follows is late when the whole stretch runs at one clock, were all others on
  // time; at the end of the trace, by how much its last work ends later. One entry a clock.
  std::vector<Nanos> lateness(const Stretch& stretch, Nanos end_ns,
                              std::span<const NodeId> followers) {
    std::vector<Nanos> result(clocks_.size(), 0);
    for (std::size_t block = 0; block < clocks_.size(); block += kLanes) {
      const std::size_t width = std::min(kLanes, clocks_.size() - block);
      run(stretch, block, width);
      Lanes late{};
      for (const NodeId n : followers) {
        const Lanes start = lanes_.start_after(n);
        const Nanos observed = graph_.start(n);
        for (std::size_t i = 0; i < kLanes; ++i) late[i] = std::max(late[i], start[i] - observed);
      }
      if (stretch.last == graph_.size()) {
        for (NodeId n = stretch.first; n < stretch.last; ++n) {
          for (std::size_t i = 0; i < kLanes; ++i) {
            late[i] = std::max(late[i], lanes_.end(n)[i] - end_ns);
          }
        }
      }
      for (std::size_t i = 0; i < width; ++i) result[block + i] = late[i];
    }
    return result;
  }

  // By how much `n`, which waits for a collective, would start later (or earlier) than observed if
  // it did not. After lateness() of the stretch before it, for the same clocks.
  std::vector<Nanos> own_lateness(const Stretch& stretch, NodeId n) {
    std::vector<Nanos> result(clocks_.size(), 0);
    for (std::size_t block = 0; block < clocks_.size(); block += kLanes) {
      const std::size_t width = std::min(kLanes, clocks_.size() - block);
      run(stretch, block, width);
      const Lanes start = lanes_.start_after(
          n, [&](NodeId from) { return graph_.kind(from) == graph::NodeKind::kCollective; });
      for (std::size_t i = 0; i < width; ++i) result[block + i] = start[i] - graph_.start(n);
    }
    return result;
  }

  void add_energy(std::vector<Option>& options, std::span<const Work> work) const {
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      const double busy = std::min(options[i].time_s, work[i].busy_s);
      options[i].energy_j = std::max(0.0, work[i].dynamic_j + table_.active_w[clocks_[i]] * busy +
                                              table_.idle_w[clocks_[i]] * options[i].time_s);
    }
  }

  std::vector<Work> work_of(std::span<const NodeId> operations, double observed_s,
                            double busy_s) const {
    std::vector<Work> work(clocks_.size());
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      for (const NodeId n : operations) {
        work[i].slow_s += to_seconds(graph_.duration(n)).si() * times_.ratio(n, clocks_[i]);
        work[i].dynamic_j += times_.dynamic_j(n, clocks_[i]);
      }
      work[i].busy_s = observed_s > 0 ? busy_s * work[i].slow_s / observed_s : 0;
    }
    return work;
  }

 private:
  void run(const Stretch& stretch, std::size_t block, std::size_t width) {
    lanes_.run(stretch.first, stretch.last, [&](NodeId n, Lanes& out) {
      if (graph_.gpu(n) != gpu_ || !times_.scales(n)) {
        out.fill(graph_.duration(n));
        return;
      }
      for (std::size_t i = 0; i < kLanes; ++i) {
        out[i] = times_.at(n, clocks_[block + std::min(i, width - 1)]);
      }
    });
  }

  const graph::Graph& graph_;
  const NodeTimes& times_;
  const model::ClockTable& table_;
  std::span<const std::size_t> clocks_;
  std::int32_t gpu_;
  LaneRetimer lanes_;
};

bool waits_for_collective(const graph::Graph& graph, NodeId n) {
  if (graph.kind(n) == graph::NodeKind::kCollective) return false;
  for (std::size_t e = 0; e < graph.edge_count(n); ++e) {
    const graph::Edge edge = graph.edge(n, e);
    if (!edge.from_start && graph.kind(edge.from) == graph::NodeKind::kCollective) return true;
  }
  return false;
}

// Makes the segments' delays at each clock add up to `together`, where they add up to more.
void scale_lateness(std::vector<SegmentPrice>& prices, std::span<const double> lengths,
                    std::span<const Nanos> together) {
  for (std::size_t k = 0; k < together.size(); ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < prices.size(); ++i) sum += prices[i].options[k].time_s - lengths[i];
    const double wanted = to_seconds(together[k]).si();
    if (sum <= wanted || sum <= 0) continue;
    for (std::size_t i = 0; i < prices.size(); ++i) {
      Option& option = prices[i].options[k];
      option.time_s = lengths[i] + (option.time_s - lengths[i]) * wanted / sum;
    }
  }
}

}  // namespace

std::vector<SegmentPrice> price_segments(const graph::Graph& graph, const Window& window,
                                         const NodeTimes& times, std::span<const NodeModel> models,
                                         const model::ClockTable& table,
                                         std::span<const std::size_t> clocks,
                                         std::span<const NodeId> operations,
                                         std::span<const Segment> segments) {
  const std::int32_t gpu = operations.empty() ? -1 : graph.gpu(operations.front());
  Pricer pricer(graph, times, table, clocks, gpu);
  std::vector<Stretch> stretches;
  std::vector<double> lengths;
  std::vector<Nanos> ends;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const NodeId first = i == 0 ? window.first : graph::node_at(graph, segments[i].start_ns);
    if (i > 0) stretches.back().last = first;
    stretches.push_back({first, window.last});
    ends.push_back(i + 1 < segments.size() ? segments[i + 1].start_ns : window.end_ns);
    lengths.push_back(to_seconds(ends.back() - segments[i].start_ns).si());
  }
  const auto followers = followers_of(graph, window, stretches, gpu);

  std::vector<SegmentPrice> prices(segments.size());
  std::vector<std::vector<Work>> work(segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    SegmentPrice& price = prices[i];
    const auto mine = operations.subspan(segments[i].begin, segments[i].end - segments[i].begin);
    double observed_s = 0;
    for (const NodeId n : mine) {
      const double t = to_seconds(graph.duration(n)).si();
      const NodeModel& m = models[n - window.first];
      observed_s += t;
      price.response += response_of(m, t);
      price.known_s[static_cast<std::size_t>(m.known)] += t;
    }
    price.busy_s = busy_seconds(graph, mine, segments[i].start_ns, ends[i]);
    work[i] = pricer.work_of(mine, observed_s, price.busy_s);
    const std::vector<Nanos> late = pricer.lateness(stretches[i], ends[i], followers[i]);
    for (std::size_t k = 0; k < clocks.size(); ++k) {
      price.options.push_back(
          {table.clocks[clocks[k]].si(), lengths[i] + to_seconds(late[k]).si(), 0});
    }
    const NodeId next =
        i + 1 < segments.size() ? operations[segments[i + 1].begin] : graph::kNoNode;
    if (next == graph::kNoNode || !waits_for_collective(graph, next)) continue;
    for (const Nanos own : pricer.own_lateness(stretches[i], next)) {
      price.own_time_s.push_back(std::max(0.0, lengths[i] + to_seconds(own).si()));
    }
  }
  const std::vector<Stretch> whole = {{window.first, window.last}};
  const auto after = followers_of(graph, window, whole, gpu);
  scale_lateness(prices, lengths, pricer.lateness(whole.front(), window.end_ns, after.front()));
  for (std::size_t i = 0; i < prices.size(); ++i) pricer.add_energy(prices[i].options, work[i]);
  return prices;
}

}  // namespace ergon::plan
