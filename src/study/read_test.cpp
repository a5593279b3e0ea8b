// Shapes, units, missing values and joins of data sets.
#include "study_test.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::study {
namespace {

TEST(Read, long_table_with_units_in_its_names) {
  const auto data =
      read_text("app,sm_clock_mhz,mem_clock_mhz,time_ms,power_w\na,1000,5000,20,150\n");
  ASSERT_TRUE(data);
  const Sample& s = data->samples.front();
  EXPECT_EQ(s.workload, "a");
  EXPECT_DOUBLE_EQ(*s.setting.clock_hz, 1e9);
  EXPECT_DOUBLE_EQ(*s.setting.memory_clock_hz, 5e9);
  EXPECT_DOUBLE_EQ(*s.time, 0.020);
  EXPECT_DOUBLE_EQ(*s.energy, 3);
  EXPECT_TRUE(s.energy_derived);
  EXPECT_TRUE(s.units_known);
}

TEST(Read, other_spellings_separators_and_decimal_commas) {
  const auto data =
      read_text("\xef\xbb\xbfsep=;\nappName;coreF;memF;time/s;power/W\nx;1000;5000;1,5;100,25\n");
  ASSERT_TRUE(data);
  EXPECT_DOUBLE_EQ(*data->samples.front().time, 1.5);
  EXPECT_DOUBLE_EQ(*data->samples.front().power_w, 100.25);
}

TEST(Read, missing_is_missing) {
  for (const char* word : {"", "N/A", "[N/A]", "[Not Supported]", "[Unknown Error]", "ERR!", "-"}) {
    const auto data =
        read_text(std::string("clock_mhz,time_s,power_w\n1000,2,") + word + "\n900,2.2,80\n");
    ASSERT_TRUE(data) << word;
    EXPECT_FALSE(data->samples[0].power_w) << word;
    EXPECT_FALSE(data->samples[0].energy) << word;
  }
}

TEST(Read, truncated_last_line_is_counted) {
  const auto data = read_text("clock_mhz,time_s,power_w\n1000,2,90\n900,2.2,80\n800,2.");
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples.size(), 2U);
  ASSERT_EQ(data->skipped.size(), 1U);
  EXPECT_EQ(data->skipped.front().first, "truncated_last_line");
}

TEST(Read, matrices_are_told_by_how_they_go_and_joined) {
  const std::vector<Source> sources = {
      {"a.csv", "frequency(MHz),700,1000,1400\nx,90,120,200\ny,80,100,160\n"},
      {"b.csv", "frequency(MHz),700,1000,1400\nx,0.55,0.75,1.0\ny,0.9,0.99,1.0\n"}};
  const auto data = read(sources);
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->samples.size(), 6U);
  for (const Sample& s : data->samples) {
    EXPECT_TRUE(s.energy && s.time && s.power_w);
    EXPECT_FALSE(s.units_known);
  }
  EXPECT_NEAR(*data->samples.front().energy, 90 / 0.55, 1e-9);
}

TEST(Read, a_turned_matrix) {
  const auto data =
      read_text("clock_mhz,conv,gemm\n700,90,80\n1000,120,100\n1400,200,160\n", "power.csv");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->samples.size(), 6U);
  EXPECT_EQ(data->samples.front().workload, "conv");
}

TEST(Read, blocks_without_a_header) {
  const auto data = read_text(
      "fft\n800,600,20,80,1600\n800,900,15,100,1500\n3500,600,18,120,2160\n3500,900,12,150,1800\n"
      "gemm\n800,600,30,90,2700\n800,900,22,110,2420\n3500,600,29,130,3770\n3500,900,20,160,"
      "3200\n");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->samples.size(), 8U);
  const Sample& s = data->samples.front();
  EXPECT_EQ(s.workload, "fft");
  EXPECT_DOUBLE_EQ(*s.time, 20);
  EXPECT_DOUBLE_EQ(*s.power_w, 80);
  EXPECT_FALSE(s.units_known) << "ms and mJ look the same as s and J";
}

TEST(Read, blocks_that_cannot_be_told_need_a_map) {
  const std::string text = "a\n1,2,3\n2,4,1\nb\n1,3,2\n2,1,5\n";
  EXPECT_FALSE(read_text(text));
  const auto mapping = parse_mapping("header=clock/time/power");
  ASSERT_TRUE(mapping);
  const auto data = read_text(text, "x.csv", *mapping);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->samples.size(), 4U);
}

