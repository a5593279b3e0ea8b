// The energy of named parts of a run: measured where the sensor can tell, else why not.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ergon/run/measure.hpp"
#include "share_fit.hpp"

namespace ergon::run {
namespace {

// Passages with no more than this between them are one window; what was between is taken out again
// and is in doubt.
constexpr Nanos kPause = 2'000'000;

struct Merged {
  std::vector<meter::Window> windows;  ///< disjoint, rising
  Nanos inside_ns = 0;                 ///< of all windows, pauses left out
  Nanos pauses_ns = 0;
};

Merged merge(const std::vector<Span>& spans) {
  Merged out;
  for (const Span& span : spans) {  // by start
    if (out.windows.empty() || span.start_ns > out.windows.back().end_ns + kPause) {
      out.windows.push_back({span.start_ns, span.end_ns});
      out.inside_ns += span.end_ns - span.start_ns;
      continue;
    }
    Nanos& end = out.windows.back().end_ns;
    out.pauses_ns += std::max<Nanos>(span.start_ns - end, 0);
    out.inside_ns += std::max<Nanos>(span.end_ns - std::max(end, span.start_ns), 0);
    end = std::max(end, span.end_ns);
  }
  return out;
}

std::string duration_text(double seconds) {
  char text[48];
  if (seconds < 0.9995) {
    std::snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  }
  return text;
}

struct Answer {
  std::optional<Estimate> energy_j;
  std::string why;
  std::optional<Seconds> needed;
  const char* method = "";
  std::optional<double> unseen_share = std::nullopt;
};

constexpr double kMostDoubt = 0.2;  ///< relative half-width of many windows that is still an answer

// How finely the readings of a column follow the power.
struct Resolution {
  double period_s = 0;  ///< of its renewals
  double timing_s = 0;  ///< half of the time between the reads that bracket a renewal
};
Resolution resolution_of(const std::vector<Nanos>& time_ns, const std::vector<double>& column,
                         const std::optional<Estimate>& period_s, meter::Window run) {
  std::vector<double> brackets;
  for (const auto& change : meter::refreshes(time_ns, column)) {
    if (change.first || change.by_ns < run.start_ns || change.by_ns > run.end_ns) continue;
    brackets.push_back(to_seconds(change.by_ns - change.after_ns).si());
  }
  Resolution out;
  out.timing_s = median_of(std::move(brackets)) / 2;
  out.period_s = period_s ? std::max(period_s->value, 2 * out.timing_s) : 2 * out.timing_s;
  return out;
}

// What many passages share, and what therefore does not average out: where a renewal lies between
// two reads (a shift of all of them exchanges energy with what lies outside), and at windows or
// pauses of a few renewals, where all may be in step, how a renewal that holds an edge is divided.
double common_doubt(const Merged& merged, const Resolution& resolution, double inside_w,
                    double outside_w) {
  const double step = std::abs(inside_w - outside_w);
  double half = 0;
  for (std::size_t w = 0; w < merged.windows.size(); ++w) {
    const auto& window = merged.windows[w];
    // The shift also hides a part of the step itself.
    const double blur = resolution.timing_s / std::max(window.length().si(), 1e-9);
    half += resolution.timing_s * step / std::max(1 - 2 * blur, 0.25);
    // Two whole renewals on either side of an edge tell where it lies in its own.
    const double least = 3 * resolution.period_s + resolution.timing_s;
    const double before =
        w == 0 ? least : to_seconds(window.start_ns - merged.windows[w - 1].end_ns).si();
    const double after = w + 1 == merged.windows.size()
                             ? least
                             : to_seconds(merged.windows[w + 1].start_ns - window.end_ns).si();
    const double edge = std::max(inside_w, outside_w) * resolution.period_s / 2;
    const bool is_short = window.length().si() < least;
    half += (before < least || is_short ? edge : 0) + (after < least || is_short ? edge : 0);
  }
  return half;
}

// Every window for itself. Their own doubts are independent of each other; the gain is not, nor is
// common_doubt().
Answer by_windows(const Merged& merged, meter::Window run, const GpuView& view) {
  Answer out;
  out.method = "windows";
  double value = 0;
  double squares = 0;
  // Where power samples alone tell, a load in step with the sensor is so in every window.
  double unseen_below = 0;
  double unseen_above = 0;
  bool by_counter = true;
  for (const auto& window : merged.windows) {
    const auto reading = meter::measure_energy(*view.series, *view.sensor, window);
    if (!reading.energy_j) {
      out.energy_j.reset();
      out.why = reading.why_unknown;
      out.needed = reading.window_needed;
      return out;
    }
    by_counter = by_counter && std::string_view(reading.chosen) == "counter";
    value += reading.energy_j->value;
    const double half = std::max(reading.energy_j->value - reading.energy_j->low,
                                 reading.energy_j->high - reading.energy_j->value);
    squares += half * half;
    if (reading.unseen_share)
      out.unseen_share = std::max(out.unseen_share.value_or(0), *reading.unseen_share);
    const auto& in_step = reading.trapezoid.in_step_j;
    if (in_step && std::string_view(reading.chosen) == "trapezoid") {
      unseen_below += std::max(reading.energy_j->value - in_step->low, 0.0);
      unseen_above += std::max(in_step->high - reading.energy_j->value, 0.0);
    }
  }
  double length_s = 0;
  for (const auto& window : merged.windows) length_s += window.length().si();
  const double pauses_j = length_s > 0 ? value * to_seconds(merged.pauses_ns).si() / length_s : 0;
  value -= pauses_j;
  const double gain = view.gain95 * value;
  double half = std::sqrt(squares + pauses_j * pauses_j) + gain;
  if (merged.windows.size() > 1) {
    const meter::Series& series = *view.series;
    const auto resolution =
        by_counter
            ? resolution_of(series.time_ns, series.energy_j, view.sensor->energy_tick_s, run)
            : resolution_of(series.time_ns,
                            series.has(series.power_w) ? series.power_w : series.average_power_w,
                            view.sensor->update_period_s, run);
    const auto whole = meter::measure_energy(series, *view.sensor, run);
    const double outside_s = run.length().si() - length_s;
    const double inside_w = value / length_s;
    const double outside_w =
        whole.energy_j && outside_s > 0
            ? std::max(0.0, (whole.energy_j->value - value - pauses_j) / outside_s)
            : 0;
    half += common_doubt(merged, resolution, inside_w, outside_w);
    if (half > kMostDoubt * value) {
      const double mean_s = length_s / static_cast<double>(merged.windows.size());
      out.needed = Seconds(
          std::max(mean_s * half / (kMostDoubt * std::max(value, 1e-9)), 6 * resolution.period_s));
      out.why = "cannot be known from this sensor";
      return out;
    }
  }
  out.energy_j = Estimate{value, value - std::max(half, unseen_below + gain),
                          value + std::max(half, unseen_above + gain), Origin::kMeasured};
  return out;
}

Answer on_one_gpu(const Merged& merged, meter::Window run, const GpuView& view) {
  Answer direct = by_windows(merged, run, view);
  if (direct.energy_j || !direct.needed) return direct;
  // Too short one by one. Many of them leave a trace in the readings that hold a share of them.
  const auto fit = fit_shares(*view.series, *view.sensor, run, merged.windows);
  if (fit.energy_j) {
    Estimate e = *fit.energy_j;
    const double half = (e.high - e.low) / 2 + view.gain95 * e.value;
    return {Estimate{e.value, e.value - half, e.value + half, Origin::kFitted}, {}, {}, "fitted"};
  }
  if (merged.windows.size() > 1) {
    std::vector<double> lengths;
    lengths.reserve(merged.windows.size());
    for (const auto& window : merged.windows) lengths.push_back(window.length().si());
    std::ranges::nth_element(lengths,
                             lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2));
    direct.why = "cannot be known from this sensor: " + std::to_string(lengths.size()) +
                 " windows of about " + duration_text(lengths[lengths.size() / 2]) +
                 " are each too short (" + duration_text(direct.needed->si()) +
                 " or more at a stretch would do), and " + fit.why;
  }
  return direct;
}

}  // namespace

