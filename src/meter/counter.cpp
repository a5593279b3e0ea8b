// Estimator (a): the energy counter, aligned to its ticks.
#include <algorithm>
#include <array>
#include <cmath>

#include "renewals.hpp"
#include "text.hpp"

namespace ergon::meter {
namespace {

// Ranges at which counters are known to wrap: 32 bits of mJ and of uJ, 32 bits of RAPL's 61 uJ and
// 15.3 uJ units, and the Intel ranges that Linux reports.
constexpr std::array<double, 5> kRangesJ = {4294967.296, 4294.967296, 262143.328850, 65536.0,
                                            262144.0};

struct Cleaned {
  std::vector<Refresh> ticks;         ///< values continue over resets and wraps
  std::vector<bool> bridged;          ///< the step to this tick is not known from the counter
  std::vector<double> bridged_least;  ///< joules at least, for those
  std::size_t resets = 0;
  std::size_t wraps = 0;
  std::size_t garbage = 0;
};

bool plausible(const Refresh& from, const Refresh& to, double tick_ns, double most_w) {
  const double joules = to.value - from.value;
  const double seconds =
      (static_cast<double>(to.by_ns - from.by_ns) + 2 * std::max(tick_ns, 1e6)) * 1e-9;
  return joules >= 0 && joules <= most_w * seconds;
}

std::optional<double> wrapped(const Refresh& from, const Refresh& to, double tick_ns,
                              const EnergyOptions& options) {
  const auto fits = [&](double range) -> std::optional<double> {
    if (from.value > range * (1 + 1e-6) || from.value < range / 2) return std::nullopt;
    Refresh lifted = to;
    lifted.value += range;
    if (!plausible(from, lifted, tick_ns, options.most_power_w)) return std::nullopt;
    return lifted.value - from.value;
  };
  if (options.counter_range_j) return fits(*options.counter_range_j);
  for (const double range : kRangesJ) {
    if (const auto joules = fits(range)) return joules;
  }
  return std::nullopt;
}

Cleaned clean(const std::vector<Refresh>& raw, double tick_ns, const EnergyOptions& options) {
  Cleaned out;
  double offset = 0;  // added to raw values so that they continue
  Refresh last;       // the last good raw reading
  const auto keep = [&](Refresh r, bool bridged, double least) {
    last = r;
    r.value += offset;
    out.ticks.push_back(r);
    out.bridged.push_back(bridged);
    out.bridged_least.push_back(least);
  };
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const Refresh& r = raw[i];
    if (!std::isfinite(r.value) || r.value < 0) {
      ++out.garbage;
      continue;
    }
    if (out.ticks.empty()) {
      // A first reading that nothing after it continues is garbage, too.
      if (i + 2 < raw.size() && !plausible(r, raw[i + 1], tick_ns, options.most_power_w) &&
          plausible(raw[i + 1], raw[i + 2], tick_ns, options.most_power_w) &&
          r.value > 4 * raw[i + 1].value) {
        ++out.garbage;
        continue;
      }
      keep(r, false, 0);
      continue;
    }
    if (plausible(last, r, tick_ns, options.most_power_w)) {
      keep(r, false, 0);
      continue;
    }
    const bool returns =
        i + 1 < raw.size() && plausible(last, raw[i + 1], tick_ns, options.most_power_w);
    if (returns) {  // one odd value between two that go together
      ++out.garbage;
      continue;
    }
    if (r.value < last.value) {
      if (const auto joules = wrapped(last, r, tick_ns, options)) {
        offset += last.value + *joules - r.value;
        ++out.wraps;
        keep(r, false, 0);
        continue;
      }
    }
    // A reset (or a leap): what was spent since the last tick is unknown, but since a reset at
    // least what the counter shows. It fell somewhere between two ticks, so the step to the tick
    // after it is a part only: both are bridged as one.
    Refresh zero = last;
    zero.value = 0;
    const bool from_zero = plausible(zero, r, tick_ns, options.most_power_w);
    const bool goes_on =
        i + 1 < raw.size() && plausible(r, raw[i + 1], tick_ns, options.most_power_w);
    const Refresh& next = goes_on ? raw[++i] : r;
    ++out.resets;
    const double least = from_zero ? next.value : next.value - r.value;
    offset += last.value - next.value;
    keep(next, true, least);
  }
  return out;
}

// Cumulative energy at time t, by ticks and the step inside of the one that holds t.
struct Curve {
  std::vector<double> at;
  std::vector<double> doubt;
  std::vector<double> energy;
  std::vector<bool> bridged;
  double scatter_w = 0;  ///< of the power of neighbouring ticks, steps of the load left out