TEST(Read, nulls_of_json_are_columns) {
  // No memory clock was asked for: what ran is no setting.
  const auto data = read_text(R"([
      {"asked": {"clock_hz": 1.1e9, "memory_clock_hz": null}, "memory_clock_hz": 1.2e9, "time_s": 2,
       "energy_j": 400, "energy_j_ci95": [396, 404]},
      {"asked": {"clock_hz": 0.9e9, "memory_clock_hz": null}, "memory_clock_hz": 1.2e9, "time_s": 3,
       "energy_j": 450, "energy_j_ci95": null}])",
                              "sweep.json");
  ASSERT_TRUE(data);
  ASSERT_EQ(data->samples.size(), 2U);
  EXPECT_FALSE(data->samples[0].setting.memory_clock_hz);
  EXPECT_NEAR(data->samples[0].energy_error.value_or(0), 0.01, 1e-12);
  EXPECT_FALSE(data->samples[1].energy_error);
}

TEST(Read, json_objects_and_lists) {
  const auto data = read_text(
      R"({"configurations":[{"gpu_model":"H100","nickname":"net","max_num_seqs":8,"avg_power_watts":300,
      "energy_per_token_joules":1.5,"output_throughput_tokens_per_sec":200},
      {"gpu_model":"H100","nickname":"net","max_num_seqs":16,"avg_power_watts":400,
      "energy_per_token_joules":1.0,"output_throughput_tokens_per_sec":400}]})",
      "tasks.json");
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->samples.size(), 2U);
  EXPECT_DOUBLE_EQ(*data->samples[0].setting.parameter, 8);
  EXPECT_DOUBLE_EQ(*data->samples[0].time, 1.0 / 200);
  EXPECT_EQ(data->samples[0].unit_of_work, "token");
}

TEST(Read, settings_in_names_and_watt_hours_by_evidence) {
  const std::vector<Source> sources = {
      {"app_a100_energy-time-1005-150.json", R"({"energy": 0.87876, "time": 22.6})"},
      {"app_a100_energy-time-1410-300.json", R"({"energy": 1.4, "time": 22.5})"}};
  const auto data = read(sources);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_DOUBLE_EQ(*data->samples[0].setting.clock_hz, 1005e6);
  EXPECT_DOUBLE_EQ(*data->samples[0].setting.power_limit_w, 150);
  EXPECT_NEAR(*data->samples[0].energy, 3163.5, 1);
  ASSERT_FALSE(data->findings.empty());
  EXPECT_EQ(data->findings.front().kind, "unit_by_evidence");
}

TEST(Read, watt_hours_that_are_said) {
  const auto data = read_text("app,clock_mhz,time_s,energy_wh\na,1000,3600,0.1\na,800,3600,0.09\n");
  ASSERT_TRUE(data);
  EXPECT_DOUBLE_EQ(*data->samples[0].energy, 360);
}

TEST(Read, a_slip_of_a_thousand_is_found_and_an_agreement_is_not) {
  const auto wrong =
      read_text("clock_mhz,time_s,power_w,energy_j\n1000,2,100,200000\n900,2,90,180000\n");
  ASSERT_TRUE(wrong);
  ASSERT_EQ(wrong->findings.size(), 1U);
  EXPECT_EQ(wrong->findings.front().kind, "unit_slip");
  EXPECT_DOUBLE_EQ(*wrong->samples[0].energy, 200);
  const auto right = read_text("clock_mhz,time_s,power_w,energy_j\n1000,2,100,200\n900,2,90,180\n");
  ASSERT_TRUE(right);
  EXPECT_TRUE(right->findings.empty());
}

TEST(Read, offsets_are_no_clocks) {
  const auto data = read_text(
      "app,coreF,memF,time/s,power/W\na,-200,0,1.1,90\na,0,0,1.0,100\na,100,500,0.9,110\n");
  ASSERT_TRUE(data);
  EXPECT_TRUE(data->samples[0].setting.clock_is_offset);
  EXPECT_DOUBLE_EQ(*data->samples[0].setting.clock_hz, -200e6);
  EXPECT_EQ(data->findings.front().kind, "offsets_not_clocks");
  const auto clocks = read_text("app,coreF,time/s,power/W\na,600,1.1,90\na,800,1.0,100\n");
  ASSERT_TRUE(clocks);
  EXPECT_FALSE(clocks->samples[0].setting.clock_is_offset);
  EXPECT_TRUE(clocks->findings.empty());
}

