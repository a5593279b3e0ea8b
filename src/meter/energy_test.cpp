// The two estimators against a made-up board whose true energy is known.
#include <gtest/gtest.h>

#include "synthetic_test.hpp"

namespace ergon::meter {
namespace {

using testing::play;
using testing::SyntheticSensor;
using testing::Truth;
using testing::window;

struct Tally {
  int held = 0;
  int all = 0;
  std::vector<double> widths;
  std::vector<double> errors;
  void add(const std::optional<Estimate>& e, double truth) {
    ++all;
    if (!e) return;
    held += e->low <= truth && truth <= e->high ? 1 : 0;
    widths.push_back((e->high - e->low) / 2 / truth);
    errors.push_back(std::abs(e->value - truth) / truth);
  }
  [[nodiscard]] double share() const { return static_cast<double>(held) / all; }
  static double worst(const std::vector<double>& v) {
    return v.empty() ? 1 : *std::ranges::max_element(v);
  }
};

struct Board {
  const char* name;
  SyntheticSensor sensor;
};

constexpr Board kBoards[] = {
    {"a100", {.period_s = 0.104, .window_s = 0.025, .tick_s = 0.1}},
    {"h100", {.period_s = 0.1, .window_s = 0.025, .tick_s = 0.1}},
    {"v100",
     {.period_s = 0.02, .window_s = 0.01, .tick_s = 0.02, .poll_s = 0.005, .poll_jitter_s = 0.001}},
};

TEST(Energy, PhasesOfTwoSecondsAreTrueWithinOnePercent) {
  for (const Board& board : kBoards) {
    Tally both;
    Tally trapezoid;
    for (unsigned seed = 1; seed <= 200; ++seed) {
      std::mt19937_64 random(std::uint64_t{seed} * 77);
      std::uniform_real_distribution<double> uniform(0, 1);
      const double start = 1 + uniform(random);
      const double middle = start + 2 + uniform(random);
      const double end = middle + 2 + uniform(random);
      const Truth truth{{{0, 60},
                         {start, 250 + 100 * uniform(random)},
                         {middle, 120 + 60 * uniform(random)},
                         {end, 70}}};
      const Series s = play(truth, end + 1, board.sensor, seed);
      const SensorModel m = estimate_sensor(s);
      for (const auto& [from, to] : {std::pair{start, middle}, std::pair{middle, end}}) {
        const auto r = measure_energy(s, m, window(from, to));
        both.add(r.energy_j, truth.energy(from, to));
        trapezoid.add(r.trapezoid.energy_j, truth.energy(from, to));
        EXPECT_FALSE(r.contradict) << board.name << " seed " << seed;
      }
    }
    EXPECT_GE(both.share(), 0.93) << board.name;
    EXPECT_LE(median_of(both.widths), 0.01) << board.name;
    EXPECT_LE(Tally::worst(both.errors), 0.01) << board.name;
    EXPECT_GE(trapezoid.share(), 0.93) << board.name;
    EXPECT_LE(median_of(trapezoid.widths), 0.04) << board.name;
    RecordProperty(std::string(board.name) + "_share", std::to_string(both.share()));
    std::printf(
        "%s: combined holds %.3f, half-width %.4f, worst error %.4f; trapezoid holds %.3f, "
        "half-width %.4f, worst %.4f\n",
        board.name, both.share(), median_of(both.widths), Tally::worst(both.errors),
        trapezoid.share(), median_of(trapezoid.widths), Tally::worst(trapezoid.errors));
  }
}

TEST(Energy, ALoadThatChangesAllTheTimeIsHeldToo) {
  for (const Board& board : kBoards) {
    Tally both;
    Tally trapezoid;
    for (unsigned seed = 1; seed <= 100; ++seed) {
      std::mt19937_64 random(std::uint64_t{seed} * 13);
      std::uniform_real_distribution<double> uniform(0, 1);
      Truth truth{{{0, 60}}};
      for (double t = 1; t < 6; t += 0.01 + 0.1 * uniform(random)) {
        truth.steps.emplace_back(t, 100 + 200 * uniform(random));
      }
      truth.steps.emplace_back(6.2, 60);
      const Series s = play(truth, 7.5, board.sensor, seed);
      const SensorModel m = estimate_sensor(s);
      const double from = 1.2 + uniform(random);
      const auto r = measure_energy(s, m, window(from, from + 3));
      both.add(r.energy_j, truth.energy(from, from + 3));
      trapezoid.add(r.trapezoid.energy_j, truth.energy(from, from + 3));
    }
    std::printf(
        "%s: combined holds %.3f, half-width %.4f, worst error %.4f; trapezoid holds %.3f, "
        "half-width %.4f, worst %.4f\n",
        board.name, both.share(), median_of(both.widths), Tally::worst(both.errors),
        trapezoid.share(), median_of(trapezoid.widths), Tally::worst(trapezoid.errors));
    EXPECT_GE(both.share(), 0.93) << board.name;
    EXPECT_GE(trapezoid.share(), 0.93) << board.name;
    EXPECT_LE(median_of(both.widths), 0.015) << board.name;
  }
}

TEST(Energy, AShortRegionCannotBeKnown) {
  const Truth truth{{{0, 60}, {1, 300}, {1.05, 60}}};
  const Series s = play(truth, 3, {}, 2);
  const SensorModel m = estimate_sensor(s);
  const auto r = measure_energy(s, m, window(1, 1.05));
  EXPECT_FALSE(r.energy_j);
  EXPECT_NE(r.why_unknown.find("cannot be known from this sensor"), std::string::npos);
  ASSERT_TRUE(r.window_needed);
  EXPECT_NEAR(r.window_needed->si(), 0.3, 0.02);
}

}  // namespace
}  // namespace ergon::meter
