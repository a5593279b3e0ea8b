// A sensor's period, tick, scatter and resolution from its readings.
#include <algorithm>
#include <cmath>

#include "renewals.hpp"

namespace ergon::meter {
namespace {

// Differences of neighbours that are not steps of the load: 1.48 times the median deviation of each
// value from the mean of its two neighbours, less the share those two add.
double scatter(const std::vector<Refresh>& all) {
  std::vector<double> off;
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    if (all[i].first || all[i + 1].first) continue;
    off.push_back(std::abs(all[i].value - (all[i - 1].value + all[i + 1].value) / 2));
  }
  return off.empty() ? 0 : 1.4826 * median_of(std::move(off)) / std::sqrt(1.5);
}

// The finest decimal step that all values are multiples of, from 100 down to 1e-6; 0: finer.
double resolution(const std::vector<Refresh>& all) {
  if (all.size() < 4) return 0;
  for (int exponent = 2; exponent >= -6; --exponent) {
    const double step = std::pow(10.0, exponent);
    const bool fits = std::ranges::all_of(all, [&](const Refresh& r) {
      const double units = r.value / step;
      return std::abs(units - std::round(units)) < 1e-5 + 1e-12 * std::abs(units);
    });
    if (fits) return step;
  }
  return 0;
}

// So many readings that a sensor which works would have moved.
bool surely_still(const std::vector<Nanos>& time_ns, const std::vector<double>& power,
                  std::size_t fewest, Nanos shortest) {
  double value = kMissing;
  std::size_t readings = 0;
  Nanos first = 0;
  Nanos last = 0;
  for (std::size_t i = 0; i < power.size(); ++i) {
    if (is_missing(power[i])) continue;
    if (readings++ == 0) {
      value = power[i];
      first = time_ns[i];
    }
    if (power[i] != value) return false;
    last = time_ns[i];
  }
  return readings >= fewest && last - first >= shortest;
}

}  // namespace

bool one_value(const std::vector<Nanos>& time_ns, const std::vector<double>& power) {
  // Whole watts may hide small changes: it takes longer to tell.
  const auto first = std::ranges::find_if(power, [](double w) { return !is_missing(w); });
  const bool whole = first != power.end() && *first == std::floor(*first);
  return whole ? surely_still(time_ns, power, 20, 5'000'000'000)
               : surely_still(time_ns, power, 5, 2'000'000'000);
}

SensorModel estimate_sensor(const Series& series) {
  SensorModel model;
  std::vector<double> between;
  for (std::size_t i = 1; i < series.size(); ++i) {
    between.push_back(static_cast<double>(series.time_ns[i] - series.time_ns[i - 1]));
  }
  model.read_interval = Seconds(median_of(std::move(between)) * 1e-9);
  const auto& power = series.has(series.power_w) ? series.power_w : series.average_power_w;
  if (series.has(power)) {
    if (const auto period = refresh_period(series.time_ns, power)) {
      model.update_period_s = period->period_s;
      model.period_hidden = period->hidden;
    }
    const auto changes = refreshes(series.time_ns, power);
    model.noise_w = scatter(changes);
    model.power_step_w = resolution(changes);
    model.never_renewed = surely_still(series.time_ns, power, 20, 5'000'000'000);
    model.same_throughout = one_value(series.time_ns, power);
  }
  if (series.has(series.energy_j)) {
    if (const auto tick = refresh_period(series.time_ns, series.energy_j)) {
      model.energy_tick_s = tick->period_s;
    }
    model.energy_step_j = resolution(refreshes(series.time_ns, series.energy_j));
  }
  return model;
}

}  // namespace ergon::meter
