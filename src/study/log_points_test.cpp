// Power logs among the files of a study.
#include <cstdio>

#include "study_test.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::study {
namespace {

// 1 s idle, `busy` s of work, 1 s idle, every 100 ms, from 12:06:10 local time on.
std::string log_text(double busy, double clock, double drift = 0) {
  std::string text =
      "timestamp, power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz]\n";
  const int n = static_cast<int>((busy + 2) * 10);
  for (int i = 0; i < n; ++i) {
    const double t = 0.1 * i;
    const bool works = t >= 1 && t < 1 + busy;
    const int whole = static_cast<int>(t + 1e-9);
    char line[120];
    std::snprintf(line, sizeof line, "2026/04/19 12:%02d:%02d.%d00, %.2f W, %.0f MHz, %.0f MHz\n",
                  6 + (10 + whole) / 60, (10 + whole) % 60, i % 10,
                  (works ? 60 : 8) + 0.01 * (i % 7), works ? clock : 210,
                  works && i > n / 2 ? 8000 - drift : 8000);
    text += line;
  }
  return text;
}

TEST(Logs, the_busy_part_is_a_measurement_and_the_label_is_checked) {
  const std::vector<Source> sources = {{"conv_f795_t16.csv", log_text(20, 2040)},
                                       {"conv_f2040_t16.csv", log_text(20, 2040)}};
  const auto data = read(sources);
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->samples.size(), 2U);
  EXPECT_NEAR(*data->samples[0].time, 20, 0.5);
  EXPECT_NEAR(*data->samples[0].power_w, 60, 2);
  EXPECT_EQ(data->samples[0].workload, data->samples[1].workload);
  const Study study = analyse(*data, {});
  EXPECT_EQ(count_of(study, "wrong_label"), 1U);
  EXPECT_FALSE(study.workloads.front().points.front().invalid.empty());
}

TEST(Logs, a_zone_between_name_and_times_is_found) {
  const auto shifted = read_text(log_text(20, 1005), "conv_clk1005_r1_20260419_063615_power.csv");
  ASSERT_TRUE(shifted);
  ASSERT_EQ(shifted->findings.size(), 1U);
  EXPECT_EQ(shifted->findings.front().kind, "time_zone_shift");
  EXPECT_NE(shifted->findings.front().evidence.find("5.5 h after"), std::string::npos);
  const auto same = read_text(log_text(20, 1005), "conv_clk1005_r1_20260419_120608_power.csv");
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->findings.empty());
}

TEST(Logs, of_listed_runs_they_say_more) {
  const std::string table =
      "run_id,clock_target_mhz,runtime_s,avg_power_w\nclk1005_r1_20260419_120608,1005,10,60\n"
      "clk900_r1_20260419_120708,900,22,50\n";
  const std::vector<Source> sources = {
      {"conv.csv", table}, {"conv_clk1005_r1_20260419_120608_power.csv", log_text(20, 1005, 2000)}};
  const auto data = read(sources);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->samples.size(), 2U) << "the log is no measurement of its own";
  const Study study = analyse(*data, {});
  EXPECT_EQ(count_of(study, "log_window"), 1U);
  EXPECT_EQ(count_of(study, "memory_clock_drift"), 1U);
  const std::vector<Source> fits = {
      {"conv.csv", table}, {"conv_clk900_r1_20260419_120708_power.csv", log_text(20, 900)}};
  const auto sound = read(fits);
  ASSERT_TRUE(sound);
  EXPECT_TRUE(sound->findings.empty());
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
