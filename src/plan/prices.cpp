// The certified bound from prices of time.
#include "prices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluate.hpp"

namespace ergon::plan {

PricedBound::PricedBound(const Problem& problem, const Network& net)
    : problem_(problem), net_(net), cheapest_(problem.packs.size(), 0) {
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g)
    chains_.push_back(make_clock_chain(problem, g));
  for (const ClockChain& chain : chains_) dps_.emplace_back(chain);
}

double PricedBound::bound_of_pairs(std::span<const double> prices, double deadline_s,
                                   std::uint32_t fineness) {
  PairBound pairs(problem_, net_, fineness);
  return bound(prices, deadline_s, &pairs);
}

double PricedBound::bound(std::span<const double> prices, double deadline_s, PairBound* pairs) {
  const double latest = latest_end(deadline_s);
  const auto price = [&](std::uint32_t arc) { return std::max(prices[arc], 0.0); };

  // Minimising over the time of an event, which lies between 0 and the deadline.
  std::vector<double> surplus(net_.nodes, 0.0);  // price of a later event
  double total = 0;
  double size = 0;  // of the terms, for the margin
  for (std::uint32_t a = 0; a < net_.arcs.size(); ++a) {
    const Network::Arc& arc = net_.arcs[a];
    surplus[arc.tail] += price(a);
    surplus[arc.head] -= price(a);
    total += price(a) * arc.lag_s;
  }
  size += total;
  surplus[Network::kEnd] += net_.idle_w;
  for (std::uint32_t v = 0; v < net_.nodes; ++v) {
    if (v == Network::kBegin) continue;
    const double worst = std::min(surplus[v], 0.0) * latest;
    total += worst;
    size += std::abs(worst);
  }

  std::size_t longest = 0;
  std::vector<double> alone(problem_.gpus.size(), 0.0);
  for (std::uint32_t g = 0; g < problem_.gpus.size(); ++g) {
    const std::uint32_t first = net_.row_begin[g];
    const std::uint32_t n = net_.row_begin[g + 1] - first;
    const double idle = problem_.gpus[g].idle_power_w;
    pack_price_.resize(n);
    switch_price_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      pack_price_[i] = price(net_.pack_arc[first + i]) - idle;
      switch_price_[i] = price(net_.switch_arc[first + i]);
    }
    const PricedPath& path = dps_[g].solve(pack_price_, switch_price_);
    if (path.cost_j == std::numeric_limits<double>::infinity()) return -path.cost_j;
    total += path.cost_j;
    alone[g] = path.cost_j;
    longest = std::max<std::size_t>(longest, n);
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t slot = path.slots[i];
      cheapest_[net_.row[first + i]] = chains_[g].option[slot];
      size += std::abs(chains_[g].energy_j[slot]) +
              (idle + std::abs(pack_price_[i])) * chains_[g].time_s[slot];
    }
  }
  constexpr double kUnit = std::numeric_limits<double>::epsilon();
  total -= 4 * kUnit * static_cast<double>(longest + net_.arcs.size() + 64) * size;
  if (pairs == nullptr) return total;
  double more = -64 * kUnit * static_cast<double>(net_.row.size()) * size;
  for (const PairBound::Cost& c : pairs->costs(prices))
    more += std::max(c.cost_j - (alone[c.a] + alone[c.b]), 0.0);
  // A pair starts as early as it can: that is best but for what is missing to a flow.
  for (std::uint32_t v = 2; v < net_.nodes; ++v) more -= std::abs(surplus[v]) * latest;
  return total + std::max(more, 0.0);
}

}  // namespace ergon::plan
