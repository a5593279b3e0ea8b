// Whose a row is and when it was taken: GPUs without an index, clocks, several logs.
#include <gtest/gtest.h>

#include <string>

#include "logs/log_testing.hpp"
#include "logs/timestamps.hpp"

namespace ergon::meter {
namespace {

TEST(PowerLog, TimesWithoutADatePassMidnight) {
  const PowerLog log =
      good("time,power_w\n23:59:59.5,10\n23:59:59.9,11\n00:00:00.4,12\n00:00:01.0,13\n");
  EXPECT_EQ(log.time_ns.back(), 1'500'000'000);
  EXPECT_TRUE(log.defects.empty());
  EXPECT_FALSE(log.utc_ns);
}

TEST(PowerLog, RowsOfSeveralGpusWithoutAnIndex) {
  std::string text;
  for (int tick = 0; tick < 6; ++tick) {
    for (int gpu = 0; gpu < 4; ++gpu) {
      text += "2024/01/01 12:00:0" + std::to_string(tick) + ".10" + std::to_string(gpu) + ", " +
              std::to_string(100 + gpu) + ".00 W, 50 %\n";
    }
  }
  const PowerLog log = good(text);
  EXPECT_EQ(log.gpus.size(), 4U);
  for (std::size_t i = 0; i < log.rows(); ++i) {
    EXPECT_EQ(at(log, "power_w", i), 100 + static_cast<double>(log.gpu[i]));
  }
  EXPECT_EQ(log.defect_counts.count("gap"), 0U);
  EXPECT_EQ(log.defect_counts.at("no_header"), 1U);
  // One GPU whose samples come in bursts is one GPU.
  std::string bursts = "timestamp, power.draw [W]\n";
  for (int tick = 0; tick < 6; ++tick) {
    for (int k = 0; k < 4; ++k) {
      bursts +=
          "2024/01/01 12:00:0" + std::to_string(tick) + "." + std::to_string(k) + "10, 100.00 W\n";
    }
  }
  EXPECT_EQ(good(bursts).gpus.size(), 1U);
}

TEST(PowerLog, AnIndexOrAColumnAGpuTellsThemApart) {
  const PowerLog index = good(
      "index, timestamp, power.draw [W], uuid\n0, 2024/01/01 12:00:00.1, 10.00, GPU-00000000\n"
      "1, 2024/01/01 12:00:00.1, 20.00, GPU-00000001\n");
  EXPECT_EQ(index.gpus, (std::vector<std::string>{"0", "1"}));
  const PowerLog uuid = good(
      "uuid, timestamp, power.draw [W]\nGPU-0000000a, 2024/01/01 12:00:00.1, 10.00\n"
      "GPU-0000000b, 2024/01/01 12:00:00.1, 20.00\n");
  EXPECT_EQ(uuid.gpus[1], "GPU-0000000b");
  const PowerLog wide =
      good("timestamp,gpu0_power_w,gpu1_power_w\n1747583343,13,23\n1747583344,14,24\n");
  EXPECT_EQ(
      to_csv(wide),
      "time_s,time_utc,gpu,power_w\n0,2025-05-18T15:49:03Z,0,13\n0,2025-05-18T15:49:03Z,1,23\n"
      "1,2025-05-18T15:49:04Z,0,14\n1,2025-05-18T15:49:04Z,1,24\n");
}

TEST(PowerLog, GpusWithoutAHeaderOrByTwoNames) {
  const PowerLog counted =
      good("0, 55, 98 %, 200.1 W\n1, 45, 8 %, 20.1 W\n0, 55, 98 %, 201.1 W\n1, 45, 8 %, 20.1 W\n");
  EXPECT_EQ(counted.gpus.size(), 2U);
  EXPECT_EQ(counted.find("column_1"), nullptr);
  const PowerLog units =
      good("2024/01/01 12:00:00.123, 45 %, 1234 MiB\n2024/01/01 12:00:01.123, 46 %, 1234 MiB\n");
  EXPECT_EQ(units.rows(), 2U);
  const PowerLog both = good(
      "==============NVSMI LOG==============\nTimestamp : Tue Jul 14 09:00:44 2026\nGPU "
      "00000000:00:09.0\n"
      "    GPU Power Readings\n        Average Power Draw : 432.21 W\n"
      "# gpu    pwr  gtemp\n# Idx      W      C\n    0     70     42\n");
  EXPECT_EQ(both.gpus, std::vector<std::string>{"0"});
  EXPECT_EQ(both.rows(), 2U);
}

TEST(PowerLog, TimesThatRepeatGoBackOrJump) {
  const PowerLog log = good("time_s,power_w\n0,1\n1,2\n1,2\n2,3\n1.5,4\n3,5\n4,6\n9,7\n10,8\n");
  ASSERT_EQ(log.defects.size(), 3U);
  EXPECT_EQ(log.defects[0].kind, "duplicate_time");
  EXPECT_EQ(log.defects[0].line, 4U);
  EXPECT_EQ(log.defects[0].detail, "the time of line 3, with the same readings");
  EXPECT_EQ(log.defects[1].kind, "time_backwards");
  EXPECT_EQ(log.defects[2].kind, "gap");
  EXPECT_EQ(log.defects[2].line, 9U);
  EXPECT_EQ(to_series(log).front().size(), 8U);
}

TEST(PowerLog, SeveralLogsAsOne) {
  auto a = good(
      "timestamp, power.draw [W]\n2024/01/01 12:00:00.0, 10.00 W\n2024/01/01 12:00:02.0, 12.00 "
      "W\n");
  auto b = good("timestamp, power.draw [W], temperature.gpu\n2024/01/01 12:00:01.0, 20.00 W, 44\n");
  const auto both = join_logs({a, b}, {"gpu-a", "gpu-b"});
  ASSERT_TRUE(both);
  EXPECT_EQ(to_csv(*both),
            "time_s,gpu,power_w,temperature_c\n0,gpu-a:0,10,\n1,gpu-b:0,20,44\n2,gpu-a:0,12,\n");
  auto later = good("timestamp, power.draw [W]\n2024/01/01 12:00:03.0, 13.00 W\n");
  const auto rotated = join_logs({a, later}, {"log", "log.1"});
  ASSERT_TRUE(rotated);
  EXPECT_EQ(rotated->gpus, std::vector<std::string>{"0"});
  EXPECT_EQ(rotated->duration()->si(), 3);
}

TEST(PowerLog, LogsOfOtherBoardsOrFarApartAreOtherGpus) {
  const auto named = [](const char* date, const char* name) {
    return good(std::string("timestamp, name, power.draw [W]\n") + date + " 12:00:00.0, " + name +
                ", 10.00 W\n" + date + " 12:00:01.0, " + name + ", 11.00 W\n");
  };
  const auto far = join_logs({named("2024/01/01", "A"), named("2026/01/01", "A")}, {"a", "b"});
  ASSERT_TRUE(far);
  EXPECT_EQ(far->gpus, (std::vector<std::string>{"a:0", "b:0"}));
  EXPECT_NE(far->notes.front().find("731 days apart"), std::string::npos) << far->notes.front();
  auto next = good("timestamp, name, power.draw [W]\n2024/01/01 12:00:02.0, B, 10.00 W\n");
  const auto other = join_logs({named("2024/01/01", "A"), next}, {"a", "b"});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->gpus, (std::vector<std::string>{"a:0", "b:0"}));
  EXPECT_NE(other->notes.front().find("another board"), std::string::npos);
}

// Rows of `values.size()` GPUs at each of `ticks` stamps of whole seconds.
std::string ticks_of(const std::vector<double>& values, int ticks, double drift,
                     const char* fraction = "") {
  std::string text = "timestamp, power.draw [W]\n";
  for (int t = 0; t < ticks; ++t) {
    for (const double v : values) {
      text += "2024/01/01 12:00:0" + std::to_string(t) + fraction + ", " +
              std::to_string(v + drift * t) + " W\n";
    }
  }
  return text;
}

TEST(PowerLog, AFewTicksOfInterleavedGpusAreToldByTheirRepeatedTimes) {
  for (const char* fraction : {"", ".000", ".123"}) {
    const PowerLog log = good(ticks_of({100, 220, 60, 310}, 3, 0.5, fraction));
    EXPECT_EQ(log.gpus.size(), 4U) << fraction;
    EXPECT_EQ(at(log, "power_w", 5), 220.5);
    EXPECT_EQ(log.gpu[5], 1U);
    EXPECT_TRUE(log.defects.empty());
  }
  // One tick of one call.
  EXPECT_EQ(good(ticks_of({100, 220, 60}, 1, 0, ".123")).gpus.size(), 3U);
}

TEST(PowerLog, RowsOfOneSecondThatMayBeOneGpuAreRefusedWithTheReason) {
  EXPECT_TRUE(says(refusal(ticks_of({100, 101, 100.4, 101.2}, 3, 0.7)),
                   "one GPU read 4 times a second, or 4 GPUs"));
  // A long ramp that every row continues is one GPU's.
  std::string ramp = "timestamp, power.draw [W]\n";
  for (int i = 0; i < 36; ++i) {
    ramp +=
        "2024/01/01 12:00:0" + std::to_string(i / 4) + ", " + std::to_string(100 + i) + ".00 W\n";
  }
  EXPECT_EQ(good(ramp).gpus.size(), 1U);
}

TEST(PowerLog, ATickWithoutAllGpusTellsNoReadings) {
  std::string text = "timestamp, power.draw [W]\n";
  for (int t = 0; t < 60; ++t) {
    for (int g = 0; g < 4; ++g) {
      if (t == 58 && g == 1) continue;  // a GPU is silent once
      char line[64];
      std::snprintf(line, sizeof line, "2024/01/01 12:00:%02d.%03d, %d.00 W\n", t, 100 + g,
                    100 * (g + 1));
      text += line;
    }
  }
  const PowerLog log = good(text);
  EXPECT_EQ(log.gpus.size(), 4U);
  EXPECT_EQ(defects(log, "short_tick"), 1U);
  for (std::size_t i = 0; i < log.rows(); ++i) {
    const double watts = at(log, "power_w", i);
    EXPECT_TRUE(is_missing(watts) || watts == 100 * (log.gpu[i] + 1.0)) << i;
  }
  EXPECT_EQ(missing(log, "power_w"), 3U);
}

std::string seconds_from(const std::string& date, int hour, int minute, int second, int count) {
  std::string text;
  for (int i = 0; i < count; ++i, ++second) {
    char line[64];
    std::snprintf(line, sizeof line, "%s %02d:%02d:%02d.100, %d.00 W\n", date.c_str(), hour, minute,
                  second, 100 + i % 7);
    text += line;
  }
  return text;
}

TEST(PowerLog, AClockThatIsSetBackOrForthWithTheSeason) {
  const std::string head = "timestamp, power.draw [W]\n";
  const PowerLog back = good(head + seconds_from("2024/10/27", 2, 59, 50, 10) +
                             seconds_from("2024/10/27", 2, 0, 0, 10));
  EXPECT_EQ(defects(back, "clock_set"), 1U);
  EXPECT_EQ(defects(back, "time_backwards"), 0U);
  EXPECT_EQ(back.duration()->si(), 19);
  EXPECT_EQ(to_series(back).front().size(), 20U);
  const PowerLog forth = good(head + seconds_from("2024/03/31", 1, 59, 50, 10) +
                              seconds_from("2024/03/31", 3, 0, 0, 10));
  EXPECT_EQ(defects(forth, "clock_set"), 1U);
  EXPECT_EQ(defects(forth, "gap"), 0U);
  EXPECT_EQ(forth.duration()->si(), 19);
  // An hour without samples at another time is a gap.
  const PowerLog gap = good(head + seconds_from("2024/03/31", 1, 29, 50, 10) +
                            seconds_from("2024/03/31", 2, 30, 0, 10));
  EXPECT_EQ(defects(gap, "gap"), 1U);
  EXPECT_EQ(defects(gap, "clock_set"), 0U);
}

TEST(PowerLog, ClocksOfTwelveHours) {
  std::string bare = "time, power.draw [W]\n";
  std::string marked = bare;
  for (int i = 0; i < 10; ++i) {
    const bool after = i >= 5;
    char line[64];
    std::snprintf(line, sizeof line, "%s:%02d, 10%d.00 W\n", after ? "01:00" : "12:59",
                  after ? i - 5 : 55 + i, i);
    bare += line;
    std::snprintf(line, sizeof line, "2024/01/02 %s:%02d %s, 10%d.00 W\n",
                  after ? "12:00" : "11:59", after ? i - 5 : 55 + i, after ? "p.m." : "AM", i);
    marked += line;
  }
  for (const auto& text : {bare, marked}) {
    const PowerLog log = good(text);
    EXPECT_EQ(log.duration()->si(), 9) << text;
    EXPECT_TRUE(log.defects.empty());
  }
}

TEST(PowerLog, AJoinIsAGapOnlyWhereSamplesAreMissing) {
  const auto part = [](int minute, int second) {
    return good("timestamp, power.draw [W]\n" + seconds_from("2024/01/02", 10, minute, second, 10));
  };
  const auto whole = join_logs({part(0, 0), part(0, 10)}, {"a", "b"});
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->defects.empty());
  EXPECT_EQ(whole->gpus.size(), 1U);
  const auto broken = join_logs({part(0, 0), part(30, 0)}, {"a", "b"});
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->gpus.size(), 1U);
  ASSERT_EQ(broken->defects.size(), 1U);
  EXPECT_EQ(broken->defects[0].kind, "gap");
  EXPECT_EQ(broken->defects[0].file, "b");
  EXPECT_EQ(broken->defects[0].line, 2U);
  EXPECT_TRUE(says(broken->defects[0].detail, "1791 s after the last sample of a"))
      << broken->defects[0].detail;
}

