// A straight line through the power of counter ticks over the share that lies inside.
#include "share_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ergon::run {
namespace {

constexpr std::size_t kFewestTicks = 30;
constexpr double kMostAttenuation = 0.1;
constexpr double kWidestShare = 0.2;  ///< relative half-width that is still an answer

struct Tick {
  double share;    ///< inside
  double watts;    ///< mean power of the tick
  double seconds;  ///< its length
  double timing;   ///< variance of the share from inexact tick times
};

std::vector<Tick> ticks_of(const meter::Series& series, meter::Window run,
                           std::span<const meter::Window> windows) {
  std::vector<Tick> out;
  const auto changes = meter::refreshes(series.time_ns, series.energy_j);
  std::size_t at = 0;
  for (std::size_t k = 1; k < changes.size(); ++k) {
    const auto& from = changes[k - 1];
    const auto& to = changes[k];
    if (from.first || to.first || to.value <= from.value) continue;
    const auto middle = [](const meter::Refresh& r) {
      return r.after_ns + (r.by_ns - r.after_ns) / 2;
    };
    const Nanos begin = middle(from);
    const Nanos end = middle(to);
    if (begin < run.start_ns || end > run.end_ns || end <= begin) continue;
    while (at < windows.size() && windows[at].end_ns <= begin) ++at;
    Nanos inside = 0;
    for (std::size_t w = at; w < windows.size() && windows[w].start_ns < end; ++w) {
      inside += std::min(windows[w].end_ns, end) - std::max(windows[w].start_ns, begin);
    }
    const double seconds = to_seconds(end - begin).si();
    const double a = to_seconds(from.by_ns - from.after_ns).si();
    const double b = to_seconds(to.by_ns - to.after_ns).si();
    out.push_back({to_seconds(inside).si() / seconds, (to.value - from.value) / seconds, seconds,
                   (a * a + b * b) / 12 / (seconds * seconds)});
  }
  return out;
}

}  // namespace

ShareFit fit_shares(const meter::Series& series, const meter::SensorModel& /*sensor*/,
                    meter::Window run, std::span<const meter::Window> windows) {
  ShareFit out;
  if (!series.has(series.energy_j)) {
    out.why = "without an energy counter their share of a reading is not known";
    return out;
  }
  const auto ticks = ticks_of(series, run, windows);
  if (ticks.size() < kFewestTicks) {
    out.why = "the run has too few readings of the energy counter to tell them apart";
    return out;
  }
  double time = 0;
  double f = 0;
  double y = 0;
  double timing = 0;
  for (const Tick& t : ticks) {
    time += t.seconds;
    f += t.share * t.seconds;
    y += t.watts * t.seconds;
    timing += t.timing * t.seconds;
  }
  f /= time;
  y /= time;
  timing /= time;
  double sxx = 0;
  double sxy = 0;
  for (const Tick& t : ticks) {
    sxx += (t.share - f) * (t.share - f) * t.seconds / time;
    sxy += (t.share - f) * (t.watts - y) * t.seconds / time;
  }
  const double attenuation = sxx > 0 ? timing / sxx : 1;
  if (attenuation > kMostAttenuation) {
    out.why = "every reading of the sensor holds nearly the same share of them";
    return out;
  }
  const double slope = sxy / sxx;
  double residual = 0;
  for (const Tick& t : ticks) {
    const double r = t.watts - y - slope * (t.share - f);
    residual += r * r * t.seconds / time;
  }
  const auto count = static_cast<double>(ticks.size());
  const double variance = residual * count / (count - 2) / count;
  const double watts = y + slope * (1 - f);
  const double fit = 2 * std::sqrt(variance * (1 + (1 - f) * (1 - f) / sxx));
  const double bias = std::abs(slope) * (1 - f) * attenuation / (1 - attenuation);
  const double half = std::hypot(fit, bias);
  if (!(watts > 0) || half > kWidestShare * watts) {
    out.why = "the readings differ too much in what else they hold";
    return out;
  }
  double seconds = 0;
  for (const auto& window : windows) seconds += window.length().si();
  out.energy_j = Estimate{watts * seconds, (watts - half) * seconds, (watts + half) * seconds,
                          Origin::kFitted};
  return out;
}

}  // namespace ergon::run
