// The best price of time for one limit: the Lagrangian dual of a chain, by meeting lines.
#pragma once
#include <cmath>
#include <limits>
#include <optional>

#include "chain_span.hpp"

namespace ergon::plan {

/// The cheapest plan at some prices, and what it spends.
struct Priced {
  double value = 0;
  Spent spent;
};

struct Dual {
  bool feasible = false;  ///< some plan ends in time
  double fastest_s = 0;   ///< time of the fastest plan; infinite where there is no plan at all
  double bound_j = -std::numeric_limits<double>::infinity();  ///< no plan in time costs less
  double price = 0;                                           ///< at which bound_j was reached
};

/// Maximises value(price) - price * limit, where `cheapest(prices)` returns an
/// std::optional<Priced>. The function is concave and piecewise linear, each plan is a line of it:
/// step to where the lines of the best plan in time and of the best plan too late meet, until no
/// plan lies below that point. Starts at `start` if above 0.
template <class Cheapest>
Dual maximise_dual(Cheapest&& cheapest, double limit_s, double start) {
  constexpr double kPricedRounding = 1e-13;  // of a priced sum, relative
  constexpr int kMaxSteps = 200;  // about 15 are usual; the bound holds wherever it stops
  Dual out;
  out.fastest_s = std::numeric_limits<double>::infinity();
  const std::optional<Priced> fastest = cheapest(Prices{.price = 1, .energy_weight = 0});
  if (!fastest) return out;
  Spent fast = fastest->spent;
  out.fastest_s = fast.time_s;
  if (fast.time_s > limit_s) return out;
  out.feasible = true;
  const std::optional<Priced> least = cheapest(Prices{.price = 0});
  Spent slow = least->spent;
  out.bound_j = least->value;
  if (slow.time_s <= limit_s) return out;
  const auto meeting = [&] {
    return (fast.energy_j - slow.energy_j) / (slow.time_s - fast.time_s);
  };
  double price = start > 0 ? start : meeting();
  for (int step = 0; step < kMaxSteps && price > 0; ++step) {
    const std::optional<Priced> plan = cheapest(Prices{.price = price});
    if (plan->value - price * limit_s > out.bound_j) {
      out.bound_j = plan->value - price * limit_s;
      out.price = price;
    }
    Spent& side = plan->spent.time_s <= limit_s ? fast : slow;
    const double known = side.energy_j + price * side.time_s;
    const bool at_meeting = step > 0 || !(start > 0);
    if (at_meeting && plan->value >= known - kPricedRounding * std::abs(known)) break;
    side = plan->spent;
    price = meeting();
  }
  return out;
}

}  // namespace ergon::plan
