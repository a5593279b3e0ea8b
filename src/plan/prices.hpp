// The certified bound: what no plan can beat, from any prices of time.
#pragma once
#include <span>
#include <vector>

#include "clock_chain.hpp"
#include "network.hpp"
#include "pair_bound.hpp"
#include "price_dp.hpp"

namespace ergon::plan {

/// Lagrangian relaxation of the order between packs. Prices (W, by arc of the network) that form a
/// flow from kBegin to kEnd turn the problem into one exact dynamic program a GPU.
class PricedBound {
 public:
  /// Keeps references to both.
  PricedBound(const Problem& problem, const Network& net);

  /// A lower bound on the energy of every plan within the deadline (and its tolerance), for any
  /// prices: negative ones count as 0, whatever is missing to a flow is paid for, and a margin for
  /// rounding is taken off. -infinity where a GPU has no plan at all (min_run_s).
  double bound(std::span<const double> prices, double deadline_s) {
    return bound(prices, deadline_s, nullptr);
  }
  /// The same, with the waits within pairs of GPUs kept; never lower, and dear to find. `fineness`
  /// as for PairBound.
  double bound_of_pairs(std::span<const double> prices, double deadline_s,
                        std::uint32_t fineness = 1);
  /// The cheapest choice at the prices of the last call, by pack; not a plan within the deadline.
  [[nodiscard]] const Choice& cheapest() const { return cheapest_; }

 private:
  double bound(std::span<const double> prices, double deadline_s, PairBound* pairs);

  const Problem& problem_;
  const Network& net_;
  std::vector<ClockChain> chains_;
  std::vector<PriceDp> dps_;
  std::vector<double> pack_price_, switch_price_;
  Choice cheapest_;
};

}  // namespace ergon::plan
