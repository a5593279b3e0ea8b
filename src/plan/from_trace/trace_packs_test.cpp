// From a trace to packs and back: what the packs say is checked by re-timing the graph.
#include "ergon/plan/trace_packs.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ergon/io.hpp"

namespace ergon::plan {
namespace {

// One thread launches `pairs` pairs of a long gemm and a short copy-like kernel, then waits. The
// short one starts `early` us before the gemm ends, then on a stream of its own.
std::string trace_text(int pairs, const std::string& gemm = "ampere_sgemm_128x64_tn",
                       int early = 0) {
  std::string text =
      R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA A100-SXM4-80GB"}],)"
      R"("traceEvents":[)";
  int id = 0;
  const auto event = [&](const std::string& fields) {
    text += (id++ == 0 ? "\n{" : ",\n{") + fields + "}";
  };
  const auto launch = [&](int correlation, int at) {
    event(R"("ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":)" +
          std::to_string(at) + R"(,"dur":2,"args":{"correlation":)" + std::to_string(correlation) +
          "}");
  };
  const auto kernel = [&](const std::string& name, int correlation, int at, int length,
                          const std::string& stream = "7") {
    event(R"("ph":"X","cat":"kernel","name":")" + name + R"(","pid":0,"tid":)" + stream +
          R"(,"ts":)" + std::to_string(at) + R"(,"dur":)" + std::to_string(length) +
          R"(,"args":{"correlation":)" + std::to_string(correlation) + R"(,"device":0,"stream":)" +
          stream + R"(,"grid":[1024,1,1],"block":[256,1,1]})");
  };
  for (int i = 0; i < pairs; ++i) {
    launch(2 * i + 1, 10 * i);
    launch(2 * i + 2, 10 * i + 5);
    kernel(gemm, 2 * i + 1, 20 + 700 * i, 500);
    kernel("vectorized_elementwise_kernel<4, CUDAFunctor_add>", 2 * i + 2, 520 - early + 700 * i,
           200, early > 0 ? "9" : "7");
  }
  const int end = 20 + 700 * pairs;
  event(R"("ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":1,"tid":1,"ts":)" +
        std::to_string(10 * pairs) + R"(,"dur":)" + std::to_string(end + 10 - 10 * pairs) +
        R"(,"args":{"correlation":0})");
  return text + "\n]}\n";
}

struct Job {
  trace::EventTable table;
  std::optional<graph::Graph> graph;
  model::FoundDevice device;
  Window window;
};

void load(Job& job, const std::string& text) {
  const auto source = io::memory_source(text);
  job.table = trace::read_trace(*source).value();
  job.graph = graph::build(job.table).value();
  job.device = model::find_device("a100").value();
  job.window = choose_window(*job.graph, true).value();
}

TracePacks packs_of(const Job& job, const TraceOptions& options = {.switch_latency = Seconds(0)}) {
  auto nodes =
      node_models(*job.graph, job.window, job.device.device, job.device.device.default_clock);
  return cut_packs(*job.graph, job.window, nodes.value().models, job.device.device, options)
      .value();
}

TEST(TracePacks, DefaultClocksCostTheTracesTime) {
  Job job;
  load(job, trace_text(20));
  const TracePacks packs = packs_of(job);
  ASSERT_GE(packs.problem.packs.size(), 20U);
  const Choice choice = default_choice(packs.problem);
  const double window_s = to_seconds(job.window.end_ns - job.window.begin_ns).si();
  EXPECT_NEAR(evaluate(packs.problem, choice).time_s, window_s, 1e-9);
  EXPECT_NEAR(retime_choice(*job.graph, packs, choice), window_s, 1e-9);
}

TEST(TracePacks, ThePlanKeepsItsBoundWhenTheGraphIsRetimed) {
  Job job;
  load(job, trace_text(40));
  for (const double slowdown : {0.0, 0.01, 0.05, 0.2}) {
    TracePacks packs = packs_of(job);
    const Outcome out =
        decide_trace(*job.graph, packs, {.max_slowdown = slowdown, .deadline = {}}).value();
    EXPECT_LE(retime_choice(*job.graph, packs, out.plan.choice), out.deadline_s * (1 + 1e-9));
    EXPECT_LE(out.plan.lower_bound_j, out.plan.value.energy_j * (1 + 1e-9));
    EXPECT_LE(finest_bound(*job.graph, packs, out.deadline_s),
              out.plan.value.energy_j * (1 + 1e-9));
    EXPECT_LE(out.plan.value.energy_j, out.default_value.energy_j * (1 + 1e-9));
    if (slowdown > 0) {
      EXPECT_LT(out.plan.value.energy_j, out.default_value.energy_j);
      // Kernels that wait for memory are slowed first: more than one clock for all can.
      ASSERT_TRUE(out.uniform.has_value());
      EXPECT_LT(out.plan.value.energy_j, out.uniform->value.energy_j);
    }
  }
}

TEST(TracePacks, OfALatePlanIsLeftWhatIsInTime) {
  Job job;
  load(job, trace_text(40));
  const TracePacks packs = packs_of(job);
  const Choice fastest = default_choice(packs.problem);
  const double default_s = evaluate(packs.problem, fastest).time_s;
  Solution late;
  for (const Pack& pack : packs.problem.packs)
    late.choice.push_back(static_cast<std::uint32_t>(pack.options.size() / 2));
  late.value = evaluate(packs.problem, late.choice);
  const double limit = default_s * 1.02;
  ASSERT_GT(retimed_time(*job.graph, packs, late), limit);
  const auto rest = hold_back(*job.graph, packs, late, limit);
  ASSERT_TRUE(rest.has_value());
  EXPECT_LE(retimed_time(*job.graph, packs, *rest), limit);
  EXPECT_LT(rest->value.energy_j, evaluate(packs.problem, fastest).energy_j);
  // Not less than could be: any one pack more of the late plan is too late or saves nothing.
  for (std::size_t i = 0; i < rest->choice.size(); ++i) {
    if (rest->choice[i] == late.choice[i]) continue;
    Solution more = *rest;
    more.choice[i] = late.choice[i];
    more.value = evaluate(packs.problem, more.choice);
    EXPECT_TRUE(retimed_time(*job.graph, packs, more) > limit ||
                more.value.energy_j >= rest->value.energy_j);
  }
  EXPECT_FALSE(hold_back(*job.graph, packs, late, default_s * 0.9).has_value());
}

TEST(TracePacks, SlowSwitchingLeavesOneClock) {
  Job job;
  load(job, trace_text(20));  // 14 ms
  TracePacks packs = packs_of(job, {.switch_latency = Seconds(0.025)});
  const Outcome out =
      decide_trace(*job.graph, packs, {.max_slowdown = 0.05, .deadline = {}}).value();
  EXPECT_TRUE(out.uniform_is_best);
  EXPECT_EQ(out.plan.value.switches, 0U);
}

TEST(TracePacks, UnknownWorkStaysAtTheTracesClock) {
  Job job;
  load(job, trace_text(20, "mystery"));
  const TracePacks packs = packs_of(job);
  EXPECT_GT(packs.known_s[static_cast<std::size_t>(model::Known::kUnknown)], 0.0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < packs.packs.size(); ++i) {
    if (packs.packs[i].first_operation != "mystery" || packs.packs[i].operations > 1) continue;
    ++kept;
    ASSERT_EQ(packs.problem.packs[i].options.size(), 1U);
    EXPECT_EQ(packs.problem.packs[i].options.front().clock_hz, packs.table.reference.si());
  }
  EXPECT_GT(kept, 0U);
}

TEST(TracePacks, AnIdleTailAfterTheLastHostWorkIsDelayedToo) {
  // One annotated step that ends 200 us after the synchronisation of its last kernel.
  std::string text = trace_text(4);
  const std::string step =
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0,"dur":3030},)";
  text.insert(text.find("{\"ph\""), step);
  Job job;
  load(job, text);
  job.window = choose_window(*job.graph, false).value();
  ASSERT_EQ(job.window.step, "ProfilerStep#1");
  const TracePacks packs = packs_of(job);
  const std::vector<double> times = window_times(*job.graph, packs);
  const double observed = to_seconds(job.window.end_ns - job.window.begin_ns).si();
  EXPECT_NEAR(observed, 3030e-6, 1e-9);
  // 4 x 700 us of kernels, all on the critical path: at the next lower clock they take longer.
  EXPECT_GT(times[times.size() - 2], observed * 1.001);
}

