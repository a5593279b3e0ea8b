// Planning the columns of a table of cells.
#include "logs/table_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ergon::meter::logs {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_bus_id(std::string_view c) {  // 00000000:58:00.0
  return (c.size() == 16 || c.size() == 12) && c[c.size() - 2] == '.' &&
         std::ranges::count(c, ':') == 2;
}

// Columns without a header are what their first value looks like.
void infer(std::vector<TableColumn>& columns, const std::vector<std::string_view>& first,
           bool decimal_comma, Builder& out) {
  bool have_time = false;
  bool have_power = false;
  std::size_t bare = 0;
  std::size_t bare_at = kNone;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string_view c = i < first.size() ? first[i] : std::string_view();
    Field& f = columns[i].field;
    f.name = "column_" + std::to_string(i + 1);
    f.fallback = f.name;
    columns[i].header = f.name;
    const auto number = number_of(c, decimal_comma);
    const auto stamp =
        number && number->rest.empty() ? number_time(c, std::nullopt, decimal_comma) : std::nullopt;
    if (!have_time && (wall_time(c) || (stamp && stamp->kind == Stamp::Kind::kUtc))) {
      f = field_of("timestamp");
      have_time = true;
    } else if (is_uuid(c)) {
      f = field_of("uuid");
    } else if (is_bus_id(c)) {
      f = field_of("pci.bus_id");
    } else if (number && !number->rest.empty()) {
      const auto unit = unit_of(number->rest);
      if (unit && unit->suffix == "w" && !have_power) {
        f = field_of("power.draw");
        have_power = true;
        out.note("the first column in watts is taken as the draw");
      }
    } else if (number) {
      ++bare;
      bare_at = i;
    } else if (c.starts_with("NVIDIA") || c.starts_with("Tesla") || c.starts_with("GeForce") ||
               c.starts_with("Quadro") || c.starts_with("AMD")) {
      f = field_of("name");
    } else if (c.size() <= 3 && c.starts_with("P") && c.size() > 1 && is_digit(c[1])) {
      f = field_of("pstate");
    }
  }
  // nvidia-smi prints power with two decimals and nothing else so: noheader,nounits.
  std::vector<std::size_t> hundredths;
  for (std::size_t i = 0; i < columns.size() && i < first.size(); ++i) {
    const auto number = number_of(first[i], decimal_comma);
    if (number && number->rest.empty() && number->decimals == 2) hundredths.push_back(i);
  }
  if (!have_power && have_time && bare > 1 && hundredths.size() == 1) {
    columns[hundredths[0]].field = field_of("power.draw [W]");
    columns[hundredths[0]].header = "column " + std::to_string(hundredths[0] + 1);
    out.defect(0, "unit_assumed",
               "the one column of two decimals is taken as watts, as nvidia-smi prints them");
    return;
  }
  // One bare number a line, alone or beside a time: what people log so is watts.
  if (!have_power && bare == 1 && columns.size() <= 2) {
    columns[bare_at].field = field_of("power.draw [W]");
    columns[bare_at].header = "column " + std::to_string(bare_at + 1);
    out.defect(0, "unit_assumed", "bare numbers are taken as watts");
  }
}

bool has_word(const std::string& header, std::string_view word) {
  const std::string padded = "_" + key_of(header) + "_";
  return padded.find("_" + std::string(word) + "_") != std::string::npos;
}

