// What the readings of one GPU say about a window.
#include <algorithm>
#include <array>
#include <cmath>

#include "ergon/run/measure.hpp"

namespace ergon::run {
namespace {

// A stated bound of the gain is the same for every reading of a board: it is added, not in squares.
void widen(std::optional<Estimate>& estimate, double gain95) {
  if (!estimate || gain95 <= 0) return;
  const double gain = gain95 * std::abs(estimate->value);
  estimate->low -= gain;
  estimate->high += gain;
}

void widen(meter::EnergyReading& reading, double gain95) {
  widen(reading.energy_j, gain95);
  widen(reading.counter.energy_j, gain95);
  widen(reading.trapezoid.energy_j, gain95);
}

struct Range {
  std::optional<double> least;
  std::optional<double> most;
};
Range range_of(const meter::Series& series, const std::vector<double>& column,
               meter::Window window) {
  Range range;
  if (!series.has(column)) return range;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Nanos t = series.time_ns[i];
    if (t < window.start_ns || t > window.end_ns || meter::is_missing(column[i])) continue;
    range.least = range.least ? std::min(*range.least, column[i]) : column[i];
    range.most = range.most ? std::max(*range.most, column[i]) : column[i];
  }
  return range;
}

// Whether readings go on to the end of the window, or to so near that no more than a few of the
// seldom ones can be missing.
bool read_to_the_end(const meter::Series& series, meter::Window window) {
  constexpr Nanos kLate = 500'000'000;
  if (series.size() == 0) return false;
  const Nanos missing = window.end_ns - series.time_ns.back();
  return missing <= std::max(kLate, (window.end_ns - window.start_ns) / 50);
}

struct Published {
  std::string_view architecture;
  std::string_view name;  ///< part of the board's name; empty: any
  bool averaged;          ///< of the one-second average, not of the moment's value
  double update_s;
  double window_s;
};
// Yang, Adamek, Armour, SC'24; the first that fits counts.
constexpr std::array<Published, 14> kPublished = {{
    {"pascal", "", false, 0.020, 0.010},
    {"volta", "", false, 0.020, 0.010},
    {"turing", "", false, 0.100, 0.100},
    {"ampere", "A100", false, 0.100, 0.025},
    {"ampere", "A30", false, 0.100, 0.025},
    {"ampere", "", false, 0.100, 0.100},
    {"ampere", "", true, 0.100, 1.000},
    {"hopper", "GH200", false, 0.100, 0.020},
    {"hopper", "", false, 0.100, 0.025},
    {"hopper", "", true, 0.100, 1.000},
    {"ada", "", false, 0.100, 0.100},
    {"ada", "", true, 0.100, 1.000},
    {"", "", false, 0, 0},
    {"", "", true, 0.100, 1.000},
}};
constexpr double kAssumedPeriod = 0.1;  ///< the slowest that is usual

}  // namespace

meter::SensorModel sensor_of(const meter::Series& series, const gpu::Identity& identity,
                             const std::optional<gpu::PowerSource>& source) {
  meter::SensorModel model = meter::estimate_sensor(series);
  const bool averaged =
      source && source->documented_average && source->documented_average->si() >= 0.5;
  const auto known = std::ranges::find_if(kPublished, [&](const Published& p) {
    return (p.architecture.empty() || identity.architecture == p.architecture) &&
           identity.name.find(p.name) != std::string::npos && p.averaged == averaged;
  });
  const bool listed = known != kPublished.end() && known->update_s > 0;
  const auto given = [](double value, double spread, Origin origin) {
    return Estimate{value, value * (1 - spread), value * (1 + spread), origin};
  };
  const Origin origin =
      listed && !known->architecture.empty() ? Origin::kPublished : Origin::kAssumed;
  if (!model.update_period_s) {
    model.update_period_s = listed ? given(known->update_s, 0.05, origin)
                                   : given(kAssumedPeriod, 0.5, Origin::kAssumed);
  }
  if (!model.averaging_window_s && listed)
    model.averaging_window_s = given(known->window_s, 0.2, origin);
  if (!model.energy_tick_s && series.has(series.energy_j)) {
    model.energy_tick_s = given(listed ? known->update_s : kAssumedPeriod, 0.5, Origin::kAssumed);
  }
  return model;
}

double stated_gain95(const gpu::Identity& gpu) { return gpu.simulated ? 0.003 : 0; }

