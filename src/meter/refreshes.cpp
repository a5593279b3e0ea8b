// Changes of a column, their typical distance, and their most likely times.
#include <algorithm>
#include <cmath>

#include "renewals.hpp"

namespace ergon::meter {
namespace {

constexpr std::size_t kFewestChanges = 8;

std::vector<double> steps_of(const std::vector<Refresh>& all) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (!all[i].first && !all[i - 1].first) {
      steps.push_back(static_cast<double>(all[i].by_ns - all[i - 1].by_ns));
    }
  }
  return steps;
}

// Renewals that gave the same value again leave multiples of the period; the shortest group that
// holds a quarter of the distances is the period itself.
double single_period(const std::vector<double>& steps) {
  double period = median_of(steps);
  for (int round = 0; round < 8; ++round) {
    std::vector<double> shorter;
    for (const double s : steps) {
      if (s < 0.6 * period) shorter.push_back(s);
    }
    if (shorter.size() * 4 < steps.size() || shorter.size() < kFewestChanges / 2) break;
    const double next = median_of(shorter);
    if (next <= 0) break;
    period = next;
  }
  return period;
}

}  // namespace

std::vector<Refresh> refreshes(const std::vector<Nanos>& time_ns,
                               const std::vector<double>& column) {
  ERGON_CHECK(column.empty() || column.size() == time_ns.size(),
              "a column is as long as its times");
  std::vector<Refresh> out;
  bool follows = false;  // the read before was there
  Nanos last_ns = 0;
  for (std::size_t i = 0; i < column.size(); ++i) {
    const double value = column[i];
    if (is_missing(value)) {
      follows = false;
      continue;
    }
    if (out.empty() || value != out.back().value) {
      out.push_back({follows ? last_ns : time_ns[i], time_ns[i], value, !follows});
    }
    follows = true;
    last_ns = time_ns[i];
  }
  return out;
}

std::optional<Period> refresh_period(const std::vector<Nanos>& time_ns,
                                     const std::vector<double>& column) {
  const std::vector<Refresh> all = refreshes(time_ns, column);
  const std::vector<double> steps = steps_of(all);
  if (steps.size() < kFewestChanges) return std::nullopt;
  const double about = single_period(steps);
  std::vector<double> singles;
  for (const double s : steps) {
    if (s > 0.6 * about && s < 1.5 * about) singles.push_back(s);
  }
  if (singles.empty()) return std::nullopt;
  std::ranges::sort(singles);
  const std::size_t n = singles.size();
  const double middle = median_of(singles);
  // Order statistics that hold the median with 95 % (normal approximation of the binomial).
  const auto spread = static_cast<std::size_t>(std::ceil(0.98 * std::sqrt(static_cast<double>(n))));
  const double low = singles[n / 2 > spread ? n / 2 - spread : 0];
  const double high = singles[std::min(n - 1, n / 2 + spread)];
  std::size_t reads = 0;
  for (const double v : column) reads += is_missing(v) ? 0 : 1;
  Period period;
  period.changes = steps.size();
  period.hidden = static_cast<double>(steps.size()) > 0.8 * static_cast<double>(reads);
  period.period_s = {middle / 1e9, std::min(low, middle) / 1e9, std::max(high, middle) / 1e9,
                     Origin::kMeasured};
  return period;
}

std::vector<Renewal> place(const std::vector<Refresh>& refreshes, double period_ns,
                           Nanos origin_ns) {
  constexpr std::ptrdiff_t kNeighbours = 8;
  std::vector<Renewal> out;
  std::vector<double> mid;
  std::vector<double> half;
  for (const Refresh& r : refreshes) {
    // The first value of a column may have been published up to a period before it was read.
    const double by = static_cast<double>(r.by_ns - origin_ns);
    const double after = r.first ? by - period_ns : static_cast<double>(r.after_ns - origin_ns);
    mid.push_back((by + after) / 2);
    half.push_back((by - after) / 2);
    out.push_back({mid.back(), half.back(), r.value});
  }
  if (!(period_ns > 0)) return out;
  const auto n = static_cast<std::ptrdiff_t>(mid.size());
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> h;
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    x.clear();
    y.clear();
    h.clear();
    // Neighbours on both sides as long as each is a whole number of periods from the next.
    for (const int side : {-1, 1}) {
      double index = 0;
      for (std::ptrdiff_t j = k + side; j >= 0 && j < n && std::abs(j - k) <= kNeighbours;
           j += side) {
        const auto here = static_cast<std::size_t>(j);
        const auto before = static_cast<std::size_t>(j - side);
        const double periods = std::round(std::abs(mid[here] - mid[before]) / period_ns);
        if (periods < 1 || periods > 4 || half[here] > period_ns / 2) break;
        index += periods * side;
        x.push_back(index);
        y.push_back(mid[here]);
        h.push_back(half[here]);
      }
    }
    const auto self = static_cast<std::size_t>(k);
    if (x.size() < 4 || half[self] > period_ns / 2) continue;
    x.push_back(0);
    y.push_back(mid[self]);
    h.push_back(half[self]);
    const auto count = static_cast<double>(x.size());
    double mx = 0;
    double my = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      mx += x[i] / count;
      my += (y[i] - mid[self]) / count;
    }
    double sxx = 0;
    double sxy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sxx += (x[i] - mx) * (x[i] - mx);
      sxy += (x[i] - mx) * (y[i] - mid[self] - my);
    }
    if (sxx <= 0) continue;
    const double slope = sxy / sxx;
    // The grid must pass through every bracket, else the sensor is not that regular.
    double worst = 0;
    double typical = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double off = std::abs(y[i] - mid[self] - my - slope * (x[i] - mx));
      worst = std::max(worst, off - h[i]);
      typical += h[i] / count;
    }
    const double at = mid[self] + my - slope * mx;
    const double low = mid[self] - half[self];
    const double high = mid[self] + half[self];
    out[self].at_ns = std::clamp(at, low, high);
    if (worst <= 0) {
      out[self].doubt_ns = std::min(half[self], typical * 1.7 / std::sqrt(count));
    } else {
      out[self].doubt_ns = std::min(half[self], typical * 1.7 / std::sqrt(count) + worst);
    }
  }
  return out;
}

}  // namespace ergon::meter
