// The tables of `ergon measure` for people.
#include <algorithm>

#include "figures.hpp"
#include "measure_parts.hpp"

namespace ergon::cli {
namespace {

Value cell_of(const std::optional<double>& value) { return value ? Value(*value) : Value(); }

std::string gpu_cell(const MeasuredGpu& gpu) {
  return gpu.identity.id + (gpu.repeats_sensor ? "*" : "");
}

bool overlaps(const run::RegionResult& region) {
  return region.time.si() > 1.001 * region.covered.si();
}

Value estimate_cell(const std::optional<Estimate>& e) { return e ? Value(e->value) : Value(); }
Value half_width_cell(const std::optional<Estimate>& e) {
  return e ? Value(half_width_of(*e)) : Value();
}
Value scaled_cell(const std::optional<double>& v, double k) { return v ? Value(*v * k) : Value(); }

}  // namespace

Table runs_table(const Measurement& m) {
  Table table{.title = "Runs",
              .columns = {{.title = "run"},
                          {.title = "GPU", .numeric = false},
                          {.title = "time", .unit = "s", .significant = 5},
                          {.title = "energy", .unit = "J", .significant = 6},
                          {.title = "\u00b1", .unit = "J", .significant = 2},
                          {.title = "above idle", .unit = "J", .significant = 6},
                          {.title = "power", .unit = "W", .significant = 4},
                          {.title = "clock", .unit = "MHz", .significant = 4},
                          {.title = "heat", .unit = "\u00b0C", .significant = 3}},
              .rows = {},
              .width = kTextWidth};
  for (std::size_t r = 0; r < m.runs.size(); ++r) {
    const MeasuredRun& run = m.runs[r];
    for (std::size_t g = 0; g < m.gpus.size(); ++g) {
      const run::GpuResult& result = run.gpus[g];
      table.rows.push_back({std::uint64_t{r + 1}, gpu_cell(m.gpus[g]),
                            run.record.window.length().si(), estimate_cell(result.energy.energy_j),
                            half_width_cell(result.energy.energy_j),
                            estimate_cell(result.above_idle_j), cell_of(result.power_w),
                            scaled_cell(result.clock_hz, 1e-6), cell_of(result.temperature_c)});
    }
    if (m.gpus.size() > 1) {
      table.rows.push_back({std::uint64_t{r + 1}, "all", run.record.window.length().si(),
                            estimate_cell(run.total_j), half_width_cell(run.total_j),
                            estimate_cell(run.above_idle_j), Value(), Value(), Value()});
    }
  }
  const bool repeats = std::ranges::any_of(m.gpus, &MeasuredGpu::repeats_sensor);
  if (repeats) table.note = "* the sensor of an earlier GPU, counted once";
  return table;
}

Table estimators_table(const Measurement& m) {
  Table table{.title = "Two estimators",
              .columns = {{.title = "run"},
                          {.title = "GPU", .numeric = false},
                          {.title = "energy counter", .unit = "J", .significant = 6},
                          {.title = "power samples", .unit = "J", .significant = 6},
                          {.title = "apart", .unit = "%", .significant = 2},
                          {.title = "coverage", .unit = "%", .significant = 3},
                          {.title = "told by", .numeric = false}},
              .rows = {},
              .width = kTextWidth};
  for (std::size_t r = 0; r < m.runs.size(); ++r) {
    for (std::size_t g = 0; g < m.gpus.size(); ++g) {
      const auto& energy = m.runs[r].gpus[g].energy;
      table.rows.push_back(
          {std::uint64_t{r + 1}, gpu_cell(m.gpus[g]), estimate_cell(energy.counter.energy_j),
           estimate_cell(energy.trapezoid.energy_j), scaled_cell(energy.disagreement, 100),
           energy.energy_j ? Value(100 * energy.coverage) : Value(),
           energy.energy_j ? Value(energy.chosen) : Value("neither")});
    }
  }
  return table;
}

Table regions_table(const std::vector<run::RegionResult>& regions) {
  Table table{.title = "Regions",
              .columns = {{.title = "region", .numeric = false},
                          {.title = "times"},
                          {.title = "time", .unit = "s", .significant = 5},
                          {.title = "energy", .unit = "J", .significant = 6},
                          {.title = "\u00b1", .unit = "J", .significant = 2},
                          {.title = "each time", .unit = "J", .significant = 4},
                          {.title = "power", .unit = "W", .significant = 4},
                          {.title = "how", .numeric = false}},
              .rows = {},
              .width = kTextWidth};
  for (const auto& region : regions) {
    const bool known = region.energy_j.has_value();
    table.rows.push_back(
        {region.name, std::uint64_t{region.count}, region.time.si(),
         known ? Value(region.energy_j->value) : Value(),
         known ? Value(half_width_of(*region.energy_j)) : Value(),
         // Passages that overlap share their energy: no one of them has a part of its own.
         known && !overlaps(region)
             ? Value(region.energy_j->value / static_cast<double>(region.count))
             : Value(),
         known && region.covered.si() > 0 ? Value(region.energy_j->value / region.covered.si())
                                          : Value(),
         known ? (region.method == "fitted" ? "fitted" : "measured") : "unknown"});
  }
  return table;
}

Table unknown_regions_table(const std::vector<run::RegionResult>& regions) {
  Table table{.title = "Why regions are unknown",
              .columns = {{.title = "region", .numeric = false},
                          {.title = "reason", .numeric = false, .whole = true, .wrap = true}},
              .rows = {},
              .width = kTextWidth};
  for (const auto& region : regions) {
    if (!region.energy_j) table.rows.push_back({region.name, region.why_unknown});
  }
  return table;
}

}  // namespace ergon::cli
