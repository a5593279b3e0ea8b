// What `ergon doctor` tells: findings, tables, JSON.
#include <algorithm>
#include <cmath>

#include "doctor_parts.hpp"
#include "figures.hpp"
#include "gpu_input.hpp"
#include "planning.hpp"

namespace ergon::cli {
namespace {

using run::Checkup;
using run::Finding;
using run::GpuCheckup;

template <class T>
Value why_not(const Result<T>& result) {
  return result ? Value() : Value(result.error().message);
}

Value known_seconds(const std::optional<Estimate>& estimate) {
  return estimate ? Value(estimate->value) : Value();
}

Value known_watts(const std::optional<Watts>& value) {
  return value ? Value(value->si()) : Value();
}

Value clocks_value(const Result<std::vector<Hertz>>& clocks) {
  if (!clocks) return {};
  Value list = Value::array();
  for (const Hertz clock : *clocks) list.push(clock.si());
  return list;
}

std::optional<Estimate> measured_window(const GpuCheckup& gpu) {
  return gpu.window ? std::optional(gpu.window->window_s) : std::nullopt;
}

Value gpu_power_value(const GpuCheckup& gpu) {
  Value power = Value::object();
  const bool known = gpu.power_source.has_value();
  power.set("available", known)
      .set("scope", known ? Value(to_string(gpu.power_source->scope)) : Value())
      .set("kind", known ? Value(to_string(gpu.power_source->kind)) : Value())
      .set("power_w", gpu.power_w ? Value(*gpu.power_w) : Value())
      .set("refresh_period_s", known_seconds(gpu.sensor.update_period_s))
      .set("refresh_period_is_upper_bound", gpu.sensor.period_hidden)
      .set("refresh_period_s_ci95", interval_or_null(gpu.sensor.update_period_s))
      .set("averaging_window_s", known_seconds(measured_window(gpu)))
      .set("averaging_window_s_ci95", interval_or_null(measured_window(gpu)))
      .set("averaging_window_origin", gpu.window ? Value("measured") : Value())
      .set("averaging_window_why_unknown", why_not(gpu.window))
      .set("averaging_window_steps", gpu.window ? Value(std::uint64_t{gpu.window->steps}) : Value())
      .set("published_averaging_window_s", known_seconds(gpu.published_window_s))
      .set("published_averaging_window_origin",
           gpu.published_window_s ? Value(to_string(gpu.published_window_s->origin)) : Value())
      .set("documented_average_s", known && gpu.power_source->documented_average
                                       ? Value(gpu.power_source->documented_average->si())
                                       : Value())
      .set("why_unknown", why_not(gpu.power_source));
  return power;
}

Value gpu_value(const GpuCheckup& gpu, bool tried) {
  Value energy = Value::object();
  energy.set("available", gpu.energy.has_value())
      .set("scope", gpu.energy && gpu.energy_scope ? Value(to_string(*gpu.energy_scope)) : Value())
      .set("refresh_period_s", known_seconds(gpu.sensor.energy_tick_s))
      .set("resolution_j", gpu.sensor.energy_step_j > 0 ? Value(gpu.sensor.energy_step_j) : Value())
      .set("why_unknown", why_not(gpu.energy));
  Value limits;
  if (gpu.limits) {
    limits.set("power_limit_w", gpu.limits->current.si())
        .set("default_w", known_watts(gpu.limits->standard))
        .set("minimum_w", known_watts(gpu.limits->minimum))
        .set("maximum_w", known_watts(gpu.limits->maximum));
  }
  Value control = Value::object();
  control.set("allowed", tried ? Value(gpu.control.has_value()) : Value())
      .set("why_not", why_not(gpu.control))
      .set("fix", gpu.control ? Value() : Value(gpu.control.error().hint));
  Value counters = Value::array();
  if (gpu.throttle_counters) {
    for (const auto& counter : *gpu.throttle_counters) {
      counters.push(Value::object()
                        .set("reason", gpu::Throttle{counter.reason}.names())
                        .set("held_ns", counter.held_ns));
    }
  }
  Value mig;
  if (gpu.mig) {
    Value instances = Value::array();
    for (const auto& uuid : gpu.mig->instances) instances.push(uuid);
    mig.set("enabled", gpu.mig->enabled).set("instances", std::move(instances));
  }
  Value pids;
  if (gpu.processes) {
    pids = Value::array();
    for (const auto& process : *gpu.processes) pids.push(std::int64_t{process.pid});
  }
  return Value::object()
      .set("id", gpu.identity.id)
      .set("index", gpu.identity.index)
      .set("cuda_index", gpu.cuda_index ? Value(*gpu.cuda_index) : Value())
      .set("uuid", gpu.identity.uuid)
      .set("pci", gpu.identity.pci)
      .set("name", gpu.identity.name)
      .set("vendor", to_string(gpu.identity.vendor))
      .set("architecture", gpu.identity.architecture)
      .set("driver", gpu.identity.driver)
      .set("simulated", gpu.identity.simulated)
      .set("recorded", gpu.identity.recorded)
      .set("can_measure", gpu.can_measure())
      .set("power", gpu_power_value(gpu))
      .set("energy_counter", std::move(energy))
      .set("sample_time_s", to_seconds(gpu.call_ns).si())
      .set("limits", std::move(limits))
      .set("clocks_hz", clocks_value(gpu.core_clocks))
      .set("memory_clocks_hz", clocks_value(gpu.memory_clocks))
      .set("temperature_c", gpu.temperature_c ? Value(*gpu.temperature_c) : Value())
      .set("throttle_reasons", gpu.throttle ? Value(gpu.throttle->names()) : Value())
      .set("throttle_counters", gpu.throttle_counters ? std::move(counters) : Value())
      .set("control", std::move(control))
      .set("mig", std::move(mig))
      .set("processes", std::move(pids));
}

std::string milliseconds(const std::optional<Estimate>& estimate) {
  if (!estimate) return "unknown";
  return std::to_string(std::llround(estimate->value * 1e3)) + " ms";
}

// Read too slowly the period is known to be no longer.
std::string period_text(const GpuCheckup& gpu) {
  const std::string text = milliseconds(gpu.sensor.update_period_s);
  return gpu.sensor.period_hidden ? text + " or less" : text;
}

// "25 ms (24 to 27)", "unknown"; the published one is told apart.
std::string window_text(const GpuCheckup& gpu) {
  std::string text = "unknown";
  if (const auto window = measured_window(gpu)) {
    text = milliseconds(window) + " (" + std::to_string(std::llround(window->low * 1e3)) + " to " +
           std::to_string(std::llround(window->high * 1e3)) + ")";
  }
  return text;
}
std::string published_text(const GpuCheckup& gpu) {
  const auto& window = gpu.published_window_s;
  return window ? milliseconds(window) + " (" + to_string(window->origin) + ")" : "unknown";
}

std::string clock_range(const Result<std::vector<Hertz>>& clocks) {
  if (!clocks || clocks->empty()) return "unknown";
  const auto megahertz = [](Hertz clock) { return std::to_string(std::llround(clock.si() / 1e6)); };
  if (clocks->size() == 1) return megahertz(clocks->front()) + " MHz";
  return std::to_string(clocks->size()) + " from " + megahertz(clocks->front()) + " to " +
         megahertz(clocks->back()) + " MHz";
}

std::string power_text(const gpu::PowerSource& source) {
  const std::string scope = to_string(source.scope);
  if (source.documented_average && source.documented_average->si() > 0)
    return scope + ", 1 s average";
  if (source.kind == gpu::PowerKind::kUsage && !source.documented_average)
    return scope + ", averaging not documented";
  return source.kind == gpu::PowerKind::kAverage ? scope + ", average" : scope + ", instant";
}

Value watts_cell(const Watts& watts) { return std::to_string(std::lround(watts.si())) + " W"; }

// What may hold a GPU back, and who else is on it.
Table state_table(const Checkup& checkup) {
  Table table{.title = "State and limits",
              .columns = {{.title = "GPU", .numeric = false},
                          {.title = "power limit", .numeric = false},
                          {.title = "may be", .numeric = false},
                          {.title = "temperature", .numeric = false},
                          {.title = "held back by", .numeric = false, .whole = true, .wrap = true},
                          {.title = "MIG", .numeric = false},
                          {.title = "processes"}},
              .rows = {},
              .width = kTextWidth};
  for (const GpuCheckup& gpu : checkup.gpus) {
    Value range;
    if (gpu.limits && gpu.limits->minimum && gpu.limits->maximum) {
      range = std::to_string(std::lround(gpu.limits->minimum->si())) + " to " +
              std::to_string(std::lround(gpu.limits->maximum->si())) + " W";
    }
    Value held;
    if (gpu.throttle) {
      const auto bits = gpu.throttle->holding_back();
      held = bits == 0 ? std::string("nothing") : gpu::Throttle{bits}.names();
    }
    Value mig;
    if (gpu.mig) {
      mig = !gpu.mig->enabled ? std::string("off") : counted(gpu.mig->instances.size(), "instance");
    }
    table.rows.push_back(
        {gpu.identity.id, gpu.limits ? watts_cell(gpu.limits->current) : Value(), std::move(range),
         gpu.temperature_c ? Value(std::to_string(std::lround(*gpu.temperature_c)) + " \u00b0C")
                           : Value(),
         std::move(held), std::move(mig),
         gpu.processes ? Value(std::uint64_t{gpu.processes->size()}) : Value()});
  }
  return table;
}

std::vector<Table> tables_of(const Checkup& checkup, bool tried) {
  std::vector<Table> tables;
  Table gpus{.title = "GPUs",
             .columns = {{.title = "GPU", .numeric = false},
                         {.title = "name", .numeric = false},
                         {.title = "CUDA", .numeric = false},
                         {.title = "control", .numeric = false},
                         {.title = "core clocks", .numeric = false},
                         {.title = "memory clocks", .numeric = false}},
             .rows = {},
             .width = kTextWidth};
  Table sensors{.title = "Sensors",
                .columns = {{.title = "GPU", .numeric = false},
                            {.title = "power", .numeric = false, .whole = true, .wrap = true},
                            {.title = "renewed every", .numeric = false},
                            {.title = "averages", .numeric = false},
                            {.title = "averages, published", .numeric = false},
                            {.title = "counter renewed every", .numeric = false}},
                .rows = {},
                .width = kTextWidth};
  for (const GpuCheckup& gpu : checkup.gpus) {
    gpus.rows.push_back({gpu.identity.id, name_with_origin(gpu.identity),
                         gpu.cuda_index ? std::to_string(*gpu.cuda_index) : "-",
                         gpu.control ? "yes"
                         : tried     ? "no"
                                     : "not tried",
                         clock_range(gpu.core_clocks), clock_range(gpu.memory_clocks)});
    sensors.rows.push_back({gpu.identity.id,
                            gpu.power_source ? power_text(*gpu.power_source) : "no",
                            period_text(gpu), window_text(gpu), published_text(gpu),
                            gpu.energy ? milliseconds(gpu.sensor.energy_tick_s) : "no"});
  }
  if (!gpus.rows.empty()) {
    tables.push_back(std::move(gpus));
    tables.push_back(std::move(sensors));
    tables.push_back(state_table(checkup));
  }
  if (checkup.cpu) {
    Table cpu{.title = "CPU energy counters",
              .columns = {{.title = "counter", .numeric = false},
                          {.title = "counts", .numeric = false},
                          {.title = "wraps after", .unit = "J"}},
              .rows = {},
              .width = kTextWidth};
    for (const auto& domain : *checkup.cpu) {
      cpu.rows.push_back({domain.name, domain.counts ? "yes" : "no",
                          domain.range_j ? Value(*domain.range_j) : Value()});
    }
    tables.push_back(std::move(cpu));
  }
  return tables;
}

Value machine_value(const gpu::Place& place) {
  return Value::object()
      .set("container", place.container)
      .set("wsl", place.wsl)
      .set("virtual_machine", place.virtual_machine)
      .set("jetson", place.jetson.empty() ? Value() : Value(place.jetson))
      .set("nvidia_boards", place.nvidia_boards)
      .set("amd_boards", place.amd_boards)
      .set("nvidia_driver", place.nvidia_driver.empty() ? Value() : Value(place.nvidia_driver))
      .set("amd_driver", place.amd_driver);
}

Value cpu_counters_value(const Checkup& checkup) {
  Value domains = Value::array();
  if (checkup.cpu) {
    for (const auto& domain : *checkup.cpu) {
      domains.push(Value::object()
                       .set("name", domain.name)
                       .set("counts", domain.counts)
                       .set("range_j", domain.range_j ? Value(*domain.range_j) : Value()));
    }
  }
  return Value::object()
      .set("available", checkup.cpu.has_value())
      .set("domains", std::move(domains))
      .set("why_unknown", checkup.no_cpu ? Value(checkup.no_cpu->message) : Value())
      .set("fix", checkup.no_cpu ? Value(checkup.no_cpu->hint) : Value());
}

std::string doctor_headline(const Checkup& checkup, bool tried) {
  if (!checkup.can_measure()) return "GPU energy cannot be measured here.";
  const auto measured = std::ranges::count_if(checkup.gpus, &GpuCheckup::can_measure);
  std::string text = "Energy can be measured on " +
                     counted(static_cast<std::uint64_t>(measured), "GPU") + " of " +
                     std::to_string(checkup.gpus.size() + checkup.lost) + "; ";
  text += !tried                  ? "whether clocks can be set was not tried."
          : checkup.can_control() ? "clocks can be set."
                                  : "clocks cannot be set.";
  return text;
}

// Why an averaging window was not seen, each reason once, and what would show it.
void add_windows(const Checkup& checkup, bool loaded, std::vector<std::string>& lines) {
  std::vector<std::pair<Error, std::string>> reasons;
  for (const GpuCheckup& gpu : checkup.gpus) {
    if (gpu.window || !gpu.can_measure()) continue;
    const Error& why = gpu.window.error();
    const auto at = std::ranges::find_if(
        reasons, [&](const auto& reason) { return reason.first.message == why.message; });
    if (at == reasons.end()) {
      reasons.emplace_back(why, gpu.identity.id);
    } else {
      at->second += ", " + gpu.identity.id;
    }
  }
  for (const auto& [why, gpus] : reasons) {
    lines.push_back("note: GPU " + gpus + ": averaging window unknown: " + why.message + ".");
    if (!why.hint.empty())
      lines.push_back("  fix: " + std::string(loaded ? "" : "ergon doctor --load COMMAND, with ") +
                      why.hint);
  }
}

}  // namespace

Answer doctor_answer(const Checkup& checkup, bool tried, bool loaded) {
  Answer answer{.command = "doctor", .headline = doctor_headline(checkup, tried), .lines = {}};
  for (const Finding& finding : checkup.findings) {
    answer.lines.push_back(std::string(to_string(finding.severity)) + ": " + finding.subject +
                           ": " + finding.message + ".");
    if (!finding.fix.empty()) answer.lines.push_back("  fix: " + finding.fix);
  }
  add_windows(checkup, loaded, answer.lines);
  answer.tables = tables_of(checkup, tried);
  Value gpus = Value::array();
  for (const GpuCheckup& gpu : checkup.gpus) gpus.push(gpu_value(gpu, tried));
  Value findings = Value::array();
  for (const Finding& finding : checkup.findings) {
    findings.push(Value::object()
                      .set("severity", to_string(finding.severity))
                      .set("subject", finding.subject)
                      .set("message", finding.message)
                      .set("fix", finding.fix.empty() ? Value() : Value(finding.fix)));
  }
  answer.data.set("can_measure", checkup.can_measure())
      .set("lost_gpus", std::uint64_t{checkup.lost})
      .set("can_control", tried ? Value(checkup.can_control()) : Value())
      .set("machine", machine_value(checkup.place))
      .set("gpus", std::move(gpus))
      .set("cpu", cpu_counters_value(checkup))
      .set("findings", std::move(findings));
  return answer;
}

}  // namespace ergon::cli
