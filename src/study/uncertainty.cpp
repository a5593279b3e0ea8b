// Errors of energies from repeats and from the data's own intervals.
#include "uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ergon::study {
namespace {

constexpr double kNormal95 = 1.96;
constexpr double kFarthest = 3;           // of a logarithm: one in twenty of what was measured
constexpr std::size_t kPrior = 3;         // degrees of freedom that a sensor's intervals stand for
constexpr std::size_t kOwnFreedoms = 8;   // below it those of the GPU's other workloads count too
constexpr std::size_t kFewFreedoms = 30;  // above it a chi-squared is drawn by its approximation

// Standard normal numbers (Box, Muller 1958): one of each pair, so that the stream is simple.
double normal(SplitMix& random) {
  const auto uniform = [&] { return (static_cast<double>(random.next() >> 11U) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// Chi-squared over its freedom; Wilson, Hilferty 1931 where there are many.
double chi_squared_mean(SplitMix& random, std::size_t freedom) {
  const auto n = static_cast<double>(freedom);
  if (freedom > kFewFreedoms) {
    const double root = 1 - 2 / (9 * n) + normal(random) * std::sqrt(2 / (9 * n));
    return root * root * root;
  }
  double sum = 0;
  for (std::size_t i = 0; i < freedom; ++i) {
    const double z = normal(random);
    sum += z * z;
  }
  return sum / n;
}

}  // namespace

RepeatSpread repeat_spread(const Dataset& data, const Workload& workload) {
  RepeatSpread agreeing;
  RepeatSpread all;
  for (const Point& p : workload.points) {
    std::vector<double> logs;
    double mean = 0;
    for (const auto i : p.used) {
      if (!data.samples[i].energy) continue;
      logs.push_back(std::log(*data.samples[i].energy));
      mean += logs.back();
    }
    if (logs.size() < 2) continue;
    mean /= static_cast<double>(logs.size());
    double squares = 0;
    for (const double v : logs) squares += (v - mean) * (v - mean);
    all.squares += squares;
    all.freedom += logs.size() - 1;
    if (repeats_disagree(data, p)) continue;
    agreeing.squares += squares;
    agreeing.freedom += logs.size() - 1;
  }
  return agreeing.freedom > 0 ? agreeing : all;
}

std::map<std::string, RepeatSpread> repeat_spreads(const Dataset& data,
                                                   std::span<const Workload> workloads) {
  std::map<std::string, RepeatSpread> out;
  for (const Workload& w : workloads) {
    const RepeatSpread own = repeat_spread(data, w);
    RepeatSpread& sum = out[w.gpu];
    sum.squares += own.squares;
    sum.freedom += own.freedom;
  }
  return out;
}

EnergyErrors::EnergyErrors(const Dataset& data, const Workload& workload,
                           const RepeatSpread& shared)
    : workload_(workload) {
  for (const Point& p : workload.points) {
    double errors = 0;
    std::size_t stated = 0;
    for (const auto i : p.used) {
      if (!data.samples[i].energy || !data.samples[i].energy_error) continue;
      errors += *data.samples[i].energy_error;
      ++stated;
    }
    sensor_.push_back(stated == 0 ? -1 : errors / static_cast<double>(stated) / kNormal95);
  }
  const RepeatSpread own = repeat_spread(data, workload);
  const RepeatSpread& spread = own.freedom > 0 && own.freedom < kOwnFreedoms ? shared : own;
  freedom_ = spread.freedom;
  if (freedom_ == 0) return;
  double squares = spread.squares;
  const bool stated = std::ranges::all_of(sensor_, [](double s) { return s >= 0; });
  if (stated) {
    // Two runs say little of how far runs lie apart; a sensor says what to expect.
    double expected = 0;
    for (const double s : sensor_) expected += s * s / static_cast<double>(sensor_.size());
    squares += kPrior * expected;
    freedom_ += kPrior;
  }
  repeat_ = std::sqrt(squares / static_cast<double>(freedom_));
}

bool EnergyErrors::known(std::span<const std::size_t> points) const {
  return std::ranges::all_of(points, [&](std::size_t p) {
    return workload_.points[p].energy && (freedom_ > 0 || sensor_[p] >= 0);
  });
}

std::string_view EnergyErrors::from(std::span<const std::size_t> points) const {
  const bool sensor = std::ranges::any_of(points, [&](std::size_t p) { return sensor_[p] >= 0; });
  return freedom_ == 0 ? kFromSensor : sensor ? kFromBoth : kFromRepeats;
}

std::vector<std::vector<double>> EnergyErrors::draws(const Options& options,
                                                     std::span<const std::size_t> points) const {
  SplitMix random(options.seed ^ hash_of(workload_.name + '\x1f' + workload_.gpu));
  std::vector<std::vector<double>> rows;
  rows.reserve(options.resamples);
  for (std::size_t k = 0; k < options.resamples; ++k) {
    // The spread of repeats is an estimate itself, and one for all points.
    const double spread =
        freedom_ == 0 ? 0 : repeat_ / std::sqrt(chi_squared_mean(random, freedom_));
    std::vector<double> row;
    row.reserve(points.size());
    for (const auto p : points) {
      const Point& point = workload_.points[p];
      const auto repeats = static_cast<double>(std::max<std::size_t>(1, point.used.size()));
      double off = 0;
      if (freedom_ > 0) off += spread / std::sqrt(repeats) * normal(random);
      if (sensor_[p] >= 0) off += sensor_[p] * normal(random);
      row.push_back(*point.energy * std::exp(std::clamp(off, -kFarthest, kFarthest)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<Interval> saved_interval(const Options& options, const Workload& workload,
                                       const EnergyErrors& errors, std::size_t point) {
  if (!workload.baseline || point == *workload.baseline) return {};
  const std::array<std::size_t, 2> pair = {point, *workload.baseline};
  if (!errors.known(pair)) return {};
  std::vector<double> saved;
  saved.reserve(options.resamples);
  for (const auto& row : errors.draws(options, pair)) saved.push_back(1 - row[0] / row[1]);
  Interval out = quantiles95(std::move(saved));
  out.from = errors.from(pair);
  return out;
}

Interval bootstrap95(double estimate, std::vector<double> resampled, std::size_t size) {
  const Interval raw = quantiles95(std::move(resampled));
  const auto n = static_cast<double>(size);
  const double wider = size < 2 ? 1 : std::sqrt(n / (n - 1)) * student95(size - 1) / kNormal95;
  return {estimate - wider * std::max(0.0, estimate - raw.low),
          estimate + wider * std::max(0.0, raw.high - estimate),
          {}};
}

Interval hull(const Interval& wide, const std::optional<Interval>& other) {
  if (!other) return wide;
  return {std::min(wide.low, other->low), std::max(wide.high, other->high), wide.from};
}

}  // namespace ergon::study