// A core beside columns of a CPU is the CPU's, unless nothing else in the table can be the GPU's:
// its clock or temperature must not pass for the GPU's.
void yield_to_gpus(std::vector<TableColumn>& columns, const TablePlan& plan) {
  const auto any = [&](std::string_view word) {
    return std::ranges::any_of(columns,
                               [&](const TableColumn& c) { return has_word(c.header, word); });
  };
  const bool processor_alone = any("cpu") && !any("gpu");
  for (const std::size_t i : plan.values) {
    Field& f = columns[i].field;
    if (!f.fixed || !has_word(columns[i].header, "core") || has_word(columns[i].header, "gpu"))
      continue;
    const bool of_a_gpu = std::ranges::any_of(plan.values, [&](std::size_t k) {
      const Field& other = columns[k].field;
      return other.fixed && other.name == f.name && has_word(columns[k].header, "gpu");
    });
    if (!of_a_gpu && !processor_alone) continue;
    f.name = f.fallback != f.name ? f.fallback : key_of(columns[i].header);
    f.fallback = f.name;
    f.fixed = false;
  }
}

// Of several columns for one canonical name the best takes it.
void resolve_names(std::vector<TableColumn>& columns, const TablePlan& plan) {
  std::map<std::pair<std::string, int>, std::size_t> taken;
  yield_to_gpus(columns, plan);
  for (const std::size_t i : plan.values) {
    const Field& f = columns[i].field;
    if (!f.fixed) continue;
    const auto key = std::make_pair(f.name, f.lane);
    const auto [at, fresh] = taken.emplace(key, i);
    if (!fresh && f.rank > columns[at->second].field.rank) at->second = i;
  }
  std::set<std::pair<std::string, int>> used;
  for (const auto& [key, i] : taken) used.insert(key);
  const auto final_name = [](const std::string& stem, const Field& f) {
    return f.unit && !f.fixed ? with_suffix(stem, f.unit->suffix) : stem;
  };
  for (const std::size_t i : plan.values) {
    Field& f = columns[i].field;
    std::string name = f.name;
    if (f.fixed && taken.at({f.name, f.lane}) == i) continue;
    if (f.fixed) name = f.fallback != f.name ? f.fallback : key_of(columns[i].header);
    if (name.empty()) name = "column_" + std::to_string(i + 1);
    const std::string stem = name;
    for (int n = 2; used.contains({final_name(name, f), f.lane}); ++n)
      name = stem + "_" + std::to_string(n);
    used.insert({final_name(name, f), f.lane});
    f.name = name;
  }
}

}  // namespace

bool is_uuid(std::string_view c) {
  return (c.starts_with("GPU-") || c.starts_with("MIG-")) && c.size() >= 12;
}

