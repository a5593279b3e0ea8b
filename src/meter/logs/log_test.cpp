// Power logs by kind: what people's tools write, and what happens to it on the way.
#include <gtest/gtest.h>

#include <string>

#include "logs/cells.hpp"
#include "logs/log_testing.hpp"
#include "logs/names.hpp"
#include "logs/timestamps.hpp"

namespace ergon::meter {
namespace {

constexpr const char* kPlain =
    "timestamp, power.draw [W], clocks.current.sm [MHz]\n"
    "2023/07/30 17:28:02.589, 78.66 W, 1410 MHz\n"
    "2023/07/30 17:28:02.689, 81.81 W, 1395 MHz\n"
    "2023/07/30 17:28:02.789, 79.02 W, 1410 MHz\n";

TEST(PowerLog, UnitsInHeaderAndValuesOrInOneOfThemAreTheSame) {
  const PowerLog both = good(kPlain);
  const PowerLog header = good(
      "timestamp, power.draw [W], clocks.current.sm [MHz]\n"
      "2023/07/30 17:28:02.589, 78.66, 1410\n2023/07/30 17:28:02.689, 81.81, 1395\n"
      "2023/07/30 17:28:02.789, 79.02, 1410\n");
  const PowerLog values = good(
      "timestamp, power.draw, clocks.sm\n"
      "2023/07/30 17:28:02.589, 78.66 W, 1410 MHz\n2023/07/30 17:28:02.689, 81.81 W, 1395 MHz\n"
      "2023/07/30 17:28:02.789, 79.02 W, 1410 MHz\n");
  const PowerLog neither = good(
      "timestamp,power.draw,clocks.sm\n"
      "2023/07/30 17:28:02.589,78.66,1410\n2023/07/30 17:28:02.689,81.81,1395\n"
      "2023/07/30 17:28:02.789,79.02,1410\n");
  for (const PowerLog* log : {&both, &header, &values, &neither}) {
    EXPECT_EQ(log->rows(), 3U);
    EXPECT_EQ(to_csv(*log),
              "time_s,gpu,power_w,clock_hz\n0,0,78.66,1410000000\n0.1,0,81.81,1395000000\n"
              "0.2,0,79.02,1410000000\n");
    EXPECT_TRUE(log->defects.empty());
  }
}

TEST(PowerLog, EveryMarkerOfAMissingReadingIsMissingNeverZero) {
  const PowerLog log = good(
      "timestamp, index, power.draw [W], temperature.gpu, clocks.sm [MHz]\n"
      "2023/07/30 17:28:02.000, 0, [N/A], N/A, [Not Supported]\n"
      "2023/07/30 17:28:03.000, 0, [Unknown Error], [GPU requires reset], [Insufficient "
      "Permissions]\n"
      "2023/07/30 17:28:04.000, 0, ERR!, -, [Requested functionality has been deprecated]\n"
      "2023/07/30 17:28:05.000, 0, , [Some Newer Sentence], Unknown Error\n"
      "2023/07/30 17:28:06.000, 0, 0.00 W, 0, 0 MHz\n");
  for (const char* column : {"power_w", "temperature_c", "clock_hz"}) {
    EXPECT_EQ(missing(log, column), 4U) << column;
    EXPECT_EQ(at(log, column, 4), 0) << column;
  }
}

TEST(PowerLog, ATruncatedLastLineIsDroppedAndCounted) {
  for (const char* tail : {"2023/07/30 17:28:02.889, 79.0", "2023/07/30 17:2",
                           "2023/07/30 17:28:02.889, 79.02 W, 14"}) {
    const PowerLog log = good(std::string(kPlain) + tail);
    EXPECT_EQ(log.rows(), 3U) << tail;
    ASSERT_EQ(log.defects.size(), 1U) << tail;
    EXPECT_EQ(log.defects[0].kind, "truncated_line");
    EXPECT_EQ(log.defects[0].line, 5U);
    EXPECT_EQ(log.skipped.front().second, 1U);
  }
  // A whole last line without its line end is a sample.
  EXPECT_EQ(good(std::string(kPlain) + "2023/07/30 17:28:02.889, 79.02 W, 1410 MHz").rows(), 4U);
}

TEST(PowerLog, SpreadsheetsOfACommaLocale) {
  const PowerLog log = good(
      "\xEF\xBB\xBFsep=;\r\ntimestamp;power.draw [W];utilization.gpu [%]\r\n"
      "30.07.2023 17:28:02,589;78,66;97\r\n30.07.2023 17:28:03,089;81,81;98\r\n");
  EXPECT_EQ(to_csv(log), "time_s,gpu,power_w,utilization\n0,0,78.66,0.97\n0.5,0,81.81,0.98\n");
  const PowerLog quoted = good(
      "timestamp,power.draw [W]\n\"2023/07/30 17:28:02,589\",\"78,66 W\"\n"
      "\"2023/07/30 17:28:03,089\",\"1.234,5\"\n");
  EXPECT_EQ(at(quoted, "power_w", 0), 78.66);
}

TEST(PowerLog, PowerShellWritesUtf16) {
  std::string wide = "\xFF\xFE";
  for (const char c : std::string_view(kPlain)) {
    if (c == '\n') {
      wide.push_back('\r');
      wide.push_back('\0');
    }
    wide += c;
    wide += '\0';
  }
  EXPECT_EQ(to_csv(good(wide)), to_csv(good(kPlain)));
}

TEST(PowerLog, QuotedListsAndOddSeparators) {
  const PowerLog log = good(
      "timestamp,power.draw [W],\"clocks_event_reasons.active\",note\n"
      "2023-07-30T17:28:02Z,78.66,\"0x0, 0x4\",\"a, \"\"b\"\"\"\n"
      "2023-07-30T17:28:03+01:00,79,\"0x0\",\n");
  EXPECT_EQ(log.find("note")->dictionary[1], "a, \"b\"");
  EXPECT_EQ(log.utc_ns.value(), logs::wall_time("2023/07/30 17:28:02")->ns);
  EXPECT_EQ(log.time_ns[1], -3599'000'000'000);
  EXPECT_EQ(log.defects[0].kind, "time_backwards");
}

TEST(PowerLog, EpochsOfEveryUnit) {
  for (const char* text :
       {"timestamp,power_w\n1747583343.5,13\n1747583344,14\n",
        "timestamp_ms,power_w\n1747583343500,13\n1747583344000,14\n",
        "Timestamp (us),Power (W)\n1747583343500000,13\n1747583344000000,14\n",
        "Timestamp (ns),Power Draw (W)\n1747583343500000000,13\n1747583344000000000,14\n",
        "time,power.draw [W]\n1747583343500000000,13\n1747583344000000000,14\n"}) {
    const PowerLog log = good(text);
    EXPECT_EQ(to_csv(log),
              "time_s,time_utc,gpu,power_w\n0,2025-05-18T15:49:03.5Z,0,13\n0.5,2025-05-18T15:49:"
              "04Z,0,14\n")
        << text;
  }
  const PowerLog elapsed = good("Timestamp [us];Power measure [W]\n58.0;18\n1290.5;19\n");
  EXPECT_EQ(to_csv(elapsed), "time_s,gpu,power_w\n0,0,18\n0.0012325,0,19\n");
}

TEST(PowerLog, BareWattsHaveNoTimeBase) {
  const PowerLog log = good("63.45\n64.01\n63.90\n70.12\n");
  EXPECT_EQ(to_csv(log), "gpu,power_w\n0,63.45\n0,64.01\n0,63.9\n0,70.12\n");
  EXPECT_FALSE(log.duration());
  EXPECT_EQ(log.defect_counts.at("unit_assumed"), 1U);
  EXPECT_EQ(good("22.89 W\n23.01 W\n[N/A]\n").rows(), 3U);
}

TEST(PowerLog, DmonWithAndWithoutTimes) {
  const PowerLog plain = good(
      "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n"
      "# Idx      W      C      C      %      %      %      %    MHz    MHz\n"
      "    0    119     59      -    100      0      0      0   6800   1665\n"
      "    1    159     59      -    100      0      0      0   9251   1695\n"
      "# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk\n"
      "# Idx      W      C      C      %      %      %      %    MHz    MHz\n"
      "    0      -     59      -     90      0      0      0   6800   1665\n");
  EXPECT_EQ(plain.rows(), 3U);
  EXPECT_EQ(plain.gpus.size(), 2U);
  EXPECT_EQ(at(plain, "clock_hz", 0), 1665e6);
  EXPECT_EQ(at(plain, "utilization", 2), 0.9);
  EXPECT_TRUE(is_missing(at(plain, "power_w", 2)));
  EXPECT_FALSE(plain.duration());
  const PowerLog timed = good(
      "#Date       Time        gpu    pwr  gtemp\n#YYYYMMDD   HH:MM:SS    Idx      W      C\n"
      " 20240101   23:59:59      0    119     59\n 20240102   00:00:00      0    120     59\n");
  EXPECT_EQ(timed.duration()->si(), 1);
}

TEST(PowerLog, NvidiaSmiQueryTextOfOldAndNewDrivers) {
  const PowerLog fresh = good(
      "==============NVSMI LOG==============\n\nTimestamp    : Tue Jul 14 09:00:44 2026\n"
      "Driver Version    : 590.48.01\nAttached GPUs   : 1\nGPU 00000000:00:09.0\n"
      "    Product Name    : NVIDIA H100\n    MIG Device\n        Index    : 0\n"
      "    Temperature\n        GPU Current Temp  : 53 C\n        Memory Current Temp : 58 C\n"
      "    GPU Power Readings\n        Average Power Draw   : 432.21 W\n"
      "        Instantaneous Power Draw : 444.72 W\n        Current Power Limit  : 700.00 W\n"
      "    GPU Memory Power Readings \n        Average Power Draw   : 93.98 W\n"
      "    Module Power Readings\n        Average Power Draw   : N/A\n"
      "    Clocks\n        SM  : 1980 MHz\n        Memory : 2619 MHz\n"
      "    Max Clocks\n        SM  : 9999 MHz\n");
  EXPECT_EQ(at(fresh, "power_w", 0), 432.21);
  EXPECT_EQ(at(fresh, "instant_power_w", 0), 444.72);
  EXPECT_EQ(at(fresh, "memory_power_w", 0), 93.98);
  EXPECT_TRUE(is_missing(at(fresh, "module_power_w", 0)));
  EXPECT_EQ(at(fresh, "clock_hz", 0), 1980e6);
  EXPECT_EQ(at(fresh, "power_limit_w", 0), 700);
  const PowerLog old = good(
      "==============NVSMI LOG==============\n\nTimestamp    : Fri Jul  4 19:19:44 2014\n"
      "Attached GPUs   : 1\nGPU 0000:21:00.0\n    Power Readings\n        Power Management : "
      "Supported\n"
      "        Power Draw   : 25.31 W\n        Power Limit  : 250.00 W\n"
      "    Clocks\n        Graphics  : 705 MHz\n");
  EXPECT_EQ(at(old, "power_w", 0), 25.31);
  EXPECT_EQ(at(old, "clock_hz", 0), 705e6);
  const PowerLog xml = good(
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
      "<nvidia_smi_log>\n\t<timestamp>Fri Jul  4 19:19:44 2025</timestamp>\n"
      "\t<gpu "
      "id=\"00000000:21:00.0\">\n\t\t<gpu_power_readings>\n\t\t\t<average_power_draw>N/A</"
      "average_power_draw>\n"
      "\t\t\t<instant_power_draw>97.49 W</instant_power_draw>\n\t\t\t<current_power_limit>250.00 "
      "W</current_power_limit>\n"
      "\t\t</gpu_power_readings>\n\t\t<clocks>\n\t\t\t<sm_clock>2055 "
      "MHz</sm_clock>\n\t\t</clocks>\n\t</gpu>\n</nvidia_smi_log>\n");
  EXPECT_EQ(at(xml, "power_w", 0), 97.49);
  EXPECT_EQ(at(xml, "clock_hz", 0), 2055e6);
}

TEST(PowerLog, ABannerIsDataOnlyWhereThereIsNoOther) {
  const std::string banner =
      "Fri Dec  3 13:29:07 2021       \n"
      "+-----------------------------------------------------------------------------+\n"
      "| NVIDIA-SMI 495.44       Driver Version: 495.44       CUDA Version: 11.5     |\n"
      "|-------------------------------+----------------------+----------------------+\n"
      "|   0  Tesla V100-PCIE...  On   | 00000000:58:00.0 Off |                    0 |\n"
      "| N/A   30C    P0    25W / 250W |      0MiB / 32510MiB |      7%      Default |\n"
      "+-------------------------------+----------------------+----------------------+\n";
  const PowerLog alone = good(banner);
  EXPECT_EQ(at(alone, "power_w", 0), 25);
  EXPECT_EQ(at(alone, "power_limit_w", 0), 250);
  EXPECT_EQ(at(alone, "utilization", 0), 0.07);
  const PowerLog with = good(banner + kPlain);
  EXPECT_EQ(with.rows(), 3U);
  EXPECT_EQ(with.defects[0].kind, "banner");
  EXPECT_EQ(with.defects[0].line, 2U);
}

TEST(PowerLog, PrometheusTextOfMigRepeatsTheParent) {
  const std::string head = "# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n";
  const auto line = [](int gpu, int mig, const char* value) {
    return "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"" + std::to_string(gpu) + "\",GPU_I_ID=\"" +
           std::to_string(mig) + "\",Hostname=\"a,b\"} " + value + "\n";
  };
  const PowerLog log = good(head + line(0, 3, "126272101025") + line(0, 4, "126272101025") +
                            line(1, 3, "134473486744"));
  EXPECT_EQ(to_csv(log), "gpu,energy_j\n0,126272101.025\n1,134473486.744\n");
  EXPECT_EQ(log.defect_counts.at("mig_repeats_parent"), 1U);
  const PowerLog scrapes = good(
      "nvidia_smi_power_draw_watts{uuid=\"a\"} 10.5 "
      "1747583343000\nnvidia_smi_power_draw_watts{uuid=\"b\"} NaN 1747583343000\n"
      "nvidia_smi_power_draw_watts{uuid=\"a\"} 11.5 1747583344000\ngo_threads 7\n");
  EXPECT_EQ(scrapes.rows(), 3U);
  EXPECT_EQ(scrapes.duration()->si(), 1);
  EXPECT_TRUE(is_missing(at(scrapes, "power_w", 1)));
}

TEST(PowerLog, LimitsAreNoDrawsAndRailsHaveNames) {
  const PowerLog log = good(
      "timestamp, power.limit [W], enforced.power.limit [W], power.max_limit [W], "
      "module.power.draw.average [W], "
      "power.draw.instant [W], power.management, clocks_event_reasons.sw_power_cap, clocks.max.sm "
      "[MHz]\n"
      "2024/01/01 12:00:00.1, 250.00, 240.00, 300.00, 600.10, 99.00, Enabled, Not Active, 1980\n");
  EXPECT_EQ(at(log, "power_w", 0), 99);
  EXPECT_EQ(at(log, "power_limit_w", 0), 250);
  EXPECT_EQ(at(log, "module_power_w", 0), 600.1);
  EXPECT_EQ(at(log, "power_max_limit_w", 0), 300);
  EXPECT_EQ(at(log, "clocks_max_sm_hz", 0), 1980e6);
  EXPECT_EQ(log.find("clock_hz"), nullptr);
  // Only a limit: no draw is made of it.
  const PowerLog limit = good("timestamp, power.limit [W]\n2024/01/01 12:00:00.1, 250.00 W\n");
  EXPECT_EQ(limit.find("power_w"), nullptr);
  // Nodes of a BMC are no GPUs.
  const PowerLog nodes = good("timestamp,n1_watts,total_watts\n2026-05-05T19:14:51,2492,5071\n");
  EXPECT_TRUE(nodes.gpus.empty());
  EXPECT_EQ(at(nodes, "n1_power_w", 0), 2492);
  EXPECT_EQ(nodes.find("power_w"), nullptr);
  // GPU-Z: the chip's own draw, the board's beside it; the board's alone where there is no other.
  const PowerLog gpuz = good(
      "Date , GPU Chip Power Draw [W] , Board Power Draw [W] , \n2024-01-01 12:00:00 , 150.1 , "
      "201.2 , \n");
  EXPECT_EQ(at(gpuz, "power_w", 0), 150.1);
  EXPECT_EQ(at(gpuz, "board_power_w", 0), 201.2);
  EXPECT_EQ(
      at(good("Date , Board Power Draw [W] , \n2024-01-01 12:00:00 , 201.2 , \n"), "power_w", 0),
      201.2);
}

TEST(PowerLog, UnitsThatContradictTheValues) {
  const PowerLog milli = good("time_s,Power [mW]\n0,24\n1,180\n2,210\n");
  EXPECT_EQ(at(milli, "power_w", 2), 210);
  EXPECT_EQ(milli.defects[0].kind, "unit_mismatch");
  const PowerLog watts = good("time_s,power_w\n0,24000\n1,180000\n2,210000\n");
  EXPECT_EQ(at(watts, "power_w", 2), 210);
  EXPECT_EQ(watts.defect_counts.at("unit_mismatch"), 1U);
  const PowerLog counter =
      good("time_s,power_w,energy_j\n0,100,5000\n1,100,105000\n2,100,205000\n3,100,305000\n");
  EXPECT_EQ(counter.defect_counts.at("unit_mismatch"), 1U);
  const PowerLog own = good("time_s,power [W]\n0,24500 mW\n1,25000 mW\n");
  EXPECT_EQ(at(own, "power_w", 0), 24.5);
  EXPECT_EQ(own.defect_counts.at("unit_mismatch"), 1U);
}

TEST(PowerLog, TextBetweenTheRowsIsLeftOutAndNamed) {
  const PowerLog log = good(
      "timestamp, power.draw [W]\n2024/01/01 12:00:00.1, 10.00 W\nIteration 5, loss 0.3, lr 1e-4\n"
      "Unable to determine the device handle for GPU 0000:01:00.0: Unknown Error\n"
      "timestamp, power.draw [W]\n2024/01/01 12:00:01.1, 11.00 W\n2024/01/01 12:00:02.1, 11.00 W, "
      "3\n"
      "2024/01/01 12:00:03.1, abc\n");
  EXPECT_EQ(log.rows(), 3U);
  EXPECT_EQ(log.defect_counts.at("not_a_row"), 1U);
  EXPECT_EQ(log.defect_counts.at("gpu_lost"), 1U);
  EXPECT_EQ(log.defect_counts.at("repeated_header"), 1U);
  EXPECT_EQ(log.defect_counts.at("column_count"), 1U);
  EXPECT_EQ(log.defect_counts.at("not_a_number"), 1U);
}

TEST(PowerLog, WhatIsNoLogIsRefusedWithTheReason) {
  EXPECT_NE(refusal("Failed to initialize NVML: Driver/library version mismatch\nNVML library "
                    "version: 550.144\n")
                .find("driver/library version mismatch"),
            std::string::npos);
  EXPECT_NE(refusal("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
                    "Make sure\n")
                .find("could not communicate"),
            std::string::npos);
  EXPECT_NE(refusal("No devices were found\n").find("no devices"), std::string::npos);
  EXPECT_NE(refusal("Field \"power.drow\" is not a valid field to query.\n").find("field"),
            std::string::npos);
  EXPECT_NE(refusal("# gpu         pid   type     sm    mem    command\n# Idx           #    C/G   "
                    "   %      %    name\n"
                    "    0       1234     C      5      1    python\n")
                .find("processes"),
            std::string::npos);
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("\n\n").find("empty"), std::string::npos);
  EXPECT_NE(refusal("{\"a\": 1}\n").find("JSON"), std::string::npos);
  EXPECT_NE(refusal("timestamp\n1689325967982958\n1689325967982959\n").find("none of its columns"),
            std::string::npos);
  EXPECT_NE(
      refusal("appName,coreF,memF,time/s,power/W\nconv,1000,3500,1.2,80\n").find("finished runs"),
      std::string::npos);
  EXPECT_NE(refusal("hello world\nthis is prose\n").find("no sample"), std::string::npos);
  EXPECT_NE(refusal("timestamp, power.draw [W]\n").find("no sample"), std::string::npos);
}

TEST(PowerLog, OtherPollers) {
  const PowerLog nvml = good(
      "Options:\n\tSample Rate = 100 ms\n[000] Power: 290.5860, Util: 100 Temp: 55\n[001] Power: "
      "292.5270, Util: 99 Temp: 55\nComplete\n");
  EXPECT_EQ(nvml.rows(), 2U);
  EXPECT_EQ(at(nvml, "utilization", 1), 0.99);
  const PowerLog rocm = good(
      "GPU[0]\t\t: Average Graphics Package Power (W): 35.0\nGPU[1]\t\t: Average Graphics Package "
      "Power (W): 36.0\nGPU[0]\t\t: Average Graphics Package Power (W): 37.0\n");
  EXPECT_EQ(rocm.rows(), 3U);
  EXPECT_EQ(rocm.gpus.size(), 2U);
  const PowerLog perf = good(
      "#           time             counts   unit events\n"
      "     1.000000000              45.30 Joules power/energy-pkg/\n     1.000000000              "
      " 5.10 Joules power/energy-ram/\n"
      "     2.000000000              50.30 Joules power/energy-pkg/\n     2.000000000              "
      " 5.20 Joules power/energy-ram/\n");
  EXPECT_TRUE(perf.gpus.empty());
  EXPECT_EQ(at(perf, "package_power_w", 1), 50.3);
  EXPECT_NEAR(at(perf, "dram_energy_j", 1), 10.3, 1e-9);
  const PowerLog carbon = good(
      "timestamp,run_id,duration,emissions,cpu_power,gpu_power,gpu_energy,energy_consumed\n2024-01-"
      "01T10:00:00,abc,12.2,0.001,42.5,100.1,0.0003,0.0004\n");
  EXPECT_NEAR(at(carbon, "energy_j", 0), 1080, 1e-9);
  EXPECT_EQ(at(carbon, "cpu_power_w", 0), 42.5);
  const PowerLog turbo = good(
      "Core\tCPU\tAvg_MHz\tBusy%\tPkgWatt\tRAMWatt\n-\t-\t100\t5.0\t45.10\t3.20\n0\t0\t120\t6.0\n-"
      "\t-\t100\t5.0\t46.10\t3.30\n");
  EXPECT_EQ(turbo.rows(), 2U);
  EXPECT_EQ(at(turbo, "package_power_w", 1), 46.1);
  const PowerLog amd = good(
      "GPU  POWER  GPU_T  MEM_T  GFX_CLK  GFX%  MEM%\n  0  203 W   47 °C   49 °C  2100 MHz  98 %  "
      "10 %\n  1  N/A   47 °C   49 °C  2100 MHz  98 %  10 %\n");
  EXPECT_EQ(at(amd, "power_w", 0), 203);
  EXPECT_TRUE(is_missing(at(amd, "power_w", 1)));
  EXPECT_EQ(at(amd, "clock_hz", 1), 2100e6);
  const PowerLog gaudi = good(
      "timestamp, name, temperature.aip [C], utilization.aip [%], power.draw [W]\nMon Jan  1 "
      "12:00:00 UTC 2024, HL-225, 41 C, 7 %, 92 W\n");
  EXPECT_EQ(at(gaudi, "temperature_c", 0), 41);
  EXPECT_EQ(gaudi.format, "hl-smi csv");
  const PowerLog hwinfo = good(
      "Date,Time,\"GPU Power [W]\",\"GPU Temperature [\xB0"
      "C]\"\n1.2.2024,12:00:00.500,81.2,55\n1.2.2024,12:00:02.500,82.2,55\n");
  EXPECT_EQ(hwinfo.duration()->si(), 2);
  EXPECT_EQ(at(hwinfo, "temperature_c", 1), 55);
}

TEST(PowerLog, DecimalCommasBetweenCommas) {
  const std::string header = "timestamp, power.draw [W], utilization.gpu [%]\n";
  const PowerLog spaced = good(header +
                               "2026/01/01 12:00:00.100, [N/A], 90 %\n"
                               "2026/01/01 12:00:00.200, 110,50 W, 90 %\n"
                               "2026/01/01 12:00:00.300, 9,25 W, 1 %\n");
  EXPECT_EQ(spaced.columns.size(), 2U);
  EXPECT_TRUE(is_missing(at(spaced, "power_w", 0)));
  EXPECT_EQ(at(spaced, "power_w", 1), 110.5);
  EXPECT_EQ(at(spaced, "power_w", 2), 9.25);
  EXPECT_EQ(at(spaced, "utilization", 1), 0.9);
  // Without blanks the units tell.
  const PowerLog tight = good(header + "2026/01/01 12:00:00.100,110,50 W,90 %\n");
  EXPECT_EQ(at(tight, "power_w", 0), 110.5);
  EXPECT_EQ(at(tight, "utilization", 0), 0.9);
  // Also without a header.
  const PowerLog bare = good("2026/01/01 12:00:00.100, 110,50 W, 90 %\n");
  EXPECT_EQ(at(bare, "power_w", 0), 110.5);
  // Where nothing tells, no number is told.
  EXPECT_FALSE(read(header + "2026/01/01 12:00:00.100,110,50,90\n"));
  // A header that is short of a name, with decimal points.
  const PowerLog points = good(header + "2026/01/01 12:00:00.100, 110.50 W, 90 %, 7\n");
  EXPECT_EQ(at(points, "power_w", 0), 110.5);
}

TEST(PowerLog, OnlyDefectsThatHappenedAreCounted) {
  const PowerLog log = good("1\n2\n-\n3\n");
  for (const auto& [kind, count] : log.defect_counts) EXPECT_GT(count, 0U) << kind;
}

TEST(PowerLog, EveryGpuOfAQueryReportHasItsTime) {
  std::string text;
  for (const char* time : {"10:00:00", "10:00:05"}) {
    text += std::string("==============NVSMI LOG==============\n\nTimestamp   : Tue Mar  5 ") +
            time + " 2024\nAttached GPUs   : 2\n";
    for (const char* id : {"17", "2A"}) {
      text += std::string("GPU 00000000:") + id +
              ":00.0\n    GPU Power Readings\n        Power Draw   : 100.00 W\n\n";
    }
  }
  const PowerLog log = good(text);
  constexpr Nanos kFive = 5'000'000'000;
  EXPECT_EQ(log.time_ns, (std::vector<Nanos>{0, 0, kFive, kFive}));
  EXPECT_TRUE(log.defects.empty());
}

TEST(PowerLog, NumbersAndTimesAreExact) {
  EXPECT_EQ(logs::seconds_of(1'000'000'001), "1.000000001");
  EXPECT_EQ(logs::seconds_of(-1'500'000'000), "-1.5");
  EXPECT_EQ(logs::utc_text(logs::number_time("1774383408.1642597", std::nullopt)->ns),
            "2026-03-24T20:16:48.1642597Z");
  const auto unit = logs::unit_of("mA");
  EXPECT_EQ(logs::apply(*unit, *logs::number_of("0.141")), 0.000141);
  EXPECT_FALSE(logs::number_of("abc"));
  EXPECT_EQ(logs::number_of("1e3 W")->value, 1000);
  EXPECT_FALSE(logs::wall_time("2023/13/30 17:28:02"));
  EXPECT_FALSE(logs::wall_time("2023/07/30"));
  EXPECT_EQ(logs::field_of("clocks.gr [MHz]").name, "clock_hz");
}

}  // namespace
}  // namespace ergon::meter
