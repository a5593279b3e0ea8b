// Time and power of a piece of work at a clock: pure functions of the model.
#pragma once

#include "ergon/sim/model.hpp"

namespace ergon::sim {

/// One phase of a workload. `duration_s` is at the default clocks; shares are of the board's peak
/// rates there.
struct Phase {
  double duration_s = 0;
  double compute = 0;
  double memory = 0;
  double power_w = -1;  ///< total power at the default clock; negative: from the shares
};

/// Where the board stands. MHz, degrees C.
struct Point {
  double sm_mhz = 0;
  double memory_mhz = 0;
  double temperature_c = 45;
};

struct Power {
  double total_w = 0;
  double memory_w = 0;  ///< the part that the memory rail draws
};

/// Relative voltage: `floor` up to the knee, 1 at the default clock, above it further on.
[[nodiscard]] double voltage(const Model& model, double sm_mhz);

/// How many times longer than at the default clocks the phase takes. Compute time grows as 1/f,
/// memory time as 1/f_mem and, below the bandwidth knee, as 1/f; what neither fills does not depend
/// on clocks; the three overlap, so the total is their 8-norm (close to the longest: a roofline
/// with a soft corner).
[[nodiscard]] double slowdown(const Model& model, const Phase& phase, const Point& point);

/// Power while the phase runs. Dynamic power is V^2 times rate.
[[nodiscard]] Power busy_power(const Model& model, const Phase& phase, const Point& point);
[[nodiscard]] Power idle_power(const Model& model, const Point& point);

}  // namespace ergon::sim