std::vector<RegionResult> region_results(const Marks& marks, meter::Window run,
                                         std::span<const GpuView> gpus) {
  std::vector<RegionResult> out;
  for (const Region& region : marks.regions) {
    RegionResult result;
    result.name = region.name;
    result.count = region.spans.size();
    Nanos total = 0;
    for (const Span& span : region.spans) {
      total += span.end_ns - span.start_ns;
      result.cut = result.cut || span.cut;
    }
    result.time = to_seconds(total);
    const Merged merged = merge(region.spans);
    result.covered = to_seconds(merged.inside_ns);
    std::vector<std::optional<Estimate>> parts;
    for (const GpuView& view : gpus) {
      Answer answer = on_one_gpu(merged, run, view);
      if (!answer.energy_j && result.why_unknown.empty()) result.why_unknown = answer.why;
      if (answer.needed && (!result.window_needed || *result.window_needed < *answer.needed))
        result.window_needed = answer.needed;
      if (answer.energy_j && (result.method.empty() || std::string_view(answer.method) == "fitted"))
        result.method = answer.method;
      if (answer.energy_j && answer.unseen_share)
        result.unseen_share = std::max(result.unseen_share.value_or(0), *answer.unseen_share);
      parts.push_back(answer.energy_j);
    }
    result.energy_j = sum_of(parts);
    if (!result.energy_j) {
      result.method.clear();
      result.unseen_share.reset();
      if (result.why_unknown.empty()) result.why_unknown = "no GPU was read";
    } else {
      result.why_unknown.clear();
    }
    out.push_back(std::move(result));
  }
  return out;
}

}  // namespace ergon::run
