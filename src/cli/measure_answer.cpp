// The answer of `ergon measure`: JSON by the contract, and tables for people.
#include <algorithm>
#include <cmath>

#include "figures.hpp"
#include "gpu_input.hpp"
#include "measure_parts.hpp"
#include "planning.hpp"

namespace ergon::cli {
namespace {

Value words_or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value gpu_result_value(const MeasuredGpu& gpu, const run::GpuResult& result) {
  Value out = Value::object();
  const auto& energy = result.energy;
  out.set("id", gpu.identity.id).set("uuid", gpu.identity.uuid);
  set_estimate(out, "energy_j", energy.energy_j);
  out.set("why_unknown", words_or_null(energy.energy_j ? "" : energy.why_unknown));
  out.set("window_needed_s", energy.window_needed ? Value(energy.window_needed->si()) : Value());
  set_estimate(out, "energy_counter_j", energy.counter.energy_j);
  out.set("counter_refused", words_or_null(energy.counter.refused));
  set_estimate(out, "energy_trapezoid_j", energy.trapezoid.energy_j);
  out.set("trapezoid_refused", words_or_null(energy.trapezoid.refused));
  out.set("chosen", words_or_null(energy.chosen));
  out.set("coverage", energy.energy_j ? Value(energy.coverage) : Value());
  out.set("unseen_share", or_null(energy.unseen_share));
  out.set("disagreement", or_null(energy.disagreement));
  out.set("contradict", energy.contradict);
  set_estimate(out, "above_idle_j", result.above_idle_j);
  if (!gpu.identity.simulated) {
    Value supply;
    if (energy.supply_energy_j)
      supply.push(energy.supply_energy_j->low).push(energy.supply_energy_j->high);
    out.set("supply_energy_j_ci95", std::move(supply));
  }
  Value doubts = Value::array();
  const auto& told =
      std::string_view(energy.chosen) == "trapezoid" ? energy.trapezoid : energy.counter;
  for (const auto& doubt : told.doubts) {
    doubts.push(Value::object().set("what", doubt.what).set("half_width_j", doubt.half_width_j));
  }
  out.set("doubts", std::move(doubts));
  Value notes = Value::array();
  for (const auto* estimate : {&energy.counter, &energy.trapezoid}) {
    for (const auto& note : estimate->notes) notes.push(note);
  }
  out.set("notes", std::move(notes));
  out.set("power_w", or_null(result.power_w))
      .set("clock_hz", or_null(result.clock_hz))
      .set("clock_min_hz", or_null(result.clock_least_hz))
      .set("clock_max_hz", or_null(result.clock_most_hz))
      .set("memory_clock_hz", or_null(result.memory_clock_hz));
  out.set("throttled", result.throttled_share ? Value(*result.throttled_share > 0) : Value())
      .set("throttled_share", or_null(result.throttled_share))
      .set("throttle_reasons",
           result.throttled_share ? Value(gpu::Throttle{result.throttle_bits}.names()) : Value());
  out.set("temperature_c", or_null(result.temperature_c))
      .set("temperature_max_c", or_null(result.temperature_most_c))
      .set("utilization", or_null(result.utilization));
  out.set("shares_sensor", gpu.repeats_sensor || !gpu.identity.mig_parent_uuid.empty());
  return out;
}

Value region_value(const run::RegionResult& region) {
  Value out = Value::object();
  out.set("name", region.name)
      .set("count", std::uint64_t{region.count})
      .set("time_s", region.time.si())
      .set("covered_s", region.covered.si());
  set_estimate(out, "energy_j", region.energy_j);
  out.set("why_unknown", words_or_null(region.why_unknown))
      .set("window_needed_s",
           region.window_needed && !region.energy_j ? Value(region.window_needed->si()) : Value())
      .set("method", words_or_null(region.method))
      .set("unseen_share", or_null(region.unseen_share))
      .set("cut", region.cut);
  return out;
}

Value sensor_value(const MeasuredGpu& gpu) {
  Value out = Value::object();
  const auto put = [&](const char* key, const std::optional<Estimate>& part) {
    out.set(key, part ? Value(part->value) : Value());
    out.set(std::string(key) + "_origin", part ? Value(to_string(part->origin)) : Value());
  };
  out.set("power", gpu.source ? Value(gpu.source->description) : Value())
      .set("counter_scope",
           gpu.counter_scope ? Value(gpu::to_string(*gpu.counter_scope)) : Value());
  put("update_period_s", gpu.sensor.update_period_s);
  put("averaging_window_s", gpu.sensor.averaging_window_s);
  put("energy_tick_s", gpu.sensor.energy_tick_s);
  out.set("gain95", gpu.gain95 > 0 ? Value(gpu.gain95) : Value());
  return out;
}

Value measured_run_value(const Measurement& m, const MeasuredRun& run) {
  Value out = Value::object();
  out.set("time_s", run.record.window.length().si());
  Value gpus = Value::array();
  for (std::size_t g = 0; g < m.gpus.size(); ++g)
    gpus.push(gpu_result_value(m.gpus[g], run.gpus[g]));
  out.set("gpus", std::move(gpus));
  Value total = Value::object();
  set_estimate(total, "energy_j", run.total_j);
  set_estimate(total, "above_idle_j", run.above_idle_j);
  out.set("total", std::move(total));
  out.set("cpu", Value::object()
                     .set("energy_j", or_null(run.cpu_j))
                     .set("why_unknown", words_or_null(run.cpu_j ? "" : m.cpu_why_unknown)));
  const auto& ending = run.record.ending;
  out.set("exit_status", ending ? Value(ending->status) : Value());
  out.set("program_cpu_s",
          ending ? Value((ending->user_time + ending->system_time).si()) : Value());
  out.set("aligned", run.record.aligned);
  Value regions = Value::array();
  for (const auto& region : run.regions) regions.push(region_value(region));
  out.set("regions", std::move(regions));
  return out;
}

}  // namespace

std::vector<const MeasuredRun*> counted_runs(const Measurement& m) {
  std::vector<const MeasuredRun*> runs;
  for (const auto& run : m.runs) {
    if (!run.record.ending || run.record.ending->status == 0) runs.push_back(&run);
  }
  if (!runs.empty()) return runs;
  for (const auto& run : m.runs) runs.push_back(&run);
  return runs;
}

std::vector<run::RegionResult> regions_over_runs(const Measurement& m) {
  const auto runs = counted_runs(m);
  if (runs.size() == 1) return runs.front()->regions;
  std::vector<run::RegionResult> out;
  std::vector<std::vector<std::optional<Estimate>>> energies;
  std::vector<double> seen;
  for (const MeasuredRun* run : runs) {
    for (const auto& region : run->regions) {
      std::size_t at = 0;
      while (at < out.size() && out[at].name != region.name) ++at;
      if (at == out.size()) {
        out.push_back({.name = region.name,
                       .count = 0,
                       .time = {},
                       .covered = {},
                       .cut = false,
                       .energy_j = std::nullopt,
                       .why_unknown = {},
                       .window_needed = std::nullopt,
                       .method = region.method});
        energies.emplace_back();
        seen.push_back(0);
      }
      auto& sum = out[at];
      sum.count += region.count;
      sum.time += region.time;
      sum.covered += region.covered;
      sum.cut = sum.cut || region.cut;
      if (!region.energy_j && sum.why_unknown.empty()) sum.why_unknown = region.why_unknown;
      if (region.window_needed) sum.window_needed = region.window_needed;
      if (region.method == "fitted") sum.method = region.method;
      if (region.unseen_share)
        sum.unseen_share = std::max(sum.unseen_share.value_or(0), *region.unseen_share);
      energies[at].push_back(region.energy_j);
      seen[at] += 1;
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].time = out[i].time / seen[i];
    out[i].covered = out[i].covered / seen[i];
    out[i].count =
        static_cast<std::size_t>(std::llround(static_cast<double>(out[i].count) / seen[i]));
    out[i].energy_j = run::mean_of(energies[i]);
    if (out[i].energy_j) {
      out[i].why_unknown.clear();
    } else {
      out[i].method.clear();
    }
  }
  return out;
}

namespace {
template <class F>
std::optional<Estimate> mean_over_runs(const Measurement& m, F part) {
  std::vector<std::optional<Estimate>> all;
  for (const MeasuredRun* run : counted_runs(m)) all.push_back(part(*run));
  return run::mean_of(all);
}
}  // namespace

std::optional<Estimate> mean_time(const Measurement& m) {
  return mean_over_runs(m, [](const MeasuredRun& run) -> std::optional<Estimate> {
    const double s = run.record.window.length().si();
    return Estimate{s, s, s, Origin::kMeasured};
  });
}
std::optional<Estimate> mean_energy(const Measurement& m) {
  return mean_over_runs(m, [](const MeasuredRun& run) { return run.total_j; });
}
std::optional<Estimate> mean_above_idle(const Measurement& m) {
  return mean_over_runs(m, [](const MeasuredRun& run) { return run.above_idle_j; });
}

Answer measure_answer(const Measurement& m) {
  Answer answer{
      .command = "measure", .headline = measured_headline(m), .lines = measured_sentences(m)};
  Value program;
  for (const auto& word : m.program) program.push(word);
  answer.data.set("program", std::move(program))
      .set("pid", m.pid ? Value(*m.pid) : Value())
      .set("created_utc", words_or_null(m.created_utc));
  Value gpus = Value::array();
  for (const auto& gpu : m.gpus) {
    Value one = Value::object();
    one.set("id", gpu.identity.id)
        .set("uuid", gpu.identity.uuid)
        .set("name", gpu.identity.name)
        .set("pci", words_or_null(gpu.identity.pci))
        .set("driver", words_or_null(gpu.identity.driver))
        .set("simulated", gpu.identity.simulated)
        .set("recorded", gpu.identity.recorded)
        .set("sensor_owner", gpu.identity.sensor_owner())
        .set("sensor", sensor_value(gpu));
    set_estimate(one, "idle_power_w", gpu.idle_power_w);
    one.set("failure", gpu.failure ? Value(gpu.failure->message) : Value());
    gpus.push(std::move(one));
  }
  answer.data.set("gpus", std::move(gpus));
  Value runs = Value::array();
  for (const auto& run : m.runs) runs.push(measured_run_value(m, run));
  answer.data.set("runs", std::move(runs));
  Value mean = Value::object();
  set_estimate(mean, "time_s", mean_time(m));
  if (counted_runs(m).size() < 2) mean.set("time_s_ci95", Value());  // one time has no spread
  set_estimate(mean, "energy_j", mean_energy(m));
  set_estimate(mean, "above_idle_j", mean_above_idle(m));
  mean.set("runs", std::uint64_t{counted_runs(m).size()});
  answer.data.set("mean", std::move(mean));
  const auto regions = regions_over_runs(m);
  Value list = Value::array();
  for (const auto& region : regions) list.push(region_value(region));
  answer.data.set("regions", std::move(list));
  const double wall = m.cost.wall_time.si();
  answer.data.set("sampling",
                  Value::object()
                      .set("interval_s", to_seconds(m.interval_ns).si())
                      .set("readings", m.cost.readings)
                      .set("late", m.cost.late)
                      .set("cpu_share", wall > 0 ? Value(m.cost.cpu_time.si() / wall) : Value()));
  answer.csv = measure_csv(m);
  answer.tables.push_back(runs_table(m));
  answer.tables.push_back(estimators_table(m));
  if (!regions.empty()) {
    answer.tables.push_back(regions_table(regions));
    if (auto unknown = unknown_regions_table(regions); !unknown.rows.empty())
      answer.tables.push_back(std::move(unknown));
  }
  return answer;
}

}  // namespace ergon::cli
