// ergon device: list, show and check device files.
#include <cmath>

#include "context.hpp"
#include "ergon/model.hpp"
#include "planning.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

using model::Device;
using model::Figure;

// How a figure is shown, and the unit that it has in a file and in JSON.
struct Unit {
  std::string_view shown;
  std::string_view si;
  double scale = 1;
};

Value figure_value(const Figure& figure, const Unit& unit) {
  return Value::object()
      .set("value", figure.estimate.value)
      .set("low", figure.estimate.low)
      .set("high", figure.estimate.high)
      .set("unit", std::string(unit.si))
      .set("origin", to_string(figure.estimate.origin))
      .set("source", figure.source);
}

// Every figure of a device as a row: name, value in its unit, interval, origin, source.
struct Figures {
  Table table{.title = "Figures",
              .columns = {{.title = "figure", .numeric = false},
                          {.title = "unit", .numeric = false},
                          {.title = "value"},
                          {.title = "low"},
                          {.title = "high"},
                          {.title = "origin", .numeric = false},
                          {.title = "source", .numeric = false}},
              .rows = {}};
  Value data = Value::object();

  void add(const std::string& name, const Unit& unit, const model::MaybeFigure& figure) {
    const std::string shown(unit.shown);
    const double scale = unit.scale;
    if (!figure) {
      table.rows.push_back({name, shown, nullptr, nullptr, nullptr, "unknown", ""});
      data.set(name, nullptr);
      return;
    }
    table.rows.push_back({name, shown, figure->estimate.value * scale, figure->estimate.low * scale,
                          figure->estimate.high * scale, to_string(figure->estimate.origin),
                          figure->source});
    data.set(name, figure_value(*figure, unit));
  }
};

Figures figures_of(const Device& d) {
  Figures f;
  f.add("power_limit_w", {"W", "W", 1}, d.power_limit_w);
  f.add("idle_w", {"W", "W", 1}, d.idle_w);
  f.add("active_w", {"W", "W", 1}, d.active_w);
  f.add("memory_bytes", {"GB", "B", 1e-9}, d.memory_bytes);
  f.add("sm_count", {"", "", 1}, d.sm_count);
  for (std::size_t u = 0; u < model::kUnits; ++u) {
    const std::string unit = model::to_string(static_cast<model::Unit>(u));
    if (!d.peak_flops[u] && !d.unit_j[u]) continue;
    f.add("peak." + unit, {"TFLOP/s", "FLOP/s", 1e-12}, d.peak_flops[u]);
    if (d.unit_j[u]) f.add("energy." + unit, {"pJ/FLOP", "J/FLOP", 1e12}, d.unit_j[u]->total);
  }
  for (std::size_t l = 0; l < model::kLevels; ++l) {
    const std::string level = model::to_string(static_cast<model::Level>(l));
    if (!d.bandwidth[l] && !d.level_j[l]) continue;
    f.add("bandwidth." + level, {"GB/s", "B/s", 1e-9}, d.bandwidth[l]);
    if (d.level_j[l]) f.add("energy." + level, {"pJ/bit", "J/bit", 1e12}, d.level_j[l]->total);
  }
  f.add("voltage_knee_hz", {"MHz", "Hz", 1e-6}, d.behaviour.voltage_knee_hz);
  f.add("memory_knee_hz", {"MHz", "Hz", 1e-6}, d.behaviour.memory_knee_hz);
  f.add("regime_break_hz", {"MHz", "Hz", 1e-6}, d.behaviour.regime_break_hz);
  for (const auto& latency : d.switch_latency) {
    const std::string to =
        latency.target ? " to " + clock_text(latency.target->si()) : std::string();
    f.add("switch_latency.typical" + to, {"ms", "s", 1e3}, latency.typical_s);
    f.add("switch_latency.worst" + to, {"ms", "s", 1e3}, latency.worst_s);
  }
  f.add("switch_energy_j", {"J", "J", 1}, d.switch_energy_j);
  return f;
}

Result<int> list_devices(Context& context) {
  Answer answer{
      .command = "device",
      .headline = std::to_string(model::built_in_devices().size()) + " devices are known."};
  Table table{.title = "Devices",
              .columns = {{.title = "id", .numeric = false},
                          {.title = "name", .numeric = false},
                          {.title = "clocks", .unit = "MHz", .numeric = false},
                          {.title = "default", .unit = "MHz"},
                          {.title = "limit", .unit = "W"},
                          {.title = "also found as", .numeric = false}},
              .rows = {}};
  Value list = Value::array();
  for (const Device& d : model::built_in_devices()) {
    std::string aliases;
    Value names = Value::array();
    for (const auto& alias : d.aliases) {
      aliases += (aliases.empty() ? "" : ", ") + alias;
      names.push(alias);
    }
    table.rows.push_back({d.id, d.name,
                          std::to_string(std::llround(d.min_clock().si() / 1e6)) + "-" +
                              std::to_string(std::llround(d.max_clock().si() / 1e6)),
                          d.default_clock.si() / 1e6, d.power_limit_w.value(), aliases});
    list.push(Value::object()
                  .set("id", d.id)
                  .set("name", d.name)
                  .set("vendor", d.vendor)
                  .set("min_clock_hz", d.min_clock().si())
                  .set("max_clock_hz", d.max_clock().si())
                  .set("default_clock_hz", d.default_clock.si())
                  .set("power_limit_w", d.power_limit_w.value())
                  .set("aliases", std::move(names)));
  }
  answer.tables.push_back(std::move(table));
  answer.data.set("action", "list").set("devices", std::move(list));
  ERGON_TRY_STATUS(context.emit(answer));
  return 0;
}

