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

// 10 s of `busy_w` for `busy_s` of every `period_s`, without a counter.
struct Pulses {
  Truth truth{{{0, 60}}};
  Series series;
  SensorModel model;
  Pulses(double busy_s, double period_s, unsigned seed, bool random = false) {
    std::mt19937_64 draw(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (double t = 1; t < 11;) {
      truth.steps.emplace_back(t, 330);
      truth.steps.emplace_back(t + busy_s, 60);
      t += random ? busy_s + 2 * (period_s - busy_s) * uniform(draw) : period_s;
    }
    truth.steps.emplace_back(truth.steps.back().first + 0.2, 60);
    series = play(truth, 13, {}, seed);
    series.energy_j.clear();
    series.power_limit_w.assign(series.time_ns.size(), 400);
    model = estimate_sensor(series);
    model.averaging_window_s = Estimate{0.025, 0.02, 0.03, Origin::kPublished};
  }
  [[nodiscard]] EnergyReading reading() const {
    return measure_energy(series, model, window(1, 11), {.holds_unseen = true});
  }
};

TEST(Energy, WithoutACounterALoadInStepWithTheSensorIsHeld) {
  for (const auto& [busy_s, period_s] : std::vector<std::pair<double, double>>{
           {0.03, 0.1}, {0.05, 0.1}, {0.07, 0.1}, {0.02, 0.2}, {0.2, 0.4}, {0.05, 0.05}}) {
    for (unsigned seed = 1; seed <= 12; ++seed) {
      const Pulses pulses(busy_s, period_s, seed);
      const auto r = pulses.reading();
      ASSERT_TRUE(r.energy_j.has_value()) << r.why_unknown;
      const double truth = pulses.truth.energy(1, 11);
      EXPECT_LE(r.energy_j->low, truth) << busy_s << "/" << period_s << " seed " << seed;
      EXPECT_GE(r.energy_j->high, truth) << busy_s << "/" << period_s << " seed " << seed;
      EXPECT_NEAR(r.unseen_share.value_or(0), 0.75, 0.02);
    }
  }
}

TEST(Energy, ReadingsInNoOrderProveThatLoadAndSensorAreOutOfStep) {
  Tally tally;
  int widened = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const Pulses pulses(0.04, 0.09, seed, true);
    const auto r = pulses.reading();
    tally.add(r.energy_j, pulses.truth.energy(1, 11));
    widened += r.trapezoid.in_step_j ? 1 : 0;
  }
  EXPECT_GE(tally.share(), 0.9);
  EXPECT_LE(widened, 4);
}

TEST(Energy, ACounterSeesWhatTheSensorDoesNot) {
  Pulses pulses(0.03, 0.1, 3);
  const Series with = play(pulses.truth, 13, {}, 3);
  const auto r = measure_energy(with, pulses.model, window(1, 11), {.holds_unseen = true});
  ASSERT_TRUE(r.energy_j.has_value());
  EXPECT_FALSE(r.unseen_share.has_value());
  EXPECT_NEAR(r.counter.energy_j->value, pulses.truth.energy(1, 11), 15);
}

}  // namespace
}  // namespace ergon::meter
