// Responses of observed work: exact at the reference clock, additive, capped, monotone; measured
// fits.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ergon/model.hpp"
#include "test_devices.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::model {
namespace {

Work gemm_fp16(double flops, double bytes) {
  Work w;
  w.ops[index(Unit::kMatrixFp16)] = Flops(flops);
  w.bytes[index(Level::kHbm)] = Bytes(bytes);
  w.bytes[index(Level::kL2)] = Bytes(bytes);
  return w;
}

std::size_t at_clock(const ClockTable& t, double mhz) {
  for (std::size_t i = 0; i < t.clocks.size(); ++i) {
    if (std::abs(t.clocks[i].si() - mhz * 1e6) < 0.5e6) return i;
  }
  ADD_FAILURE() << "no clock " << mhz;
  return 0;
}

TEST(Response, AtTheReferenceClockTheObservedTimeComesBackExactly) {
  for (const Device& d : built_in_devices()) {
    const ClockTable t = clock_table(d, d.default_clock);
    for (std::size_t k = 0; k < kWorkClasses; ++k) {
      for (const double time : {1e-6, 7e-6, 3e-3}) {
        const Response r =
            respond(d, t, {Seconds(time), nullptr, static_cast<WorkClass>(k), Known::kClass});
        EXPECT_DOUBLE_EQ(r.observed_s(), time);
        EXPECT_DOUBLE_EQ(at(t, r, t.reference_index).time_s, time);
        EXPECT_LE(at(t, r, t.reference_index).power_w, d.power_limit_w.value() * (1 + 1e-12));
      }
    }
  }
}

TEST(Response, ComputeBoundFollowsTheClockAndMemoryBoundDoesNot) {
  const Device& d = device("a100-sxm4-80gb");
  const ClockTable t = clock_table(d, Hertz(1410e6));
  // 1e11 FLOP at 312 TFLOP/s x 0.8 take 400 us; 10 MB take next to nothing.
  const Work compute = gemm_fp16(1e11, 1e7);
  const Response c = respond(d, t, {Seconds(420e-6), &compute, WorkClass::kGemm, Known::kShapes});
  EXPECT_GT(c.core_s / c.observed_s(), 0.99);
  // 1 GB at 2039 GB/s x 0.88 takes 557 us.
  const Work stream = gemm_fp16(1e9, 1e9);
  const Response m =
      respond(d, t, {Seconds(570e-6), &stream, WorkClass::kElementwise, Known::kShapes});
  EXPECT_LT(m.core_s / m.observed_s(), 0.1);
  const std::size_t low = at_clock(t, 1005);
  EXPECT_NEAR(at(t, c, low).time_s / 420e-6, 1410.0 / 1005, 0.01);
  EXPECT_NEAR(at(t, m, low).time_s / 570e-6, 1, 0.03);
  EXPECT_LT(at(t, m, low).power_w, at(t, m, t.reference_index).power_w);
}

TEST(Response, WhatTheRooflineDoesNotExplainFollowsTheClock) {
  const Device& d = device("a100-sxm4-80gb");
  const ClockTable t = clock_table(d, Hertz(1410e6));
  const Work tiny = gemm_fp16(1e6, 1e4);
  const Response r = respond(d, t, {Seconds(20e-6), &tiny, WorkClass::kGemm, Known::kShapes});
  EXPECT_GT(r.core_s / r.observed_s(), 0.95);
  EXPECT_LT(r.core_low_s / r.observed_s(), 0.4);  // ... or does not: the interval is wide
}

TEST(Response, UnknownWorkGrowsAsOneOverF) {
  const Device& d = device("h100-sxm");
  const ClockTable t = clock_table(d, Hertz(1980e6));
  const Response r = respond(d, t, {Seconds(1e-4), nullptr, WorkClass::kGemm, Known::kUnknown});
  EXPECT_DOUBLE_EQ(at(t, r, at_clock(t, 990)).time_s, 2e-4);
}

TEST(Response, CopiesOverTheLinkAndMostOfACollectiveStayAsTheyAre) {
  const Device& d = device("a100-sxm4-80gb");
  const ClockTable t = clock_table(d, Hertz(1410e6));
  const Response copy =
      respond(d, t, {Seconds(1e-3), nullptr, WorkClass::kCopyHost, Known::kClass});
  EXPECT_DOUBLE_EQ(at(t, copy, at_clock(t, 705)).time_s, 1e-3);
  const Response collective =
      respond(d, t, {Seconds(1e-3), nullptr, WorkClass::kCollective, Known::kClass});
  EXPECT_NEAR(at(t, collective, at_clock(t, 705)).time_s, 1.1e-3, 1e-9);
  EXPECT_NEAR(at(t, collective, at_clock(t, 705)).time_high_s, 1.4e-3, 1e-9);
}

TEST(Response, APackIsTheSumOfItsKernels) {
  const Device& d = device("h200-sxm");
  const ClockTable t = clock_table(d, Hertz(1980e6));
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> exponent(-5.5, -3);
  Response pack;
  std::vector<Response> kernels;
  for (int i = 0; i < 50; ++i) {
    const auto kind = static_cast<WorkClass>(rng() % kWorkClasses);
    kernels.push_back(
        respond(d, t, {Seconds(std::pow(10, exponent(rng))), nullptr, kind, Known::kClass}));
    pack += kernels.back();
  }
  for (std::size_t i = 0; i < t.clocks.size(); ++i) {
    double time = 0;
    double dynamic = 0;
    for (const Response& k : kernels) {
      time += at(t, k, i).time_s;
      dynamic += at(t, k, i).dynamic_j;
    }
    EXPECT_NEAR(at(t, pack, i).time_s, time, 1e-12);
    EXPECT_NEAR(at(t, pack, i).dynamic_j, dynamic, 1e-9 * dynamic);
  }
}

TEST(ResponseProperty, MonotoneWithIntervalsAroundTheValue) {
  std::mt19937_64 rng(5);
  std::uniform_real_distribution<double> exponent(-6, -2);
  for (const Device& d : built_in_devices()) {
    const ClockTable t = clock_table(d, d.default_clock);
    for (int round = 0; round < 100; ++round) {
      const Work w =
          gemm_fp16(std::pow(10, 6 + double(rng() % 6)), std::pow(10, 4 + double(rng() % 5)));
      const bool shapes = rng() % 2 == 0;
      const Response r = respond(
          d, t,
          {Seconds(std::pow(10, exponent(rng))), &w, static_cast<WorkClass>(rng() % kWorkClasses),
           shapes ? Known::kShapes : Known::kClass});
      EXPECT_LE(r.core_low_s, r.core_s * (1 + 1e-12));
      EXPECT_LE(r.core_s, r.core_high_s * (1 + 1e-12));
      EXPECT_LE(r.core_high_s, r.observed_s() * (1 + 1e-12));
      double last = INFINITY;
      for (std::size_t i = 0; i < t.clocks.size(); ++i) {
        const ResponsePoint p = at(t, r, i);
        EXPECT_LE(p.time_s, last * (1 + 1e-12));
        EXPECT_LE(p.time_low_s, p.time_s);
        EXPECT_GE(p.time_high_s, p.time_s);
        EXPECT_LE(p.dynamic_low_j, p.dynamic_j);
        EXPECT_GE(p.dynamic_high_j, p.dynamic_j);
        EXPECT_LE(p.power_w, d.power_limit_w.value());
        EXPECT_EQ(p.below_break, d.behaviour.regime_break_hz &&
                                     p.clock.si() < d.behaviour.regime_break_hz->value() - 0.5e6);
        last = p.time_s;
      }
    }
  }
}

TEST(Response, EnergiesAreScaledIntoThePowerLimitAndSaySo) {
  const Device& d = device("a100-sxm4-80gb");
  const ClockTable t = clock_table(d, Hertz(1410e6));
  Work w;
  w.ops[index(Unit::kVectorFp64)] = Flops(9.7e9);   // 1 ms at the peak: 276 W
  w.ops[index(Unit::kMatrixFp16)] = Flops(3.1e11);  // 1 ms at the peak: 217 W
  bool capped = false;
  const Response r = respond(d, t, {Seconds(1e-3), &w, WorkClass::kGemm, Known::kShapes}, &capped);
  EXPECT_TRUE(capped);
  EXPECT_NEAR(at(t, r, t.reference_index).power_w, 400, 1e-6);
  const Work less = gemm_fp16(1e10, 1e6);
  respond(d, t, {Seconds(1e-3), &less, WorkClass::kGemm, Known::kShapes}, &capped);
  EXPECT_FALSE(capped);
}

std::vector<MeasuredPoint> points(const std::vector<std::array<double, 3>>& rows) {
  std::vector<MeasuredPoint> out;
  out.reserve(rows.size());
  for (const auto& r : rows) out.push_back({Hertz(r[0] * 1e6), Seconds(r[1]), Joules(r[1] * r[2])});
  return out;
}

TEST(MeasuredResponse, AQuadraticComesBack) {
  std::vector<std::array<double, 3>> rows;
  for (const double f : {800.0, 900.0, 1000.0, 1200.0, 1400.0, 1500.0}) {
    const double x = 1500 / f;
    rows.push_back({f, 0.3 + 0.5 * x + 0.2 * x * x, 40 + 0.1 * f + 5e-5 * f * f});
  }
  const auto r = MeasuredResponse::fit(points(rows), nullptr);
  ASSERT_TRUE(r.has_value()) << r.error().message;
  EXPECT_STREQ(r->form(), "quadratic");
  const double x = 1500.0 / 1100;
  EXPECT_NEAR(r->time_ratio(Hertz(1100e6)).value, 0.3 + 0.5 * x + 0.2 * x * x, 1e-9);
  EXPECT_NEAR(r->power_w(Hertz(1100e6)).value, 40 + 110 + 5e-5 * 1100 * 1100, 1e-6);
  EXPECT_EQ(r->time_ratio(Hertz(1000e6)).origin, Origin::kMeasured);
  EXPECT_EQ(r->time_ratio(Hertz(1100e6)).origin, Origin::kFitted);
}

TEST(MeasuredResponse, AKneeIsKept) {
  std::vector<std::array<double, 3>> rows;
  for (const double f : {600.0, 700.0, 800.0, 952.0, 1080.0, 1207.0, 1335.0, 1530.0}) {
    rows.push_back({f, std::max(1.0, 952 / f), 60 + 0.07 * f});
  }
  const auto r = MeasuredResponse::fit(points(rows), nullptr);
  ASSERT_TRUE(r.has_value());
  EXPECT_STREQ(r->form(), "knee");
  EXPECT_NEAR(r->time_ratio(Hertz(1140e6)).value, 1, 0.01);
  EXPECT_NEAR(r->time_ratio(Hertz(750e6)).value, 952.0 / 750, 0.03);
}

TEST(MeasuredResponse, TheRegimeBreakIsRespected) {
  const Device& d = device("v100-sxm2");
  const auto rows = points({{405, 5, 40}, {945, 1.2, 110}, {1140, 1.1, 130}, {1380, 1.0, 165}});
  const auto r = MeasuredResponse::fit(rows, &d);
  ASSERT_TRUE(r.has_value());
  EXPECT_FALSE(r->extrapolated(Hertz(1237e6)).has_value());
  EXPECT_FALSE(r->extrapolated(Hertz(405e6)).has_value());  // measured
  ASSERT_TRUE(r->extrapolated(Hertz(705e6)).has_value());
  EXPECT_NE(r->extrapolated(Hertz(705e6))->find("regime break"), std::string::npos);
  EXPECT_GE(r->time_ratio(Hertz(705e6)).value, 1.2 * 945 / 705 * 0.999);
  EXPECT_DOUBLE_EQ(r->time_ratio(Hertz(405e6)).value, 5);
  const auto few = MeasuredResponse::fit(
      points({{405, 5, 40}, {502, 4, 60}, {945, 1.2, 110}, {1380, 1.0, 165}}), &d);
  ASSERT_FALSE(few.has_value());
  EXPECT_NE(few.error().message.find("three clocks, found 2"), std::string::npos);
}

TEST(MeasuredResponse, BadPointsAreRefused) {
  EXPECT_FALSE(MeasuredResponse::fit({}, nullptr).has_value());
  EXPECT_FALSE(MeasuredResponse::fit(points({{1, 1, 1}, {2, 1, 1}}), nullptr).has_value());
  EXPECT_FALSE(
      MeasuredResponse::fit(points({{1, 1, 1}, {2, 0, 1}, {3, 1, 1}}), nullptr).has_value());
  EXPECT_FALSE(
      MeasuredResponse::fit(points({{1, 1, 1}, {2, 1, 1}, {2, 1, 1}}), nullptr).has_value());
}

TEST(MeasuredResponse, TimeNeverFallsWithTheClock) {
  std::mt19937_64 rng(11);
  std::uniform_real_distribution<double> noise(0.97, 1.03);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::array<double, 3>> rows;
    for (const double f : {700.0, 900.0, 1100.0, 1300.0, 1500.0})
      rows.push_back({f, std::pow(1500 / f, double(round % 10) / 10) * noise(rng), 50 + f / 10});
    const auto r = MeasuredResponse::fit(points(rows), nullptr);
    ASSERT_TRUE(r.has_value());
    double last = INFINITY;
    for (double f = 705; f < 1500; f += 10) {
      const Estimate e = r->time_ratio(Hertz(f * 1e6));
      if (e.origin == Origin::kMeasured) continue;
      EXPECT_LE(e.value, last * (1 + 1e-9)) << f;
      last = e.value;
    }
  }
}

}  // namespace
}  // namespace ergon::model
// NOLINTEND(bugprone-unchecked-optional-access)
