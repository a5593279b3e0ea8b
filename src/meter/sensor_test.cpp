// Period, tick, scatter and averaging window of sensors.
#include <gtest/gtest.h>

#include "renewals.hpp"
#include "synthetic_test.hpp"

namespace ergon::meter {
namespace {

using testing::play;
using testing::SyntheticSensor;
using testing::Truth;

TEST(Refreshes, RepeatsAreNoNewReadings) {
  const std::vector<Nanos> t = {0, 10, 20, 30, 40, 50, 60};
  const std::vector<double> v = {5, 5, 6, 6, kMissing, 6, 7};
  const auto r = refreshes(t, v);
  ASSERT_EQ(r.size(), 3U);
  EXPECT_TRUE(r[0].first);
  EXPECT_EQ(r[1].after_ns, 10);
  EXPECT_EQ(r[1].by_ns, 20);
  EXPECT_EQ(r[2].after_ns, 50);
  EXPECT_EQ(r[2].by_ns, 60);
}

TEST(Sensor, PeriodAndTickAreTheMedianTimeBetweenChanges) {
  for (const double period : {0.02, 0.1, 0.104}) {
    SyntheticSensor sensor;
    sensor.period_s = period;
    sensor.tick_s = 0.099;
    sensor.poll_s = period / 8;
    sensor.poll_jitter_s = period / 40;
    const Series s = play({{{0, 80}, {5, 250}}}, 10, sensor, 3);
    const SensorModel m = estimate_sensor(s);
    ASSERT_TRUE(m.update_period_s && m.energy_tick_s);
    EXPECT_NEAR(m.update_period_s->value, period, period * 0.03);
    EXPECT_NEAR(m.energy_tick_s->value, 0.099, 0.003);
    EXPECT_FALSE(m.period_hidden);
    EXPECT_NEAR(m.noise_w, 0.5, 0.25);
  }
}

TEST(Sensor, RenewalsThatGiveTheSameValueDoNotDoubleThePeriod) {
  SyntheticSensor sensor;
  sensor.resolution_w = 1;  // with noise of half a watt every third renewal repeats
  const Series s = play({{{0, 80}}}, 30, sensor, 4);
  const SensorModel m = estimate_sensor(s);
  ASSERT_TRUE(m.update_period_s);
  EXPECT_NEAR(m.update_period_s->value, 0.1, 0.005);
  EXPECT_DOUBLE_EQ(m.power_step_w, 1);
}

TEST(Sensor, ReadTooSeldomThePeriodIsOnlyAnUpperBound) {
  SyntheticSensor sensor;
  sensor.poll_s = 1;
  const Series s = play({{{0, 80}}}, 60, sensor, 4);
  const SensorModel m = estimate_sensor(s);
  ASSERT_TRUE(m.update_period_s);
  EXPECT_TRUE(m.period_hidden);
}

TEST(Sensor, TwoChangesTellNoPeriod) {
  SyntheticSensor sensor;
  sensor.noise_w = 0;
  const Series s = play({{{0, 80}, {1, 90}}}, 2, sensor, 4);
  EXPECT_FALSE(estimate_sensor(s).update_period_s);
}

TEST(Sensor, RenewalsArePlacedWithinTheReadsThatBracketThem) {
  const Series s = play({{{0, 80}, {2, 200}}}, 4, {}, 9);
  const auto all = refreshes(s.time_ns, s.power_w);
  const auto placed = place(all, 0.1e9, s.time_ns.front());
  ASSERT_EQ(placed.size(), all.size());
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_GE(placed[i].at_ns, static_cast<double>(all[i].after_ns));
    EXPECT_LE(placed[i].at_ns, static_cast<double>(all[i].by_ns));
  }
}

TEST(Sensor, TheAveragingWindowIsFoundAgainstAMeterInAnotherTimeZone) {
  Truth truth;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> power(60, 300);
  for (double t = 0; t < 20; t += 0.013) truth.steps.emplace_back(t, power(random));
  for (const double window : {0.025, 0.06}) {
    SyntheticSensor sensor;
    sensor.window_s = window;
    const Series s = play(truth, 20, sensor, 6);
    Reference meter;
    constexpr double kHour = 3600;
    for (double t = 1; t < 19; t += 0.001) {
      meter.time_ns.push_back(static_cast<Nanos>(std::llround((t - kHour) * 1e9)));
      meter.power_w.push_back(truth.energy(t - 0.0005, t + 0.0005) / 0.001 * 1.05 + 4);
    }
    const auto fit = fit_window(s, meter);
    ASSERT_TRUE(fit) << fit.error().message;
    EXPECT_NEAR(fit->window.si(), window, 0.004);
    EXPECT_NEAR(fit->gain, 1 / 1.05, 0.02);
    EXPECT_DOUBLE_EQ(fit->clock_shift.si(), -kHour);
    EXPECT_NEAR(fit->lag.si(), 0, 0.006);
  }
}

// A load that steps every 0.6 to 0.8 s.
Truth square(double length_s, unsigned seed) {
  Truth truth;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> phase(0.6, 0.8);
  bool busy = false;
  for (double t = 0; t < length_s; t += phase(random)) {
    truth.steps.emplace_back(t, busy ? 280 : 90);
    busy = !busy;
  }
  return truth;
}

TEST(Sensor, TheAveragingWindowIsFoundFromTheBoardsOwnCounter) {
  for (const double window : {0.025, 0.1, 1.0}) {
    SyntheticSensor sensor;
    sensor.window_s = window;
    sensor.poll_s = 0.002;
    sensor.poll_jitter_s = 0.0004;
    const auto fit = fit_own_window(play(square(20, 3), 20, sensor, 6));
    ASSERT_TRUE(fit) << window << ": " << fit.error().message;
    EXPECT_NEAR(fit->window_s.value, window, 0.003 + 0.03 * window);
    EXPECT_LE(fit->window_s.low, window);
    EXPECT_GE(fit->window_s.high, window);
    EXPECT_LT(fit->window_s.high - fit->window_s.low, 0.012 + 0.1 * window);
    EXPECT_GE(fit->steps, 15U);
  }
}

TEST(Sensor, TheAveragingWindowOfAFastSensor) {
  for (const double window : {0.005, 0.1}) {
    SyntheticSensor sensor;
    sensor.period_s = sensor.tick_s = 0.001;
    sensor.window_s = window;
    sensor.poll_s = 0.00026;
    sensor.poll_jitter_s = 0.00003;
    const auto fit = fit_own_window(play(square(7, 3), 7, sensor, 6));
    ASSERT_TRUE(fit) << window << ": " << fit.error().message;
    EXPECT_NEAR(fit->window_s.value, window, 0.001 + 0.05 * window);
    EXPECT_LE(fit->window_s.low, window);
    EXPECT_GE(fit->window_s.high, window);
  }
}

TEST(Sensor, TheOwnWindowOfAQuietBoardIsUnknownWithTheReason) {
  SyntheticSensor sensor;
  sensor.poll_s = 0.002;
  sensor.poll_jitter_s = 0.0004;
  const auto why = [&](const Truth& truth, auto change) {
    Series series = play(truth, 8, sensor, 2);
    change(series);
    const auto fit = fit_own_window(series);
    return fit ? std::string("known") : fit.error().message;
  };
  const auto as_it_is = [](Series&) {};
  EXPECT_EQ(why({{{0, 80}}}, as_it_is), "nothing ran: the power did not change");
  EXPECT_NE(why({{{0, 80}, {2, 200}, {4, 80}}}, as_it_is).find("only 2 clean steps"),
            std::string::npos);
  EXPECT_NE(why(square(8, 1), [](Series& s) { s.energy_j.clear(); }).find("no energy counter"),
            std::string::npos);
  // Every step at the same place between two renewals: nothing is learnt, wherever it is.
  for (const double place : {0.0, 0.013, 0.031, 0.05, 0.077, 0.09}) {
    Truth locked;
    for (int k = 0; k < 24; ++k) locked.steps.emplace_back(0.5 * k + place, k % 2 == 0 ? 90 : 280);
    EXPECT_NE(why(locked, as_it_is).find("in step with the sensor"), std::string::npos) << place;
  }
  sensor.poll_s = 0.09;
  EXPECT_NE(why(square(8, 1), as_it_is).find("too seldom"), std::string::npos);
}

TEST(Sensor, PublishedFiguresByName) {
  EXPECT_EQ(published_sensor("NVIDIA A100-SXM4-40GB")->averaging_window, Seconds(0.025));
  EXPECT_EQ(published_sensor("Tesla V100-PCIE-32GB")->update_period, Seconds(0.02));
  EXPECT_EQ(published_sensor("NVIDIA H100 80GB HBM3", true)->averaging_window, Seconds(1));
  EXPECT_EQ(published_sensor("NVIDIA GH200 480GB")->averaging_window, Seconds(0.02));
  EXPECT_EQ(published_sensor("NVIDIA GeForce RTX 4090")->averaging_window, Seconds(0.1));
  EXPECT_EQ(published_sensor("NVIDIA L4")->averaging_window, Seconds(0.1));
  EXPECT_FALSE(published_sensor("NVIDIA A100-SXM4-40GB", true));
  EXPECT_FALSE(published_sensor("AMD Instinct MI300X"));
}

TEST(Sensor, AMeterOfAnotherDayIsRefused) {
  const Series s = play({{{0, 80}}}, 20, {}, 6);
  Reference meter;
  for (int i = 0; i < 1000; ++i) {
    meter.time_ns.push_back(Nanos{1000000} * i + Nanos{1000000000} * 200000);
    meter.power_w.push_back(70);
  }
  const auto fit = fit_window(s, meter);
  ASSERT_FALSE(fit);
  EXPECT_NE(fit.error().message.find("do not overlap"), std::string::npos);
}

}  // namespace
}  // namespace ergon::meter
