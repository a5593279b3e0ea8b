// The baseline and what is better than it.
#include <algorithm>
#include <limits>
#include <set>

#include "judging.hpp"

namespace ergon::study {
namespace {

constexpr double kSameClock = 0.75e6;

bool same(Maybe a, double wanted, double tolerance) {
  return a && std::abs(*a - wanted) <= tolerance;
}

double cost(const Point& p, Metric metric) {
  if (metric == Metric::kEnergy) return *p.energy;
  const double t = p.time.value_or(std::numeric_limits<double>::quiet_NaN());
  return metric == Metric::kEdp ? *p.energy * t : *p.energy * t * t;
}

double slowdown(const Point& p, const Point& base) {
  return p.time && base.time ? *p.time / *base.time - 1 : std::numeric_limits<double>::quiet_NaN();
}

// The axes of a setting, and whether a value sits at an end of what was sampled.
struct Axis {
  const char* name;
  Maybe Setting::* field;
};
constexpr std::array kAxes = {
    Axis{"clock", &Setting::clock_hz}, Axis{"power_limit", &Setting::power_limit_w},
    Axis{"memory_clock", &Setting::memory_clock_hz}, Axis{"parameter", &Setting::parameter}};

void set_edge(const Workload& w, Best& best) {
  for (const Axis& axis : kAxes) {
    const Maybe mine = w.points[best.point].setting.*axis.field;
    if (!mine) continue;
    double low = *mine;
    double high = *mine;
    for (const Point& p : w.points) {
      const Maybe v = p.setting.*axis.field;
      if (!v || !p.invalid.empty()) continue;
      low = std::min(low, *v);
      high = std::max(high, *v);
    }
    if (low == high) continue;
    const Edge edge = *mine <= low ? Edge::kLow : *mine >= high ? Edge::kHigh : Edge::kNone;
    // `edge` itself speaks of the clock, or of the limit where no clock was varied.
    best.edge = edge;
    if (edge != Edge::kNone) best.edge_of = axis.name;
    return;
  }
}

std::optional<Interval> saved_interval(const Dataset& data, const Options& options,
                                       const Workload& w, std::size_t point) {
  const auto energies = [&](std::size_t p) {
    std::vector<double> out;
    for (const auto i : w.points[p].used) {
      if (data.samples[i].energy) out.push_back(*data.samples[i].energy);
    }
    return out;
  };
  const auto mine = energies(point);
  const auto base = energies(*w.baseline);
  if (point == *w.baseline || mine.size() < 2 || base.size() < 2) return {};
  SplitMix random(options.seed ^ hash_of(w.name + '\x1f' + w.gpu));
  const auto resampled = [&](const std::vector<double>& from) {
    double sum = 0;
    for (std::size_t i = 0; i < from.size(); ++i) sum += from[random.below(from.size())];
    return sum / static_cast<double>(from.size());
  };
  std::vector<double> saved;
  saved.reserve(options.resamples);
  for (std::size_t i = 0; i < options.resamples; ++i)
    saved.push_back(1 - resampled(mine) / resampled(base));
  return quantiles95(std::move(saved));
}

std::optional<Best> best_of(const Dataset& data, const Options& options, const Workload& w,
                            Metric metric, Maybe budget) {
  const Point& base = w.points[*w.baseline];
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& p = w.points[i];
    if (!p.invalid.empty() || !p.energy) continue;
    if (std::isnan(cost(p, metric))) continue;
    if (budget && !(slowdown(p, base) <= *budget + 1e-9)) continue;
    if (!best || cost(p, metric) < cost(w.points[*best], metric)) best = i;
  }
  if (!best) return {};
  Best out{.point = *best,
           .energy_saved = 1 - *w.points[*best].energy / *base.energy,
           .slowdown = slowdown(w.points[*best], base),
           .energy_saved_ci95 = saved_interval(data, options, w, *best),
           .edge_of = {}};
  set_edge(w, out);
  return out;
}

// Valid points that differ from `point` in one axis only, by that axis.
std::vector<std::size_t> line_through(const Workload& w, std::size_t point, const Axis& axis) {
  std::vector<std::size_t> line;
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    Setting s = w.points[i].setting;
    s.*axis.field = w.points[point].setting.*axis.field;
    const bool valid = w.points[i].invalid.empty() && w.points[i].energy;
    if (valid && s == w.points[point].setting && w.points[i].setting.*axis.field) line.push_back(i);
  }
  std::ranges::sort(line, {}, [&](std::size_t i) { return *(w.points[i].setting.*axis.field); });
  return line;
}

