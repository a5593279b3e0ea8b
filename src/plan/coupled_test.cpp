// Bounds and plans of the coupled solver against exhaustive search.
#include "coupled.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "evaluate.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

struct Truth {
  double energy_j = std::numeric_limits<double>::infinity();
  double fastest_s = std::numeric_limits<double>::infinity();
};

Truth truth_of(const Problem& problem, double deadline_s) {
  Truth out;
  testing::for_each_choice(problem, [&](const Choice& choice) {
    const Evaluation value = evaluate(problem, choice);
    if (!value.runs_long_enough) return;
    out.fastest_s = std::min(out.fastest_s, value.time_s);
    if (value.time_s <= latest_end(deadline_s))
      out.energy_j = std::min(out.energy_j, value.energy_j);
  });
  return out;
}

TEST(Coupled, BoundNeverExceedsTheOptimumAndThePlanIsFeasible) {
  int solved = 0;
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = testing::random_small(seed);
    const Truth fastest = truth_of(problem, 0);
    if (fastest.fastest_s == std::numeric_limits<double>::infinity()) continue;
    for (const double slower : {1.0, 1.05, 1.3, 3.0}) {
      const double deadline = fastest.fastest_s * slower;
      const Truth truth = truth_of(problem, deadline);
      const auto found = solve_coupled(problem, deadline, {});
      if (!found) {
        EXPECT_EQ(found.error().code, Errc::kInfeasible);
        continue;
      }
      ++solved;
      const Evaluation value = evaluate(problem, found->choice);
      EXPECT_TRUE(value.runs_long_enough);
      EXPECT_LE(value.time_s, latest_end(deadline));
      EXPECT_EQ(value.energy_j, found->value.energy_j);
      const double scale = std::max(1.0, std::abs(truth.energy_j));
      EXPECT_LE(found->lower_bound_j, truth.energy_j + 1e-9 * scale) << "seed " << seed;
      EXPECT_GE(found->value.energy_j, truth.energy_j - 1e-9 * scale) << "seed " << seed;
      worst = std::max(worst, (found->value.energy_j - truth.energy_j) / scale);
    }
  }
  EXPECT_GT(solved, 600);
  RecordProperty("worst_excess", std::to_string(worst));
}

// What the answer of an infeasible request names is never faster than the truth, is the truth where
// the texts say so, and can be planned for.
TEST(Coupled, NearestBoundIsRightOrNotCalledProven) {
  int proven = 0;
  int open = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = testing::random_small(seed);
    const double fastest = truth_of(problem, 0).fastest_s;
    if (fastest == std::numeric_limits<double>::infinity() || fastest <= 0) continue;
    const auto found = solve_coupled(problem, 0.5 * fastest, {});
    ASSERT_FALSE(found) << seed;
    const Error& error = found.error();
    if (error.figures.empty()) {
      EXPECT_TRUE(error.message.starts_with("found no plan")) << seed;
      continue;
    }
    const double nearest = error.figures.at(0).second;
    EXPECT_GE(nearest, fastest * (1 - 1e-9)) << seed;
    if (error.message.starts_with("no plan")) {
      ++proven;
      EXPECT_NEAR(nearest, fastest, 1e-9 * fastest) << seed;
    } else {
      ++open;
      EXPECT_NE(error.hint.find("not proven"), std::string::npos) << error.hint;
    }
    const auto again = solve_coupled(problem, nearest, {});
    ASSERT_TRUE(again) << seed;
    EXPECT_LE(again->value.energy_j, error.figures.at(1).second * (1 + 1e-9)) << seed;
  }
  EXPECT_GT(proven, 50);
  EXPECT_GT(open, 10);
}

TEST(Coupled, SameInputSamePlan) {
  const Problem problem = testing::random_small(7);
  const double deadline = 2 * evaluate(problem, default_choice(problem)).time_s;
  const auto a = solve_coupled(problem, deadline, {});
  const auto b = solve_coupled(problem, deadline, {});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->choice, b->choice);
  EXPECT_EQ(a->lower_bound_j, b->lower_bound_j);
}

// Two GPUs wait for each other before every pack: where one gets slower alone the other gains
// nothing, and what is lost in one place has to be won back in another.
Problem lockstep(std::uint64_t seed, std::uint32_t rounds) {
  testing::Random random(seed);
  Problem problem;
  problem.gpus = {{"0", 50}, {"1", 50}};
  problem.switching = {.time_s = 0.01, .energy_j = 0.5, .min_run_s = 0};
  for (std::uint32_t i = 0; i < rounds; ++i) {
    for (std::uint32_t g = 0; g < 2; ++g) {
      Pack pack{.id = std::to_string(2 * i + g), .gpu = g, .after = {}, .options = {}};
      if (i > 0) pack.after.push_back({2 * (i - 1) + (1 - g), 0});
      const double time = 0.002 * std::pow(25.0, random.uniform());
      const double fixed = random.uniform(0.02, 0.95);
      const double power = random.uniform(120, 520);
      for (std::uint32_t k = 1; k <= 12; ++k) {
        const double ratio = 0.3 + 0.7 * k / 12.0;
        const double volt = std::max(0.72, 0.72 + 0.7 * (ratio - 0.6));
        const double time_s = time * (fixed + (1 - fixed) / ratio);
        const double power_w = 85 + 30 * ratio + power * ratio * volt * volt;
        pack.options.push_back(
            {.clock_hz = ratio * 2e9, .time_s = time_s, .energy_j = power_w * time_s});
      }
      problem.packs.push_back(std::move(pack));
    }
  }
  return problem;
}

TEST(Coupled, GpusInLockstepLeaveLittle) {
  double gaps = 0;
  constexpr int kSeeds = 3;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Problem problem = lockstep(seed, 60);
    const double deadline = 1.05 * evaluate(problem, default_choice(problem)).time_s;
    const auto found = solve_coupled(problem, deadline, {});
    ASSERT_TRUE(found);
    gaps += (found->value.energy_j - found->lower_bound_j) / found->lower_bound_j;
  }
  // One GPU at a time, without a price on time before the deadline: 1.5 %.
  EXPECT_LE(gaps / kSeeds, 0.009);
}

TEST(Frontier, EnergyFallsAsTheDeadlineGrows) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const Problem problem = testing::random_small(seed);
    const auto points = frontier(problem, 20, {});
    if (!points) continue;
    ASSERT_GE(points->size(), 20U);
    for (std::size_t k = 0; k < points->size(); ++k) {
      const Solution& s = (*points)[k].solution;
      EXPECT_LE(s.value.time_s, latest_end((*points)[k].deadline_s));
      EXPECT_LE(s.lower_bound_j, s.value.energy_j);
      if (k > 0) {
        EXPECT_LE(s.value.energy_j, (*points)[k - 1].solution.value.energy_j);
      }
    }
  }
}

}  // namespace
}  // namespace ergon::plan
