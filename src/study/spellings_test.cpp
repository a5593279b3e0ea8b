// Units, numbers and columns as people write them, and figures that contradict each other.
#include "reading.hpp"
#include "study_test.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::study {
namespace {

/// 510, 800 and 1410 MHz: 1000, 910 and 1250 J in 10, 7 and 5 s.
std::string table_of(const std::string& header, const std::vector<double>& figures, double scale) {
  std::string text = "clock_mhz;time_s;" + header + "\n";
  const char* const front[] = {"510;10;", "800;7;", "1410;5;"};
  for (std::size_t i = 0; i < figures.size(); ++i)
    text += front[i] + figure_text(figures[i] * scale, 12) + "\n";
  return text;
}

struct Header {
  const char* name;
  double scale;
};
class PowerHeader : public testing::TestWithParam<Header> {};
class EnergyHeader : public testing::TestWithParam<Header> {};

TEST_P(PowerHeader, gives_watts) {
  const auto data = read_text(table_of(GetParam().name, {100, 130, 250}, GetParam().scale));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_NEAR(*data->samples[2].power_w, 250, 0.01) << GetParam().name;
  EXPECT_NEAR(*data->samples[2].energy, 1250, 0.05) << GetParam().name;
}
INSTANTIATE_TEST_SUITE_P(Units, PowerHeader,
                         testing::Values(Header{"power (mW)", 1e3}, Header{"power_mW", 1e3},
                                         Header{"power [mW]", 1e3}, Header{"power_uW", 1e6},
                                         Header{"power [\xc2\xb5W]", 1e6}, Header{"power_kW", 1e-3},
                                         Header{"power [kW]", 1e-3}, Header{"POWER_MW", 1e3},
                                         Header{"power (MW)", 1e-6}, Header{"power, mW", 1e3},
                                         Header{"powermW", 1e3}, Header{"power_mw", 1e3},
                                         Header{"Power W", 1}, Header{"avgPowerW", 1}));

TEST_P(EnergyHeader, gives_joules) {
  const auto data = read_text(table_of(GetParam().name, {1000, 910, 1250}, GetParam().scale));
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_NEAR(*data->samples[2].energy, 1250, 0.05) << GetParam().name;
  EXPECT_TRUE(data->findings.empty()) << data->findings.front().evidence;
}
INSTANTIATE_TEST_SUITE_P(Units, EnergyHeader,
                         testing::Values(Header{"energy_mJ", 1e3}, Header{"energy (mJ)", 1e3},
                                         Header{"energy [kJ]", 1e-3}, Header{"energy_uJ", 1e6},
                                         Header{"ENERGY_MJ", 1e3}, Header{"energy (MJ)", 1e-6},
                                         Header{"energy [kWh]", 1 / 3.6e6},
                                         Header{"energy_mWh", 1 / 3.6}));

TEST(Spelling, clock_units_in_any_case) {
  for (const char* head : {"clock (kHz)", "clock_KHZ", "clock kHz"}) {
    const auto data =
        read_text(std::string(head) + ",time_s,power_w\n510000,10,100\n1410000,5,250\n");
    ASSERT_TRUE(data) << head;
    EXPECT_DOUBLE_EQ(*data->samples[1].setting.clock_hz, 1.41e9) << head;
  }
}

TEST(Spelling, each_cell_has_its_own_unit) {
  const auto data = read_text(
      "clock,time,power,power_limit\n510 MHz,10 s,100 W,300 W\n1.1 GHz,5500 ms,0.17 kW,0.3 kW\n"
      "1410 MHz,5 s,250 W,300000 mW\n");
  ASSERT_TRUE(data) << data.error().message;
  const Sample& s = data->samples[1];
  EXPECT_DOUBLE_EQ(*s.setting.clock_hz, 1.1e9);
  EXPECT_DOUBLE_EQ(*s.time, 5.5);
  EXPECT_DOUBLE_EQ(*s.power_w, 170);
  EXPECT_DOUBLE_EQ(*s.setting.power_limit_w, 300);
  EXPECT_DOUBLE_EQ(*data->samples[2].setting.power_limit_w, 300);
  EXPECT_DOUBLE_EQ(*data->samples[0].time, 10);
  const auto header = read_text("clock_mhz,time_s,power_w\n510,10,100\n1.41 GHz,5000 ms,0.25 kW\n");
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_DOUBLE_EQ(*header->samples[1].energy, 1250);
  EXPECT_DOUBLE_EQ(*header->samples[1].setting.clock_hz, 1.41e9);
}

TEST(Spelling, columns_of_several_kernels_are_several_workloads) {
  const auto data = read_text(
      "clock_mhz,gemm_time_ms,gemm_power_w,time_conv_ms,power_conv_w\n"
      "510,10000,100,20000,110\n1410,5000,250,10000,275\n");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->samples.size(), 4U);
  EXPECT_EQ(data->samples[0].workload, "gemm");
  EXPECT_EQ(data->samples[1].workload, "conv");
  EXPECT_DOUBLE_EQ(*data->samples[3].energy, 2750);
  // One that lacks a power is no workload, and is counted.
  const auto half = read_text(
      "clock_mhz,gemm_time_ms,gemm_power_w,conv_time_ms\n510,10000,100,2\n1410,5000,250,1\n");
  ASSERT_TRUE(half);
  EXPECT_EQ(half->samples.size(), 2U);
  EXPECT_TRUE(std::ranges::any_of(
      half->skipped, [](const auto& s) { return s.first == "columns_of_other_parts"; }));
  // Parts beside a total are parts.
  const auto total = read_text(
      "clock_mhz,time_s,power_w,a_time_s,a_power_w,b_time_s,b_power_w\n510,9,100,4,1,5,2\n"
      "1410,5,250,2,1,3,2\n");
  ASSERT_TRUE(total);
  EXPECT_EQ(total->samples.size(), 2U);
  EXPECT_DOUBLE_EQ(*total->samples[0].time, 9);
}

