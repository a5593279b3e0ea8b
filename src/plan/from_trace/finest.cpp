// The bound for one pack an operation without switch cost: a Lagrangian over the makespan.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

// A group's choices: it lasts at least as long as in the trace (an idle gap takes up what the
// operation loses), and longer once the operation fills the gap.
struct Choices {
  std::vector<double> time, energy;
};

Choices choices_of(const TracePacks& packs, const FineGroup& group) {
  const model::ClockTable& table = packs.table;
  Choices c;
  const double observed = group.response.observed_s();
  for (const std::size_t clock : packs.clocks) {
    if (group.fixed && clock != packs.clocks.back()) continue;
    const double slow = group.response.core_s * table.core[clock] +
                        group.response.memory_s * table.memory[clock] + group.response.fixed_s;
    const double time = std::max(group.length_s, slow - group.overlap_s);
    const double busy = observed > 0 ? std::min(time, group.busy_s * slow / observed) : 0;
    c.time.push_back(time);
    c.energy.push_back(group.response.core_j * table.voltage2[clock] + group.response.memory_j +
                       table.active_w[clock] * busy + table.idle_w[clock] * time);
  }
  return c;
}

}  // namespace

double finest_bound(const TracePacks& packs, double deadline_s) {
  std::vector<std::vector<Choices>> gpus(packs.problem.gpus.size());
  for (const FineGroup& group : packs.fine) gpus[group.gpu].push_back(choices_of(packs, group));
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
