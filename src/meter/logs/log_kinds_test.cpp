// Logs that are no CSV of nvidia-smi: what other vendors' and other people's tools write.
#include <gtest/gtest.h>

#include <string>

#include "logs/json_text.hpp"
#include "logs/log_testing.hpp"
#include "logs/timestamps.hpp"

namespace ergon::meter {
namespace {

TEST(LogKinds, RocmSmiCsvHasClocksInParenthesesAndLevels) {
  const std::string head =
      "device,Temperature (Sensor edge) (C),Temperature (Sensor junction) (C),Average Graphics "
      "Package Power (W),GPU use (%),sclk clock speed:,sclk clock level:,mclk clock speed:,dcefclk "
      "clock speed:\n";
  const PowerLog log = good(head +
                            "card0,45.0,61.0,212.0,82,(1700Mhz),1,(1600Mhz),(357Mhz)\n"
                            "card1,44.0,60.0,198.0,79,(1702Mhz),1,(1600Mhz),(357Mhz)\n\n" +
                            head + "card0,45.0,61.0,N/A,82,(1700Mhz),1,(1600Mhz),(357Mhz)\n");
  EXPECT_EQ(log.gpus, (std::vector<std::string>{"card0", "card1"}));
  EXPECT_EQ(at(log, "clock_hz", 1), 1702e6);
  EXPECT_EQ(at(log, "memory_clock_hz", 0), 1600e6);
  EXPECT_EQ(at(log, "sclk_clock_level", 0), 1);
  EXPECT_EQ(at(log, "power_w", 1), 198);
  EXPECT_TRUE(is_missing(at(log, "power_w", 2)));
  EXPECT_EQ(defects(log, "repeated_header"), 1U);
  EXPECT_EQ(defects(log, "not_a_number"), 0U);
  // Older versions give the clock in the column of the level.
  const PowerLog old = good(
      "time_s,device,sclk clock level,power (W)\n0,card0,(1700Mhz),50\n1,card0,1 (1500Mhz),50\n");
  EXPECT_EQ(at(old, "clock_hz", 0), 1700e6);
  EXPECT_EQ(at(old, "clock_hz", 1), 1500e6);
}

TEST(LogKinds, RocmSmiTextAndItsOverview) {
  const PowerLog text = good(
      "======== ROCm System Management Interface ========\n"
      "GPU[0]\t\t: mclk clock level: 3: (1600Mhz)\nGPU[0]\t\t: sclk clock level: 1: (1700Mhz)\n"
      "GPU[0]\t\t: Average Graphics Package Power (W): 212.0\n"
      "GPU[0]\t\t: sclk clock level: 1 (1710Mhz)\n"
      "GPU[0]\t\t: Average Graphics Package Power (W): 214.0\n======== End of ROCm SMI Log ====\n");
  EXPECT_EQ(text.rows(), 2U);
  EXPECT_EQ(at(text, "clock_hz", 0), 1700e6);
  EXPECT_EQ(at(text, "clock_hz", 1), 1710e6);
  EXPECT_EQ(at(text, "power_w", 1), 214);
  EXPECT_TRUE(text.defects.empty());
  const PowerLog concise = good(
      "GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
      "0    47.0c  91.0W   800Mhz  1600Mhz  0%   auto  560.0W    0%   7%\n"
      "1    46.0c  N/A     800Mhz  1600Mhz  0%   auto  0.0W      0%   0%\n=====\n");
  EXPECT_EQ(at(concise, "power_w", 0), 91);
  EXPECT_TRUE(is_missing(at(concise, "power_w", 1)));
  EXPECT_EQ(at(concise, "power_limit_w", 0), 560);
  EXPECT_EQ(at(concise, "utilization", 0), 0.07);
  const PowerLog newer = good(
      "Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK     "
      "Fan  Perf  PwrCap  VRAM%  GPU%\n"
      "              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)\n"
      "==========================================================================\n"
      "0       2     0x74a1,   28851  40.0\xC2\xB0"
      "C      139.0W    NPS1, SPX, 0        138Mhz  900Mhz   0%   auto  750.0W  0%     3%\n");
  EXPECT_EQ(at(newer, "power_w", 0), 139);
  EXPECT_EQ(at(newer, "junction_temperature_c", 0), 40);
  EXPECT_EQ(at(newer, "clock_hz", 0), 138e6);
}

TEST(LogKinds, AmdSmiCsvTablesAndReports) {
  const PowerLog metric = good(
      "timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,gfx_voltage,gfx_0_clk,"
      "gfx_0_min_clk,gfx_1_clk,mem_0_clk,edge,hotspot,mem\n"
      "1772939616,0,95,80,\"['N/A', 'N/A']\",350,780,1980,500,1970,901,N/A,72,65\n"
      "1772939617,0,95,80,\"['N/A', 'N/A']\",N/A,780,1980,500,1970,901,N/A,72,65\n");
  EXPECT_EQ(at(metric, "power_w", 0), 350);
  EXPECT_TRUE(is_missing(at(metric, "power_w", 1)));
  EXPECT_EQ(at(metric, "clock_hz", 0), 1980e6);
  EXPECT_EQ(at(metric, "gfx_0_min_clk_hz", 0), 500e6);
  EXPECT_EQ(at(metric, "memory_temperature_c", 0), 65);
  EXPECT_EQ(at(metric, "hotspot_temperature_c", 0), 72);
  EXPECT_EQ(at(metric, "utilization", 0), 0.95);
  EXPECT_EQ(at(metric, "gfx_voltage_v", 0), 0.78);
  const PowerLog monitor = good(
      "timestamp,gpu,power_usage,hotspot_temperature,memory_temperature,gfx_clk,gfx,mem,mem_clock\n"
      "1772939616,0,203,47,49,2100,98,10,900\n");
  EXPECT_EQ(at(monitor, "power_w", 0), 203);
  EXPECT_EQ(at(monitor, "memory_utilization", 0), 0.1);
  EXPECT_EQ(at(monitor, "memory_temperature_c", 0), 49);
  const PowerLog table = good(
      " TIMESTAMP  GPU  POWER  GPU_TEMP  GFX_UTIL  GFX_CLOCK  MEM_CLOCK     PCIE_BW  VRAM_USED\n"
      "1740686195    0    8 W     28 \xC2\xB0"
      "C       3 %     14 MHz     96 MHz    N/A Mb/s      16 MB\n");
  EXPECT_EQ(at(table, "power_w", 0), 8);
  EXPECT_EQ(at(table, "utilization", 0), 0.03);
  EXPECT_EQ(at(table, "clock_hz", 0), 14e6);
  const PowerLog report = good(
      "GPU: 0\n    USAGE:\n        GFX_ACTIVITY: 12 %\n        VCN_ACTIVITY: [N/A, N/A,\n"
      "            N/A]\n    POWER:\n        SOCKET_POWER: 20 W\n    CLOCK:\n        GFX_0:\n"
      "            CLK: 14 MHz\n            MAX_CLK: 2482 MHz\n        MEM_0:\n            CLK: 96 "
      "MHz\n    TEMPERATURE:\n        HOTSPOT: 44 C\nGPU: 1\n    POWER:\n        SOCKET_POWER: "
      "N/A\n");
  EXPECT_EQ(report.rows(), 2U);
  EXPECT_EQ(at(report, "power_w", 0), 20);
  EXPECT_TRUE(is_missing(at(report, "power_w", 1)));
  EXPECT_EQ(at(report, "clock_hz", 0), 14e6);
  EXPECT_EQ(at(report, "memory_clock_hz", 0), 96e6);
}

TEST(LogKinds, DcgmiDmonOfOldAndNewVersions) {
  const PowerLog fresh = good(
      "#Entity   TMPTR       POWER          TOTEC             SMCLK  GPUTL\n"
      "ID        C           W              mJ\n"
      "GPU 0     31          60.125         812345678         1410   0\n"
      "GPU 1     33          N/A            712345678         1410   12\n"
      "#Entity   TMPTR       POWER          TOTEC             SMCLK  GPUTL\n"
      "ID        C           W              mJ\n"
      "GPU 0     31          61.125         812407678         1410   0\n");
  EXPECT_EQ(fresh.gpus, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(at(fresh, "power_w", 2), 61.125);
  EXPECT_TRUE(is_missing(at(fresh, "power_w", 1)));
  EXPECT_EQ(at(fresh, "energy_j", 0), 812345.678);
  EXPECT_EQ(at(fresh, "clock_hz", 0), 1410e6);
  EXPECT_EQ(at(fresh, "utilization", 1), 0.12);
  EXPECT_FALSE(fresh.duration());
  EXPECT_TRUE(fresh.defects.empty());
  const PowerLog old = good("# Entity  POWER  TMPTR\n      Id      W      C\n   GPU 0  60.1  31\n");
  EXPECT_EQ(at(old, "power_w", 0), 60.1);
  // Instances of a GPU repeat what the whole draws.
  const PowerLog mig = good(
      "#Entity   POWER    GRACT\nID        W\nGPU 0     260.125  0.429\nGPU-I 0   260.125  0.75\n");
  EXPECT_EQ(mig.rows(), 1U);
  EXPECT_EQ(mig.skipped.front().second, 1U);
  const PowerLog stamped = good(
      "2024-05-01T12:00:00.1 #Entity   POWER\n2024-05-01T12:00:00.1 ID        W\n"
      "2024-05-01T12:00:00.1 GPU 0     260.5\n2024-05-01T12:00:01.1 GPU 0     261.5\n");
  EXPECT_EQ(stamped.duration()->si(), 1);
  const PowerLog cut = good("#Entity   POWER   TMPTR\nID\nGPU 0     60.125  31\nGPU 0     61.1");
  EXPECT_EQ(cut.rows(), 1U);
  EXPECT_EQ(defects(cut, "truncated_line"), 1U);
}

TEST(LogKinds, DmonBehindAStampOfAnotherTool) {
  const PowerLog log = good(
      "2024-05-01 12:00:00 # gpu    pwr  gtemp\n2024-05-01 12:00:00 # Idx      W      C\n"
      "2024-05-01 12:00:00     0     70     31\n2024-05-01 12:00:01     0     71     31\n");
  EXPECT_EQ(log.duration()->si(), 1);
  EXPECT_EQ(at(log, "power_w", 1), 71);
  std::string_view text = "Jan 01 12:00:00 GPU 0";
  const auto stamp = logs::leading_stamp(text);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp->kind, logs::Stamp::Kind::kDay);
  EXPECT_EQ(text, "GPU 0");
}

TEST(LogKinds, TegrastatsOfSeveralBoards) {
  const PowerLog orin = good(
      "04-11-2025 10:36:27 RAM 4321/62801MB (lfb 1759x4MB) SWAP 19/31400MB (cached 0MB) CPU "
      "[0%@729,off] EMC_FREQ 3%@2133 GR3D_FREQ 12%@[1300,1301] CV0@-256C GPU@41.5C VDD_GPU_SOC "
      "1234mW/1200mW VDD_CPU_CV 390mW/390mW VIN_SYS_5V0 4025mW/4025mW NC 0mW/0mW\n"
      "04-11-2025 10:36:28 RAM 4321/62801MB (lfb 1759x4MB) SWAP 19/31400MB (cached 0MB) CPU "
      "[0%@729,off] EMC_FREQ 3%@2133 GR3D_FREQ 12%@[1300,1301] CV0@-256C GPU@-256C VDD_GPU_SOC "
      "1250mW/1200mW VDD_CPU_CV 390mW/390mW VIN_SYS_5V0 4025mW/4025mW NC 0mW/0mW\n");
  EXPECT_EQ(at(orin, "power_w", 0), 1.234);
  EXPECT_EQ(at(orin, "vin_sys_5v0_power_w", 0), 4.025);
  EXPECT_EQ(at(orin, "clock_hz", 0), 1300e6);
  EXPECT_EQ(at(orin, "utilization", 0), 0.12);
  EXPECT_EQ(at(orin, "temperature_c", 0), 41.5);
  EXPECT_TRUE(is_missing(at(orin, "temperature_c", 1)));  // switched off
  EXPECT_EQ(orin.duration()->si(), 1);
  // The month comes first.
  EXPECT_EQ(orin.local_ns, logs::wall_time("2025/04/11 10:36:27")->ns);
  EXPECT_TRUE(says(orin.notes.front(), "VDD_GPU_SOC feeds more"));
  const PowerLog nano = good(
      "RAM 1766/3964MB (lfb 197x4MB) SWAP 0/2048MB (cached 0MB) CPU [24%@1224,15%@1224] EMC_FREQ "
      "0% GR3D_FREQ 37%@921 PLL@21C GPU@23.5C POM_5V_IN 2545/2547 POM_5V_GPU 1200/1100 POM_5V_CPU "
      "549/529\n");
  EXPECT_EQ(at(nano, "power_w", 0), 1.2);
  EXPECT_EQ(at(nano, "pom_5v_in_power_w", 0), 2.545);
  EXPECT_EQ(at(nano, "clock_hz", 0), 921e6);
  EXPECT_FALSE(nano.duration());
  const PowerLog xavier = good(
      "RAM 3903/31920MB (lfb 5x4MB) CPU [2%@1190,off] EMC_FREQ 0% GR3D_FREQ 0% GPU@36C GPU 0/0 CPU "
      "464/464 SOC 1084/1084 CV 0/0\n");
  EXPECT_EQ(at(xavier, "power_w", 0), 0);
  EXPECT_EQ(at(xavier, "cpu_power_w", 0), 0.464);
}

TEST(LogKinds, JsonRecordsLinesAndColumns) {
  const std::string expected =
      "time_s,time_utc,gpu,power_w\n0,2024-01-01T12:00:00Z,0,100.5\n1,2024-01-01T12:00:01Z,0,101."
      "5\n";
  for (const char* text :
       {"[{\"timestamp\": \"2024-01-01T12:00:00Z\", \"power_w\": 100.5}, {\"timestamp\": "
        "\"2024-01-01T12:00:01Z\", \"power_w\": 101.5}]",
        "{\"time\": 1704110400.0, \"gpu\": 0, \"power_watts\": 100.5}\n"
        "{\"time\": 1704110401.0, \"gpu\": 0, \"power_watts\": 101.5}\n",
        "{\n \"board\": {\"vendor\": \"x\"},\n \"samples\": [\n  {\"ts\": 1704110400, "
        "\"power.draw\": "
        "\"100.50 W\"},\n  {\"ts\": 1704110401, \"power.draw\": \"101.50 W\"}\n ], "
        "\"mean_power_w\": "
        "101\n}\n",
        "{\"timestamp_ms\": [1704110400000, 1704110401000], \"power_mw\": [100500, 101500]}\n",
        "{\"columns\": [\"time\", \"power_w\"], \"data\": [[1704110400, 100.5], [1704110401, "
        "101.5]]}",
        "[[1704110400, 100.5], [1704110401, 101.5]]",
        "[{\"timestamp\": 1704110400, \"gpu\": 0, \"power\": {\"socket_power\": {\"value\": 100.5, "
        "\"unit\": \"W\"}}}]\n[{\"timestamp\": 1704110401, \"gpu\": 0, \"power\": "
        "{\"socket_power\": "
        "{\"value\": 101.5, \"unit\": \"W\"}}}]\n",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{\"__"
        "name__"
        "\":\"DCGM_FI_DEV_POWER_USAGE\",\"gpu\":\"0\"},\"values\":[[1704110400,\"100.5\"],["
        "1704110401,"
        "\"101.5\"]]}]}}"}) {
    EXPECT_EQ(to_csv(good(text)), expected) << text;
  }
}

TEST(LogKinds, JsonOfSeveralGpus) {
  const PowerLog rocm = good(
      "{\"card0\": {\"sclk clock speed:\": \"(800Mhz)\", \"sclk clock level:\": \"1\", \"Average "
      "Graphics Package Power (W)\": \"89.0\"}, \"card1\": {\"Average Graphics Package Power "
      "(W)\": "
      "\"N/A\"}}\n");
  EXPECT_EQ(rocm.gpus, (std::vector<std::string>{"card0", "card1"}));
  EXPECT_EQ(at(rocm, "power_w", 0), 89);
  EXPECT_EQ(at(rocm, "clock_hz", 0), 800e6);
  EXPECT_TRUE(is_missing(at(rocm, "power_w", 1)));
  const PowerLog gpustat = good(
      "{\"hostname\": \"a\", \"query_time\": \"2024-01-01T12:00:00.5\", \"gpus\": [{\"index\": 0, "
      "\"power.draw\": 66, \"temperature.gpu\": 40}, {\"index\": 1, \"power.draw\": null}]}\n");
  EXPECT_EQ(gpustat.gpus.size(), 2U);
  EXPECT_EQ(at(gpustat, "power_w", 0), 66);
  EXPECT_TRUE(is_missing(at(gpustat, "power_w", 1)));
  EXPECT_EQ(gpustat.time_ns.size(), 2U);
  const PowerLog lists =
      good("{\"t\": 1, \"power_w\": [10, 20]}\n{\"t\": 2, \"power_w\": [11, 21]}\n");
  EXPECT_EQ(to_csv(lists), "time_s,gpu,power_w\n0,0,10\n0,1,20\n1,0,11\n1,1,21\n");
}

TEST(LogKinds, ZeusPrintsDictsBelowTimes) {
  const PowerLog log = good(
      "[2023-08-22 22:39:59,787] [PowerMonitor](power.py:134) Monitoring power usage of GPUs [0, "
      "1]\n"
      "2023-08-22 22:40:00.800576\n{'GPU0': 66.176, 'GPU1': 68.792}\n2023-08-22 22:40:01.842590\n"
      "{'GPU0': 66.078, 'GPU1': None}\n^C\nTotal time (s): 4.42\nTotal energy (J):\n"
      "{'GPU0': 198.5, 'GPU1': 205.2}\n");
  ASSERT_EQ(log.rows(), 4U) << to_csv(log);
  EXPECT_EQ(log.gpus, (std::vector<std::string>{"GPU0", "GPU1"}));
  EXPECT_EQ(at(log, "power_w", 2), 66.078);
  EXPECT_TRUE(is_missing(at(log, "power_w", 3)));
  EXPECT_NEAR(log.duration()->si(), 1.042014, 1e-9);
}

TEST(LogKinds, JsonThatIsCutOrNoNumberOrNoLog) {
  const PowerLog cut = good(
      "[{\"t\": 1, \"power_w\": 10},\n {\"t\": 2, \"power_w\": NaN},\n {\"t\": 3, \"power_w\": 1");
  EXPECT_EQ(cut.rows(), 2U) << to_csv(cut);
  EXPECT_TRUE(is_missing(at(cut, "power_w", 1)));
  EXPECT_EQ(defects(cut, "truncated_line"), 1U);
  const PowerLog inside = good(
      "{\"samples\": [{\"t\": 1, \"power_w\": 10}, {\"t\": 2, \"power_w\": 11}, {\"t\": 3, \"po");
  EXPECT_EQ(inside.rows(), 2U) << to_csv(inside);
  EXPECT_EQ(defects(inside, "truncated_line"), 1U);
  EXPECT_TRUE(says(refusal("{\"a\": 1}\n"), "this is JSON, no power log"));
  EXPECT_TRUE(says(refusal("{\"energy\": 0.8787, \"time\": 22.6, \"bandwidth\": 1690}\n"),
                   "finished runs"));
  EXPECT_TRUE(says(refusal("[{\"model\": \"a\", \"avg_power_watts\": 300}, {\"model\": \"b\", "
                           "\"avg_power_watts\": 310}]"),
                   "finished runs"));
  EXPECT_TRUE(says(refusal("{\"schemaVersion\": 1, \"traceEvents\": []}"), "a trace"));
  EXPECT_TRUE(says(refusal("{\"schema\": \"ergon.measure/1\", \"gpus\": [{\"gpu\": 0, \"power_w\": "
                           "5}]}"),
                   "JSON"));
}

TEST(LogKinds, JsonDocumentsEndWhereTheirBracketsDo) {
  logs::JsonText text;
  text.add(R"([{"a": "]}\"{"}, {"b": [1, 2]}, 3])", 7);
  const auto first = text.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->text, R"({"a": "]}\"{"})");
  EXPECT_EQ(first->line, 7U);
  EXPECT_EQ(text.next()->text, R"({"b": [1, 2]})");
  EXPECT_FALSE(text.next());
  EXPECT_TRUE(text.idle());
  EXPECT_FALSE(text.rest());
}