TablePlan plan_columns(std::vector<TableColumn>& columns,
                       const std::vector<std::string_view>& first, bool headerless,
                       bool decimal_comma, Builder& out) {
  if (headerless) {
    // Markers of missing readings are nvidia-smi's own: the row is one, even if no column is known.
    if (std::ranges::any_of(
            first, [](std::string_view c) { return c.starts_with("[") && missing_marker(c); })) {
      out.surely_log();
    }
    // So are values with units in several cells.
    const auto united = std::ranges::count_if(first, [&](std::string_view c) {
      const auto number = number_of(c, decimal_comma);
      return number && !number->rest.empty() && unit_of(number->rest);
    });
    if (united >= 2) out.surely_log();
    columns.resize(std::max(columns.size(), first.size()));
    if (columns.size() > 1 && first.back().empty()) columns.pop_back();
    infer(columns, first, decimal_comma, out);
  }
  TablePlan plan;
  const auto cell = [&](std::size_t i) { return i < first.size() ? first[i] : std::string_view(); };
  // Time: a date with its time of day, else the column that says UTC, else the first.
  std::size_t date = kNone;
  int best = -1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Field& f = columns[i].field;
    if (f.role == Field::Role::kDate) {
      if (wall_time(cell(i))) {
        if (best < 1) {
          plan.time = i;
          best = 1;
        }
      } else {
        date = i;
      }
      continue;
    }
    if (f.role != Field::Role::kTime) continue;
    std::optional<double> each;
    if (f.unit && f.unit->suffix == "s") each = f.unit->multiply / f.unit->divide;
    auto stamp = wall_time(cell(i));
    if (!stamp) stamp = number_time(cell(i), each, decimal_comma);
    if (!stamp) continue;
    int score = 1;
    if (stamp->kind == Stamp::Kind::kUtc) score = 4;
    if (stamp->kind == Stamp::Kind::kLocal) score = 3;
    if (stamp->kind == Stamp::Kind::kDay && date != kNone &&
        wall_time(std::string(cell(date)) + ' ' + std::string(cell(i)))) {
      score = 3;
    }
    if (score > best) {
      best = score;
      plan.time = i;
    }
  }
  if (plan.time != kNone && date != kNone && columns[plan.time].field.role == Field::Role::kTime) {
    const auto stamp = wall_time(cell(plan.time));
    if (stamp && stamp->kind == Stamp::Kind::kDay) {
      plan.day_time = plan.time;
      plan.time = date;
    }
  }
  // GPU: an index, else a UUID, else a bus id. Columns named by GPU come before all of them.
  std::set<int> lanes;
  for (const TableColumn& c : columns) {
    if (c.field.lane >= 0) lanes.insert(c.field.lane);
  }
  plan.lanes.assign(lanes.begin(), lanes.end());
  int rank = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Field& f = columns[i].field;
    if (f.role != Field::Role::kGpu || missing_marker(cell(i)) || !lanes.empty()) continue;
    // "gpu" may hold the product's name.
    const int here =
        f.rank == 4 && !is_digit(cell(i).front()) && !cell(i).starts_with("card") ? 2 : f.rank;
    if (here > rank) {
      rank = here;
      plan.gpu = i;
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i == plan.time || i == plan.day_time || i == plan.gpu) continue;
    TableColumn& c = columns[i];
    if (c.header.empty()) continue;
    if (c.field.role != Field::Role::kValue) {
      // A second time, a UUID beside the index: kept as words.
      c.field.role = Field::Role::kValue;
      c.field.name = key_of(c.header);
      c.field.fallback = c.field.name;
      c.field.fixed = false;
      c.field.text = true;
    }
    plan.values.push_back(i);
  }
  for (const std::size_t i : plan.values) {
    Field& f = columns[i].field;
    const auto number = number_of(cell(i), decimal_comma);
    if (!f.needs_unit || !number || !number->rest.empty()) continue;
    f.fixed = f.needs_unit = false;
    f.name = f.fallback;
    f.unit.reset();
  }
  resolve_names(columns, plan);
  bool rails = false;
  bool gpu_reading = false;
  for (const std::size_t i : plan.values) {
    const Field& f = columns[i].field;
    if (!f.fixed) continue;
    const bool rail = f.name.ends_with("_power_w") || f.name.ends_with("_energy_j");
    rails = rails || rail;
    gpu_reading = gpu_reading || !rail || f.name.starts_with("average_") ||
                  f.name.starts_with("instant_") || f.name.starts_with("board_") ||
                  f.name.starts_with("module_") || f.name.starts_with("memory_");
  }
  plan.no_gpu = rails && !gpu_reading && plan.gpu == kNone;
  return plan;
}

void settle(TableColumn& column, std::string_view value, bool decimal_comma, Builder& out) {
  Field& f = column.field;
  bool text = f.text;
  std::string name = f.name;
  if (!text) {
    auto number = number_of(value, decimal_comma);
    if (number && !number->rest.empty() && number->rest.front() == ',')
      number = grouped_or_comma(value);
    std::optional<Unit> unit = f.unit;
    bool good = number.has_value();
    if (number && !number->rest.empty()) {
      unit = unit_of(number->rest);
      good = unit.has_value();
    }
    if (!f.fixed) {
      if (good) {
        if (unit) name = with_suffix(name, unit->suffix);
      } else {
        text = true;
      }
    }
  }
  column.out = out.column(name, text);
  column.out_text = out.is_text(column.out);
}

