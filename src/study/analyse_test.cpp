// Baselines, optima, intervals, responses, factor tables.
#include <cmath>

#include "study_test.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::study {
namespace {

constexpr const char* kSweep =
    "clock_mhz,time_s,power_w\n600,2.0,70\n800,1.5,80\n1000,1.2,110\n1200,1.0,160\n";

TEST(Optimum, least_energy_against_the_highest_clock) {
  const auto j = judge(kSweep);
  const Workload& w = j.study.workloads.front();
  EXPECT_DOUBLE_EQ(*w.points[*w.baseline].setting.clock_hz, 1200e6);
  ASSERT_TRUE(w.optimum);
  EXPECT_DOUBLE_EQ(*w.points[w.optimum->point].setting.clock_hz, 800e6);
  EXPECT_NEAR(w.optimum->energy_saved, 1 - 120.0 / 160, 1e-12);
  EXPECT_NEAR(w.optimum->slowdown, 0.5, 1e-12);
  EXPECT_EQ(w.optimum->edge, Edge::kNone);
}

TEST(Optimum, edp_and_budgets) {
  Options options;
  options.budgets = {0.25};
  const auto j = judge(kSweep, options);
  const Workload& w = j.study.workloads.front();
  EXPECT_DOUBLE_EQ(*w.points[w.edp->point].setting.clock_hz, 1000e6);
  EXPECT_DOUBLE_EQ(*w.points[w.budgets[0]->point].setting.clock_hz, 1000e6);
  options.max_slowdown = 0.25;
  const auto bound = judge(kSweep, options);
  EXPECT_DOUBLE_EQ(
      *bound.study.workloads[0].points[bound.study.workloads[0].optimum->point].setting.clock_hz,
      1000e6);
}

TEST(Optimum, at_the_edge_it_says_so) {
  const auto j = judge("clock_mhz,time_s,power_w\n800,1.5,60\n1000,1.2,110\n1200,1.0,160\n");
  EXPECT_EQ(j.study.workloads[0].optimum->edge, Edge::kLow);
  EXPECT_EQ(count_of(j.study, "edge_of_grid"), 1U);
  EXPECT_EQ(count_of(judge(kSweep).study, "edge_of_grid"), 0U);
}

TEST(Optimum, interpolated_lies_in_its_bracket) {
  const auto w = judge(kSweep).study.workloads.front();
  ASSERT_TRUE(w.interpolated);
  EXPECT_DOUBLE_EQ(w.interpolated->low, 600e6);
  EXPECT_DOUBLE_EQ(w.interpolated->high, 1000e6);
  EXPECT_GE(w.interpolated->value, 600e6);
  EXPECT_LE(w.interpolated->value, 1000e6);
  EXPECT_GE(w.interpolated->energy_saved, w.optimum->energy_saved);
}

TEST(Optimum, an_invalid_point_stays_and_never_wins) {
  const auto j = judge(
      "clock_mhz,achieved_clock_mhz,time_s,power_w\n800,1100,1.1,60\n1000,1000,1.2,110\n"
      "1200,1200,1.0,160\n");
  const Workload& w = j.study.workloads.front();
  EXPECT_EQ(w.points.size(), 3U);
  EXPECT_FALSE(w.points[0].invalid.empty());
  EXPECT_DOUBLE_EQ(*w.points[w.optimum->point].setting.clock_hz, 1000e6);
}

TEST(Optimum, the_datas_own_validity_counts) {
  const auto j = judge(
      "clock_mhz,time_s,power_w,valid,reason\n800,1.5,60,false,temperature\n1000,1.2,110,true,\n"
      "1200,1.0,160,true,\n");
  const Workload& w = j.study.workloads.front();
  EXPECT_EQ(w.points[0].invalid, std::vector<std::string>{"temperature"});
  EXPECT_DOUBLE_EQ(*w.points[w.optimum->point].setting.clock_hz, 1000e6);
}

TEST(Baseline, the_one_asked_for_or_none) {
  Options options;
  options.baseline = *parse_baseline("1000MHz");
  const auto j = judge(kSweep, options);
  EXPECT_NEAR(j.study.workloads[0].optimum->energy_saved, 1 - 120.0 / 132, 1e-12);
  options.baseline = *parse_baseline("1100MHz");
  const auto none = judge(kSweep, options);
  EXPECT_FALSE(none.study.workloads[0].baseline);
  EXPECT_FALSE(none.study.workloads[0].optimum);
  EXPECT_EQ(count_of(none.study, "baseline_not_in_grid"), 1U);
  EXPECT_EQ(count_of(j.study, "baseline_not_in_grid"), 0U);
}

TEST(Baseline, highest_limit_where_there_are_no_clocks) {
  const auto j = judge("network,power_limit_w,time_s,power_w\na,100,2,95\na,200,1.2,180\n");
  EXPECT_DOUBLE_EQ(
      *j.study.workloads[0].points[*j.study.workloads[0].baseline].setting.power_limit_w, 200);
  EXPECT_NE(j.study.baseline_rule.find("power limit"), std::string::npos);
}

TEST(Baseline, the_datas_own_column_and_settings_left_alone) {
  const auto j = judge(
      "index,baseline,asked_clock_hz,asked_memory_clock_hz,power_limit_w,clock_hz,memory_clock_hz,"
      "time_s,energy_j,valid\n0,1,,,,1.41e9,1.215e9,2.0,613,1\n"
      "1,0,1.11e9,,200,1.11e9,1.215e9,2.5,424,1\n");
  const Workload& w = j.study.workloads.front();
  ASSERT_EQ(w.points.size(), 2U);
  EXPECT_TRUE(w.points[*w.baseline].setting.default_clocks);
  EXPECT_FALSE(w.points[*w.baseline].setting.memory_clock_hz) << "what ran was not asked for";
  EXPECT_NEAR(w.optimum->energy_saved, 1 - 424.0 / 613, 1e-12);
}

TEST(Repeats, give_an_interval_that_the_seed_repeats) {
  const std::string text =
      "run,clock_mhz,time_s,power_w\n1,800,1.5,80\n2,800,1.52,82\n3,800,1.49,81\n1,1200,1.0,160\n"
      "2,1200,1.01,158\n3,1200,1.0,162\n";
  const auto a = judge(text);
  const auto b = judge(text);
  const auto& x = a.study.workloads[0].optimum->energy_saved_ci95;
  ASSERT_TRUE(x);
  EXPECT_LT(x->low, a.study.workloads[0].optimum->energy_saved);
  EXPECT_GT(x->high, a.study.workloads[0].optimum->energy_saved);
  EXPECT_DOUBLE_EQ(x->low, b.study.workloads[0].optimum->energy_saved_ci95->low);
  Options other;
  other.seed = 2;
  EXPECT_NE(judge(text, other).study.workloads[0].optimum->energy_saved_ci95->low, x->low);
  EXPECT_FALSE(judge(kSweep).study.workloads[0].optimum->energy_saved_ci95)
      << "one sample says nothing of its spread";
}

TEST(Pareto, only_points_that_none_beats) {
  const auto w =
      judge("clock_mhz,time_s,power_w\n600,2.0,90\n800,1.5,80\n1000,1.2,110\n1200,1.0,160\n")
          .study.workloads.front();
  EXPECT_EQ(w.pareto, (std::vector<std::size_t>{3, 2, 1}));
}

TEST(Factors, geometric_means_over_what_is_common) {
  // Winograd lacks batch 32: only batch 16 counts for both.
  std::string text = "network,batch,algorithm,clock_mhz,time_s,power_w\n";
  const auto add = [&](const char* batch, const char* algorithm, double t, double saved) {
    text += std::string("n,") + batch + "," + algorithm + ",1200," + std::to_string(t) + ",100\n";
    text += std::string("n,") + batch + "," + algorithm + ",800," + std::to_string(t * 1.25) + "," +
            std::to_string(100 * (1 - saved) / 1.25) + "\n";
  };
  add("16", "gemm", 1, 0.2);
  add("32", "gemm", 2, 0.6);
  add("16", "winograd", 0.5, 0.1);
  Options options;
  options.by = {{"algorithm"}};
  const auto j = judge(text, options);
  ASSERT_EQ(j.study.factors.size(), 1U);
  const FactorTable& t = j.study.factors.front();
  EXPECT_EQ(t.common, 1U);
  EXPECT_EQ(t.total, 2U);
  ASSERT_EQ(t.levels.size(), 2U);
  EXPECT_NEAR(t.levels[0].energy_ratio, 0.8, 1e-6) << "the second batch of gemm doesn't count";
  EXPECT_NEAR(t.levels[1].energy_ratio, 0.9, 1e-6);
  EXPECT_NEAR(*t.levels[1].baseline_time, 0.5, 1e-6);
}

TEST(Response, a_break_and_a_cap_are_found) {
  std::string text = "clock_mhz,time_s,power_w\n";
  for (const int f : {500, 600, 700, 800, 900, 1000, 1100, 1200, 1300, 1400}) {
    const double t = f >= 800 ? 0.6 + 0.4 * 1400 / f : (0.6 + 0.4 * 1.75) * std::pow(800.0 / f, 2);
    text += std::to_string(f) + "," + std::to_string(t) + "," + std::to_string(60 + f / 10) + "\n";
  }
  const auto broken = judge(text).study.workloads.front();
  ASSERT_TRUE(broken.response && broken.response->break_hz);
  EXPECT_DOUBLE_EQ(*broken.response->break_hz, 800e6);
  EXPECT_LT(broken.response->leave_one_out, 0.01);
  EXPECT_FALSE(broken.response->cap_hz);
  const auto capped =
      judge(
          "clock_mhz,time_s,power_w\n800,1.5,80\n1000,1.2,110\n1200,1.0,160\n1400,1.0,161\n"
          "1600,1.0,160\n")
          .study.workloads.front();
  ASSERT_TRUE(capped.response && capped.response->cap_hz);
  EXPECT_DOUBLE_EQ(*capped.response->cap_hz, 1200e6);
  EXPECT_FALSE(capped.response->break_hz);
}

TEST(Prediction, three_clocks_of_a_quadratic_give_the_rest) {
  std::string text = "clock_mhz,time_s,power_w\n";
  for (const int f : {700, 900, 1000, 1200, 1400}) {
    const double x = 1400.0 / f;
    const double y = f / 1400.0;
    text += std::to_string(f) + "," + std::to_string(0.3 + 0.5 * x + 0.2 * x * x) + "," +
            std::to_string(60 + 20 * y + 90 * y * y) + "\n";
  }
  Options options;
  options.fit_clocks_hz = {700e6, 1000e6, 1400e6};
  const auto p = judge(text, options).study.prediction;
  ASSERT_TRUE(p);
  EXPECT_EQ(p->predicted, 2U);
  EXPECT_LT(p->energy_worst, 1e-5);
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
