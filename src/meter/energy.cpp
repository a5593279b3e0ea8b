// Both estimators together: which one is told, how far they are apart, and when nothing is known.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "renewals.hpp"
#include "text.hpp"

namespace ergon::meter {
namespace {

double half_width(const Estimate& e) { return (e.high - e.low) / 2; }

}  // namespace

std::string seconds_text(double seconds) {
  char text[48];
  if (seconds < 1) {
    std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  } else {
    // No exponents: 1840 s, 888 days.
    const bool days = seconds >= 2 * 86'400.0;
    std::snprintf(text, sizeof text,
                  days              ? "%.0f days"
                  : seconds >= 1000 ? "%.0f s"
                                    : "%.3g s",
                  days ? seconds / 86'400 : seconds);
  }
  return text;
}

std::string percent_text(double share) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3g %%", share * 100);
  return text;
}

std::string times_text(std::size_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

EnergyReading measure_energy(const Series& series, const SensorModel& sensor, Window window,
                             const EnergyOptions& options) {
  EnergyReading out;
  if (series.size() == 0 || window.end_ns <= window.start_ns) {
    out.why_unknown = series.size() == 0 ? "no readings" : "the window is empty";
    out.counter.refused = out.why_unknown;
    out.trapezoid.refused = out.why_unknown;
    return out;
  }
  if (series.refused > 0 && !series.has(series.energy_j) && !series.has(series.power_w) &&
      !series.has(series.average_power_w)) {
    out.why_unknown = "cannot be known: what the driver answered cannot be true (" +
                      times_text(series.refused) + "), and no reading is left";
    out.counter.refused = "no reading of the energy counter is left";
    out.trapezoid.refused = "no power reading is left";
    return out;
  }
  const double length_s = window.length().si();
  out.counter = counter_energy(series, sensor, window, options);
  out.trapezoid = trapezoid_energy(series, sensor, window, options);

  // The shortest window either estimator can tell.
  const double tick_s = sensor.energy_tick_s ? sensor.energy_tick_s->value : 0;
  const double period_s =
      std::max(sensor.update_period_s ? sensor.update_period_s->value : sensor.read_interval.si(),
               sensor.averaging_window_s    ? sensor.averaging_window_s->value
               : series.has(series.power_w) ? 0.0
                                            : 1.0);
  // A counter that never ticked often enough to be timed is taken to tick as the power does.
  const double counter_needs =
      options.least_periods * (tick_s > 0 ? tick_s : std::max(period_s, 0.1));
  const double trapezoid_needs = options.least_periods * period_s;
  const bool has_counter = series.has(series.energy_j);
  const bool has_power = series.has(series.power_w) || series.has(series.average_power_w);
  const auto too_short = [&](EnergyEstimate& e, double needs, const char* what) {
    if (length_s >= needs) return;
    e.energy_j.reset();
    e.refused = std::string("the window is shorter than ") + seconds_text(needs) + ", " +
                std::to_string(static_cast<int>(options.least_periods)) + " periods of the " + what;
  };
  if (has_counter) too_short(out.counter, counter_needs, "counter");
  if (has_power) too_short(out.trapezoid, trapezoid_needs, "power sensor");
  double needs = 0;
  if (has_counter) needs = counter_needs;
  if (has_power) needs = needs > 0 ? std::min(needs, trapezoid_needs) : trapezoid_needs;

  const auto& a = out.counter.energy_j;
  const auto& b = out.trapezoid.energy_j;
  if (!a && !b) {
    if (needs > length_s) {
      out.why_unknown = "cannot be known from this sensor: " + seconds_text(length_s) +
                        " is too short; " + seconds_text(needs) + " or more would do";
      out.window_needed = Seconds(needs);
    } else {
      out.why_unknown = "cannot be known: " + out.counter.refused + "; " + out.trapezoid.refused;
    }
    return out;
  }
  if (a && b) {
    const double mean = (a->value + b->value) / 2;
    if (mean > 0) out.disagreement = std::abs(a->value - b->value) / mean;
    out.contradict = a->low > b->high || b->low > a->high;
  }
  // The counter integrates what samples only look at: it is told unless it is known far worse.
  constexpr double kFarWorse = 2;
  const bool counter_first = a && (!b || half_width(*a) <= kFarWorse * half_width(*b));
  out.energy_j = counter_first ? *a : *b;
  out.chosen = counter_first ? "counter" : "trapezoid";
  out.coverage = counter_first ? out.counter.coverage : out.trapezoid.coverage;
  if (out.contradict) {
    out.energy_j->low = std::min(a->low, b->low);
    out.energy_j->high = std::max(a->high, b->high);
    out.chosen = "both";
    out.coverage = std::min(out.counter.coverage, out.trapezoid.coverage);
  }
  if (!counter_first && !out.contradict && out.trapezoid.seen_share) {
    if (!a) out.unseen_share = 1 - *out.trapezoid.seen_share;
    auto& in_step = out.trapezoid.in_step_j;
    if (in_step && a) {
      // What the counter rules out was not.
      in_step->low = std::max(a->low, in_step->low);
      in_step->high = std::min(a->high, in_step->high);
    }
    if (in_step && options.holds_unseen) {
      out.energy_j->low = std::min(b->low, in_step->low);
      out.energy_j->high = std::max(b->high, in_step->high);
      const double half = std::max(b->value - out.energy_j->low, out.energy_j->high - b->value);
      out.trapezoid.energy_j = out.energy_j;
      out.trapezoid.doubts.push_back({"unseen between the sensor's windows", half});
    }
  }
  out.supply_energy_j = Estimate{out.energy_j->value, out.energy_j->low / (1 + kBoardGain95),
                                 out.energy_j->high / (1 - kBoardGain95), Origin::kMeasured};
  return out;
}

std::optional<Estimate> above_idle(const std::optional<Estimate>& energy_j, Seconds length,
                                   const std::optional<Estimate>& idle_power_w) {
  if (!energy_j || !idle_power_w) return std::nullopt;
  const double idle_j = idle_power_w->value * length.si();
  const double value = energy_j->value - idle_j;
  const double more_idle = (idle_power_w->high - idle_power_w->value) * length.si();
  const double less_idle = (idle_power_w->value - idle_power_w->low) * length.si();
  return Estimate{value, value - std::hypot(energy_j->value - energy_j->low, more_idle),
                  value + std::hypot(energy_j->high - energy_j->value, less_idle),
                  energy_j->origin};
}

std::optional<Estimate> mean_power(const EnergyReading& reading, Window window) {
  const double s = window.length().si();
  if (!reading.energy_j || s <= 0) return std::nullopt;
  const Estimate& e = *reading.energy_j;
  return Estimate{e.value / s, e.low / s, e.high / s, e.origin};
}

std::optional<double> mean_over(const Series& series, const std::vector<double>& column,
                                Window window) {
  if (!series.has(column)) return std::nullopt;
  double sum = 0;
  double time = 0;
  std::optional<double> touched;  // a reading inside of the window, for one too short to hold
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (is_missing(column[i])) continue;
    const Nanos from = std::max(series.time_ns[i], window.start_ns);
    const Nanos next = i + 1 < series.size() ? series.time_ns[i + 1] : series.time_ns[i];
    const Nanos to = std::min(next, window.end_ns);
    if (series.time_ns[i] >= window.start_ns && series.time_ns[i] <= window.end_ns) {
      touched = column[i];
    }
    if (to <= from) continue;
    sum += column[i] * static_cast<double>(to - from);
    time += static_cast<double>(to - from);
  }
  if (time > 0) return sum / time;
  return touched;
}

}  // namespace ergon::meter
