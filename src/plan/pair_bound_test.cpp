// The bound of pairs against exhaustive search and the exact solver; its grid steps against the
// functions they stand for.
#include "pair_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluate.hpp"
#include "exact.hpp"
#include "pair_grid.hpp"
#include "prices.hpp"
#include "prices_search.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

using testing::Random;

double value_at(const PairGrid& grid, std::span<const double> f, double d) {
  const double place = std::clamp(d / grid.step_s + grid.half, 0.0, 2.0 * grid.half);
  const double k = std::min(std::floor(place), 2.0 * grid.half - 1);
  const auto i = static_cast<std::size_t>(k);
  return (1 - (place - k)) * f[i] + (place - k) * f[i + 1];
}

std::vector<double> random_function(Random& r, const PairGrid& grid) {
  std::vector<double> f;
  f.reserve(grid.size());
  for (std::uint32_t k = 0; k < grid.size(); ++k) f.push_back(r.uniform(0, 5));
  return f;
}

TEST(PairGrid, ShiftStaysBelow) {
  Random r(1);
  for (int trial = 0; trial < 400; ++trial) {
    const PairGrid grid{r.uniform(0.0001, 0.001), 4 + r.below(20)};
    const auto in = random_function(r, grid);
    const double by = r.uniform(-3, 3) * grid.step_s * grid.half;
    std::vector<double> out(grid.size());
    GridShift(grid).apply(in, by, 1.5, out);
    for (int k = 0; k < 200; ++k) {
      const double d = r.uniform(-1.5, 1.5) * grid.step_s * grid.half;
      ASSERT_LE(value_at(grid, out, d), value_at(grid, in, d + by) + 1.5 + 1e-9) << trial;
    }
    // Whole steps lose nothing.
    GridShift(grid).apply(in, grid.step_s * 2, 0, out);
    for (std::uint32_t k = 1; k + 2 < grid.size(); ++k) EXPECT_NEAR(out[k], in[k + 2], 1e-9);
  }
}

TEST(PairGrid, MeetingStaysBelow) {
  Random r(2);
  for (int trial = 0; trial < 600; ++trial) {
    const PairGrid grid{r.uniform(0.0001, 0.001), 6 + r.below(20)};
    const double most = 0.45 * grid.step_s * grid.half;
    const auto some = [&] { return r.uniform() < 0.3 ? 0.0 : r.uniform(0, most); };
    PairMeeting m{.a_waits = r.uniform() < 0.7,
                  .b_waits = true,
                  .lag_a_s = some(),
                  .lag_b_s = some(),
                  .own_a_w = r.uniform(0, 900),
                  .own_b_w = r.uniform(0, 900),
                  .other_a_w = r.uniform(0, 900),
                  .other_b_w = r.uniform(0, 900),
                  .change_a_s = some(),
                  .change_b_s = some()};
    if (m.a_waits) m.b_waits = r.uniform() < 0.7;
    if (!m.a_waits) m.change_a_s = 0;
    if (!m.b_waits) m.change_b_s = 0;
    const auto in = random_function(r, grid);
    std::vector<double> out(grid.size());
    GridMeeting(grid, m).apply(in, out);
    for (int k = 0; k < 200; ++k) {
      const double d = r.uniform(-1.5, 1.5) * grid.step_s * grid.half;
      double start_a = d + m.change_a_s;
      double start_b = m.change_b_s;
      if (m.a_waits) start_a = std::max(start_a, m.lag_a_s);
      if (m.b_waits) start_b = std::max(start_b, d + m.lag_b_s);
      double truth = value_at(grid, in, start_a - start_b);
      if (m.a_waits)
        truth += m.own_a_w * (start_a - d - m.change_a_s) + m.other_a_w * (start_a - m.lag_a_s);
      if (m.b_waits)
        truth += m.own_b_w * (start_b - m.change_b_s) + m.other_b_w * (start_b - d - m.lag_b_s);
      ASSERT_LE(value_at(grid, out, d), truth + 1e-9) << trial;
    }
  }
}

