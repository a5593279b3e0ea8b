// From rows to a table: the time base, GPUs without an index, and what is wrong with the values.
#include <algorithm>
#include <cmath>
#include <set>

#include "logs/builder.hpp"
#include "renewals.hpp"
#include "text.hpp"

namespace ergon::meter::logs {
namespace {

constexpr Nanos kOneSecond = 1'000'000'000;
// No board draws more; what says so is garbage that came with a success code.
constexpr double kMostWatts = 10'000;
constexpr double kLeastCelsius = -100;
constexpr double kMostCelsius = 200;
constexpr double kGapFactor = 3;
constexpr double kLeastGapS = 0.05;
// One call of nvidia-smi prints its GPUs within this time.
constexpr double kOneTickNs = 60e6;

bool sensor_name(const std::string& name) {
  for (const char* part : {"power_w", "energy_j", "clock_hz", "temperature", "utilization", "_w"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return name.starts_with("memory_used") || name.ends_with("_hz") || name.ends_with("_c");
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

// Parts of one log that name GPUs by index and by bus id name the same ones: indexes are in the
// order of the bus.
void Builder::same_gpus() {
  std::vector<std::pair<std::string, std::uint32_t>> by_bus;
  std::vector<std::pair<long, std::uint32_t>> by_index;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const std::string& id = gpus_[i];
    const auto place = static_cast<std::uint32_t>(i);
    if (std::ranges::count(id, ':') == 2) {
      by_bus.emplace_back(lower(id), place);
    } else if (id.size() <= 2 &&
               std::ranges::all_of(id, [](char c) { return c >= '0' && c <= '9'; })) {
      by_index.emplace_back(std::stol(id), place);
    }
  }
  if (by_bus.empty() || by_bus.size() != by_index.size() ||
      by_bus.size() + by_index.size() != gpus_.size()) {
    return;
  }
  std::ranges::sort(by_bus);
  std::ranges::sort(by_index);
  std::vector<std::string> names;
  std::vector<std::uint32_t> now(gpus_.size());
  for (std::size_t k = 0; k < by_index.size(); ++k) {
    now[by_bus[k].second] = static_cast<std::uint32_t>(k);
    now[by_index[k].second] = static_cast<std::uint32_t>(k);
    names.push_back(gpus_[by_index[k].second]);
  }
  for (std::uint32_t& g : gpu_) g = g == 0 ? 0 : now[g - 1] + 1;
  gpus_ = std::move(names);
}

// Rows of several GPUs in turn, without an index: the distances in time show how many belong to one
// tick.
void Builder::lanes() {
  if (!may_interleave_ || !gpus_.empty() || lines_.size() < 4) return;
  const std::size_t n = lines_.size();
  const auto set = [&](std::size_t g) {
    for (std::size_t lane = 0; lane < g; ++lane) {
      gpus_.push_back(std::to_string(lane));
      gpu_ids_.emplace(gpus_.back(), static_cast<std::uint32_t>(gpus_.size()));
    }
    for (std::size_t i = 0; i < n; ++i) gpu_[i] = static_cast<std::uint32_t>(i % g) + 1;
    note("the log names no GPU: rows of " + std::to_string(g) +
         " GPUs are told apart by their order");
  };
  // A column without a name that counts 0, 1, ... again and again is the index.
  for (LogColumn& c : columns_) {
    if (c.text || !c.name.starts_with("column_")) continue;
    const double most = *std::ranges::max_element(c.numbers);
    if (!(most >= 1 && most < 16) || static_cast<double>(n) < 2 * (most + 1)) continue;
    const auto g = static_cast<std::size_t>(most) + 1;
    bool counts = true;
    for (std::size_t i = 0; counts && i < n; ++i)
      counts = c.numbers[i] == static_cast<double>(i % g);
    if (!counts) continue;
    set(g);
    notes_.back() = "a column without a name counts the GPUs: it is taken as their index";
    by_name_.erase(c.name);
    return;
  }
  const bool timed =
      times_.kind && std::ranges::all_of(times_.ns, [](Nanos t) { return t != kNoTime; });
  // A name or a size that differs between the rows of a tick, always in the same order.
  const auto periodic = [&](std::size_t g) {
    return std::ranges::any_of(columns_, [&](const LogColumn& c) {
      bool differs = false;
      for (std::size_t i = 0; i < n; ++i) {
        if (c.text) {
          if (i >= g && c.words[i] != c.words[i - g]) return false;
          differs = differs || (i > 0 && i < g && c.words[i] != c.words[i - 1]);
        } else {
          if (c.name.find("total") == std::string::npos &&
              c.name.find("limit") == std::string::npos)
            return false;
          if (i >= g && c.numbers[i] != c.numbers[i - g]) return false;
          differs = differs || (i > 0 && i < g && c.numbers[i] != c.numbers[i - 1]);
        }
      }
      return differs;
    });
  };
  constexpr std::size_t kHead = 2048;
  for (std::size_t g = 2; g <= 16 && 2 * g <= n; ++g) {
    // Most counts are out of the question after a few ticks.
    if (timed && n > kHead) {
      std::size_t inside = 0;
      std::size_t near = 0;
      for (std::size_t i = 1; i < kHead; ++i) {
        if (i % g == 0) continue;
        ++inside;
        near += static_cast<double>(times_.ns[i] - times_.ns[i - 1]) < kOneTickNs ? 1 : 0;
      }
      std::vector<double> steps;
      for (std::size_t i = g; i < kHead; i += g) {
        steps.push_back(static_cast<double>(times_.ns[i] - times_.ns[i - 1]));
      }
      const double typical = median_of(std::move(steps));
      std::size_t far = 0;
      for (std::size_t i = 1; i < kHead; ++i) {
        if (i % g != 0) {
          far += static_cast<double>(times_.ns[i] - times_.ns[i - 1]) >= typical / 4 ? 1 : 0;
        }
      }
      if (near * 10 < inside * 9 || far * 5 > inside) continue;
    }
    if (!timed) {
      if (n % g == 0 && periodic(g)) return set(g);
      continue;
    }
    std::vector<double> between;
    for (std::size_t i = g; i < n; i += g) {
      between.push_back(static_cast<double>(times_.ns[i] - times_.ns[i - 1]));
    }
    const double typical = median_of(between);
    if (typical <= 0) continue;
    std::size_t good = 0;
    bool whole = true;
    for (std::size_t i = 1; i < n; ++i) {
      const auto d = static_cast<double>(times_.ns[i] - times_.ns[i - 1]);
      good += i % g == 0 ? d > typical / 2 : d < std::min(typical / 4, kOneTickNs);
      whole = whole && times_.ns[i] % kOneSecond == 0;
    }
    // Stamps of whole seconds repeat with one GPU as well: then every tick must show it.
    const std::size_t needed = whole ? n - 1 : (n - 1) * 95 / 100;
    if (good >= needed && (!whole || n >= 5 * g || periodic(g))) return set(g);
  }
}

void Builder::unwrap() {
  if (!times_.kind) return;
  const bool day = *times_.kind == Stamp::Kind::kDay;
  if (!day && *times_.kind != Stamp::Kind::kHour) return;
  const Nanos whole = (day ? 86'400 : 3'600) * kOneSecond;
  Nanos offset = 0;
  Nanos last = kNoTime;
  for (Nanos& t : times_.ns) {
    if (t == kNoTime) continue;
    if (last != kNoTime && t + offset < last - whole / 2) {
      offset += whole;
      note(day ? "times without a date pass midnight" : "times without hours pass the hour");
    }
    t += offset;
    last = t;
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
        defect(line, "duplicate_time");
      } else if (d < 0) {
        defect(line, "time_backwards", seconds_text(static_cast<double>(-d) / 1e9));
      } else if (static_cast<double>(d) > kGapFactor * typical &&
                 static_cast<double>(d) * 1e-9 > kLeastGapS) {
        defect(line, "gap",
               seconds_text(static_cast<double>(d) * 1e-9) + " where " +
                   seconds_text(typical * 1e-9) + " is usual");
      }
    }
  }
}

void Builder::check_values(PowerLog& log) {
  for (LogColumn& c : log.columns) {
    const bool heat = c.name == "temperature_c" || c.name == "memory_temperature_c";
    const bool load = c.name == "utilization" || c.name == "memory_utilization";
    for (std::size_t i = 0; (heat || load) && i < c.numbers.size(); ++i) {
      const double v = c.numbers[i];
      if (is_missing(v)) continue;
      if (heat ? v >= kLeastCelsius && v <= kMostCelsius : v >= 0 && v <= 1) continue;
      char text[80];
      std::snprintf(text, sizeof text, "%s of %.10g", c.name.c_str(), v);
      defect(log.line[i], "implausible", text);
      c.numbers[i] = kMissing;
    }
    if (c.text || !c.name.ends_with("power_w")) continue;
    for (std::size_t i = 0; i < c.numbers.size(); ++i) {
      const double w = c.numbers[i];
      const bool own = c.name == "power_w";
      if (is_missing(w) || (w >= 0 && (!own || w <= kMostWatts))) continue;
      char text[64];
      std::snprintf(text, sizeof text, "%s of %.6g W", c.name.c_str(), w);
      defect(log.line[i], "impossible_value", text);
      c.numbers[i] = kMissing;
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
  unwrap();
  // As many GPUs as samples: the column counts rows.
  if (gpus_.size() > 16 && gpus_.size() == lines_.size()) {
    gpus_.clear();
    gpu_ids_.clear();
    std::ranges::fill(gpu_, 0U);
    note("the column that should name the GPU counts the rows: it is left out");
  }
  lanes();
  same_gpus();
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
    const std::string what =
        lines_.empty() && processes ? "it lists processes (pmon), not readings of a GPU"
        : lines_.empty()            ? "there is no sample in it"
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
  std::ranges::stable_sort(defects_, {}, &Defect::line);
  log.defects = std::move(defects_);
  log.defect_counts = std::move(defect_counts_);
  log.skipped.assign(skipped_.begin(), skipped_.end());
  log.notes = std::move(notes_);
  return log;
}

}  // namespace ergon::meter::logs