TEST(TracePacks, CuttingFinerChangesNoEnergy) {
  Job job;
  load(job, trace_text(30, "ampere_sgemm_128x64_tn", 100));
  const TracePacks fine = packs_of(job);
  const TracePacks coarse = packs_of(job, {.switch_latency = Seconds(0), .max_packs = 4});
  ASSERT_GT(fine.problem.packs.size(), coarse.problem.packs.size());
  const auto energy = [](const TracePacks& packs) {
    return evaluate(packs.problem, default_choice(packs.problem)).energy_j;
  };
  EXPECT_NEAR(energy(fine), energy(coarse), 1e-9 * energy(fine));
}

TEST(TracePacks, CalibratedPacksSayWhatRetimingSays) {
  Job job;
  load(job, trace_text(30));
  TracePacks packs = packs_of(job);
  calibrate_delays(*job.graph, packs);
  const std::vector<double> times = window_times(*job.graph, packs);
  double most = 0;  // of the re-timed growth, what packs say beyond it
  for (std::size_t k = 0; k + 1 < times.size(); ++k) {
    const Choice choice(packs.problem.packs.size(), static_cast<std::uint32_t>(k));
    const double growth = times[k] / times.back() - 1;
    if (growth <= 0 || growth > 0.3) continue;
    const double planned = evaluate(packs.problem, choice).time_s / times.back() - 1;
    EXPECT_GE(planned, growth * (1 - 1e-6));  // never less than re-timing says
    most = std::max(most, planned / growth - 1);
  }
  EXPECT_LT(most, 0.05);
}

