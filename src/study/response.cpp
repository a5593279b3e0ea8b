// How time answers to the clock, where the regime breaks, and what few clocks foretell.
#include <algorithm>
#include <map>

#include "ergon/model.hpp"
#include "judging.hpp"

namespace ergon::study {
namespace {

constexpr double kBreakExcess = 0.03;  // of time over the fit of the clocks above

struct Line {
  double a = 0;
  double b = 0;
};
Line fit_line(std::span<const double> x, std::span<const double> y) {
  double mx = 0;
  double my = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mx += x[i];
    my += y[i];
  }
  mx /= static_cast<double>(x.size());
  my /= static_cast<double>(x.size());
  double sxy = 0;
  double sxx = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sxy += (x[i] - mx) * (y[i] - my);
    sxx += (x[i] - mx) * (x[i] - mx);
  }
  const double b = sxx > 0 ? sxy / sxx : 0;
  return {my - b * mx, b};
}

// From the top down: the first clock whose time exceeds the line (in 1/f) through all clocks above
// by more than noise, where it stays faster than 1/f from there on.
void find_break(const Workload& w, const std::vector<std::size_t>& slice, ResponseFit& fit) {
  if (slice.size() < 5) return;
  std::vector<double> x;
  std::vector<double> t;
  const auto clock = [&](std::size_t k) {
    return *w.points[slice[slice.size() - 1 - k]].setting.clock_hz;
  };
  const auto time = [&](std::size_t k) { return *w.points[slice[slice.size() - 1 - k]].time; };
  for (std::size_t k = 0; k < slice.size(); ++k) {
    if (k >= 3) {
      const Line line = fit_line(x, t);
      const double expected = line.a + std::max(0.0, line.b) * 1e9 / clock(k);
      const std::size_t last = slice.size() - 1;
      const double elasticity =
          std::log(time(last) / time(k - 1)) / std::log(clock(k - 1) / clock(last));
      if (time(k) > expected * (1 + kBreakExcess) && elasticity > 1.05) {
        fit.break_hz = clock(k - 1);
        fit.below_break_elasticity = elasticity;
        return;
      }
    }
    x.push_back(1e9 / clock(k));
    t.push_back(time(k));
  }
}

// From the top down: clocks that give neither speed nor power over the one below.
void find_cap(const Workload& w, ResponseFit& fit) {
  std::vector<const Point*> line;
  const Setting base = w.points[*w.baseline].setting;
  for (const Point& p : w.points) {
    if (p.setting.clock_hz && p.time && p.power_w && !p.setting.default_clocks &&
        p.setting.memory_clock_hz == base.memory_clock_hz &&
        p.setting.power_limit_w == base.power_limit_w)
      line.push_back(&p);
  }
  if (line.size() < 4) return;
  std::size_t from = line.size() - 1;
  const Point& top = *line.back();
  while (from > 0 && std::abs(*line[from - 1]->time / *top.time - 1) < 0.01 &&
         std::abs(*line[from - 1]->power_w / *top.power_w - 1) < 0.04)
    --from;
  // All flat is a workload that the clock doesn't touch, not a cap.
  if (from + 1 < line.size() && from > 0 && *line.front()->power_w < 0.9 * *top.power_w)
    fit.cap_hz = line[from]->setting.clock_hz;
}

std::vector<double> solve_polynomial(std::span<const double> x, std::span<const double> y) {
  // Newton's divided differences through all points.
  std::vector<double> c(y.begin(), y.end());
  for (std::size_t k = 1; k < c.size(); ++k) {
    for (std::size_t i = c.size() - 1; i >= k; --i) c[i] = (c[i] - c[i - 1]) / (x[i] - x[i - k]);
  }
  return c;
}
double polynomial_at(std::span<const double> c, std::span<const double> x, double at) {
  double v = c.back();
  for (std::size_t k = c.size() - 1; k-- > 0;) v = v * (at - x[k]) + c[k];
  return v;
}

}  // namespace

