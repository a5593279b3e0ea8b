// Fits of measured points: time against the clock in two forms, power quadratic in the clock.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "ergon/model/response.hpp"

namespace ergon::model {
namespace {

// With three points nothing is left over to judge a fit by. Over 33 V100 workloads with three
// points (757, 1140, 1530 MHz) and 10 held out the worst error was 3.7 % in time and 2.8 % in
// power.
constexpr double kThreePointTimeError = 0.037;
constexpr double kThreePointPowerError = 0.028;

struct Point {
  double x;
  double y;
};

/// Least-squares polynomial of `terms` coefficients (at most 3) by normal equations.
std::array<double, 3> polynomial(const std::vector<Point>& points, std::size_t terms) {
  std::array<std::array<double, 4>, 3> m = {};
  for (const Point& p : points) {
    double power_i = 1;
    for (std::size_t i = 0; i < terms; ++i, power_i *= p.x) {
      double power = power_i;
      for (std::size_t j = 0; j < terms; ++j, power *= p.x) m[i][j] += power;
      m[i][3] += power_i * p.y;
    }
  }
  for (std::size_t i = 0; i < terms; ++i) {
    std::size_t pivot = i;
    for (std::size_t k = i + 1; k < terms; ++k) {
      if (std::abs(m[k][i]) > std::abs(m[pivot][i])) pivot = k;
    }
    std::swap(m[i], m[pivot]);
    if (m[i][i] == 0) continue;
    for (std::size_t k = 0; k < terms; ++k) {
      if (k == i) continue;
      const double factor = m[k][i] / m[i][i];
      for (std::size_t j = i; j < 4; ++j) m[k][j] -= factor * m[i][j];
    }
  }
  std::array<double, 3> c = {};
  for (std::size_t i = 0; i < terms; ++i) c[i] = m[i][i] != 0 ? m[i][3] / m[i][i] : 0;
  return c;
}

double polynomial_at(const std::array<double, 3>& c, double x) {
  return c[0] + x * (c[1] + x * c[2]);
}

/// Time as a quadratic in x = top clock / f, but never falling with a falling clock: the most from
/// x = 1 to here. A parabola through a plateau dips below it.
struct Rising {
  std::array<double, 3> c = {};
};
double value(const Rising& r, double x) {
  double most = std::max(polynomial_at(r.c, 1), polynomial_at(r.c, x));
  if (r.c[2] < 0) {
    const double vertex = -r.c[1] / (2 * r.c[2]);
    if (vertex > 1 && vertex < x) most = std::max(most, polynomial_at(r.c, vertex));
  }
  return most;
}

/// Power, a quadratic in f / top clock.
struct Parabola {
  std::array<double, 3> c = {};
};
double value(const Parabola& p, double x) { return polynomial_at(p.c, x); }

/// y = c0 for x <= knee, c0 + c1 (x - knee) above, c1 >= 0; x is 1/f.
struct Knee {
  double knee = 0;
  std::array<double, 3> c = {};
  double sum_of_squares = 0;
};
double value(const Knee& k, double x) { return k.c[0] + k.c[1] * std::max(0.0, x - k.knee); }

Knee fit_knee(const std::vector<Point>& points) {
  Knee best;
  best.sum_of_squares = -1;
  const double lowest = points.front().x;
  const double highest = points.back().x;
  constexpr int kSteps = 64;
  for (int step = 0; step < kSteps; ++step) {
    Knee k;
    k.knee = lowest + (highest - lowest) * step / kSteps;
    std::vector<Point> shifted;
    shifted.reserve(points.size());
    for (const Point& p : points) shifted.push_back({std::max(0.0, p.x - k.knee), p.y});
    k.c = polynomial(shifted, 2);
    if (k.c[1] < 0) continue;
    for (const Point& p : points) {
      const double e = value(k, p.x) / p.y - 1;
      k.sum_of_squares += e * e;
    }
    if (best.sum_of_squares < 0 || k.sum_of_squares < best.sum_of_squares - 1e-15) best = k;
  }
  if (best.sum_of_squares <
      0) {  // time falls with a falling clock: flat is the nearest form that makes sense
    best.knee = highest;
    best.c = polynomial(points, 1);
  }
  return best;
}

std::vector<Point> without(const std::vector<Point>& points, std::size_t i) {
  std::vector<Point> out = points;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
  return out;
}

/// Root mean square of the relative errors at points left out of the fit one at a time.
template <class Fit>
double left_out(const std::vector<Point>& points, Fit fit) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto model = fit(without(points, i));
    const double e = value(model, points[i].x) / points[i].y - 1;
    sum += e * e;
  }
  return std::sqrt(sum / static_cast<double>(points.size()));
}

std::size_t terms_for(const std::vector<Point>& points) {
  return std::min<std::size_t>(3, points.size());
}

}  // namespace

