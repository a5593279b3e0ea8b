// Intervals: what repeats and sensors leave open, and how much workloads differ.
#include "uncertainty.hpp"

#include <cmath>
#include <numbers>

#include "study_test.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::study {
namespace {

const std::string header_row = "clock_mhz,time_s,energy_j,energy_low_j,energy_high_j\n";
// Saves 25 %; half-widths of 1 % at both points.
const std::string sensor_rows = header_row + "800,1.5,120,118.8,121.2\n1200,1.0,160,158.4,161.6\n";

double width(const std::optional<Interval>& i) { return i ? i->high - i->low : -1; }

double gauss(SplitMix& random) {
  const auto uniform = [&] { return (static_cast<double>(random.next() >> 11U) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

TEST(Uncertainty, sensor_intervals_count_without_repeats) {
  const auto w = judge(sensor_rows).study.workloads.front();
  ASSERT_TRUE(w.optimum->energy_saved_ci95);
  const Interval i = *w.optimum->energy_saved_ci95;
  EXPECT_EQ(i.from, kFromSensor);
  // 1 % and 1 % are 1.41 % of 0.75, either way.
  EXPECT_NEAR(i.high - w.optimum->energy_saved, 0.75 * 0.01414, 0.0008);
  EXPECT_NEAR(w.optimum->energy_saved - i.low, 0.75 * 0.01414, 0.0008);
}

TEST(Uncertainty, the_energy_is_read_beside_its_interval) {
  const auto w = judge(sensor_rows).study.workloads.front();
  EXPECT_NEAR(*w.points[0].energy, 120, 1e-9);
  EXPECT_NEAR(*w.points[1].energy, 160, 1e-9);
  // Wrong way round, or not around the energy: no interval.
  const auto odd = judge(header_row + "800,1.5,120,121,118\n1200,1.0,160,150,155\n");
  EXPECT_FALSE(odd.study.workloads[0].optimum->energy_saved_ci95);
}

TEST(Uncertainty, repeats_of_all_settings_are_pooled) {
  // Only the baseline and a third setting were repeated; the best point was measured once.
  const auto j = judge(
      "run,clock_mhz,time_s,power_w\n1,800,1.5,80\n1,1000,1.2,110\n2,1000,1.2,111\n"
      "1,1200,1.0,160\n2,1200,1.0,161\n3,1200,1.0,159\n");
  const auto& i = j.study.workloads[0].optimum->energy_saved_ci95;
  ASSERT_TRUE(i);
  EXPECT_EQ(i->from, kFromRepeats);
  EXPECT_LT(width(i), 0.05);
}

TEST(Uncertainty, few_repeats_say_little) {
  const std::string two =
      "run,clock_mhz,time_s,power_w\n1,800,1.5,80\n2,800,1.5,80.8\n1,1200,1.0,160\n"
      "2,1200,1.0,161.6\n";
  std::string many = two;
  for (const char* run : {"3", "4", "5", "6", "7", "8"}) {
    const bool odd = (run[0] - '0') % 2 == 1;
    many += std::string(run) + ",800,1.5," + (odd ? "80" : "80.8") + "\n" + run + ",1200,1.0," +
            (odd ? "160" : "161.6") + "\n";
  }
  const double few = width(judge(two).study.workloads[0].optimum->energy_saved_ci95);
  // Four degrees fewer and half the mean's error: Student's t of 2 against 14.
  EXPECT_GT(few, 3 * width(judge(many).study.workloads[0].optimum->energy_saved_ci95));
}

TEST(Uncertainty, repeats_and_sensor_are_combined) {
  const auto text = [](const char* low, const char* high) {
    std::string out = "run,clock_mhz,time_s,energy_j,energy_low_j,energy_high_j\n";
    for (const int run : {1, 2, 3, 4}) {
      const std::string n = std::to_string(run) + ",";
      const double e = run % 2 == 0 ? 1.004 : 0.996;
      const auto cells = [&](double joules) {
        return std::to_string(joules * e) + "," +
               (low[0] == '\0'
                    ? ","
                    : std::to_string(joules * e * 0.99) + "," + std::to_string(joules * e * 1.01));
      };
      out += n + "800,1.5," + cells(120) + "\n" + n + "1200,1.0," + cells(160) + "\n";
    }
    return out + high;
  };
  const auto both = judge(text("x", "")).study.workloads[0].optimum->energy_saved_ci95;
  const auto repeats = judge(text("", "")).study.workloads[0].optimum->energy_saved_ci95;
  const auto sensor = judge(sensor_rows).study.workloads[0].optimum->energy_saved_ci95;
  ASSERT_TRUE(both && repeats && sensor);
  EXPECT_EQ(both->from, kFromBoth);
  EXPECT_EQ(repeats->from, kFromRepeats);
  EXPECT_GT(width(both), width(repeats));
  EXPECT_GT(width(both), width(sensor)) << "repeats do not average away what a sensor always does";
}

TEST(Uncertainty, holds_the_truth_as_often_as_it_says) {
  // Eight settings, two runs each, 2 % of spread; the truth is 25 %. Drawn from one seed.
  SplitMix random(5);
  Options options;
  options.resamples = 300;
  int held = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    Workload w{.name = "w" + std::to_string(trial)};
    Dataset data;
    for (std::size_t p = 0; p < 8; ++p) {
      Point point;
      double sum = 0;
      for (int run = 0; run < 2; ++run) {
        Sample s;
        s.energy = (p == 0 ? 120 : 160) * std::exp(0.02 * gauss(random));
        sum += *s.energy;
        point.used.push_back(data.samples.size());
        data.samples.push_back(s);
      }
      point.energy = sum / 2;
      w.points.push_back(point);
    }
    w.baseline = 7;
    const auto i = saved_interval(options, w, EnergyErrors(data, w, repeat_spread(data, w)), 0);
    ASSERT_TRUE(i);
    held += i->low <= 0.25 && 0.25 <= i->high ? 1 : 0;
  }
  EXPECT_GT(held, 0.92 * kTrials);
  EXPECT_LT(held, 0.98 * kTrials);
}

TEST(Uncertainty, the_bootstrap_of_few_is_widened) {
  SplitMix random(7);
  int held = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::array<double, 4> values{};
    double mean = 0;
    for (double& v : values) {
      v = 3 + gauss(random);
      mean += v / 4;
    }
    std::vector<double> means;
    for (int k = 0; k < 400; ++k) {
      double sum = 0;
      for (int i = 0; i < 4; ++i) sum += values.at(random.below(4));
      means.push_back(sum / 4);
    }
    const Interval i = bootstrap95(mean, means, 4);
    held += i.low <= 3 && 3 <= i.high ? 1 : 0;
  }
  EXPECT_GT(held, 0.92 * kTrials) << "plain percentiles hold it in about 80 of 100";
}

TEST(Interpolated, has_an_interval_within_its_bracket) {
  const auto w =
      judge(header_row +
            "600,2.0,130,128.7,131.3\n800,1.5,120,118.8,121.2\n1000,1.2,132,130.7,133.3\n"
            "1200,1.0,160,158.4,161.6\n")
          .study.workloads.front();
  ASSERT_TRUE(w.interpolated && w.interpolated->value_ci95 && w.interpolated->energy_saved_ci95);
  const Interpolated& i = *w.interpolated;
  EXPECT_EQ(i.value_ci95->from, kFromSensor);
  EXPECT_GE(i.value_ci95->low, i.low);
  EXPECT_LE(i.value_ci95->high, i.high);
  EXPECT_LT(i.value_ci95->low, i.value);
  EXPECT_GT(i.value_ci95->high, i.value);
  EXPECT_LT(i.energy_saved_ci95->low, i.energy_saved);
  EXPECT_GT(i.energy_saved_ci95->high, i.energy_saved);
}

// One network and batch; the energy at 800 MHz is `kept` of that at 1200.
std::string two_points(const std::string& network, const std::string& batch, double joules,
                       double kept, double error = 0) {
  const auto row = [&](const char* clock, const char* time, double e) {
    std::string out = network + "," + batch + "," + clock + "," + time + "," + std::to_string(e);
    return out + "," +
           (error > 0 ? std::to_string(e * (1 - error)) + "," + std::to_string(e * (1 + error))
                      : std::string(",")) +
           "\n";
  };
  return row("800", "1.4", joules * kept) + row("1200", "1.0", joules);
}
const std::string network_header =
    "network,batch,clock_mhz,time_s,energy_j,energy_low_j,energy_high_j\n";

const FactorTable& by_network(const Judged& j) {
  const auto at = std::ranges::find(j.study.factors, std::vector<std::string>{"network"},
                                    &FactorTable::factors);
  EXPECT_NE(at, j.study.factors.end());
  return *at;
}

TEST(Differences, are_paired_over_common_configurations) {
  // Batches differ much, networks by ten points at each batch.
  const auto j =
      judge(network_header + two_points("a", "16", 100, 0.60) + two_points("a", "32", 200, 0.70) +
            two_points("a", "64", 400, 0.80) + two_points("b", "16", 150, 0.70) +
            two_points("b", "32", 310, 0.80) + two_points("b", "64", 590, 0.90));
  const FactorTable& t = by_network(j);
  ASSERT_EQ(t.differences.size(), 1U);
  const LevelDifference& d = t.differences[0];
  EXPECT_EQ(t.levels[d.level].level.front(), "a");
  EXPECT_EQ(t.levels[d.than].level.front(), "b");
  EXPECT_NEAR(d.energy_saved, 0.1004, 0.001);
  ASSERT_TRUE(d.energy_saved_ci95);
  EXPECT_EQ(d.energy_saved_ci95->from, kFromConfigurations);
  EXPECT_EQ(d.told_apart(), true);
  EXPECT_GT(d.energy_saved_ci95->low, 0.09);
  // Each by itself varies far more than the difference does.
  EXPECT_LT(width(d.energy_saved_ci95), 0.1 * width(t.levels[0].energy_ratio_ci95));
  ASSERT_TRUE(d.baseline_energy && d.baseline_energy_ci95);
  EXPECT_NEAR(*d.baseline_energy, std::cbrt(100.0 / 150 * 200 / 310 * 400 / 590), 1e-6);
  EXPECT_LT(d.baseline_energy_ci95->low, *d.baseline_energy);
  EXPECT_GT(d.baseline_energy_ci95->high, *d.baseline_energy);
  EXPECT_TRUE(t.levels[1].baseline_energy_ci95);
  EXPECT_FALSE(t.levels[0].baseline_energy_ci95) << "against itself";
  ASSERT_EQ(d.configurations.size(), 3U);
  EXPECT_NEAR(d.configurations[0].energy_saved, 0.1, 1e-9);
  EXPECT_EQ(t.configurations[0], "batch=16");
}

TEST(Differences, that_hold_nothing_cannot_be_told_apart) {
  const auto j =
      judge(network_header + two_points("a", "16", 100, 0.60) + two_points("a", "32", 200, 0.75) +
            two_points("a", "64", 400, 0.80) + two_points("b", "16", 150, 0.65) +
            two_points("b", "32", 310, 0.70) + two_points("b", "64", 590, 0.82));
  const LevelDifference& d = by_network(j).differences.at(0);
  ASSERT_TRUE(d.energy_saved_ci95);
  EXPECT_EQ(d.told_apart(), false);
  EXPECT_LT(d.energy_saved_ci95->low, 0);
  EXPECT_GT(d.energy_saved_ci95->high, 0);
}

TEST(Differences, that_are_rounding_are_none) {
  std::string text = network_header;
  for (const char* batch : {"16", "32", "64"})
    text += two_points("a", batch, 100, 0.700000) + two_points("b", batch, 150, 0.700001);
  EXPECT_EQ(by_network(judge(text)).differences.at(0).told_apart(), false);
}

TEST(Differences, of_one_configuration_are_what_was_measured) {
  const auto j = judge(network_header + two_points("a", "16", 100, 0.60, 0.01) +
                       two_points("b", "16", 150, 0.70, 0.01));
  const LevelDifference& d = by_network(j).differences.at(0);
  ASSERT_TRUE(d.energy_saved_ci95);
  EXPECT_EQ(d.energy_saved_ci95->from, kFromSensor);
  // 1.41 % of 0.6 and of 0.7 in squares.
  EXPECT_NEAR(width(d.energy_saved_ci95), 2 * 0.01414 * std::hypot(0.6, 0.7), 0.002);
  EXPECT_EQ(d.told_apart(), true);
  ASSERT_TRUE(d.baseline_energy_ci95);
  EXPECT_EQ(d.baseline_energy_ci95->from, kFromSensor);
  EXPECT_NEAR(width(d.baseline_energy_ci95), 2 * 0.01414 * 100 / 150, 0.002);
  const auto blind =
      judge(network_header + two_points("a", "16", 100, 0.60) + two_points("b", "16", 150, 0.7));
  EXPECT_FALSE(by_network(blind).differences.at(0).energy_saved_ci95);
  EXPECT_FALSE(by_network(blind).differences.at(0).told_apart());
  EXPECT_FALSE(by_network(blind).differences.at(0).baseline_energy_ci95);
}

TEST(Differences, are_never_narrower_than_what_was_measured) {
  // Three configurations that agree to the last digit, measured to 5 % each.
  std::string text = network_header;
  for (const char* batch : {"16", "32", "64"})
    text += two_points("a", batch, 100, 0.70, 0.05) + two_points("b", batch, 150, 0.71, 0.05);
  const auto j = judge(text);
  const LevelDifference& d = by_network(j).differences.at(0);
  EXPECT_EQ(d.told_apart(), false);
  EXPECT_GT(width(d.energy_saved_ci95), 0.05);
}

TEST(Differences, of_these_configurations_are_what_was_measured) {
  // On three GPUs the difference varies; on these three it is known well.
  const auto on = [](const char* gpu, const char* network, double kept) {
    std::string out;
    for (const auto& [clock, time, e] :
         {std::tuple("800", "1.4", 100 * kept), std::tuple("1200", "1.0", 100.0)})
      out += std::string(gpu) + "," + network + "," + clock + "," + time + "," + std::to_string(e) +
             "," + std::to_string(e * 0.995) + "," + std::to_string(e * 1.005) + "\n";
    return out;
  };
  const auto j = judge("gpu,network,clock_mhz,time_s,energy_j,energy_low_j,energy_high_j\n" +
                       on("A100", "a", 0.60) + on("H100", "a", 0.60) + on("V100", "a", 0.60) +
                       on("A100", "b", 0.61) + on("H100", "b", 0.61) + on("V100", "b", 0.72));
  const LevelDifference& d = by_network(j).differences.at(0);
  EXPECT_EQ(d.told_apart_here(), true);
  EXPECT_EQ(d.told_apart(), false);
  EXPECT_EQ(d.measured_ci95->from, kFromSensor);
  EXPECT_EQ(d.energy_saved_ci95->from, kFromConfigurations);
}

TEST(Uncertainty, a_pair_of_runs_does_not_drown_the_sensor) {
  // The baseline twice, 0.4 % apart, at 0.7 % from the sensor.
  const std::string text = "run,clock_mhz,time_s,energy_j,energy_low_j,energy_high_j\n";
  const auto w = judge(text +
                       "1,800,1.5,454,451.2,456.8\n1,1200,1,649,644.4,653.6\n"
                       "2,1200,1,651.6,647.2,656\n")
                     .study.workloads.front();
  ASSERT_TRUE(w.optimum->energy_saved_ci95);
  EXPECT_LT(width(w.optimum->energy_saved_ci95), 0.03) << "t of one degree of freedom is 12.7";
  // Runs that lie farther apart than the sensor says still count.
  const auto wild = judge(text +
                          "1,800,1.5,454,451.2,456.8\n1,1200,1,600,595.7,604.3\n"
                          "2,1200,1,700,695,705\n")
                        .study.workloads.front();
  EXPECT_GT(width(wild.optimum->energy_saved_ci95), 0.12);
}

TEST(Uncertainty, few_repeats_are_pooled_with_those_of_the_gpu) {
  // One pair for each of five workloads: alone it would say next to nothing.
  std::string text = "kernel,run,clock_mhz,time_s,power_w\n";
  for (const char* kernel : {"stencil", "histogram", "scan", "sort", "reduce"}) {
    text += std::string(kernel) + ",1,1200,1,160\n" + kernel + ",2,1200,1,161\n" + kernel +
            ",1,800,1.5,80\n";
  }
  text += "once,1,1200,1,160\nonce,1,800,1.5,80\n";
  for (const Workload& w : judge(text).study.workloads) {
    if (w.name == "once") {
      EXPECT_FALSE(w.optimum->energy_saved_ci95) << "repeats of others say nothing of it";
      continue;
    }
    ASSERT_TRUE(w.optimum->energy_saved_ci95);
    EXPECT_LT(width(w.optimum->energy_saved_ci95), 0.03);
    EXPECT_GT(width(w.optimum->energy_saved_ci95), 0.01);
  }
}

TEST(Differences, of_workloads_that_no_factor_tells_apart) {
  const std::string head = "kernel,clock_mhz,time_s,energy_j,energy_low_j,energy_high_j\n";
  const std::string text = head +
                           "stencil,800,1.4,60,59.4,60.6\nstencil,1200,1.0,100,99,101\n"
                           "histogram,800,1.2,80,79.2,80.8\nhistogram,1200,1.0,100,99,101\n";
  const auto j = judge(text);
  ASSERT_EQ(j.study.factors.size(), 1U);
  EXPECT_EQ(j.study.factors[0].factors, std::vector<std::string>{"workload"});
  EXPECT_NEAR(j.study.factors[0].differences.at(0).energy_saved, 0.2, 1e-9);
  Options options;
  options.by = {{"workload"}};
  EXPECT_EQ(judge(text, options).study.factors.size(), 1U);
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
