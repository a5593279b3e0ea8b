// The contract's words as examples, counted by hand.
#include <gtest/gtest.h>

#include "ergon/plan.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

Pack pack(const std::string& id, std::uint32_t gpu, std::vector<Option> options,
          std::vector<After> after = {}) {
  return {.id = id, .gpu = gpu, .after = std::move(after), .options = std::move(options)};
}
const std::vector<Option> two_options = {{1e9, 0.010, 2}, {2e9, 0.006, 3}};

TEST(Evaluate, one_gpu_with_a_change_and_idle_power) {
  const Problem p{.gpus = {{"0", 50}},
                  .switching = {0.002, 0.5, 0},
                  .packs = {pack("a", 0, two_options), pack("b", 0, two_options)}};
  const Evaluation e = evaluate(p, Choice{0, 1});
  EXPECT_DOUBLE_EQ(e.time_s, 0.018);
  EXPECT_DOUBLE_EQ(e.energy_j, 2 + 3 + 0.5 + 50 * 0.002);  // idle while it switches
  EXPECT_EQ(e.switches, 1U);
  EXPECT_TRUE(e.runs_long_enough);
}

TEST(Evaluate, repeats_adds_the_change_around_the_end) {
  Problem p{.gpus = {{"0", 50}},
            .switching = {0.002, 0.5, 0},
            .repeats = true,
            .packs = {pack("a", 0, two_options), pack("b", 0, two_options)}};
  const Evaluation e = evaluate(p, Choice{0, 1});
  EXPECT_DOUBLE_EQ(e.time_s, 0.020);
  EXPECT_DOUBLE_EQ(e.energy_j, 2 + 3 + 1.0 + 50 * 0.004);
  EXPECT_EQ(e.switches, 2U);
  p.packs.push_back(pack("c", 0, two_options));
  EXPECT_EQ(evaluate(p, Choice{0, 1, 0}).switches, 2U);
  EXPECT_DOUBLE_EQ(evaluate(p, Choice{0, 1, 0}).time_s, 0.030);
}

TEST(Evaluate, minimum_run) {
  Problem p{
      .gpus = {{"0", 0}},
      .switching = {0, 0, 0.015},
      .packs = {pack("a", 0, two_options), pack("b", 0, two_options), pack("c", 0, two_options)}};
  EXPECT_TRUE(evaluate(p, Choice{1, 1, 1}).runs_long_enough);
  EXPECT_FALSE(evaluate(p, Choice{0, 0, 1}).runs_long_enough);
  EXPECT_FALSE(evaluate(p, Choice{0, 1, 0}).runs_long_enough);
  p.repeats = true;  // the last and the first are one run of 20 ms, but the middle one has 6 ms
  EXPECT_FALSE(evaluate(p, Choice{0, 1, 0}).runs_long_enough);
  p.switching.min_run_s = 0.006;
  EXPECT_TRUE(evaluate(p, Choice{0, 1, 0}).runs_long_enough);
  // One run of less than the minimum is no run too short: there is no other.
  p.switching.min_run_s = 1;
  EXPECT_TRUE(evaluate(p, Choice{0, 0, 0}).runs_long_enough);
}

TEST(Evaluate, first_and_last_run_are_one_only_where_it_repeats) {
  Problem p{.gpus = {{"0", 0}},
            .switching = {0, 0, 0.012},
            .repeats = true,
            .packs = {pack("a", 0, two_options), pack("b", 0, two_options),
                      pack("c", 0, two_options), pack("d", 0, two_options)}};
  EXPECT_TRUE(evaluate(p, Choice{1, 0, 0, 1}).runs_long_enough);
  p.repeats = false;
  EXPECT_FALSE(evaluate(p, Choice{1, 0, 0, 1}).runs_long_enough);
}

TEST(Evaluate, waits_and_two_gpus) {
  const Problem p{.gpus = {{"0", 10}, {"1", 20}},
                  .switching = {0.002, 0.5, 0},
                  .packs = {pack("a", 0, two_options), pack("b", 1, two_options),
                            pack("c", 1, two_options, {{0, 0.003}}), pack("d", 0, two_options)}};
  // a 0-10, b 0-6, c waits for a + 3 ms = 13 (its change, 6-8, lies in the wait), 13-23; d 10-20.
  const Evaluation e = evaluate(p, Choice{0, 1, 0, 0});
  EXPECT_DOUBLE_EQ(e.time_s, 0.023);
  EXPECT_NEAR(e.energy_j, 2 + 3 + 2 + 2 + 0.5 + 10 * (0.023 - 0.020) + 20 * (0.023 - 0.016), 1e-12);
}

TEST(Evaluate, an_idle_gpu_costs_the_makespan) {
  const Problem p{
      .gpus = {{"0", 0}, {"1", 100}}, .switching = {}, .packs = {pack("a", 0, two_options)}};
  EXPECT_DOUBLE_EQ(evaluate(p, Choice{0}).energy_j, 2 + 100 * 0.010);
}

TEST(Uniform, default_is_each_packs_highest_clock) {
  const Problem p{.gpus = {{"0", 0}},
                  .switching = {},
                  .packs = {pack("a", 0, {{2e9, 1, 1}, {1e9, 1, 1}}), pack("b", 0, two_options)}};
  EXPECT_EQ(default_choice(p), (Choice{0, 1}));
}

TEST(Uniform, best_common_clock_within_the_deadline) {
  Problem p{.gpus = {{"0", 0}},
            .switching = {},
            .packs = {pack("a", 0, two_options), pack("b", 0, {{2e9, 0.006, 3}, {1e9, 0.010, 2}})}};
  const Uniform slow = best_uniform(p, 0.020).value_or(Uniform{});
  EXPECT_EQ(slow.clock_hz, 1e9);
  EXPECT_EQ(slow.choice, (Choice{0, 1}));
  const Uniform fast = best_uniform(p, 0.0199).value_or(Uniform{});
  EXPECT_EQ(fast.clock_hz, 2e9);
  EXPECT_FALSE(best_uniform(p, 0.0119));
  p.packs.push_back(pack("c", 0, {{1e9, 0.001, 1}}));
  EXPECT_FALSE(best_uniform(p, 0.0199));
}

}  // namespace
}  // namespace ergon::plan