TEST(TracePacks, NoSingleClockLiesBelowTheFrontier) {
  Job job;
  load(job, trace_text(12));
  TracePacks packs = packs_of(job);
  ASSERT_TRUE(decide_trace(*job.graph, packs, {.max_slowdown = 0.05, .deadline = {}}).has_value());
  const auto line = frontier_trace(*job.graph, packs, 20).value();
  ASSERT_GE(line.size(), 20U);
  for (std::size_t i = 0; i < line.size(); ++i) {
    EXPECT_LE(line[i].solution.lower_bound_j, line[i].solution.value.energy_j);
    if (i == 0) continue;
    EXPECT_GE(line[i].deadline_s, line[i - 1].deadline_s);
    EXPECT_LE(line[i].solution.value.energy_j, line[i - 1].solution.value.energy_j);
    EXPECT_LE(line[i].solution.lower_bound_j, line[i - 1].solution.lower_bound_j);
  }
  // Each point is of use, in time when re-timed, and contradicts no bound of a later one.
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Solution& here = line[i].solution;
    EXPECT_LE(retime_choice(*job.graph, packs, here.choice), line[i].deadline_s * (1 + 1e-9));
    EXPECT_LE(here.lower_bound_j, here.value.energy_j);
    if (i == 0) continue;
    EXPECT_GT(line[i].deadline_s, line[i - 1].deadline_s);
    EXPECT_LE(here.value.energy_j, line[i - 1].solution.value.energy_j);
    EXPECT_LE(here.lower_bound_j, line[i - 1].solution.value.energy_j);
  }
  for (const Uniform& uniform : uniform_clocks(*job.graph, packs)) {
    for (const FrontierPoint& p : line) {
      if (p.deadline_s < uniform.value.time_s) continue;
      EXPECT_LE(p.solution.value.energy_j, uniform.value.energy_j * (1 + 1e-12));
      break;
    }
  }
}

std::vector<double> clocks_of(const TracePacks& packs, const Choice& choice) {
  std::vector<double> hz;
  hz.reserve(choice.size());
  for (std::size_t i = 0; i < choice.size(); ++i)
    hz.push_back(packs.problem.packs[i].options[choice[i]].clock_hz);
  return hz;
}

TEST(Spread, HoldsTheFigureAndIsExactAboutTheObservedTime) {
  Job job;
  load(job, trace_text(20));
  TracePacks packs = packs_of(job);
  const Outcome out =
      decide_trace(*job.graph, packs, {.max_slowdown = 0.05, .deadline = {}}).value();
  const auto before =
      spread_of(packs, clocks_of(packs, out.default_choice), out.default_value, out.default_value);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->time_low_s, before->time_high_s);
  EXPECT_EQ(before->saved_low, 0);
  EXPECT_EQ(before->saved_high, 0);
  EXPECT_LT(before->energy_low_j, out.default_value.energy_j);
  EXPECT_GT(before->energy_high_j, out.default_value.energy_j);
  const auto plan =
      spread_of(packs, clocks_of(packs, out.plan.choice), out.plan.value, out.default_value);
  ASSERT_TRUE(plan.has_value());
  EXPECT_LT(plan->time_low_s, out.plan.value.time_s);
  EXPECT_GT(plan->time_high_s, out.plan.value.time_s);
  EXPECT_GE(plan->time_low_s, out.default_value.time_s * (1 - 1e-9));
  EXPECT_LT(plan->energy_low_j, out.plan.value.energy_j);
  EXPECT_GT(plan->energy_high_j, out.plan.value.energy_j);
  EXPECT_LT(plan->saved_low, plan->saved_high);
}

TEST(Spread, MeasuredResponsesHaveNone) {
  Job job;
  load(job, trace_text(4));
  std::vector<MeasuredRow> rows;
  for (const double mhz : {1005.0, 1200.0, 1410.0}) {
    rows.push_back(
        {.pack = "ampere_sgemm_128x64_tn", .option = {mhz * 1e6, 1.41e-3 / mhz, 0.1 * mhz / 1410}});
  }
  const auto measured = measured_nodes(*job.graph, job.window, job.device.device,
                                       job.device.device.default_clock, rows);
  ASSERT_TRUE(measured.has_value()) << measured.error().message;
  const TracePacks packs = cut_packs(*job.graph, job.window, measured->models, job.device.device,
                                     {.switch_latency = Seconds(0), .curves = measured->curves})
                               .value();
  const Choice choice = default_choice(packs.problem);
  const Evaluation value = evaluate(packs.problem, choice);
  EXPECT_FALSE(spread_of(packs, clocks_of(packs, choice), value, value).has_value());
}

}  // namespace
}  // namespace ergon::plan
