// price(): roofline time, energy by component, power limit. Intervals take every figure at its own
// end at once (worst case, not root of squares): errors of one file are correlated.
#include "ergon/model/price.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "curves.hpp"
#include "roofline.hpp"

namespace ergon::model {
namespace {

enum class End : std::uint8_t { kLow, kValue, kHigh };

double pick(const Estimate& e, End end) {
  return end == End::kLow ? e.low : end == End::kHigh ? e.high : e.value;
}

struct Energies {
  double constant = 0, clock = 0;
  std::array<double, kUnits> units = {};
  std::array<double, kLevels> levels = {};
  [[nodiscard]] double dynamic() const {
    double sum = 0;
    for (const double e : units) sum += e;
    for (const double e : levels) sum += e;
    return sum;
  }
  [[nodiscard]] double total() const { return constant + clock + dynamic(); }
};

double scaled(const Coefficient& c, double v2, End end) {
  const double share = c.core_share.value();
  return pick(c.total.estimate, end) * (1 - share + share * v2);
}

Energies energies(const Work& work, const Device& d, double f, double time_s, End end) {
  Energies e;
  const double v2 = pick(voltage_squared(d, f), end);
  const double clocked = v2 * f / d.coefficient_clock.si();
  const double share = d.idle_clock_share.value();
  e.constant = pick(d.idle_w.estimate, end) * (1 - share + share * clocked) * time_s;
  e.clock = pick(d.active_w.estimate, end) * clocked * time_s;
  for (std::size_t i = 0; i < kUnits; ++i) {
    const auto& ops = work.ops[i];
    const auto& c = d.unit_j[i];
    if (ops && c) e.units[i] = ops->si() * scaled(*c, v2, end);
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    const auto& bytes = work.bytes[i];
    const auto& c = d.level_j[i];
    if (bytes && c) e.levels[i] = bytes->si() * 8 * scaled(*c, v2, end);
  }
  return e;
}

Status check(const Work& work, const Device& d, const Clock& clock, double limit) {
  const double f = clock.sm.si();
  if (!(f > 0) || f < d.min_clock().si() - 0.5e6 || f > d.max_clock().si() + 0.5e6) {
    return fail(Errc::kInvalidArgument,
                d.id + " does not run at " + std::to_string(std::lround(f / 1e6)) + " MHz",
                "its clocks go from " + std::to_string(std::lround(d.min_clock().si() / 1e6)) +
                    " to " + std::to_string(std::lround(d.max_clock().si() / 1e6)) +
                    " MHz; the nearest is " +
                    std::to_string(std::lround(d.nearest_clock(clock.sm).si() / 1e6)) + " MHz");
  }
  for (std::size_t i = 0; i < kUnits; ++i) {
    const auto& ops = work.ops[i];
    if (!ops || ops->si() == 0) continue;
    const std::string unit = to_string(static_cast<Unit>(i));
    if (!(ops->si() > 0))
      return fail(Errc::kInvalidArgument, "negative operations of unit " + unit);
    if (!d.peak_flops[i])
      return fail(Errc::kUnsupported, d.id + " has no known peak of unit " + unit);
    if (!d.unit_j[i])
      return fail(Errc::kUnsupported, d.id + " has no known energy of unit " + unit);
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    const auto& bytes = work.bytes[i];
    if (!bytes || bytes->si() == 0) continue;
    const std::string level = to_string(static_cast<Level>(i));
    if (!(bytes->si() > 0)) return fail(Errc::kInvalidArgument, "negative bytes of level " + level);
    if (!d.bandwidth[i])
      return fail(Errc::kUnsupported, d.id + " has no known bandwidth of level " + level);
    if (!d.level_j[i])
      return fail(Errc::kUnsupported, d.id + " has no known energy of level " + level);
  }
  if (idle_power(d, d.min_clock().si()) + active_power(d, d.min_clock().si()) >= limit) {
    return fail(Errc::kInvalidArgument,
                "a power limit of " + std::to_string(std::lround(limit)) + " W leaves " + d.id +
                    " no power to work",
                "its idle power alone is " + std::to_string(std::lround(d.idle_w.value())) + " W");
  }
  return {};
}

Estimate between(double low, double value, double high, Origin origin) {
  return {value, std::min(low, value), std::max(high, value), origin};
}

}  // namespace

Result<Price> price(const Work& work, const Device& d, const Clock& clock,
                    const PriceOptions& options) {
  const double limit = options.power_limit ? options.power_limit->si() : d.power_limit_w.value();
  ERGON_TRY_STATUS(check(work, d, clock, limit));
  const double memory_scale = clock.memory ? clock.memory->si() / d.default_memory_clock.si() : 1;
  const auto roofline_at = [&](double f) { return roofline(work, d, f, memory_scale); };
  const auto power_at = [&](double f) {
    const double t = roofline_at(f).value;
    return t > 0 ? energies(work, d, f, t, End::kValue).total() / t : 0;
  };

  Price p;
  double f = clock.sm.si();
  p.power_capped = power_at(f) > limit;
  if (p.power_capped) {
    // The board lowers the clock until its power is the limit. Power grows with the clock, so
    // bisect.
    double low = d.min_clock().si();
    double high = f;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (power_at(middle) > limit ? high : low) = middle;
    }
    f = low;
  }
  p.achieved_clock = Hertz(f);
  p.below_break = below_break(d, f);

  Roofline t = roofline_at(f);
  Energies value = energies(work, d, f, t.value, End::kValue);
  if (p.power_capped && value.total() > limit * t.value * (1 + 1e-9)) {
    // Even the lowest clock is too much: the board skips cycles until idle and active power leave
    // room for the work.
    const double room = limit - (value.constant + value.clock) / t.value;
    const double stretch = value.dynamic() / (room * t.value);
    t.low *= stretch;
    t.value *= stretch;
    t.high *= stretch;
    value = energies(work, d, f, t.value, End::kValue);
  }
  const Energies low = energies(work, d, f, t.low, End::kLow);
  const Energies high = energies(work, d, f, t.high, End::kHigh);

  const Origin origin = Origin::kModelled;
  p.time_s = between(t.low, t.value, t.high, origin);
  p.constant_j = between(low.constant, value.constant, high.constant, origin);
  p.clock_j = between(low.clock, value.clock, high.clock, origin);
  for (std::size_t i = 0; i < kUnits; ++i)
    p.unit_j[i] = between(low.units[i], value.units[i], high.units[i], origin);
  for (std::size_t i = 0; i < kLevels; ++i)
    p.level_j[i] = between(low.levels[i], value.levels[i], high.levels[i], origin);
  p.energy_j = between(low.total(), value.total(), std::min(high.total(), limit * t.high), origin);
  if (t.value > 0) {
    // Slow and frugal, or fast and hungry: the dynamic energy is spent in the time's other end.
    const double dynamic_w_low = low.dynamic() / t.high;
    const double dynamic_w_high = high.dynamic() / std::max(t.low, 1e-30);
    p.power_w =
        between((low.constant + low.clock) / std::max(t.low, 1e-30) + dynamic_w_low,
                value.total() / t.value,
                std::min(limit, (high.constant + high.clock) / t.high + dynamic_w_high), origin);
  }
  return p;
}

}  // namespace ergon::model
