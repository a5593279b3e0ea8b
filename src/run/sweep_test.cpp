// The points of a sweep and what makes them count.
#include "ergon/run/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ergon::run {
namespace {

std::vector<Hertz> megahertz(std::initializer_list<double> list) {
  std::vector<Hertz> clocks;
  for (const double clock : list) clocks.emplace_back(clock * 1e6);
  return clocks;
}

TEST(SweepPlan, EveryPointOnceBaselinesRound) {
  SweepGrid grid;
  grid.core = megahertz({510, 960, 1410});
  grid.parameters = {{"batch", {"16", "32"}}};
  const auto plan = plan_sweep(grid, 1, 2);
  const auto is_baseline = [](const PlannedPoint& point) { return point.baseline; };
  // Six points; two baselines before and after, one after every second point but the last.
  ASSERT_EQ(plan.size(), 6U + 2 + 2 + 2);
  EXPECT_TRUE(std::all_of(plan.begin(), plan.begin() + 2, is_baseline));
  EXPECT_TRUE(std::all_of(plan.end() - 2, plan.end(), is_baseline));
  EXPECT_EQ(std::count_if(plan.begin(), plan.end(), is_baseline), 6);
  std::vector<std::string> seen;
  for (const auto& point : plan) {
    if (!point.baseline) seen.push_back(to_string(point.setting));
  }
  std::ranges::sort(seen);
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_EQ(std::ranges::unique(seen).begin(), seen.end());
  EXPECT_EQ(to_string(plan.front().setting), "driver's own clocks, batch=16");
}

TEST(SweepPlan, TheSeedDecidesTheOrder) {
  SweepGrid grid;
  for (int i = 0; i < 20; ++i) grid.core.emplace_back(500e6 + i * 15e6);
  const auto order = [&](std::uint64_t seed) {
    std::vector<double> clocks;
    for (const auto& point : plan_sweep(grid, seed, 0)) {
      if (point.setting.core) clocks.push_back(point.setting.core->si());
    }
    return clocks;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
  EXPECT_FALSE(std::ranges::is_sorted(order(1)));
  EXPECT_EQ(order(1).front(), order(1).front());
}

TEST(SweepPlan, WithoutControlsThereIsNoBaselineApart) {
  SweepGrid grid;
  grid.parameters = {{"batch", {"16", "32"}}};
  EXPECT_EQ(plan_sweep(grid, 1, 2).size(), 2U);
}

TEST(SweepClocks, ListsRangesAndAll) {
  const auto supported = megahertz({210, 510, 525, 960, 1395, 1410});
  EXPECT_EQ(clocks_of("all", supported)->size(), 6U);
  EXPECT_EQ(*clocks_of("1410MHz,0.51GHz", supported), megahertz({510, 1410}));
  EXPECT_EQ(*clocks_of("510MHz:1410MHz:3", supported), megahertz({510, 960, 1410}));
  EXPECT_EQ(clocks_of("510MHz:530MHz:9", supported)->size(), 2U);
  const auto wrong = clocks_of("500MHz", supported);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().hint.find("510 MHz"), std::string::npos);
  for (const char* bad : {"", "1410", "510MHz:1410MHz", "1410MHz:510MHz:3", "1MHz:2MHz:0", "x",
                          "510MHz,,960MHz", "-5MHz"})
    EXPECT_FALSE(clocks_of(bad, supported)) << bad;
  EXPECT_EQ(*clocks_of("1000MHz", {}), megahertz({1000}));
  EXPECT_FALSE(clocks_of("all", {}));
}

TEST(SweepLimits, LieBetweenTheBoards) {
  EXPECT_EQ(limits_of("150W,300W", Watts(100), Watts(400))->size(), 2U);
  EXPECT_EQ(limits_of("150W:300W:4", Watts(100), Watts(400))->at(1).si(), 200);
  EXPECT_FALSE(limits_of("50W", Watts(100), Watts(400)));
  EXPECT_FALSE(limits_of("500W", Watts(100), Watts(400)));
  EXPECT_FALSE(limits_of("300", Watts(100), Watts(400)));
}

TEST(SweepParameters, ReplaceTheirNames) {
  const auto axis = axis_of("batch=16,32");
  ASSERT_TRUE(axis);
  EXPECT_EQ(axis->values.size(), 2U);
  for (const char* bad : {"batch", "=1", "batch=", "batch=1,,2", "batch=1,1", "a b=1"})
    EXPECT_FALSE(axis_of(bad)) << bad;
  Setting setting;
  setting.parameters = {{"batch", "16"}, {"net", "{batch}"}};
  EXPECT_EQ(substitute({"--b={batch}", "{net}{net}", "{other}"}, setting),
            (std::vector<std::string>{"--b=16", "{batch}{batch}", "{other}"}));
  EXPECT_TRUE(mentions({"a", "x{batch}"}, "batch"));
  EXPECT_FALSE(mentions({"batch"}, "batch"));
}

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    setting_.core = Hertz(1410e6);
    evidence_.clock_hz = 1410e6;
    evidence_.memory_clock_hz = evidence_.memory_clock_least_hz = evidence_.memory_clock_most_hz =
        1215e6;
    evidence_.temperature_low_c = 60;
    evidence_.temperature_high_c = 62;
    evidence_.throttled_share = 0;
    evidence_.periods = 30;
    evidence_.energy_known = true;
  }
  std::vector<std::string> objected() const { return objections(setting_, evidence_, {}); }
  void expect(const std::string& part) const {
    const auto found = objected();
    ASSERT_EQ(found.size(), 1U) << part;
    EXPECT_NE(found.front().find(part), std::string::npos) << found.front();
  }
  Setting setting_;
  PointEvidence evidence_;
};

