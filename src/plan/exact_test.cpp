// solve() against exhaustive search on small problems of every kind.
#include "exact.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "chain.hpp"
#include "evaluate.hpp"
#include "exact_model.hpp"
#include "exact_search.hpp"
#include "exhaustive.hpp"
#include "numbers.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

// Compares at one deadline; returns whether a plan exists.
bool compare(const Problem& problem, double share, std::uint64_t seed) {
  const testing::Extremes ends = testing::extremes(problem, 0);
  const bool none = ends.fastest_s == kInfinity;
  const double deadline = none ? 1.0 : ends.fastest_s + (ends.slowest_s - ends.fastest_s) * share;
  const testing::Extremes best = testing::extremes(problem, deadline);
  const auto found = solve(problem, deadline);
  if (best.energy_j == kInfinity) {
    EXPECT_FALSE(found) << seed;
    if (found) return false;
    EXPECT_EQ(found.error().code, Errc::kInfeasible) << seed;
    if (!none) {
      EXPECT_EQ(found.error().figures.size(), 2U) << seed;
      EXPECT_NEAR(found.error().figures[0].second, ends.fastest_s, 1e-12) << seed;
      const double least = testing::extremes(problem, ends.fastest_s).energy_j;
      EXPECT_NEAR(found.error().figures[1].second, least, 1e-9) << seed;
    }
    return false;
  }
  EXPECT_TRUE(found) << seed << (found ? "" : found.error().message);
  if (!found) return false;
  const Evaluation again = evaluate(problem, found->choice);
  EXPECT_EQ(again.energy_j, found->value.energy_j) << seed;
  EXPECT_TRUE(again.runs_long_enough) << seed;
  EXPECT_LE(again.time_s, latest_end(deadline)) << seed;
  EXPECT_NEAR(found->value.energy_j, best.energy_j, 1e-10 * best.energy_j) << seed;
  EXPECT_LE(found->lower_bound_j, best.energy_j) << seed;
  EXPECT_TRUE(found->optimal) << seed;
  return true;
}

TEST(Exact, equals_exhaustive_search) {
  int feasible = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    testing::Random r(seed + 5000);
    if (compare(testing::random_small(seed), r.uniform(-0.1, 0.9), seed)) ++feasible;
  }
  EXPECT_GT(feasible, 600);
}

TEST(Exact, at_the_very_fastest) {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed)
    compare(testing::random_small(seed), 0.0, seed);
}

TEST(Exact, three_gpus) {
  for (std::uint64_t seed = 2000; seed < 2100; ++seed)
    compare(testing::random_small(seed, {.max_gpus = 3, .max_packs = 7, .max_clocks = 3}), 0.4,
            seed);
}

TEST(Exact, proves_larger_problems_than_can_be_listed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Problem p = testing::random_small(seed, {.max_gpus = 1, .max_packs = 1, .max_clocks = 1});
    p.packs.clear();
    p.gpus = {{.id = "0", .idle_power_w = 60}, {.id = "1", .idle_power_w = 40}};
    p.switching = {.time_s = 0.001, .energy_j = 0.05, .min_run_s = seed % 2 == 0 ? 0.0 : 0.02};
    p.repeats = seed % 3 == 0;
    const Problem packs = testing::random_chain(seed, {.packs = 16, .clocks = 6, .switching = {}});
    testing::Random r(seed);
    for (std::uint32_t i = 0; i < 16; ++i) {
      p.packs.push_back(packs.packs[i]);
      p.packs.back().gpu = i % 2;
      if (i >= 2 && r.uniform() < 0.5) p.packs.back().after = {{.pack = i - 1, .lag_s = 0.0005}};
    }
    const double fastest = evaluate(p, default_choice(p)).time_s;
    const auto found = solve(p, 1.08 * fastest);
    ASSERT_TRUE(found) << seed;
    EXPECT_TRUE(found->optimal) << seed;
    EXPECT_LE(found->value.time_s, latest_end(1.08 * fastest));
  }
}

// The search alone: without a first plan and with prices that say nothing, dominance has to be
// right.
TEST(Exact, search_without_help) {
  for (std::uint64_t seed = 3000; seed < 9000; ++seed) {
    const Problem p = testing::random_small(seed, {.max_gpus = 2, .max_packs = 8, .max_clocks = 3});
    const testing::Extremes ends = testing::extremes(p, 0);
    if (ends.fastest_s == kInfinity) continue;
    testing::Random r(seed);
    const double deadline = ends.fastest_s + (ends.slowest_s - ends.fastest_s) * r.uniform(0, 0.9);
    const ExactModel model = make_exact_model(p, latest_end(deadline));
    std::vector<FlowPrices> nothing;
    nothing.push_back(price_flow(model, std::vector<double>(model.waits.size(), 0.0)));
    ExactSearch search(model, nothing);
    search.run(kInfinity, 1'000'000);
    const double least = testing::extremes(p, deadline).energy_j;
    EXPECT_NEAR(search.incumbent_j(), least, 1e-10 * least) << seed;
  }
}

// Two solvers that share only the priced chain: each proves its optimum, so they must agree.
TEST(Exact, agrees_with_the_chain_solver_where_nothing_can_be_listed) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    testing::Random r(seed);
    const Problem p = testing::random_chain(
        seed, {.packs = 14 + r.below(12),
               .clocks = 4 + r.below(6),
               .switching = {.time_s = r.uniform(0, 0.004),
                             .energy_j = r.uniform(0, 0.3),
                             .min_run_s = seed % 2 == 0 ? 0 : r.uniform(0.02, 0.15)},
               .repeats = seed % 3 == 0});
    const double deadline = r.uniform(1.001, 1.3) * evaluate(p, default_choice(p)).time_s;
    const auto chain = solve_chain(p, deadline, {});
    const auto exact = solve_exact(p, deadline, 200'000);
    ASSERT_TRUE(chain && exact) << seed;
    EXPECT_TRUE(chain->optimal) << seed;
    EXPECT_TRUE(exact->optimal) << seed;
    EXPECT_NEAR(chain->value.energy_j, exact->value.energy_j, 1e-9 * exact->value.energy_j) << seed;
  }
}

TEST(Exact, any_deadline) {
  const Problem p = testing::random_small(7);
  const auto late = solve(p, kInfinity);
  const auto later = solve(p, 1e6);
  ASSERT_TRUE(late && later);
  EXPECT_EQ(late->value.energy_j, later->value.energy_j);
  EXPECT_EQ(solve(p, 0).error().code, Errc::kInfeasible);
  EXPECT_EQ(solve(p, -1).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(solve(p, std::nan("")).error().code, Errc::kInvalidArgument);
  Problem chain = p;
  for (Pack& pack : chain.packs) {
    pack.gpu = 0;
    pack.after.clear();
  }
  const auto free = solve(chain, kInfinity);
  ASSERT_TRUE(free);
  EXPECT_TRUE(free->optimal);
}

TEST(Exact, no_packs) {
  const auto found = solve_exact(Problem{}, 1, 10);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value.energy_j, 0);
}

}  // namespace
}  // namespace ergon::plan
