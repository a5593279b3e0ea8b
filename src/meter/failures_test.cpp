// Failures that users of other tools reported, each by its kind (numbers as in the list of public
// threads that the DVFS reference keeps): logs, counters, units, estimators.
#include <gtest/gtest.h>

#include "synthetic_test.hpp"

namespace ergon::meter {
namespace {

using testing::play;
using testing::SyntheticSensor;
using testing::Truth;
using testing::window;

PowerLog read_sound(std::string_view text) {
  const auto source = io::memory_source(text);
  auto log = read_log(*source);
  EXPECT_TRUE(log) << log.error().message;
  return log ? std::move(*log) : PowerLog{};
}

std::string why_refused(std::string_view text) {
  const auto source = io::memory_source(text);
  const auto log = read_log(*source);
  return log ? "was read" : log.error().message + " / " + log.error().hint;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// 60 W, from 2 s to 7 s at `busy_w`, 60 W until 9 s.
Series run_of(double busy_w, unsigned seed = 1, const SyntheticSensor& sensor = {}) {
  return play({{{0, 60}, {2, busy_w}, {7, 60}}}, 9, sensor, seed);
}

EnergyReading energy_of(const Series& s, Window w = window(2, 7)) {
  return measure_energy(s, estimate_sensor(s), w);
}

// Any counter value from `from` on is changed by `change`.
template <class Change>
void alter(Series& s, double from_s, Change change) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (static_cast<double>(s.time_ns[i]) >= from_s * 1e9) s.energy_j[i] = change(s.energy_j[i], i);
  }
}

TEST(Failures, failure_01_counter_and_power_tell_different_energy_of_the_same_idle) {
  // The counter says 187 J where the integrated power says 327 J: neither is believed alone.
  Series s = play({{{0, 65.4}}}, 7, {}, 3);
  alter(s, 0, [](double e, std::size_t) { return e * 187 / 327; });
  const auto r = energy_of(s, window(1, 6));
  ASSERT_TRUE(r.energy_j && r.disagreement);
  EXPECT_TRUE(r.contradict);
  EXPECT_NEAR(*r.disagreement, 0.54, 0.02);
  EXPECT_LT(r.energy_j->low, 188);
  EXPECT_GT(r.energy_j->high, 326);
}

TEST(Failures, failure_02_both_estimators_and_their_disagreement_are_always_there) {
  const auto r = energy_of(run_of(300));
  ASSERT_TRUE(r.counter.energy_j && r.trapezoid.energy_j && r.disagreement);
  EXPECT_LT(*r.disagreement, 0.02);
  EXPECT_FALSE(r.contradict);
}

TEST(Failures, failure_03_no_counter_is_unknown_not_zero) {
  Series s = run_of(300);
  s.energy_j.clear();
  s.power_w.clear();
  auto r = energy_of(s);
  EXPECT_FALSE(r.energy_j);
  EXPECT_TRUE(has(r.why_unknown, "no energy counter"));
  // Cells that are all missing are no counter either.
  s = run_of(300);
  s.energy_j.assign(s.size(), kMissing);
  r = energy_of(s);
  EXPECT_FALSE(r.counter.energy_j);
  EXPECT_STREQ(r.chosen, "trapezoid");
  EXPECT_NEAR(r.energy_j->value, 1500, 30);
}

PowerLog counter_log(double per_second) {
  std::string text = "time_s,power_w,energy_j\n";
  for (int i = 0; i < 10; ++i) {
    text += std::to_string(i) + ",100," + std::to_string(1000 + per_second * i) + "\n";
  }
  return read_sound(text);
}

TEST(Failures, failure_04_millijoules_taken_for_microjoules) {
  EXPECT_EQ(counter_log(0.1).defect_counts.at("unit_mismatch"), 1U);
}

TEST(Failures, failure_05_millijoules_taken_for_joules) {
  EXPECT_EQ(counter_log(1e5).defect_counts.at("unit_mismatch"), 1U);
  EXPECT_EQ(counter_log(100).defect_counts.count("unit_mismatch"), 0U);
}

TEST(Failures, failure_06_milliwatts_integrated_as_watts) {
  const PowerLog log = read_sound("time_s,power_mw\n0,60000\n1,60000\n2,60000\n3,60000\n4,60000\n");
  EXPECT_EQ(log.find("power_w")->numbers[0], 60);
  const auto series = to_series(log);
  const auto r = measure_energy(series[0], estimate_sensor(series[0]), window(0, 4));
  EXPECT_NEAR(r.energy_j->value, 240, 1e-6);
}

TEST(Failures, failure_07_power_that_is_a_one_second_average_lags_by_half_a_second) {
  SyntheticSensor sensor;
  sensor.window_s = 1;
  const Truth truth{{{0, 60}, {2, 300}, {12, 60}}};
  Series s = play(truth, 15, sensor, 5);
  s.energy_j.clear();
  s.average_power_w = std::move(s.power_w);
  s.power_w.clear();
  const auto r = energy_of(s, window(2, 12));
  ASSERT_TRUE(r.energy_j);
  EXPECT_LE(r.energy_j->low, 3000);
  EXPECT_GE(r.energy_j->high, 3000);
  EXPECT_NEAR(r.energy_j->value, 3000, 60);
}

TEST(Failures, failure_08_averaged_power_of_a_short_run_cannot_be_known) {
  SyntheticSensor sensor;
  sensor.window_s = 1;
  Series s = play({{{0, 60}, {2, 300}, {2.4, 60}}}, 5, sensor, 5);
  s.energy_j.clear();
  s.average_power_w = std::move(s.power_w);
  s.power_w.clear();
  const auto r = energy_of(s, window(2, 2.4));
  EXPECT_FALSE(r.energy_j);
  ASSERT_TRUE(r.window_needed);
  EXPECT_NEAR(r.window_needed->si(), 3, 0.1);
}

TEST(Failures, failure_09_garbage_with_a_success_code) {
  Series s = run_of(300);
  const auto clean = energy_of(s).trapezoid.energy_j;
  for (std::size_t i = 5; i < s.size(); i += 97) s.power_w[i] = 4.2e6;
  const auto r = energy_of(s);
  ASSERT_TRUE(r.trapezoid.energy_j);
  EXPECT_NEAR(r.trapezoid.energy_j->value, clean->value, clean->value * 0.01);
  EXPECT_TRUE(has(r.trapezoid.notes.front(), "impossible"));
  const PowerLog log = read_sound("time_s,power_w\n0,60\n1,4200000\n2,61\n");
  EXPECT_EQ(log.defect_counts.at("impossible_value"), 1U);
  EXPECT_TRUE(is_missing(log.find("power_w")->numbers[1]));
}

TEST(Failures, failure_10_a_counter_that_goes_down_was_reset) {
  Series s = run_of(300);
  const double at = s.energy_j[static_cast<std::size_t>(500)];
  alter(s, 4.5, [&](double e, std::size_t) { return e - at + 3; });
  const auto r = energy_of(s);
  ASSERT_TRUE(r.counter.energy_j) << r.counter.refused;
  EXPECT_LE(r.counter.energy_j->low, 1500);
  EXPECT_GE(r.counter.energy_j->high, 1500);
  EXPECT_LT(r.counter.coverage, 1);
  EXPECT_TRUE(has(r.counter.notes.front(), "reset"));
}

TEST(Failures, failure_11_a_drop_is_no_terawatt) {
  Series s = run_of(300);
  double fallen = 0;
  alter(s, 0, [](double e, std::size_t) { return e + 5e7; });
  alter(s, 4.5, [&](double e, std::size_t) {
    if (fallen == 0) fallen = e - 200;
    return e - fallen;
  });
  const auto r = energy_of(s);
  ASSERT_TRUE(r.energy_j);
  EXPECT_GT(r.energy_j->value, 1400);
  EXPECT_LT(r.energy_j->value, 1600);
}

TEST(Failures, failure_11_a_reset_just_before_a_tick_does_not_swell_the_step) {
  for (int k = 0; k < 10; ++k) {
    Series s = run_of(300, 11);
    const double reset = 4 + 0.013 * k;
    const auto at = static_cast<std::size_t>(
        std::ranges::lower_bound(s.time_ns, static_cast<Nanos>(reset * 1e9)) - s.time_ns.begin());
    // Counted from zero since the reset, to the tick: 300 W.
    const double base = s.energy_j[at] + 300 * 0.02 * (k % 5);
    bool fallen = false;
    for (std::size_t i = at; i < s.size(); ++i) {
      fallen = fallen || s.energy_j[i] >= base;
      s.energy_j[i] = fallen ? s.energy_j[i] - base : 0;
    }
    const auto r = energy_of(s);
    ASSERT_TRUE(r.counter.energy_j) << r.counter.refused;
    EXPECT_NEAR(r.counter.energy_j->value, 1500, 15) << k;
    EXPECT_LE(r.counter.energy_j->low, 1500);
    EXPECT_GE(r.counter.energy_j->high, 1500);
  }
}

TEST(Failures, failure_12_terawatt_samples_in_prometheus_text) {
  const PowerLog log = read_sound(
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 61.5\nDCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 3.69e12\n"
      "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 62.5\n");
  EXPECT_EQ(log.defect_counts.at("impossible_value"), 1U);
  EXPECT_TRUE(is_missing(log.find("power_w")->numbers[1]));
}

TEST(Failures, failure_13_a_board_of_150_W_that_shows_4000_W) {
  Series s = run_of(140);
  s.power_limit_w.assign(s.size(), 150);
  for (std::size_t i = 3; i < s.size(); i += 53) s.power_w[i] = 2900;
  s.energy_j.clear();
  const auto r = energy_of(s);
  ASSERT_TRUE(r.energy_j);
  EXPECT_NEAR(r.energy_j->value, 700, 14);
}

TEST(Failures, failure_14_a_counter_that_stays_constant_is_refused) {
  Series s = run_of(300);
  alter(s, 0, [](double, std::size_t) { return 1234.5; });
  const auto r = energy_of(s);
  EXPECT_FALSE(r.counter.energy_j);
  EXPECT_TRUE(has(r.counter.refused, "did not move"));
  EXPECT_STREQ(r.chosen, "trapezoid");
  // One that stops in the middle of the window, too.
  s = run_of(300);
  const double stuck = s.energy_j[450];
  alter(s, 4.2, [&](double, std::size_t) { return stuck; });
  EXPECT_TRUE(has(energy_of(s).counter.refused, "stopped moving"));
}

TEST(Failures, failure_15_a_counter_of_impossible_values_is_refused) {
  Series s = run_of(300);
  alter(s, 0, [](double e, std::size_t i) {
    return i % 20 < 10 ? e + 1e9 * static_cast<double>(i % 7) : e;
  });
  const auto r = energy_of(s);
  EXPECT_STREQ(r.chosen, "trapezoid") << r.counter.refused;
  EXPECT_NEAR(r.energy_j->value, 1500, 40);
}

TEST(Failures, failure_16_single_spikes_of_the_counter_are_left_out) {
  Series s = run_of(300);
  for (const std::size_t i : {300UL, 420UL, 555UL}) s.energy_j[i] += 64000 * 5;
  const auto r = energy_of(s);
  ASSERT_TRUE(r.counter.energy_j) << r.counter.refused;
  EXPECT_LE(r.counter.energy_j->low, 1500);
  EXPECT_GE(r.counter.energy_j->high, 1500);
  EXPECT_NEAR(r.counter.energy_j->value, 1500, 20);
}

TEST(Failures, failure_17_samples_before_the_run_do_not_count) {
  const auto busy = energy_of(run_of(300), window(2, 7));
  EXPECT_NEAR(busy.energy_j->value, 1500, 15);
  const auto idle = energy_of(run_of(300), window(0.5, 1.5));
  EXPECT_NEAR(idle.energy_j->value, 60, 2);
}

TEST(Failures, failure_21_drivers_rename_the_power_section) {
  const auto report = [](const char* section, const char* draw) {
    return std::string(
               "==============NVSMI LOG==============\nTimestamp : Fri Jul  4 19:19:44 2025\n"
               "GPU 00000000:21:00.0\n    ") +
           section + "\n        " + draw + " : 25.31 W\n        Power Limit : 250.00 W\n";
  };
  for (const auto& text :
       {report("Power Readings", "Power Draw"), report("GPU Power Readings", "Power Draw"),
        report("GPU Power Readings", "Average Power Draw"),
        report("GPU Power Readings", "Instantaneous Power Draw")}) {
    EXPECT_EQ(read_sound(text).find("power_w")->numbers[0], 25.31) << text;
  }
  const auto xml = [](const char* section) {
    return std::string("<nvidia_smi_log>\n<gpu id=\"0\">\n<") + section +
           ">\n<power_draw>25.31 W</power_draw>\n</" + section + ">\n</gpu>\n</nvidia_smi_log>\n";
  };
  EXPECT_EQ(read_sound(xml("power_readings")).find("power_w")->numbers[0], 25.31);
  EXPECT_EQ(read_sound(xml("gpu_power_readings")).find("power_w")->numbers[0], 25.31);
}

TEST(Failures, failure_22_drivers_rename_the_marker_of_missing_readings) {
  for (const char* marker : {"[Not Supported]", "[N/A]", "N/A", "[Whatever Comes Next]"}) {
    const PowerLog log =
        read_sound(std::string("timestamp, power.draw [W]\n2024/01/01 12:00:00.1, ") + marker +
                   "\n2024/01/01 12:00:01.1, 10.00 W\n");
    EXPECT_TRUE(is_missing(log.find("power_w")->numbers[0])) << marker;
    EXPECT_EQ(log.find("power_w")->numbers[1], 10);
  }
}

TEST(Failures, failure_23_a_marker_where_a_number_is_expected_is_no_crash) {
  const PowerLog log = read_sound(
      "index, power.draw [W], utilization.gpu [%]\n0, [Not Supported], [Not Supported]\n");
  EXPECT_EQ(log.rows(), 1U);
  EXPECT_TRUE(is_missing(log.find("utilization")->numbers[0]));
}

TEST(Failures, failure_24_most_fields_not_supported_leaves_the_others) {
  const PowerLog log = read_sound(
      "GeForce GTX 770, [Not Supported], [Not Supported], 52, [Not Supported], 52 %, P0, [Not "
      "Supported]\n");
  EXPECT_EQ(log.rows(), 1U);
  EXPECT_EQ(log.find("column_6_ratio")->numbers[0], 0.52);
}

TEST(Failures, failure_25_a_row_of_markers_and_an_unknown_field) {
  const PowerLog log = read_sound(
      "timestamp, index, power.draw [W], clocks.sm [MHz]\n2021/08/31 11:37:40.983, 0, [N/A], "
      "[N/A]\n");
  EXPECT_EQ(log.rows(), 1U);
  EXPECT_TRUE(
      has(why_refused("Field \"power.drow\" is not a valid field to query.\n\n"), "did not know") ||
      has(why_refused("Field \"power.drow\" is not a valid field to query.\n\n"), "does not know"));
}

TEST(Failures, failure_26_one_bad_gpu_or_metric_does_not_take_the_others_along) {
  const PowerLog log = read_sound(
      "timestamp, index, power.draw [W], temperature.gpu\n2024/01/01 12:00:00.1, 0, 10.00 W, 40\n"
      "2024/01/01 12:00:00.1, 1, [GPU requires reset], [GPU requires reset]\n2024/01/01 "
      "12:00:00.1, 2, [N/A], 42\n");
  EXPECT_EQ(log.gpus.size(), 3U);
  EXPECT_EQ(log.find("power_w")->numbers[0], 10);
  EXPECT_EQ(log.find("temperature_c")->numbers[2], 42);
}

TEST(Failures, failure_29_a_driver_mismatch_on_stdout_is_told_as_such) {
  const std::string why = why_refused(
      "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: "
      "550.144\n");
  EXPECT_TRUE(has(why, "driver/library version mismatch"));
  EXPECT_TRUE(has(why, "reboot"));
}

TEST(Failures, failure_30_a_logger_that_failed_gives_no_empty_success) {
  EXPECT_TRUE(has(why_refused("bash: nvidia-smi: command not found\n"), "not found"));
  EXPECT_TRUE(
      has(why_refused(
              "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
          "could not communicate"));
  EXPECT_TRUE(has(why_refused(""), "empty"));
}

TEST(Failures, failure_45_mig_instances_repeat_the_energy_of_their_parent) {
  std::string text;
  for (int i = 3; i < 7; ++i) {
    text += "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\",GPU_I_ID=\"" + std::to_string(i) +
            "\"} 126272101025\n";
  }
  const PowerLog log = read_sound(text);
  EXPECT_EQ(log.rows(), 1U);
  EXPECT_EQ(log.find("energy_j")->numbers[0], 126272101.025);
  EXPECT_EQ(log.defect_counts.at("mig_repeats_parent"), 3U);
}

TEST(Failures, failure_46_utilization_is_missing_under_mig) {
  const PowerLog log = read_sound(
      "# gpu    pwr  gtemp     sm    mem   mclk   pclk\n# Idx      W      C      %      %    MHz   "
      " MHz\n"
      "    0     70     42      -      -   2619    345\n");
  EXPECT_TRUE(is_missing(log.find("utilization")->numbers[0]));
  EXPECT_EQ(log.find("power_w")->numbers[0], 70);
}

TEST(Failures, failure_47_a_wrapped_counter_and_one_of_unknown_range) {
  EXPECT_NEAR(*counter_difference(262140, 10, 262143.32885), 13.32885, 1e-9);
  EXPECT_FALSE(counter_difference(262140, 10, std::nullopt));  // never negative
  EXPECT_FALSE(counter_difference(262140, 10, 1000));          // never what cannot be
  Series s = run_of(300);
  const double first = s.energy_j[0];
  alter(s, 0, [&](double e, std::size_t) {
    return std::fmod(e - first + 262143.32885 - 700, 262143.32885);
  });
  SensorModel m = estimate_sensor(s);
  const auto r = counter_energy(s, m, window(2, 7), {.counter_range_j = 262143.32885});
  ASSERT_TRUE(r.energy_j) << r.refused;
  EXPECT_NEAR(r.energy_j->value, 1500, 15);
  EXPECT_EQ(r.coverage, 1);
}

TEST(Failures, failure_48_no_negative_power_at_a_wrap_and_no_zero_in_a_virtual_machine) {
  Series s = run_of(300);
  // 32 bits of millijoules, range not told.
  constexpr double kRange = 4294967.296;
  const double first = s.energy_j[0];
  alter(s, 0, [&](double e, std::size_t) { return std::fmod(e - first + kRange - 900, kRange); });
  const auto r = energy_of(s);
  ASSERT_TRUE(r.counter.energy_j) << r.counter.refused;
  EXPECT_NEAR(r.counter.energy_j->value, 1500, 15);
  EXPECT_TRUE(has(r.counter.notes.front(), "wrapped"));
  // A counter that a virtual machine holds at zero says nothing.
  alter(s, 0, [](double, std::size_t) { return 0.0; });
  EXPECT_FALSE(energy_of(s).counter.energy_j);
}

TEST(Failures, failure_52_energy_zero_of_a_machine_that_may_not_read_it) {
  Series s;
  s.gpu = "package-0";
  for (int i = 0; i < 500; ++i) {
    s.time_ns.push_back(Nanos{10'000'000} * i);
    s.energy_j.push_back(0);
  }
  const auto r = energy_of(s, window(0.5, 4.5));
  EXPECT_FALSE(r.energy_j);
  EXPECT_TRUE(has(r.why_unknown, "did not move"));
}

TEST(Gaps, AreNotBridgedSilently) {
  Series s = run_of(300);
  Series holed;
  holed.gpu = s.gpu;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double t = static_cast<double>(s.time_ns[i]) * 1e-9;
    if (t > 3 && t < 4.5) continue;
    holed.time_ns.push_back(s.time_ns[i]);
    holed.power_w.push_back(s.power_w[i]);
  }
  const auto r = energy_of(holed);
  ASSERT_TRUE(r.energy_j);
  EXPECT_NEAR(r.coverage, 0.7, 0.03);
  EXPECT_GT(r.energy_j->high - r.energy_j->low,
            energy_of(s).trapezoid.energy_j->high - energy_of(s).trapezoid.energy_j->low);
  EXPECT_TRUE(has(r.trapezoid.notes.back(), "gaps"));
  // A log that ends before the window does says so.
  const auto cut = energy_of(holed, window(2, 12));
  EXPECT_FALSE(cut.energy_j);
  EXPECT_TRUE(has(cut.why_unknown, "of the window only"));
}

TEST(Idle, IsSubtractedApart) {
  const Series s = run_of(300);
  const auto idle = energy_of(s, window(0.2, 1.8));
  const auto busy = energy_of(s);
  const auto above = above_idle(busy.energy_j, Seconds(5), mean_power(idle, window(0.2, 1.8)));
  ASSERT_TRUE(above);
  EXPECT_NEAR(above->value, 1200, 15);
  EXPECT_LE(above->low, 1200);
  EXPECT_GE(above->high, 1200);
  EXPECT_FALSE(above_idle(std::nullopt, Seconds(5), mean_power(idle, window(0.2, 1.8))));
}

TEST(Failures, a_power_value_that_never_renews_tells_no_energy) {
  Series s;
  for (int i = 0; i < 300; ++i) {
    s.time_ns.push_back(Nanos{53'000'000} * i);
    s.power_w.push_back(46.19);
  }
  EXPECT_TRUE(estimate_sensor(s).never_renewed);
  const auto stuck = energy_of(s, window(1, 15));
  EXPECT_FALSE(stuck.energy_j);
  EXPECT_TRUE(has(stuck.why_unknown, "never renewed")) << stuck.why_unknown;
  // Whole watts may hide small changes: the interval is at least that wide.
  std::ranges::fill(s.power_w, 46);
  const auto coarse = energy_of(s, window(1, 15));
  ASSERT_TRUE(coarse.energy_j);
  EXPECT_NEAR(coarse.energy_j->value, 46 * 14, 0.1);
  EXPECT_GT(coarse.energy_j->high - coarse.energy_j->low, 14);
  EXPECT_FALSE(coarse.trapezoid.notes.empty());
  // A change, or a short log, is no finding.
  s.power_w[150] = 47;
  EXPECT_FALSE(estimate_sensor(s).never_renewed);
}

}  // namespace
}  // namespace ergon::meter
