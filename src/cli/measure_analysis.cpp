// From readings to what `ergon measure` tells of each GPU and run, with what makes it doubtful.
#include <algorithm>
#include <set>

#include "measure_parts.hpp"

namespace ergon::cli {
namespace {

void warn_of_gpu(Context& context, const MeasuredGpu& gpu, std::uint64_t refused) {
  const std::string who = "GPU " + gpu.identity.id;
  if (refused > 0 && !gpu.repeats_sensor) {
    context.warn("impossible_readings",
                 who + ": the driver gave readings that cannot be true, which are left out",
                 refused);
  }
  if (gpu.failure)
    context.warn("gpu_lost", who + " could not be read to the end: " + gpu.failure->message);
  if (!gpu.identity.mig_parent_uuid.empty())
    context.warn("mig", who + " is a MIG instance: power and energy are those of the whole GPU");
  if (gpu.counter_scope == gpu::Scope::kModule) {
    context.warn("module_scope",
                 who + ": the energy counter covers the whole module, with CPU and memory");
  }
}

void analyse_run(Context& context, const Measurement& m, MeasuredRun& run,
                 std::set<std::string>& unseen) {
  std::vector<std::optional<Estimate>> energies;
  std::vector<std::optional<Estimate>> above;
  std::vector<run::GpuView> views;
  for (const MeasuredGpu& gpu : m.gpus) {
    auto result =
        run::result_of(gpu.series, gpu.sensor, run.record.window, gpu.idle_power_w, gpu.gain95);
    if (!result.energy.energy_j && gpu.failure)
      result.energy.why_unknown = "cannot be known: " + gpu.failure->message;
    if (!gpu.repeats_sensor) {
      energies.push_back(result.energy.energy_j);
      above.push_back(result.above_idle_j);
      views.push_back({&gpu.series, &gpu.sensor, gpu.gain95});
    }
    if (result.energy.contradict) {
      context.warn("estimators_contradict", "energy counter and power samples of GPU " +
                                                gpu.identity.id +
                                                " contradict each other: the interval holds both");
    }
    // Once a GPU, whatever the number of runs.
    if (result.energy.unseen_share && unseen.insert(gpu.identity.id).second)
      context.warn("unseen_power", unseen_text(gpu.identity.id, *result.energy.unseen_share));
    run.gpus.push_back(std::move(result));
  }
  run.total_j = run::sum_of(energies);
  run.above_idle_j = run::sum_of(above);
  run.regions = run::region_results(run.record.marks, run.record.window, views);
  for (const auto& region : run.regions) {
    if (region.cut)
      context.warn("region_cut", "the program ended inside of region '" + region.name + "'");
    // What was said of the whole run holds for its parts.
    if (!region.unseen_share || !unseen.empty()) continue;
    if (unseen.insert("region " + region.name).second) {
      context.warn("unseen_power", "region '" + region.name + "': power samples alone tell, and " +
                                       unseen_part_text(*region.unseen_share));
    }
  }
}

}  // namespace

void measured_gpus(Context& context, std::span<gpu::Gpu* const> gpus,
                   run::Observation::Readings& readings, Measurement& m) {
  std::set<std::string> owners;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    MeasuredGpu one;
    one.identity = gpus[g]->identity();
    if (const auto source = gpus[g]->power_source()) one.source = *source;
    if (const auto scope = gpus[g]->energy_scope()) one.counter_scope = *scope;
    one.series = std::move(readings.series[g]);
    one.failure = readings.failures[g];
    one.gain95 = run::stated_gain95(one.identity);
    one.sensor = run::sensor_of(one.series, one.identity, one.source);
    const auto idle = run::idle_power(one.series, one.sensor, m.idle, one.gain95);
    one.idle_power_w = idle.power_w;
    one.repeats_sensor = !owners.insert(one.identity.sensor_owner()).second;
    m.simulated = m.simulated || one.identity.simulated;
    warn_of_gpu(context, one, readings.refused[g]);
    if (idle.unseen_share && !one.repeats_sensor) {
      context.warn("unseen_power", "idle power of GPU " + one.identity.id +
                                       ": power samples alone tell, and " +
                                       unseen_part_text(*idle.unseen_share));
    }
    m.gpus.push_back(std::move(one));
  }
}

void analyse_runs(Context& context, Measurement& m) {
  std::set<std::string> unseen;  // GPUs and regions that were warned of
  for (MeasuredRun& run : m.runs) analyse_run(context, m, run, unseen);
}

}  // namespace ergon::cli
