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

// What `ergon import` reads and what holds no setting to compare: the command for it is named.
TEST(Logs, samples_without_times_or_power_are_refused_with_the_command_that_reads_them) {
  const std::string dmon =
      "# gpu   pwr gtemp mtemp    sm   mem   enc   dec  mclk  pclk\n"
      "# Idx     W     C     C     %     %     %     %   MHz   MHz\n"
      "    0    43    35     -     0     0     0     0  2505  1075\n"
      "    1    42    31     -    97     0     0     0  2505  1075\n"
      "    2    42    33     -    97     0     0     0  2505  1075\n";
  // One reading of many fields, some of which look like settings and results.
  const std::string query =
      "timestamp, name, pcie.link.gen.current, clocks.current.sm [MHz], power.draw [W], "
      "power.limit [W], clocks_event_reasons_counters.sw_power_cap [us], utilization.gpu [%]\n"
      "2026/06/24 10:26:49.788, NVIDIA A100, 4, 1410 MHz, 97.43 W, 400.00 W, 5459682741 us, 7 %\n";
  // Clocks, load and temperature, no power; the speed of a fan.
  const std::string gpuz =
      "Date , GPU Core Clock [MHz] , GPU Memory Clock [MHz] , GPU Temperature [C] , "
      "Fan Speed (%) [%] , GPU Load [%] ,\n"
      "2017-03-28 22:32:10 , 959.7 , 500.0 , 57.0 , 28 , 100 ,\n"
      "2017-03-28 22:32:11 , 1027.7 , 500.0 , 57.0 , 28 , 100 ,\n";
  const std::string report =
      "Timestamp: Fri Dec  3 13:29:07 2021\nDriver Version : 450.51.05\nAttached GPUs : 1\n"
      "GPU 00000000:37:00.0\n    Power Readings\n        Power Draw : 43.2 W\n";
  for (const std::string& text : {dmon, query, gpuz, report}) {
    const auto data = read_text(text, "gpu.log");
    ASSERT_FALSE(data) << text;
    EXPECT_NE(data.error().message.find("log of samples"), std::string::npos)
        << data.error().message;
    EXPECT_NE(data.error().hint.find("'ergon import gpu.log'"), std::string::npos)
        << data.error().hint;
    EXPECT_NE(data.error().hint.find("--sensor"), std::string::npos) << data.error().hint;
  }
}

TEST(Logs, other_kinds_of_log_are_measurements_too) {
  // dmon with dates, rows that name their board, and text that no table is
  std::string dmon =
      "#Date       Time        gpu    pwr  gtemp\n#YYYYMMDD   HH:MM:SS    Idx      W      C\n";
  std::string named = "timestamp, name, power.draw [W], utilization.gpu [%]\n";
  for (int i = 0; i < 40; ++i) {
    const std::string watts = std::to_string(i < 5 || i >= 35 ? 30 + i % 3 : 200 + i % 5);
    const std::string second = (i < 10 ? "0" : "") + std::to_string(i);
    dmon += " 20260419   12:06:" + second + "      0    " + watts + "     50\n";
    named += "2026/04/19 12:06:" + second + ".000, NVIDIA A100, " + watts + ".00 W, 50 %\n";
  }
  for (const std::string& text : {dmon, named}) {
    const auto data = read_text(text, "train_f1410.log");
    ASSERT_TRUE(data) << data.error().message;
    ASSERT_EQ(data->samples.size(), 1U);
    EXPECT_DOUBLE_EQ(*data->samples[0].setting.clock_hz, 1410e6);
    EXPECT_NEAR(*data->samples[0].power_w, 202, 5);
    EXPECT_FALSE(noted(*data, "logs_without_settings"));
    const auto bare = read_text(text, "gpu.log");
    ASSERT_TRUE(bare) << bare.error().message;
    EXPECT_TRUE(noted(*bare, "logs_without_settings"));
  }
}

TEST(Logs, why_a_log_tells_no_energy) {
  std::string text = "timestamp, power.draw [W]\n";
  for (int i = 0; i < 40; ++i)
    text += "2026/04/19 12:06:" + std::string(i < 10 ? "0" : "") + std::to_string(i) +
            ".000, 46.19 W\n";
  const auto data = read_text(text, "gpu.log");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_NE(data->samples.at(0).why_bad.find("may be stuck"), std::string::npos);
}

// A table that lacks its clocks is no log only because the importer could make something of it.
TEST(Logs, tables_without_settings_stay_tables) {
  const auto data = read_text("app,time_ms,power_w\na,20,150\nb,30,160\n");
  ASSERT_FALSE(data);
  EXPECT_NE(data.error().message.find("no column of clocks"), std::string::npos);
  EXPECT_NE(data.error().hint.find("--map"), std::string::npos);
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
