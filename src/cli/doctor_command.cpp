// ergon doctor: what this machine can measure and control.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "context.hpp"
#include "ergon/run/doctor.hpp"
#include "gpu_input.hpp"
#include "planning.hpp"
#include "registry.hpp"

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

Value gpu_power_value(const GpuCheckup& gpu) {
  Value power = Value::object();
  const bool known = gpu.power_source.has_value();
  power.set("available", known)
      .set("scope", known ? Value(to_string(gpu.power_source->scope)) : Value())
      .set("kind", known ? Value(to_string(gpu.power_source->kind)) : Value())
      .set("power_w", gpu.power_w ? Value(*gpu.power_w) : Value())
      .set("refresh_period_s", known_seconds(gpu.sensor.update_period_s))
      .set("averaging_window_s", known_seconds(gpu.sensor.averaging_window_s))
      .set("averaging_window_origin", gpu.sensor.averaging_window_s
                                          ? Value(to_string(gpu.sensor.averaging_window_s->origin))
                                          : Value())
      .set("documented_average_s", known && gpu.power_source->documented_average
                                       ? Value(gpu.power_source->documented_average->si())
                                       : Value())
      .set("why_unknown", why_not(gpu.power_source));
  return power;
}

Value gpu_value(const GpuCheckup& gpu) {
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
  control.set("allowed", gpu.control.has_value())
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
  return source.kind == gpu::PowerKind::kAverage ? scope + ", average" : scope + ", instant";
}

// What does not fit the table: limits, heat, MIG.
std::string state_line(const GpuCheckup& gpu) {
  const auto watts = [](Watts limit) { return std::to_string(std::lround(limit.si())); };
  std::string line = "GPU " + gpu.identity.id + ":";
  if (gpu.limits) {
    line += " power limit " + watts(gpu.limits->current) + " W";
    if (gpu.limits->minimum && gpu.limits->maximum) {
      line +=
          " (may be " + watts(*gpu.limits->minimum) + " to " + watts(*gpu.limits->maximum) + " W)";
    }
    line += ";";
  } else {
    line += " power limit unknown;";
  }
  line += gpu.temperature_c ? " " + std::to_string(std::lround(*gpu.temperature_c)) + " C;"
                            : " temperature unknown;";
  if (gpu.mig) line += gpu.mig->enabled ? " MIG on;" : " MIG off;";
  line.back() = '.';
  return line;
}

