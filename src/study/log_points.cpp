// Power logs as measurements: the busy part of each, and what it says of the runs of a table.
#include <algorithm>
#include <cmath>

#include "ergon/meter.hpp"
#include "ergon/meter/log.hpp"
#include "judging.hpp"
#include "names.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

constexpr double kBusy = 0.3;  // of the way from the log's low power to its high power

double quantile_of(std::vector<double> values, double q) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// "power.draw [W]", "clocks.current.sm": names of nvidia-smi's queries.
bool is_query_field(std::string_view name) {
  name = trimmed(name);
  for (const std::string_view head :
       {"power.", "clocks.", "utilization.", "temperature.", "memory.", "pcie.", "enforced.power",
        "clocks_event_reasons", "clocks_throttle_reasons", "module.power"}) {
    if (name.starts_with(head)) return true;
  }
  return false;
}

// From the first to the last reading clearly above idle; all of it where power hardly moves.
std::optional<meter::Window> busy_window(const meter::Series& s) {
  if (!s.has(s.power_w) || s.size() < 4) return {};
  const double low = quantile_of(s.power_w, 0.02);
  const double high = quantile_of(s.power_w, 0.95);
  if (!(high > 0)) return {};
  const double least = high > 1.15 * low ? low + kBusy * (high - low) : low;
  meter::Window out{-1, -1};
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (!(s.power_w[i] >= least)) continue;
    if (out.start_ns < 0) out.start_ns = s.time_ns[i];
    out.end_ns = s.time_ns[i];
  }
  if (out.end_ns <= out.start_ns) return {};
  return out;
}

std::vector<double> inside(const meter::Series& s, const std::vector<double>& column,
                           meter::Window window) {
  std::vector<double> out;
  if (!s.has(column)) return out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool in = s.time_ns[i] >= window.start_ns && s.time_ns[i] <= window.end_ns;
    if (in && std::isfinite(column[i]) && column[i] > 0) out.push_back(column[i]);
  }
  return out;
}

// Seconds since 1970 of "20260419063615".
Maybe seconds_of(const std::string& stamp) {
  if (stamp.size() != 14) return {};
  if (!std::ranges::all_of(stamp, [](char c) { return c >= '0' && c <= '9'; })) return {};
  const auto part = [&](std::size_t at, std::size_t n) {
    return parse_number<int>(std::string_view(stamp).substr(at, n)).value_or(0);
  };
  const int month = part(4, 2);
  const int day = part(6, 2);
  if (month < 1 || month > 12 || day < 1 || day > 31) return {};
  // Days since 1970 of the proleptic Gregorian calendar.
  const int y = part(0, 4) - (month <= 2 ? 1 : 0);
  const int era = y / 400;
  const int of_era = y - era * 400;
  const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const int days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
  return 86400.0 * days + 3600.0 * part(8, 2) + 60.0 * part(10, 2) + part(12, 2);
}

// Two clocks that differ by whole quarters of an hour are in two zones.
void compare_zones(const Reading& reading, const meter::PowerLog& log, const std::string& stamp) {
  const Maybe named = seconds_of(stamp);
  if (!named || !(log.local_ns || log.utc_ns)) return;
  const double first = static_cast<double>(log.local_ns ? *log.local_ns : *log.utc_ns) * 1e-9;
  const double shift = first - *named;
  const double quarters = std::round(shift / 900);
  if (quarters == 0 || std::abs(quarters) > 14 * 4 || std::abs(shift - 900 * quarters) > 240)
    return;
  const double hours = quarters / 4;
  reading.finding("time_zone_shift", stem_of(reading.source.path),
                  "its times are " + figure_text(std::abs(hours), 4) + " h " +
                      (hours > 0 ? "after" : "before") +
                      " the time in its name: one of them is in another zone");
}

bool is_log_of_samples(const meter::PowerLog& log) {
  // What was guessed to be watts may be anything.
  if (log.defect_counts.contains("unit_assumed")) return false;
  // A table that anybody may have written has times if it is a log.
  const bool anybodys = log.format == "csv" || log.format == "json" || log.format.empty();
  return !log.time_ns.empty() || !anybodys;
}

bool has_power(const meter::PowerLog& log) {
  const auto* power = log.find("power_w");
  return power != nullptr &&
         std::ranges::any_of(power->numbers, [](double v) { return std::isfinite(v); });
}

// Why no point came of a log.
std::string lack_of(const meter::PowerLog& log) {
  if (!has_power(log)) return "holds no power of a GPU";
  if (log.time_ns.empty()) return "has no times";
  return "has too few readings to tell an energy";
}