TEST(Read, offsets_with_a_base_in_the_map) {
  const auto mapping = parse_mapping("clock=coreF:MHz+1600");
  ASSERT_TRUE(mapping);
  const auto data =
      read_text("app,coreF,time/s,power/W\na,-200,1.1,90\na,100,0.9,110\n", "x.csv", *mapping);
  ASSERT_TRUE(data);
  EXPECT_FALSE(data->samples[0].setting.clock_is_offset);
  EXPECT_DOUBLE_EQ(*data->samples[0].setting.clock_hz, 1400e6);
}

TEST(Read, a_baseline_file_belongs_to_its_sweep) {
  const std::vector<Source> sources = {
      {"compute_05_conv.csv", "clock_target_mhz,runtime_s,avg_power_w\n1000,2,100\n800,2.4,80\n"},
      {"baseline_05_conv.csv", "clock_target_mhz,runtime_s,avg_power_w\n-1,1.8,120\n"}};
  const auto data = read(sources);
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_TRUE(noted(*data, "baseline_file"));
  EXPECT_EQ(data->samples[2].workload, "compute_05_conv");
  EXPECT_TRUE(data->samples[2].setting.default_clocks);
}

TEST(Read, refusals_say_why_and_how) {
  for (const char* text : {"", "a,b\nx,y\n", "timestamp\n1\n2\n", "[]", "{\"a\":", "1\n2\n3\n"}) {
    const auto data = read_text(text);
    ASSERT_FALSE(data) << text;
    EXPECT_FALSE(data.error().message.empty()) << text;
    EXPECT_EQ(exit_code(data.error().code), 3) << text;
  }
}

TEST(Read, of_several_files_the_others_count) {
  const std::vector<Source> sources = {
      {"clks.txt", "1164\n1126\n"}, {"a.csv", "clock_mhz,time_s,power_w\n1000,2,90\n900,2.2,80\n"}};
  const auto data = read(sources);
  ASSERT_TRUE(data);
  EXPECT_TRUE(noted(*data, "file_refused"));
  EXPECT_EQ(data->samples.size(), 2U);
}

TEST(Read, factors_from_arguments) {
  const auto data = read_text(
      "appName,coreF,memF,arg,time/s,power/W\n"
      "caffe,1600,3500,train --solver=googlenet-b128-GPU.prototxt -gpu=0,0.35,200\n"
      "caffe,1700,3500,train --solver=googlenet-b128-GPU.prototxt -gpu=0,0.34,205\n");
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples[0].factors.at("network"), "GoogLeNet");
  EXPECT_EQ(data->samples[0].factors.at("batch"), "128");
}

TEST(Read, filters) {
  const Source source{"x.csv",
                      "run_id,clock_mhz,time_s,power_w\nc_r1_x,1000,2,90\nc_r2_x,1000,3,90\n"};
  const Filter filter{.column = "run_id", .value = "_r2_", .part = true};
  const auto data = read(std::span(&source, 1), {}, std::span(&filter, 1));
  ASSERT_TRUE(data);
  ASSERT_EQ(data->samples.size(), 1U);
  EXPECT_DOUBLE_EQ(*data->samples[0].time, 3);
}

TEST(Map, descriptors_inline_and_as_json_agree) {
  const auto a = parse_mapping(R"(clock=f:GHz,time=t:ms,gpu="V100")");
  const auto b = parse_mapping(
      R"({"columns":{"clock":{"column":"f","unit":"GHz"},"time":{"column":"t","unit":"ms"}},"constants":{"gpu":"V100"}})");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->roles.at("clock").unit, b->roles.at("clock").unit);
  EXPECT_EQ(a->roles.at("gpu").constant, b->roles.at("gpu").constant);
  for (const char* bad : {"", "clock", "=x", "{\"colums\":{}}", "{\"columns\":[]}", "clock=:MHz"})
    EXPECT_FALSE(parse_mapping(bad)) << bad;
}

TEST(Baseline, spellings) {
  const auto both = parse_baseline("1800MHz,5000MHz");
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(*both->memory_clock_hz, 5e9);
  const auto cap = parse_baseline("1410MHz,300W");
  ASSERT_TRUE(cap);
  EXPECT_DOUBLE_EQ(*cap->power_limit_w, 300);
  EXPECT_FALSE(cap->memory_clock_hz);
  EXPECT_TRUE(parse_baseline("+0MHz,-500MHz")->is_offset);
  for (const char* bad : {"1410", "1J", "1MHz,2MHz,3MHz", "300W,200W", ""})
    EXPECT_FALSE(parse_baseline(bad)) << bad;
}

}  // namespace
}  // namespace ergon::study
// NOLINTEND(bugprone-unchecked-optional-access)
