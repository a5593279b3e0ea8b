// ergon import: any power log to the canonical CSV, and what its sensor is like.
#include <algorithm>
#include <filesystem>

#include "context.hpp"
#include "ergon/meter.hpp"
#include "figures.hpp"
#include "import_parts.hpp"
#include "planning.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

// "lines that are no samples" as the reason of an answer.
std::string reason_of(std::string_view words) {
  std::string out;
  for (const char c : words) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    if (letter || capital) {
      out += capital ? static_cast<char>(c + 32) : c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (out.ends_with('_')) out.pop_back();
  return out;
}

std::string short_name(const std::string& path) {
  if (path == "-") return "stdin";
  std::string name = std::filesystem::path(path).filename().string();
  for (const char* end : {".gz", ".zst", ".csv", ".txt", ".log"}) {
    if (name.ends_with(end) && name.size() > std::string_view(end).size()) {
      name.erase(name.size() - std::string_view(end).size());
    }
  }
  return name;
}

Value defect_values(const meter::PowerLog& log, bool with_file) {
  Value list = Value::array();
  for (const meter::Defect& d : log.defects) {
    Value v = Value::object();
    v.set("line", d.line).set("kind", d.kind);
    if (!d.detail.empty()) v.set("detail", d.detail);
    if (with_file && !d.file.empty()) v.set("file", d.file);
    list.push(std::move(v));
  }
  return list;
}

std::uint64_t missing_in(const meter::LogColumn& c) {
  if (c.text) return static_cast<std::uint64_t>(std::ranges::count(c.words, 0U));
  return static_cast<std::uint64_t>(std::ranges::count_if(c.numbers, meter::is_missing));
}

// The unit in which a column is shown to people, and its size in SI: megahertz, not hertz.
std::pair<const char*, double> shown_unit(const meter::LogColumn& c) {
  if (c.text) return {"", 1.0};
  if (c.name.ends_with("_hz")) return {"MHz", 1e6};
  if (c.name.ends_with("_bytes")) return {"MiB", 1024.0 * 1024.0};
  if (c.name.ends_with("_ratio") || c.name.ends_with("utilization")) return {"%", 0.01};
  for (const auto& [end, unit] : {std::pair{"_w", "W"},
                                  {"_j", "J"},
                                  {"_s", "s"},
                                  {"_v", "V"},
                                  {"_a", "A"},
                                  {"_c", "\u00b0C"},
                                  {"_rpm", "rpm"}}) {
    if (c.name.ends_with(end)) return {unit, 1.0};
  }
  return {"", 1.0};
}

// Line by line, the first of each kind.
Table defects_table(const meter::PowerLog& log, bool several) {
  constexpr std::uint64_t kMostShown = 10;  // of a kind
  Table table{.title = "Defects",
              .columns = {{.title = "line"},
                          {.title = "kind", .numeric = false},
                          {.title = "what", .numeric = false, .whole = true, .wrap = true}},
              .rows = {},
              .width = kTextWidth};
  if (several) table.columns.push_back({.title = "log", .numeric = false});
  std::map<std::string, std::uint64_t> shown;
  for (const meter::Defect& d : log.defects) {
    if (++shown[d.kind] > kMostShown) continue;
    table.rows.push_back({d.line > 0 ? Value(d.line) : Value(), d.kind, d.detail});
    if (several) table.rows.back().emplace_back(d.file);
  }
  for (const auto& [kind, count] : log.defect_counts) {
    if (count <= kMostShown) continue;
    table.note += (table.note.empty() ? "not shown: " : ", ") + std::to_string(count - kMostShown) +
                  " more of " + kind;
  }
  if (!table.note.empty()) table.note += " (-f json has them)";
  return table;
}

// What makes figures doubtful, each in its own words.
void warn_of_defects(Context& context, const meter::PowerLog& log) {
  constexpr std::size_t kMostWords = 3;  // of a kind
  for (const auto& [kind, count] : log.defect_counts) {
    if (kind != "unit_mismatch" && kind != "unit_assumed" && kind != "impossible_value" &&
        kind != "implausible" && kind != "counter_reset" && kind != "never_renewed" &&
        kind != "gpu_lost" && kind != "other_board" && kind != "clock_set") {
      continue;
    }
    const bool left_out = kind == "impossible_value" || kind == "implausible";
    const bool of_all =
        kind == "never_renewed" || kind == "unit_mismatch" || kind == "unit_assumed";
    std::vector<std::pair<const meter::Defect*, std::uint64_t>> told;
    std::uint64_t rest = count;
    for (const meter::Defect& d : log.defects) {
      if (d.kind != kind) continue;
      const auto same = std::ranges::find_if(told, [&](const auto& t) {
        return t.first->detail == d.detail && t.first->file == d.file;
      });
      if (same == told.end() && told.size() == kMostWords) continue;
      --rest;
      if (same != told.end()) {
        ++same->second;
      } else {
        told.emplace_back(&d, 1);
      }
    }
    for (const auto& [first, times] : told) {
      std::string at = first->file;
      if (first->line > 0 && !of_all) {
        at += at.empty() ? "" : ", ";
        at += (times > 1 ? "from line " : "line ") + std::to_string(first->line);
      }
      context.warn(kind,
                   (at.empty() ? "" : at + ": ") + first->detail +
                       (left_out ? ", which cannot be: taken as missing" : ""),
                   times);
    }
    if (rest > 0)
      context.warn(kind,
                   std::to_string(rest) + " more such lines (" + kind + "): -f json has them");
  }
}

Answer answer_of(const meter::PowerLog& log, bool several) {
  Answer answer{.command = "import", .headline = {}};
  const auto duration = log.duration();
  answer.headline = counted(log.rows(), "sample") + " of " + counted(log.gpus.size(), "GPU");
  if (duration) {
    answer.headline += " over " + duration_text(duration->si());
  } else {
    answer.headline += ", without a time base";
  }
  answer.headline += " (" + log.format + ").";
  if (!duration) {
    answer.lines.emplace_back(
        "The log has no times: power can be averaged, energy cannot be known. --interval TIME "
        "states "
        "how far apart its samples are.");
  }
  for (const auto& note : log.notes) answer.lines.push_back("Note: " + note + ".");

  Table columns{.title = "Columns",
                .columns = {{.title = "column", .numeric = false},
                            {.title = "readings"},
                            {.title = "missing"},
                            {.title = "least"},
                            {.title = "mean"},
                            {.title = "most"},
                            {.title = "in", .numeric = false}},
                .rows = {},
                .width = kTextWidth};
  Value names = Value::array();
  Value missing = Value::object();
  const auto name_column = [&](const char* name) { names.push(name); };
  if (!log.time_ns.empty()) {
    name_column("time_s");
    if (log.utc_ns) name_column("time_utc");
  }
  name_column("gpu");
  for (const meter::LogColumn& c : log.columns) {
    const std::uint64_t lost = missing_in(c);
    names.push(c.name);
    missing.set(c.name, lost);
    std::vector<Value> row = {c.name, std::uint64_t{log.rows()} - lost, lost};
    double low = meter::kMissing;
    double high = meter::kMissing;
    double sum = 0;
    if (!c.text) {
      for (const double v : c.numbers) {
        if (meter::is_missing(v)) continue;
        low = v < low || meter::is_missing(low) ? v : low;
        high = v > high || meter::is_missing(high) ? v : high;
        sum += v;
      }
    }
    const auto [unit, scale] = shown_unit(c);
    row.emplace_back(low / scale);
    row.emplace_back(sum / scale / static_cast<double>(std::uint64_t{log.rows()} - lost));
    row.emplace_back(high / scale);
    row.emplace_back(unit);
    if (c.text) row[3] = row[4] = row[5] = Value();
    columns.rows.push_back(std::move(row));
  }
  answer.tables.push_back(std::move(columns));
  if (!log.defects.empty()) answer.tables.push_back(defects_table(log, several));

  Value gpu_ids = Value::array();
  for (const auto& id : log.gpus) gpu_ids.push(id);
  Value counts = Value::object();
  for (const auto& [kind, count] : log.defect_counts) counts.set(kind, count);
  Value notes = Value::array();
  for (const auto& note : log.notes) notes.push(note);
  answer.data.set("rows", std::uint64_t{log.rows()})
      .set("gpus", std::uint64_t{log.gpus.size()})
      .set("gpu_ids", std::move(gpu_ids))
      .set("duration_s", duration ? Value(duration->si()) : Value())
      .set("log_format", log.format)
      .set("columns", std::move(names))
      .set("missing", std::move(missing))
      .set("defects", defect_values(log, several))
      .set("defect_counts", std::move(counts))
      .set("notes", std::move(notes));
  return answer;
}

Result<int> import_run(Context& context) {
  const auto& paths = context.operands();
  if (std::ranges::count(paths, "-") > 1) {
    return fail(Errc::kInvalidArgument, "stdin is named twice", "'-' can be read once");
  }
  if (context.given("reference") && !context.enabled("sensor")) {
    return fail(Errc::kInvalidArgument, "--reference needs --sensor",
                "ergon import LOG --sensor --reference METER.csv");
  }
  if (context.given("window") && !context.enabled("sensor")) {
    return fail(Errc::kInvalidArgument, "--window needs --sensor",
                "ergon import LOG --sensor --window 2s");
  }
  std::vector<meter::PowerLog> logs;
  std::vector<std::string> names;
  const auto interval = context.number("interval");
  bool stated = false;
  for (const auto& path : paths) {
    context.stage("reading " + path);
    ERGON_TRY(const auto source, io::open_source(path));
    auto log = meter::read_log(*source);
    if (!log) {
      Error error = log.error();
      error.message = path + ": " + error.message;
      return fail(std::move(error));
    }
    if (interval && log->time_ns.empty()) {
      ERGON_TRY_STATUS(meter::give_times(*log, Seconds(*interval)));
      stated = true;
    }
    io::InputRecord record = source->record();
    record.format = log->format;
    context.add_input(std::move(record));
    for (const auto& [reason, count] : log->skipped) context.skipped(reason_of(reason), count);
    std::string name = short_name(path);
    const std::string stem = name;
    for (int n = 2; std::ranges::find(names, name) != names.end(); ++n) {
      name = stem + "-" + std::to_string(n);
    }
    names.push_back(std::move(name));
    logs.push_back(std::move(*log));
  }
  if (interval && !stated) {
    return fail(Errc::kInvalidArgument,
                "--interval is for logs without times, these have their own", "leave it out");
  }
  ERGON_TRY(const auto log, meter::join_logs(std::move(logs), names));
  if (log.time_ns.empty()) {
    context.warn("no_time_base",
                 "the log has no times: the table has no time_s, duration is unknown");
  }
  warn_of_defects(context, log);
  context.origin_share("measured", 1);
  Answer answer = answer_of(log, paths.size() > 1);
  if (context.enabled("sensor")) ERGON_TRY_STATUS(add_sensors(context, log, answer));
  if (context.output()) ERGON_TRY_STATUS(context.write_artefact(meter::to_csv(log)));
  ERGON_TRY_STATUS(context.emit(answer));
  return 0;
}

}  // namespace

