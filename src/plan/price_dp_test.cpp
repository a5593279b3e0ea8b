// The priced chain against exhaustive search.
#include "price_dp.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "random_problem.hpp"

namespace ergon::plan {
namespace {

// Plain enumeration of one chain from the wording of the header.
double enumerate(const Problem& problem, const ClockChain& chain, const std::vector<double>& pack,
                 const std::vector<double>& change) {
  double best = std::numeric_limits<double>::infinity();
  testing::for_each_choice(problem, [&](const Choice& choice) {
    if (!evaluate(problem, choice).runs_long_enough) return;
    double cost = 0;
    const auto clock = [&](std::size_t i) { return problem.packs[i].options[choice[i]].clock_hz; };
    for (std::size_t i = 0; i < choice.size(); ++i) {
      const Option& o = problem.packs[i].options[choice[i]];
      cost += o.energy_j + pack[i] * o.time_s;
      const bool changes =
          i > 0 ? clock(i) != clock(i - 1) : chain.repeats && clock(0) != clock(choice.size() - 1);
      if (changes) cost += problem.switching.energy_j + change[i] * problem.switching.time_s;
    }
    best = std::min(best, cost);
  });
  return best;
}

TEST(PriceDp, equals_exhaustive_search) {
  int without_plan = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    Problem problem = testing::random_small(seed, {.max_gpus = 1, .max_packs = 7, .max_clocks = 3});
    for (Pack& p : problem.packs) p.after.clear();
    const ClockChain chain = make_clock_chain(problem, 0);
    testing::Random r(seed + 77);
    std::vector<double> pack, change;
    for (std::size_t i = 0; i < chain.size(); ++i) {
      pack.push_back(r.uniform(-50, 500));
      change.push_back(r.uniform(0, 500));
    }
    PriceDp dp(chain);
    const PricedPath& path = dp.solve(pack, change);
    const double expected = enumerate(problem, chain, pack, change);
    if (expected == std::numeric_limits<double>::infinity()) {
      ++without_plan;
      EXPECT_EQ(path.cost_j, expected) << seed;
      continue;
    }
    ASSERT_NEAR(path.cost_j, expected, 1e-9) << seed;
    Choice choice(problem.packs.size());
    for (std::size_t i = 0; i < chain.size(); ++i)
      choice[chain.packs[i]] = chain.option[path.slots[i]];
    EXPECT_TRUE(evaluate(problem, choice).runs_long_enough) << seed;
  }
  EXPECT_LT(without_plan, 2000);
}

TEST(PriceDp, one_price_for_all_time) {
  const Problem problem = testing::random_chain(
      1, {.packs = 50, .clocks = 8, .switching = {0.002, 0.05, 0.06}, .repeats = true});
  const ClockChain chain = make_clock_chain(problem, 0);
  PriceDp dp(chain);
  const PricedPath& path = dp.solve(300);
  Choice choice(problem.packs.size());
  for (std::size_t i = 0; i < chain.size(); ++i)
    choice[chain.packs[i]] = chain.option[path.slots[i]];
  Problem awake = problem;
  awake.gpus[0].idle_power_w = 0;
  const Evaluation value = evaluate(awake, choice);
  EXPECT_TRUE(value.runs_long_enough);
  EXPECT_NEAR(path.cost_j, value.energy_j + 300 * value.time_s, 1e-8);
  EXPECT_TRUE(chain.aligned);
}

TEST(PriceDp, no_packs) {
  Problem problem = testing::random_chain(1, {.packs = 2, .clocks = 2, .switching = {}});
  problem.gpus.push_back({.id = "idle", .idle_power_w = 1});
  const ClockChain chain = make_clock_chain(problem, 1);
  PriceDp dp(chain);
  EXPECT_EQ(dp.solve(1).cost_j, 0);
}

}  // namespace
}  // namespace ergon::plan
