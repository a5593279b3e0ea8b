// From rows to a table: the time base, GPUs without an index, and what is wrong with the values.
#include <algorithm>
#include <cmath>
#include <set>

#include "logs/builder.hpp"
#include "logs/gaps.hpp"
#include "renewals.hpp"
#include "text.hpp"

namespace ergon::meter::logs {
namespace {

constexpr Nanos kOneSecond = 1'000'000'000;
// No board draws more; what says so is garbage that came with a success code.
constexpr double kMostWatts = 10'000;
constexpr std::size_t kMostGpus = 32;  // of one machine
constexpr double kLeastCelsius = -100;
constexpr double kMostCelsius = 200;
constexpr double kMostOtherWatts = 1e6;  ///< of a machine or a rack
constexpr double kMostHertz = 1e11;      ///< memory clocks are told in transfers, too

bool sensor_name(const std::string& name) {
  for (const char* part : {"power_w", "energy_j", "clock_hz", "temperature", "utilization", "_w"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return name.starts_with("memory_used") || name.ends_with("_hz") || name.ends_with("_c");
}

enum class Doubt { kNone, kImpossible, kImplausible };

Doubt doubt_of(const std::string& column, double v) {
  if (is_missing(v)) return Doubt::kNone;
  const auto between = [v](double least, double most) { return v >= least && v <= most; };
  if (column.ends_with("power_w")) {
    const double most = column == "power_w" ? kMostWatts : kMostOtherWatts;
    return between(0, most) ? Doubt::kNone : Doubt::kImpossible;
  }
  if (column == "energy_j") return v >= 0 ? Doubt::kNone : Doubt::kImpossible;
  const bool load = column == "utilization" || column == "memory_utilization";
  const bool heat = column == "temperature_c" || column == "memory_temperature_c";
  const bool sound = heat                      ? between(kLeastCelsius, kMostCelsius)
                     : load                    ? between(0, 1)
                     : column.ends_with("_hz") ? between(0, kMostHertz)
                                               : true;
  return sound ? Doubt::kNone : Doubt::kImplausible;
}

// "power_w is -5 W": as the log has it, megahertz for hertz.
std::string value_words(const std::string& column, double v) {
  const char* unit = "";
  if (column.ends_with("_hz")) {
    v /= 1e6;
    unit = " MHz";
  } else if (column.ends_with("utilization")) {
    v *= 100;
    unit = " %";
  }
  for (const auto& [end, name] : {std::pair{"_w", " W"}, {"_j", " J"}, {"_c", " \u00b0C"}}) {
    if (column.ends_with(end)) unit = name;
  }
  char text[96];
  std::snprintf(text, sizeof text, "%.40s is %.10g%s", column.c_str(), v, unit);
  return text;
}

bool same_readings(const PowerLog& log, std::size_t a, std::size_t b) {
  return std::ranges::all_of(log.columns, [&](const LogColumn& c) {
    if (c.text) return c.words[a] == c.words[b];
    return c.numbers[a] == c.numbers[b] || (is_missing(c.numbers[a]) && is_missing(c.numbers[b]));
  });
}

}  // namespace

void Builder::pad() {
  for (LogColumn& c : columns_) {
    if (c.text) {
      c.words.resize(lines_.size(), 0);
    } else {
      c.numbers.resize(lines_.size(), kMissing);
    }
  }
}

void Builder::check_times(PowerLog& log) {
  if (log.time_ns.empty()) return;
  // Each GPU's samples by themselves.
  std::vector<std::vector<std::size_t>> of(log.gpus.size() + 1);
  for (std::size_t i = 0; i < log.rows(); ++i) {
    if (log.time_ns[i] == kNoTime) continue;
    of[log.gpu.empty() ? 0 : log.gpu[i]].push_back(i);
  }
  for (const auto& rows : of) {
    std::vector<double> steps;
    for (std::size_t k = 1; k < rows.size(); ++k) {
      const Nanos d = log.time_ns[rows[k]] - log.time_ns[rows[k - 1]];
      if (d > 0) steps.push_back(static_cast<double>(d));
    }
    const double typical = median_of(std::move(steps));
    for (std::size_t k = 1; k < rows.size(); ++k) {
      const Nanos d = log.time_ns[rows[k]] - log.time_ns[rows[k - 1]];
      const std::uint64_t line = log.line[rows[k]];
      if (d == 0) {
        defect(line, "duplicate_time",
               std::string("the time of line ") + std::to_string(log.line[rows[k - 1]]) +
                   (same_readings(log, rows[k - 1], rows[k]) ? ", with the same readings"
                                                             : ", with other readings"));
      } else if (d < 0) {
        defect(line, "time_backwards",
               seconds_text(static_cast<double>(-d) / 1e9) + " before line " +
                   std::to_string(log.line[rows[k - 1]]));
      } else if (is_gap(static_cast<double>(d), typical)) {
        defect(line, "gap",
               seconds_text(static_cast<double>(d) * 1e-9) + " where " +
                   seconds_text(typical * 1e-9) + " is usual");
      }
    }
  }
}

// What cannot be is missing.
void Builder::check_values(PowerLog& log) {
  for (LogColumn& c : log.columns) {
    for (std::size_t i = 0; !c.text && i < c.numbers.size(); ++i) {
      const Doubt doubt = doubt_of(c.name, c.numbers[i]);
      if (doubt == Doubt::kNone) continue;
      defect(log.line[i], doubt == Doubt::kImpossible ? "impossible_value" : "implausible",
             value_words(c.name, c.numbers[i]));
      c.numbers[i] = kMissing;
    }
  }
}

// One value in all readings of a GPU: a sensor that stands still, or too coarse a one.
void Builder::check_renewals(const PowerLog& log) {
  const LogColumn* power = log.find("power_w");
  if (power == nullptr || power->text) return;
  const std::size_t count = std::max<std::size_t>(log.gpus.size(), 1);
  for (std::size_t g = 0; g < count; ++g) {
    std::vector<Nanos> times;
    std::vector<double> watts;
    std::uint64_t line = 0;
    for (std::size_t i = 0; i < log.rows(); ++i) {
      const double value = power->numbers[i];
      if ((!log.gpu.empty() && log.gpu[i] != g) || is_missing(value)) continue;
      if (!log.time_ns.empty() && log.time_ns[i] == kNoTime) continue;
      if (watts.empty()) line = log.line[i];
      watts.push_back(value);
      // Without times every reading counts for a second.
      times.push_back(log.time_ns.empty() ? static_cast<Nanos>(watts.size()) * kOneSecond
                                          : log.time_ns[i]);
      if (value != watts.front()) break;
    }
    if (!one_value(times, watts)) continue;
    char text[160];
    std::snprintf(
        text, sizeof text, "power_w%s%s is %.6g W in all %zu readings: the sensor may be stuck%s",
        log.gpus.size() > 1 ? " of GPU " : "",
        log.gpus.size() > 1 ? log.gpus[g].substr(0, 40).c_str() : "", watts.front(), watts.size(),
        watts.front() == std::floor(watts.front()) ? ", or shows whole watts only" : "");
    defect(line, "never_renewed", text);
  }
}

// One id of a GPU that is called by another name, UUID or serial number later on.
void Builder::check_boards(const PowerLog& log) {
  for (const char* column : {"name", "uuid", "serial"}) {
    const LogColumn* c = log.find(column);
    if (c == nullptr || !c->text) continue;
    std::vector<std::uint32_t> last(log.gpus.size() + 1, 0);
    for (std::size_t i = 0; i < log.rows(); ++i) {
      std::uint32_t& before = last[log.gpu.empty() ? 0 : log.gpu[i]];
      const std::uint32_t word = c->words[i];
      if (word == 0) continue;
      if (before != 0 && before != word) {
        defect(
            log.line[i], "other_board",
            std::string(column) + " was " + c->dictionary[before] + ", now " + c->dictionary[word]);
      }
      before = word;
    }
  }
}

// A counter of energy only rises: it goes down where a driver was loaded again or it ran over.
void Builder::check_counters(const PowerLog& log) {
  const LogColumn* energy = log.find("energy_j");
  if (energy == nullptr || energy->text) return;
  std::vector<std::optional<std::size_t>> last(log.gpus.size() + 1);
  for (std::size_t i = 0; i < log.rows(); ++i) {
    const double joules = energy->numbers[i];
    if (is_missing(joules)) continue;
    auto& before = last[log.gpu.empty() ? 0 : log.gpu[i]];
    // Rows out of order tell nothing of the counter.
    if (before && !log.time_ns.empty() && log.time_ns[i] < log.time_ns[*before]) continue;
    if (before && joules < energy->numbers[*before]) {
      char text[80];
      std::snprintf(text, sizeof text, "energy_j falls from %.10g J to %.10g J",
                    energy->numbers[*before], joules);
      defect(log.line[i], "counter_reset", text);
    }
    before = i;
  }
}

// A counter and the power beside it tell of a factor between their units.
void Builder::check_units(PowerLog& log) {
  const LogColumn* power = log.find("power_w");
  const LogColumn* energy = log.find("energy_j");
  if (power == nullptr || energy == nullptr || log.time_ns.empty() || log.rows() < 3) return;
  double integral = 0;
  double counted = 0;
  std::vector<std::optional<std::size_t>> last(log.gpus.size() + 1);
  for (std::size_t i = 0; i < log.rows(); ++i) {
    if (log.time_ns[i] == kNoTime || is_missing(power->numbers[i]) ||
        is_missing(energy->numbers[i])) {
      continue;
    }
    auto& before = last[log.gpu.empty() ? 0 : log.gpu[i]];
    if (before) {
      const double d = static_cast<double>(log.time_ns[i] - log.time_ns[*before]) * 1e-9;
      const double joules = energy->numbers[i] - energy->numbers[*before];
      if (d > 0 && joules >= 0) {
        integral += d * (power->numbers[i] + power->numbers[*before]) / 2;
        counted += joules;
      }
    }
    before = i;
  }
  if (integral <= 0 || counted <= 0) return;
  const double ratio = counted / integral;
  for (const double factor : {1e3, 1e-3, 1e6, 1e-6, 3600.0, 1 / 3600.0, 3.6e6, 1 / 3.6e6}) {
    if (ratio < factor * 0.8 || ratio > factor * 1.25) continue;
    char text[120];
    std::snprintf(text, sizeof text,
                  "the energy counter rises %.4g times as fast as power tells: a unit is wrong",
                  ratio);
    defect(log.line.front(), "unit_mismatch", text);
  }
}

Result<PowerLog> Builder::finish() {
  pad();
  // A single one at the top is when the log began, no time base.
  const auto& lone = lone_times_.ns;
  const auto first_lone = std::ranges::find_if(lone, [](Nanos t) { return t != kNoTime; });
  if (!times_.kind && lone_times_.kind &&
      std::ranges::any_of(lone, [&](Nanos t) { return t != kNoTime && t != *first_lone; })) {
    times_ = std::move(lone_times_);
  }
  half_days();
  unwrap();
  seasons();
  // As many GPUs as samples: the column counts rows.
  if (gpus_.size() > 16 && gpus_.size() == lines_.size()) {
    gpus_.clear();
    gpu_ids_.clear();
    std::ranges::fill(gpu_, 0U);
    note("the column that should name the GPU counts the rows: it is left out");
  }
  // So are numbers that no machine has GPUs for.
  if (gpus_.size() > 1 && std::ranges::all_of(gpus_, [](const std::string& id) {
        const auto n = number_of(id);
        return n && n->rest.empty();
      })) {
    const bool odd = gpus_.size() > kMostGpus || std::ranges::any_of(gpus_, [](const auto& id) {
                       const auto n = number_of(id);
                       return n->decimals >= 0 || n->value < 0;
                     });
    if (odd) {
      gpus_.clear();
      gpu_ids_.clear();
      std::ranges::fill(gpu_, 0U);
      note("the column that should name the GPU holds other numbers: it is left out");
    }
  }
  lanes();
  same_gpus();
  if (unclear_lanes_ > 0) {
    const std::string rows = std::to_string(unclear_lanes_);
    return fail(Errc::kMalformedInput,
                "the log names no GPU and has " + rows + " rows at each second: one GPU read " +
                    rows + " times a second, or " + rows + " GPUs, cannot be told apart",
                "log with nvidia-smi --query-gpu=timestamp,index,power.draw");
  }
  // Bare numbers among other text are no log of watts.
  const auto count_of = [&](const char* kind) {
    const auto found = defect_counts_.find(kind);
    return found == defect_counts_.end() ? std::uint64_t{0} : found->second;
  };
  if (count_of("unit_assumed") > 0 &&
      (count_of("not_a_number") + count_of("not_a_row")) * 4 > lines_.size()) {
    return fail(Errc::kMalformedInput,
                "this is no power log: numbers without a name among other text",
                "docs/formats/power_logs.md lists what can be read");
  }
  PowerLog log;
  log.format = format_;
  log.line = lines_;

  if (times_.kind && !lines_.empty()) {
    const auto first = std::ranges::find_if(times_.ns, [](Nanos t) { return t != kNoTime; });
    if (first != times_.ns.end()) {
      const Nanos base = *first;
      for (const Nanos t : times_.ns) log.time_ns.push_back(t == kNoTime ? kNoTime : t - base);
      if (*times_.kind == Stamp::Kind::kUtc) log.utc_ns = base;
      if (*times_.kind == Stamp::Kind::kLocal) {
        log.local_ns = base;
        note("times are local, without a zone: they are not told as UTC");
      }
      if (*times_.kind == Stamp::Kind::kDay) note("times have no date");
      if (*times_.kind == Stamp::Kind::kHour) note("times have neither date nor hour");
    }
  }

  // Columns: the GPU's own draw, else the board's; canonical ones first.
  const auto rename = [&](const char* from) {
    const auto found = by_name_.find(from);
    if (by_name_.contains("power_w") || found == by_name_.end()) return;
    columns_[found->second].name = "power_w";
    by_name_["power_w"] = found->second;
    by_name_.erase(found);
  };
  rename("average_power_w");
  rename("instant_power_w");
  rename("board_power_w");
  rename("enforced_power_limit_w");
  for (const std::string& name : canonical_order()) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    log.columns.push_back(std::move(columns_[found->second]));
    by_name_.erase(found);
  }
  for (LogColumn& c : columns_) {
    if (by_name_.contains(c.name) &&
        by_name_.at(c.name) == static_cast<std::size_t>(&c - columns_.data())) {
      log.columns.push_back(std::move(c));
    }
  }

  // GPUs: rows without an id are GPU 0, unless no GPU is meant.
  if (gpus_.empty() && !no_gpu_ && !lines_.empty()) {
    gpus_.emplace_back("0");
    std::ranges::fill(gpu_, 1U);
  }
  log.gpus = gpus_;
  if (!gpus_.empty()) {
    for (const std::uint32_t g : gpu_) log.gpu.push_back(g == 0 ? 0 : g - 1);
  }

  const bool useful = std::ranges::any_of(
      log.columns, [](const LogColumn& c) { return !c.text && sensor_name(c.name); });
  const bool result = lines_.size() <= 1 && !runs_.empty();  // one record, of a whole run
  if (lines_.empty() || result || (!useful && !surely_log_)) {
    const bool processes = skipped_.contains("lines of processes (pmon)");
    if (!runs_.empty()) {
      return fail(Errc::kMalformedInput, "this is a table of finished runs, no power log: " + runs_,
                  "ergon study reads such tables");
    }
    if (!kind_.empty()) {
      return fail(Errc::kMalformedInput,
                  "this is " + kind_ +
                      ", no power log: no record in it has a time and a reading of power, energy, "
                      "clock, temperature or load",
                  "docs/formats/power_logs.md lists what can be read");
    }
    if (!lines_.empty() && log.columns.size() > 1 && count_of("no_header") > 0 &&
        count_of("not_a_row") == 0) {
      return fail(Errc::kMalformedInput,
                  "this log cannot be read: its columns have neither names nor units, so which of "
                  "them is the power cannot be told",
                  "log with a header or with units, without noheader or without nounits; tables of "
                  "finished "
                  "runs are for ergon study");
    }
    const std::string what =
        lines_.empty() && processes ? "it lists processes (pmon), not readings of a GPU"
        : lines_.empty() ? why_none_.empty() ? "there is no sample in it of a kind that is read"
                                             : why_none_.c_str()
                         : "none of its columns is a reading of power, energy, clock, "
                           "temperature or load";
    return fail(
        Errc::kMalformedInput, "this is no power log: " + what,
        "docs/formats/power_logs.md lists what can be read; tables of finished runs are for "
        "ergon study");
  }
  check_times(log);
  check_values(log);
  check_counters(log);
  check_units(log);
  check_renewals(log);
  check_boards(log);
  std::ranges::stable_sort(defects_, {}, &Defect::line);
  log.defects = std::move(defects_);
  log.defect_counts = std::move(defect_counts_);
  log.skipped.assign(skipped_.begin(), skipped_.end());
  log.notes = std::move(notes_);
  return log;
}

}  // namespace ergon::meter::logs
