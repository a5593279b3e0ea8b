// A stronger certified bound: two GPUs at a time are solved together, with the waits between them.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "clock_chain.hpp"
#include "network.hpp"
#include "pair_grid.hpp"

namespace ergon::plan {

/// Prices let the GPUs mix whole plans: every wait holds on average only. Here the waits between
/// the GPUs of a pair hold in every plan; a plan pays for the slack of each such wait at its price.
/// Dynamic programming over (clock of a, clock of b, time difference of their ends); the
/// difference is rounded downwards. Other waits keep their price alone.
class PairBound {
 public:
  /// Keeps references to both. `fineness`: so many times the usual points of time differences; work
  /// and bound grow with it.
  PairBound(const Problem& problem, const Network& net, std::uint32_t fineness = 1);

  /// What all pairs together cost at least at these prices (W, by arc; negative ones count as 0),
  /// to be compared with the sum of the two PriceDp costs of each pair. Both GPUs of a pair need
  /// packs that all list the same clocks; a minimum run and the change around the end of a
  /// repeating step are left out.
  struct Cost {
    std::uint32_t a = 0, b = 0;  ///< the GPUs
    double cost_j = 0;
  };
  std::vector<Cost> costs(std::span<const double> prices);
  /// About how many steps costs() takes.
  [[nodiscard]] double work() const;

 private:
  struct Item;
  struct Step;
  class Pass;
  [[nodiscard]] std::vector<Item> meetings(std::uint32_t a, std::uint32_t b,
                                           std::span<const double> prices) const;
  [[nodiscard]] std::vector<Step> steps_of(std::uint32_t a, std::uint32_t b,
                                           std::span<const double> prices) const;
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(
      std::span<const double> prices) const;
  [[nodiscard]] PairGrid grid_for(std::uint32_t a, std::uint32_t b) const;

  const Problem& problem_;
  const Network& net_;
  double reach_steps_;  // of the grid, on each side of zero
  std::vector<ClockChain> chains_;
  std::vector<std::uint32_t> gpu_of_;             // by index into row
  std::vector<std::vector<Network::Wait>> into_;  // by index into row
};

}  // namespace ergon::plan
