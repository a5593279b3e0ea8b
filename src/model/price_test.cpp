// price(): hand-calculated figures, and properties on random work: cap, monotony, intervals, sums.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ergon/model.hpp"
#include "test_devices.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::model {
namespace {

Work streaming(double bytes) {
  Work w;
  for (const Level l : {Level::kL1, Level::kL2, Level::kHbm}) w.bytes[index(l)] = Bytes(bytes);
  return w;
}

TEST(Price, StreamingOnAnA100ByHand) {
  // 1 GB from HBM, through L2 and L1, at 1410 MHz, the clock of the coefficients: V^2 is 1.
  const Device& d = device("a100-sxm4-40gb");
  const Price p = *price(streaming(1e9), d, {Hertz(1410e6)});
  // Parts: HBM 1e9 / (1555e9 x 0.88) = 730.8 us, L2 1e9 / (7.22e12 x 0.65) = 213.1 us, L1 1e9 /
  // (19.5e12 x 0.85) = 60.3 us; 3-norm: (730.8^3 + 213.1^3 + 60.3^3)^(1/3) = 736.90 us.
  EXPECT_NEAR(p.time_s.value, 736.90e-6, 0.05e-6);
  // 8e9 bit x 13.11, 4.71 and 1.59 pJ.
  EXPECT_NEAR(p.level_j[index(Level::kHbm)].value, 0.10488, 1e-6);
  EXPECT_NEAR(p.level_j[index(Level::kL2)].value, 0.03768, 1e-6);
  EXPECT_NEAR(p.level_j[index(Level::kL1)].value, 0.01272, 1e-6);
  EXPECT_NEAR(p.constant_j.value, 54 * p.time_s.value, 1e-9);
  EXPECT_NEAR(p.clock_j.value, 12.5 * p.time_s.value, 1e-9);
  EXPECT_FALSE(p.power_capped);
  EXPECT_EQ(p.achieved_clock, Hertz(1410e6));
}

TEST(Price, MatrixWorkOnAnA100RunsIntoThePowerLimit) {
  const Device& d = device("a100-sxm4-80gb");
  // Tensor cores, vector units and memory at once, each about 0.8 s of work: 140 J + 150 J + 217 J
  // in about 1.15 s.
  Work w = streaming(1.4e12);
  w.ops[index(Unit::kMatrixFp16)] = Flops(2e14);
  w.ops[index(Unit::kVectorFp32)] = Flops(1.4e13);
  const Price p = *price(w, d, {Hertz(1410e6)});
  EXPECT_TRUE(p.power_capped);
  EXPECT_LT(p.achieved_clock.si(), 1410e6);
  EXPECT_NEAR(p.power_w.value, 400, 0.01);
  EXPECT_NEAR(p.energy_j.value / p.time_s.value, 400, 0.01);
  // Without the limit it would be faster and hungrier.
  const Price free = *price(w, d, {Hertz(1410e6)}, {.power_limit = Watts(1000)});
  EXPECT_FALSE(free.power_capped);
  EXPECT_LT(free.time_s.value, p.time_s.value);
  EXPECT_GT(free.power_w.value, 400);
}

TEST(Price, ALimitBelowTheLowestClockStretchesTime) {
  const Device& d = device("v100-sxm2");
  Work w;
  w.ops[index(Unit::kMatrixFp16)] = Flops(1e12);
  const Price p = *price(w, d, {Hertz(1530e6)}, {.power_limit = Watts(32)});
  EXPECT_TRUE(p.power_capped);
  EXPECT_NEAR(p.energy_j.value / p.time_s.value, 32, 1e-6);
}

TEST(Price, RefusesWhatItCannotKnow) {
  const Device& d = device("a100-sxm4-80gb");
  EXPECT_EQ(price({}, d, {Hertz(2e9)}).error().code, Errc::kInvalidArgument);
  EXPECT_NE(price({}, d, {Hertz(2e9)}).error().hint.find("1410 MHz"), std::string::npos);
  EXPECT_EQ(price({}, d, {Hertz(std::nan(""))}).error().code, Errc::kInvalidArgument);
  Work w;
  w.ops[index(Unit::kMatrixFp8)] = Flops(1);
  EXPECT_EQ(price(w, d, {Hertz(1410e6)}).error().code, Errc::kUnsupported);
  EXPECT_NE(price(w, d, {Hertz(1410e6)}).error().message.find("matrix_fp8"), std::string::npos);
  w = {};
  w.bytes[index(Level::kHbm)] = Bytes(-1);
  EXPECT_EQ(price(w, d, {Hertz(1410e6)}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(price(streaming(1), d, {Hertz(1410e6)}, {.power_limit = Watts(20)}).error().code,
            Errc::kInvalidArgument);
}

TEST(Price, NothingCostsNothing) {
  const Price p = *price({}, device("l4"), {Hertz(2040e6)});
  EXPECT_EQ(p.time_s.value, 0);
  EXPECT_EQ(p.energy_j.value, 0);
}

TEST(Price, BelowTheRegimeBreakIsFlaggedAndWorseThanOneOverF) {
  const Device& d = device("v100-sxm2");
  Work w;
  w.ops[index(Unit::kVectorFp32)] = Flops(1e12);
  const Price above = *price(w, d, {Hertz(945e6)});
  const Price below = *price(w, d, {Hertz(600e6)});
  EXPECT_FALSE(above.below_break);
  EXPECT_TRUE(below.below_break);
  EXPECT_GT(below.time_s.value, above.time_s.value * 945 / 600 * 1.05);
}

Work random_work(std::mt19937_64& rng, const Device& d) {
  std::uniform_real_distribution<double> exponent(6, 12);
  std::uniform_int_distribution<int> coin(0, 2);
  Work w;
  for (std::size_t i = 0; i < kUnits; ++i) {
    if (d.peak_flops[i] && d.unit_j[i] && coin(rng) == 0)
      w.ops[i] = Flops(std::pow(10, exponent(rng)));
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    if (d.bandwidth[i] && coin(rng) != 0) w.bytes[i] = Bytes(std::pow(10, exponent(rng) - 1.5));
  }
  return w;
}

void holds(const Estimate& e, const char* what) {
  EXPECT_LE(e.low, e.value) << what;
  EXPECT_LE(e.value, e.high) << what;
  EXPECT_TRUE(std::isfinite(e.high)) << what;
}

TEST(PriceProperty, SumsIntervalsCapAndMonotony) {
  std::mt19937_64 rng(7);
  for (const Device& d : built_in_devices()) {
    for (int round = 0; round < 60; ++round) {
      const Work w = random_work(rng, d);
      double last_time = INFINITY;
      for (const Hertz f : d.sm_clocks) {
        const auto p = price(w, d, {f});
        ASSERT_TRUE(p.has_value()) << p.error().message;
        double sum = p->constant_j.value + p->clock_j.value;
        for (const auto& e : p->unit_j) sum += e.value;
        for (const auto& e : p->level_j) sum += e.value;
        EXPECT_NEAR(sum, p->energy_j.value, 1e-9 * sum + 1e-15);
        holds(p->time_s, "time");
        holds(p->energy_j, "energy");
        holds(p->power_w, "power");
        for (const auto& e : p->unit_j) holds(e, "unit");
        for (const auto& e : p->level_j) holds(e, "level");
        EXPECT_LE(p->energy_j.value, d.power_limit_w.value() * p->time_s.value * (1 + 1e-6));
        EXPECT_LE(p->time_s.value, last_time * (1 + 1e-9)) << d.id << " " << f.si();
        last_time = p->time_s.value;
        EXPECT_LE(p->achieved_clock.si(), f.si());
      }
    }
  }
}

TEST(PriceProperty, ALowerPowerLimitIsNeverFaster) {
  std::mt19937_64 rng(8);
  const Device& d = device("a100-pcie-80gb");
  for (int round = 0; round < 200; ++round) {
    const Work w = random_work(rng, d);
    double last = INFINITY;
    for (const double limit : {100.0, 150.0, 200.0, 250.0, 300.0}) {
      const Price p = *price(w, d, {Hertz(1410e6)}, {.power_limit = Watts(limit)});
      EXPECT_LE(p.time_s.value, last * (1 + 1e-9));
      if (p.time_s.value > 0) {
        EXPECT_LE(p.power_w.value, limit * (1 + 1e-6));
      }
      last = p.time_s.value;
    }
  }
}

}  // namespace
}  // namespace ergon::model
// NOLINTEND(bugprone-unchecked-optional-access)
