// What sensors say: boxcar windows, update times, gain, noise, counter ticks.
#include "ergon/sim/sensor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim_test.hpp"

namespace ergon::sim {
namespace {

// A square wave of power at the default clock: `high_s` of 300 W, `low_s` of 100 W.
void play_square(TestBoard& board, double high_s, double low_s, std::uint32_t repeat) {
  const Phase phases[] = {{high_s, 0.5, 0.5, 300}, {low_s, 0, 0, 100}};
  const int slot = board.view().attach(1, 1, at(1));
  board.view().start(slot, phases, repeat, at(1));
}

TEST(Sensor, AReadingIsTheMeanOverTheWindowBeforeTheUpdate) {
  TestBoard board("a100", 11, 0, 1.0);
  play_square(board, 0.035, 0.045, 200);
  double worst = 0;
  for (int k = 0; k < 120; ++k) {
    const Nanoseconds now = at(2 + 0.1 * k);
    board.view().advance(now);
    const Reading reading = *power_reading(board.view(), PowerReading::kInstant, now);
    EXPECT_LE(reading.at, now);
    EXPECT_GT(reading.at, now - at(0.1));
    // The mean of the square wave over the 25 ms before the update, by its definition.
    double sum = 0;
    for (int i = 0; i < 250; ++i) {
      const double t = std::fmod(seconds(reading.at) - 0.025 + 0.0001 * (i + 0.5) - 1, 0.08);
      sum += t < 0.035 ? 300 : 100;
    }
    worst = std::max(worst, std::abs(reading.value - sum / 250));
  }
  EXPECT_LT(worst, 3.5 * (0.002 * 300 + 0.1) + 1.7);
}

TEST(Sensor, ReadingsChangeOncePerPeriod) {
  const std::pair<const char*, std::size_t> expected[] = {
      {"v100", 150}, {"a100", 30}, {"h100", 30}, {"l4", 30}};
  for (const auto& [model, updates] : expected) {
    TestBoard board(model, 5);
    std::set<Nanoseconds> times;
    for (int k = 0; k < 3000; ++k) {
      board.view().advance(at(0.001 * k));
      times.insert(power_reading(board.view(), PowerReading::kInstant, at(0.001 * k))->at);
    }
    EXPECT_NEAR(static_cast<double>(times.size()), static_cast<double>(updates), 1) << model;
  }
}

TEST(Sensor, TheAverageOfHopperLooksBackOneSecond) {
  TestBoard board("h100", 5, 0, 1.0);
  const Phase phase{10, 0.5, 0.5, 400};
  const int slot = board.view().attach(1, 1, at(5));
  board.view().start(slot, std::span(&phase, 1), 1, at(5));
  board.view().advance(at(5.55));
  const double idle = board.view().mark_at(at(4)).energy_j - board.view().mark_at(at(3)).energy_j;
  const Reading half = *power_reading(board.view(), PowerReading::kAverage, at(5.55));
  const double share = seconds(half.at - at(5));
  EXPECT_NEAR(half.value, 400 * share + idle * (1 - share), 4);
  board.view().advance(at(7));
  EXPECT_NEAR(power_reading(board.view(), PowerReading::kAverage, at(7))->value, 400, 4);
}

TEST(Sensor, VoltaAndGa100HaveNoAverage) {
  for (const char* model : {"v100", "a100"}) {
    TestBoard board(model, 5);
    EXPECT_FALSE(power_reading(board.view(), PowerReading::kAverage, at(1))) << model;
    EXPECT_FALSE(memory_power_reading(board.view(), PowerReading::kInstant, at(1))) << model;
  }
}

TEST(Sensor, TheCounterTicksAndHoldsTheTruthTimesItsGain) {
  const std::pair<const char*, double> periods[] = {{"v100", 0.02}, {"a100", 0.1}, {"l4", 0.099}};
  for (const auto& [model, period] : periods) {
    TestBoard board(model, 21);
    play_square(board, 0.013, 0.031, 500);
    std::vector<Reading> ticks;
    for (int k = 0; k < 10000; ++k) {
      const Nanoseconds now = at(1 + 0.001 * k);
      board.view().advance(now);
      const Reading reading = counter_reading(board.view(), now);
      ASSERT_LE(reading.at, now);
      if (ticks.empty() || ticks.back().at != reading.at) ticks.push_back(reading);
    }
    const double mean =
        seconds(ticks.back().at - ticks.front().at) / static_cast<double>(ticks.size() - 1);
    EXPECT_NEAR(mean, period, period * 0.01) << model;
    const double truth = board.view().mark_at(ticks.back().at).energy_j -
                         board.view().mark_at(ticks.front().at).energy_j;
    const double counted = ticks.back().value - ticks.front().value;
    EXPECT_NEAR(counted / truth, 1, 0.0035) << model;
    EXPECT_NEAR(counted / truth, board.view().board().counter_gain, 1e-9) << model;
  }
}

TEST(Sensor, SeedsChangePhaseGainAndNoiseAndNothingElse) {
  std::set<double> phases;
  std::set<double> gains;
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TestBoard board("a100", seed);
    phases.insert(board.view().board().sensor_phase);
    gains.insert(board.view().board().gain);
    sum += board.view().board().gain - 1;
    EXPECT_LE(std::abs(board.view().board().gain - 1), 0.003);
  }
  EXPECT_EQ(phases.size(), 50U);
  EXPECT_EQ(gains.size(), 50U);
  EXPECT_LT(std::abs(sum / 50), 0.001);
  TestBoard a("a100", 9);
  TestBoard b("a100", 9);
  EXPECT_EQ(power_reading(a.view(), PowerReading::kInstant, at(3))->value,
            power_reading(b.view(), PowerReading::kInstant, at(3))->value);
}

TEST(Sensor, SamplesAreTheReadingsThatPassed) {
  TestBoard board("v100", 2);
  play_square(board, 0.2, 0.2, 10);
  board.view().advance(at(3));
  const auto samples = power_readings(board.view(), PowerReading::kInstant, at(2), at(3), 120);
  ASSERT_NEAR(static_cast<double>(samples.size()), 50, 1);
  EXPECT_EQ(samples.back().value,
            power_reading(board.view(), PowerReading::kInstant, at(3))->value);
}

TEST(Sensor, UtilizationFollowsTheWork) {
  TestBoard board("a100", 2);
  EXPECT_EQ(utilization(board.view(), at(0.5)).busy, 0);
  const Phase phase{2, 0.5, 0.6, -1};
  board.view().start(board.view().attach(1, 1, at(1)), std::span(&phase, 1), 1, at(1));
  board.view().advance(at(2));
  EXPECT_DOUBLE_EQ(utilization(board.view(), at(2)).busy, 1);
  EXPECT_NEAR(utilization(board.view(), at(2)).memory, 0.6, 1e-9);
  board.view().advance(at(4));
  EXPECT_EQ(utilization(board.view(), at(4)).busy, 0);
}

}  // namespace
}  // namespace ergon::sim
