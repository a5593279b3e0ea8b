// What a log says wrongly or says of something else: never a GPU's reading.
#include <gtest/gtest.h>

#include <string>

#include "ergon/meter/log.hpp"
#include "logs/names.hpp"

namespace ergon::meter {
namespace {

PowerLog doubtful(std::string_view text) {
  const auto source = io::memory_source(text);
  auto log = read_log(*source);
  EXPECT_TRUE(log) << log.error().message;
  return log ? std::move(*log) : PowerLog{};
}

double cell(const PowerLog& log, std::string_view column, std::size_t row) {
  const LogColumn* c = log.find(column);
  EXPECT_NE(c, nullptr) << column << " in " << to_csv(log);
  return c == nullptr || c->text || row >= c->numbers.size() ? kMissing : c->numbers[row];
}

std::uint64_t defects(const PowerLog& log, const std::string& kind) {
  const auto found = log.defect_counts.find(kind);
  return found == log.defect_counts.end() ? 0 : found->second;
}

TEST(DoubtfulLog, PercentOfALimitAreNoWatts) {
  for (const char* name :
       {"GPU Power (Total) [% of TDP]", "GPU Power [% of limit]", "GPU Power %", "Power%"}) {
    const PowerLog log =
        doubtful(std::string("time_s,power_w,") + name + "\n0,100.5,30.0\n1,101.5,31.0\n");
    ASSERT_EQ(log.columns.size(), 2U) << name;
    EXPECT_EQ(log.columns[0].numbers[0], 100.5) << name;
    EXPECT_TRUE(log.columns[1].name.ends_with("_ratio")) << log.columns[1].name;
    EXPECT_EQ(log.columns[1].numbers[1], 0.31) << name;
  }
  const PowerLog alone = doubtful("time_s,GPU Power [% of TDP],temperature.gpu\n0,30.0,50\n");
  EXPECT_EQ(alone.find("power_w"), nullptr) << to_csv(alone);
}

TEST(DoubtfulLog, UnitsAreReadFromWholeWordsOfNames) {
  const PowerLog metrics = doubtful(
      "gpu_power_usage_milliwatts{gpu=\"0\"} 100500\n"
      "gpu_energy_millijoules_total{gpu=\"0\"} 2500\n"
      "gpu_sm_clock_megahertz{gpu=\"0\"} 1410\n"
      "gpu_memory_clock_hertz{gpu=\"0\"} 1593000000\n"
      "gpu_temperature_celsius{gpu=\"0\"} 41\n"
      "gpu_power_usage_milliwatts{gpu=\"0\"} 101500\n");
  EXPECT_EQ(cell(metrics, "power_w", 0), 100.5);
  EXPECT_EQ(cell(metrics, "energy_j", 0), 2.5);
  EXPECT_EQ(cell(metrics, "clock_hz", 0), 1410e6);
  EXPECT_EQ(cell(metrics, "memory_clock_hz", 0), 1593e6);
  EXPECT_EQ(cell(metrics, "temperature_c", 0), 41);
  const PowerLog table =
      doubtful("time_s,power_milliwatts,energy_joules,clock_hertz\n0,100500,7,1410000000\n");
  EXPECT_EQ(cell(table, "power_w", 0), 100.5);
  EXPECT_EQ(cell(table, "energy_j", 0), 7);
  EXPECT_EQ(cell(table, "clock_hz", 0), 1410e6);
}

TEST(DoubtfulLog, OpenMetricsStampsAreSeconds) {
  const PowerLog open = doubtful(
      "# TYPE ergon_gpu_energy_joules counter\n# UNIT ergon_gpu_energy_joules joules\n"
      "ergon_gpu_energy_joules_total{gpu=\"0\"} 12.5 1709632800.5\n"
      "ergon_gpu_power_watts{gpu=\"0\"} 100 1709632800.5\n"
      "ergon_gpu_energy_joules_total{gpu=\"0\"} 112.5 1709632801.5\n"
      "ergon_gpu_power_watts{gpu=\"0\"} 100 1709632801.5\n# EOF\n");
  ASSERT_EQ(open.rows(), 2U);
  EXPECT_EQ(cell(open, "power_w", 1), 100);
  EXPECT_EQ(cell(open, "energy_j", 1), 112.5);
  EXPECT_EQ(open.duration()->si(), 1);
  EXPECT_EQ(open.utc_ns, Nanos{1'709'632'800'500'000'000});
  const PowerLog whole = doubtful(
      "gpu_power_watts{gpu=\"0\"} 100 1709632800\ngpu_power_watts{gpu=\"0\"} 101 1709632801\n");
  EXPECT_EQ(whole.duration()->si(), 1);
  const PowerLog classic = doubtful(
      "gpu_power_watts{gpu=\"0\"} 100 1709632800500\n"
      "gpu_power_watts{gpu=\"0\"} 101 1709632801500\n");
  EXPECT_EQ(classic.utc_ns, Nanos{1'709'632'800'500'000'000});
  EXPECT_EQ(classic.duration()->si(), 1);
}

TEST(DoubtfulLog, ALastCellWithoutTheUnitOfAllOthersIsCut) {
  const std::string log =
      "timestamp, index, power.draw [W]\n2024/03/05 10:00:00.000, 0, 100.00 W\n"
      "2024/03/05 10:00:01.000, 0, 101.00 W\n2024/03/05 10:00:02.000, 0, 1";
  for (const char* tail : {"", "0", "02", "02.", "02.0", "02.00", "02.00 "}) {
    const PowerLog cut = doubtful(log + tail);
    EXPECT_EQ(cut.rows(), 2U) << tail;
    EXPECT_EQ(defects(cut, "truncated_line"), 1U) << tail;
  }
  EXPECT_EQ(doubtful(log + "02.00 W").rows(), 3U);
  EXPECT_EQ(doubtful(log + "02.00\n").rows(), 3U);
  // A column that has units here and none there tells nothing.
  EXPECT_EQ(doubtful("time_s,power.draw\n0,100 W\n1,100\n2,101 W\n3,102").rows(), 4U);
}

TEST(DoubtfulLog, ColumnsOfTheProcessorAreNotTheGpus) {
  const PowerLog both = doubtful(
      "Date,Time,\"Core Clocks (avg) [MHz]\",\"CPU Package Power [W]\",\"Core 0 Clock [MHz]\","
      "\"Core Temperatures (avg) [C]\",\"GPU Temperature [C]\",\"GPU Power [W]\",\"GPU Clock "
      "[MHz]\"\n"
      "5.3.2024,10:00:00.250,4000.0,65.5,4100,70,40.0,100.5,1410.0\n"
      "5.3.2024,10:00:02.250,4000.0,65.5,4100,71,41.0,101.5,1410.0\n");
  EXPECT_EQ(cell(both, "clock_hz", 0), 1410e6);
  EXPECT_EQ(cell(both, "temperature_c", 1), 41);
  EXPECT_EQ(cell(both, "power_w", 0), 100.5);
  EXPECT_EQ(cell(both, "core_clocks_avg_hz", 0), 4000e6);
  const PowerLog cpu = doubtful(
      "Date,Time,\"CPU Package Power [W]\",\"CPU Core Clock [MHz]\",\"Core 0 Clock [MHz]\",\"Core "
      "Temperatures (avg) [C]\",\"Core Clock [MHz]\"\n"
      "5.3.2024,10:00:00.250,65.5,4000,4000,70,4000\n"
      "5.3.2024,10:00:02.250,66.5,4000,4000,70,4000\n");
  EXPECT_TRUE(cpu.gpus.empty());
  EXPECT_EQ(cpu.find("clock_hz"), nullptr) << to_csv(cpu);
  EXPECT_EQ(cpu.find("temperature_c"), nullptr) << to_csv(cpu);
  // GPU wins over core; a core alone is the board's.
  const PowerLog named = doubtful("time_s,core clock [MHz],gpu clock [MHz]\n0,4000,1410\n");
  EXPECT_EQ(cell(named, "clock_hz", 0), 1410e6);
  EXPECT_EQ(cell(named, "core_clock_hz", 0), 4000e6);
  EXPECT_EQ(logs::field_of("Core clock").name, "clock_hz");
  EXPECT_EQ(logs::field_of("GPU Core Clock [MHz]").name, "clock_hz");
}

TEST(DoubtfulLog, ACounterThatGoesDownIsTold) {
  const PowerLog log = doubtful(
      "time_s,gpu,power_w,energy_j\n0,0,100,1000\n0,1,100,50\n1,0,100,1100\n1,1,100,150\n"
      "2,0,100,5\n2,1,100,250\n3,0,100,105\n3,1,100,350\n");
  EXPECT_EQ(defects(log, "counter_reset"), 1U);
  ASSERT_FALSE(log.defects.empty());
  EXPECT_EQ(log.defects.front().line, 6U);
  EXPECT_EQ(cell(log, "energy_j", 4), 5);
}

TEST(DoubtfulLog, ReadingsThatCannotBeAreMissing) {
  const PowerLog log = doubtful(
      "time_s,gpu,power_w,temperature_c,utilization\n0,0,95,-300,150\n1,0,100,4294967295,50\n"
      "2,0,100,40,100\n");
  EXPECT_EQ(defects(log, "implausible"), 3U);
  EXPECT_TRUE(is_missing(cell(log, "temperature_c", 0)));
  EXPECT_TRUE(is_missing(cell(log, "temperature_c", 1)));
  EXPECT_EQ(cell(log, "temperature_c", 2), 40);
  EXPECT_TRUE(is_missing(cell(log, "utilization", 0)));
  EXPECT_EQ(cell(log, "utilization", 2), 1);
}

}  // namespace
}  // namespace ergon::meter
