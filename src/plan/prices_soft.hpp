// Cheapest clocks of one GPU, smoothed: all plans of the chain weighted by exp(-cost /
// temperature).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "clock_chain.hpp"

namespace ergon::plan {

/// The smooth stand-in for the dynamic program over (pack, clock) while prices are searched for. It
/// leaves out min_run_s and the change around the end of a repeating step; the certified bound
/// comes from PriceDp.
class SoftChain {
 public:
  /// Keeps a reference to `chain`.
  explicit SoftChain(const ClockChain& chain);

  /// Soft minimum (J) over all plans of
  ///   sum energy_i + pack_price[i] * time_i + sum over changes (energy + switch_price[i] * time);
  /// at least the true minimum less temperature_j x log(number of plans), at most the true minimum.
  double solve(std::span<const double> pack_price, std::span<const double> switch_price,
               double temperature_j);

  /// Of the last solve(), by position: expected time, its variance, chance of a change before.
  [[nodiscard]] std::span<const double> time() const { return mean_; }
  [[nodiscard]] std::span<const double> variance() const { return variance_; }
  [[nodiscard]] std::span<const double> change() const { return change_; }
  /// By slot: chance that the pack runs at this clock.
  [[nodiscard]] std::span<const double> share() const { return share_; }

 private:
  void weigh(std::span<const double> pack_price, double temperature_j);
  double forward(std::span<const double> switch_price, double temperature_j);
  void backward();

  const ClockChain& chain_;
  std::vector<char> straight_;  // by position: every slot follows the slot of the same rank
  std::vector<double> weight_;  // by slot, relative to the best of the position
  std::vector<double> least_;   // by position: what weight_ is relative to
  std::vector<double> ahead_;   // by slot: share of all beginnings that end here
  std::vector<double> share_;
  std::vector<double> keep_, leap_;  // by position: chance weights of the same and of any clock
  std::vector<double> scale_;
  std::vector<double> mean_, variance_, change_;
  std::vector<double> after_, reach_;  // scratch of one position
};

}  // namespace ergon::plan