std::vector<std::size_t> clock_slice(const Workload& w) {
  std::vector<std::size_t> slice;
  if (!w.baseline) return slice;
  const Setting& base = w.points[*w.baseline].setting;
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& p = w.points[i];
    if (!p.setting.clock_hz || p.setting.clock_is_offset || !p.time || !p.energy ||
        !p.invalid.empty() || p.setting.default_clocks)
      continue;
    if (p.setting.memory_clock_hz != base.memory_clock_hz ||
        p.setting.power_limit_w != base.power_limit_w)
      continue;
    slice.push_back(i);
  }
  return slice;  // ascending, as points are
}

void fit_response(Workload& w) {
  const auto slice = clock_slice(w);
  if (slice.size() < 3) return;
  std::vector<model::MeasuredPoint> points;
  points.reserve(slice.size());
  for (const auto i : slice) {
    const Point& p = w.points[i];
    points.push_back({Hertz(*p.setting.clock_hz), Seconds(*p.time), Joules(*p.energy)});
  }
  ResponseFit out{.form = {}, .clocks = slice.size()};
  find_break(w, slice, out);
  find_cap(w, out);
  // Below a break the forms do not hold: the fit is of what lies above it.
  if (out.break_hz) {
    std::erase_if(points, [&](const auto& p) { return p.clock.si() < *out.break_hz - 1; });
  }
  const auto fit = model::MeasuredResponse::fit(points, nullptr);
  if (fit) {
    out.form = fit->form();
    out.leave_one_out = fit->residual();
  }
  if (!fit && !out.break_hz && !out.cap_hz) return;
  w.response = std::move(out);
}

std::optional<ClockPrediction> predict_clocks(std::span<const Workload> workloads,
                                              const Options& options) {
  if (options.fit_clocks_hz.size() < 2) return {};
  ClockPrediction out;
  out.clocks_hz = options.fit_clocks_hz;
  double energy_sum = 0;
  double time_sum = 0;
  for (const Workload& w : workloads) {
    std::vector<double> x;
    std::vector<double> y;
    std::vector<double> time;
    std::vector<double> power;
    std::vector<std::size_t> others;
    const auto slice = clock_slice(w);
    if (slice.empty()) continue;
    const double top = *w.points[slice.back()].setting.clock_hz;
    for (const auto i : slice) {
      const Point& p = w.points[i];
      const double f = *p.setting.clock_hz;
      const bool known = std::ranges::any_of(options.fit_clocks_hz,
                                             [&](double hz) { return std::abs(hz - f) < 0.75e6; });
      if (!known) {
        others.push_back(i);
        continue;
      }
      x.push_back(top / f);
      y.push_back(f / top);
      time.push_back(*p.time);
      power.push_back(*p.energy / *p.time);
    }
    if (x.size() != options.fit_clocks_hz.size() || others.empty()) continue;
    const auto of_time = solve_polynomial(x, time);
    const auto of_power = solve_polynomial(y, power);
    double own_energy = 0;
    double own_time = 0;
    for (const auto i : others) {
      const Point& p = w.points[i];
      const double f = *p.setting.clock_hz;
      const double t = polynomial_at(of_time, x, top / f);
      const double e = t * polynomial_at(of_power, y, f / top);
      const double time_error = std::abs(t / *p.time - 1);
      const double energy_error = std::abs(e / *p.energy - 1);
      own_time += time_error;
      own_energy += energy_error;
      out.time_worst = std::max(out.time_worst, time_error);
      out.energy_worst = std::max(out.energy_worst, energy_error);
      ++out.predicted;
    }
    energy_sum += own_energy;
    time_sum += own_time;
    const auto n = static_cast<double>(others.size());
    out.energy_worst_workload = std::max(out.energy_worst_workload, own_energy / n);
    out.time_worst_workload = std::max(out.time_worst_workload, own_time / n);
  }
  if (out.predicted == 0) return {};
  out.energy_mean = energy_sum / static_cast<double>(out.predicted);
  out.time_mean = time_sum / static_cast<double>(out.predicted);
  return out;
}

}  // namespace ergon::study