std::optional<Number> grouped_or_comma(std::string_view text) {
  // Groups of three after one to three digits are thousands; else the comma is a decimal one.
  std::size_t at = 0;
  while (at < text.size() && is_digit(text[at])) ++at;
  bool groups = at >= 1 && at <= 3 && at < text.size() && text[at] == ',';
  std::string plain(text.substr(0, at));
  while (groups && at < text.size() && text[at] == ',') {
    groups = at + 3 < text.size() && is_digit(text[at + 1]) && is_digit(text[at + 2]) &&
             is_digit(text[at + 3]);
    if (groups) plain += text.substr(at + 1, 3);
    at += 4;
  }
  groups = groups && (at >= text.size() || !is_digit(text[at]));
  if (!groups) return number_of(text, true);
  const std::string_view rest = text.substr(std::min(at, text.size()));
  plain += rest;
  auto number = number_of(plain);
  // What follows must outlive the copy: it is a tail of the text as well.
  if (number) number->rest = text.substr(text.size() - number->rest.size());
  return number;
}

void finish_columns(std::vector<TableColumn>& columns, const TablePlan& plan, Builder& out) {
  if (out.rows() == 0) return;
  for (const std::size_t i : plan.values) {
    TableColumn& c = columns[i];
    if (c.out != kNone) continue;
    std::string name = c.field.name;
    if (c.field.unit && !c.field.fixed) name = with_suffix(name, c.field.unit->suffix);
    c.out = out.column(name, c.field.text);
    c.out_text = out.is_text(c.out);
  }
}

void check_stated_units(const std::vector<TableColumn>& columns, std::uint64_t line, Builder& out) {
  for (const TableColumn& c : columns) {
    if (c.out == kNone || c.out_text || c.with_unit || !c.field.unit || c.field.unit->suffix != "w")
      continue;
    if (c.field.name.find("limit") != std::string::npos) continue;
    auto& values = out.numbers(c.out);
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    std::size_t count = 0;
    bool whole = true;
    for (const double v : values) {
      if (is_missing(v)) continue;
      ++count;
      low = std::min(low, v);
      high = std::max(high, v);
      whole = whole && v == std::floor(v);
    }
    if (count < 3) continue;
    // A board never draws less than 2 W at most, nor more than 2 kW at least, all the time.
    const bool milli = c.field.unit->divide == 1e3;
    if (milli && high > 0 && high < 2) {
      for (double& v : values) v *= 1e3;
      out.defect(line, "unit_mismatch", c.header + " says mW, the values are in W");
    } else if (c.field.unit->divide == 1 && c.field.name == "power_w" && low > 2000 && whole &&
               high < 3e6) {
      for (double& v : values) v /= 1e3;
      out.defect(line, "unit_mismatch", c.header + ": the values are in mW, not in W");
    }
  }
}

bool cut_in_last_cell(const std::vector<TableColumn>& columns,
                      const std::vector<std::string_view>& cells, std::uint64_t rows) {
  if (rows < 1 || cells.empty() || cells.size() > columns.size()) return false;
  const TableColumn& c = columns[cells.size() - 1];
  if (c.out == kNone || c.out_text) return false;
  const std::string_view cell = cells.back();
  // What had a unit throughout has one in the last line, too; other forms take more rows to know.
  if (c.with_unit && !c.bare && !cell.empty()) {
    const auto united = number_of(cell);
    if (united && united->rest.empty()) return true;
  }
  if (rows < 3) return false;
  if (cell.empty()) return !c.last.empty() && !c.last_missing;
  const auto number = number_of(cell);
  if (!number) return cell.front() == '[' && cell.back() != ']';
  if (c.with_unit && !c.rest.empty() && !number->rest.empty() && number->rest != c.rest &&
      !unit_of(number->rest))
    return true;
  return c.decimals_low == c.decimals_high && number->decimals < c.decimals_low;
}

