// A measurement as OpenMetrics text and as a run file.
#include <cmath>

#include "ergon/io.hpp"
#include "measure_parts.hpp"

namespace ergon::cli {
namespace {

std::string openmetrics_label(std::string_view text) {
  std::string out;
  for (const char c : io::valid_utf8(text)) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

// One family: its type line, then a sample a call.
class MetricFamily {
 public:
  MetricFamily(std::string& out, std::string name, const char* type, const char* unit,
               const char* help)
      : out_(out), name_(std::move(name)) {
    out_ += "# TYPE " + name_ + " " + type + "\n";
    if (*unit != 0) out_ += "# UNIT " + name_ + " " + unit + "\n";
    out_ += "# HELP " + name_ + " " + help + "\n";
  }
  void add(const std::vector<std::pair<std::string, std::string>>& labels,
           const std::optional<double>& value) {
    if (!value || !std::isfinite(*value)) return;  // unknown figures have no sample
    std::string set;
    for (const auto& [key, text] : labels)
      set += (set.empty() ? "" : ",") + key + "=\"" + openmetrics_label(text) + "\"";
    out_ += name_ + "{" + set + "} " + io::to_json(Value(*value), 0) + "\n";
  }

 private:
  std::string& out_;
  std::string name_;
};

std::optional<double> middle_of(const std::optional<Estimate>& e) {
  return e ? std::optional(e->value) : std::nullopt;
}

}  // namespace

std::string measure_openmetrics(const Measurement& m, const std::string& version) {
  std::string out = "# TYPE ergon_build info\nergon_build_info{version=\"" + version + "\"} 1\n";
  using Labels = std::vector<std::pair<std::string, std::string>>;
  const auto each = [&](MetricFamily family, auto figure) {
    for (std::size_t r = 0; r < m.runs.size(); ++r) {
      for (std::size_t g = 0; g < m.gpus.size(); ++g) {
        const auto& who = m.gpus[g].identity;
        family.add({{"uuid", who.uuid}, {"gpu", who.id}, {"run", std::to_string(r + 1)}},
                   figure(m.runs[r].gpus[g]));
      }
    }
  };
  each(MetricFamily(out, "ergon_gpu_energy_joules", "gauge", "joules",
                    "Energy of the run on this GPU."),
       [](const run::GpuResult& x) { return middle_of(x.energy.energy_j); });
  each(MetricFamily(out, "ergon_gpu_energy_low_joules", "gauge", "joules",
                    "Lower end of the 95 % interval of the energy."),
       [](const run::GpuResult& x) {
         return x.energy.energy_j ? std::optional(x.energy.energy_j->low) : std::nullopt;
       });
  each(MetricFamily(out, "ergon_gpu_energy_high_joules", "gauge", "joules",
                    "Upper end of the 95 % interval of the energy."),
       [](const run::GpuResult& x) {
         return x.energy.energy_j ? std::optional(x.energy.energy_j->high) : std::nullopt;
       });
  each(MetricFamily(out, "ergon_gpu_energy_above_idle_joules", "gauge", "joules",
                    "Energy of the run less idle power times its time."),
       [](const run::GpuResult& x) { return middle_of(x.above_idle_j); });
  each(MetricFamily(out, "ergon_gpu_power_watts", "gauge", "watts", "Mean power over the run."),
       [](const run::GpuResult& x) { return x.power_w; });
  each(MetricFamily(out, "ergon_gpu_clock_hertz", "gauge", "hertz", "Mean achieved core clock."),
       [](const run::GpuResult& x) { return x.clock_hz; });
  each(MetricFamily(out, "ergon_gpu_memory_clock_hertz", "gauge", "hertz", "Mean memory clock."),
       [](const run::GpuResult& x) { return x.memory_clock_hz; });
  each(MetricFamily(out, "ergon_gpu_temperature_celsius", "gauge", "celsius", "Mean temperature."),
       [](const run::GpuResult& x) { return x.temperature_c; });
  each(MetricFamily(out, "ergon_gpu_throttled_ratio", "gauge", "ratio",
                    "Share of the readings in which something held the GPU back."),
       [](const run::GpuResult& x) { return x.throttled_share; });
  each(MetricFamily(out, "ergon_gpu_coverage_ratio", "gauge", "ratio",
                    "Share of the run that readings account for."),
       [](const run::GpuResult& x) {
         return x.energy.energy_j ? std::optional(x.energy.coverage) : std::nullopt;
       });
  {
    MetricFamily family(out, "ergon_run_duration_seconds", "gauge", "seconds", "Time of the run.");
    for (std::size_t r = 0; r < m.runs.size(); ++r)
      family.add(Labels{{"run", std::to_string(r + 1)}}, m.runs[r].record.window.length().si());
  }
  {
    MetricFamily family(out, "ergon_run_energy_joules", "gauge", "joules",
                        "Energy of the run on all GPUs, each sensor counted once.");
    for (std::size_t r = 0; r < m.runs.size(); ++r)
      family.add(Labels{{"run", std::to_string(r + 1)}}, middle_of(m.runs[r].total_j));
  }
  {
    MetricFamily family(out, "ergon_run_cpu_energy_joules", "gauge", "joules",
                        "Energy of the processors during the run.");
    for (std::size_t r = 0; r < m.runs.size(); ++r)
      family.add(Labels{{"run", std::to_string(r + 1)}}, m.runs[r].cpu_j);
  }
  {
    MetricFamily energy(out, "ergon_region_energy_joules", "gauge", "joules",
                        "Energy of a region on all GPUs.");
    for (std::size_t r = 0; r < m.runs.size(); ++r) {
      for (const auto& region : m.runs[r].regions) {
        energy.add(Labels{{"region", region.name}, {"run", std::to_string(r + 1)}},
                   middle_of(region.energy_j));
      }
    }
  }
  {
    MetricFamily time(out, "ergon_region_duration_seconds", "gauge", "seconds",
                      "Time in a region.");
    for (std::size_t r = 0; r < m.runs.size(); ++r) {
      for (const auto& region : m.runs[r].regions)
        time.add(Labels{{"region", region.name}, {"run", std::to_string(r + 1)}}, region.time.si());
    }
  }
  return out + "# EOF\n";
}

Status write_run_file(const Measurement& m, const std::string& path, const std::string& version,
                      const std::string& command_line) {
  meter::Provenance provenance;
  provenance.kind = "measure";
  provenance.ergon_version = version;
  provenance.command_line = command_line;
  provenance.created_utc = m.created_utc;
  ERGON_TRY(auto file, meter::RunFile::create(path, provenance));
  const auto part = [](const std::optional<Estimate>& e) { return middle_of(e); };
  for (const auto& gpu : m.gpus) {
    meter::StoredDevice device;
    device.id = gpu.identity.id;
    device.name = gpu.identity.name;
    device.uuid = gpu.identity.uuid;
    device.pci = gpu.identity.pci;
    device.driver = gpu.identity.driver;
    device.origin = gpu.identity.simulated ? Origin::kSimulated : Origin::kMeasured;
    for (const double watts : gpu.series.power_limit_w) {
      if (!meter::is_missing(watts)) device.power_limit_w = watts;
    }
    device.update_period_s = part(gpu.sensor.update_period_s);
    device.averaging_window_s = part(gpu.sensor.averaging_window_s);
    device.energy_tick_s = part(gpu.sensor.energy_tick_s);
    ERGON_TRY_STATUS(file.add_device(device));
    ERGON_TRY_STATUS(file.add_samples(gpu.series));
  }
  for (std::size_t r = 0; r < m.runs.size(); ++r) {
    const MeasuredRun& run = m.runs[r];
    meter::StoredRun stored;
    stored.repeat = static_cast<std::int64_t>(r);
    stored.window = run.record.window;
    stored.start_utc_ns = m.start_utc_ns + run.record.window.start_ns;
    if (run.record.ending) stored.exit_status = run.record.ending->status;
    for (std::size_t g = 0; g < m.gpus.size(); ++g) {
      const run::GpuResult& result = run.gpus[g];
      meter::StoredEnergy energy;
      energy.device = m.gpus[g].identity.id;
      energy.energy_j = result.energy.energy_j;
      energy.energy_above_idle_j = result.above_idle_j;
      energy.energy_counter_j = part(result.energy.counter.energy_j);
      energy.energy_trapezoid_j = part(result.energy.trapezoid.energy_j);
      energy.why_unknown = result.energy.energy_j ? "" : result.energy.why_unknown;
      if (result.energy.energy_j) energy.coverage = result.energy.coverage;
      energy.disagreement = result.energy.disagreement;
      energy.clock_hz = result.clock_hz;
      energy.memory_clock_hz = result.memory_clock_hz;
      energy.temperature_c = result.temperature_c;
      if (result.throttled_share) {
        energy.throttled = *result.throttled_share > 0;
        energy.throttle_bits = result.throttle_bits;
      }
      stored.energies.push_back(std::move(energy));
    }
    ERGON_TRY(const auto id, file.add_run(stored));
    // A passage has no energy of its own where only their sum is known.
    std::vector<meter::StoredRegion> regions;
    for (std::size_t k = 0; k < run.record.marks.regions.size(); ++k) {
      const auto& marked = run.record.marks.regions[k];
      const auto& result = run.regions[k];
      for (const auto& span : marked.spans) {
        meter::StoredRegion region;
        region.run = id;
        region.device = m.gpus.front().identity.id;
        region.name = marked.name;
        region.window = {span.start_ns, span.end_ns};
        if (marked.spans.size() == 1 && m.gpus.size() == 1) region.energy_j = result.energy_j;
        region.why_unknown = result.why_unknown;
        regions.push_back(std::move(region));
      }
    }
    ERGON_TRY_STATUS(file.add_regions(regions));
  }
  return {};
}

}  // namespace ergon::cli
