#include "ergon/sim/physics.hpp"

#include <algorithm>
#include <cmath>

namespace ergon::sim {
namespace {

// Share of the memory path that lies in the core's voltage domain.
constexpr double kMemoryCoreShare = 0.7;
constexpr double kReferenceC = 45;

double eighth_norm(double a, double b, double c) {
  const auto power8 = [](double x) {
    const double x2 = x * x;
    const double x4 = x2 * x2;
    return x4 * x4;
  };
  return std::sqrt(std::sqrt(std::sqrt(power8(a) + power8(b) + power8(c))));
}

double memory_default(const Model& model) { return model.clocks.memory.front(); }

// What flows whether or not work runs; `tree` is the share of the clock tree that toggles.
Power static_power(const Model& model, const Point& point, double tree) {
  const PowerSpec& p = model.power;
  const double v = voltage(model, point.sm_mhz);
  const double dram = p.dram * point.memory_mhz / memory_default(model);
  const double leakage =
      p.leakage * v * v * std::max(0.2, 1 + p.leakage_per_k * (point.temperature_c - kReferenceC));
  const double toggling = p.tree * tree * v * v * point.sm_mhz / model.clocks.boost;
  return {p.constant + dram + leakage + toggling, dram};
}

Power modelled(const Model& model, const Phase& phase, const Point& point) {
  const double v = voltage(model, point.sm_mhz);
  const double longer = slowdown(model, phase, point);
  const bool works = phase.compute > 0 || phase.memory > 0;
  Power power = static_power(model, point, works ? 1 : 0.5 + 0.5 * model.power.tree_idle);
  const double traffic = model.power.memory * phase.memory / longer;
  const double rail = traffic * (1 - kMemoryCoreShare);
  power.total_w += model.power.compute * phase.compute / longer * v * v +
                   traffic * kMemoryCoreShare * v * v + rail;
  power.memory_w += rail;
  return power;
}

}  // namespace

double voltage(const Model& model, double sm_mhz) {
  const PowerSpec& p = model.power;
  if (sm_mhz <= p.knee_mhz) return p.floor;
  const double above = (sm_mhz - p.knee_mhz) / (model.clocks.boost - p.knee_mhz);
  return p.floor + (1 - p.floor) * std::pow(above, p.exponent);
}

double slowdown(const Model& model, const Phase& phase, const Point& point) {
  if (phase.compute <= 0 && phase.memory <= 0) return 1;
  const double core = model.clocks.boost / point.sm_mhz;
  const double knee = model.power.bandwidth_knee_mhz / point.sm_mhz;
  const double memory = std::max({memory_default(model) / point.memory_mhz, knee, 1.0});
  const double fixed = 0.5 * std::max(0.0, 1 - std::max(phase.compute, phase.memory));
  return eighth_norm(phase.compute * core, phase.memory * memory, fixed) /
         eighth_norm(phase.compute, phase.memory, fixed);
}

Power busy_power(const Model& model, const Phase& phase, const Point& point) {
  Power power = modelled(model, phase, point);
  if (phase.power_w < 0) return power;
  const Point reference{model.clocks.boost, memory_default(model), point.temperature_c};
  const double scale = phase.power_w / modelled(model, phase, reference).total_w;
  power.total_w *= scale;
  power.memory_w *= scale;
  return power;
}

Power idle_power(const Model& model, const Point& point) {
  return static_power(model, point, model.power.tree_idle);
}

}  // namespace ergon::sim