std::optional<Interpolated> interpolate(const Workload& w, const Best& best, Metric metric) {
  for (const Axis& axis : kAxes) {
    if (!(w.points[best.point].setting.*axis.field)) continue;
    const auto line = line_through(w, best.point, axis);
    const auto at = std::ranges::find(line, best.point);
    if (line.size() < 3 || at == line.begin() || at + 1 == line.end()) continue;
    const auto x = [&](std::size_t i) { return *(w.points[i].setting.*axis.field); };
    const auto y = [&](std::size_t i) { return cost(w.points[i], metric); };
    const std::size_t a = *(at - 1);
    const std::size_t b = *at;
    const std::size_t c = *(at + 1);
    // The parabola through three points, in Newton's form.
    const double first = (y(b) - y(a)) / (x(b) - x(a));
    const double second = ((y(c) - y(b)) / (x(c) - x(b)) - first) / (x(c) - x(a));
    if (!(second > 0)) return {};
    const double value = std::clamp((x(a) + x(b)) / 2 - first / (2 * second), x(a), x(c));
    const auto energy_at = [&](double v) {
      const auto e = [&](std::size_t i) { return *w.points[i].energy; };
      const double slope = (e(b) - e(a)) / (x(b) - x(a));
      const double bend = ((e(c) - e(b)) / (x(c) - x(b)) - slope) / (x(c) - x(a));
      return e(a) + slope * (v - x(a)) + bend * (v - x(a)) * (v - x(b));
    };
    return Interpolated{.value = value,
                        .low = x(a),
                        .high = x(c),
                        .energy_saved = 1 - energy_at(value) / *w.points[*w.baseline].energy,
                        .axis = axis.name};
  }
  return {};
}

std::vector<std::size_t> pareto_front(const Workload& w) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    if (w.points[i].invalid.empty() && w.points[i].time && w.points[i].energy) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Point& p = w.points[a];
    const Point& q = w.points[b];
    return *p.time != *q.time ? *p.time < *q.time : *p.energy < *q.energy;
  });
  std::vector<std::size_t> front;
  double least = std::numeric_limits<double>::infinity();
  for (const auto i : order) {
    if (*w.points[i].energy < least) {
      front.push_back(i);
      least = *w.points[i].energy;
    }
  }
  return front;
}

}  // namespace

std::optional<std::size_t> find_baseline(const Workload& w, const Options& options) {
  std::optional<std::size_t> best;
  const auto any = [&](auto what) {
    return !options.baseline &&
           std::ranges::any_of(w.points, [&](const Point& p) { return what(p) && p.energy; });
  };
  const bool named = any([](const Point& p) { return p.baseline; });
  const bool measured_default =
      !named && any([](const Point& p) { return p.setting.default_clocks; });
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& p = w.points[i];
    if (!p.energy || (named ? !p.baseline : p.setting.default_clocks != measured_default)) continue;
    if (options.baseline) {
      const BaselineSpec& b = *options.baseline;
      if (b.clock_hz && (!same(p.setting.clock_hz, *b.clock_hz, kSameClock) ||
                         p.setting.clock_is_offset != b.is_offset))
        continue;
      if (b.memory_clock_hz && !same(p.setting.memory_clock_hz, *b.memory_clock_hz, kSameClock))
        continue;
      if (b.power_limit_w && !same(p.setting.power_limit_w, *b.power_limit_w, 0.5)) continue;
    }
    // Highest clock, then memory clock, then limit; of batches the smallest.
    const auto rank = [](const Setting& s) {
      return std::tuple(s.clock_hz, s.memory_clock_hz, s.power_limit_w,
                        s.parameter ? -*s.parameter : 0.0);
    };
    if (!best || rank(w.points[*best].setting) < rank(p.setting)) best = i;
  }
  return best;
}

void find_optima(const Dataset& data, const Options& options, Workload& w) {
  w.pareto = pareto_front(w);
  w.budgets.assign(options.budgets.size(), std::nullopt);
  w.baseline = find_baseline(w, options);
  if (!w.baseline) return;
  const Point& base = w.points[*w.baseline];
  // A baseline that took longer than a lower clock makes every saving look larger than it is.
  for (const auto& why : base.invalid) {
    if (why.starts_with("takes ")) w.not_believed = "the baseline " + why;
    if (why.starts_with("its two measurements")) w.not_believed = "of the baseline " + why;
    if (why.ends_with("which no GPU draws")) w.not_believed = "the baseline is said to draw " + why;
    if (why.starts_with("the GPU was busy")) w.not_believed = "of the baseline " + why;
  }
  const auto settings =
      std::ranges::count_if(w.points, [](const Point& p) { return p.energy.has_value(); });
  if (settings < 2) w.not_believed = "there is one setting, and nothing to compare it with";
  if (!w.not_believed.empty()) return;
  w.optimum = best_of(data, options, w, options.metric, options.max_slowdown);
  w.energy = best_of(data, options, w, Metric::kEnergy, {});
  w.edp = best_of(data, options, w, Metric::kEdp, {});
  w.ed2p = best_of(data, options, w, Metric::kEd2p, {});
  for (std::size_t i = 0; i < options.budgets.size(); ++i)
    w.budgets[i] = best_of(data, options, w, Metric::kEnergy, options.budgets[i]);
  if (w.optimum) w.interpolated = interpolate(w, *w.optimum, options.metric);
}

}  // namespace ergon::study
