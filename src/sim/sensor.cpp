#include "ergon/sim/sensor.hpp"

#include <algorithm>
#include <cmath>

#include "times.hpp"

namespace ergon::sim {
namespace {

constexpr double kNoiseShare = 0.002;
constexpr double kNoiseW = 0.1;
constexpr double kCounterJitter = 0.01;
constexpr Nanoseconds kUtilizationWindow = 160'000'000;

// Streams of drawn numbers.
constexpr std::uint64_t kInstantNoise = 1;
constexpr std::uint64_t kAverageNoise = 2;
constexpr std::uint64_t kMemoryNoise = 3;
constexpr std::uint64_t kJitter = 4;

std::uint64_t seed_of(const BoardView& view) {
  return view.board().config.seed * 64 + view.board().config.index;
}

const SensorSpec& spec_of(const BoardView& view, PowerReading kind) {
  return kind == PowerReading::kInstant ? view.model().instant : view.model().average;
}

struct Grid {
  Nanoseconds period;
  Nanoseconds first;  // of the ticks, as if they had begun at time 0

  [[nodiscard]] std::int64_t index_at(Nanoseconds t) const {
    const Nanoseconds past = t - first;
    return past >= 0 ? past / period : -((-past + period - 1) / period);
  }
  [[nodiscard]] Nanoseconds time_of(std::int64_t index) const { return first + index * period; }
};

Grid grid_of(double period_s, double phase) {
  const Nanoseconds period = nanoseconds_of(period_s);
  return {period, static_cast<Nanoseconds>(phase * static_cast<double>(period))};
}

Reading reading_at(const BoardView& view, PowerReading kind, bool memory, const Grid& grid,
                   std::int64_t index) {
  const SensorSpec& spec = spec_of(view, kind);
  const Nanoseconds end = grid.time_of(index);
  const Nanoseconds begin = end - nanoseconds_of(spec.window_s);
  const Mark a = view.mark_at(begin);
  const Mark z = view.mark_at(end);
  const double energy = memory ? z.memory_energy_j - a.memory_energy_j : z.energy_j - a.energy_j;
  const double watts = energy / spec.window_s * view.board().gain;
  const std::uint64_t stream = (kind == PowerReading::kInstant ? kInstantNoise : kAverageNoise) +
                               (memory ? kMemoryNoise * 8 : 0);
  const double noise = draw_normal(seed_of(view), stream, static_cast<std::uint64_t>(index));
  return {end, std::max(0.0, watts + noise * (kNoiseShare * watts + kNoiseW))};
}

Grid sensor_grid(const BoardView& view, const SensorSpec& spec) {
  return grid_of(spec.period_s, view.board().sensor_phase);
}

}  // namespace

std::optional<Reading> power_reading(const BoardView& view, PowerReading kind, Nanoseconds now) {
  const SensorSpec& spec = spec_of(view, kind);
  if (!spec.present) return std::nullopt;
  const Grid grid = sensor_grid(view, spec);
  return reading_at(view, kind, false, grid, grid.index_at(now));
}

std::optional<Reading> memory_power_reading(const BoardView& view, PowerReading kind,
                                            Nanoseconds now) {
  const SensorSpec& spec = spec_of(view, kind);
  if (!spec.present || !view.model().memory_power) return std::nullopt;
  const Grid grid = sensor_grid(view, spec);
  return reading_at(view, kind, true, grid, grid.index_at(now));
}

std::vector<Reading> power_readings(const BoardView& view, PowerReading kind, Nanoseconds after,
                                    Nanoseconds now, std::size_t most) {
  const SensorSpec& spec = spec_of(view, kind);
  if (!spec.present) return {};
  const Grid grid = sensor_grid(view, spec);
  const std::int64_t last = grid.index_at(now);
  const auto span = static_cast<std::int64_t>(most);
  const Nanoseconds oldest = std::max(after, view.board().created);
  std::int64_t first = std::max(grid.index_at(oldest) + 1, last - span + 1);
  std::vector<Reading> readings;
  for (; first <= last; ++first) readings.push_back(reading_at(view, kind, false, grid, first));
  return readings;
}

Reading counter_reading(const BoardView& view, Nanoseconds now) {
  const Board& board = view.board();
  const Grid grid = grid_of(view.model().counter_period_s, board.counter_phase);
  const auto tick = [&](std::int64_t index) {
    const double jitter = 2 * draw(seed_of(view), kJitter, static_cast<std::uint64_t>(index)) - 1;
    return grid.time_of(index) +
           static_cast<Nanoseconds>(jitter * kCounterJitter * static_cast<double>(grid.period));
  };
  std::int64_t index = grid.index_at(now) + 1;
  while (tick(index) > now) --index;
  const Nanoseconds at = tick(index);
  const double true_j = std::max(0.0, view.mark_at(at).energy_j);
  return {at, board.counter_base_j + true_j * board.counter_gain};
}

Utilization utilization(const BoardView& view, Nanoseconds now) {
  const Mark a = view.mark_at(now - kUtilizationWindow);
  const Mark z = view.mark_at(now);
  const double window = static_cast<double>(kUtilizationWindow) * 1e-9;
  return {std::clamp((z.busy_s - a.busy_s) / window, 0.0, 1.0),
          std::clamp((z.memory_busy_s - a.memory_busy_s) / window, 0.0, 1.0)};
}

}  // namespace ergon::sim
