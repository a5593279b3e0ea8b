// Least energy within a time limit over one span: Lagrangian bound, joined plans, label search.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chain_span.hpp"

namespace ergon::plan {

/// A plan of a span: its slots by position, before and after not included in them.
struct SpanPlan {
  Spent spent;
  std::vector<std::uint32_t> slots;
};

struct SearchLimits {
  double limit_s = 0;      ///< latest end
  double target_gap = 0;   ///< stop when (incumbent - bound) / bound is below
  std::size_t labels = 0;  ///< partial plans that one label search may keep
};

/// Searches one span. `cutoff_j` is what the caller already has: only better plans count.
class SpanSearch {
 public:
  SpanSearch(const Span& span, const SearchLimits& limits);

  /// The Lagrangian bound, started at price `start` (0: from scratch). False where no plan ends in
  /// time.
  bool price(double start);
  /// Plans joined from a cheapest beginning at one price and a cheapest end at another, at every
  /// slot and change. Needs price().
  void join();
  /// Labels (partial plans) kept apart by time and energy, as far as the bounds of their ends let
  /// them live. Needs join().
  void search_labels(double cutoff_j);

  /// No plan of the span costs less.
  [[nodiscard]] double bound() const { return bound_; }
  /// Price of time at which bound() was reached.
  [[nodiscard]] double best_price() const { return price_; }
  /// Time of the fastest plan, known after price().
  [[nodiscard]] double fastest_s() const { return fastest_s_; }
  /// The best plan found; infinite energy where there is none.
  [[nodiscard]] const SpanPlan& plan() const { return plan_; }
  [[nodiscard]] const SpanPricer& pricer() const { return pricer_; }
  /// Whether the bound is within the target gap (or rounding) of the better of both.
  [[nodiscard]] bool closed(double cutoff_j) const;

 private:
  Spent measure(const std::vector<std::uint32_t>& slots) const;
  Spent keep(const std::vector<std::uint32_t>& slots);

  SpanPricer pricer_;
  SearchLimits limits_;
  double bound_ = 0;
  double price_ = 0;
  double fastest_s_ = 0;
  SpanPlan plan_;
  std::vector<Pass> ends_;  // backward passes, at prices around the best
};

}  // namespace ergon::plan
