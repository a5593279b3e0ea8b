// Estimator (b): the trapezoid over the renewals of the power value.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "renewals.hpp"
#include "text.hpp"

namespace ergon::meter {
namespace {

// Where a sensor's averaging window is not known, this share of the time is taken as seen: the
// smallest published (A100 and H100: 25 of 100 ms).
constexpr double kLeastDuty = 0.25;
// How likely a big change of power next to an edge of the window lies on the edge itself: regions
// begin and end where the load does, samples know nothing of it.
constexpr double kStepAtEdge = 0.5;

struct Points {
  std::vector<double> t;  ///< seconds from the first read: the middle of what the value averages
  std::vector<double> w;  ///< watts
  std::vector<double> doubt;  ///< half-width of t
  double gap_limit_s = 0;     ///< the distance of two points that is a gap
  std::size_t garbage = 0;
};

double most_power(const Series& series, const EnergyOptions& options) {
  double limit = 0;
  for (const double v : series.power_limit_w) limit = std::isfinite(v) ? std::max(limit, v) : limit;
  return limit > 0 ? std::min(options.most_power_w, 2 * limit) : options.most_power_w;
}

constexpr double kAllSeen = 0.9;  ///< share of the time in averaging windows, as they are known

Points points_of(const Series& series, const std::vector<double>& column, const SensorModel& sensor,
                 const EnergyOptions& options, double shift_s) {
  Points out;
  const double most_w = most_power(series, options);
  std::vector<double> sound = column;
  for (double& v : sound) {
    if (is_missing(v)) continue;
    if (!std::isfinite(v) || v < 0 || v > most_w) {
      v = kMissing;
      ++out.garbage;
    }
  }
  const double read_s = sensor.read_interval.si();
  const bool known = sensor.update_period_s.has_value() && !sensor.period_hidden;
  const double period_s = known ? std::max(sensor.update_period_s->value, read_s) : read_s;
  out.gap_limit_s = options.gap_periods * std::max(period_s, read_s);
  const Nanos origin = series.time_ns.front();
  if (!known) {
    // Every read is a sample of its own moment.
    for (std::size_t i = 0; i < sound.size(); ++i) {
      if (is_missing(sound[i])) continue;
      const double t = static_cast<double>(series.time_ns[i] - origin) * 1e-9;
      if (!out.t.empty() && t - shift_s <= out.t.back()) continue;
      out.t.push_back(t - shift_s);
      out.w.push_back(sound[i]);
      out.doubt.push_back(0);
    }
    return out;
  }
  const auto changes = refreshes(series.time_ns, sound);
  const auto placed = place(changes, period_s * 1e9, origin);
  // Reads that still gave a value prove that it was renewed with the same figure: it holds until
  // one period before the next change, or up to the last of them.
  std::size_t read = 0;
  for (std::size_t k = 0; k < placed.size(); ++k) {
    const Nanos until = k + 1 < changes.size() ? changes[k + 1].by_ns : series.time_ns.back() + 1;
    double held_s = static_cast<double>(changes[k].by_ns - origin) * 1e-9;
    std::vector<double> reads;
    while (read < sound.size() && series.time_ns[read] < until) {
      if (!is_missing(sound[read]) && sound[read] == placed[k].value) {
        held_s = static_cast<double>(series.time_ns[read] - origin) * 1e-9;
        reads.push_back(held_s);
      }
      ++read;
    }
    const double at = placed[k].at_ns * 1e-9;
    const auto add = [&](double t) {
      if (!out.t.empty() && t - shift_s <= out.t.back()) return;
      out.t.push_back(t - shift_s);
      out.w.push_back(placed[k].value);
      out.doubt.push_back(placed[k].doubt_ns * 1e-9);
    };
    add(at);
    const double next = k + 1 < placed.size() && !changes[k + 1].first ? placed[k + 1].at_ns * 1e-9
                                                                       : held_s + period_s / 2;
    const double periods = std::round((next - at) / period_s);
    const double step = periods >= 1 ? (next - at) / periods : period_s;
    // Only where a read fell into that period: a gap in the log proves nothing. Each read can prove
    // two renewals at most, however far apart the reads are.
    const double last_j = periods + (k + 1 < placed.size() ? -1 : 0);
    double done_j = 0;
    for (const double held : reads) {
      const double from_j = std::ceil((held - period_s - at) / step);
      const double to_j = std::min(std::floor((held + period_s / 2 - at) / step), last_j);
      for (double j = std::max(from_j, done_j + 1); j <= to_j; ++j) {
        add(at + j * step);
        done_j = j;
      }
    }
  }
  return out;
}

// Piecewise linear power and its integral.
class Line {
 public:
  explicit Line(const Points& points) : p_(points) {
    sum_.push_back(0);
    for (std::size_t k = 1; k < p_.t.size(); ++k) {
      sum_.push_back(sum_.back() + (p_.w[k] + p_.w[k - 1]) / 2 * (p_.t[k] - p_.t[k - 1]));
    }
  }
  [[nodiscard]] std::size_t interval(double t) const {
    const auto after = std::upper_bound(p_.t.begin(), p_.t.end(), t);
    const auto k = static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - p_.t.begin() - 1, 0));
    return std::min(k, p_.t.size() - 2);
  }
  [[nodiscard]] double at(double t) const {
    if (t <= p_.t.front()) return p_.w.front();
    if (t >= p_.t.back()) return p_.w.back();
    const std::size_t k = interval(t);
    return p_.w[k] + (p_.w[k + 1] - p_.w[k]) * (t - p_.t[k]) / (p_.t[k + 1] - p_.t[k]);
  }
  [[nodiscard]] double integral(double t) const {
    if (t <= p_.t.front()) return p_.w.front() * (t - p_.t.front());
    if (t >= p_.t.back()) return sum_.back() + p_.w.back() * (t - p_.t.back());
    const std::size_t k = interval(t);
    return sum_[k] + (p_.w[k] + at(t)) / 2 * (t - p_.t[k]);
  }

