// Energy of a window, of idle, of repeated runs; what is known of a sensor.
#include <gtest/gtest.h>

#include <cmath>

#include "ergon/run.hpp"
#include "fake_gpu_test.hpp"

namespace ergon::run {
namespace {

meter::Series readings(test::FakeGpu& gpu, double seconds, double step = 0.01) {
  Poller poller(gpu);
  for (gpu.now_s = 0; gpu.now_s < seconds; gpu.now_s += step) poller.poll();
  return poller.take();
}

meter::Window window(double from, double to) {
  return {static_cast<Nanos>(from * 1e9), static_cast<Nanos>(to * 1e9)};
}

TEST(Results, AWindowHoldsItsEnergy) {
  test::FakeGpu gpu;
  gpu.watts = [](double t) { return t > 2 && t < 6 ? 300.0 : 60.0; };
  gpu.throttle_bits = gpu::reason::kPowerCap;
  const auto series = readings(gpu, 9);
  const auto sensor = sensor_of(series, gpu.who, std::nullopt);
  ASSERT_TRUE(sensor.energy_tick_s.has_value());
  EXPECT_NEAR(sensor.energy_tick_s->value, 0.1, 0.003);
  const std::array idle = {window(0.5, 1.9), window(6.5, 8.5)};
  const auto rest = idle_power(series, sensor, idle, 0).power_w;
  ASSERT_TRUE(rest.has_value());
  EXPECT_NEAR(rest->value, 60, 0.5);
  const auto result = result_of(series, sensor, window(2, 6), rest, 0.003);
  ASSERT_TRUE(result.energy.energy_j.has_value());
  EXPECT_NEAR(result.energy.energy_j->value, 1200, 6);
  EXPECT_LT(result.energy.energy_j->low, 1200);
  EXPECT_GT(result.energy.energy_j->high, 1200);
  EXPECT_NEAR(result.above_idle_j->value, 960, 8);
  EXPECT_EQ(result.throttled_share, 1.0);
  EXPECT_EQ(result.throttle_bits, gpu::reason::kPowerCap);
  EXPECT_NEAR(*result.clock_hz, 1.41e9, 1);
}

TEST(Results, IdlePowerWithoutACounterHoldsWhatMayHaveRunUnseen) {
  for (const std::optional<double> utilization : {std::optional<double>(), {0.3}, {0.0}}) {
    test::FakeGpu gpu;
    gpu.who = test::board("A100", "ampere");
    gpu.has_counter = false;
    gpu.utilization = utilization;
    const bool idle = utilization == 0.0;
    // Something runs for 30 of each 100 ms, which no reading meets.
    gpu.watts = [idle](double t) {
      return t > 5 || (!idle && std::fmod(t + 0.03, 0.1) < 0.03) ? 200.0 : 60 + std::sin(37 * t);
    };
    const auto series = readings(gpu, 8);
    const auto sensor = sensor_of(series, gpu.who, std::nullopt);
    const std::array rest = {window(0.5, 4.5)};
    const auto found = idle_power(series, sensor, rest, 0);
    ASSERT_TRUE(found.power_w.has_value());
    const double truth = idle ? 60 : 102;
    EXPECT_LE(found.power_w->low, truth);
    EXPECT_GE(found.power_w->high, truth);
    EXPECT_EQ(found.unseen_share.has_value(), !idle);
    EXPECT_TRUE(!idle || found.power_w->high < 66);
  }
}

TEST(Results, OfAGpuThatWasLostOnTheWayNothingIsSaidOfTheWhole) {
  test::FakeGpu gpu;
  const auto series = readings(gpu, 2);
  const auto sensor = sensor_of(series, gpu.who, std::nullopt);
  const auto result = result_of(series, sensor, window(1, 5), std::nullopt, 0);
  EXPECT_FALSE(result.energy.energy_j.has_value());
  EXPECT_FALSE(result.throttled_share.has_value());
  EXPECT_FALSE(result.utilization.has_value());
  EXPECT_FALSE(result.clock_hz.has_value());
  EXPECT_FALSE(result.temperature_c.has_value());
  gpu.throttle_bits = gpu::reason::kThermal;
  const auto held = readings(gpu, 2);
  EXPECT_GT(result_of(held, sensor, window(1, 5), std::nullopt, 0).throttled_share.value_or(0), 0);
}

TEST(Results, AMeanOfIntervalsThatLeanToOneSideLeansTheSameWay) {
  const std::array<std::optional<Estimate>, 2> runs = {Estimate{100, 90, 400, Origin::kMeasured},
                                                       Estimate{102, 92, 402, Origin::kMeasured}};
  const auto mean = mean_of(runs);
  ASSERT_TRUE(mean.has_value());
  EXPECT_EQ(mean->value, 101);
  EXPECT_GE(mean->low, 80);
  EXPECT_EQ(mean->high, 401);
}

TEST(Results, AShortWindowCannotBeKnown) {
  test::FakeGpu gpu;
  const auto series = readings(gpu, 4);
  const auto sensor = sensor_of(series, gpu.who, std::nullopt);
  const auto result = result_of(series, sensor, window(2, 2.05), std::nullopt, 0);
  EXPECT_FALSE(result.energy.energy_j.has_value());
  EXPECT_NE(result.energy.why_unknown.find("cannot be known from this sensor"), std::string::npos);
  ASSERT_TRUE(result.energy.window_needed.has_value());
  EXPECT_NEAR(result.energy.window_needed->si(), 0.3, 0.02);
}

TEST(Results, WhatTheReadingsDoNotTellIsPublishedOrAssumed) {
  test::FakeGpu gpu;
  const auto series = readings(gpu, 0.2);
  const auto a100 = sensor_of(series, test::board("NVIDIA A100-SXM4-40GB", "ampere"), std::nullopt);
  EXPECT_EQ(a100.averaging_window_s->value, 0.025);
  EXPECT_EQ(a100.averaging_window_s->origin, Origin::kPublished);
  const auto unknown = sensor_of(series, test::board("X", "y"), std::nullopt);
  EXPECT_EQ(unknown.update_period_s->origin, Origin::kAssumed);
  EXPECT_FALSE(unknown.averaging_window_s.has_value());
  const auto averaged = sensor_of(series, test::board("X", "ada"), test::source_averaging(1));
  EXPECT_EQ(averaged.averaging_window_s->value, 1);
}

// A short program all of whose readings were garbage: the GPU gives power and a counter, and what
// they said was refused.
TEST(Results, ReadingsThatWereAllRefusedAreSaidToBe) {
  test::FakeGpu garbage;
  garbage.garbage = true;
  test::FakeGpu sound;
  sound.who.id = "1";
  sound.who.uuid = "GPU-sound";
  const std::array<gpu::Gpu*, 2> gpus = {&garbage, &sound};
  ObserveOptions options;
  options.align = false;
  Observation observation(gpus, options);
  observation.open();
  const auto record = observation.rest(30'000'000, nullptr);
  const auto read = observation.close();
  ASSERT_EQ(read.refused.size(), 2U);
  ASSERT_GT(read.refused[0], 0U);
  EXPECT_EQ(read.refused[1], 0U);
  EXPECT_EQ(read.series[0].refused, read.refused[0]);
  const auto sensor = sensor_of(read.series[0], garbage.who, std::nullopt);
  const auto result = result_of(read.series[0], sensor, record.window, std::nullopt, 0);
  const std::string& why = result.energy.why_unknown;
  EXPECT_NE(why.find("cannot be true"), std::string::npos) << why;
  EXPECT_EQ(why.find("gives no"), std::string::npos) << why;
}

TEST(Results, RepeatedRunsHaveAnInterval) {
  const std::vector<std::optional<Estimate>> runs = {Estimate{100, 99, 101},
                                                     Estimate{104, 103, 105}, Estimate{96, 95, 97}};
  const auto mean = mean_of(runs);
  ASSERT_TRUE(mean.has_value());
  EXPECT_DOUBLE_EQ(mean->value, 100);
  EXPECT_NEAR(mean->high - mean->value, 4.303 * 4 / std::sqrt(3), 1e-3);
  EXPECT_FALSE(mean_of(std::vector<std::optional<Estimate>>{Estimate{}, std::nullopt}));
  EXPECT_NEAR(sum_of(runs)->high, 300 + std::sqrt(3), 1e-9);
}

}  // namespace
}  // namespace ergon::run
