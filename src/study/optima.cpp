// The baseline and what is better than it.
#include <algorithm>
#include <limits>
#include <map>

#include "uncertainty.hpp"

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

// The intervals of points that were asked for: several optima are one point.
class Savings {
 public:
  Savings(const Dataset& data, const Options& options, const RepeatSpread& shared,
          const Workload& w)
      : options_(options), w_(w), errors_(data, w, shared) {}
  std::optional<Interval> interval(std::size_t point) {
    const auto [at, fresh] = known_.try_emplace(point);
    if (fresh) at->second = saved_interval(options_, w_, errors_, point);
    return at->second;
  }
  [[nodiscard]] const EnergyErrors& errors() const { return errors_; }

 private:
  const Options& options_;
  const Workload& w_;
  EnergyErrors errors_;
  std::map<std::size_t, std::optional<Interval>> known_;
};

// Of equal costs the faster one, and of equal times the baseline: nothing is gained by moving.
bool better(const Workload& w, Metric metric, std::size_t a, std::size_t b) {
  constexpr double kEqual = 1e-9;
  const double mine = cost(w.points[a], metric);
  const double other = cost(w.points[b], metric);
  if (std::abs(mine - other) > kEqual * other) return mine < other;
  const Maybe my_time = w.points[a].time;
  const Maybe other_time = w.points[b].time;
  if (my_time && other_time && *my_time != *other_time) return *my_time < *other_time;
  return a == w.baseline;
}

