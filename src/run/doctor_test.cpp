// The doctor on machines without a GPU and on a recorded run.
#include "ergon/run/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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
  const Checkup checkup = examine(none, options_);
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
  const Checkup checkup = examine(machine, options_);
  EXPECT_TRUE(checkup.can_measure());
  EXPECT_FALSE(checkup.can_control());
  const auto& sensor = checkup.gpus.front().sensor;
  ASSERT_TRUE(sensor.update_period_s);
  EXPECT_NEAR(sensor.update_period_s->value, 0.02, 0.002);
  ASSERT_TRUE(sensor.energy_tick_s);
  EXPECT_NEAR(sensor.energy_tick_s->value, 0.1, 0.005);
  EXPECT_FALSE(sensor.averaging_window_s);
}

}  // namespace
}  // namespace ergon::run
