// What counts as a gap between two samples.
#pragma once

namespace ergon::meter::logs {

/// More than three times the usual distance, and above 50 ms.
inline bool is_gap(double away_ns, double typical_ns) {
  return away_ns > 3 * typical_ns && away_ns > 50e6;
}

}  // namespace ergon::meter::logs
