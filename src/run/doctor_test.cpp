// The doctor on machines without a GPU and on a recorded run.
#include "ergon/run/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fake_gpu_test.hpp"

namespace ergon::run {
namespace {
namespace fs = std::filesystem;

class DoctorTest : public testing::Test {
 public:
  ~DoctorTest() override { fs::remove_all(root_); }

 protected:
  DoctorTest() {
    std::string pattern = (fs::temp_directory_path() / "ergon-doctor-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    options_.root = root_;
    options_.now = [this] { return now_; };
    options_.sleep = [this](Nanos ns) { now_ += ns; };
  }
  std::string root_;
  Nanos now_ = 1'000'000'000;
  DoctorOptions options_;
};

TEST_F(DoctorTest, WithoutAGpuItSaysWhy) {
  const Result<gpu::Machine> none = fail(Errc::kDevice, "no GPU here", "get one");
  const Checkup checkup = *examine(none, options_);
  EXPECT_FALSE(checkup.can_measure());
  EXPECT_FALSE(checkup.can_control());
  const auto about = std::ranges::find(checkup.findings, "machine", &Finding::subject);
  ASSERT_NE(about, checkup.findings.end());
  EXPECT_EQ(about->severity, Finding::Severity::kError);
  EXPECT_EQ(about->fix, "get one");
  ASSERT_TRUE(checkup.no_cpu);
}

TEST_F(DoctorTest, SensorPeriodsAreSeenFromReadings) {
  std::ofstream csv(root_ + "/run.csv");
  csv << "time_s,gpu,power_w,energy_j\n";
  // Power every 20 ms, the counter every 100 ms.
  for (int i = 0; i < 300; ++i) {
    csv << i * 0.02 << ",0," << 100 + (i * 7) % 13 << ',' << (i / 5) * 11 << '\n';
  }
  csv.close();
  gpu::Options open;
  open.now = options_.now;
  gpu::Selection selection;
  selection.kind = gpu::Selection::Kind::kRecorded;
  selection.file = root_ + "/run.csv";
  const auto machine = gpu::open_machine(selection, open);
  ASSERT_TRUE(machine);
  const Checkup checkup = *examine(machine, options_);
  EXPECT_TRUE(checkup.can_measure());
  EXPECT_FALSE(checkup.can_control());
  const auto& sensor = checkup.gpus.front().sensor;
  ASSERT_TRUE(sensor.update_period_s);
  EXPECT_NEAR(sensor.update_period_s->value, 0.02, 0.002);
  ASSERT_TRUE(sensor.energy_tick_s);
  EXPECT_NEAR(sensor.energy_tick_s->value, 0.1, 0.005);
  EXPECT_FALSE(checkup.gpus.front().window);
}

// A board whose power is the mean over a window before each renewal.
class AveragingGpu : public test::FakeGpu {
 public:
  double window_s = 0.025;
  Nanos* now_ns = nullptr;
  Result<gpu::EnergyReading> energy() override { return gpu::EnergyReading{}; }
  Result<gpu::Sample> sample(const gpu::Fields& fields) override {
    now_s = static_cast<double>(*now_ns) * 1e-9;
    auto out = FakeGpu::sample(fields);
    const double renewed = std::floor((now_s - 0.061) / 0.1) * 0.1 + 0.061;
    const double from = std::max(0.0, renewed - window_s);
    out->power_w = (joules(renewed) - joules(from)) / std::max(renewed - from, 1e-3);
    return out;
  }
};

gpu::Machine machine_of(std::unique_ptr<gpu::Gpu> gpu) {
  gpu::Machine machine;
  machine.gpus.push_back(std::move(gpu));
  return machine;
}

TEST_F(DoctorTest, TheAveragingWindowIsMeasuredWhereALoadMakesSteps) {
  for (const double window : {0.025, 1.0}) {
    auto gpu = std::make_unique<AveragingGpu>();
    gpu->window_s = window;
    gpu->now_ns = &now_;
    bool busy = false;
    gpu->watts = [&](double t) { return busy && std::fmod(t, 1.46) < 0.73 ? 250.0 : 80.0; };
    options_.watch = Seconds(14);
    options_.start_load = [&]() -> Status {
      busy = true;
      return {};
    };
    const Result<gpu::Machine> machine = machine_of(std::move(gpu));
    const auto checkup = examine(machine, options_);
    ASSERT_TRUE(checkup);
    const auto& found = checkup->gpus.front().window;
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_NEAR(found->window_s.value, window, 0.004 + 0.03 * window);
    EXPECT_EQ(found->window_s.origin, Origin::kMeasured);
    options_.start_load = nullptr;
  }
}

TEST_F(DoctorTest, TheAveragingWindowOfAnIdleBoardIsUnknownAndThePublishedOneStandsBeside) {
  auto gpu = std::make_unique<AveragingGpu>();
  gpu->who = test::board("NVIDIA A100-SXM4-40GB", "ampere");
  gpu->now_ns = &now_;
  gpu->watts = [](double t) { return 80.0 + 0.2 * std::sin(t * 31); };
  options_.watch = Seconds(3);
  const Result<gpu::Machine> machine = machine_of(std::move(gpu));
  const auto checkup = examine(machine, options_);
  ASSERT_TRUE(checkup);
  const GpuCheckup& one = checkup->gpus.front();
  ASSERT_FALSE(one.window);
  EXPECT_NE(one.window.error().message.find("nothing ran"), std::string::npos);
  ASSERT_TRUE(one.published_window_s);
  EXPECT_EQ(one.published_window_s->value, 0.025);
  EXPECT_EQ(one.published_window_s->origin, Origin::kPublished);
}

std::string messages_of(const Checkup& checkup) {
  std::string all;
  for (const Finding& finding : checkup.findings) {
    all += finding.subject;
    all += ": " + finding.message + "\n";
  }
  return all;
}

TEST_F(DoctorTest, AHotBoardAndUnknownReasonsAreFindings) {
  class Warm : public AveragingGpu {
   public:
    Result<double> temperature_c() override { return 72.0; }
    Result<std::vector<gpu::Process>> processes() override { return std::vector<gpu::Process>{}; }
    Result<gpu::Throttle> throttle() override { return gpu::Throttle{0x4000 | 0x4}; }
  };
  auto gpu = std::make_unique<Warm>();
  gpu->now_ns = &now_;
  const Result<gpu::Machine> machine = machine_of(std::move(gpu));
  const std::string found = messages_of(*examine(machine, options_));
  EXPECT_NE(found.find("72 °C hot while nothing runs"), std::string::npos) << found;
  EXPECT_NE(found.find("not documented (unknown 0x4000)"), std::string::npos) << found;
  EXPECT_NE(found.find("held back now: power cap"), std::string::npos) << found;
  EXPECT_EQ(found.find("GPU 0: GPU 0"), std::string::npos) << found;
}

TEST_F(DoctorTest, TheWatchEndsSoonAfterTheLoad) {
  auto gpu = std::make_unique<AveragingGpu>();
  gpu->now_ns = &now_;
  options_.watch = Seconds(60);
  const Nanos begin = now_;
  options_.load_runs = [&] { return now_ < begin + 2'000'000'000; };
  const Result<gpu::Machine> machine = machine_of(std::move(gpu));
  ASSERT_TRUE(examine(machine, options_));
  EXPECT_NEAR(static_cast<double>(now_ - begin) * 1e-9, 2.5, 0.1);
  options_.start_load = [] { return Status(fail(Errc::kNotFound, "no such program")); };
  EXPECT_FALSE(examine(machine, options_));
}

}  // namespace
}  // namespace ergon::run
