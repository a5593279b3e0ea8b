// Exact cheapest clocks of one GPU at linear prices of time: dynamic programming over (pack,
// clock).
#pragma once
#include <span>
#include <vector>

#include "clock_chain.hpp"

namespace ergon::plan {

struct PricedPath {
  double cost_j = 0;                 ///< infinite where min_run_s leaves no plan at all
  std::vector<std::uint32_t> slots;  ///< by position: slot of the ClockChain
};

/// Minimises, over all plans of the chain that keep min_run_s (and, where it repeats, the rules
/// around its end),
///   sum over positions i        energy_i + pack_price[i] * time_i
/// + sum over changes of clock   switch.energy_j + switch_price[i] * switch.time_s
/// where a change between positions i - 1 and i has the price of i, and the change around the end
/// of a repeating chain has switch_price[0]. Prices (W = J/s) may be of either sign, as long as no
/// change of clock becomes a gain. O(packs x clocks); a chain that repeats takes that for each
/// clock of its first pack that the bound does not rule out.
class PriceDp {
 public:
  /// Keeps a reference to `chain`.
  explicit PriceDp(const ClockChain& chain);
  /// Both spans are as long as the chain. The result is valid until the next call.
  const PricedPath& solve(std::span<const double> pack_price, std::span<const double> switch_price);
  /// The same with one price for all time.
  const PricedPath& solve(double price);
  /// By slot of the first pack: no plan with its clock through the end into the beginning, as one
  /// run, costs less. Infinite where the last pack lacks the clock.
  std::vector<double> bounds_through_end(double price);

 private:
  struct Ends;
  struct Candidate;
  void set_costs(std::span<const double> pack_price, std::span<const double> switch_price);
  double forward(const Ends& ends);
  double end_at(const Ends& ends);
  std::vector<Candidate> around_the_end();
  void forward_plain(const Ends& ends);
  void forward_runs(const Ends& ends);
  void trace_back(const Ends& ends);
  void keep_if_better();
  void try_one_clock();
  void try_around_the_end();
  [[nodiscard]] bool end_run_long_enough() const;
  [[nodiscard]] double path_cost() const;

  const ClockChain& chain_;
  std::vector<double> cost_;      // by slot
  std::vector<double> change_;    // by position: cost of a change before it
  std::vector<double> value_;     // by slot: cheapest way to be here, free to change afterwards
  std::vector<double> hub_;       // by position: least value_ of its slots
  std::vector<double> run_cost_;  // by slot: cost of its clock from the first pack in a row with it
  std::vector<std::uint32_t> start_;  // by slot: where the run that first reaches it begins
  std::vector<double> pack_prices_, switch_prices_;
  std::uint32_t last_slot_ = kNoIndex;  // where the best path of forward() ends
  std::uint32_t last_run_ = kNoIndex;   // where its last run begins, if too short for a slot
  PricedPath path_;
  PricedPath best_;
};

}  // namespace ergon::plan