  [[nodiscard]] double power(std::size_t k) const {  // of the interval k to k + 1
    const double d = at[k + 1] - at[k];
    return d > 0 ? (energy[k + 1] - energy[k]) / d : 0;
  }
  struct Point {
    double energy = 0;
    double timing = 0;  ///< half-width from when the tick was
    double shape = 0;   ///< half-width from how the power went within the tick
  };
  [[nodiscard]] Point value(double t) const {
    const auto after = std::upper_bound(at.begin(), at.end(), t);
    auto k = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - at.begin() - 1, 0));
    k = std::min(k, at.size() - 2);
    const double d = at[k + 1] - at[k];
    const double x = std::clamp(t - at[k], 0.0, std::max(d, 0.0));
    const double e = energy[k + 1] - energy[k];
    const double inside = power(k);
    const double before = k > 0 && !bridged[k] ? power(k - 1) : inside;
    const double next = k + 2 < at.size() && !bridged[k + 2] ? power(k + 1) : inside;
    const double straight = d > 0 ? e * x / d : 0;
    double part = straight;
    const double step = before - next;
    if (std::abs(step) > 1e-9 * std::abs(before + next)) {
      const double s = (e - d * next) / step;
      if (s >= 0 && s <= d) part = x <= s ? before * x : before * s + next * (x - s);
    }
    Point point;
    point.energy = energy[k] + part;
    const double most = std::max({before, inside, next});
    point.timing = most * std::max(doubt[k], doubt[k + 1]);
    // A pulse shorter than a tick has no neighbour to tell of it; a load that always changes
    // divides a tick as a Brownian bridge does.
    const double pulse = 0.05 * std::max(std::abs(inside - before), std::abs(inside - next)) * d;
    const double bridge = d > 0 ? std::sqrt(3 * x * (d - x)) * scatter_w : 0;
    point.shape =
        std::sqrt(std::pow(std::max(std::abs(part - straight) / 2, pulse), 2) + bridge * bridge);
    return point;
  }
};

}  // namespace