TEST(Spelling, thousands_separators) {
  const auto data =
      read_text("clock_mhz,time_s,power_w\n\"1,410\",5,250\n510,10,100\n\"1,100\",5.5,170\n");
  ASSERT_TRUE(data);
  EXPECT_DOUBLE_EQ(*data->samples[0].setting.clock_hz, 1.41e9);
  EXPECT_TRUE(noted(*data, "thousands_separator"));
  const auto decimal = read_text("clock_ghz;time_s;power_w\n1,410;5,125;250\n0,510;10,250;100\n");
  ASSERT_TRUE(decimal);
  EXPECT_DOUBLE_EQ(*decimal->samples[0].setting.clock_hz, 1.41e9);
  EXPECT_DOUBLE_EQ(*decimal->samples[0].time, 5.125);
}

TEST(Spelling, one_overflow_is_one_missing_cell) {
  const auto j =
      judge("clock_mhz,time_s,power_w\n510,10,100\n800,1e400,130\n1100,5.5,170\n1410,5,250\n");
  ASSERT_EQ(j.data.samples.size(), 4U);
  EXPECT_FALSE(j.data.samples[1].time);
  EXPECT_DOUBLE_EQ(*j.data.samples[2].time, 5.5);
  ASSERT_TRUE(j.study.workloads.front().optimum);
  EXPECT_NEAR(j.study.workloads.front().optimum->energy_saved, 1 - 935.0 / 1250, 1e-9);
}

TEST(Contradiction, a_power_that_no_gpu_draws_is_not_valid) {
  const auto j =
      judge("clock_mhz,time_s,power_w\n510,10,100\n800,7,1e300\n1100,5.5,170\n1410,5,250\n");
  const Workload& w = j.study.workloads.front();
  ASSERT_EQ(w.points[1].invalid.size(), 1U);
  EXPECT_NE(w.points[1].invalid.front().find("no GPU draws"), std::string::npos);
  ASSERT_TRUE(w.optimum);
  const auto base =
      judge("clock_mhz,time_s,power_w\n510,10,100\n800,7,130\n1100,5.5,170\n1410,5,1e300\n");
  const Workload& moved = base.study.workloads.front();
  ASSERT_TRUE(moved.baseline);
  EXPECT_DOUBLE_EQ(*moved.points[*moved.baseline].setting.clock_hz, 1100e6);
  EXPECT_NE(moved.baseline_moved.find("1410 MHz"), std::string::npos);
}