TEST(LogKinds, PowerstatIsTheSystems) {
  const PowerLog log = good(
      "Running for 60.0 seconds (60 samples at 1.0 second intervals).\n\n"
      "  Time    User  Nice   Sys  Idle    IO  Run Ctxt/s  IRQ/s Fork Exec Exit  Watts\n"
      "20:02:04  10.3   0.0   1.4  87.4   0.9    5  12285   4231    9    7    8  13.72\n"
      "20:02:05  15.1   0.0   3.1  80.9   1.0    2  16479   8609    8    8    5  13.82\n"
      "-------- ----- ----- ----- ----- ----- ---- ------ ------ ---- ---- ---- ------\n"
      " Average   4.8   0.0   1.2  93.4   0.6  1.9 8394.3 3788.5  0.1  0.0  0.2  12.48\n");
  EXPECT_EQ(log.rows(), 2U);
  EXPECT_EQ(at(log, "system_power_w", 1), 13.82);
  EXPECT_TRUE(log.gpus.empty());
  EXPECT_EQ(log.duration()->si(), 1);
  const PowerLog perf = good(
      "     1.0,45.30,Joules,power/energy-pkg/,1001000000,100.00,,\n"
      "     2.0,46.30,Joules,power/energy-pkg/,1001000000,100.00,,\n");
  EXPECT_EQ(at(perf, "package_power_w", 1), 46.3);
}

