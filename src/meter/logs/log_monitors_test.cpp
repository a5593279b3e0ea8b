// Logs of monitors: gpustat, Telegraf's line protocol, intel_gpu_top, and tables between pipes.
#include <gtest/gtest.h>

#include <string>

#include "logs/log_testing.hpp"

namespace ergon::meter {
namespace {

TEST(LogMonitors, GpustatUnderItsHeaders) {
  const PowerLog log = good(
      "node-7                    Mon Jan  1 12:00:00 2024  535.54.03\n"
      "[0] NVIDIA A100-SXM4-80GB | 45'C,  97 %,  250 / 400 W | 12345 / 81920 MB | ada(11000M)\n"
      "[1] NVIDIA A100-SXM4-80GB | 31°C,   0 %,   ?? / 400 W |     0 / 81920 MB |\n"
      "\n"
      "node-7                    Mon Jan  1 12:00:01 2024  535.54.03\n"
      "[0] NVIDIA A100-SXM4-80GB | 46'C,  98 %,  260 / 400 W | 12345 / 81920 MB | ada(11000M)\n"
      "[1] NVIDIA A100-SXM4-80GB | 31°C,   1 %,   62 / 400 W |     0 / 81920 MB |\n");
  EXPECT_EQ(log.format, "gpustat");
  EXPECT_EQ(log.gpus, (std::vector<std::string>{"0", "1"}));
  ASSERT_EQ(log.rows(), 4U) << to_csv(log);
  EXPECT_EQ(at(log, "power_w", 0), 250);
  EXPECT_TRUE(is_missing(at(log, "power_w", 1)));
  EXPECT_EQ(at(log, "power_w", 3), 62);
  EXPECT_EQ(at(log, "power_limit_w", 1), 400);
  EXPECT_EQ(at(log, "temperature_c", 2), 46);
  EXPECT_EQ(at(log, "utilization", 2), 0.98);
  EXPECT_EQ(at(log, "memory_used_bytes", 0), 12345.0 * 1048576);
  ASSERT_EQ(log.time_ns.size(), 4U);
  EXPECT_EQ(log.time_ns[2], 1'000'000'000);
  EXPECT_TRUE(log.local_ns);
  EXPECT_TRUE(log.defects.empty());
}

TEST(LogMonitors, GpustatWithFanCodecsAndWithoutLimitOrPower) {
  const PowerLog fan = good(
      "host  2024-01-01 12:00:00\n"
      "[0] GeForce GTX 1080 | 65'C,  33 %,  75 % (E: 3 %  D: 0 %),  110 W |  1000 /  8119 MB |\n");
  EXPECT_EQ(at(fan, "utilization", 0), 0.75) << to_csv(fan);
  EXPECT_EQ(at(fan, "fan_speed_ratio", 0), 0.33);
  EXPECT_EQ(at(fan, "power_w", 0), 110);
  EXPECT_EQ(fan.time_ns.size(), 1U);
  // Without --show-power, and without the header: load and temperature, no time.
  const PowerLog plain = good(
      "[0] GeForce GTX 1080 | 65'C,  33 % |  1000 /  8119 MB | u(9M)\n"
      "[0] GeForce GTX 1080 | 66'C,  34 % |  1000 /  8119 MB | u(9M)\n");
  EXPECT_EQ(plain.rows(), 2U);
  EXPECT_EQ(at(plain, "utilization", 1), 0.34);
  EXPECT_EQ(plain.find("power_w"), nullptr);
  EXPECT_TRUE(plain.time_ns.empty());
  const PowerLog cut = good(
      "host  Mon Jan  1 12:00:00 2024  535.54.03\n"
      "[0] A100 | 45'C,  97 %,  250 / 400 W | 12345 / 81920 MB |\n"
      "host  Mon Jan  1 12:00:01 2024  535.54.03\n"
      "[0] A100 | 45'C,  97 %,  25");
  EXPECT_EQ(cut.rows(), 1U);
  EXPECT_EQ(defects(cut, "truncated_line"), 1U);
}

TEST(LogMonitors, LineProtocolOfTelegraf) {
  const PowerLog log = good(
      "cpu,cpu=cpu0,host=a usage_user=3.5 1700000000000000000\n"
      "nvidia_smi,compute_mode=Default,host=a,index=0,name=NVIDIA\\ A100\\,\\ "
      "80GB,pstate=P0,uuid=GPU-1 "
      "power_draw=61.2,temperature_gpu=41i,clocks_current_sm=1410i,clocks_current_memory=1593i,"
      "memory_used=549i,utilization_gpu=7i,fan_speed=30i,driver_version=\"535.54, \\\"x\\\"\" "
      "1700000000000000000\n"
      "nvidia_smi,host=a,index=1,name=NVIDIA\\ A100,pstate=P0,uuid=GPU-2 power_draw=62.2 "
      "1700000000000000000\n"
      "> nvidia_smi,host=a,index=0,name=NVIDIA\\ A100\\,\\ 80GB,pstate=P0,uuid=GPU-1 "
      "power_draw=63.2 "
      "1700000010000000000\n");
  EXPECT_EQ(log.format, "line protocol");
  EXPECT_EQ(log.gpus, (std::vector<std::string>{"0", "1"}));
  ASSERT_EQ(log.rows(), 3U) << to_csv(log);
  EXPECT_EQ(at(log, "power_w", 0), 61.2);
  EXPECT_EQ(at(log, "clock_hz", 0), 1410e6);
  EXPECT_EQ(at(log, "memory_clock_hz", 0), 1593e6);
  EXPECT_EQ(at(log, "temperature_c", 0), 41);
  EXPECT_EQ(at(log, "utilization", 0), 0.07);
  EXPECT_EQ(at(log, "memory_used_bytes", 0), 549.0 * 1048576);
  EXPECT_TRUE(is_missing(at(log, "temperature_c", 1)));
  EXPECT_EQ(log.utc_ns, std::optional<Nanos>(1'700'000'000'000'000'000));
  EXPECT_EQ(log.time_ns.back(), 10'000'000'000);
  ASSERT_EQ(log.skipped.size(), 1U);
  EXPECT_TRUE(log.defects.empty());
}

TEST(LogMonitors, LineProtocolOfOthers) {
  // Two cards of one model, told by their name; two hosts whose GPUs are both called 0.
  const PowerLog amd = good(
      "amd_rocm_smi,gpu_id=0x6861,name=card0 clocks_current_sm=852i,power_draw=7,"
      "temperature_sensor_edge=28 1630572551000000000\n"
      "amd_rocm_smi,gpu_id=0x6861,name=card1 clocks_current_sm=853i,power_draw=8,"
      "temperature_sensor_edge=29 1630572551000000000\n");
  EXPECT_EQ(amd.gpus, (std::vector<std::string>{"card0", "card1"}));
  EXPECT_EQ(at(amd, "temperature_c", 1), 29);
  const PowerLog hosts = good(
      "nvidia_smi,host=a,index=0 power_draw=61 1700000000000000000\n"
      "nvidia_smi,host=b,index=0 power_draw=71 1700000000000000000\n"
      "nvidia_smi,host=a,index=0 power_draw=62 1700000001000000000\n");
  EXPECT_EQ(hosts.gpus, (std::vector<std::string>{"0", "b:0"}));
  // A field a line, a series after the other, in milliseconds, as an export has them.
  const PowerLog fields = good(
      "nvidia_smi,index=0 power_draw=61 1700000000000\n"
      "nvidia_smi,index=0 power_draw=62 1700000001000\n"
      "nvidia_smi,index=0 clocks_current_sm=1410i 1700000000000\n"
      "nvidia_smi,index=0 clocks_current_sm=1400i 1700000001000\n");
  EXPECT_EQ(to_csv(fields),
            "time_s,time_utc,gpu,power_w,clock_hz\n0,2023-11-14T22:13:20Z,0,61,1410000000\n"
            "1,2023-11-14T22:13:21Z,0,62,1400000000\n");
  // The metric is the measurement; CPUs are no GPU.
  const PowerLog exporter = good(
      "DCGM_FI_DEV_POWER_USAGE,gpu=0,UUID=GPU-1 gauge=61.5 1700000000000000000\n"
      "DCGM_FI_DEV_POWER_USAGE,gpu=0,UUID=GPU-1 gauge=62.5 1700000001000000000\n");
  EXPECT_EQ(at(exporter, "power_w", 1), 62.5);
  const PowerLog cpu = good(
      "powerstat_package,host=a,package_id=0 current_power_consumption_watts=45.2,"
      "thermal_design_power_watts=160 1700000000000000000\n");
  EXPECT_EQ(at(cpu, "package_power_w", 0), 45.2) << to_csv(cpu);
  EXPECT_TRUE(cpu.gpus.empty());
  const PowerLog cut = good(
      "nvidia_smi,index=0 power_draw=61 1700000000000000000\n"
      "nvidia_smi,index=0 power_draw=62 17000000");
  EXPECT_EQ(cut.rows(), 1U);
  EXPECT_EQ(defects(cut, "truncated_line"), 1U);
}

TEST(LogMonitors, TablesBetweenPipes) {
  const PowerLog markdown = good(
      "# Run 7\n\n"
      "| timestamp               | index | power.draw [W] | clocks.sm [MHz] |\n"
      "|:------------------------|------:|---------------:|----------------:|\n"
      "| 2024/01/01 12:00:00.000 | 0     | 61.25 W        | 1410 MHz        |\n"
      "| 2024/01/01 12:00:00.000 | 1     | [N/A]          | 1380 MHz        |\n"
      "| 2024/01/01 12:00:01.000 | 0     | 62.25 W        | 1410 MHz        |\n");
  EXPECT_EQ(markdown.rows(), 3U) << to_csv(markdown);
  EXPECT_EQ(markdown.gpus.size(), 2U);
  EXPECT_EQ(at(markdown, "power_w", 2), 62.25);
  EXPECT_TRUE(is_missing(at(markdown, "power_w", 1)));
  EXPECT_EQ(at(markdown, "clock_hz", 1), 1380e6);
  EXPECT_EQ(markdown.time_ns.back(), 1'000'000'000);
  // What databases print; and cells that are merely parted so.
  const PowerLog psql = good(
      "        time         | gpu | power_w \n---------------------+-----+---------\n"
      " 2024-01-01 12:00:00 |   0 |   61,25 \n 2024-01-01 12:00:01 |   0 |   62,50 \n(2 rows)\n");
  EXPECT_EQ(at(psql, "power_w", 1), 62.5) << to_csv(psql);
  const PowerLog mysql = good(
      "+---------------------+-----+---------+\n| time                | gpu | power_w |\n"
      "+---------------------+-----+---------+\n| 2024-01-01 12:00:00 |   0 |   61.25 |\n"
      "| 2024-01-01 12:00:01 |   0 |   62.50 |\n+---------------------+-----+---------+\n");
  EXPECT_EQ(mysql.rows(), 2U) << to_csv(mysql);
  const PowerLog plain = good("time_s|power_w|gpu\n0|61.25|0\n1|62.5|0\n");
  EXPECT_EQ(at(plain, "power_w", 1), 62.5);
  EXPECT_TRUE(says(refusal("| batch | time_s | energy_j | network |\n|---|---|---|---|\n"
                           "| 8 | 1.5 | 300 | vgg |\n"),
                   "finished runs"));
}

TEST(LogMonitors, APipeInANameIsNoTableBetweenPipes) {
  const PowerLog log = good("time_s,power_w,note a|b\n0,61.25,x\n1,62.5,y|z\n");
  EXPECT_EQ(at(log, "power_w", 1), 62.5);
  // What looked like the names of a table is said where none follows.
  const PowerLog lone = good("time | power\nno table\ntime_s,power_w\n0,61.25\n1,62.5\n");
  EXPECT_EQ(lone.rows(), 2U);
  EXPECT_EQ(defects(lone, "not_a_row"), 2U);
}

TEST(LogMonitors, ARunFileOfOursIsNamed) {
  const auto log = read("SQLite format 3\nwhatever\n");
  ASSERT_FALSE(log);
  EXPECT_TRUE(says(log.error().hint, "ergon study FILE")) << log.error().hint;
}

TEST(LogMonitors, NvidiaSmisTableIsNoTableBetweenPipes) {
  const PowerLog log = good(
      "Mon Jan  1 12:00:00 2024       \n"
      "+-----------------------------------------------------------------------------+\n"
      "| NVIDIA-SMI 450.51.05    Driver Version: 450.51.05    CUDA Version: 11.0     |\n"
      "|-------------------------------+----------------------+----------------------+\n"
      "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
      "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |\n"
      "|===============================+======================+======================|\n"
      "|   0  Tesla V100-PCIE...  Off  | 00000000:3B:00.0 Off |                    0 |\n"
      "| N/A   36C    P0    26W / 250W |      0MiB / 32510MiB |      0%      Default |\n"
      "+-------------------------------+----------------------+----------------------+\n");
  EXPECT_EQ(log.format, "nvidia-smi table");
  EXPECT_EQ(at(log, "power_w", 0), 26);
}

TEST(LogMonitors, IntelGpuTopAsText) {
  const PowerLog log = good(
      " Freq MHz      IRQ RC6     Power W     IMC MiB/s             RCS             BCS \n"
      " req  act       /s   %   gpu   pkg     rd     wr       %  se  wa       %  se  wa \n"
      " 373  370      224  45  1.50  4.13   2554    714   12.34   0   0   20.50   0   0 \n"
      " 226  223      338  58  2.00  2.69   1820    965    0.00   0   0    0.00   0   0 \n"
      " Freq MHz      IRQ RC6     Power W     IMC MiB/s             RCS             BCS \n"
      " req  act       /s   %   gpu   pkg     rd     wr       %  se  wa       %  se  wa \n"
      " 226  223      338  58  2.10  2.7");
  EXPECT_EQ(log.format, "intel_gpu_top");
  ASSERT_EQ(log.rows(), 2U) << to_csv(log);
  EXPECT_EQ(at(log, "power_w", 0), 1.5);
  EXPECT_EQ(at(log, "package_power_w", 1), 2.69);
  EXPECT_EQ(at(log, "clock_hz", 0), 370e6);
  EXPECT_EQ(at(log, "utilization", 0), 0.205);
  EXPECT_TRUE(log.time_ns.empty());
  EXPECT_EQ(defects(log, "truncated_line"), 1U);
  // Older versions have one power; ts puts a time before each line.
  const PowerLog old = good(
      "2024-01-01 12:00:00  Freq MHz      IRQ RC6 Power     IMC MiB/s           RCS/0 \n"
      "2024-01-01 12:00:00  req  act       /s   %     W     rd     wr       %  se  wa \n"
      "2024-01-01 12:00:00    0    0        0  98  0.00   1563     24    0.00   0   0 \n"
      "2024-01-01 12:00:01   26   26       53  96  0.11   1405    161    2.68   0   0 \n");
  EXPECT_EQ(at(old, "power_w", 1), 0.11) << to_csv(old);
  EXPECT_EQ(old.time_ns.size(), 2U);
}

TEST(LogMonitors, IntelGpuTopAsJson) {
  const std::string sample =
      "{\n\t\"period\": {\n\t\t\"duration\": 500.0,\n\t\t\"unit\": \"ms\"\n\t},\n"
      "\t\"frequency\": {\"requested\": 1350.0, \"actual\": 1300.0, \"unit\": \"MHz\"},\n"
      "\t\"interrupts\": {\"count\": 10.0, \"unit\": \"irq/s\"},\n"
      "\t\"rc6\": {\"value\": 32.5, \"unit\": \"%\"},\n"
      "\t\"power\": {\"GPU\": 8.2, \"Package\": 45.2, \"unit\": \"W\"},\n"
      "\t\"engines\": {\"Render/3D/0\": {\"busy\": 42.0, \"sema\": 0.0, \"wait\": 2.3, \"unit\": "
      "\"%\"},"
      " \"Video/0\": {\"busy\": 87.0, \"sema\": 0.0, \"wait\": 0.5, \"unit\": \"%\"}},\n"
      "\t\"clients\": {\"4294966\": {\"name\": \"Xorg\", \"pid\": \"1\"}}\n}";
  for (const std::string& text : {"[\n" + sample + ",\n" + sample + ",\n" + sample.substr(0, 60),
                                  sample + ",\n" + sample + ",\n" + sample.substr(0, 60)}) {
    const PowerLog log = good(text);
    EXPECT_EQ(log.format, "intel_gpu_top");
    ASSERT_EQ(log.rows(), 2U) << to_csv(log);
    EXPECT_EQ(at(log, "power_w", 0), 8.2);
    EXPECT_EQ(at(log, "package_power_w", 0), 45.2);
    EXPECT_EQ(at(log, "clock_hz", 1), 1300e6);
    EXPECT_EQ(at(log, "utilization", 1), 0.87);
    ASSERT_EQ(log.time_ns.size(), 2U);
    EXPECT_EQ(log.time_ns[1], 500'000'000);
  }
}

TEST(LogMonitors, IntelGpuTopAsCsv) {
  const PowerLog log = good(
      "Freq MHz req,Freq MHz act,IRQ /s,RC6 %,Power W gpu,Power W pkg,RCS %,RCS se,RCS wa\n"
      "373,370,224,45,1.50,4.13,12.34,0,0\n226,223,338,58,2.00,2.69,0.00,0,0\n");
  EXPECT_EQ(at(log, "power_w", 1), 2);
  EXPECT_EQ(at(log, "package_power_w", 1), 2.69);
  EXPECT_EQ(at(log, "clock_hz", 1), 223e6);
}

}  // namespace
}  // namespace ergon::meter
