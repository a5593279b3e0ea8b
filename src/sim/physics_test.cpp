// The curves: optima lie inside the clock range, differ between boards and with the mix of the
// work.
#include "ergon/sim/physics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace ergon::sim {
namespace {

double best_clock(const Model& model, const Phase& phase) {
  double best = 0;
  double least = 1e300;
  for (const double mhz : supported_clocks(model)) {
    if (mhz > model.clocks.reach) break;
    const Point point{mhz, model.clocks.memory.front(), 55};
    const double energy = busy_power(model, phase, point).total_w * slowdown(model, phase, point);
    if (energy < least) {
      least = energy;
      best = mhz;
    }
  }
  return best;
}

TEST(Physics, OptimaAreInsideAndDiffer) {
  std::map<std::string, double> optima;
  for (const std::string_view key : model_keys()) {
    const Model& model = *find_model(key);
    const double compute = best_clock(model, {1, 0.9, 0.2, -1});
    const double memory = best_clock(model, {1, 0.3, 0.9, -1});
    EXPECT_GT(compute, model.clocks.sm_min * 1.2) << key;
    EXPECT_LT(compute, model.clocks.boost * 0.95) << key;
    EXPECT_GT(memory, model.clocks.sm_min * 1.2) << key;
    EXPECT_LT(memory, compute) << key;
    optima[std::string(key)] = compute / model.clocks.boost;
    RecordProperty(std::string(key) + "_compute_mhz", std::to_string(compute));
    RecordProperty(std::string(key) + "_memory_mhz", std::to_string(memory));
  }
  EXPECT_NE(optima["v100"], optima["a100"]);
  EXPECT_NE(optima["a100"], optima["h100"]);
}

TEST(Physics, TotalsMeetPublishedOnes) {
  const auto idle = [](const char* key, double celsius) {
    const Model& m = *find_model(key);
    return idle_power(m, {m.clocks.idle, m.clocks.memory_idle, celsius}).total_w;
  };
  EXPECT_NEAR(idle("a100", 33), 54, 5);  // SC'25
  EXPECT_NEAR(idle("h100", 41), 69, 5);  // nvidia_gpu_exporter capture
  for (const std::string_view key : model_keys()) {
    const Model& m = *find_model(key);
    const Point full{m.clocks.boost, m.clocks.memory.front(), 70};
    const double watts = busy_power(m, {1, 1.0, 0.8, -1}, full).total_w;
    EXPECT_GT(watts, 0.85 * m.power.limit_default) << key;
    EXPECT_LT(watts, 1.5 * m.power.limit_default) << key;
  }
}

TEST(Physics, TimeGrowsAsTheClockFalls) {
  const Model& m = *find_model("a100");
  for (const Phase& phase :
       {Phase{1, 1, 0, -1}, {1, 0.5, 0.5, -1}, {1, 0.1, 1, -1}, {1, 0.05, 0.05, -1}}) {
    double last = 0;
    for (double mhz = 1410; mhz >= 210; mhz -= 15) {
      const double now = slowdown(m, phase, {mhz, 1215, 50});
      EXPECT_GE(now, last - 1e-12);
      last = now;
    }
    EXPECT_NEAR(slowdown(m, phase, {1410, 1215, 50}), 1, 1e-12);
  }
  EXPECT_NEAR(slowdown(m, {1, 1, 0, -1}, {705, 1215, 50}), 2, 1e-9);
  EXPECT_NEAR(slowdown(m, {1, 0, 1, -1}, {885, 1215, 50}), 1, 1e-9);
}

TEST(Physics, VoltageHasAKnee) {
  const Model& m = *find_model("a100");
  EXPECT_EQ(voltage(m, 210), voltage(m, 900));
  EXPECT_GT(voltage(m, 1200), voltage(m, 1050));
  EXPECT_DOUBLE_EQ(voltage(m, 1410), 1);
}

TEST(Physics, ClocksRoundDownToTheSupportedStep) {
  const Model& v100 = *find_model("v100");
  EXPECT_EQ(supported_at_most(v100, 952), 952);
  EXPECT_EQ(supported_at_most(v100, 951), 945);
  EXPECT_EQ(supported_at_most(v100, 9999), 1530);
  EXPECT_EQ(supported_at_most(v100, 1), 135);
  for (const std::string_view key : model_keys()) {
    const Model& model = *find_model(key);
    for (const double mhz : supported_clocks(model))
      EXPECT_EQ(supported_at_most(model, mhz), mhz) << key;
    EXPECT_EQ(supported_clocks(model).back(), model.clocks.sm_max) << key;
  }
}

}  // namespace
}  // namespace ergon::sim