std::vector<Table> tables_of(const Checkup& checkup) {
  std::vector<Table> tables;
  Table gpus{.title = "GPUs",
             .columns = {{.title = "GPU", .numeric = false},
                         {.title = "name", .numeric = false},
                         {.title = "CUDA", .numeric = false},
                         {.title = "power", .numeric = false},
                         {.title = "power renewed", .numeric = false},
                         {.title = "averages", .numeric = false},
                         {.title = "counter renewed", .numeric = false},
                         {.title = "core clocks", .numeric = false},
                         {.title = "memory clocks", .numeric = false},
                         {.title = "control", .numeric = false}},
             .rows = {}};
  for (const GpuCheckup& gpu : checkup.gpus) {
    const std::string power = gpu.power_source ? power_text(*gpu.power_source) : "no";
    gpus.rows.push_back(
        {gpu.identity.id, gpu.identity.name, gpu.cuda_index ? std::to_string(*gpu.cuda_index) : "-",
         power, milliseconds(gpu.sensor.update_period_s),
         gpu.sensor.averaging_window_s ? milliseconds(gpu.sensor.averaging_window_s) + " (" +
                                             to_string(gpu.sensor.averaging_window_s->origin) + ")"
                                       : "unknown",
         gpu.energy ? milliseconds(gpu.sensor.energy_tick_s) : "no", clock_range(gpu.core_clocks),
         clock_range(gpu.memory_clocks), gpu.control ? "yes" : "no"});
  }
  if (!gpus.rows.empty()) tables.push_back(std::move(gpus));
  if (checkup.cpu) {
    Table cpu{.title = "CPU energy counters",
              .columns = {{.title = "counter", .numeric = false},
                          {.title = "counts", .numeric = false},
                          {.title = "wraps after", .unit = "J"}},
              .rows = {}};
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

std::string doctor_headline(const Checkup& checkup) {
  if (!checkup.can_measure()) return "GPU energy cannot be measured here.";
  const auto measured = std::ranges::count_if(checkup.gpus, &GpuCheckup::can_measure);
  std::string text = "Energy can be measured on " +
                     counted(static_cast<std::uint64_t>(measured), "GPU") + " of " +
                     std::to_string(checkup.gpus.size()) + "; ";
  text += checkup.can_control() ? "clocks can be set." : "clocks cannot be set.";
  return text;
}

Result<int> doctor_run(Context& context) {
  std::optional<OpenedGpus> opened;
  Result<gpu::Machine> machine = gpu::Machine{};
  if (auto found = open_gpus(context, "all", true)) {
    opened = *std::move(found);
    machine = std::move(opened->machine);
  } else {
    // A selection that makes no sense is an error; a machine without a GPU is an answer.
    const Errc code = found.error().code;
    if (code != Errc::kDevice && code != Errc::kPermission) return fail(std::move(found).error());
    machine = fail(std::move(found).error());
  }
  context.stage("watching the sensors");
  run::DoctorOptions options;
  options.watch = Seconds(*context.number("watch"));
  options.sleep = [](Nanos ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); };
  const Checkup checkup = run::examine(machine, options);

  Answer answer{.command = "doctor", .headline = doctor_headline(checkup), .lines = {}};
  for (const Finding& finding : checkup.findings) {
    answer.lines.push_back(std::string(to_string(finding.severity)) + ": " + finding.subject +
                           ": " + finding.message + ".");
    if (!finding.fix.empty()) answer.lines.push_back("  fix: " + finding.fix);
  }
  for (const GpuCheckup& gpu : checkup.gpus) answer.lines.push_back(state_line(gpu));
  answer.tables = tables_of(checkup);
  Value gpus = Value::array();
  for (const GpuCheckup& gpu : checkup.gpus) gpus.push(gpu_value(gpu));
  Value findings = Value::array();
  for (const Finding& finding : checkup.findings) {
    findings.push(Value::object()
                      .set("severity", to_string(finding.severity))
                      .set("subject", finding.subject)
                      .set("message", finding.message)
                      .set("fix", finding.fix.empty() ? Value() : Value(finding.fix)));
  }
  answer.data.set("can_measure", checkup.can_measure())
      .set("can_control", checkup.can_control())
      .set("machine", machine_value(checkup.place))
      .set("gpus", std::move(gpus))
      .set("cpu", cpu_counters_value(checkup))
      .set("findings", std::move(findings));
  ERGON_TRY_STATUS(context.emit(answer));
  return checkup.can_measure() ? 0 : 1;
}

}  // namespace

const Command& doctor_command() {
  static const Command command = {
      .name = "doctor",
      .group = "Measure",
      .summary = "what this machine can measure and control, and how to fix the rest",
      .description =
          "Opens every GPU, asks it for all that Ergon can use, watches its sensors for a moment "
          "to "
          "see how often they are renewed, and tries whether clocks could be changed by setting "
          "what is set already. Nothing is changed. Exit status 1 where no GPU tells its power.",
      .flags = {{.name = "watch",
                 .kind = Kind::kDuration,
                 .value = "TIME",
                 .help = "how long the sensors are watched",
                 .default_text = "1500ms"}},
      .examples = {{"ergon doctor", "this machine"},
                   {"ergon doctor -f json", "the same for a script"},
                   {"ergon doctor --gpu sim:h100 --watch 3s",
                    "a simulated GPU, watched for longer"}},
      .uses_gpu = true,
      .run = doctor_run,
  };
  return command;
}

}  // namespace ergon::cli