TEST(LogKinds, XmlReportsInALoopAndOnOneLine) {
  std::string loop;
  std::string one;
  for (const char* second : {"44", "45"}) {
    const std::string report =
        std::string("<nvidia_smi_log>\n<timestamp>Fri Jul  4 19:19:") + second +
        " 2025</timestamp>\n<gpu id=\"00000000:21:00.0\">\n<power_readings>\n"
        "<power_draw>97.49 W</power_draw>\n</power_readings>\n</gpu>\n"
        "</nvidia_smi_log>\n";
    loop +=
        "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n" +
        report;
    one += "<?xml version=\"1.0\" ?>";
    for (const char c : report) {
      if (c != '\n') one += c;
    }
    one += '\n';
  }
  for (const auto& text : {loop, one}) {
    const PowerLog log = good(text);
    EXPECT_EQ(log.rows(), 2U) << text;
    EXPECT_EQ(at(log, "power_w", 1), 97.49);
    EXPECT_EQ(log.duration()->si(), 1);
    EXPECT_TRUE(log.defects.empty());
  }
}

TEST(LogKinds, PowermetricsAndOthersColumns) {
  const PowerLog mac = good(
      "*** Sampled system activity (Mon Jan  1 12:00:00 2024 +0000) (1000.12ms elapsed) ***\n\n"
      "**** Processor usage ****\nCPU Power: 123 mW\nGPU Power: 4567 mW\nGPU HW active frequency: "
      "444 "
      "MHz\n\n*** Sampled system activity (Mon Jan  1 12:00:01 2024 +0000) (1000.12ms elapsed) "
      "***\n"
      "CPU Power: 125 mW\nGPU Power: 4568 mW\n");
  EXPECT_EQ(mac.rows(), 2U) << to_csv(mac);
  EXPECT_EQ(at(mac, "power_w", 0), 4.567);
  EXPECT_EQ(at(mac, "cpu_power_w", 1), 0.125);
  EXPECT_EQ(at(mac, "clock_hz", 0), 444e6);
  const PowerLog wandb = good(
      "{\"_timestamp\": 1704110400.5, \"system.gpu.0.powerWatts\": 100.5, "
      "\"system.gpu.1.powerWatts\": 90.5}\n"
      "{\"_timestamp\": 1704110415.5, \"system.gpu.0.powerWatts\": 101.5, "
      "\"system.gpu.1.powerWatts\": 91.5}\n");
  EXPECT_EQ(wandb.gpus.size(), 2U);
  EXPECT_EQ(at(wandb, "power_w", 3), 91.5) << to_csv(wandb);
  const PowerLog xpu = good(
      "Timestamp, DeviceId, GPU Power (W), GPU Energy Consumed (J)\n12:00:00.000, 0, 150.12, "
      "1000.5\n"
      "12:00:00.000, 1, 160.12, 1000.5\n");
  EXPECT_EQ(xpu.gpus.size(), 2U);
  const PowerLog pairs = good("gpu=0 power=100W util=50%\ngpu=1 power=110W util=50%\n");
  EXPECT_EQ(pairs.gpus.size(), 2U);
  EXPECT_EQ(at(pairs, "power_w", 1), 110);
}