TEST(Contradiction, repeats_that_disagree_are_named) {
  std::string text = "run,clock_mhz,time_s,power_w\n";
  for (int r = 0; r < 5; ++r) {
    text += std::to_string(r) + ",510,10,100\n" + std::to_string(r) + ",800,7," +
            (r == 3 ? "1300" : "130") + "\n" + std::to_string(r) + ",1410,5,250\n";
  }
  const auto five = judge(text);
  EXPECT_EQ(count_of(five.study, "repeats_disagree"), 1U);
  EXPECT_DOUBLE_EQ(*five.study.workloads.front().points[1].energy, 910) << "the median";
  const auto two = judge(
      "clock_mhz,time_s,energy_j\n510,10,1000\n800,7,910\n800,7,1820\n1100,5.5,935\n1410,5,1250\n");
  EXPECT_EQ(count_of(two.study, "repeats_disagree"), 1U);
  EXPECT_FALSE(two.study.workloads.front().points[1].invalid.empty())
      << "none of two is the right one";
  const auto near =
      judge("clock_mhz,time_s,energy_j\n510,10,1000\n800,7,910\n800,7,1000\n1410,5,1250\n");
  EXPECT_EQ(count_of(near.study, "repeats_disagree"), 0U);
  EXPECT_DOUBLE_EQ(*near.study.workloads.front().points[1].energy, 955) << "the mean";
}

TEST(Contradiction, a_last_figure_that_was_cut_does_not_count) {
  const std::string text =
      "clock_mhz,time_s,power_w\n510,10,100\n800,7,130\n1100,5.5,170\n1410,5,2";
  const auto cut = read_text(text);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->samples.size(), 3U);
  EXPECT_EQ(cut->skipped.front().first, "truncated_last_line");
  const auto whole = read_text(text + "50");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->samples.size(), 4U);
  EXPECT_TRUE(noted(*whole, "no_final_newline"));
  EXPECT_FALSE(noted(*read_text(text + "50\n"), "no_final_newline"));
}

TEST(Contradiction, an_outlier_and_not_its_neighbour_is_named) {
  const auto j =
      judge("clock_mhz,time_s,power_w\n510,10,100\n800,4,130\n1100,5.5,170\n1410,5,250\n");
  const Workload& w = j.study.workloads.front();
  EXPECT_FALSE(w.points[1].invalid.empty());
  EXPECT_TRUE(w.points[2].invalid.empty());
  EXPECT_EQ(count_of(j.study, "outlier_point"), 1U);
  EXPECT_EQ(count_of(j.study, "cold_start"), 0U);
  EXPECT_EQ(count_of(j.study, "time_rises_with_clock"), 0U);
  ASSERT_TRUE(w.optimum);
  EXPECT_EQ(w.optimum->point, 2U);
}

// Three points at 1400, 1200 and 1000 MHz that save 15.5 % at the lowest.
TEST(Spellings, letters_of_physics_and_units_alone) {
  for (const char* text :
       {"f_core,t_exec,P_avg\n1400,2,200\n1200,2.2,170\n1000,2.6,130\n",
        "freq(GHz)\tlatency(ms)\tE (kJ)\n1.4\t2000\t0.4\n1.2\t2200\t0.374\n1.0\t2600\t0.338\n",
        "Takt_MHz;Zeit_s;Leistung_W\n1400;2,0;200\n1200;2,2;170\n1000;2,6;130\n",
        "clock_mhz,time_s,energy_j\n1400,2,400 \xc2\xb1 4\n1200,2.2,374 +- "
        "4\n1000,2.6,338+/-3\n"}) {
    const auto j = judge(text);
    ASSERT_EQ(j.study.workloads.size(), 1U) << text;
    ASSERT_TRUE(j.study.workloads[0].optimum) << text;
    EXPECT_NEAR(j.study.workloads[0].optimum->energy_saved, 0.155, 1e-6) << text;
    EXPECT_NEAR(j.study.workloads[0].optimum->slowdown, 0.3, 1e-6) << text;
  }
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
