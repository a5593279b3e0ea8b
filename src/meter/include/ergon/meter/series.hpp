// What was read from one GPU over time.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::meter {

/// A reading that is not there. Missing is missing: never 0.
inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
inline bool is_missing(double value) { return std::isnan(value); }

/// Readings of one GPU (or of one CPU domain). Every column is empty (never asked for) or as long
/// as `time_ns`; a cell that could not be read is kMissing. Units are SI.
struct Series {
  std::string gpu;  ///< how the GPU is called: index, UUID, "package-0"
  /// When each reading was taken (the middle of the call), integer nanoseconds on a monotonic base,
  /// not decreasing.
  std::vector<Nanos> time_ns;
  std::vector<double> power_w;  ///< the GPU's draw as the driver gives it
  std::vector<double>
      average_power_w;           ///< a draw that is known to be averaged (1 s on newer boards)
  std::vector<double> energy_j;  ///< energy counter: any origin, may reset or wrap
  std::vector<double> clock_hz;
  std::vector<double> memory_clock_hz;
  std::vector<double> temperature_c;
  std::vector<double> power_limit_w;
  std::vector<double> utilization;                     ///< 0 to 1
  std::vector<std::optional<std::uint64_t>> throttle;  ///< event-reason bits; unknown bits are kept
  /// Answers of the driver that cannot be true and were left out; of a column that is not there
  /// nothing else came.
  std::uint64_t refused = 0;
  /// UTC of time 0 in nanoseconds since 1970; nullopt where the log has no zone.
  std::optional<Nanos> utc_ns = std::nullopt;

  [[nodiscard]] std::size_t size() const { return time_ns.size(); }
  [[nodiscard]] bool has(const std::vector<double>& column) const {
    return column.size() == time_ns.size() && !column.empty();
  }
};

/// A span of time on the base of a Series: a phase, a region, a run.
struct Window {
  Nanos start_ns = 0;
  Nanos end_ns = 0;
  [[nodiscard]] Seconds length() const { return to_seconds(end_ns - start_ns); }
};

/// A value that appeared: the sensor published it after `after_ns` (the last read that still gave
/// the old value) and not later than `by_ns` (the first read that gave the new one).
struct Refresh {
  Nanos after_ns = 0;
  Nanos by_ns = 0;
  double value = 0;
  bool first = false;  ///< begins the column or follows missing cells: when it appeared is unknown
};

/// The column without its repeats: reading faster than a sensor refreshes adds duplicates, not
/// information. Missing cells are skipped.
std::vector<Refresh> refreshes(const std::vector<Nanos>& time_ns,
                               const std::vector<double>& column);

}  // namespace ergon::meter