TEST(LogKinds, ColumnsThatWereAlignedWithBlanks) {
  const PowerLog log = good(
      "timestamp                 power.draw [W]   temperature.gpu\n"
      "2024/01/01 12:00:00.100   100.00 W         50\n2024/01/01 12:00:01.100   101.00 W         "
      "51\n");
  EXPECT_EQ(to_csv(log), "time_s,gpu,power_w,temperature_c\n0,0,100,50\n1,0,101,51\n");
}

TEST(LogKinds, NvidiaSmiStats) {
  const PowerLog log = good(
      "0, pwrDraw , 1395544840748857, 65\n0, gpuUtil , 1395544840748900, 97\n0, violPwr , "
      "1395544840748900, 0\n1, pwrDraw , 1395544840748857, N/A\n0, pwrDraw , 1395544841748857, "
      "66\n");
  EXPECT_EQ(log.rows(), 4U) << to_csv(log);
  EXPECT_EQ(log.gpus.size(), 2U);
  EXPECT_EQ(at(log, "power_w", 3), 66);
  EXPECT_EQ(at(log, "utilization", 1), 0.97);
}

TEST(LogKinds, JtopAndIpmitool) {
  const PowerLog jtop = good(
      "time,uptime,jetson_clocks,nvp model,CPU1,GPU,Temp GPU,Power GPU,Power TOT\n"
      "2024-01-01 12:00:00.5,1 day,OFF,MAXN,12,37,45.5,1200,5100\n"
      "2024-01-01 12:00:01.5,1 day,OFF,MAXN,12,41,45.5,1210,5110\n");
  EXPECT_EQ(jtop.gpus.size(), 1U) << to_csv(jtop);
  EXPECT_EQ(at(jtop, "power_w", 0), 1.2);
  EXPECT_EQ(at(jtop, "utilization", 1), 0.41);
  EXPECT_EQ(at(jtop, "board_power_w", 0), 5.1);
  const PowerLog ipmi = good(
      "\n    Instantaneous power reading:                   220 Watts\n"
      "    Minimum during sampling period:                180 Watts\n"
      "    Average power reading over sample period:      219 Watts\n"
      "    Instantaneous power reading:                   221 Watts\n");
  EXPECT_EQ(ipmi.rows(), 2U) << to_csv(ipmi);
  EXPECT_EQ(at(ipmi, "system_power_w", 1), 221);
  EXPECT_TRUE(ipmi.gpus.empty());
}

TEST(LogKinds, AColumnNamedGpuThatIsNone) {
  const PowerLog log = good("time_s,gpu,power_w\n0,12.5,100\n1,13.5,101\n2,99.0,102\n");
  EXPECT_EQ(log.gpus.size(), 1U);
}

}  // namespace
}  // namespace ergon::meter
