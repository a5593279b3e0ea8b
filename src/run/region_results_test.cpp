// Regions: measured where the sensor can tell, fitted where readings differ, else unknown.
#include <gtest/gtest.h>

#include <cmath>

#include "ergon/run.hpp"
#include "fake_gpu_test.hpp"

namespace ergon::run {
namespace {

Nanos ns(double seconds) { return static_cast<Nanos>(seconds * 1e9); }

// Regions of `length` every `period` from 1 s to 11 s, at 300 W, else 100 W.
struct Job {
  test::FakeGpu gpu;
  Marks marks;
  meter::Series series;
  meter::SensorModel sensor;

  Job(double length, double period, double from = 1, double to = 11, double tick = 0.1,
      double offset = 0.037) {
    gpu.tick_s = tick;
    gpu.offset_s = offset;
    Region region{"step", {}};
    for (int k = 0; from + k * period + length <= to; ++k) {
      const double start = from + k * period;
      region.spans.push_back({ns(start), ns(start + length)});
    }
    marks.regions.push_back(region);
    gpu.watts = [region](double t) {
      const auto at =
          std::upper_bound(region.spans.begin(), region.spans.end(), ns(t),
                           [](Nanos time, const Span& span) { return time < span.start_ns; });
      const bool inside = at != region.spans.begin() && std::prev(at)->end_ns > ns(t);
      return inside ? 300.0 : 100.0;
    };
    Poller poller(gpu);
    for (gpu.now_s = 0; gpu.now_s < 13; gpu.now_s += 0.01) poller.poll();
    series = poller.take();
    sensor = sensor_of(series, gpu.who, std::nullopt);
  }
  RegionResult result() {
    const GpuView view{&series, &sensor, 0};
    return region_results(marks, {ns(1), ns(11)}, std::span(&view, 1)).front();
  }
};

TEST(RegionResults, LongOnesAreMeasured) {
  const auto result = Job(2, 4).result();
  EXPECT_EQ(result.count, 3U);
  EXPECT_EQ(result.method, "windows");
  EXPECT_NEAR(result.energy_j->value, 3 * 600, 15);
  EXPECT_TRUE(result.why_unknown.empty());
}

TEST(RegionResults, OneShortOneCannotBeKnown) {
  const auto result = Job(0.05, 100).result();
  EXPECT_FALSE(result.energy_j.has_value());
  EXPECT_EQ(result.why_unknown,
            "cannot be known from this sensor: 50 ms is too short; 300 ms or more would do");
  EXPECT_NEAR(result.window_needed->si(), 0.3, 0.01);
}

TEST(RegionResults, ShortOnesWithoutPauseAreOneWindow) {
  const auto result = Job(0.03, 0.0301).result();
  EXPECT_EQ(result.method, "windows");
  EXPECT_GT(result.count, 300U);
  EXPECT_NEAR(result.energy_j->value, 300 * result.time.si(), 15);
}

TEST(RegionResults, InStepWithTheSensorTheyStayUnknown) {
  const auto result = Job(0.025, 0.1).result();
  EXPECT_FALSE(result.energy_j.has_value());
  EXPECT_NE(result.why_unknown.find("100 windows of about 25 ms"), std::string::npos)
      << result.why_unknown;
  EXPECT_NE(result.why_unknown.find("nearly the same share"), std::string::npos)
      << result.why_unknown;
}

TEST(RegionResults, OutOfStepTheyAreFitted) {
  const auto result = Job(0.07, 0.173).result();
  ASSERT_TRUE(result.energy_j.has_value()) << result.why_unknown;
  EXPECT_EQ(result.method, "fitted");
  EXPECT_EQ(result.energy_j->origin, Origin::kFitted);
  EXPECT_NEAR(result.energy_j->value, 300 * result.time.si(), 0.1 * 300 * result.time.si());
  EXPECT_LE(result.energy_j->low, 300 * result.time.si());
  EXPECT_GE(result.energy_j->high, 300 * result.time.si());
}

// Passages of a few ticks, in step with the counter: every passage is cut at the same places of its
// ticks, and a tick's time is known to the 10 ms between two readings only, the same for all. Such
// errors do not average out.
TEST(RegionResults, InStepWithTheCountersTicksTheIntervalHoldsTheTruthOrThereIsNone) {
  std::size_t known = 0;
  for (const double tick : {0.01, 0.02}) {
    for (const auto& [length, period] : std::vector<std::pair<double, double>>{
             {0.07, 0.1}, {0.18, 0.2}, {0.05, 0.1}, {0.1, 0.2}, {0.06, 0.4}}) {
      for (const double offset : {0.0005, 0.0055, 0.0115, 0.0175}) {
        const auto result = Job(length, period, 1.0031, 9, tick, offset).result();
        const double truth = 300 * result.time.si();
        if (!result.energy_j) {
          EXPECT_TRUE(result.window_needed.has_value());
          continue;
        }
        ++known;
        EXPECT_LE(result.energy_j->low, truth) << tick << " " << length << " " << offset;
        EXPECT_GE(result.energy_j->high, truth) << tick << " " << length << " " << offset;
      }
    }
  }
  EXPECT_GT(known, 10U);
}

// Power samples see 25 ms of each 100 ms, all of them at the same place of a load in step.
TEST(RegionResults, WithoutACounterALoadInStepWithTheSensorIsHeld) {
  for (const double offset : {0.011, 0.061}) {
    for (const bool twice : {false, true}) {
      test::FakeGpu gpu;
      gpu.who = test::board("A100", "ampere");
      gpu.has_counter = false;
      gpu.offset_s = offset;
      gpu.watts = [](double t) {
        const bool busy = std::fmod(t, 0.1) < 0.03 || (t > 0.2 && t < 0.9);
        return (busy ? 300.0 : 100.0) + std::sin(37 * t);
      };
      Poller poller(gpu);
      for (gpu.now_s = 0; gpu.now_s < 13; gpu.now_s += 0.01) poller.poll();
      const auto series = poller.take();
      const auto sensor = sensor_of(series, gpu.who, std::nullopt);
      Marks marks;
      marks.regions.push_back({"step", {{ns(2), ns(5)}}});
      if (twice) marks.regions.front().spans.push_back({ns(6), ns(9)});
      const GpuView view{&series, &sensor, 0};
      const auto result = region_results(marks, {ns(1), ns(11)}, std::span(&view, 1)).front();
      ASSERT_TRUE(result.energy_j.has_value()) << result.why_unknown;
      const double truth = 160 * result.covered.si();
      EXPECT_LE(result.energy_j->low, truth) << offset;
      EXPECT_GE(result.energy_j->high, truth) << offset;
      EXPECT_NEAR(result.unseen_share.value_or(0), 0.75, 0.01);
    }
  }
}

TEST(RegionResults, ManyLongOnesAreStillKnownWell) {
  const auto result = Job(0.9, 2, 1.0031, 11, 0.02, 0.003).result();
  ASSERT_TRUE(result.energy_j.has_value()) << result.why_unknown;
  EXPECT_EQ(result.method, "windows");
  EXPECT_LE(result.energy_j->high - result.energy_j->low, 0.03 * result.energy_j->value);
}

TEST(RegionResults, PassagesThatOverlapCoverTheirUnion) {
  Job job(2, 4);
  auto& spans = job.marks.regions.front().spans;
  const std::size_t count = spans.size();
  spans.insert(spans.begin() + 1, {spans.front().start_ns + ns(0.5), spans.front().end_ns});
  const auto result = job.result();
  EXPECT_EQ(result.count, count + 1);
  EXPECT_NEAR(result.time.si(), 2 * static_cast<double>(count) + 1.5, 1e-6);
  EXPECT_NEAR(result.covered.si(), 2 * static_cast<double>(count), 1e-6);
  EXPECT_NEAR(result.energy_j->value / result.covered.si(), 300, 5);
}

TEST(RegionResults, TwoGpusAreSummedAndOneUnknownIsUnknown) {
  Job job(2, 4);
  const GpuView view{&job.series, &job.sensor, 0};
  const std::array both = {view, view};
  EXPECT_NEAR(region_results(job.marks, {ns(1), ns(11)}, both).front().energy_j->value, 3600, 30);
  const meter::Series empty;
  const std::array broken = {view, GpuView{&empty, &job.sensor, 0}};
  EXPECT_FALSE(region_results(job.marks, {ns(1), ns(11)}, broken).front().energy_j.has_value());
}

}  // namespace
}  // namespace ergon::run
