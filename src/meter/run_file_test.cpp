// Run files: what is written is read back, what is unknown stays unknown, other files are refused.
#include "ergon/meter/run_file.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "sqlite.hpp"

namespace ergon::meter {
namespace {

class RunFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = (std::filesystem::temp_directory_path() /
             ("ergon_run_file_" + std::string(info->name()) + ".db"))
                .string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_F(RunFileTest, WhatIsWrittenIsReadBack) {
  {
    auto file = RunFile::create(path_, {.kind = "sweep",
                                        .ergon_version = "1",
                                        .command_line = "ergon sweep -- ./train",
                                        .created_utc = "2026-01-02T03:04:05Z",
                                        .more = {{"host", "n1"}}});
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->add_device({.id = "0", .name = "A100", .power_limit_w = 400}));
    ASSERT_TRUE(file->add_device({.id = "0", .name = "A100", .origin = Origin::kSimulated}));
    StoredPoint point{.order_index = 3,
                      .baseline = true,
                      .parameters = {{"batch", "16"}, {"algo", "fft"}},
                      .asked_clock_hz = 1.41e9};
    const auto id = file->add_point(point);
    ASSERT_TRUE(id) << id.error().message;
    point.id = *id;
    point.state = "done";
    point.valid = false;
    point.clock_hz = 1.2e9;
    point.reason = "throttled";
    ASSERT_TRUE(file->update_point(point));
    const auto run =
        file->add_run({.point = *id,
                       .repeat = 1,
                       .window = {100, 2000},
                       .exit_status = 0,
                       .energies = {{.device = "0",
                                     .energy_j = Estimate{10, 9, 11, Origin::kMeasured},
                                     .energy_counter_j = 10.5,
                                     .throttle_bits = 0x8000000000000400ULL}},
                       .figures = {{"images_per_s", 12.5}}});
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_TRUE(file->add_region({.run = *run,
                                  .device = "0",
                                  .name = "step",
                                  .window = {200, 300},
                                  .why_unknown = "too short"}));
    Series series;
    series.gpu = "0";
    series.time_ns = {1, 2, 3};
    series.power_w = {10, kMissing, 30};
    ASSERT_TRUE(file->add_samples(series));
    ASSERT_TRUE(file->add_samples(series));  // the same times again change nothing
  }
  const auto file = RunFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->provenance()->kind, "sweep");
  EXPECT_EQ(file->provenance()->more.front().second, "n1");
  const auto devices = file->devices();
  ASSERT_TRUE(devices && devices->size() == 1);
  EXPECT_EQ(devices->front().origin, Origin::kSimulated);
  EXPECT_FALSE(devices->front().power_limit_w);
  const auto points = file->points();
  ASSERT_TRUE(points && points->size() == 1);
  EXPECT_EQ(points->front().parameters[1].second, "fft");
  EXPECT_EQ(points->front().valid, false);
  EXPECT_EQ(points->front().reason, "throttled");
  EXPECT_FALSE(points->front().asked_memory_clock_hz);
  const auto runs = file->runs();
  ASSERT_TRUE(runs && runs->size() == 1);
  EXPECT_EQ(runs->front().energies.front().energy_j->high, 11);
  EXPECT_FALSE(runs->front().energies.front().energy_above_idle_j);
  EXPECT_EQ(runs->front().energies.front().throttle_bits, 0x8000000000000400ULL);
  EXPECT_EQ(runs->front().figures.front().second, 12.5);
  EXPECT_EQ(file->regions()->front().why_unknown, "too short");
  const auto series = file->samples("0");
  ASSERT_TRUE(series);
  EXPECT_EQ(series->time_ns, (std::vector<Nanos>{1, 2, 3}));
  EXPECT_TRUE(is_missing(series->power_w[1]));
  EXPECT_TRUE(series->energy_j.empty());
  EXPECT_EQ(file->samples("0", Window{2, 3})->size(), 2U);
}

TEST_F(RunFileTest, AFileThatIsThereIsNotOverwritten) {
  std::ofstream(path_) << "mine";
  const auto file = RunFile::create(path_, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kIo);
}

TEST_F(RunFileTest, OtherFilesAreRefused) {
  EXPECT_FALSE(RunFile::open(path_));
  std::ofstream(path_) << std::string(4096, 'x');
  auto file = RunFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Errc::kMalformedInput);
  std::filesystem::remove(path_);
  {
    auto db = Database::open(path_, Database::Mode::kCreate);
    ASSERT_TRUE(db && db->run("CREATE TABLE t (x)"));
  }
  file = RunFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("no run file"), std::string::npos);
  std::filesystem::remove(path_);
  {
    ASSERT_TRUE(RunFile::create(path_, {}));
    auto db = Database::open(path_, Database::Mode::kWrite);
    ASSERT_TRUE(db && db->run("PRAGMA user_version=9"));
  }
  file = RunFile::open(path_);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().hint.find("newer"), std::string::npos);
}

TEST_F(RunFileTest, AReadOnlyFileTakesNoWrites) {
  ASSERT_TRUE(RunFile::create(path_, {}));
  auto file = RunFile::open(path_);
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->set_fact("a", "b"));
}

TEST_F(RunFileTest, AWriteThatWasKilledInTheMiddleIsUndone) {
  {
    auto file = RunFile::create(path_, {"measure", "1", "ergon measure", ""});
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->add_device({.id = "0"}));
    Series series;
    series.gpu = "0";
    series.time_ns = {1, 2, 3};
    series.power_w = {50, 51, 52};
    ASSERT_TRUE(file->add_samples(series));
  }
  const pid_t writer = ::fork();
  if (writer == 0) {
    auto db = Database::open(path_, Database::Mode::kWrite);
    // Pages reach the file before the end of the transaction.
    const bool begun = db && db->run("PRAGMA cache_size=1") && db->run("BEGIN") &&
                       db->run(
                           "WITH RECURSIVE k(i) AS (SELECT 10 UNION ALL SELECT i+1 FROM k "
                           "WHERE i < 20000) INSERT INTO samples(device, time_ns, power_w) "
                           "SELECT '0', i, 1e6 FROM k");
    ::_exit(begun ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(path_ + "-journal"));
  const auto file = RunFile::open(path_);
  ASSERT_TRUE(file) << file.error().message;
  const auto samples = file->samples("0");
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->power_w, (std::vector<double>{50, 51, 52}));
}

}  // namespace
}  // namespace ergon::meter