TEST(PowerLog, AnotherBoardUnderTheSameIdIsTold) {
  const PowerLog log = good(
      "timestamp, index, name, power.draw [W]\n2021/01/01 12:00:00.1, 0, Tesla V100, 100.00 W\n"
      "2021/01/01 12:00:01.1, 0, Tesla V100, 101.00 W\n"
      "timestamp, index, name, power.draw [W]\n2024/01/01 12:00:00.1, 0, NVIDIA H100, 200.00 W\n"
      "2024/01/01 12:00:01.1, 0, NVIDIA H100, 201.00 W\n");
  EXPECT_EQ(defects(log, "other_board"), 1U);
  EXPECT_EQ(defects(log, "gap"), 1U);
}

TEST(PowerLog, ATimeBeyondAllDatesIsNone) {
  EXPECT_FALSE(logs::number_time("9774383410.5", std::nullopt));
  EXPECT_TRUE(logs::number_time("8999999999.5", std::nullopt));
  EXPECT_FALSE(logs::number_time("13955445544840748900", 1.0));
}

TEST(PowerLog, TimesByAStatedInterval) {
  PowerLog log =
      good("# gpu    pwr\n# Idx      W\n    0    119\n    1    159\n    0    121\n    1    161\n");
  EXPECT_FALSE(log.duration());
  ASSERT_TRUE(give_times(log, Seconds(0.5)));
  EXPECT_EQ(log.time_ns, (std::vector<Nanos>{0, 0, 500'000'000, 500'000'000}));
  EXPECT_EQ(log.duration()->si(), 0.5);
  EXPECT_FALSE(give_times(log, Seconds(0.5)));
  PowerLog bare = good("100\n101\n");
  EXPECT_FALSE(give_times(bare, Seconds(0)));
}