EnergyEstimate counter_energy(const Series& series, const SensorModel& sensor, Window window,
                              const EnergyOptions& options) {
  EnergyEstimate out;
  if (!series.has(series.energy_j) ||
      std::ranges::all_of(series.energy_j, [](double v) { return is_missing(v); })) {
    out.refused = "this GPU gives no energy counter";
    return out;
  }
  const double length_s = window.length().si();
  if (length_s <= 0) {
    out.refused = "the window is empty";
    return out;
  }
  const double tick_s = sensor.energy_tick_s ? sensor.energy_tick_s->value : 0;
  const auto raw = refreshes(series.time_ns, series.energy_j);
  const Cleaned cleaned = clean(raw, tick_s * 1e9, options);
  const std::size_t odd = cleaned.garbage + cleaned.resets;
  if (odd > raw.size() / 10 && odd > 3) {
    out.refused = "the energy counter gives garbage: " + std::to_string(odd) + " of " +
                  std::to_string(raw.size()) + " values are impossible";
    return out;
  }
  // The first value was counted up to some tick before it was read: it is no tick of ours.
  const Nanos origin = series.time_ns.front();
  Curve curve;
  {
    const auto placed = place(cleaned.ticks, tick_s * 1e9, origin);
    for (std::size_t i = cleaned.ticks.empty() || !cleaned.ticks[0].first ? 0 : 1;
         i < placed.size(); ++i) {
      curve.at.push_back(placed[i].at_ns * 1e-9);
      curve.doubt.push_back(placed[i].doubt_ns * 1e-9);
      curve.energy.push_back(placed[i].value);
      curve.bridged.push_back(!curve.bridged.empty() && cleaned.bridged[i]);
    }
  }
  const double t0 = static_cast<double>(window.start_ns - origin) * 1e-9;
  const double t1 = static_cast<double>(window.end_ns - origin) * 1e-9;
  const auto inside = std::ranges::count_if(curve.at, [&](double t) { return t >= t0 && t <= t1; });
  const double quiet_s = std::max(20 * tick_s, 2.0);
  if (curve.at.size() < 2 || (inside == 0 && length_s > std::max(5 * tick_s, 0.5))) {
    out.refused = length_s > 0.5 || curve.at.empty()
                      ? "the energy counter did not move in " + seconds_text(length_s)
                      : "the energy counter moved fewer than twice";
    return out;
  }
  // Reset steps: the power on both sides over the time, at least what the counter shows.
  double bridged_j = 0;
  double bridged_s = 0;
  double shift = 0;
  for (std::size_t k = 0; k + 1 < curve.at.size(); ++k) {
    curve.energy[k + 1] += shift;
    if (!curve.bridged[k + 1]) continue;
    const double d = curve.at[k + 1] - curve.at[k];
    const double before = k > 0 ? curve.power(k - 1) : -1;
    double after = -1;
    if (k + 2 < curve.at.size()) {
      after =
          (curve.energy[k + 2] + shift - curve.energy[k + 1]) / (curve.at[k + 2] - curve.at[k + 1]);
    }
    double watts =
        before >= 0 && after >= 0 ? (before + after) / 2 : std::max({before, after, 0.0});
    const std::size_t tick = k + 1 + (cleaned.ticks[0].first ? 1 : 0);
    watts = std::max(
        watts, tick < cleaned.bridged_least.size() && d > 0 ? cleaned.bridged_least[tick] / d : 0);
    curve.energy[k + 1] += watts * d;
    shift += watts * d;
    if (curve.at[k + 1] > t0 && curve.at[k] < t1) {
      bridged_j += watts * d;
      bridged_s += d;
    }
  }
  // A counter that stands still while time passes was frozen.
  double still = 0;
  double still_at = t0;
  double last = std::max(t0, curve.at.front());
  for (const double t : curve.at) {
    if (t <= t0 || t > t1) continue;
    if (t - last > still) {
      still = t - last;
      still_at = last;
    }
    last = t;
  }
  const double reads_end = std::min(t1, static_cast<double>(series.time_ns.back() - origin) * 1e-9);
  const bool stopped = reads_end - last > std::max(still, quiet_s);
  if (stopped) {
    out.refused = "the energy counter stopped moving " + seconds_text(t1 - last) +
                  " before the end of the window";
    return out;
  }
  if (still > quiet_s) {
    const auto point = curve.value(still_at + still / 2);
    const double watts = 2 * (point.energy - curve.value(still_at).energy) / still;
    const double mean = (curve.energy.back() - curve.energy.front()) /
                        std::max(curve.at.back() - curve.at.front(), 1e-9);
    if (watts < 0.2 * mean) {
      out.refused = "the energy counter stood still for " + seconds_text(still);
      return out;
    }
  }
  // Edges beyond the ticks: at most one tick is carried on at the power of the nearest one.
  const double reach = std::max(tick_s * 1.5, 0.02);
  if (t0 < curve.at.front() - reach || t1 > curve.at.back() + reach) {
    const double seen = std::min(t1, curve.at.back()) - std::max(t0, curve.at.front());
    out.coverage = std::clamp(seen / length_s, 0.0, 1.0);
    out.refused = "the counter was read over " + percent_text(out.coverage) + " of the window only";
    return out;
  }
  {
    std::vector<double> moves;
    for (std::size_t k = 0; k + 2 < curve.at.size(); ++k) {
      if (curve.at[k + 2] < t0 - 1 || curve.at[k] > t1 + 1) continue;
      if (curve.bridged[k + 1] || curve.bridged[k + 2]) continue;
      moves.push_back(std::abs(curve.power(k + 1) - curve.power(k)));
    }
    curve.scatter_w = 1.4826 / std::sqrt(2.0) * median_of(std::move(moves));
  }
  const auto edge = [&](double t) {
    if (t < curve.at.front()) {
      const double w = curve.power(0);
      return Curve::Point{curve.energy.front() - w * (curve.at.front() - t),
                          w * curve.doubt.front(), w * (curve.at.front() - t) / 2};
    }
    if (t > curve.at.back()) {
      const double w = curve.power(curve.at.size() - 2);
      return Curve::Point{curve.energy.back() + w * (t - curve.at.back()), w * curve.doubt.back(),
                          w * (t - curve.at.back()) / 2};
    }
    return curve.value(t);
  };
  const auto start = edge(t0);
  const auto end = edge(t1);
  const double value = end.energy - start.energy;
  // Uniform half-widths add in squares; 1.96 standard deviations hold 95 %.
  const double edges = 1.96 / std::sqrt(3.0) *
                       std::sqrt(start.timing * start.timing + start.shape * start.shape +
                                 end.timing * end.timing + end.shape * end.shape);
  const double steps = 1.96 / std::sqrt(3.0) * sensor.energy_step_j;
  // Half a per mille of what no model of ticks covers (late ticks, clocks of host and GPU).
  const double rest = 5e-4 * std::abs(value);
  out.doubts = {{"edges", edges}, {"resolution", steps}, {"rest", rest}};
  if (bridged_s > 0) out.doubts.push_back({"reset", bridged_j});
  double half = 0;
  for (const Doubt& d : out.doubts) half += d.half_width_j * d.half_width_j;
  half = std::sqrt(half);
  out.energy_j = Estimate{value, value - half, value + half, Origin::kMeasured};
  out.coverage = std::clamp(1 - bridged_s / length_s, 0.0, 1.0);
  if (cleaned.resets > 0) {
    out.notes.push_back("the counter was reset " + times_text(cleaned.resets) +
                        "; the step over it is taken from the power beside it");
  }
  if (cleaned.wraps > 0) out.notes.push_back("the counter wrapped " + times_text(cleaned.wraps));
  if (cleaned.garbage > 0) {
    out.notes.push_back("impossible values of the counter were left out: " +
                        std::to_string(cleaned.garbage));
  }
  return out;
}

std::optional<double> counter_difference(double before_j, double after_j,
                                         std::optional<double> range_j) {
  if (is_missing(before_j) || is_missing(after_j)) return std::nullopt;
  if (after_j >= before_j) return after_j - before_j;
  if (!range_j || !(*range_j > 0) || before_j > *range_j) return std::nullopt;
  return after_j + *range_j - before_j;
}

}  // namespace ergon::meter