TEST_F(JudgeTest, APointThatProvesItselfCounts) {
  EXPECT_TRUE(objected().empty());
  evidence_.clock_hz = 1395e6;  // one step
  EXPECT_TRUE(objected().empty());
}

// 36: a lock that is accepted but not enforced.
TEST_F(JudgeTest, failure_36_lock_accepted_but_not_held) {
  evidence_.clock_hz = 1350e6;
  expect("the core ran at 1350 MHz, asked 1410 MHz");
  evidence_.clock_hz.reset();
  expect("cannot be read");
}

// 37, 38: the memory clock moves under a core lock, or was never moved.
TEST_F(JudgeTest, failure_38_memory_clock_drifts) {
  evidence_.memory_clock_least_hz = 810e6;
  expect("did not hold: 810 MHz to 1215 MHz");
  evidence_.memory_clock_least_hz = 1215e6;
  setting_.memory = Hertz(810e6);
  expect("the memory ran at 1215 MHz, asked 810 MHz");
}

// 41: a power cap below what the clock needs; it is no fault where it was asked for.
TEST_F(JudgeTest, failure_41_power_cap) {
  evidence_.throttle_bits = gpu::reason::kPowerCap;
  evidence_.throttled_share = 0.2;
  expect("throttled: power cap");
  setting_.limit = Watts(250);
  EXPECT_TRUE(objected().empty());
  evidence_.throttle_bits |= 0x400;
  expect("throttled: unknown 0x400");
  evidence_.power_limit_w = 300;
  EXPECT_EQ(objected().size(), 2U);
}

TEST_F(JudgeTest, TemperatureWindowEnergy) {
  evidence_.temperature_high_c = 65;
  expect("from 60 to 65 °C");
  evidence_.temperature_high_c = 60;
  evidence_.periods = 4.5;
  expect("4.5 refresh periods");
  evidence_.periods = 30;
  evidence_.energy_known = false;
  evidence_.why_unknown = "the counter stood still";
  expect("the counter stood still");
}

TEST(Evidence, ClocksCountWhileBusy) {
  meter::Series series;
  for (int i = 0; i < 20; ++i) {
    series.time_ns.push_back(Nanos{i} * 100'000'000);
    const bool busy = i >= 5 && i < 15;
    series.clock_hz.push_back(busy ? 1410e6 : 210e6);
    series.memory_clock_hz.push_back(1215e6);
    series.utilization.push_back(busy ? 1.0 : 0.0);
    series.temperature_c.push_back(50 + i);
  }
  GpuResult result;
  const auto evidence = evidence_of(series, result, {0, 1'900'000'000});
  EXPECT_EQ(evidence.clock_hz, 1410e6);
  EXPECT_EQ(evidence.temperature_low_c, 50);
  EXPECT_EQ(evidence.temperature_high_c, 69);
  series.utilization.clear();
  EXPECT_EQ(evidence_of(series, result, {0, 400'000'000}).clock_hz, 210e6);
}

TEST(SweepClocks, OfSeveralGpusAreOneOnlyWhereTheyAgree) {
  EXPECT_EQ(one_clock({1410e6, 1410e6}), 1410e6);
  EXPECT_EQ(one_clock({1410e6, std::nullopt}), 1410e6);
  EXPECT_EQ(one_clock({1400e6, 1410e6}), 1405e6);
  EXPECT_FALSE(one_clock({1410e6, 210e6}).has_value());
  EXPECT_FALSE(one_clock({}).has_value());
}

}  // namespace
}  // namespace ergon::run