// The busy part of each GPU's readings as a sample.
Status add_log_points(const Reading& reading, const meter::PowerLog& log) {
  const NamedSetting named = setting_in(stem_of(reading.source.path));
  compare_zones(reading, log, named.stamp);
  const auto all = meter::to_series(log);
  std::size_t used = 0;
  for (const meter::Series& series : all) {
    const auto window = busy_window(series);
    if (!window) continue;
    const auto energy = meter::measure_energy(series, meter::estimate_sensor(series), *window);
    Sample s;
    s.workload = named.label;
    if (all.size() > 1) s.workload += " gpu " + series.gpu;
    s.gpu = gpu_in(reading.source.path);
    s.setting = named.setting;
    s.setting.default_clocks = !named.any();
    s.run = named.run;
    s.file = reading.file;
    s.from_log = true;
    s.time = window->length().si();
    s.log_s = to_seconds(series.time_ns.back() - series.time_ns.front()).si();
    if (energy.energy_j) {
      s.energy = energy.energy_j->value;
      s.power_w = *s.energy / *s.time;
    } else {
      s.good = false;
      s.why_bad = energy.why_unknown;
    }
    const auto clocks = inside(series, series.clock_hz, *window);
    if (!clocks.empty()) s.achieved_hz = quantile_of(clocks, 0.5);
    const auto memory = inside(series, series.memory_clock_hz, *window);
    if (!memory.empty()) {
      s.memory_hz = quantile_of(memory, 0.5);
      s.memory_low_hz = quantile_of(memory, 0.02);
      s.memory_high_hz = quantile_of(memory, 0.98);
    }
    const auto warm = inside(series, series.temperature_c, *window);
    if (!warm.empty()) s.temperature_c = quantile_of(warm, 0.5);
    add_factors_in(s.workload, s.factors);
    reading.data.samples.push_back(std::move(s));
    ++used;
  }
  if (used == 0) {
    return fail(Errc::kMalformedInput,
                reading.source.path + " is a log of samples (" + log.format + ", " +
                    counted_text(log.rows(), "sample") + "), no table of settings, and " +
                    lack_of(log),
                "'ergon import " + reading.source.path + "' says what is in it; " +
                    (log.time_ns.empty() && has_power(log)
                         ? "--sensor --interval TIME says what energy, too"
                         : "--sensor says what energy, where it has power and times"));
  }
  reading.note("power_log",
               "of power logs the busy part counts: from the first to the last "
               "reading clearly above idle");
  if (named.any())
    reading.note("setting_from_name", "clocks and limits are taken from the names of the files");
  return {};
}

}  // namespace

bool is_power_log(const Source& source, const RawTable& table) {
  const std::string_view head = std::string_view(source.text).substr(0, 400);
  if (head.find("POWER PROFILE REPORT") != std::string_view::npos) return true;
  bool time = false;
  bool power = false;
  bool sensor = false;  // a reading that no result of a run is
  bool run = false;     // what only tables of runs have
  bool result = false;
  std::size_t queried = 0;
  for (const auto& name : table.header) {
    const Sense s = sense_of(name);
    time = time || s.role == Role::kStart;
    power = power || s.role == Role::kPower;
    sensor = sensor || s.role == Role::kTemperature || s.role == Role::kUtilization;
    run = run || s.role == Role::kTime || s.role == Role::kWorkload || s.role == Role::kSetting;
    result = result || s.role == Role::kEnergy || s.role == Role::kRate || s.role == Role::kCheck;
    queried += is_query_field(name) ? 1 : 0;
  }
  if (!time) return false;
  // Fields as nvidia-smi calls them, a time first: the board's name and counters of time are
  // readings there.
  if (queried >= 2) return true;
  return !run && (power || (sensor && !result));
}

Status read_power_log(const Reading& reading) {
  const auto source = io::memory_source(reading.source.text, reading.source.path);
  ERGON_TRY(const auto log, meter::read_log(*source));
  return add_log_points(reading, log);
}

bool read_as_log(const Reading& reading, Status& done) {
  const auto source = io::memory_source(reading.source.text, reading.source.path);
  const auto log = meter::read_log(*source);
  if (!log || !is_log_of_samples(*log)) return false;
  done = add_log_points(reading, *log);
  return true;
}

void attach_logs(Dataset& data, std::span<const Source> sources) {
  std::vector<std::size_t> gone;
  for (std::size_t l = 0; l < data.samples.size(); ++l) {
    if (!data.samples[l].from_log) continue;
    const std::string stem = stem_of(sources[data.samples[l].file].path);
    for (Sample& s : data.samples) {
      if (s.from_log || s.run.size() < 6 || stem.find(s.run) == std::string::npos) continue;
      const Sample& log = data.samples[l];
      s.memory_low_hz = s.memory_low_hz ? s.memory_low_hz : log.memory_low_hz;
      s.memory_high_hz = s.memory_high_hz ? s.memory_high_hz : log.memory_high_hz;
      if (s.time && log.log_s && (*log.log_s > 1.5 * *s.time || *log.log_s < 0.67 * *s.time)) {
        data.findings.push_back({"log_window", stem,
                                 "the log lasts " + figure_text(*log.log_s) + " s and the run " +
                                     figure_text(*s.time) +
                                     " s: an average over the log is not that of the run"});
      }
      gone.push_back(l);
      break;
    }
  }
  if (gone.empty()) return;
  data.notes.push_back(
      {"logs_of_runs", "power logs belong to runs that a table lists", gone.size()});
  std::vector<Sample> kept;
  for (std::size_t i = 0; i < data.samples.size(); ++i) {
    if (!std::ranges::binary_search(gone, i)) kept.push_back(std::move(data.samples[i]));
  }
  data.samples = std::move(kept);
}

}  // namespace ergon::study
