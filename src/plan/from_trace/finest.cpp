// The bound for one pack an operation without switch cost: a Lagrangian over the makespan.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

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

// Tables of the offered clocks, one entry each.
struct Clocks {
  std::vector<double> core, memory, voltage2, active_w, idle_w, share;
};

Clocks clocks_of(const TracePacks& packs, std::vector<double> shares) {
  Clocks out;
  for (const std::size_t clock : packs.clocks) {
    out.core.push_back(packs.table.core[clock]);
    out.memory.push_back(packs.table.memory[clock]);
    out.voltage2.push_back(packs.table.voltage2[clock]);
    out.active_w.push_back(packs.table.active_w[clock]);
    out.idle_w.push_back(packs.table.idle_w[clock]);
  }
  out.share = std::move(shares);
  return out;
}

// Energy and time of all operations of a GPU, each at its cheapest clock for a price of time.
struct Cheapest {
  double energy_j = 0;
  double time_s = 0;
};

Cheapest cheapest(std::span<const FineGroup> groups, const Clocks& clocks, double price) {
  Cheapest sum;
  const std::size_t count = clocks.core.size();
  std::vector<double> time_of(count);
  std::vector<double> cost_of(count);
  double* __restrict times = time_of.data();
  double* __restrict costs = cost_of.data();
  const double* core = clocks.core.data();
  const double* memory = clocks.memory.data();
  const double* voltage2 = clocks.voltage2.data();
  const double* active = clocks.active_w.data();
  const double* idle = clocks.idle_w.data();
  const double* share = clocks.share.data();
  for (const FineGroup& group : groups) {
    const model::Response& r = group.response;
    const double observed = r.observed_s();
    const double busy_share = observed > 0 ? group.busy_s / observed : 0;
    const double room_s = group.overlap_s + group.length_s;
    const double length_s = group.length_s;
    const double core_s = r.core_s;
    const double memory_s = r.memory_s;
    const double fixed_s = r.fixed_s;
    const double core_j = r.core_j;
    const double memory_j = r.memory_j;
    for (std::size_t k = group.fixed ? count - 1 : 0; k < count; ++k) {
      const double slow = core_s * core[k] + memory_s * memory[k] + fixed_s;
      const double late = slow > room_s ? slow - room_s : 0.0;
      const double time = length_s + share[k] * late;
      const double busy = busy_share * slow;
      times[k] = time;
      costs[k] = core_j * voltage2[k] + memory_j + active[k] * (busy < time ? busy : time) +
                 (idle[k] + price) * time;
    }
    std::size_t best = count - 1;
    if (!group.fixed) {
      for (std::size_t k = 0; k + 1 < count; ++k)
        if (costs[k] < costs[best]) best = k;
    }
    sum.energy_j += costs[best] - price * times[best];
    sum.time_s += times[best];
  }
  return sum;
}

// The largest over all prices of energy + price x (time - deadline), by meeting lines: the plans on
// either side of the deadline are lines over the price; no plan lies below the point where they
// meet, or the one that does takes the place of one of them.
double best_dual(std::span<const FineGroup> groups, const Clocks& clocks, double deadline_s) {
  const auto value = [&](const Cheapest& c, double price) {
    return c.energy_j + price * (c.time_s - deadline_s);
  };
  Cheapest late = cheapest(groups, clocks, 0);
  double best = value(late, 0);
  if (late.time_s <= deadline_s) return best;
  Cheapest early = late;
  for (double price = 16; early.time_s > deadline_s; price *= 16) {
    if (price > 1e9) return best;  // no price brings the sum within the deadline
    early = cheapest(groups, clocks, price);
    best = std::max(best, value(early, price));
    if (early.time_s > deadline_s) late = early;
  }
  constexpr int kMostSteps = 60;
  constexpr double kEnough = 1e-9;
  for (int step = 0; step < kMostSteps && late.time_s > early.time_s; ++step) {
    const double price = (early.energy_j - late.energy_j) / (late.time_s - early.time_s);
    const double meet = value(late, price);
    const Cheapest next = cheapest(groups, clocks, price);
    const double found = value(next, price);
    best = std::max(best, found);
    if (meet - found <= kEnough * std::abs(meet)) break;
    (next.time_s > deadline_s ? late : early) = next;
  }
  return best;
}

}  // namespace

double finest_bound(const graph::Graph& graph, const TracePacks& packs, double deadline_s) {
  const Clocks clocks = clocks_of(packs, counted_shares(graph, packs));
  // GPUs are relaxed from one another: each alone has the whole deadline. Groups lie GPU by GPU.
  double bound = 0;
  for (std::size_t first = 0; first < packs.fine.size();) {
    std::size_t last = first;
    while (last < packs.fine.size() && packs.fine[last].gpu == packs.fine[first].gpu) ++last;
    bound += best_dual(std::span(packs.fine).subspan(first, last - first), clocks, deadline_s);
    first = last;
  }
  // The sums above are rounded; a bound must not exceed what it bounds.
  return bound * (1 - 1e-12);
}

}  // namespace ergon::plan
