// Good prices of time where changes of clock cost something: an interior-point walk on the smoothed
// dual.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "network.hpp"
#include "network_laplace.hpp"
#include "prices.hpp"
#include "prices_soft.hpp"

namespace ergon::plan {

/// Maximises the Lagrangian dual over all flows of prices. Two parameters make it smooth and keep
/// it inside: the temperature of SoftChain, and the weight of a logarithmic barrier at price zero.
/// Newton steps by conjugate gradients, preconditioned with the Laplacian of the network (the exact
/// Newton matrix but for the correlation of packs that share a run of one clock).
class PriceSearch {
 public:
  /// Keeps references to all.
  PriceSearch(const Problem& problem, const Network& net);

  /// Starts at a flow `prices` (W, by arc; zeros allowed) and a deadline.
  void start(std::span<const double> prices, double deadline_s);
  struct Level {
    double temperature_j = 0;
    double barrier_j = 0;  ///< times log(price)
  };
  /// Newton steps at one level until the decrement is small or `steps` are done.
  void walk(const Level& level, int steps);

  [[nodiscard]] std::span<const double> prices() const { return std::span(flow_).first(arcs_); }
  /// Expected length of each arc, and event times that agree with the prices.
  [[nodiscard]] std::span<const double> lengths() const { return length_; }
  [[nodiscard]] std::span<const double> event_times() const { return when_; }
  [[nodiscard]] const SoftChain& soft(std::uint32_t gpu) const { return soft_[gpu]; }
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] double decrement() const { return decrement_; }

 private:
  double evaluate_lengths(std::span<const double> flow, const Level& level);
  double evaluate(std::span<const double> flow, const Level& level);
  void newton_direction(const Level& level);
  void hessian_times(std::span<const double> v, const Level& level);
  void conserve(std::span<double> flow);
  double precondition(std::span<const double> residual);

  const Problem& problem_;
  const Network& net_;
  std::vector<ClockChain> chains_;
  std::vector<SoftChain> soft_;
  std::uint32_t arcs_ = 0;  // of the network; one more leads from the end back to the beginning
  std::vector<std::uint32_t> tail_, head_;
  std::vector<std::uint32_t> order_;             // nodes, each after all that lead to it
  std::vector<std::vector<std::uint32_t>> out_;  // arcs by tail
  NetworkLaplace laplace_;
  double deadline_s_ = 0;
  std::vector<double> flow_, gradient_, curvature_, direction_;
  std::vector<double> length_, spread_, trial_, base_length_;
  std::vector<double> residual_, search_, product_, solved_, when_, node_;
  std::vector<double> pack_price_, switch_price_;
  double value_ = 0;
  double decrement_ = 0;
  std::uint64_t evaluations_ = 0;
};

}  // namespace ergon::plan
