// Two ranks that share a collective: the early one's slack is found, the default makespan is kept.
#include "ergon/plan/merge.hpp"

#include <gtest/gtest.h>

namespace ergon::plan {
namespace {

// A rank computes for `compute` seconds, then a collective of 2 ms that begins when the last rank
// is there, then 1 ms of work on its result.
std::string rank_file(double compute, double wait) {
  const auto t = [](double v) { return std::to_string(v); };
  const auto option = [&](double time, double energy, double own) {
    return "[{\"clock_hz\":1e9,\"time_s\":" + t(time * 1.5) + ",\"energy_j\":" + t(energy * 0.8) +
           ",\"own_time_s\":" + t(own) + "},{\"clock_hz\":2e9,\"time_s\":" + t(time) +
           ",\"energy_j\":" + t(energy) + ",\"own_time_s\":" + t(own) + "}]";
  };
  return R"({"schema":"ergon.packs/1","gpus":[{"id":"0","idle_power_w":50}],
    "switch":{"time_s":0,"energy_j":0,"min_run_s":0},"repeats":false,
    "collective_s":{"pg#1":)" +
         t(wait) + R"(},
    "packs":[{"id":"a","gpu":"0","after":[],"options":)" +
         option(compute, 3, compute) + R"(},
      {"id":"b","gpu":"0","after":[],"collectives_started":["pg#1"],"options":)" +
         option(wait, 0.1, 0) + R"(},
      {"id":"c","gpu":"0","after":[],"collectives_awaited":["pg#1"],"options":)" +
         option(0.001, 0.2, 0.001) + "}]}";
}

TEST(Merge, TheLastRankSetsThePaceAndTheOtherHasSlack) {
  auto slow = read_rank_packs(rank_file(0.010, 0.002), "slow");
  auto fast = read_rank_packs(rank_file(0.006, 0.006), "fast");
  ASSERT_TRUE(slow && fast) << slow.error().message;
  const auto merged = merge_ranks({*slow, *fast});
  ASSERT_TRUE(merged.has_value()) << merged.error().message;
  EXPECT_EQ(merged->coupled, 1U);
  const Problem& job = merged->problem;
  const Evaluation base = evaluate(job, default_choice(job));
  EXPECT_NEAR(base.time_s, 0.013, 1e-12);
  // Only the fast rank's first pack may run at the low clock (9 ms) without moving the end.
  Choice choice = default_choice(job);
  for (std::size_t i = 0; i < job.packs.size(); ++i) {
    if (job.packs[i].id == "1.a") choice[i] = 0;
  }
  EXPECT_NEAR(evaluate(job, choice).time_s, 0.013, 1e-12);
  for (std::size_t i = 0; i < job.packs.size(); ++i) {
    if (job.packs[i].id == "0.a") choice[i] = 0;
  }
  EXPECT_NEAR(evaluate(job, choice).time_s, 0.018, 1e-12);
}

TEST(Merge, TheDearestChangeOfClockCounts) {
  auto a = read_rank_packs(rank_file(0.010, 0.002), "a");
  auto b = read_rank_packs(rank_file(0.010, 0.002), "b");
  ASSERT_TRUE(a && b);
  a->problem.switching = {.time_s = 0.001, .energy_j = 0.7, .min_run_s = 0.1};
  b->problem.switching = {.time_s = 0.002, .energy_j = 0.5, .min_run_s = 0.2};
  const auto merged = merge_ranks({*a, *b});
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->problem.switching.time_s, 0.002);
  EXPECT_EQ(merged->problem.switching.energy_j, 0.7);
  EXPECT_EQ(merged->problem.switching.min_run_s, 0.2);
}

TEST(Merge, StepsThatRepeatAndOthersAreRefused) {
  auto a = read_rank_packs(rank_file(0.010, 0.002), "a");
  auto b = read_rank_packs(rank_file(0.010, 0.002), "b");
  ASSERT_TRUE(a && b);
  b->problem.repeats = true;
  const auto merged = merge_ranks({*a, *b});
  ASSERT_FALSE(merged.has_value());
  EXPECT_NE(merged.error().message.find("b repeats, unlike a"), std::string::npos);
}

TEST(Merge, OneFileIsLeftAsItIs) {
  auto a = read_rank_packs(rank_file(0.010, 0.002), "a");
  ASSERT_TRUE(a.has_value());
  const auto merged = merge_ranks({*a});
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->problem.packs.front().id, "a");
  EXPECT_EQ(merged->problem.packs[1].options[1].time_s, 0.002);
}

}  // namespace
}  // namespace ergon::plan
