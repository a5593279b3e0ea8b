// A sweep in its run file.
#include <algorithm>

#include "ergon/io.hpp"
#include "measure_store.hpp"
#include "sweep_parts.hpp"

namespace ergon::cli {
namespace {

constexpr const char* kPlan = "sweep.plan";
constexpr const char* kOffset = "sweep.utc_offset_ns";

std::optional<double> si(const std::optional<Hertz>& clock) {
  return clock ? std::optional(clock->si()) : std::nullopt;
}
std::optional<double> si(const std::optional<Watts>& limit) {
  return limit ? std::optional(limit->si()) : std::nullopt;
}

// Two sweeps are the same where this text is.
std::string plan_text(const SweepAnswer& sweep, const std::vector<SweepRow>& rows) {
  std::string text = "program";
  for (const auto& word : sweep.program) text += " " + io::to_json(Value(word), 0);
  text += "\nruns " + std::to_string(sweep.repeats) + "\n";
  for (const auto& gpu : sweep.gpus) text += "gpu " + gpu.uuid + "\n";
  for (const SweepRow& row : rows)
    text += (row.baseline ? "baseline " : "point ") + run::to_string(row.setting) + "\n";
  return text;
}

meter::StoredPoint stored_point(const SweepRow& row, std::int64_t index) {
  meter::StoredPoint point;
  point.id = row.stored_id;
  point.order_index = index;
  point.baseline = row.baseline;
  point.parameters = row.setting.parameters;
  point.asked_clock_hz = si(row.setting.core);
  point.asked_memory_clock_hz = si(row.setting.memory);
  point.asked_power_limit_w = si(row.setting.limit);
  point.clock_hz = row.clock_hz;
  point.memory_clock_hz = row.memory_clock_hz;
  point.state = row.state;
  if (row.state != "planned") point.valid = row.valid;
  point.reason = row.reason;
  return point;
}

// The figures of a point again from its runs.
void recall_figures(SweepRow& row, const std::vector<meter::StoredRun>& runs) {
  std::vector<std::optional<Estimate>> energies;
  std::vector<std::optional<Estimate>> times;
  for (const auto& stored_run : runs) {
    if (stored_run.point != row.stored_id || stored_run.warmup) continue;
    std::vector<std::optional<Estimate>> parts;
    for (const auto& energy : stored_run.energies) {
      parts.push_back(energy.energy_j);
      if (energy.temperature_c)
        row.temperature_c = std::max(row.temperature_c.value_or(0), *energy.temperature_c);
    }
    energies.push_back(run::sum_of(parts));
    const double seconds = stored_run.window.length().si();
    times.push_back(Estimate{seconds, seconds, seconds, Origin::kMeasured});
  }
  row.runs = static_cast<int>(energies.size());
  row.energy_j = run::mean_of(energies);
  row.time_s = run::mean_of(times);
}

}  // namespace

Result<SweepFile> SweepFile::create(const std::string& path, const meter::Provenance& provenance,
                                    const SweepAnswer& sweep, std::vector<SweepRow>& rows,
                                    std::int64_t utc_offset_ns) {
  meter::Provenance told = provenance;
  told.more.emplace_back(kPlan, plan_text(sweep, rows));
  told.more.emplace_back(kOffset, std::to_string(utc_offset_ns));
  ERGON_TRY(auto file, meter::RunFile::create(path, told));
  std::int64_t index = 0;
  for (SweepRow& row : rows) {
    ERGON_TRY(row.stored_id, file.add_point(stored_point(row, index)));
    ++index;
  }
  return SweepFile(std::move(file), 0, utc_offset_ns);
}

Result<SweepFile> SweepFile::resume(const std::string& path, const SweepAnswer& sweep,
                                    std::vector<SweepRow>& rows, std::int64_t utc_offset_ns) {
  ERGON_TRY(auto file, meter::RunFile::open(path, true));
  ERGON_TRY(const auto provenance, file.provenance());
  const auto fact = [&](const char* name) -> std::string {
    for (const auto& [key, value] : provenance.more) {
      if (key == name) return value;
    }
    return {};
  };
  if (fact(kPlan) != plan_text(sweep, rows)) {
    return fail(Errc::kInvalidArgument, "'" + path + "' is of another sweep than this command line",
                "resume with the program, GPU and flags it was started with, the seed too: " +
                    provenance.command_line);
  }
  ERGON_TRY(const auto points, file.points());
  ERGON_TRY(const auto runs, file.runs());
  for (const auto& point : points) {
    const auto index = static_cast<std::size_t>(point.order_index);
    if (index >= rows.size()) continue;
    SweepRow& row = rows[index];
    row.stored_id = point.id;
    row.state = point.state;
    row.valid = point.valid.value_or(false);
    row.reason = point.reason;
    row.clock_hz = point.clock_hz;
    row.memory_clock_hz = point.memory_clock_hz;
    if (row.state == "done") recall_figures(row, runs);
  }
  const std::string base = fact(kOffset);
  const std::int64_t offset = parse_number<std::int64_t>(base).value_or(utc_offset_ns);
  return SweepFile(std::move(file), utc_offset_ns - offset, offset);
}

Status SweepFile::add_gpus(const std::vector<gpu::Gpu*>& gpus) {
  for (gpu::Gpu* gpu : gpus) {
    meter::StoredDevice device = stored_device(gpu->identity());
    if (const auto limits = gpu->power_limits()) device.power_limit_w = limits->current.si();
    ERGON_TRY_STATUS(file_.add_device(device));
  }
  return {};
}

Status SweepFile::store(const SweepRow& row, const run::PointResult& point,
                        const std::vector<gpu::Gpu*>& gpus) {
  const auto shifted = [&](meter::Window window) {
    return meter::Window{window.start_ns + shift_ns_, window.end_ns + shift_ns_};
  };
  for (std::size_t r = 0; r < point.runs.size(); ++r) {
    meter::StoredRun stored_run;
    stored_run.point = row.stored_id;
    stored_run.repeat = static_cast<std::int64_t>(r);
    stored_run.window = shifted(point.runs[r].window);
    stored_run.start_utc_ns = stored_run.window.start_ns + utc_offset_ns_;
    if (point.runs[r].ending) stored_run.exit_status = point.runs[r].ending->status;
    if (r < point.results.size()) {
      for (std::size_t g = 0; g < gpus.size(); ++g) {
        const run::GpuResult& result = point.results[r][g];
        meter::StoredEnergy energy;
        energy.device = gpus[g]->identity().id;
        energy.energy_j = result.energy.energy_j;
        if (result.energy.counter.energy_j)
          energy.energy_counter_j = result.energy.counter.energy_j->value;
        if (result.energy.trapezoid.energy_j)
          energy.energy_trapezoid_j = result.energy.trapezoid.energy_j->value;
        energy.why_unknown = result.energy.why_unknown;
        energy.coverage = result.energy.coverage;
        energy.disagreement = result.energy.disagreement;
        energy.clock_hz = result.clock_hz;
        energy.memory_clock_hz = result.memory_clock_hz;
        energy.temperature_c = result.temperature_c;
        if (result.throttled_share) energy.throttled = *result.throttled_share > 0;
        energy.throttle_bits = result.throttle_bits;
        stored_run.energies.push_back(std::move(energy));
      }
    }
    ERGON_TRY_STATUS(file_.add_run(stored_run).map([](std::int64_t) {}));
  }
  for (meter::Series series : point.series) {
    for (Nanos& time : series.time_ns) time += shift_ns_;
    series.utc_ns = utc_offset_ns_;
    ERGON_TRY_STATUS(file_.add_samples(series));
  }
  // Last: a point that is done has everything in the file.
  ERGON_TRY(const auto points, file_.points());
  const auto at = std::ranges::find(points, row.stored_id, &meter::StoredPoint::id);
  return file_.update_point(stored_point(row, at == points.end() ? 0 : at->order_index));
}

}  // namespace ergon::cli