// Two or three GPUs that hand work to and fro in turns.
Problem to_and_fro(std::uint64_t seed, std::uint32_t rounds, std::uint32_t clocks,
                   std::uint32_t gpus) {
  Random r(seed);
  Problem p;
  for (std::uint32_t g = 0; g < gpus; ++g)
    p.gpus.push_back({std::to_string(g), r.uniform() < 0.5 ? 0 : r.uniform(10, 120)});
  p.switching = {r.uniform(0, 0.012), r.uniform(0, 0.6), 0};
  std::vector<std::uint32_t> last(gpus, ~0U);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const std::vector<std::uint32_t> before = last;
    for (std::uint32_t g = 0; g < gpus; ++g) {
      if (r.uniform() < 0.1) continue;
      Pack pack{std::to_string(i) + "." + std::to_string(g), g, {}, {}};
      for (std::uint32_t h = 0; h < gpus; ++h)
        if (h != g && before[h] != ~0U && r.uniform() < 0.7)
          pack.after.push_back({before[h], r.uniform() < 0.5 ? 0 : r.uniform(0, 0.003)});
      const double time = r.uniform(0.004, 0.04);
      const double fixed = r.uniform();
      const double power = r.uniform(100, 500);
      for (std::uint32_t k = 0; k < clocks; ++k) {
        const double f = 1 - 0.15 * k;
        const double t = time * (fixed + (1 - fixed) / f);
        pack.options.push_back({1e9 * f, t, power * t * f * f});
      }
      last[g] = static_cast<std::uint32_t>(p.packs.size());
      p.packs.push_back(std::move(pack));
    }
  }
  return p;
}

// The bound at many flows of prices, found and made up; and at prices that are no flow.
template <class Visit>
void at_many_prices(const Problem& problem, double deadline_s, std::uint64_t seed, Visit&& visit) {
  Random r(seed);
  const Network net = make_network(problem);
  PricedBound bound(problem, net);
  PriceSearch search(problem, net);
  std::vector<double> prices(net.arcs.size());
  for (int trial = 0; trial < 4; ++trial) {
    for (double& p : prices) p = r.uniform() < 0.3 ? 0 : r.uniform(0, 400);
    if (trial == 3) {
      visit(bound.bound_of_pairs(prices, deadline_s), bound.bound(prices, deadline_s));
      break;
    }
    search.start(prices, deadline_s);
    if (trial > 0)
      for (double t = 0.5; t > 0.01; t *= 0.5) search.walk({t, 0.1 * t}, 10);
    prices.assign(search.prices().begin(), search.prices().end());
    for (double& p : prices) p *= trial == 2 ? r.uniform(0.7, 1.6) : 1.0;
    visit(bound.bound_of_pairs(prices, deadline_s), bound.bound(prices, deadline_s));
  }
}

TEST(PairBound, NeverExceedsTheExhaustiveOptimum) {
  int compared = 0;
  int higher = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = seed % 2 == 0 ? testing::random_small(seed, {3, 7, 3})
                                          : to_and_fro(seed, 3, seed % 3 == 0 ? 2 : 3, 2);
    if (problem.packs.empty()) continue;
    const double top = evaluate(problem, default_choice(problem)).time_s;
    for (const double slower : {1.02, 1.2}) {
      double least = std::numeric_limits<double>::infinity();
      testing::for_each_choice(problem, [&](const Choice& choice) {
        const Evaluation value = evaluate(problem, choice);
        if (value.runs_long_enough && value.time_s <= latest_end(top * slower))
          least = std::min(least, value.energy_j);
      });
      if (least == std::numeric_limits<double>::infinity()) continue;
      at_many_prices(problem, top * slower, seed, [&](double pairs, double single) {
        EXPECT_LE(pairs, least + 1e-9 * std::abs(least)) << "seed " << seed;
        EXPECT_GE(pairs, single - 1e-9 * std::abs(single)) << "seed " << seed;
        ++compared;
        if (pairs > single + 1e-3 * std::abs(least)) ++higher;
      });
    }
  }
  EXPECT_GT(compared, 1500);
  EXPECT_GT(higher, 200);
}

TEST(PairBound, NeverExceedsTheProvenOptimumOfLongerOnes) {
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Problem problem = to_and_fro(seed, 6, 3, seed % 2 == 0 ? 2 : 3);
    const double top = evaluate(problem, default_choice(problem)).time_s;
    const auto truth = solve_exact(problem, top * 1.05, 200000);
    if (!truth || !truth->optimal) continue;
    at_many_prices(problem, top * 1.05, seed, [&](double pairs, double) {
      EXPECT_LE(pairs, truth->value.energy_j * (1 + 1e-9)) << "seed " << seed;
      ++compared;
    });
  }
  EXPECT_GT(compared, 80);
}

// Where a pair's waits are all there is and nothing is to be chosen, the bound is the plan.
TEST(PairBound, IsTightWithoutChoice) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Problem problem = to_and_fro(seed, 12, 1, 2);
    const Evaluation only = evaluate(problem, default_choice(problem));
    const Network net = make_network(problem);
    PricedBound bound(problem, net);
    PriceSearch search(problem, net);
    search.start(std::vector<double>(net.arcs.size(), 100.0), only.time_s);
    const double found = bound.bound_of_pairs(search.prices(), only.time_s);
    EXPECT_LE(found, only.energy_j * (1 + 1e-9)) << seed;
    EXPECT_GE(found, only.energy_j * 0.99) << seed;
  }
}

}  // namespace
}  // namespace ergon::plan
