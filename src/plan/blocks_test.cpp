// Blocks between meetings of all GPUs against exhaustive search.
#include "blocks.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "evaluate.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

// Two or three GPUs; before most rounds of packs each waits for all others. Some lags are left out
// or too long, so that a meeting does not part the problem.
Problem random_meetings(std::uint64_t seed) {
  testing::Random r(seed);
  Problem p;
  const std::uint32_t gpus = 2 + r.below(2);
  const std::uint32_t rounds = gpus == 2 ? 4 : 3;
  for (std::uint32_t g = 0; g < gpus; ++g) p.gpus.push_back({std::to_string(g), r.uniform(0, 80)});
  const double lag = r.below(2) == 0 ? 0 : r.uniform(0, 0.01);
  const bool own = r.below(2) == 0;
  std::vector<std::vector<std::uint32_t>> rows(gpus);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const auto before = rows;
    const bool meet = i > 0 && r.below(4) != 0;
    for (std::uint32_t g = 0; g < gpus; ++g) {
      if (r.below(8) == 0) continue;
      Pack pack{.id = std::to_string(p.packs.size()), .gpu = g, .after = {}, .options = {}};
      for (std::uint32_t h = 0; meet && h < gpus; ++h) {
        if (before[h].empty() || (h == g && !own)) continue;
        pack.after.push_back({before[h].back(), r.below(20) == 0 ? 2 * lag + 0.003 : lag});
      }
      const double time = r.uniform(0.01, 0.05);
      for (std::uint32_t k = 0; k < 3; ++k)
        pack.options.push_back({.clock_hz = 1e9 + 1e8 * k,
                                .time_s = time * (1 + 0.1 * k + 0.1 * r.uniform()),
                                .energy_j = time * (300 - 40 * k + 30 * r.uniform())});
      rows[g].push_back(static_cast<std::uint32_t>(p.packs.size()));
      p.packs.push_back(std::move(pack));
    }
  }
  return p;
}

TEST(Blocks, equal_exhaustive_search) {
  int parted = 0;
  int infeasible = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = random_meetings(seed);
    if (problem.packs.empty()) continue;
    const auto blocks = Blocks::find(problem);
    if (!blocks) continue;
    ++parted;
    double fastest = std::numeric_limits<double>::infinity();
    testing::for_each_choice(problem, [&](const Choice& choice) {
      fastest = std::min(fastest, evaluate(problem, choice).time_s);
    });
    testing::Random r(seed);
    for (const double slower : {1.0, 1 + 0.05 * r.uniform(), 1.1, 2.0, 1 - 0.05 * r.uniform()}) {
      const double deadline = fastest * slower;
      double least = std::numeric_limits<double>::infinity();
      testing::for_each_choice(problem, [&](const Choice& choice) {
        const Evaluation e = evaluate(problem, choice);
        if (e.time_s <= latest_end(deadline)) least = std::min(least, e.energy_j);
      });
      const auto found = blocks->solve(deadline, {.target_gap = 1e-9});
      if (least == std::numeric_limits<double>::infinity()) {
        ++infeasible;
        ASSERT_FALSE(found) << seed;
        EXPECT_NEAR(found.error().figures.at(0).second, fastest, 1e-9 * fastest) << seed;
        continue;
      }
      ASSERT_TRUE(found) << seed;
      EXPECT_LE(found->value.time_s, latest_end(deadline)) << seed;
      EXPECT_NEAR(found->value.energy_j, least, 1e-9 * least) << seed;
      EXPECT_LE(found->lower_bound_j, least) << seed;
      EXPECT_GE(found->lower_bound_j, least * (1 - 1e-6)) << seed;
    }
  }
  EXPECT_GT(parted, 60);
  EXPECT_GT(infeasible, 20);
}

TEST(Blocks, waits_that_part_nothing) {
  Problem p;
  p.gpus = {{"0", 10}, {"1", 10}};
  const std::vector<Option> options = {{1e9, 0.02, 3}, {2e9, 0.01, 4}};
  p.packs = {{"a", 0, {}, options},
             {"b", 1, {}, options},
             {"c", 0, {{1, 0}}, options},
             {"d", 1, {}, options}};
  EXPECT_FALSE(Blocks::find(p));  // d does not wait for a
  p.packs[3].after = {{0, 0}};
  EXPECT_TRUE(Blocks::find(p));
  p.packs[3].after = {{0, 0.001}};
  EXPECT_FALSE(Blocks::find(p));  // c may start before d could
}

}  // namespace
}  // namespace ergon::plan
