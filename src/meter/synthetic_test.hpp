// A made-up board, sensor and counter for tests: true power, what a sensor shows of it, and what a
// poller reads.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "ergon/meter.hpp"

namespace ergon::meter::testing {

struct SyntheticSensor {
  double period_s = 0.1;
  double window_s = 0.025;
  double tick_s = 0.1;
  double noise_w = 0.5;
  double poll_s = 0.01;
  double poll_jitter_s = 0.002;
  double resolution_w = 0.01;
};

/// True power as steps: (start time, watts), and its integral.
struct Truth {
  std::vector<std::pair<double, double>> steps;
  [[nodiscard]] double energy(double from, double to) const {
    double sum = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double a = std::max(from, steps[i].first);
      const double b = std::min(to, i + 1 < steps.size() ? steps[i + 1].first : to);
      if (b > a) sum += (b - a) * steps[i].second;
    }
    return sum;
  }
};

inline Series play(const Truth& truth, double length_s, const SyntheticSensor& sensor,
                   unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::normal_distribution<double> normal(0, 1);
  const double power_phase = uniform(random) * sensor.period_s;
  const double tick_phase = uniform(random) * sensor.tick_s;
  // What the sensor publishes, renewal by renewal.
  std::vector<double> published;
  for (double t = power_phase - sensor.period_s; t < length_s; t += sensor.period_s) {
    const double from = std::max(0.0, t - sensor.window_s);
    const double to = std::max(from + 1e-6, t);
    const double w = truth.energy(from, to) / (to - from) + sensor.noise_w * normal(random);
    published.push_back(std::round(w / sensor.resolution_w) * sensor.resolution_w);
  }
  Series series;
  series.gpu = "0";
  const double base = 1000 * uniform(random);
  for (double t = 0; t < length_s;
       t += sensor.poll_s + sensor.poll_jitter_s * (uniform(random) - 0.5) * 2) {
    series.time_ns.push_back(static_cast<Nanos>(std::llround(t * 1e9)));
    const auto k = static_cast<std::size_t>(
        std::floor((t - (power_phase - sensor.period_s)) / sensor.period_s));
    series.power_w.push_back(published[std::min(k, published.size() - 1)]);
    const double tick = std::floor((t - tick_phase) / sensor.tick_s) * sensor.tick_s + tick_phase;
    series.energy_j.push_back(std::round((base + truth.energy(0, std::max(0.0, tick))) * 1e3) /
                              1e3);
  }
  return series;
}

inline Window window(double from_s, double to_s) {
  return {static_cast<Nanos>(std::llround(from_s * 1e9)),
          static_cast<Nanos>(std::llround(to_s * 1e9))};
}

}  // namespace ergon::meter::testing
