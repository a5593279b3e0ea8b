// Readings become series; missing stays missing.
#include "ergon/run/sampler.hpp"

#include <gtest/gtest.h>

#include "ergon/gpu/machine.hpp"
#include "fake_gpu_test.hpp"

namespace ergon::run {
namespace {

TEST(Poller, KeepsWhatWasReadAndWhatWasNot) {
  test::FakeGpu gpu;
  gpu.has_counter = false;
  gpu.watts = [](double t) { return t < 0.5 ? 50.0 : 150.0; };
  Poller poller(gpu, 10);
  for (int i = 0; i < 100; ++i) {
    gpu.now_s = i * 0.01;
    ASSERT_TRUE(poller.poll());
  }
  const auto& series = poller.series();
  ASSERT_EQ(series.size(), 100U);
  EXPECT_TRUE(meter::is_missing(series.energy_j[50]));
  EXPECT_EQ(series.power_w.front(), 50);
  EXPECT_EQ(series.power_w.back(), 150);
  EXPECT_EQ(series.clock_hz[0], 1.41e9);
  EXPECT_TRUE(meter::is_missing(series.clock_hz[1]));  // read every tenth time
  EXPECT_EQ(series.clock_hz[10], 1.41e9);
  EXPECT_EQ(poller.ticks(), 1U);  // the power moved once
}

TEST(Poller, SeesTheCountersTicks) {
  test::FakeGpu gpu;
  Poller poller(gpu);
  for (int i = 0; i < 100; ++i) {
    gpu.now_s = i * 0.01;
    poller.poll();
  }
  EXPECT_EQ(poller.ticks(), 10U);
}

TEST(Poller, StopsWhereTheGpuIsLost) {
  test::FakeGpu gpu;
  Poller poller(gpu);
  EXPECT_TRUE(poller.poll());
  gpu.lost = true;
  EXPECT_FALSE(poller.poll());
  EXPECT_EQ(poller.failure()->message, "GPU 0 is lost");
  EXPECT_EQ(poller.series().size(), 1U);
}

TEST(Sampler, ReadsUntilItIsStopped) {
  test::FakeGpu one;
  test::FakeGpu two;
  const std::vector<gpu::Gpu*> gpus = {&one, &two};
  Sampler sampler(gpus, {.interval_ns = 1'000'000});
  sampler.start();
  // Time stands still: the counters never move.
  EXPECT_FALSE(sampler.wait_for_ticks(1, gpu::monotonic_now() + 30'000'000, [] { return true; }));
  EXPECT_FALSE(
      sampler.wait_for_ticks(1, gpu::monotonic_now() + 60'000'000'000, [] { return false; }));
  const auto series = sampler.stop();
  ASSERT_EQ(series.size(), 2U);
  EXPECT_GT(series[0].size(), 5U);
  EXPECT_EQ(sampler.cost().readings, series[0].size() + series[1].size());
}

TEST(Sampler, CopiesOfReadingsAreTheReadings) {
  test::FakeGpu gpu;
  const std::vector<gpu::Gpu*> gpus = {&gpu};
  Sampler sampler(gpus, {.interval_ns = 500'000, .copy_every_ns = 5'000'000});
  sampler.start();
  std::vector<meter::Series> parts;
  const Nanos until = gpu::monotonic_now() + 20'000'000'000;
  while (parts.size() < 3 && gpu::monotonic_now() < until) {
    for (auto& part : sampler.take_new()) parts.push_back(std::move(part));
  }
  const auto series = sampler.stop();
  for (auto& part : sampler.take_new()) parts.push_back(std::move(part));
  ASSERT_GE(parts.size(), 3U);
  std::vector<Nanos> times;
  std::vector<double> watts;
  for (const auto& part : parts) {
    EXPECT_EQ(part.gpu, "0");
    times.insert(times.end(), part.time_ns.begin(), part.time_ns.end());
    watts.insert(watts.end(), part.power_w.begin(), part.power_w.end());
  }
  EXPECT_EQ(times, series[0].time_ns);
  EXPECT_EQ(watts, series[0].power_w);
}

}  // namespace
}  // namespace ergon::run
