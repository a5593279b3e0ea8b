// Seconds and machine times into each other.
#pragma once

#include <cmath>

#include "ergon/sim/board.hpp"

namespace ergon::sim {

inline double seconds_of(Nanoseconds t) { return static_cast<double>(t) * 1e-9; }
inline Nanoseconds nanoseconds_of(double s) {
  return static_cast<Nanoseconds>(std::llround(s * 1e9));
}

}  // namespace ergon::sim
