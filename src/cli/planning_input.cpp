// Traces to packs for `pack` and `plan`: reading, the device, the graph, the cut.
#include <algorithm>
#include <utility>

#include "planning.hpp"
#include "trace_input.hpp"

namespace ergon::cli {
namespace {

// A device file that `ergon device check` refuses is not planned with.
Status refuse_faulty(const model::FoundDevice& found) {
  for (const auto& finding : model::check_device(found.device)) {
    if (finding.severity != model::Finding::Severity::kError) continue;
    return fail(Errc::kMalformedInput, found.origin + ": " + finding.field + ": " + finding.message,
                "'ergon device check FILE' lists everything that is wrong with it");
  }
  return {};
}

Result<model::FoundDevice> device_for(Context& context, const graph::Graph& graph) {
  std::string seen;
  for (const auto& gpu : graph.gpus()) {
    if (seen.empty()) seen = gpu.name;
    if (!gpu.name.empty() && gpu.name != seen) {
      context.warn("several_devices", "the trace has GPUs of several types (" + seen + ", " +
                                          gpu.name + "); all are priced as one");
      break;
    }
  }
  if (const auto name = context.text("device")) {
    ERGON_TRY(auto found, model::find_device(*name));
    ERGON_TRY_STATUS(refuse_faulty(found));
    if (!seen.empty() && !model::is_device(found.device, seen)) {
      context.warn("wrong_device", "the trace was recorded on " + seen + ", but it is priced as " +
                                       found.device.name);
    }
    return found;
  }
  if (seen.empty()) {
    return fail(Errc::kInvalidArgument, "the trace does not say which GPU it ran on",
                "say it: --device a100");
  }
  auto found = model::find_device_of_trace(seen);
  if (!found) {
    found.error().hint =
        "name a device file that comes close, e.g. --device a100; " + found.error().hint;
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<TraceJob>> load_trace_job(Context& context, std::vector<InputFile>& files,
                                                 std::span<const plan::MeasuredRow> rows) {
  auto job = std::make_unique<TraceJob>();
  double mark = cpu_seconds();
  const auto lap = [&mark] {
    const double now = cpu_seconds();
    return now - std::exchange(mark, now);
  };
  ERGON_TRY(job->tables, read_tables(context, files));
  job->read_cpu_s = lap();
  context.stage("building the graph");
  std::vector<const trace::EventTable*> pointers;
  for (const auto& table : job->tables) pointers.push_back(&table);
  ERGON_TRY(job->graph, graph::build(pointers));
  for (const auto& note : job->graph->notes()) context.warn(note.code, note.message, note.count);
  job->build_cpu_s = lap();
  const graph::Graph& graph = *job->graph;
  const bool whole = context.text("steps").value_or("auto") == "all";
  ERGON_TRY(const plan::Window window, plan::choose_window(graph, whole));
  ERGON_TRY(job->device, device_for(context, graph));
  if (!job->device.note.empty()) context.warn("device_choice", job->device.note);

  context.stage("cutting packs");
  plan::TraceOptions options;
  if (const auto v = context.number("trace-clock")) options.trace_clock = Hertz(*v);
  if (const auto v = context.number("switch-latency")) options.switch_latency = Seconds(*v);
  if (const auto v = context.number("switch-energy")) options.switch_energy = Joules(*v);
  if (const auto v = context.number("min-run")) options.min_run = Seconds(*v);
  const Hertz clock = options.trace_clock.value_or(job->device.device.default_clock);
  plan::NodeModels models;
  std::uint64_t power_capped = 0;
  if (rows.empty()) {
    ERGON_TRY(auto classified, plan::node_models(graph, window, job->device.device, clock));
    models = std::move(classified.models);
    power_capped = classified.power_capped;
  } else {
    ERGON_TRY(auto measured, plan::measured_nodes(graph, window, job->device.device, clock, rows));
    models = std::move(measured.models);
    options.curves = std::move(measured.curves);
    if (measured.unmeasured > 0) {
      context.warn("not_measured",
                   "kernels without a measurement are priced as if their time grew as 1/clock",
                   measured.unmeasured);
    }
  }
  ERGON_TRY(job->packs,
            plan::cut_packs(graph, window, std::move(models), job->device.device, options));
  job->cut_cpu_s = lap();
  job->packs.power_capped = power_capped;

  const plan::TracePacks& packs = job->packs;
  if (packs.trace_clock_assumed) {
    context.warn("trace_clock_assumed", "the trace does not hold its clock; " +
                                            clock_text(packs.table.reference.si()) +
                                            " is assumed (--trace-clock)");
  }
  if (packs.below_break > 0) {
    context.warn("below_regime_break",
                 "clocks below the regime break of " + job->device.device.name +
                     " are not offered: nothing is known of times there",
                 packs.below_break);
  }
  double all = 0;
  for (const double s : packs.known_s) all += s;
  const double unknown = packs.known_s[static_cast<std::size_t>(model::Known::kUnknown)];
  if (all > 0 && unknown > 0.01 * all) {
    context.warn("unknown_response",
                 percent_text(unknown / all) +
                     " of the GPU time is of kernels whose clock response is unknown: it is "
                     "priced as if it grew as 1/clock; in a plan of several clocks, packs of "
                     "mostly such kernels keep the trace's clock");
  }
  return job;
}

}  // namespace ergon::cli