Result<MeasuredResponse> MeasuredResponse::fit(std::span<const MeasuredPoint> points,
                                               const Device* device) {
  MeasuredResponse r;
  for (const MeasuredPoint& p : points) {
    if (!(p.clock.si() > 0) || !(p.time.si() > 0) || !(p.energy.si() > 0) ||
        !std::isfinite(p.clock.si() + p.time.si() + p.energy.si())) {
      return fail(Errc::kInvalidArgument,
                  "a measured point has a clock, time or energy that is not above 0");
    }
    r.points_.push_back(p);
  }
  std::sort(r.points_.begin(), r.points_.end(),
            [](const auto& a, const auto& b) { return a.clock < b.clock; });
  for (std::size_t i = 1; i < r.points_.size(); ++i) {
    if (r.points_[i].clock == r.points_[i - 1].clock)
      return fail(Errc::kInvalidArgument, "two measured points of one clock", "average them first");
  }
  if (device != nullptr && device->behaviour.regime_break_hz)
    r.break_ = Hertz(device->behaviour.regime_break_hz->value());
  std::vector<Point> time;
  std::vector<Point> power;
  const auto& top = r.points_.empty() ? MeasuredPoint{} : r.points_.back();
  for (auto it = r.points_.rbegin(); it != r.points_.rend(); ++it) {
    if (it->clock.si() < r.break_.si() - 0.5e6) continue;
    time.push_back({top.clock / it->clock, it->time / top.time});
    power.push_back({it->clock / top.clock, (it->energy / it->time).si()});
  }
  if (time.size() < 3) {
    return fail(
        Errc::kInvalidArgument,
        "a clock response needs measurements at three clocks, found " + std::to_string(time.size()),
        r.break_.si() > 0 ? "clocks below the device's regime break do not count"
                          : "add a clock near the middle of the range");
  }
  const Knee knee = fit_knee(time);
  if (time.size() == 3) {
    r.residual_ = kThreePointTimeError / 2;
    r.power_residual_ = kThreePointPowerError / 2;
  } else {
    const double of_quadratic = left_out(
        time, [](const std::vector<Point>& p) { return Rising{polynomial(p, terms_for(p))}; });
    const double of_knee = left_out(time, fit_knee);
    r.knee_form_ = of_knee < of_quadratic;
    r.residual_ = r.knee_form_ ? of_knee : of_quadratic;
    r.power_residual_ = left_out(
        power, [](const std::vector<Point>& p) { return Parabola{polynomial(p, terms_for(p))}; });
  }
  r.knee_ = knee.knee;
  r.time_ = r.knee_form_ ? knee.c : polynomial(time, 3);
  r.power_ = polynomial(power, 3);
  return r;
}

Estimate MeasuredResponse::time_ratio(Hertz clock) const {
  const MeasuredPoint& top = points_.back();
  for (const MeasuredPoint& p : points_) {
    if (std::abs((p.clock - clock).si()) < 0.5e6) {
      const double ratio = p.time / top.time;
      return {ratio, ratio, ratio, Origin::kMeasured};
    }
  }
  const auto inside = [&](double f) {
    const double x = top.clock.si() / f;
    return knee_form_ ? value(Knee{knee_, time_, 0}, x) : value(Rising{time_}, x);
  };
  const double floor = std::max(points_.front().clock.si(), break_.si());
  const double f = std::clamp(clock.si(), floor, top.clock.si());
  double ratio = inside(f);
  double high = ratio * (1 + 2 * residual_);
  if (clock.si() < floor) {
    // Beyond what was measured: at least as bad as 1/f, and its square is not excluded.
    ratio *= floor / clock.si();
    high *= (floor / clock.si()) * (floor / clock.si());
  }
  return {ratio, ratio * (1 - 2 * residual_), std::max(high, ratio), Origin::kFitted};
}

Estimate MeasuredResponse::power_w(Hertz clock) const {
  for (const MeasuredPoint& p : points_) {
    if (std::abs((p.clock - clock).si()) < 0.5e6) {
      const double w = (p.energy / p.time).si();
      return {w, w, w, Origin::kMeasured};
    }
  }
  const double floor = std::max(points_.front().clock.si(), break_.si());
  const double w = polynomial_at(
      power_, std::clamp(clock.si(), floor, points_.back().clock.si()) / points_.back().clock.si());
  return {w, w * (1 - 2 * power_residual_), w * (1 + 2 * power_residual_), Origin::kFitted};
}

std::optional<std::string> MeasuredResponse::extrapolated(Hertz clock) const {
  if (clock > points_.back().clock + Hertz(0.5e6))
    return "above the highest measured clock: taken as equal to it";
  if (clock < points_.front().clock - Hertz(0.5e6))
    return "below the lowest measured clock: time grows at least as 1/f";
  if (clock < break_ - Hertz(0.5e6)) {
    for (const MeasuredPoint& p : points_) {
      if (std::abs((p.clock - clock).si()) < 0.5e6) return std::nullopt;
    }
    return "below the device's regime break: time grows at least as 1/f";
  }
  return std::nullopt;
}

const char* MeasuredResponse::form() const { return knee_form_ ? "knee" : "quadratic"; }

}  // namespace ergon::model
