// What a sweep tells of its points: drifting baselines, how far a run can be slowed down, tables.
#include <gtest/gtest.h>

#include <cmath>

#include "sweep_parts.hpp"

namespace ergon::cli {
namespace {

SweepRow row_of(std::optional<double> core_hz, double joules, double half, double achieved_hz) {
  SweepRow row;
  row.baseline = !core_hz.has_value();
  if (core_hz) row.setting.core = Hertz(*core_hz);
  row.state = "done";
  row.valid = true;
  row.runs = 1;
  row.time_s = Estimate{2, 2, 2, Origin::kMeasured};
  row.energy_j = Estimate{joules, joules - half, joules + half, Origin::kMeasured};
  row.clock_hz = achieved_hz;
  return row;
}

TEST(SweepBaselines, RepeatsThatLieApartByMoreThanTheirIntervalsAreFlagged) {
  const auto close = baselines_of({row_of({}, 100, 2, 1.41e9), row_of({}, 101, 2, 1.41e9)});
  ASSERT_EQ(close.size(), 1U);
  EXPECT_FALSE(close[0].beyond_intervals);
  EXPECT_FALSE(close[0].clocks_differ);
  const auto apart = baselines_of({row_of({}, 100, 0.4, 1.41e9), row_of({}, 101, 0.4, 1.41e9)});
  EXPECT_TRUE(apart[0].beyond_intervals);
  const auto one = baselines_of({row_of({}, 100, 0.4, 1.41e9)});
  EXPECT_FALSE(one[0].beyond_intervals);
  EXPECT_FALSE(one[0].spread);
}

TEST(SweepBaselines, RepeatsAtOtherClocksAreFlagged) {
  const auto found = baselines_of({row_of({}, 100, 2, 1.41e9), row_of({}, 100, 2, 1.29e9)});
  EXPECT_TRUE(found[0].clocks_differ);
  ASSERT_TRUE(found[0].clock_spread_hz);
  EXPECT_NEAR(*found[0].clock_spread_hz, 120e6, 1);
  const auto step = baselines_of({row_of({}, 100, 2, 1.41e9), row_of({}, 100, 2, 1.40e9)});
  EXPECT_FALSE(step[0].clocks_differ);
}

TEST(SweepReach, TimeGrowsAsOneOverEachClockAtMost) {
  const SweepReach reach{
      .highest_core_hz = 1.4e9, .lowest_core_hz = 0.2e9, .highest_memory_hz = 1.2e9};
  run::Setting setting;
  EXPECT_EQ(reach.most_slowdown(setting), 1);
  setting.core = Hertz(0.7e9);
  EXPECT_NEAR(reach.most_slowdown(setting), 2, 1e-12);
  setting.memory = Hertz(0.4e9);
  EXPECT_NEAR(reach.most_slowdown(setting), 6, 1e-12);
  setting = {};
  setting.limit = Watts(150);
  EXPECT_NEAR(reach.most_slowdown(setting), 7, 1e-12);
  EXPECT_TRUE(std::isinf(SweepReach{}.most_slowdown(setting)));
}

SweepAnswer swept() {
  SweepAnswer sweep;
  gpu::Identity board;
  board.id = "0";
  board.name = "NVIDIA A100-SXM4-40GB";
  board.simulated = true;
  sweep.gpus.push_back(board);
  sweep.rows = {row_of({}, 810, 3, 1.41e9), row_of(1.1e9, 612.305, 2.8, 1.1e9),
                row_of(0.8e9, 640, 3, 0.9e9)};
  sweep.rows[2].valid = false;
  sweep.rows[2].reason =
      "the core ran at 900 MHz, asked 800 MHz; the memory clock did not hold: 810 MHz to 1215 MHz; "
      "the run spans 4.5 refresh periods of the sensor, 20 are needed";
  return sweep;
}

TEST(SweepAnswer, ReasonsStandBelowATableThatFitsAHundredColumns) {
  const Answer answer = sweep_answer(swept());
  EXPECT_NE(answer.headline.find("NVIDIA A100-SXM4-40GB (simulated)"), std::string::npos);
  ASSERT_GE(answer.tables.size(), 2U);
  const Table& points = answer.tables[0];
  ASSERT_EQ(points.rows.size(), 3U);
  EXPECT_EQ(*points.rows[1].back().as_string(), "yes");
  EXPECT_EQ(*points.rows[2].back().as_string(), "no (1)");
  const Table& reasons = answer.tables[1];
  EXPECT_EQ(reasons.rows.size(), 3U) << "a line a clause";
  for (const auto& row : reasons.rows) EXPECT_LE(row[1].as_string()->size(), 90U);
}

TEST(SweepAnswer, ThePageHoldsEveryPointWithItsInterval) {
  const Answer answer = sweep_answer(swept());
  const Value* sweep = answer.page.find("sweep");
  ASSERT_NE(sweep, nullptr);
  const auto& groups = *sweep->find("groups")->as_array();
  ASSERT_EQ(groups.size(), 1U);
  const auto& points = *groups[0].find("points")->as_array();
  ASSERT_EQ(points.size(), 3U);
  EXPECT_TRUE(*points[0].find("baseline")->as_bool());
  EXPECT_TRUE(*points[1].find("best")->as_bool());
  EXPECT_NEAR(*points[1].find("energy_low_j")->as_double(), 609.505, 1e-9);
  EXPECT_FALSE(*points[2].find("valid")->as_bool());
  EXPECT_NE(points[2].find("reason")->as_string()->find("asked 800 MHz"), std::string::npos);
}

}  // namespace
}  // namespace ergon::cli
