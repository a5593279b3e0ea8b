// The chain solver against exhaustive search, and its bound on longer chains.
#include "chain.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "evaluate.hpp"
#include "exhaustive.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

Problem chain_of(std::uint64_t seed) {
  Problem problem = testing::random_small(seed, {.max_gpus = 1, .max_packs = 7, .max_clocks = 4});
  for (Pack& p : problem.packs) p.after.clear();
  return problem;
}

TEST(Chain, equals_exhaustive_search) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Problem problem = chain_of(seed);
    ASSERT_TRUE(is_chain(problem));
    const testing::Extremes ends = testing::extremes(problem, 0);
    testing::Random r(seed);
    const double deadline =
        ends.fastest_s == std::numeric_limits<double>::infinity()
            ? 1.0
            : ends.fastest_s + (ends.slowest_s - ends.fastest_s) * r.uniform(-0.1, 0.9);
    const testing::Extremes best = testing::extremes(problem, deadline);
    const auto found = solve_chain(problem, deadline, {});
    if (best.energy_j == std::numeric_limits<double>::infinity()) {
      ASSERT_FALSE(found) << seed;
      EXPECT_EQ(found.error().code, Errc::kInfeasible);
      if (ends.fastest_s < 1e9) {
        ASSERT_EQ(found.error().figures.size(), 2U);
        EXPECT_NEAR(found.error().figures[0].second, ends.fastest_s, 1e-12);
        EXPECT_NEAR(found.error().figures[1].second,
                    testing::extremes(problem, ends.fastest_s).energy_j, 1e-9);
      }
      continue;
    }
    ASSERT_TRUE(found) << seed << found.error().message;
    ++compared;
    const Evaluation again = evaluate(problem, found->choice);
    EXPECT_EQ(again.energy_j, found->value.energy_j);
    EXPECT_TRUE(again.runs_long_enough) << seed;
    EXPECT_LE(again.time_s, latest_end(deadline)) << seed;
    EXPECT_NEAR(found->value.energy_j, best.energy_j, 1e-10 * best.energy_j) << seed;
    EXPECT_LE(found->lower_bound_j, best.energy_j) << seed;
    EXPECT_TRUE(found->optimal) << seed;
  }
  EXPECT_GT(compared, 1000);
}

TEST(Chain, waits_that_can_bind_are_no_chain) {
  Problem p = testing::random_chain(1, {.packs = 3, .clocks = 2, .switching = {}});
  p.packs[2].after = {{.pack = 1, .lag_s = 0}, {.pack = 0, .lag_s = 0.001}};
  EXPECT_TRUE(is_chain(p));
  p.packs[2].after[0].lag_s = 0.001;
  EXPECT_FALSE(is_chain(p));
}

TEST(Chain, an_idle_gpu_beside_it_makes_time_dearer) {
  Problem p = testing::random_chain(3, {.packs = 6, .clocks = 4, .switching = {0.002, 0.05, 0}});
  p.gpus.push_back({.id = "beside", .idle_power_w = 400});
  const testing::Extremes best = testing::extremes(p, 1);
  const auto found = solve_chain(p, 1, {});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->value.energy_j, best.energy_j, 1e-9);
}

TEST(Chain, certifies_long_chains_with_dear_changes) {
  for (const bool repeats : {false, true}) {
    for (const double min_run : {0.0, 0.1}) {
      const Problem p = testing::random_chain(
          5, {.packs = 300, .clocks = 12, .switching = {0.010, 0.5, min_run}, .repeats = repeats});
      const double deadline = 1.03 * evaluate(p, default_choice(p)).time_s;
      const auto found = solve_chain(p, deadline, {.target_gap = 1e-5});
      ASSERT_TRUE(found);
      EXPECT_LE(found->value.time_s, latest_end(deadline));
      EXPECT_TRUE(found->value.runs_long_enough);
      EXPECT_GE(found->lower_bound_j, 0.99998 * found->value.energy_j) << repeats << min_run;
      EXPECT_LE(found->lower_bound_j, found->value.energy_j);
    }
  }
}

}  // namespace
}  // namespace ergon::plan
