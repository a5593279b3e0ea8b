// A stretch of one GPU's packs with fixed ends, and its cheapest plans at one price of time.
#pragma once
#include <cstdint>
#include <vector>

#include "clock_chain.hpp"

namespace ergon::plan {

/// Time and energy of a plan or of a part of it.
struct Spent {
  double time_s = 0;
  double energy_j = 0;
};

/// The plans of the packs at positions first..last (inclusive). Every run is at least min_run_s
/// long, except that a run through a given source is long enough already. Plans of one run only
/// that would be too short are left out: they are few, and the caller tries them.
struct Span {
  const ClockChain* chain = nullptr;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t source =
      kNoIndex;                   ///< slot that the pack at `first` must have, or kNoIndex for any
  std::uint32_t sink = kNoIndex;  ///< slot that the pack at `last` must have, or kNoIndex for any
  Spent before = {};              ///< spent before; with a source, its pack included
  Spent after = {};               ///< spent afterwards
};

/// What a plan is priced with: energy_weight * energy + price * time.
struct Prices {
  double price = 0;
  double energy_weight = 1;
};

/// Least priced sum to reach, or to leave, each slot in a run that is long enough, and
/// the time of that plan. Indexed by slot and by position of the whole chain.
struct Pass {
  Prices prices;
  double change_cost = 0;          ///< of one change of clock
  std::vector<double> cost;        ///< by slot: its own
  std::vector<double> run_cost;    ///< by slot: of its packs up to run_end (with min_run_s only)
  std::vector<double> value;       ///< by slot
  std::vector<double> time_s;      ///< by slot
  std::vector<double> hub_value;   ///< by position: least over its slots, free to change
  std::vector<double> hub_time_s;  ///< by position
  std::vector<std::uint32_t>
      start;  ///< by slot, with min_run_s: begin of the run that first ends here
};

/// Prices a span at any price; keeps what does not depend on the price.
class SpanPricer {
 public:
  explicit SpanPricer(const Span& span);

  /// value: from the source up to and including the slot. O(slots).
  void forward(Prices prices, Pass& out) const;
  /// value: from after the slot to the end, `after` included; hub_value: after its position, when a
  /// change follows there.
  void backward(Prices prices, Pass& out) const;

  /// The best end of a forward pass: a slot at `last`, or kNoIndex where there is no plan.
  [[nodiscard]] std::uint32_t best_end(const Pass& forward) const;
  /// Value and time of the whole plan that ends there.
  [[nodiscard]] double end_value(const Pass& forward, std::uint32_t slot) const;
  [[nodiscard]] double end_time(const Pass& forward, std::uint32_t slot) const;

  /// Writes the plan of a forward pass that reaches `slot` into `slots` (by position).
  void trace_forward(const Pass& forward, std::uint32_t slot,
                     std::vector<std::uint32_t>& slots) const;
  /// The plan of a backward pass that leaves `slot`.
  void trace_backward(const Pass& backward, std::uint32_t slot,
                      std::vector<std::uint32_t>& slots) const;
  /// The same from a change of clock after position `i`.
  void trace_backward_change(const Pass& backward, std::uint32_t i,
                             std::vector<std::uint32_t>& slots) const;

  /// Time and energy of the packs of the run that begins at `slot` up to its run_end.
  [[nodiscard]] Spent run(std::uint32_t slot) const;
  [[nodiscard]] const Span& span() const { return span_; }
  [[nodiscard]] const ClockChain& chain() const { return *span_.chain; }
  /// Slot with the least value at the position, as hub_value has it.
  [[nodiscard]] std::uint32_t hub_slot(const Pass& forward, std::uint32_t i) const;

 private:
  void price_slots(Prices prices, Pass& out) const;
  static double priced(const Prices& prices, const Spent& spent) {
    return prices.energy_weight * spent.energy_j + prices.price * spent.time_s;
  }
  void forward_step(std::uint32_t i, Pass& out) const;
  void forward_step_runs(std::uint32_t i, Pass& out) const;
  [[nodiscard]] std::uint32_t best_start(const Pass& backward, std::uint32_t i) const;
  void forward_step_aligned(std::uint32_t i, Pass& out) const;
  void stay_aligned(std::uint32_t i, Pass& out) const;
  void backward_step_aligned(std::uint32_t i, Pass& out) const;
  void backward_step(std::uint32_t i, Pass& out) const;
  std::uint32_t fill_run_after(const Pass& backward, std::uint32_t i,
                               std::vector<std::uint32_t>& slots) const;
  /// Whether the shortest run that begins at the slot ends within the span.
  [[nodiscard]] bool ends_inside(std::uint32_t slot) const { return !runs_ || run_bar_[slot] == 0; }
  Span span_;
  bool runs_ = false;  // there is a minimum run
  // By slot, with it: infinite where the run that begins here is not long enough within the span,
  // else 0; and what it spends up to there.
  std::vector<double> run_bar_;
  std::vector<double> run_time_s_;
  std::vector<double> run_energy_j_;
};

}  // namespace ergon::plan