std::optional<Best> best_of(const Workload& w, Metric metric, Maybe budget, Savings& savings) {
  const Point& base = w.points[*w.baseline];
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& p = w.points[i];
    if (!p.invalid.empty() || !p.energy) continue;
    if (std::isnan(cost(p, metric))) continue;
    if (budget && !(slowdown(p, base) <= *budget + 1e-9)) continue;
    if (!best || better(w, metric, i, *best)) best = i;
  }
  if (!best) return {};
  Best out{.point = *best,
           .energy_saved = 1 - *w.points[*best].energy / *base.energy,
           .slowdown = slowdown(w.points[*best], base),
           .energy_saved_ci95 = savings.interval(*best),
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

// Through three points, ascending in x; Newton's form.
struct Parabola {
  std::array<double, 3> x;
  double at_first = 0;
  double slope = 0;
  double bend = 0;
  Parabola(const std::array<double, 3>& xs, const std::array<double, 3>& ys)
      : x(xs), at_first(ys[0]), slope((ys[1] - ys[0]) / (xs[1] - xs[0])) {
    bend = ((ys[2] - ys[1]) / (xs[2] - xs[1]) - slope) / (xs[2] - xs[0]);
  }
  [[nodiscard]] double at(double v) const {
    return at_first + slope * (v - x[0]) + bend * (v - x[0]) * (v - x[1]);
  }
  // Where it is least between its ends.
  [[nodiscard]] double least() const {
    if (!(bend > 0)) return at(x[2]) < at(x[0]) ? x[2] : x[0];
    return std::clamp((x[0] + x[1]) / 2 - slope / (2 * bend), x[0], x[2]);
  }
};

// The same parabola through energies as they may have been.
void add_intervals(const Options& options, const Workload& w, const EnergyErrors& errors,
                   const std::array<std::size_t, 3>& bracket, const std::array<double, 3>& x,
                   const std::array<double, 3>& weight, Interpolated& out) {
  std::vector<std::size_t> points(bracket.begin(), bracket.end());
  const auto same_point = std::ranges::find(bracket, *w.baseline);
  const auto base = static_cast<std::size_t>(same_point - bracket.begin());
  if (same_point == bracket.end()) points.push_back(*w.baseline);
  if (!errors.known(points)) return;
  std::vector<double> values;
  std::vector<double> saved;
  for (const auto& e : errors.draws(options, points)) {
    values.push_back(Parabola(x, {e[0] * weight[0], e[1] * weight[1], e[2] * weight[2]}).least());
    saved.push_back(1 - Parabola(x, {e[0], e[1], e[2]}).at(values.back()) / e[base]);
  }
  out.value_ci95 = quantiles95(std::move(values));
  out.energy_saved_ci95 = quantiles95(std::move(saved));
  out.value_ci95->from = out.energy_saved_ci95->from = errors.from(points);
}

std::optional<Interpolated> interpolate(const Options& options, const Workload& w, const Best& best,
                                        const EnergyErrors& errors) {
  for (const Axis& axis : kAxes) {
    if (!(w.points[best.point].setting.*axis.field)) continue;
    const auto line = line_through(w, best.point, axis);
    const auto at = std::ranges::find(line, best.point);
    if (line.size() < 3 || at == line.begin() || at + 1 == line.end()) continue;
    const std::array<std::size_t, 3> bracket = {*(at - 1), *at, *(at + 1)};
    std::array<double, 3> x{};
    std::array<double, 3> costs{};
    std::array<double, 3> energies{};
    std::array<double, 3> weight{};  // of energy in the cost
    for (std::size_t i = 0; i < 3; ++i) {
      const Point& p = w.points[bracket.at(i)];
      x.at(i) = *(p.setting.*axis.field);
      costs.at(i) = cost(p, options.metric);
      energies.at(i) = *p.energy;
      weight.at(i) = costs.at(i) / energies.at(i);
    }
    const Parabola parabola(x, costs);
    if (!(parabola.bend > 0)) return {};
    const double value = parabola.least();
    Interpolated out{
        .value = value,
        .low = x[0],
        .high = x[2],
        .energy_saved = 1 - Parabola(x, energies).at(value) / *w.points[*w.baseline].energy,
        .axis = axis.name};
    add_intervals(options, w, errors, bracket, x, weight, out);
    return out;
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

// The baseline among the points that `fit`.
template <class Fits>
std::optional<std::size_t> baseline_among(const Workload& w, const Options& options, Fits fits) {
  std::optional<std::size_t> best;
  const auto any = [&](auto what) {
    return !options.baseline &&
           std::ranges::any_of(w.points, [&](const Point& p) { return what(p) && fits(p); });
  };
  const bool named = any([](const Point& p) { return p.baseline; });
  const bool measured_default =
      !named && any([](const Point& p) { return p.setting.default_clocks; });
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& p = w.points[i];
    if (!fits(p) || (named ? !p.baseline : p.setting.default_clocks != measured_default)) continue;
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

// The one asked for, or the default among what can be used; where that is not the one that the
// whole grid would give, `moved` says so.
std::optional<std::size_t> find_baseline(const Workload& w, const Options& options,
                                         std::string& moved) {
  auto found = baseline_among(w, options, [](const Point& p) { return p.energy && !p.unusable; });
  if (!found)
    found = baseline_among(w, options, [](const Point& p) { return p.energy.has_value(); });
  if (!found || options.baseline) return found;
  const auto wanted = baseline_among(w, options, [](const Point&) { return true; });
  if (wanted && wanted != found && !w.points[*wanted].invalid.empty()) {
    const Point& p = w.points[*wanted];
    moved = setting_words(p.setting) + " cannot be the baseline (" + p.invalid.front() +
            "): " + setting_words(w.points[*found].setting) + " is taken";
  }
  return found;
}

}  // namespace

void find_optima(const Dataset& data, const Options& options, const RepeatSpread& shared,
                 Workload& w) {
  w.pareto = pareto_front(w);
  w.budgets.assign(options.budgets.size(), std::nullopt);
  w.baseline = find_baseline(w, options, w.baseline_moved);
  if (!w.baseline) return;
  const Point& base = w.points[*w.baseline];
  // A baseline that took longer than a lower clock makes every saving look larger than it is.
  for (const auto& why : base.invalid) {
    if (why.starts_with("takes ")) w.not_believed = "the baseline " + why;
    if (why.starts_with("its two measurements")) w.not_believed = "of the baseline " + why;
    if (why.ends_with("which no GPU draws")) w.not_believed = "the baseline is said to draw " + why;
    if (why.starts_with("the GPU was busy")) w.not_believed = "of the baseline " + why;
  }
  if (base.unusable && w.not_believed.empty())
    w.not_believed = "of the baseline, " + base.invalid.front();
  const auto settings =
      std::ranges::count_if(w.points, [](const Point& p) { return p.energy.has_value(); });
  if (settings < 2) w.not_believed = "there is one setting, and nothing to compare it with";
  if (!w.not_believed.empty()) return;
  Savings savings(data, options, shared, w);
  w.optimum = best_of(w, options.metric, options.max_slowdown, savings);
  w.energy = best_of(w, Metric::kEnergy, {}, savings);
  w.edp = best_of(w, Metric::kEdp, {}, savings);
  w.ed2p = best_of(w, Metric::kEd2p, {}, savings);
  for (std::size_t i = 0; i < options.budgets.size(); ++i)
    w.budgets[i] = best_of(w, Metric::kEnergy, options.budgets[i], savings);
  if (w.optimum) w.interpolated = interpolate(options, w, *w.optimum, savings.errors());
}

}  // namespace ergon::study
