// Each anomaly: found where it is, and not found where it isn't.
#include "study_test.hpp"

namespace ergon::study {
namespace {

constexpr const char* kSound =
    "app,clock_mhz,achieved_clock_mhz,time_s,power_w,energy_j,gpu_util_pct,temperature_c\n"
    "a,800,800,1.5,80,120,97,55\na,1000,1000,1.2,110,132,97,56\na,1200,1195,1.0,160,160,98,58\n"
    "a,600,600,2.1,70,147,97,54\n";

TEST(Findings, sound_data_has_none) {
  const auto j = judge(kSound);
  for (const auto& f : j.study.findings) ADD_FAILURE() << f.kind << ": " << f.evidence;
}

struct Case {
  const char* kind;
  const char* text;
};
class Anomaly : public testing::TestWithParam<Case> {};

TEST_P(Anomaly, is_named) {
  const auto j = judge(GetParam().text);
  EXPECT_GE(count_of(j.study, GetParam().kind), 1U);
  EXPECT_EQ(count_of(judge(kSound).study, GetParam().kind), 0U);
  EXPECT_TRUE(std::ranges::any_of(finding_kinds(),
                                  [](const auto& k) { return k.first == GetParam().kind; }));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Anomaly,
    testing::Values(
        Case{"time_rises_with_clock",
             "clock_mhz,time_s,power_w\n800,1.5,80\n1000,1.7,90\n1200,1.0,160\n"},
        Case{"cold_start", "clock_mhz,time_s,power_w\n800,1.5,80\n1000,9,90\n1200,1.0,160\n"},
        Case{"cold_start",
             "run,clock_mhz,time_s,power_w\n1,800,2.5,80\n2,800,1.5,80\n3,800,1.5,80\n"
             "1,1200,1.0,160\n"},
        Case{"energy_is_not_power_times_time",
             "clock_mhz,time_s,power_w,energy_j\n800,1.5,80,150\n1000,1.2,110,132\n"
             "1200,1.0,160,160\n"},
        Case{"unit_slip",
             "clock_mhz,time_s,power_w,energy_j\n800,1.5,80,120000\n1200,1.0,160,160000\n"},
        Case{"unit_slip",
             "clock_mhz,time_s,power_w,energy_j\n800,1.5,80,0.033333\n1200,1.0,160,0.044444\n"},
        Case{"offsets_not_clocks", "coreF,time/s,power/W\n-100,1.2,90\n0,1.1,95\n100,1.0,100\n"},
        Case{"wrong_label",
             "clock_mhz,achieved_clock_mhz,time_s,power_w\n795,2040,1.0,60\n2040,2040,1.0,60\n"},
        Case{"clock_not_held",
             "clock_mhz,achieved_clock_mhz,time_s,power_w\n800,800,1.4,50\n2100,1716,1.0,60\n"},
        Case{"memory_clock_drift",
             "clock_mhz,memory_clock_min_mhz,memory_clock_max_mhz,time_s,power_w\n"
             "800,5871,8001,1.2,50\n1000,8001,8001,1.0,60\n"},
        Case{"throttled",
             "clock_mhz,time_s,power_w,throttle_masks_seen\n800,1.2,50,0x0\n1000,1.0,60,0x4;"
             "0x400\n"},
        Case{"idle_contamination",
             "clock_mhz,time_s,power_w,sm_util_pct\n800,1.2,50,16\n1000,1.0,60,17\n"},
        Case{"power_above_limit",
             "network,power_limit_w,time_s,power_w\na,100,1.2,130\na,200,1.0,150\n"},
        Case{"power_implausibly_low",
             "gpu,clock_mhz,time_s,power_w\nGTX 980,600,1.2,36\nGTX 980,1000,1.0,42\n"},
        Case{"power_below_idle",
             "gpu,clock_mhz,time_s,power_w\nV100,600,1.2,5\nV100,1000,1.0,200\n"},
        Case{"duplicate_points",
             "app,clock_mhz,power_cap_w,time_s,energy_wh\na,1005,150,22.6,0.88\n"
             "a,1005,200,22.6,0.89\na,1005,300,22.6,0.91\n"},
        Case{"edge_of_grid", "clock_mhz,time_s,power_w\n800,1.2,50\n1000,1.0,100\n"},
        Case{"baseline_not_valid",
             "clock_mhz,achieved_clock_mhz,time_s,power_w\n800,800,1.4,50\n2100,1716,1.0,60\n"},
        Case{"column_disagrees",
             "app,clock_mhz,performance,power_w,performance_per_watt\na,800,80,50,1.6\n"
             "a,1000,100,80,1.9\n"},
        Case{"temperature_band",
             "clock_mhz,time_s,power_w,temperature_c\n800,1.2,50,40\n1000,1.0,80,75\n"}));

TEST(Findings, published_optima_are_flagged_and_not_believed) {
  const auto j = judge(
      R"([{"gpu":"A100","workload":"w","max_frequency_mhz":1410,"optimal_frequency_edp_mhz":735,
      "energy_savings_edp_percent":35,"performance_vs_max_edp_percent":-20.0}])",
      {}, "labels.json");
  EXPECT_EQ(count_of(j.study, "results_only"), 1U);
  EXPECT_EQ(count_of(j.study, "time_rises_with_clock"), 1U);
  EXPECT_EQ(count_of(j.study, "cold_start"), 1U);
  EXPECT_FALSE(j.study.energy_saved);
}

TEST(Findings, an_idle_window_gives_no_optimum) {
  const auto j = judge("clock_mhz,time_s,power_w,sm_util_pct\n800,1.2,50,16\n1000,1.0,80,17\n");
  EXPECT_FALSE(j.study.workloads.front().optimum);
  EXPECT_FALSE(j.study.workloads.front().not_believed.empty());
}

TEST(Findings, a_cold_baseline_is_not_believed) {
  const auto j = judge("clock_mhz,time_s,power_w\n800,46,150\n1000,40,170\n1200,373,100\n");
  EXPECT_FALSE(j.study.workloads.front().optimum);
  EXPECT_GE(count_of(j.study, "cold_start"), 1U);
}

TEST(Findings, kinds_are_described_once) {
  std::vector<std::string_view> names;
  for (const auto& [kind, what] : finding_kinds()) {
    EXPECT_FALSE(what.empty());
    EXPECT_EQ(std::ranges::count(names, kind), 0);
    names.push_back(kind);
  }
}

}  // namespace
}  // namespace ergon::study
