// Run files of our own: points with their validity, repeats, regions.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ergon/meter.hpp"
#include "study_test.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::study {
namespace {

class RunFiles : public testing::Test {
 public:
  RunFiles()
      : path_(std::filesystem::temp_directory_path() /
              ("ergon_study_" + std::to_string(getpid()) + ".db")) {}
  ~RunFiles() override { std::filesystem::remove(path_); }
  RunFiles(const RunFiles&) = delete;
  RunFiles& operator=(const RunFiles&) = delete;

 protected:
  [[nodiscard]] Source source() const {
    std::ifstream in(path_, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return {path_.string(), text.str()};
  }
  static void add(meter::RunFile& file, double clock, const char* batch, double joules,
                  double seconds, std::optional<bool> valid, const char* reason = "") {
    meter::StoredPoint point{.parameters = {{"batch", batch}},
                             .asked_clock_hz = clock,
                             .state = "done",
                             .valid = valid,
                             .reason = reason};
    const auto id = file.add_point(point);
    ASSERT_TRUE(id);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto run = file.add_run(
          {.point = *id,
           .repeat = repeat,
           .warmup = false,
           .window = {0, static_cast<Nanos>(seconds * 1e9)},
           .energies = {{.device = "0",
                         .energy_j = Estimate{joules, joules - 1, joules + 1, Origin::kMeasured},
                         .clock_hz = clock}}});
      ASSERT_TRUE(run);
      if (repeat == 0) {
        ASSERT_TRUE(
            file.add_region({.run = *run,
                             .device = "0",
                             .name = "step",
                             .window = {0, static_cast<Nanos>(seconds * 5e8)},
                             .energy_j = Estimate{joules / 2, 0, joules, Origin::kMeasured}}));
      }
    }
  }

  std::filesystem::path path_;
};

TEST_F(RunFiles, a_sweep_is_a_study) {
  {
    auto file = meter::RunFile::create(
        path_.string(), {.kind = "sweep",
                         .ergon_version = "0",
                         .command_line = "ergon sweep -L batch=16 -- ./train {batch}",
                         .created_utc = {}});
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->add_device({.id = "0", .name = "NVIDIA A100", .origin = Origin::kSimulated}));
    add(*file, 1410e6, "16", 200, 1.0, true);
    add(*file, 1005e6, "16", 150, 1.2, true);
    add(*file, 705e6, "16", 100, 1.5, false, "temperature outside its band");
  }
  const Source s = source();
  const auto data = read(std::span(&s, 1));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_TRUE(noted(*data, "simulated"));
  EXPECT_EQ(data->formats.front(), "run file");
  const Study study = analyse(*data, {});
  ASSERT_EQ(study.workloads.size(), 2U);
  const Workload& w = study.workloads.front();
  EXPECT_EQ(w.name, "batch=16");
  EXPECT_EQ(w.gpu, "NVIDIA A100");
  EXPECT_EQ(w.factors.at("batch"), "16");
  ASSERT_TRUE(w.optimum);
  EXPECT_DOUBLE_EQ(*w.points[w.optimum->point].setting.clock_hz, 1005e6);
  EXPECT_NEAR(w.optimum->energy_saved, 0.25, 1e-12);
  EXPECT_EQ(w.points.front().invalid, std::vector<std::string>{"temperature outside its band"});
  EXPECT_EQ(study.workloads[1].name, "batch=16: step");
}

TEST_F(RunFiles, a_broken_one_is_refused) {
  std::ofstream(path_, std::ios::binary) << "SQLite format 3" << '\0' << "and then nothing";
  const Source s = source();
  EXPECT_FALSE(read(std::span(&s, 1)));
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
