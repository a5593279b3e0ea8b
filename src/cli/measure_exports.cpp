// A measurement as OpenMetrics text and as one CSV table.
#include <cmath>

#include "ergon/io.hpp"
#include "gpu_input.hpp"
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

namespace {

// A line of CSV: unknown is empty.
class CsvLine {
 public:
  CsvLine& add(const std::string& text) {
    out_ += (empty_ ? "" : ",") + io::csv_field(io::valid_utf8(text));
    empty_ = false;
    return *this;
  }
  CsvLine& add(const std::optional<double>& value) {
    return add(value && std::isfinite(*value) ? io::to_json(Value(*value), 0) : std::string());
  }
  CsvLine& add(const std::optional<Estimate>& e) {
    return add(middle_of(e))
        .add(e ? std::optional(e->low) : std::nullopt)
        .add(e ? std::optional(e->high) : std::nullopt);
  }
  CsvLine& skip(int columns) {
    for (int i = 0; i < columns; ++i) add(std::string());
    return *this;
  }
  [[nodiscard]] std::string line() const { return out_ + "\n"; }

 private:
  std::string out_;
  bool empty_ = true;
};

}  // namespace

std::string measure_csv(const Measurement& m) {
  std::string text =
      "run,gpu,uuid,name,origin,region,times,time_s,energy_j,energy_low_j,energy_high_j,above_idle_"
      "j,"
      "above_idle_low_j,above_idle_high_j,energy_counter_j,energy_trapezoid_j,told_by,"
      "disagreement,coverage,power_w,clock_hz,memory_clock_hz,temperature_c,utilization,"
      "throttled_share,throttle_reasons,why_unknown\n";
  for (std::size_t r = 0; r < m.runs.size(); ++r) {
    const MeasuredRun& run = m.runs[r];
    const std::string number = std::to_string(r + 1);
    for (std::size_t g = 0; g < m.gpus.size(); ++g) {
      const auto& who = m.gpus[g].identity;
      const run::GpuResult& x = run.gpus[g];
      CsvLine line;
      line.add(number)
          .add(who.id)
          .add(who.uuid)
          .add(who.name)
          .add(origin_of_readings(who))
          .add("")
          .add("1");
      line.add(std::optional(run.record.window.length().si())).add(x.energy.energy_j);
      line.add(x.above_idle_j).add(middle_of(x.energy.counter.energy_j));
      line.add(middle_of(x.energy.trapezoid.energy_j));
      line.add(x.energy.energy_j ? std::string(x.energy.chosen) : std::string());
      line.add(x.energy.disagreement);
      line.add(x.energy.energy_j ? std::optional(x.energy.coverage) : std::nullopt);
      line.add(x.power_w).add(x.clock_hz).add(x.memory_clock_hz).add(x.temperature_c);
      line.add(x.utilization).add(x.throttled_share);
      line.add(x.throttled_share ? gpu::Throttle{x.throttle_bits}.names() : std::string());
      line.add(x.energy.energy_j ? std::string() : x.energy.why_unknown);
      text += line.line();
    }
    for (const auto& region : run.regions) {
      CsvLine line;
      const std::string origin = origin_of_readings(m.gpus.front().identity);
      const double seconds = region.time.si();
      line.add(number)
          .add("all")
          .skip(2)
          .add(origin)
          .add(region.name)
          .add(std::to_string(region.count));
      line.add(std::optional(seconds)).add(region.energy_j).skip(5).add(region.method).skip(2);
      line.add(region.energy_j && seconds > 0 ? std::optional(region.energy_j->value / seconds)
                                              : std::nullopt);
      line.skip(6).add(region.energy_j ? std::string() : region.why_unknown);
      text += line.line();
    }
  }
  return text;
}

}  // namespace ergon::cli
