// Writes a page from a made-up answer with hostile names, for the browser tests: sample_page FILE
// [SLICES|study|sweep].
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

#include "ergon/io.hpp"
#include "ergon/report.hpp"
#include "ergon/report/page.hpp"

namespace {

using namespace ergon;
using namespace ergon::report;

constexpr double kDefaultHz = 1.98e9;
constexpr Nanos kBegin = 40'000'000;  // of the span, after the trace's first event

const std::vector<SliceName>& names() {
  static const std::vector<SliceName> list = {
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
       "segment_k_off_kernel__5x_"
       "cublas",
       "kernel"},
      {"void at::native::vectorized_elementwise_kernel<4, "
       "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
       "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#4}, std::array<char*, "
       "2ul> >(int)",
       "kernel"},
      {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> "
       ">(flash::Flash_fwd_params)",
       "kernel"},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(int, float)",
       "kernel"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
       "collective"},
      {"Memcpy HtoD (Pinned -> Device)", "copy"},
      {"Memset (Device)", "memset"},
      {"</script><img src=x onerror=\"alert(1)\">{{7*7}}${evil}", "kernel"},
      {"na\u00efve \u4f60\u597d \u202e reversed \x1b[31m red", "kernel"}};
  return list;
}

GpuTimeline gpu_timeline(int gpu, std::size_t slices, std::mt19937& random) {
  GpuTimeline out{
      .id = std::to_string(gpu), .name = "NVIDIA H100 80GB HBM3", .default_clock_hz = kDefaultHz};
  Lane compute{.name = "stream 7"};
  Lane communication{.name = "stream 24 (NCCL)"};
  Lane copies{.name = "stream 31"};
  std::uniform_int_distribution<int> unit(0, 99);
  Nanos at = kBegin + Nanos{12'000} * (gpu + 1);
  for (std::size_t i = 0; i < slices; ++i) {
    const auto phase = static_cast<int>((i * 6) / slices);
    const int draw = unit(random);
    const std::uint32_t name = phase == 5    ? 1
                               : i % 4 == 0  ? 0
                               : i % 4 == 1  ? (draw < 50 ? 1 : 3)
                               : i % 4 == 2  ? 2
                               : i % 97 == 3 ? 7
                               : i % 89 == 3 ? 8
                                             : 0;
    const Nanos length = name == 0   ? 60'000 + 900 * draw
                         : name == 2 ? 45'000 + 400 * draw
                                     : 8'000 + 150 * draw;
    compute.slices.push_back({.start_ns = at, .duration_ns = length, .name = name});
    if (phase >= 2 && phase < 5 && i % 12 == 0) {
      communication.slices.push_back(
          {.start_ns = at + 5'000, .duration_ns = 7 * length, .name = 4});
    }
    if (i % 60 == 0)
      copies.slices.push_back(
          {.start_ns = at, .duration_ns = 22'000, .name = i % 120 == 0 ? 5U : 6U});
    at += length + (draw < 8 ? 30'000 : 1'200);
  }
  out.lanes = {std::move(compute), std::move(communication), std::move(copies)};
  const double clocks[] = {1.755e9, 1.755e9, 1.395e9, 1.395e9, 1.545e9, 1.11e9, 1.98e9};
  for (int i = 0; i < 7; ++i) {
    out.packs.push_back({.id = (gpu == 0 ? "f" : "b") + std::to_string(i),
                         .start_ns = kBegin + (at - kBegin) * i / 7,
                         .end_ns = kBegin + (at - kBegin) * (i + 1) / 7,
                         .clock_hz = i == 6 && gpu == 1 ? std::nullopt : std::optional(clocks[i])});
  }
  return out;
}

Frontier sample_frontier() {
  Frontier out;
  const double base_time = 0.2134;
  const double base_energy = 118.4;
  for (int i = 0; i < 24; ++i) {
    const double slow = i * 0.006;
    const double energy = base_energy * (0.66 + 0.29 * std::exp(-slow * 34));
    out.points.push_back({.time_s = base_time * (1 + slow),
                          .energy_j = energy,
                          .lower_bound_j = energy * (1 - 0.004 - 0.01 * (i % 5 == 2))});
  }
  for (int i = 0; i < 30; ++i) {
    const double ratio = 1 - i * 0.025;
    out.uniform.push_back({.clock_hz = kDefaultHz * ratio,
                           .time_s = base_time * (0.62 / ratio + 0.38),
                           .energy_j = base_energy * (0.22 * (0.62 / ratio + 0.38) + 0.3 +
                                                      0.48 * std::pow(ratio, 1.9))});
  }
  // Clocks that cost no time: the work waits for something else.
  for (int i = 1; i <= 8; ++i) {
    out.uniform.push_back({.clock_hz = kDefaultHz - i * 5e6,
                           .time_s = base_time * 1.06,
                           .energy_j = base_energy * (1 - 0.02 * i)});
  }
  out.default_clocks =
      OperatingPoint{.clock_hz = kDefaultHz, .time_s = base_time, .energy_j = base_energy};
  out.best_uniform = out.uniform[2];
  out.plan = OperatingPoint{
      .clock_hz = std::nullopt, .time_s = out.points[5].time_s, .energy_j = out.points[5].energy_j};
  out.deadline_s = base_time * 1.03;
  out.lower_bound_j = out.points[5].lower_bound_j;
  return out;
}

Answer sample_answer(std::size_t slices) {
  std::mt19937 random(7);
  Answer answer{
      .command = "plan",
      .headline =
          "21.7 % less energy at a slowdown of 3.0 %: 92.7 J instead of 118.4 J a step, at "
          "most 0.42 % from "
          "optimal.",
      .lines = {"The best single clock, 1881 MHz, saves 3.9 % within the same bound.",
                "Finer control would gain little: one pack a kernel with free switching "
                "could reach 91.2 J."}};
  answer.tables.push_back(
      {.title = "Operating points",
       .columns = {{.title = "clocks", .numeric = false},
                   {.title = "time", .unit = "ms"},
                   {.title = "energy", .unit = "J"},
                   {.title = "power", .unit = "W"},
                   {.title = "slowdown", .unit = "%", .significant = 3},
                   {.title = "saved", .unit = "%", .significant = 3}},
       .rows = {{"default clocks", 213.4, 118.4, 554.8, 0.0, 0.0},
                {"best single clock (1881 MHz)", 219.6, 113.8, 518.2, 2.9, 3.89},
                {"plan", 219.8, 92.7, 421.7, 3.0, 21.7},
                {"lower bound", Value(), 92.31, Value(), Value(), 22.0}}});
  answer.tables.push_back(
      {.title = "Idle gaps",
       .columns = {{.title = "GPU", .numeric = false},
                   {.title = "cause", .numeric = false},
                   {.title = "time", .unit = "ms"},
                   {.title = "gaps"}},
       .rows = {
           {"0", "launch", 1.234, 57}, {"0", "sync", 0.321, 4}, {"1", "collective", 3.5, 12}}});
  Page page;
  page.figures = {
      {.label = "energy of the plan",
       .value = 92.7,
       .unit = "J",
       .note = "118.4 J at default clocks",
       .significant = 3},
      {.label = "energy saved",
       .value = 21.7,
       .unit = "%",
       .note = "best single clock: 3.9 %",
       .significant = 3},
      {.label = "time of a step",
       .value = 219.8,
       .unit = "ms",
       .note = "+3.0 % against default clocks"},
      {.label = "gap to the lower bound",
       .value = 0.42,
       .unit = "%",
       .note = "lower bound 92.31 J",
       .significant = 2},
      {.label = "clock changes", .value = 6, .unit = "", .note = "a step, of 2 GPUs"},
      {.label = "temperature", .value = std::nullopt, .unit = "\u00b0C", .note = "not recorded"}};
  Timeline timeline{.names = names()};
  for (int gpu = 0; gpu < 2; ++gpu) timeline.gpus.push_back(gpu_timeline(gpu, slices, random));
  page.timeline = std::move(timeline);
  page.frontier = sample_frontier();
  page.energy = {{.label = "default clocks",
                  .parts = {{"constant", 31.2},
                            {"tensor cores", 38.1},
                            {"vector FP32", 7.4},
                            {"HBM", 27.9},
                            {"L2", 8.2},
                            {"L1", 5.6}}},
                 {.label = "best single clock",
                  .parts = {{"constant", 31.9},
                            {"tensor cores", 35.0},
                            {"vector FP32", 6.9},
                            {"HBM", 27.0},
                            {"L2", 7.8},
                            {"L1", 5.2}}},
                 {.label = "plan",
                  .parts = {{"constant", 32.1},
                            {"tensor cores", 24.6},
                            {"vector FP32", 4.8},
                            {"HBM", 22.3},
                            {"L2", 5.3},
                            {"L1", 3.6}}}};
  std::uniform_real_distribution<double> share(0, 1);
  for (int i = 0; i < 140; ++i) {
    const auto& name = names()[static_cast<std::size_t>(i) % names().size()];
    const bool known = i % 11 != 5;
    page.kernels.push_back(
        {.name = i < 9 ? name.text : name.text + " #" + std::to_string(i),
         .kind = name.kind,
         .count = static_cast<std::uint64_t>(1 + 700 / (i + 1)),
         .time_s = 0.06 / (i + 1),
         .energy_j = known ? std::optional(34.0 / (i + 1.2)) : std::nullopt,
         .slack_s = i % 7 == 3 ? std::nullopt : std::optional(share(random) * 0.004),
         .sensitivity = known ? std::optional(share(random)) : std::nullopt,
         .origin = known ? (i % 3 == 0 ? "class" : "shapes") : "unknown"});
  }
  page.coverage = {
      {.title = "Dependencies",
       .base = "edges of the graph",
       .parts = {{"recorded", 18234}, {"inferred", 5211}, {"assumed", 902}}},
      {.title = "Clock response",
       .base = "GPU time",
       .parts = {{"measured", 0}, {"shapes", 0.71}, {"class", 0.22}, {"unknown", 0.07}},
       .note = "Unknown kernels are taken to grow as 1/clock and keep the default clock."}};
  answer.page = to_value(page);
  answer.data.set("default", Value::object().set("time_s", 0.2134).set("energy_j", 118.4));
  answer.data.set("name", names()[7].text);
  return answer;
}

// A study of four workloads over two settings, one of them hostile, one without an optimum.
Answer sample_study() {
  Answer answer{.command = "study",
                .headline = "The best sampled points save 21.0 % energy on average.",
                .lines = {"Baseline: the highest clock of each workload."}};
  StudyPage study;
  const char* algorithms[] = {"gemm", "winograd", "gemm", "fft"};
  for (std::size_t w = 0; w < 4; ++w) {
    StudyWorkload workload{.name = w == 2 ? names()[7].text : "net " + std::to_string(w),
                           .gpu = "V100",
                           .network = w < 2 ? "AlexNet" : "VGG-16",
                           .batch = std::to_string(16 << (w % 2)),
                           .algorithm = algorithms[w]};
    for (const double memory : {2100e6, 3800e6}) {
      for (const double clock : {600e6, 800e6, 1000e6, 1200e6}) {
        const double slow = 0.5 + 0.4 * 1200e6 / clock + 0.1 * 3800e6 / memory;
        const double power = 0.4 + 0.5 * clock / 1200e6 * clock / 1200e6 + 0.1 * memory / 3800e6;
        workload.points.push_back({.clock_hz = clock,
                                   .memory_clock_hz = memory,
                                   .time_ratio = slow,
                                   .energy_ratio = slow * power,
                                   .power_w = 200 * power,
                                   .valid = !(clock == 600e6 && memory == 2100e6)});
      }
    }
    workload.baseline = 7;
    if (w != 3) {
      workload.best = 5;
      workload.energy_saved = 0.2 + 0.01 * static_cast<double>(w);
      workload.energy_saved_low = 0.18;
      workload.energy_saved_high = 0.24;
      workload.slowdown = 0.2;
      workload.edge = w == 1 ? "lowest clock" : "";
    }
    study.workloads.push_back(std::move(workload));
  }
  Page page;
  page.figures = {{.label = "energy saved", .value = 21, .unit = "%", .significant = 3}};
  page.study = std::move(study);
  answer.page = to_value(page);
  answer.tables.push_back({.title = "What is wrong with the data",
                           .columns = {{.title = "finding", .numeric = false},
                                       {.title = "evidence", .numeric = false, .whole = true}},
                           .rows = {{"edge_of_grid", std::string(160, 'e')}}});
  return answer;
}

// A sweep of two parameters; one point does not count, and says so in hostile words.
Answer sample_sweep() {
  Answer answer{.command = "sweep",
                .headline = "14 points measured on NVIDIA A100-SXM4-40GB (simulated), 12 count.",
                .lines = {}};
  SweepPage sweep;
  for (const char* label : {"batch=16", "batch=32"}) {
    SweepGroup group{.label = label};
    const double size = group.label == "batch=16" ? 1 : 2.1;
    for (int k = 0; k < 7; ++k) {
      const bool baseline = k == 0 || k == 6;
      const double clock = baseline ? 1410e6 : 510e6 + 225e6 * (k - 1);
      const double time = size * (2.4 * 1410e6 / clock + 1.1) + (k == 6 ? 0.01 : 0);
      const double energy = time * (70 + 200 * clock / 1410e6 * clock / 1410e6) + k % 2;
      const bool valid = k != 1;
      group.points.push_back({.setting = baseline
                                             ? "driver's own clocks"
                                             : std::to_string(std::lround(clock / 1e6)) + " MHz",
                              .clock_hz = clock,
                              .time_s = time,
                              .energy_j = energy,
                              .energy_low_j = energy * 0.99,
                              .energy_high_j = energy * 1.012,
                              .baseline = baseline,
                              .best = k == 2,
                              .valid = valid,
                              .reason = valid ? "" : names()[7].text});
    }
    sweep.groups.push_back(std::move(group));
  }
  Page page;
  page.figures = {
      {.label = "energy saved", .value = 24.1, .unit = "%", .note = "batch=16", .significant = 3}};
  page.sweep = std::move(sweep);
  answer.page = to_value(page);
  answer.tables.push_back(
      {.title = "Points",
       .columns = {{.title = "setting", .numeric = false, .whole = true},
                   {.title = "energy", .unit = "J"}},
       .rows = {{"core 510 MHz, memory 1215 MHz, limit 300 W, batch=16", 612.3}}});
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string_view kind = argc > 2 ? argv[2] : "";
  const bool study = kind == "study";
  const bool sweep = kind == "sweep";
  const auto slices = argc > 2 && !study && !sweep
                          ? static_cast<std::size_t>(std::strtoull(argv[2], nullptr, 10))
                          : std::size_t{900};
  const Envelope envelope{
      .version = "0.0.0-sample",
      .inputs = {{.path = "traces/<rank 0>.json.gz",
                  .bytes = 12'345'678,
                  .format = "kineto",
                  .digest = "8f14e45fceea167a"},
                 {.path = "traces/rank1.json.gz",
                  .bytes = 12'301'002,
                  .format = "kineto",
                  .digest = "c9f0f895fb98ab91"}},
      .warnings = {{.code = "sample",
                    .message = "this is a made-up answer: none of its figures was measured"}},
      .skipped = {{"bad_utf8", 3}},
      .origin_shares = {{"modelled", 0.93}, {"assumed", 0.07}},
      .command_line =
          "ergon plan rank0.json.gz rank1.json.gz --device h100 --max-slowdown 3% --export "
          "html:plan.html"};
  const auto html = to_html(study   ? sample_study()
                            : sweep ? sample_sweep()
                                    : sample_answer(slices),
                            envelope);
  if (!html) {
    std::fprintf(stderr, "%s\n", error_text(html.error(), false).c_str());
    return 4;
  }
  const auto written = io::write_file(argv[1], *html);
  return written ? 0 : 3;
}