Result<int> show_device(Context& context) {
  if (context.operands().size() != 2) {
    return fail(Errc::kInvalidArgument, "'device show' takes one device",
                "ergon device list names them");
  }
  ERGON_TRY(const auto found, model::find_device(context.operands()[1]));
  const Device& d = found.device;
  Answer answer{.command = "device", .headline = d.name + " (" + d.id + "), " + found.origin + "."};
  if (!found.note.empty()) answer.lines.push_back(found.note);
  if (!d.note.empty()) answer.lines.push_back(d.note);
  answer.lines.push_back(
      std::to_string(d.sm_clocks.size()) + " SM clocks from " + clock_text(d.min_clock().si()) +
      " to " + clock_text(d.max_clock().si()) + " (" + to_string(d.sm_clocks_origin) +
      (d.sm_clocks_source.empty() ? "" : ": " + d.sm_clocks_source) + "); default " +
      clock_text(d.default_clock.si()) + " (" + to_string(d.default_clock_origin) +
      "); peaks are those at " + clock_text(d.peak_clock.si()) + ".");
  Figures figures = figures_of(d);
  Value clocks = Value::array();
  for (const Hertz f : d.sm_clocks) clocks.push(f.si());
  answer.data.set("action", "show")
      .set("id", d.id)
      .set("name", d.name)
      .set("vendor", d.vendor)
      .set("architecture", d.architecture)
      .set("peak_clock_hz", d.peak_clock.si())
      .set("note", found.note)
      .set("found_in", found.origin)
      .set("default_clock_hz", d.default_clock.si())
      .set("clocks_hz", std::move(clocks))
      .set("figures", std::move(figures.data));
  Table sources{.title = "Sources",
                .columns = {{.title = "source", .numeric = false},
                            {.title = "citation", .numeric = false, .whole = true}},
                .rows = {}};
  Value cited = Value::object();
  for (const auto& [key, citation] : d.sources) {
    sources.rows.push_back({key, citation});
    cited.set(key, citation);
  }
  answer.data.set("sources", std::move(cited));
  answer.tables.push_back(std::move(figures.table));
  if (!sources.rows.empty()) answer.tables.push_back(std::move(sources));
  ERGON_TRY_STATUS(context.emit(answer));
  return 0;
}

Result<int> check_devices(Context& context) {
  std::vector<std::string> names(context.operands().begin() + 1, context.operands().end());
  if (names.empty()) names = model::device_ids();
  Answer answer{.command = "device", .headline = {}};
  Table table{.title = "Findings",
              .columns = {{.title = "device", .numeric = false},
                          {.title = "severity", .numeric = false},
                          {.title = "field", .numeric = false},
                          {.title = "message", .numeric = false, .wrap = true}},
              .rows = {}};
  Value list = Value::array();
  std::size_t errors = 0;
  for (const auto& name : names) {
    auto looked_up = model::find_device(name);
    if (!looked_up) {
      // A file that is there and no device is a finding; one that is not there is an error.
      if (looked_up.error().code != Errc::kMalformedInput) return fail(looked_up.error());
      const std::string why = looked_up.error().message;
      ++errors;
      table.rows.push_back({name, "error", "", why});
      list.push(Value::object()
                    .set("device", name)
                    .set("severity", "error")
                    .set("field", "")
                    .set("message", why));
      continue;
    }
    const auto& found = *looked_up;
    for (const auto& finding : model::check_device(found.device)) {
      const char* severity = finding.severity == model::Finding::Severity::kError     ? "error"
                             : finding.severity == model::Finding::Severity::kWarning ? "warning"
                                                                                      : "note";
      errors += finding.severity == model::Finding::Severity::kError ? 1 : 0;
      table.rows.push_back({found.device.id, severity, finding.field, finding.message});
      list.push(Value::object()
                    .set("device", found.device.id)
                    .set("severity", severity)
                    .set("field", finding.field)
                    .set("message", finding.message));
    }
  }
  answer.headline = errors == 0 ? counted(names.size(), "device file") +
                                      (names.size() == 1 ? " is valid." : " are valid.")
                                : counted(errors, "error") + ".";
  if (!table.rows.empty()) answer.tables.push_back(std::move(table));
  answer.data.set("action", "check")
      .set("checked", std::uint64_t{names.size()})
      .set("errors", std::uint64_t{errors})
      .set("findings", std::move(list));
  ERGON_TRY_STATUS(context.emit(answer));
  return errors == 0 ? 0 : 1;
}

Result<int> device_run(Context& context) {
  const std::string& action = context.operands().front();
  if (action == "list") return list_devices(context);
  return action == "show" ? show_device(context) : check_devices(context);
}

}  // namespace

const Command& device_command() {
  static const Command command = {
      .name = "device",
      .group = "Understand",
      .summary = "list, show and check device files",
      .description =
          "A device file says what a unit of work costs on a GPU, in time and in energy. A device "
          "is found "
          "by any usual spelling of its name and by the name that a trace gives it.",
      .operands = {{.name = "ACTION", .help = "what to do", .choices = {"list", "show", "check"}},
                   {.name = "NAME",
                    .help = "a device (show) or device files (check)",
                    .required = false,
                    .many = true,
                    .path = true,
                    .suggestions = model::device_ids()}},
      .examples = {{"ergon device list", "every device that is known"},
                   {"ergon device show a100", "one device, each figure with its origin"},
                   {"ergon device check my-gpu.json", "is this a valid device file?"}},
      .run = device_run,
  };
  return command;
}

}  // namespace ergon::cli
