// What a log says wrongly or says of something else: never a GPU's reading.
#include <gtest/gtest.h>

#include <string>

#include "ergon/meter/energy.hpp"
#include "ergon/meter/sensor.hpp"
#include "logs/log_testing.hpp"
#include "logs/names.hpp"

namespace ergon::meter {
namespace {

TEST(DoubtfulLog, PercentOfALimitAreNoWatts) {
  for (const char* name :
       {"GPU Power (Total) [% of TDP]", "GPU Power [% of limit]", "GPU Power %", "Power%"}) {
    const PowerLog log =
        good(std::string("time_s,power_w,") + name + "\n0,100.5,30.0\n1,101.5,31.0\n");
    ASSERT_EQ(log.columns.size(), 2U) << name;
    EXPECT_EQ(log.columns[0].numbers[0], 100.5) << name;
    EXPECT_TRUE(log.columns[1].name.ends_with("_ratio")) << log.columns[1].name;
    EXPECT_EQ(log.columns[1].numbers[1], 0.31) << name;
  }
  const PowerLog alone = good("time_s,GPU Power [% of TDP],temperature.gpu\n0,30.0,50\n");
  EXPECT_EQ(alone.find("power_w"), nullptr) << to_csv(alone);
}

TEST(DoubtfulLog, UnitsAreReadFromWholeWordsOfNames) {
  const PowerLog metrics = good(
      "gpu_power_usage_milliwatts{gpu=\"0\"} 100500\n"
      "gpu_energy_millijoules_total{gpu=\"0\"} 2500\n"
      "gpu_sm_clock_megahertz{gpu=\"0\"} 1410\n"
      "gpu_memory_clock_hertz{gpu=\"0\"} 1593000000\n"
      "gpu_temperature_celsius{gpu=\"0\"} 41\n"
      "gpu_power_usage_milliwatts{gpu=\"0\"} 101500\n");
  EXPECT_EQ(at(metrics, "power_w", 0), 100.5);
  EXPECT_EQ(at(metrics, "energy_j", 0), 2.5);
  EXPECT_EQ(at(metrics, "clock_hz", 0), 1410e6);
  EXPECT_EQ(at(metrics, "memory_clock_hz", 0), 1593e6);
  EXPECT_EQ(at(metrics, "temperature_c", 0), 41);
  const PowerLog table =
      good("time_s,power_milliwatts,energy_joules,clock_hertz\n0,100500,7,1410000000\n");
  EXPECT_EQ(at(table, "power_w", 0), 100.5);
  EXPECT_EQ(at(table, "energy_j", 0), 7);
  EXPECT_EQ(at(table, "clock_hz", 0), 1410e6);
}

TEST(DoubtfulLog, OpenMetricsStampsAreSeconds) {
  const PowerLog open = good(
      "# TYPE ergon_gpu_energy_joules counter\n# UNIT ergon_gpu_energy_joules joules\n"
      "ergon_gpu_energy_joules_total{gpu=\"0\"} 12.5 1709632800.5\n"
      "ergon_gpu_power_watts{gpu=\"0\"} 100 1709632800.5\n"
      "ergon_gpu_energy_joules_total{gpu=\"0\"} 112.5 1709632801.5\n"
      "ergon_gpu_power_watts{gpu=\"0\"} 100 1709632801.5\n# EOF\n");
  ASSERT_EQ(open.rows(), 2U);
  EXPECT_EQ(at(open, "power_w", 1), 100);
  EXPECT_EQ(at(open, "energy_j", 1), 112.5);
  EXPECT_EQ(open.duration()->si(), 1);
  EXPECT_EQ(open.utc_ns, Nanos{1'709'632'800'500'000'000});
  const PowerLog whole = good(
      "gpu_power_watts{gpu=\"0\"} 100 1709632800\ngpu_power_watts{gpu=\"0\"} 101 1709632801\n");
  EXPECT_EQ(whole.duration()->si(), 1);
  const PowerLog classic = good(
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
    const PowerLog cut = good(log + tail);
    EXPECT_EQ(cut.rows(), 2U) << tail;
    EXPECT_EQ(defects(cut, "truncated_line"), 1U) << tail;
  }
  EXPECT_EQ(good(log + "02.00 W").rows(), 3U);
  EXPECT_EQ(good(log + "02.00\n").rows(), 3U);
  // A column that has units here and none there tells nothing.
  EXPECT_EQ(good("time_s,power.draw\n0,100 W\n1,100\n2,101 W\n3,102").rows(), 4U);
}

TEST(DoubtfulLog, ColumnsOfTheProcessorAreNotTheGpus) {
  const PowerLog both = good(
      "Date,Time,\"Core Clocks (avg) [MHz]\",\"CPU Package Power [W]\",\"Core 0 Clock [MHz]\","
      "\"Core Temperatures (avg) [C]\",\"GPU Temperature [C]\",\"GPU Power [W]\",\"GPU Clock "
      "[MHz]\"\n"
      "5.3.2024,10:00:00.250,4000.0,65.5,4100,70,40.0,100.5,1410.0\n"
      "5.3.2024,10:00:02.250,4000.0,65.5,4100,71,41.0,101.5,1410.0\n");
  EXPECT_EQ(at(both, "clock_hz", 0), 1410e6);
  EXPECT_EQ(at(both, "temperature_c", 1), 41);
  EXPECT_EQ(at(both, "power_w", 0), 100.5);
  EXPECT_EQ(at(both, "core_clocks_avg_hz", 0), 4000e6);
  const PowerLog cpu = good(
      "Date,Time,\"CPU Package Power [W]\",\"CPU Core Clock [MHz]\",\"Core 0 Clock [MHz]\",\"Core "
      "Temperatures (avg) [C]\",\"Core Clock [MHz]\"\n"
      "5.3.2024,10:00:00.250,65.5,4000,4000,70,4000\n"
      "5.3.2024,10:00:02.250,66.5,4000,4000,70,4000\n");
  EXPECT_TRUE(cpu.gpus.empty());
  EXPECT_EQ(cpu.find("clock_hz"), nullptr) << to_csv(cpu);
  EXPECT_EQ(cpu.find("temperature_c"), nullptr) << to_csv(cpu);
  // GPU wins over core; a core alone is the board's.
  const PowerLog named = good("time_s,core clock [MHz],gpu clock [MHz]\n0,4000,1410\n");
  EXPECT_EQ(at(named, "clock_hz", 0), 1410e6);
  EXPECT_EQ(at(named, "core_clock_hz", 0), 4000e6);
  EXPECT_EQ(logs::field_of("Core clock").name, "clock_hz");
  EXPECT_EQ(logs::field_of("GPU Core Clock [MHz]").name, "clock_hz");
}

TEST(DoubtfulLog, ACounterThatGoesDownIsTold) {
  const PowerLog log = good(
      "time_s,gpu,power_w,energy_j\n0,0,100,1000\n0,1,100,50\n1,0,100,1100\n1,1,100,150\n"
      "2,0,100,5\n2,1,100,250\n3,0,100,105\n3,1,100,350\n");
  EXPECT_EQ(defects(log, "counter_reset"), 1U);
  ASSERT_FALSE(log.defects.empty());
  EXPECT_EQ(log.defects.front().line, 6U);
  EXPECT_EQ(at(log, "energy_j", 4), 5);
}

TEST(DoubtfulLog, ReadingsThatCannotBeAreMissing) {
  const PowerLog log = good(
      "time_s,gpu,power_w,temperature_c,utilization\n0,0,95,-300,150\n1,0,100,4294967295,50\n"
      "2,0,100,40,100\n");
  EXPECT_EQ(defects(log, "implausible"), 3U);
  EXPECT_TRUE(is_missing(at(log, "temperature_c", 0)));
  EXPECT_TRUE(is_missing(at(log, "temperature_c", 1)));
  EXPECT_EQ(at(log, "temperature_c", 2), 40);
  EXPECT_TRUE(is_missing(at(log, "utilization", 0)));
  EXPECT_EQ(at(log, "utilization", 2), 1);
  const PowerLog more = good(
      "time_s,power.draw [W],clocks.sm [MHz],energy_j\n0,-5,1410,10\n1,1e9,-1,11\n2,60,1e9,-3\n"
      "3,61,1410,13\n");
  EXPECT_EQ(defects(more, "impossible_value"), 3U);
  EXPECT_EQ(defects(more, "implausible"), 2U);
  ASSERT_EQ(more.defects.size(), 5U);
  EXPECT_EQ(more.defects[0].detail, "power_w is -5 W");
  EXPECT_EQ(more.defects[1].detail, "power_w is 1000000000 W");
  EXPECT_EQ(more.defects[2].detail, "clock_hz is -1 MHz");
  for (const std::size_t row : {0U, 1U}) EXPECT_TRUE(is_missing(at(more, "power_w", row)));
  for (const std::size_t row : {1U, 2U}) EXPECT_TRUE(is_missing(at(more, "clock_hz", row)));
  EXPECT_TRUE(is_missing(at(more, "energy_j", 2)));
}

TEST(DoubtfulLog, ALostGpuIsNamedAndNotTakenForACutLine) {
  const std::string log =
      "timestamp, power.draw [W]\n2024/01/01 12:00:00.100, 100.00 W\n"
      "2024/01/01 12:00:01.100, 101.00 W\n";
  for (const char* last :
       {"Unable to determine the device handle for GPU 0000:01:00.0: Unknown Error",
        "Unable to determine the device handle for GPU0000:01:00.0: GPU is lost.  Reboot the "
        "system "
        "to recover this GPU\n",
        "Unable to determine the dev", "2024/01/01 12:00:02.100, [GPU is lost]\n"}) {
    const PowerLog lost = good(log + last);
    EXPECT_EQ(defects(lost, "gpu_lost"), 1U) << last;
    EXPECT_EQ(defects(lost, "truncated_line"), 0U) << last;
    ASSERT_FALSE(lost.defects.empty());
    EXPECT_EQ(lost.defects.back().line, 4U);
  }
}

TEST(DoubtfulLog, OneValueInAllReadingsIsAFinding) {
  std::string text = "timestamp, power.draw [W]\n";
  for (int i = 0; i < 10; ++i) text += "2024/01/01 12:00:0" + std::to_string(i) + ".100, 61.37 W\n";
  const PowerLog log = good(text);
  EXPECT_EQ(defects(log, "never_renewed"), 1U);
  // The interval is no tighter than such a sensor is right, if it works at all.
  const auto series = to_series(log).front();
  const auto energy = measure_energy(series, estimate_sensor(series),
                                     {series.time_ns.front(), series.time_ns.back()});
  ASSERT_TRUE(energy.energy_j);
  EXPECT_LT(energy.energy_j->low, 0.951 * 61.37 * 9);
  EXPECT_FALSE(energy.trapezoid.notes.empty());
  // Five whole watts may be a quiet board, known to a watt.
  const auto quiet = to_series(good("time_s,power_w\n0,61\n1,61\n2,61\n3,61\n4,61\n")).front();
  const auto rough = measure_energy(quiet, estimate_sensor(quiet), {0, quiet.time_ns.back()});
  ASSERT_TRUE(rough.energy_j);
  EXPECT_GT(rough.energy_j->high - rough.energy_j->low, 4);
  EXPECT_EQ(defects(good("time_s,power_w\n0,61\n1,61\n2,61\n3,61\n4,61\n5,61\n"), "never_renewed"),
            0U);
  // A few reads within one renewal repeat it rightly.
  EXPECT_EQ(defects(good("time_s,power_w\n0,61.37\n0.01,61.37\n0.02,61.37\n0.03,61.37\n0.04,"
                         "61.37\n0.05,61.37\n"),
                    "never_renewed"),
            0U);
}

TEST(DoubtfulLog, ColumnsWithoutNamesAndUnits) {
  const PowerLog log =
      good("0, 2024/01/01 12:00:00.100, 100.10, 50\n0, 2024/01/01 12:00:01.100, 101.20, 51\n");
  EXPECT_EQ(at(log, "power_w", 1), 101.2);
  EXPECT_EQ(defects(log, "unit_assumed"), 1U);
  EXPECT_TRUE(says(refusal("0, 2024/01/01 12:00:00.100, 100, 50\n0, 2024/01/01 12:00:01.100, 101, "
                           "51\n"),
                   "neither names nor units"));
}

TEST(DoubtfulLog, ARowOfNothingAndCommasAfterRowsWithout) {
  const PowerLog empty = good(
      "timestamp, power.draw [W]\n,\n2024/01/01 12:00:02.100, 100.00 W\n,,\n"
      "2024/01/01 12:00:03.100, 101.00 W\n");
  EXPECT_EQ(empty.rows(), 2U);
  EXPECT_EQ(empty.duration()->si(), 1);
  const PowerLog commas = good(
      "timestamp,power.draw [W],temperature.gpu\n2024/01/01 12:00:00.100,110 W,50\n"
      "2024/01/01 12:00:01.100,110,50 W,50\n2024/01/01 12:00:02.100,110,75 W,50\n");
  EXPECT_EQ(at(commas, "power_w", 2), 110.75);
  EXPECT_EQ(at(commas, "temperature_c", 2), 50);
  EXPECT_TRUE(says(refusal("timestamp,index,power.draw [W],temperature.gpu\n"
                           "2024/01/01 12:00:00.100,0,110,50,50\n"),
                   "decimal commas cannot be told"));
}

}  // namespace
}  // namespace ergon::meter
