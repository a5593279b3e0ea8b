// The averaging window of a sensor, from an external meter that saw the same power.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "renewals.hpp"

namespace ergon::meter {
namespace {

constexpr std::size_t kFewest = 16;
constexpr std::size_t kMost = 4000;
constexpr double kQuarterHour = 900;

// The reference's energy up to any time.
class Cumulative {
 public:
  Cumulative(const Reference& reference, Nanos origin) {
    for (std::size_t i = 0; i < reference.time_ns.size(); ++i) {
      if (is_missing(reference.power_w[i])) continue;
      const double t = static_cast<double>(reference.time_ns[i] - origin) * 1e-9;
      if (!t_.empty() && t <= t_.back()) continue;
      sum_.push_back(
          t_.empty() ? 0 : sum_.back() + (w_.back() + reference.power_w[i]) / 2 * (t - t_.back()));
      t_.push_back(t);
      w_.push_back(reference.power_w[i]);
    }
  }
  [[nodiscard]] bool empty() const { return t_.size() < 2; }
  [[nodiscard]] double first() const { return t_.front(); }
  [[nodiscard]] double last() const { return t_.back(); }
  [[nodiscard]] double at(double t) const {
    // Meters sample evenly: the place is nearly known.
    const double guess =
        (t - t_.front()) / (t_.back() - t_.front()) * static_cast<double>(t_.size() - 1);
    std::size_t k = std::min(static_cast<std::size_t>(std::max(guess, 0.0)), t_.size() - 2);
    while (k > 0 && t_[k] > t) --k;
    while (k + 2 < t_.size() && t_[k + 1] <= t) ++k;
    return sum_[k] + (sum_[k + 1] - sum_[k]) * (t - t_[k]) / (t_[k + 1] - t_[k]);
  }

 private:
  std::vector<double> t_;
  std::vector<double> w_;
  std::vector<double> sum_;
};

struct Regression {
  double gain = 0;
  double offset = 0;
  double mse = 0;
  std::size_t count = 0;
};

// Least squares of sensor = gain * reference + offset over the renewals that the reference covers.
std::optional<Regression> regress(const std::vector<Renewal>& renewals, const Cumulative& reference,
                                  double window_s, double shift_s) {
  double n = 0;
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  double syy = 0;
  for (const Renewal& r : renewals) {
    const double end = r.at_ns * 1e-9 + shift_s;
    if (end - window_s < reference.first() || end > reference.last()) continue;
    const double x = (reference.at(end) - reference.at(end - window_s)) / window_s;
    n += 1;
    sx += x;
    sy += r.value;
    sxx += x * x;
    sxy += x * r.value;
    syy += r.value * r.value;
  }
  if (n < static_cast<double>(kFewest)) return std::nullopt;
  const double vx = sxx / n - sx / n * (sx / n);
  const double vy = syy / n - sy / n * (sy / n);
  const double cov = sxy / n - sx / n * (sy / n);
  if (vx <= 0) return std::nullopt;
  Regression line;
  line.gain = cov / vx;
  line.offset = sy / n - line.gain * sx / n;
  line.mse = std::max(0.0, vy - line.gain * cov);
  line.count = static_cast<std::size_t>(n);
  return line;
}

struct Best {
  Regression line;
  double window_s = 0;
  double shift_s = 0;
  bool found = false;
};

void search(Best& best, const std::vector<Renewal>& renewals, const Cumulative& reference,
            double window_s, double from_s, double to_s, double step_s) {
  for (double shift = from_s; shift <= to_s + step_s / 2; shift += step_s) {
    const auto line = regress(renewals, reference, window_s, shift);
    if (!line || line->gain <= 0) continue;
    if (!best.found || line->mse < best.line.mse) best = {*line, window_s, shift, true};
  }
}

}  // namespace

Result<WindowFit> fit_window(const Series& series, const Reference& reference) {
  const auto& column = series.has(series.power_w) ? series.power_w : series.average_power_w;
  const auto period = refresh_period(series.time_ns, column);
  if (!period || series.size() == 0) {
    return fail(Errc::kMalformedInput,
                "the power of this log never changes often enough to fit a window",
                "a log of a few seconds with a changing load is needed");
  }
  const Nanos origin = series.time_ns.front();
  auto renewals = place(refreshes(series.time_ns, column), period->period_s.value * 1e9, origin);
  if (!renewals.empty()) renewals.erase(renewals.begin());
  if (renewals.size() > kMost) renewals.resize(kMost);
  const Cumulative meter(reference, origin);
  if (meter.empty() || renewals.size() < kFewest) {
    return fail(Errc::kMalformedInput, "the reference meter has too few readings");
  }
  // Logs are in local time and clocks differ: quarters of an hour first, then up to a second.
  const double period_s = period->period_s.value;
  const double length_s = renewals.back().at_ns * 1e-9;
  Best best;
  for (int quarter = -56; quarter <= 56; ++quarter) {
    const double shift = quarter * kQuarterHour;
    if (length_s + shift < meter.first() || renewals.front().at_ns * 1e-9 + shift > meter.last()) {
      continue;
    }
    search(best, renewals, meter, period_s / 2, shift - 1, shift + 1, period_s / 20);
  }
  if (!best.found) {
    return fail(
        Errc::kMalformedInput,
        "the log and the reference meter do not overlap by " + std::to_string(kFewest) +
            " renewals",
        "both must cover the same seconds; differences of whole quarters of an hour are found");
  }
  struct Tried {
    double window_s;
    double mse;
  };
  std::vector<Tried> tried;
  const double about = best.shift_s;
  const double step = std::max(period_s / 100, 0.0005);
  const double longest = std::max(1.5 * period_s, 0.03);
  Best finest;
  for (double window = 2 * step; window <= longest; window += step) {
    Best here;
    search(here, renewals, meter, window, about - period_s, about + period_s, 2 * step);
    if (!here.found) continue;
    const double coarse = here.shift_s;
    search(here, renewals, meter, window, coarse - 2 * step, coarse + 2 * step, step / 2);
    tried.push_back({window, here.line.mse});
    if (!finest.found || here.line.mse < finest.line.mse) finest = here;
  }
  // One-second averages: the window is many periods long.
  for (const double window : {0.25, 0.5, 0.75, 1.0, 1.25, 1.5}) {
    if (window <= longest) continue;
    Best here;
    search(here, renewals, meter, window, about - 1.5, about + 1.5, 0.01);
    if (!here.found) continue;
    tried.push_back({window, here.line.mse});
    if (here.line.mse < finest.line.mse) finest = here;
  }
  WindowFit fit;
  fit.window = Seconds(finest.window_s);
  double low = finest.window_s;
  double high = finest.window_s;
  for (const Tried& t : tried) {
    if (t.mse > 1.1 * finest.line.mse) continue;
    low = std::min(low, t.window_s);
    high = std::max(high, t.window_s);
  }
  fit.low = Seconds(low);
  fit.high = Seconds(high);
  fit.clock_shift = Seconds(std::round(finest.shift_s / kQuarterHour) * kQuarterHour);
  fit.lag = Seconds(fit.clock_shift.si() - finest.shift_s);
  fit.gain = finest.line.gain;
  fit.offset_w = finest.line.offset;
  fit.rms_w = std::sqrt(finest.line.mse);
  fit.renewals = finest.line.count;
  return fit;
}

}  // namespace ergon::meter