 private:
  const Points& p_;
  std::vector<double> sum_;
};

struct Edge {
  double correction_j = 0;
  double half_width_j = 0;
};

// What the straight line misses next to an edge at t: inwards (+1 at the start, -1 at the end) up
// to `reach` the power may already be that at the end of the reach.
Edge edge_of(const Line& line, double t, double reach, double inwards, double timing_s) {
  const double far = line.at(t + inwards * reach);
  const double ramp = std::abs(line.integral(t + inwards * reach) - line.integral(t));
  const double full = far * reach - ramp;
  const double outer = line.at(t - inwards * reach);
  Edge edge;
  edge.correction_j = kStepAtEdge * full;
  const double spread = 0.29 * std::abs(far - outer) * reach;
  edge.half_width_j = std::sqrt(full * full / 4 * 3 + spread * spread +
                                std::pow(std::abs(far - outer) * timing_s, 2));
  return edge;
}

// Whether values go on in one direction from sample to sample: scatter turns round two times in
// three, a walk every other time, a beat with the sensor's period hardly ever.
bool beats(const Points& points, double from_s, double to_s, double mean_w,
           std::size_t fewest = 4) {
  std::size_t onward = 0;
  std::size_t pairs = 0;
  double least = 0;
  double most = 0;
  std::size_t seen = 0;
  for (std::size_t k = 0; k < points.t.size(); ++k) {
    if (points.t[k] <= from_s || points.t[k] >= to_s) continue;
    const double w = points.w[k];
    least = seen == 0 ? w : std::min(least, w);
    most = seen == 0 ? w : std::max(most, w);
    if (++seen < 3) continue;
    const double before = points.w[k - 1] - points.w[k - 2];
    const double move = w - points.w[k - 1];
    if (before == 0 && move == 0) continue;
    ++pairs;
    onward += before * move > 0 ? 1 : 0;
  }
  // A few pairs go on by chance as well.
  const std::size_t enough = pairs < 10 ? 85 : 65;
  return pairs >= fewest && onward * 100 > pairs * enough && most - least > 0.03 * mean_w;
}

// Whether values are spread and come in no order: not level, not drifting, and not the same again
// after so many samples. Only a load that is out of step with the sensor reads like that.
bool proves_out_of_step(const std::vector<double>& values, double mean_w) {
  constexpr std::size_t kFewestReadings = 20;
  constexpr std::size_t kMostLag = 10;
  constexpr double kLeastSpread = 0.1;   // of the mean: noise is smaller
  constexpr double kLeastChange = 0.25;  // of the spread; independent values change by 0.4 of it
  if (values.size() < kFewestReadings) return false;
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const double spread = sorted[sorted.size() * 9 / 10] - sorted[sorted.size() / 10];
  if (spread < kLeastSpread * mean_w) return false;
  for (std::size_t lag = 1; lag <= std::min(kMostLag, values.size() / 4); ++lag) {
    double change = 0;
    for (std::size_t k = lag; k < values.size(); ++k)
      change += std::abs(values[k] - values[k - lag]);
    if (change < kLeastChange * spread * static_cast<double>(values.size() - lag)) return false;
  }
  return true;
}