const Command& import_command() {
  static const Command command = {
      .name = "import",
      .group = "Measure",
      .summary = "any power log to one canonical CSV, with its defects by line",
      .description =
          "Reads what nvidia-smi (queries, -q, dmon, its table), DCGM (dmon and exporter), "
          "Prometheus, Telegraf, gpustat, rocm-smi, amd-smi, hl-smi, intel_gpu_top, tegrastats, "
          "GPU-Z, CodeXL, perf, turbostat, BMCs and people's own pollers write, as text, CSV, "
          "JSON, "
          "InfluxDB's line protocol or a table between pipes, "
          "plain or compressed, also after a spreadsheet re-saved it. Missing readings stay "
          "missing. "
          "With --sensor it says how the power sensor behaves and what energy the log holds.",
      .operands = {{.name = "LOG", .help = "power logs; '-' is stdin", .many = true, .path = true}},
      .flags = {{.name = "interval",
                 .kind = Kind::kDuration,
                 .value = "TIME",
                 .help = "how far apart the samples of a log without times are",
                 .example = "1s"},
                {.name = "sensor",
                 .help = "how the sensor refreshes, and the energy by both estimators"},
                {.name = "reference",
                 .kind = Kind::kPath,
                 .value = "METER",
                 .help = "with --sensor: a log of an external meter beside it"},
                {.name = "window",
                 .kind = Kind::kDuration,
                 .value = "TIME",
                 .help = "with --sensor: energy of each window of this length",
                 .example = "2s"}},
      .examples = {{"ergon import nvidia-smi.log -o power.csv", "a log as canonical CSV"},
                   {"ergon import gpu0.csv.gz gpu1.csv.gz -f json",
                    "two logs as one, with their defects"},
                   {"ergon import dcgmi.txt --interval 1s --sensor",
                    "energy of a log that has no times"},
                   {"ergon import nvidia-smi.log --sensor --reference meter.csv",
                    "refresh, and energy against a meter"}},
      .artefact = "the canonical CSV",
      .run = import_run,
  };
  return command;
}

}  // namespace ergon::cli
