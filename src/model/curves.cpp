// V^2(f), core and memory speed, idle and active power.
#include "curves.hpp"

#include <algorithm>
#include <cmath>

namespace ergon::model {

namespace {
double squared(const Device& device, double f, double knee, double floor) {
  // Above the reference the curve is only extended, not known: no further than half the span again.
  const double x = std::clamp((f - knee) / (device.coefficient_clock.si() - knee), 0.0, 1.5);
  const double v = floor + (1 - floor) * std::pow(x, device.behaviour.voltage_exponent.value());
  return v * v;
}
}  // namespace

Estimate voltage_squared(const Device& device, double f) {
  const Estimate& knee = device.behaviour.voltage_knee_hz.estimate;
  const Estimate& floor = device.behaviour.voltage_floor.estimate;
  const double value = squared(device, f, knee.value, floor.value);
  const double one = squared(device, f, knee.high, floor.low);
  const double other = squared(device, f, knee.low, floor.high);
  return {value, std::min({one, other, value}), std::max({one, other, value}), Origin::kModelled};
}

bool below_break(const Device& device, double f) {
  // Half a megahertz: drivers round clocks.
  return device.behaviour.regime_break_hz && f < device.behaviour.regime_break_hz->value() - 0.5e6;
}

namespace {
double break_penalty(const Device& device, double f) {
  const auto& at = device.behaviour.regime_break_hz;
  if (!at || !below_break(device, f)) return 1;
  return std::pow(f / at->value(), device.behaviour.below_break_exponent.value() - 1);
}
}  // namespace

double core_speed(const Device& device, double f) {
  return f / device.peak_clock.si() * break_penalty(device, f);
}

double memory_speed(const Device& device, double f, double knee_hz) {
  if (f >= knee_hz) return 1;
  return f / knee_hz * break_penalty(device, f);
}

double idle_power(const Device& device, double f) {
  const double share = device.idle_clock_share.value();
  return device.idle_w.value() *
         (1 - share + share * voltage_squared(device, f).value * f / device.coefficient_clock.si());
}

double active_power(const Device& device, double f) {
  return device.active_w.value() * voltage_squared(device, f).value * f /
         device.coefficient_clock.si();
}

}  // namespace ergon::model
