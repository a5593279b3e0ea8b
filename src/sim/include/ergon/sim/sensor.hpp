// What the board's sensors say about the true figures: late, averaged, noisy, with the gain error
// of the board.
#pragma once

#include <optional>
#include <vector>

#include "ergon/sim/board.hpp"

namespace ergon::sim {

enum class PowerReading { kInstant, kAverage };

struct Reading {
  Nanoseconds at = 0;  ///< when the sensor took it
  double value = 0;
};

/// The reading that is current at `now`: the mean power over the window that ended at the sensor's
/// last update, times the gain, plus noise (0.2 % and 0.1 W, one standard deviation). Empty when
/// the board has no such reading.
[[nodiscard]] std::optional<Reading> power_reading(const BoardView& view, PowerReading kind,
                                                   Nanoseconds now);
/// The same for the memory rail.
[[nodiscard]] std::optional<Reading> memory_power_reading(const BoardView& view, PowerReading kind,
                                                          Nanoseconds now);
/// The readings after `after` up to `now`, at most the last `most`, oldest first.
[[nodiscard]] std::vector<Reading> power_readings(const BoardView& view, PowerReading kind,
                                                  Nanoseconds after, Nanoseconds now,
                                                  std::size_t most);
/// The energy counter at `now`, in joules since the driver was loaded: true energy times the
/// counter's gain, as it stood at the last tick (period of the model, a hundredth of jitter).
[[nodiscard]] Reading counter_reading(const BoardView& view, Nanoseconds now);

struct Utilization {
  double busy = 0, memory = 0;  ///< shares of the last 160 ms
};
[[nodiscard]] Utilization utilization(const BoardView& view, Nanoseconds now);

}  // namespace ergon::sim
