// Seeded random problems for tests and benchmarks.
#include "random_problem.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace ergon::plan::testing {
namespace {

// Continuous figures, or multiples of 0.001 so that sums tie and meet bounds exactly.
double figure(Random& r, bool round, double low, double high) {
  const double x = r.uniform(low, high);
  return round ? std::round(x * 1000) / 1000 : x;
}

std::string name(const char* kind, std::uint32_t number) {
  std::string text = kind;
  text += std::to_string(number);
  return text;
}

}  // namespace

Problem random_small(std::uint64_t seed, const SmallShape& shape) {
  Random r(seed);
  Problem p;
  const bool round = r.uniform() < 0.3;
  const std::uint32_t gpus = 1 + r.below(shape.max_gpus);
  for (std::uint32_t g = 0; g < gpus; ++g) {
    p.gpus.push_back(
        {.id = name("gpu", g), .idle_power_w = r.uniform() < 0.5 ? 0 : figure(r, round, 10, 120)});
  }
  if (r.uniform() < 0.7) {
    p.switching.time_s = r.uniform() < 0.2 ? 0 : figure(r, round, 0, 0.006);
    p.switching.energy_j = r.uniform() < 0.2 ? 0 : figure(r, round, 0, 0.5);
  }
  if (r.uniform() < 0.5) p.switching.min_run_s = figure(r, round, 0.001, 0.05);
  p.repeats = r.uniform() < 0.5;
  const std::uint32_t packs = 1 + r.below(shape.max_packs);
  const std::uint32_t clocks = 1 + r.below(shape.max_clocks);
  const bool waits = r.uniform() < 0.6;
  for (std::uint32_t i = 0; i < packs; ++i) {
    Pack pack{.id = name("p", i), .gpu = r.below(gpus), .after = {}, .options = {}};
    if (waits) {
      for (std::uint32_t j = 0; j < i; ++j) {
        if (r.uniform() < 0.3)
          pack.after.push_back(
              {.pack = j, .lag_s = r.uniform() < 0.5 ? 0 : figure(r, round, 0, 0.02)});
      }
    }
    const double time = figure(r, round, 0.002, 0.03);
    const double power = r.uniform(100, 500);
    const double sensitivity = r.uniform();
    const bool complete = r.uniform() < 0.8;
    for (std::uint32_t k = 0; k < clocks; ++k) {
      if (!complete && pack.options.size() + (clocks - k) > 1 && r.uniform() < 0.4) continue;
      const double f = 1 - 0.12 * static_cast<double>(k);
      const double t = time * (sensitivity / f + 1 - sensitivity);
      Option o{
          .clock_hz = 1.5e9 * f, .time_s = t, .energy_j = power * t * f * f * r.uniform(0.9, 1.1)};
      if (round) {
        o.time_s = std::round(o.time_s * 1000) / 1000;
        o.energy_j = std::round(o.energy_j * 10) / 10;
      }
      pack.options.push_back(o);
    }
    if (r.uniform() < 0.3) std::reverse(pack.options.begin(), pack.options.end());
    p.packs.push_back(std::move(pack));
  }
  return p;
}

Problem random_chain(std::uint64_t seed, const ChainShape& shape) {
  Random r(seed);
  Problem p;
  p.gpus.push_back({.id = name("", 0), .idle_power_w = 60});
  p.switching = shape.switching;
  p.repeats = shape.repeats;
  constexpr double kTop = 1.98e9;
  constexpr double kLow = 0.6e9;
  for (std::uint32_t i = 0; i < shape.packs; ++i) {
    Pack pack{.id = name("p", i), .gpu = 0, .after = {}, .options = {}};
    const double time = r.uniform(0.002, 0.050);
    const double sensitivity = r.uniform();
    const double fixed_w = r.uniform(90, 160);
    const double dynamic_w = r.uniform(120, 520);
    for (std::uint32_t k = 0; k < shape.clocks; ++k) {
      const double share = shape.clocks == 1 ? 1 : static_cast<double>(k) / (shape.clocks - 1);
      const double clock = std::round((kLow + (kTop - kLow) * share) / 15e6) * 15e6;
      const double f = clock / kTop;
      const double volt = std::max(0.65, 0.45 + 0.55 * f);
      const double t = time * (sensitivity / f + 1 - sensitivity);
      const double w = fixed_w + dynamic_w * f * volt * volt;
      pack.options.push_back({.clock_hz = clock, .time_s = t, .energy_j = w * t});
    }
    p.packs.push_back(std::move(pack));
  }
  return p;
}

}  // namespace ergon::plan::testing
