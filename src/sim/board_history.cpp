// What a board's history says about a time.
#include <algorithm>

#include "ergon/sim/board.hpp"
#include "times.hpp"

namespace ergon::sim {

Mark BoardView::mark_at(Nanoseconds at) const {
  const Board& b = board_;
  if (at >= b.segment_start) {
    const double dt = seconds_of(at - b.segment_start);
    return {at, b.energy_j + b.power.total_w * dt, b.memory_energy_j + b.power.memory_w * dt,
            b.busy_s + b.busy * dt, b.memory_busy_s + b.memory_busy * dt};
  }
  // The oldest ones may be under way of being written over by a process that was killed.
  constexpr std::uint64_t kKept = kHistoryLength - 64;
  const std::uint64_t first = b.marks > kKept ? b.marks - kKept : 0;
  const auto mark = [&](std::uint64_t k) -> const Mark& {
    return store_.history[k % kHistoryLength];
  };
  // Mostly the last few are asked for: in growing steps from the end, for each probe of a history
  // that lies cold in memory costs more than all that is computed.
  std::uint64_t high = b.marks;
  std::uint64_t low = first;
  for (std::uint64_t step = 1; high > first; step *= 2) {
    const std::uint64_t probe = high - first > step ? high - step : first;
    if (mark(probe).at <= at) {
      low = probe + 1;
      break;
    }
    high = probe;
  }
  while (low < high) {  // the first mark after `at`
    const std::uint64_t middle = low + (high - low) / 2;
    if (mark(middle).at <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const Mark present{b.segment_start, b.energy_j, b.memory_energy_j, b.busy_s, b.memory_busy_s};
  const Mark right = low < b.marks ? mark(low) : present;
  if (low == first) {
    // Before the history begins: as if the board had drawn then what it drew at its start.
    const Power idle =
        idle_power(model_, {model_.clocks.idle, model_.clocks.memory_idle, b.ambient_c});
    const double dt = seconds_of(at - right.at);
    return {at, right.energy_j + idle.total_w * dt, right.memory_energy_j + idle.memory_w * dt,
            right.busy_s, right.memory_busy_s};
  }
  const Mark& left = mark(low - 1);
  const double share = right.at == left.at ? 0
                                           : static_cast<double>(at - left.at) /
                                                 static_cast<double>(right.at - left.at);
  const auto between = [&](double a, double z) { return a + (z - a) * share; };
  return {at, between(left.energy_j, right.energy_j),
          between(left.memory_energy_j, right.memory_energy_j), between(left.busy_s, right.busy_s),
          between(left.memory_busy_s, right.memory_busy_s)};
}

Nanoseconds BoardView::capped_ns_at(Nanoseconds now) const {
  const bool capped = (board_.reasons & kReasonPowerCap) != 0;
  return board_.capped_ns + (capped ? std::max<Nanoseconds>(0, now - board_.segment_start) : 0);
}

Nanoseconds BoardView::thermal_ns_at(Nanoseconds now) const {
  const bool hot = (board_.reasons & kReasonThermal) != 0;
  return board_.thermal_ns + (hot ? std::max<Nanoseconds>(0, now - board_.segment_start) : 0);
}

}  // namespace ergon::sim