GpuResult result_of(const meter::Series& series, const meter::SensorModel& sensor,
                    meter::Window window, const std::optional<Estimate>& idle_power_w,
                    double gain95) {
  GpuResult out;
  out.energy = meter::measure_energy(series, sensor, window, {.holds_unseen = true});
  // Idle power has the same gain: the difference carries it once.
  out.above_idle_j = meter::above_idle(out.energy.energy_j, window.length(), idle_power_w);
  widen(out.above_idle_j, gain95);
  widen(out.energy, gain95);
  if (const auto power = meter::mean_power(out.energy, window)) out.power_w = power->value;
  if (sensor.update_period_s && sensor.update_period_s->value > 0)
    out.periods = window.length().si() / sensor.update_period_s->value;
  // What went on after the last reading (the GPU was lost) is not known: a figure of the part that
  // was read is none of the window. That something held it back stays true.
  const bool ended = read_to_the_end(series, window);
  if (ended) out.clock_hz = meter::mean_over(series, series.clock_hz, window);
  const auto clocks = range_of(series, series.clock_hz, window);
  out.clock_least_hz = clocks.least;
  out.clock_most_hz = clocks.most;
  if (ended) out.memory_clock_hz = meter::mean_over(series, series.memory_clock_hz, window);
  if (ended) out.temperature_c = meter::mean_over(series, series.temperature_c, window);
  out.temperature_most_c = range_of(series, series.temperature_c, window).most;
  if (ended) out.utilization = meter::mean_over(series, series.utilization, window);
  std::size_t told = 0;
  std::size_t held = 0;
  for (std::size_t i = 0; i < series.size() && i < series.throttle.size(); ++i) {
    const Nanos t = series.time_ns[i];
    if (t < window.start_ns || t > window.end_ns || !series.throttle[i]) continue;
    const std::uint64_t bits = gpu::Throttle{*series.throttle[i]}.holding_back();
    ++told;
    held += bits != 0 ? 1 : 0;
    out.throttle_bits |= bits;
  }
  if (told > 0 && (ended || held > 0))
    out.throttled_share = static_cast<double>(held) / static_cast<double>(told);
  return out;
}

IdlePower idle_power(const meter::Series& series, const meter::SensorModel& sensor,
                     std::span<const meter::Window> idle, double gain95) {
  IdlePower out;
  std::vector<Estimate> found;
  for (const auto& window : idle) {
    // Utilization is of all of the time: where it stays 0 nothing ran unseen.
    const auto busy = range_of(series, series.utilization, window).most;
    const bool hidden = !busy || *busy > 0;
    const auto reading = meter::measure_energy(series, sensor, window, {.holds_unseen = hidden});
    const auto power = meter::mean_power(reading, window);
    if (!power) continue;
    if (hidden && reading.unseen_share) out.unseen_share = reading.unseen_share;
    found.push_back(*power);
  }
  if (found.empty()) return out;
  // Before and after differ (the board is warmer): the truth during the run lies between them.
  double value = 0;
  double below = 0;
  double above = 0;
  for (const Estimate& e : found) {
    value += e.value / static_cast<double>(found.size());
    below = std::max(below, e.value - e.low);
    above = std::max(above, e.high - e.value);
  }
  double spread = 0;
  for (const Estimate& e : found) spread = std::max(spread, std::abs(e.value - value));
  out.power_w = Estimate{value, value - std::hypot(below, spread),
                         value + std::hypot(above, spread), Origin::kMeasured};
  widen(out.power_w, gain95);
  return out;
}

std::optional<Estimate> sum_of(std::span<const std::optional<Estimate>> parts) {
  if (parts.empty()) return std::nullopt;
  Estimate sum{0, 0, 0, Origin::kMeasured};
  double low = 0;
  double high = 0;
  for (const auto& part : parts) {
    if (!part) return std::nullopt;
    sum.value += part->value;
    low = std::hypot(low, part->value - part->low);
    high = std::hypot(high, part->high - part->value);
    if (part->origin != Origin::kMeasured) sum.origin = part->origin;
  }
  sum.low = sum.value - low;
  sum.high = sum.value + high;
  return sum;
}

std::optional<Estimate> mean_of(std::span<const std::optional<Estimate>> runs) {
  if (runs.empty()) return std::nullopt;
  const auto count = static_cast<double>(runs.size());
  double mean = 0;
  double below = 0;
  double above = 0;
  Origin origin = Origin::kMeasured;
  for (const auto& run : runs) {
    if (!run) return std::nullopt;
    mean += run->value / count;
    below += (run->value - run->low) / count;
    above += (run->high - run->value) / count;
    origin = run->origin;
  }
  double squares = 0;
  for (const auto& run : runs) squares += (run->value - mean) * (run->value - mean);
  const double scatter =
      runs.size() > 1 ? student95(runs.size() - 1) * std::sqrt(squares / (count - 1) / count) : 0;
  return Estimate{mean, mean - std::max(below, scatter), mean + std::max(above, scatter), origin};
}

}  // namespace ergon::run
