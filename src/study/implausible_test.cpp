// Points whose figures cannot be: they stay, say why, and never win.
#include <cmath>

#include "study_test.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::study {
namespace {

double best_mhz(const Workload& w) {
  return w.optimum ? *w.points[w.optimum->point].setting.clock_hz / 1e6 : -1;
}
double baseline_mhz(const Workload& w) {
  return w.baseline ? w.points[*w.baseline].setting.clock_hz.value_or(0) / 1e6 : -1;
}
const Point& at_mhz(const Workload& w, double mhz) {
  const auto found = std::ranges::find_if(w.points, [&](const Point& p) {
    return p.setting.clock_hz && std::abs(*p.setting.clock_hz / 1e6 - mhz) < 0.5;
  });
  EXPECT_NE(found, w.points.end()) << mhz;
  return found == w.points.end() ? w.points.front() : *found;
}
bool says(const Point& p, std::string_view words) {
  return std::ranges::any_of(p.invalid,
                             [&](const auto& why) { return why.find(words) != why.npos; });
}
std::size_t valid_points(const Workload& w) {
  return static_cast<std::size_t>(
      std::ranges::count_if(w.points, [](const Point& p) { return p.invalid.empty(); }));
}

TEST(Implausible, an_energy_a_thousandth_of_its_neighbours_never_wins) {
  const auto j = judge(
      "clock_mhz,time_s,energy_j\n1000,2,100\n1100,1.9,102\n1200,1.8,110\n1300,1.7,0.120\n"
      "1410,1.6,130\n");
  const Workload& w = j.study.workloads.front();
  EXPECT_TRUE(says(at_mhz(w, 1300), "1/1000"));
  EXPECT_EQ(valid_points(w), 4U);
  EXPECT_EQ(best_mhz(w), 1000);
  EXPECT_EQ(count_of(j.study, "unit_slip"), 1U);
}

TEST(Implausible, other_factors_are_named_where_units_are_not_known) {
  // Times without a unit: only the neighbours speak.
  const auto wh = judge(
                      "clock_mhz,time,power_w\n1000,2,50\n1100,1.9,55\n1200,0.0005,61\n"
                      "1410,1.6,81\n")
                      .study.workloads.front();
  EXPECT_TRUE(says(at_mhz(wh, 1200), "1/3600")) << at_mhz(wh, 1200).invalid.size();
  EXPECT_EQ(best_mhz(wh), 1000);
  const auto high = judge(
                        "clock_mhz,time_s,energy_j\n1000,2000,100000\n1200,1.8,110\n1300,1.7,120\n"
                        "1410,1.6,130\n")
                        .study.workloads.front();
  EXPECT_TRUE(says(at_mhz(high, 1000), "1000"));
  EXPECT_EQ(valid_points(high), 3U);
}

TEST(Implausible, a_power_that_no_gpu_draws_never_wins) {
  const auto low =
      judge("clock_mhz,time_s,power_w\n1000,2,0.05\n1200,1.8,61\n1410,1.6,81\n").study.workloads[0];
  EXPECT_TRUE(says(at_mhz(low, 1000), "no GPU draws"));
  EXPECT_EQ(best_mhz(low), 1200);
}

TEST(Implausible, ranges_of_real_sweeps_are_no_slips) {
  const auto w = judge(
                     "clock_mhz,time_s,energy_j\n135,60,2400\n300,27,1200\n800,10,600\n1400,6,700\n"
                     "2000,4.5,1000\n")
                     .study.workloads.front();
  EXPECT_EQ(valid_points(w), 5U);
}

TEST(Implausible, a_row_that_contradicts_itself_never_wins) {
  for (const char* text :
       {"clock_mhz,time_s,power_w,energy_j\n1000,2,50,100\n1200,1.8,61,110\n1300,1.7,70,60\n"
        "1410,1.6,81,130\n",
        "clock_mhz,time_s,power_w,energy_j\n1000,2,50,100\n1300,1.8,61,50\n1410,1.6,81,130\n"}) {
    const auto j = judge(text);
    const Workload& w = j.study.workloads.front();
    EXPECT_TRUE(says(at_mhz(w, 1300), "power times time"));
    EXPECT_EQ(best_mhz(w), 1000);
    EXPECT_EQ(count_of(j.study, "energy_is_not_power_times_time"), 1U);
  }
}

TEST(Implausible, where_all_rows_are_off_alike_none_contradicts_the_others) {
  // A mean power with the idle ends in it: 10 % low everywhere.
  const auto w = judge(
                     "clock_mhz,time_s,power_w,energy_j\n1000,2,45,100\n1200,1.8,55,110\n"
                     "1300,1.7,63.5,120\n1410,1.6,73.1,130\n")
                     .study.workloads.front();
  EXPECT_EQ(valid_points(w), 4U);
}

TEST(Implausible, a_point_without_time_never_wins) {
  for (const char* time : {"0", "", "-2"}) {
    const auto w = judge("clock_mhz,time_s,energy_j\n1000," + std::string(time) +
                         ",50\n1200,1.8,110\n1410,1.6,130\n")
                       .study.workloads.front();
    EXPECT_TRUE(says(at_mhz(w, 1000), "time is not known"));
    EXPECT_EQ(best_mhz(w), 1200);
  }
  const auto energies =
      judge("clock_mhz,energy_j\n1000,50\n1200,60\n1410,90\n").study.workloads.front();
  EXPECT_EQ(valid_points(energies), 3U) << "data without any time has energies to compare";
}

TEST(Implausible, of_equal_energies_the_fastest_wins) {
  const auto w = judge("clock_mhz,time_s,energy_j\n1000,2,100\n1200,1.8,100\n1410,1.6,100\n")
                     .study.workloads[0];
  EXPECT_EQ(best_mhz(w), 1410);
  EXPECT_EQ(w.optimum->point, w.baseline);
  const auto lower = judge("clock_mhz,time_s,energy_j\n1000,2,100\n1200,1.8,100\n1410,1.6,120\n")
                         .study.workloads[0];
  EXPECT_EQ(best_mhz(lower), 1200);
}

TEST(Baseline, that_cannot_be_used_is_named_with_the_one_taken) {
  for (const char* energy : {"0", "[N/A]", "0.13", "1e9"}) {
    const auto j =
        judge("clock_mhz,time_s,energy_j\n1000,2,100\n1200,1.8,110\n1300,1.7,120\n1410,1.6," +
              std::string(energy) + "\n");
    const Workload& w = j.study.workloads.front();
    EXPECT_EQ(baseline_mhz(w), 1300) << energy;
    EXPECT_EQ(best_mhz(w), 1000) << energy;
    ASSERT_EQ(count_of(j.study, "baseline_not_valid"), 1U) << energy;
    const auto found = std::ranges::find(j.study.findings, "baseline_not_valid", &Finding::kind);
    EXPECT_NE(found->evidence.find("1410 MHz"), std::string::npos);
    EXPECT_NE(found->evidence.find("1300 MHz"), std::string::npos);
  }
}

TEST(Implausible, clocks_that_no_gpu_has_never_win) {
  for (const char* clock : {"0", "1e13", "99999999999999999999", "2"}) {
    const auto j = judge("clock_mhz,time_s,energy_j\n" + std::string(clock) +
                         ",1.5,1\n1200,1.8,110\n1300,1.7,120\n1410,1.6,130\n");
    const Workload& w = j.study.workloads.front();
    EXPECT_EQ(baseline_mhz(w), 1410) << clock;
    EXPECT_EQ(best_mhz(w), 1200) << clock;
    EXPECT_EQ(valid_points(w), 3U) << clock;
    EXPECT_EQ(count_of(j.study, "offsets_not_clocks"), 0U) << clock;
  }
}

TEST(Implausible, steps_from_zero_are_still_offsets) {
  EXPECT_EQ(count_of(judge("coreF,time/s,power/W\n0,1.1,95\n100,1.0,100\n200,0.9,120\n").study,
                     "offsets_not_clocks"),
            1U);
}

TEST(Implausible, units_that_give_no_gpus_power_are_named) {
  for (const char* text :
       {"clock_mhz,time_s,energy_j\n1000,2000,28\n1100,1900,29\n1200,1800,31\n1410,1600,37\n",
        "clock_mhz,time_s,energy_wh\n1000,2,100\n1100,1.9,101\n1200,1.8,110\n1410,1.6,130\n",
        "clock_mhz,time_ms,energy_j\n1000,2,100\n1100,1.9,101\n1200,1.8,110\n1410,1.6,130\n"}) {
    const auto j = judge(text);
    ASSERT_EQ(count_of(j.study, "unit_slip"), 1U) << text;
    const auto found = std::ranges::find(j.study.findings, "unit_slip", &Finding::kind);
    EXPECT_NE(found->evidence.find("3600"), std::string::npos);
    EXPECT_NE(found->evidence.find("1000"), std::string::npos);
    EXPECT_FALSE(j.study.workloads[0].optimum) << text;
  }
}

TEST(SameData, twice_counts_once) {
  const std::string text = "workload,clock_mhz,time_s,energy_j\nw,1000,2,100\nw,1410,1.6,130\n";
  const std::vector<Source> twice = {{"a.csv", text}, {"copy.csv", "# a copy\n" + text}};
  const auto data = read(twice);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples.size(), 2U);
  EXPECT_TRUE(noted(*data, "same_data_twice"));
  const std::vector<Source> repeats = {
      {"a.csv", text},
      {"b.csv", "workload,clock_mhz,time_s,energy_j\nw,1000,2,101\nw,1410,1.6,130\n"}};
  const auto two = read(repeats);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->samples.size(), 4U);
  EXPECT_FALSE(noted(*two, "same_data_twice"));
}

TEST(Units, work_per_second_is_a_unit) {
  for (const char* name : {"images_per_s", "images_per_sec", "tokens_per_second"}) {
    const auto j = judge("clock_mhz," + std::string(name) +
                         ",power_w\n1000,500,100\n1200,600,130\n1410,700,180\n");
    EXPECT_TRUE(j.study.workloads[0].units_known) << name;
    EXPECT_FALSE(noted(j.data, "unit_unknown")) << name;
    EXPECT_FALSE(j.study.workloads[0].unit_of_work.empty()) << name;
  }
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
