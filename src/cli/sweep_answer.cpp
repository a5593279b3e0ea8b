// What a sweep tells: every point, and the least energy of each combination of parameters.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "figures.hpp"
#include "planning.hpp"
#include "sweep_parts.hpp"

namespace ergon::cli {
namespace {

Value asked_value(const std::optional<Hertz>& clock) {
  return clock ? Value(clock->si()) : Value();
}
Value asked_value(const std::optional<Watts>& limit) {
  return limit ? Value(limit->si()) : Value();
}

Value clocks_value(const std::vector<std::optional<double>>& clocks) {
  if (clocks.empty()) return {};
  Value list = Value::array();
  for (const auto& clock : clocks) list.push(or_null(clock));
  return list;
}

Value parameters_value(const std::vector<std::pair<std::string, std::string>>& parameters) {
  Value object = Value::object();
  for (const auto& [name, value] : parameters) object.set(name, value);
  return object;
}

// Where the least energy lies on the axis of core clocks that were measured.
const char* sweep_edge(const SweepRow& best, const std::vector<SweepRow>& rows) {
  if (!best.setting.core) return nullptr;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const SweepRow& row : rows) {
    if (!row.setting.core || row.state != "done") continue;
    least = std::min(least, row.setting.core->si());
    most = std::max(most, row.setting.core->si());
  }
  if (least == most) return nullptr;
  if (best.setting.core->si() == least) return "low";
  return best.setting.core->si() == most ? "high" : nullptr;
}

Value sweep_row_value(const SweepRow& row, std::size_t index) {
  Value power;
  if (row.energy_j && row.time_s && row.time_s->value > 0)
    power = Value(row.energy_j->value / row.time_s->value);
  return Value::object()
      .set("index", std::uint64_t{index})
      .set("baseline", row.baseline)
      .set("parameters", parameters_value(row.setting.parameters))
      .set("asked", Value::object()
                        .set("clock_hz", asked_value(row.setting.core))
                        .set("memory_clock_hz", asked_value(row.setting.memory))
                        .set("power_limit_w", asked_value(row.setting.limit)))
      .set("clock_hz", or_null(row.clock_hz))
      .set("memory_clock_hz", or_null(row.memory_clock_hz))
      .set("clocks_hz", clocks_value(row.clocks_hz))
      .set("time_s", or_null(row.time_s))
      // One time has no spread.
      .set("time_s_ci95", row.runs < 2 ? Value() : interval_or_null(row.time_s))
      .set("energy_j", or_null(row.energy_j))
      .set("energy_j_ci95", interval_or_null(row.energy_j))
      .set("power_w", std::move(power))
      .set("temperature_c", or_null(row.temperature_c))
      .set("runs", row.runs)
      .set("warm_ups", row.warm_ups)
      .set("state", row.state)
      .set("valid", row.state == "planned" ? Value() : Value(row.valid))
      .set("reason", row.reason.empty() ? Value() : Value(row.reason));
}

Value in_megahertz(const std::optional<double>& hertz) {
  return hertz ? Value(std::round(*hertz * 1e-6)) : Value();
}

// "1410", or "1410, 210" where the GPUs' clocks differ.
Value clock_cell(const SweepRow& row) {
  if (row.clock_hz || row.clocks_hz.size() < 2) return in_megahertz(row.clock_hz);
  std::string text;
  for (const auto& clock : row.clocks_hz) {
    text += (text.empty() ? "" : ", ") +
            (clock ? std::to_string(std::lround(*clock * 1e-6)) : std::string("?"));
  }
  return text;
}

// Why points do not count, each reason once; its place is its number in the table.
class Reasons {
 public:
  std::size_t number_of(const std::string& reason) {
    const auto at = std::ranges::find(all_, reason);
    if (at != all_.end()) return static_cast<std::size_t>(at - all_.begin()) + 1;
    all_.push_back(reason);
    return all_.size();
  }
  // A line a clause: reasons are longer than tables are wide.
  [[nodiscard]] Table table() const {
    Table table{.title = "Why points do not count",
                .columns = {{.title = "no."},
                            {.title = "reason", .numeric = false, .whole = true, .wrap = true}},
                .rows = {},
                .width = kTextWidth};
    for (std::size_t i = 0; i < all_.size(); ++i) {
      std::string_view rest = all_[i];
      Value number = std::uint64_t{i + 1};
      while (!rest.empty()) {
        const auto end = std::min(rest.find("; "), rest.size());
        table.rows.push_back({std::move(number), std::string(rest.substr(0, end))});
        number = Value();
        rest.remove_prefix(std::min(rest.size(), end + 2));
      }
    }
    return table;
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  std::vector<std::string> all_;
};

Table sweep_points_table(const std::vector<SweepRow>& rows, Reasons& reasons) {
  const bool memory =
      std::ranges::any_of(rows, [](const SweepRow& row) { return row.setting.memory.has_value(); });
  Table table{.title = "Points",
              .columns = {{.title = "setting", .numeric = false, .whole = true},
                          {.title = "ran at", .unit = "MHz"}},
              .rows = {},
              .width = kTextWidth};
  if (memory) table.columns.push_back({.title = "memory at", .unit = "MHz"});
  table.columns.insert(table.columns.end(), {{.title = "time", .unit = "s"},
                                             {.title = "energy", .unit = "J", .significant = 5},
                                             {.title = "\u00b1", .unit = "J", .significant = 2},
                                             {.title = "power", .unit = "W"},
                                             {.title = "counts", .numeric = false}});
  for (const SweepRow& row : rows) {
    if (row.state == "planned") continue;
    const bool known = row.energy_j && row.time_s;
    std::vector<Value> cells = {run::to_string(row.setting), clock_cell(row)};
    if (memory) cells.push_back(in_megahertz(row.memory_clock_hz));
    cells.push_back(or_null(row.time_s));
    cells.push_back(or_null(row.energy_j));
    cells.push_back(row.energy_j ? Value((row.energy_j->high - row.energy_j->low) / 2) : Value());
    cells.push_back(known ? Value(row.energy_j->value / row.time_s->value) : Value());
    cells.push_back(row.valid ? "yes"
                              : "no (" + std::to_string(reasons.number_of(row.reason)) + ")");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string gpus_text(const std::vector<gpu::Identity>& gpus) {
  if (gpus.empty()) return "no GPU";
  std::string text = gpus.size() == 1 ? "" : std::to_string(gpus.size()) + " x ";
  return text + name_with_origin(gpus.front());
}

std::string headline_of(const SweepAnswer& sweep, const std::vector<SweepOptimum>& optima,
                        std::size_t valid, std::size_t done) {
  std::string text = counted(done, "point") + " measured on " + gpus_text(sweep.gpus) + ", " +
                     std::to_string(valid) + (valid == 1 ? " counts." : " count.");
  if (!sweep.stopped.empty()) text += " Not all: " + sweep.stopped + ".";
  if (optima.size() != 1) return text;
  const SweepOptimum& best = optima.front();
  if (best.energy_saved <= 0) {
    return text + " No setting needs less energy than the driver's own clocks; the nearest, " +
           run::to_string(best.row->setting) + ", needs " + percent_text(-best.energy_saved) +
           " more.";
  }
  text += " Least energy at " + run::to_string(best.row->setting) + ": " +
          percent_text(best.energy_saved) + " less than the baseline, " +
          slowdown_words(best.slowdown);
  if (best.edge != nullptr) text += std::string(" (at the ") + best.edge + " edge of the sweep)";
  return text + ".";
}

}  // namespace

std::string sweep_parameters_text(
    const std::vector<std::pair<std::string, std::string>>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

bool row_counts(const SweepRow& row) {
  return row.valid && row.state == "done" && row.energy_j && row.time_s;
}

std::vector<SweepBaseline> baselines_of(const std::vector<SweepRow>& rows) {
  std::vector<SweepBaseline> baselines;
  std::map<std::vector<std::pair<std::string, std::string>>, std::size_t> places;
  std::vector<std::vector<const SweepRow*>> members;
  for (const SweepRow& row : rows) {
    const auto [at, is_new] = places.emplace(row.setting.parameters, baselines.size());
    if (is_new) {
      baselines.emplace_back();
      baselines.back().parameters = row.setting.parameters;
      members.emplace_back();
    }
    if (row.baseline && row_counts(row)) members[at->second].push_back(&row);
  }
  for (std::size_t b = 0; b < baselines.size(); ++b) {
    SweepBaseline& baseline = baselines[b];
    baseline.count = members[b].size();
    if (members[b].empty()) continue;
    double time = 0;
    double energy = 0;
    constexpr double kNone = std::numeric_limits<double>::infinity();
    double least = kNone;
    double most = 0;
    double highest_low = 0;
    double lowest_high = kNone;
    double slowest = kNone;
    double fastest = 0;
    for (const SweepRow* row : members[b]) {
      time += row->time_s->value;
      energy += row->energy_j->value;
      least = std::min(least, row->energy_j->value);
      most = std::max(most, row->energy_j->value);
      highest_low = std::max(highest_low, row->energy_j->low);
      lowest_high = std::min(lowest_high, row->energy_j->high);
      if (row->clock_hz) {
        slowest = std::min(slowest, *row->clock_hz);
        fastest = std::max(fastest, *row->clock_hz);
      }
    }
    const auto count = static_cast<double>(members[b].size());
    baseline.time_s = time / count;
    baseline.energy_j = energy / count;
    if (members[b].size() < 2) continue;
    baseline.spread = (most - least) / *baseline.energy_j;
    baseline.beyond_intervals = highest_low > lowest_high;
    if (fastest > 0) {
      baseline.clock_spread_hz = fastest - slowest;
      baseline.clocks_differ = fastest - slowest > std::max(15e6, 0.01 * fastest);
    }
  }
  return baselines;
}

std::vector<SweepOptimum> sweep_optima(const std::vector<SweepRow>& rows,
                                       const std::vector<SweepBaseline>& baselines) {
  std::vector<SweepOptimum> optima;
  for (const SweepBaseline& baseline : baselines) {
    if (!baseline.energy_j) continue;
    SweepOptimum best;
    best.baseline = &baseline;
    for (const SweepRow& row : rows) {
      if (!row_counts(row) || row.baseline) continue;
      if (row.setting.parameters != baseline.parameters) continue;
      if (best.row == nullptr || row.energy_j->value < best.row->energy_j->value) best.row = &row;
    }
    if (best.row == nullptr) continue;
    best.edge = sweep_edge(*best.row, rows);
    best.energy_saved = 1 - best.row->energy_j->value / *baseline.energy_j;
    best.slowdown = best.row->time_s->value / *baseline.time_s - 1;
    optima.push_back(best);
  }
  return optima;
}

Answer sweep_answer(const SweepAnswer& sweep) {
  const auto baselines = baselines_of(sweep.rows);
  const auto optima = sweep_optima(sweep.rows, baselines);
  const auto valid = static_cast<std::size_t>(std::ranges::count_if(sweep.rows, row_counts));
  const auto in_state = [&](const char* state) {
    return static_cast<std::size_t>(std::ranges::count(sweep.rows, state, &SweepRow::state));
  };
  const std::size_t done = in_state("done") + in_state("failed");
  Answer answer{.command = "sweep", .headline = headline_of(sweep, optima, valid, done)};
  Reasons reasons;
  answer.tables.push_back(sweep_points_table(sweep.rows, reasons));
  if (!reasons.empty()) answer.tables.push_back(reasons.table());
  Value points = Value::array();
  for (std::size_t i = 0; i < sweep.rows.size(); ++i)
    points.push(sweep_row_value(sweep.rows[i], i));
  Value bases = Value::array();
  for (const SweepBaseline& baseline : baselines) {
    bases.push(Value::object()
                   .set("parameters", parameters_value(baseline.parameters))
                   .set("time_s", or_null(baseline.time_s))
                   .set("energy_j", or_null(baseline.energy_j))
                   .set("spread", or_null(baseline.spread))
                   .set("clock_spread_hz", or_null(baseline.clock_spread_hz))
                   .set("beyond_intervals", baseline.beyond_intervals)
                   .set("count", std::uint64_t{baseline.count}));
  }
  Value best = Value::array();
  Table table{.title = "Least energy",
              .columns = {{.title = "parameters", .numeric = false, .whole = true, .wrap = true},
                          {.title = "setting", .numeric = false, .whole = true},
                          {.title = "energy saved", .numeric = false},
                          {.title = "slowdown", .numeric = false},
                          {.title = "edge", .numeric = false}},
              .rows = {},
              .width = kTextWidth};
  for (const SweepOptimum& optimum : optima) {
    const SweepRow& row = *optimum.row;
    best.push(Value::object()
                  .set("parameters", parameters_value(row.setting.parameters))
                  .set("clock_hz", asked_value(row.setting.core))
                  .set("memory_clock_hz", asked_value(row.setting.memory))
                  .set("power_limit_w", asked_value(row.setting.limit))
                  .set("energy_saved", optimum.energy_saved)
                  .set("slowdown", optimum.slowdown)
                  .set("edge", optimum.edge == nullptr ? Value() : Value(optimum.edge)));
    table.rows.push_back({sweep_parameters_text(row.setting.parameters),
                          run::to_string(row.setting), percent_text(optimum.energy_saved),
                          percent_text(optimum.slowdown),
                          optimum.edge == nullptr ? "-" : optimum.edge});
  }
  if (optima.size() > 1) answer.tables.push_back(std::move(table));
  Value gpus = Value::array();
  for (const auto& gpu : sweep.gpus) {
    gpus.push(Value::object()
                  .set("id", gpu.id)
                  .set("uuid", gpu.uuid)
                  .set("name", gpu.name)
                  .set("simulated", gpu.simulated));
  }
  Value program = Value::array();
  for (const auto& word : sweep.program) program.push(word);
  fill_sweep_page(sweep, baselines, optima, answer);
  answer.data.set("program", std::move(program))
      .set("gpus", std::move(gpus))
      .set("file", sweep.file.empty() ? Value() : Value(sweep.file))
      .set("counts", Value::object()
                         .set("points", std::uint64_t{sweep.rows.size()})
                         .set("done", std::uint64_t{in_state("done")})
                         .set("failed", std::uint64_t{in_state("failed")})
                         .set("planned", std::uint64_t{in_state("planned")})
                         .set("valid", std::uint64_t{valid}))
      .set("complete", in_state("planned") == 0)
      .set("stopped", sweep.stopped.empty() ? Value() : Value(sweep.stopped))
      .set("points", std::move(points))
      .set("baselines", std::move(bases))
      .set("optima", std::move(best));
  return answer;
}

std::string sweep_csv(const std::vector<SweepRow>& rows) {
  std::vector<std::string> names;
  for (const SweepRow& row : rows) {
    for (const auto& [name, value] : row.setting.parameters) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  std::string text = "index,baseline,";
  for (const auto& name : names) text += io::csv_field(name) + ",";
  text +=
      "asked_clock_hz,asked_memory_clock_hz,power_limit_w,clock_hz,memory_clock_hz,time_s,energy_j,"
      "energy_low_j,energy_high_j,power_w,temperature_c,runs,valid,reason\n";
  const auto cell = [&](const std::optional<double>& value) {
    if (value) text += io::to_json(Value(*value), 0);
    text += ",";
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const SweepRow& row = rows[i];
    if (row.state == "planned") continue;
    text += std::to_string(i) + "," + (row.baseline ? "1" : "0") + ",";
    for (const auto& name : names) {
      const auto at = std::ranges::find(row.setting.parameters, name,
                                        &std::pair<std::string, std::string>::first);
      if (at != row.setting.parameters.end()) text += io::csv_field(at->second);
      text += ",";
    }
    cell(row.setting.core ? std::optional(row.setting.core->si()) : std::nullopt);
    cell(row.setting.memory ? std::optional(row.setting.memory->si()) : std::nullopt);
    cell(row.setting.limit ? std::optional(row.setting.limit->si()) : std::nullopt);
    cell(row.clock_hz);
    cell(row.memory_clock_hz);
    cell(row.time_s ? std::optional(row.time_s->value) : std::nullopt);
    cell(row.energy_j ? std::optional(row.energy_j->value) : std::nullopt);
    cell(row.energy_j ? std::optional(row.energy_j->low) : std::nullopt);
    cell(row.energy_j ? std::optional(row.energy_j->high) : std::nullopt);
    cell(row.energy_j && row.time_s && row.time_s->value > 0
             ? std::optional(row.energy_j->value / row.time_s->value)
             : std::nullopt);
    cell(row.temperature_c);
    text += std::to_string(row.runs) + "," + (row.valid ? "1" : "0") + "," +
            io::csv_field(row.reason) + "\n";
  }
  return text;
}

}  // namespace ergon::cli