// Bounds of the energy where the power between the sensor's windows may be anything that the board
// was seen to do or may do.
Estimate if_in_step(const Series& series, const std::vector<double>& column, double value,
                    double seen, double length_s, double most_w) {
  double least_w = most_w;
  double limit_w = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (!std::isfinite(column[i]) || column[i] < 0 || column[i] > most_w) continue;
    least_w = std::min(least_w, column[i]);
    limit_w = std::max(limit_w, column[i]);
  }
  for (const double w : series.power_limit_w)
    limit_w = std::isfinite(w) ? std::max(limit_w, w) : limit_w;
  // What was read is the least only where the board was seen without work.
  if (std::ranges::none_of(series.utilization, [](double share) { return share == 0; }))
    least_w = 0;
  return {value, seen * value + (1 - seen) * least_w * length_s,
          seen * value + (1 - seen) * limit_w * length_s, Origin::kMeasured};
}

}  // namespace

EnergyEstimate trapezoid_energy(const Series& series, const SensorModel& sensor, Window window,
                                const EnergyOptions& options) {
  EnergyEstimate out;
  const bool instant = series.has(series.power_w);
  const auto& column = instant ? series.power_w : series.average_power_w;
  if (!series.has(column) || std::ranges::all_of(column, [](double v) { return is_missing(v); })) {
    out.refused = "this GPU gives no power";
    return out;
  }
  const double length_s = window.length().si();
  if (length_s <= 0) {
    out.refused = "the window is empty";
    return out;
  }
  const auto value_of_all = std::ranges::find_if(column, [](double v) { return !is_missing(v); });
  const bool whole_watts = *value_of_all == std::floor(*value_of_all);
  if (sensor.never_renewed && !whole_watts) {
    char text[96];
    std::snprintf(text, sizeof text,
                  "power is %.6g W in every reading, never renewed: the sensor "
                  "may be stuck",
                  *value_of_all);
    out.refused = text;
    return out;
  }
  const bool known = sensor.update_period_s.has_value() && !sensor.period_hidden;
  const double period_s = known ? sensor.update_period_s->value : sensor.read_interval.si();
  // An averaging window that is not known lies between nothing and the period (or a second, where
  // the column says that it is an average).
  double window_s = sensor.averaging_window_s ? sensor.averaging_window_s->value : 0;
  double window_doubt_s =
      sensor.averaging_window_s
          ? (sensor.averaging_window_s->high - sensor.averaging_window_s->low) / 2
          : 0;
  if (!sensor.averaging_window_s) {
    window_s = instant ? std::min(period_s / 2, 0.05) : 1.0;
    window_doubt_s = instant ? window_s : 0.1;
  }
  const Points points = points_of(series, column, sensor, options, window_s / 2);
  const Nanos origin = series.time_ns.front();
  const double t0 = static_cast<double>(window.start_ns - origin) * 1e-9;
  const double t1 = static_cast<double>(window.end_ns - origin) * 1e-9;
  if (points.t.size() < 2) {
    out.refused = "fewer than two power readings";
    return out;
  }
  const Line line(points);

  // Gaps, and what the ends of the log leave out.
  double lost_s = 0;
  double gaps_j = 0;
  const double outside = std::max(0.0, points.t.front() - t0 - period_s) +
                         std::max(0.0, t1 - points.t.back() - period_s);
  std::vector<double> inside;
  for (std::size_t k = 0; k < points.t.size(); ++k) {
    if (points.t[k] >= t0 - period_s && points.t[k] <= t1 + period_s) inside.push_back(points.w[k]);
  }
  if (inside.empty()) inside = points.w;
  const auto [low_it, high_it] = std::ranges::minmax_element(inside);
  const double low_w = *low_it;
  const double high_w = *high_it;
  for (std::size_t k = 1; k < points.t.size(); ++k) {
    const double from = std::max(points.t[k - 1], t0);
    const double to = std::min(points.t[k], t1);
    if (to <= from || points.t[k] - points.t[k - 1] <= points.gap_limit_s) continue;
    lost_s += to - from;
    // Inside of a gap the power may be anything that was seen.
    gaps_j += (to - from) * std::max((high_w - low_w) / 2, 0.05 * high_w);
  }
  lost_s += outside;
  out.coverage = std::clamp(1 - lost_s / length_s, 0.0, 1.0);
  if (outside > 0.02 * length_s || out.coverage < 0.5) {
    out.refused = "power was read over " + percent_text(out.coverage) + " of the window only";
    return out;
  }

  double value = line.integral(t1) - line.integral(t0);
  const double reach0 = std::max(window_s / 2, points.t[line.interval(t0) + 1] - t0);
  const double reach1 = std::max(window_s / 2, t1 - points.t[line.interval(t1)]);
  const double most_reach = length_s / 2;
  const double timing = window_doubt_s / 2 + median_of(points.doubt);
  const Edge start = edge_of(line, t0, std::min(reach0, most_reach), 1, timing);
  const Edge end = edge_of(line, t1, std::min(reach1, most_reach), -1, timing);
  value += start.correction_j + end.correction_j;
  const double edges =
      1.96 / std::sqrt(3.0) *
      std::sqrt(start.half_width_j * start.half_width_j + end.half_width_j * end.half_width_j);

  // What happened while the sensor did not look.
  const double duty =
      sensor.averaging_window_s ? std::clamp(window_s / period_s, 0.0, 1.0) : kLeastDuty;
  std::vector<double> moves;
  for (std::size_t k = 1; k < inside.size(); ++k)
    moves.push_back(std::abs(inside[k] - inside[k - 1]));
  const double usual = median_of(moves);
  double unseen_var = 0;
  for (std::size_t k = 1; k < points.t.size(); ++k) {
    if (points.t[k] <= t0 || points.t[k - 1] >= t1) continue;
    const double d = std::min(points.t[k] - points.t[k - 1], points.gap_limit_s);
    const double move = points.w[k] - points.w[k - 1];
    const double share = std::abs(move) > 6 * usual ? 1.0 / 12 : 0.5;
    unseen_var += move * move * d * d * (share * (1 - duty) + duty / 24);
  }
  const double unseen = 1.96 * std::sqrt(unseen_var);
  // A value that never moved is known to what NVML promises of its sensors at best (5 %, and a
  // watt), if the sensor works at all.
  const double still_w = std::sqrt(3.0) * std::max(1.0, 0.05 * *value_of_all);
  // A few readings of one whole figure show no step: whole watts are taken for what they look like.
  const bool same =
      std::ranges::all_of(column, [&](double v) { return is_missing(v) || v == *value_of_all; });
  const double shown_w =
      same && whole_watts ? std::max(sensor.power_step_w, 1.0) : sensor.power_step_w;
  const double step_w = sensor.same_throughout ? still_w : shown_w;
  const double steps = step_w / std::sqrt(3.0) * length_s;
  if (sensor.same_throughout) {
    out.notes.emplace_back(
        "power never renewed: the sensor may be stuck, or show whole watts only");
  }
  const double rest = 1e-3 * std::abs(value);
  out.doubts = {
      {"edges", edges}, {"unseen between samples", unseen}, {"resolution", steps}, {"rest", rest}};
  if (gaps_j > 0) out.doubts.push_back({"gaps", gaps_j});
  double half = 0;
  for (const Doubt& d : out.doubts) half += d.half_width_j * d.half_width_j;
  half = std::sqrt(half);
  Estimate estimate{value, value - half, value + half, Origin::kMeasured};

  // A load that repeats nearly with the refresh shows as a slow drift of what the sensor sees. Then
  // the unseen share may have run at anything seen within five seconds.
  const double mean = value / length_s;
  const bool drifts = beats(points, t0 + period_s, t1 - period_s, mean) ||
                      (length_s < 4 && beats(points, t0 - 2, t1 + 2, mean, 20));
  if (duty < 0.95 && known && drifts) {
    double least = low_w;
    double most = high_w;
    for (std::size_t k = 0; k < points.t.size(); ++k) {
      if (points.t[k] < t0 - 5 || points.t[k] > t1 + 5) continue;
      least = std::min(least, points.w[k]);
      most = std::max(most, points.w[k]);
    }
    const double low_j = duty * value + (1 - duty) * least * length_s;
    const double high_j = duty * value + (1 - duty) * most * length_s;
    if (value - low_j > half || high_j - value > half) {
      estimate.low = std::min(estimate.low, low_j);
      estimate.high = std::max(estimate.high, high_j);
      out.doubts.push_back(
          {"a load in step with the sensor", std::max(value - low_j, high_j - value)});
      out.notes.push_back(
          "power drifts from sample to sample: a load that repeats nearly with the "
          "sensor's period would look the same");
    }
  }
  out.energy_j = estimate;
  if (sensor.averaging_window_s && known && duty < kAllSeen) {
    out.seen_share = duty;
    std::vector<double> within;
    for (std::size_t k = 0; k < points.t.size(); ++k) {
      if (points.t[k] >= t0 && points.t[k] <= t1) within.push_back(points.w[k]);
    }
    if (!proves_out_of_step(within, mean)) {
      out.in_step_j =
          if_in_step(series, column, value, duty, length_s, most_power(series, options));
    }
  }
  if (points.garbage > 0) {
    out.notes.push_back("impossible power readings were left out: " +
                        std::to_string(points.garbage));
  }
  if (gaps_j > 0) {
    out.notes.push_back("gaps in the readings are bridged with " + percent_text(1 - out.coverage) +
                        " of the window in doubt");
  }
  return out;
}

}  // namespace ergon::meter