std::string runs_table_of(const std::vector<std::string>& header) {
  static const std::set<std::string, std::less<>> words = {"appname",
                                                           "app",
                                                           "kernel",
                                                           "benchmark",
                                                           "bench",
                                                           "workload",
                                                           "window_name",
                                                           "run_id",
                                                           "runtime_s",
                                                           "duration_s",
                                                           "run_idx",
                                                           "clock_target_mhz",
                                                           "target_frequency_mhz",
                                                           "dataset",
                                                           "network",
                                                           "batch_size",
                                                           "time_per_epoch",
                                                           "coref",
                                                           "core_frequency",
                                                           "bench_seconds",
                                                           "t_start",
                                                           "argno",
                                                           "kernel_name",
                                                           "pack",
                                                           "time_per_epoch_s",
                                                           "optimizer"};
  // Rows with a time of their own are samples, whatever else they name.
  const bool timed = std::ranges::any_of(header, [](const std::string& name) {
    const std::string key = key_of(name);
    return key == "timestamp" || key == "datetime" || key == "date" || key == "time_utc";
  });
  if (timed) return {};
  for (const auto& name : header) {
    const std::string key = key_of(name);
    if (words.contains(key)) return "it has a column '" + name + "'";
  }
  return {};
}

namespace {

// amd-smi metric and monitor with --csv: bare values, and names that mean something else elsewhere.
void amd_units(std::vector<TableColumn>& columns, bool metric) {
  for (TableColumn& c : columns) {
    Field& f = c.field;
    if (f.role != Field::Role::kValue || f.unit_stated) continue;
    if (c.header == "mem")
      f = canonical_field(metric ? "memory_temperature_c" : "memory_utilization");
    if (c.header == "edge") f = canonical_field("temperature_c");
    if (c.header.ends_with("_clk") || c.header.ends_with("clock")) f.unit = Unit{"hz", 1e6};
    if (c.header.ends_with("_voltage")) f.unit = Unit{"v", 1, 1e3};
  }
}

// jtop's logger: milliwatts, and "GPU" is its load.
void jtop_units(std::vector<TableColumn>& columns) {
  for (TableColumn& c : columns) {
    const std::string key = key_of(c.header);
    if (key == "gpu" || key == "gpu1") {
      c.field = canonical_field("utilization");
    } else if (key == "power_cur" || key == "power_tot") {
      c.field = canonical_field("board_power_w", Unit{"w", 1, 1e3});
    } else if (key.starts_with("power_") && c.field.role == Field::Role::kValue && c.field.fixed) {
      c.field.unit = Unit{"w", 1, 1e3};
    }
  }
}

}  // namespace

void unsaid_units(std::vector<TableColumn>& columns) {
  const auto named = [&](std::string_view name) {
    return std::ranges::any_of(columns, [&](const TableColumn& c) { return c.header == name; });
  };
  const bool metric = named("socket_power");
  if (metric || (named("power_usage") && (named("gfx_clk") || named("hotspot_temperature"))))
    amd_units(columns, metric);
  if (named("jetson_clocks") || named("nvp model") || named("nvp_model")) jtop_units(columns);
  if (!named("energy_consumed") || !named("emissions")) return;
  for (TableColumn& c : columns) {
    if (c.field.name.ends_with("energy_j") && !c.field.unit_stated) c.field.unit = Unit{"j", 3.6e6};
  }
}

std::string format_of(const std::vector<std::string>& header, bool headerless) {
  if (headerless) return "table without header";
  for (const auto& name : header) {
    if (name.find(".aip") != std::string::npos) return "hl-smi csv";
    if (name.starts_with("power.draw") || name.starts_with("clocks.") ||
        name.starts_with("utilization.gpu") || name.starts_with("temperature.gpu") ||
        name.starts_with("memory.used")) {
      return "nvidia-smi csv";
    }
    if (name.starts_with("GPU Core Clock") || name.starts_with("GPU Chip Power"))
      return "GPU-Z log";
  }
  return "csv";
}

}  // namespace ergon::meter::logs