TEST(PowerLog, TimesOnLinesOfTheirOwn) {
  for (const char* text : {"Mon Jan  1 12:00:00 UTC 2024\n100.5 W\n90 W\nMon Jan  1 12:00:01 UTC "
                           "2024\n101.5 W\n91 W\n",
                           "2024-01-01 12:00:00\n100.5\n90\n2024-01-01 12:00:01\n101.5\n91\n"}) {
    const PowerLog log = good(text);
    EXPECT_EQ(log.rows(), 4U);
    EXPECT_EQ(log.duration()->si(), 1) << text;
    EXPECT_EQ(at(log, "power_w", 2), 101.5);
  }
  // One time at the top tells when the log began only.
  EXPECT_FALSE(good("Fri Dec  3 13:29:07 2021\npower.draw [W]\n25.1 W\n25.2 W\n").duration());
  // Rows that have times keep theirs.
  const PowerLog own = good(
      "Fri Dec  3 13:29:07 2021\ntimestamp, power.draw [W]\n2024/01/01 12:00:00.100, 100.00 W\n"
      "2024/01/01 12:00:01.100, 101.00 W\n");
  EXPECT_EQ(own.duration()->si(), 1);
  EXPECT_EQ(own.local_ns, logs::wall_time("2024/01/01 12:00:00.100")->ns);
}

}  // namespace
}  // namespace ergon::meter
