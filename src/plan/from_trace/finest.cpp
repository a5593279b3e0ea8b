// The bound for one pack an operation without switch cost: a Lagrangian over the makespan.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

struct Choices {
  std::vector<double> time, energy;
};

double slow_s(const TracePacks& packs, const FineGroup& group, std::size_t clock) {
  return group.response.core_s * packs.table.core[clock] +
         group.response.memory_s * packs.table.memory[clock] + group.response.fixed_s;
}

// By how much an operation at `clock` overruns its place in the trace.
double overrun_s(const TracePacks& packs, const FineGroup& group, std::size_t clock) {
  return std::max(0.0, slow_s(packs, group, clock) - group.overlap_s - group.length_s);
}

// Of all overruns of one clock only what the re-timed window shows moves its end: later gaps and
// parallel streams take up the rest. One share an offered clock.
std::vector<double> counted_shares(const graph::Graph& graph, const TracePacks& packs) {
  const std::vector<double> lengths = window_times(graph, packs);
  std::vector<double> shares(packs.clocks.size(), 1);
  const double base = to_seconds(packs.window.end_ns - packs.window.begin_ns).si();
  for (std::size_t k = 0; k < packs.clocks.size(); ++k) {
    double sum = 0;
    for (const FineGroup& group : packs.fine) sum += overrun_s(packs, group, packs.clocks[k]);
    if (sum > 0) shares[k] = std::clamp((lengths[k] - base) / sum, 0.0, 1.0);
  }
  return shares;
}

Choices choices_of(const TracePacks& packs, const FineGroup& group,
                   const std::vector<double>& shares) {
  const model::ClockTable& table = packs.table;
  Choices c;
  const double observed = group.response.observed_s();
  for (std::size_t k = 0; k < packs.clocks.size(); ++k) {
    const std::size_t clock = packs.clocks[k];
    if (group.fixed && k + 1 != packs.clocks.size()) continue;
    const double time = group.length_s + shares[k] * overrun_s(packs, group, clock);
    const double busy =
        observed > 0 ? std::min(time, group.busy_s * slow_s(packs, group, clock) / observed) : 0;
    c.time.push_back(time);
    c.energy.push_back(group.response.core_j * table.voltage2[clock] + group.response.memory_j +
                       table.active_w[clock] * busy + table.idle_w[clock] * time);
  }
  return c;
}

}  // namespace

double finest_bound(const graph::Graph& graph, const TracePacks& packs, double deadline_s) {
  const std::vector<double> shares = counted_shares(graph, packs);
  std::vector<std::vector<Choices>> gpus(packs.problem.gpus.size());
  for (const FineGroup& group : packs.fine)
    gpus[group.gpu].push_back(choices_of(packs, group, shares));
  // GPUs are relaxed from one another: each alone has the whole deadline.
  double bound = 0;
  for (const auto& groups : gpus) {
    const auto dual = [&](double price) {
      double value = -price * deadline_s;
      double time = 0;
      for (const Choices& c : groups) {
        double best = std::numeric_limits<double>::infinity();
        double best_time = 0;
        for (std::size_t i = 0; i < c.time.size(); ++i) {
          const double cost = c.energy[i] + price * c.time[i];
          if (cost < best) {
            best = cost;
            best_time = c.time[i];
          }
        }
        value += best;
        time += best_time;
      }
      return std::pair(value, time);
    };
    double low = 0;
    double high = 1;
    double best = dual(0).first;
    while (high < 1e9 && dual(high).second > deadline_s) high *= 4;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      const auto [value, time] = dual(middle);
      best = std::max(best, value);
      (time > deadline_s ? low : high) = middle;
    }
    bound += best;
  }
  // The sums above are rounded; a bound must not exceed what it bounds.
  return bound * (1 - 1e-12);
}

}  // namespace ergon::plan
