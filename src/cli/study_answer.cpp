// The answer of `study`: the contract's JSON, and tables for people.
#include <algorithm>
#include <cmath>
#include <map>

#include "planning.hpp"
#include "study_parts.hpp"

namespace ergon::cli {
namespace {

using study::Best;
using study::Maybe;
using study::Point;
using study::Setting;
using study::Workload;

Value maybe(Maybe v) { return v && std::isfinite(*v) ? Value(*v) : Value(); }
Value interval_value(const study::Interval& i) { return Value::array().push(i.low).push(i.high); }

// Clocks that are offsets are no clocks.
void set_setting(Value& v, const Setting& s) {
  v.set("clock_hz", s.clock_is_offset ? Value() : maybe(s.clock_hz))
      .set("memory_clock_hz", s.memory_is_offset ? Value() : maybe(s.memory_clock_hz))
      .set("power_limit_w", maybe(s.power_limit_w));
  if (s.clock_is_offset) v.set("clock_offset_hz", maybe(s.clock_hz));
  if (s.memory_is_offset) v.set("memory_clock_offset_hz", maybe(s.memory_clock_hz));
  if (s.parameter) v.set("parameter", *s.parameter);
  if (s.default_clocks) v.set("default_clocks", true);
}

Value edge_value(study::Edge edge) {
  return edge == study::Edge::kLow    ? Value("low")
         : edge == study::Edge::kHigh ? Value("high")
                                      : Value();
}

void set_figures(Value& v, const Workload& w, const Point& p) {
  v.set("time_s", w.units_known ? maybe(p.time) : Value())
      .set("energy_j", w.units_known ? maybe(p.energy) : Value())
      .set("power_w", maybe(p.power_w));
}

Value best_value(const Workload& w, const std::optional<Best>& best) {
  if (!best) return {};
  Value v = Value::object();
  set_setting(v, w.points[best->point].setting);
  set_figures(v, w, w.points[best->point]);
  v.set("energy_saved", maybe(best->energy_saved)).set("slowdown", maybe(best->slowdown));
  if (std::isfinite(best->slowdown)) {
    v.set("throughput_lost", 1 - 1 / (1 + best->slowdown))
        .set("edp_saved", 1 - (1 - best->energy_saved) * (1 + best->slowdown));
  }
  v.set("efficiency_gain", 1 / (1 - best->energy_saved) - 1);
  if (best->energy_saved_ci95) v.set("energy_saved_ci95", interval_value(*best->energy_saved_ci95));
  v.set("edge", edge_value(best->edge));
  v.set("edge_of", best->edge_of.empty() ? Value() : Value(best->edge_of));
  return v;
}

Value point_value(const StudyView& view, const Workload& w, std::size_t index) {
  const Point& p = w.points[index];
  Value v = Value::object();
  set_setting(v, p.setting);
  v.set("achieved_clock_hz", maybe(p.achieved_hz));
  set_figures(v, w, p);
  if (w.baseline) {
    const Point& base = w.points[*w.baseline];
    v.set("time_ratio", p.time && base.time ? Value(*p.time / *base.time) : Value())
        .set("energy_ratio", p.energy && base.energy ? Value(*p.energy / *base.energy) : Value());
  }
  v.set("temperature_c", maybe(p.temperature_c)).set("valid", p.invalid.empty());
  Value why = Value::array();
  for (const auto& reason : p.invalid) why.push(reason);
  v.set("why_invalid", std::move(why)).set("samples", std::uint64_t{p.samples.size()});
  if (p.samples.size() > 1) {
    Value runs = Value::array();
    for (const auto i : p.samples) {
      const study::Sample& s = view.data.samples[i];
      Value run = Value::object();
      run.set("run", s.run.empty() ? Value() : Value(s.run))
          .set("time_s", s.units_known ? maybe(s.time) : Value())
          .set("energy_j", s.units_known ? maybe(s.energy) : Value())
          .set("power_w", maybe(s.power_w))
          .set("achieved_clock_hz", maybe(s.achieved_hz));
      runs.push(std::move(run));
    }
    v.set("runs", std::move(runs));
  }
  return v;
}

Value response_value(const study::ResponseFit& r) {
  return Value::object()
      .set("form", r.form.empty() ? Value() : Value(r.form))
      .set("leave_one_out_error", r.form.empty() ? Value() : Value(r.leave_one_out))
      .set("clocks", std::uint64_t{r.clocks})
      .set("regime_break_hz", maybe(r.break_hz))
      .set("elasticity_below_break", maybe(r.below_break_elasticity))
      .set("power_cap_from_hz", maybe(r.cap_hz));
}

Value workload_value(const StudyView& view, const Workload& w) {
  Value v = Value::object();
  v.set("name", w.name).set("gpu", w.gpu.empty() ? Value() : Value(w.gpu));
  Value factors = Value::object();
  for (const auto& [name, level] : w.factors) factors.set(name, level);
  v.set("factors", std::move(factors));
  if (w.baseline) {
    Value base = Value::object();
    set_setting(base, w.points[*w.baseline].setting);
    set_figures(base, w, w.points[*w.baseline]);
    base.set("valid", w.points[*w.baseline].invalid.empty());
    v.set("baseline", std::move(base));
  } else {
    v.set("baseline", nullptr);
  }
  const auto valid =
      std::ranges::count_if(w.points, [](const Point& p) { return p.invalid.empty(); });
  v.set("points", std::uint64_t{w.points.size()})
      .set("valid_points", std::uint64_t{static_cast<std::uint64_t>(valid)})
      .set("unit_of_work", w.unit_of_work.empty() ? Value() : Value(w.unit_of_work))
      .set("not_believed", w.not_believed.empty() ? Value() : Value(w.not_believed))
      .set("optimum", best_value(w, w.optimum))
      .set("edp", best_value(w, w.edp))
      .set("ed2p", best_value(w, w.ed2p));
  v.set("energy", best_value(w, w.energy));
  if (w.interpolated) {
    const auto& i = *w.interpolated;
    const bool clock = i.axis == "clock" || i.axis == "memory_clock";
    const char* unit = clock ? "_hz" : i.axis == "power_limit" ? "_w" : "";
    v.set("interpolated",
          Value::object()
              .set("axis", i.axis)
              .set(i.axis + unit, i.value)
              .set("bracket" + std::string(unit), Value::array().push(i.low).push(i.high))
              .set("energy_saved", i.energy_saved)
              .set("origin", "fitted"));
  } else {
    v.set("interpolated", nullptr);
  }
  Value budgets = Value::array();
  for (std::size_t i = 0; i < w.budgets.size(); ++i) {
    Value b = best_value(w, w.budgets[i]);
    if (b.is_null()) b = Value::object().set("energy_saved", nullptr);
    b.set("max_slowdown", view.options.budgets[i]);
    budgets.push(std::move(b));
  }
  v.set("budgets", std::move(budgets));
  Value pareto = Value::array();
  for (const auto i : w.pareto) pareto.push(std::uint64_t{i});
  v.set("pareto", std::move(pareto));
  v.set("response", w.response ? response_value(*w.response) : Value());
  Value grid = Value::array();
  for (std::size_t i = 0; i < w.points.size(); ++i) grid.push(point_value(view, w, i));
  v.set("grid", std::move(grid));
  return v;
}

Value statistics_value(const std::optional<study::Statistics>& s) {
  Value v = Value::object();
  v.set("mean", s ? Value(s->mean) : Value())
      .set("median", s ? Value(s->median) : Value())
      .set("min", s ? Value(s->min) : Value())
      .set("max", s ? Value(s->max) : Value());
  if (s && s->mean_ci95) v.set("mean_ci95", interval_value(*s->mean_ci95));
  return v;
}

Value summary_value(const StudyView& view) {
  const study::Study& s = view.study;
  const auto judged =
      std::ranges::count_if(s.workloads, [](const auto& w) { return w.optimum.has_value(); });
  Value v = Value::object();
  v.set("workloads", std::uint64_t{s.workloads.size() + view.data.claims.size()})
      .set("judged", std::uint64_t{static_cast<std::uint64_t>(judged)})
      .set("energy_saved", statistics_value(s.energy_saved))
      .set("slowdown", statistics_value(s.slowdown))
      .set("efficiency_gain", statistics_value(s.efficiency_gain));
  Value budgets = Value::array();
  for (std::size_t i = 0; i < s.budgets.size(); ++i) {
    budgets.push(Value::object()
                     .set("max_slowdown", view.options.budgets[i])
                     .set("energy_saved", statistics_value(s.budgets[i])));
  }
  v.set("budgets", std::move(budgets));
  // How often each setting is the best.
  std::map<Setting, std::uint64_t> counts;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const auto& w : s.workloads) {
    if (!w.optimum) continue;
    ++counts[w.points[w.optimum->point].setting];
    low += w.optimum->edge == study::Edge::kLow ? 1 : 0;
    high += w.optimum->edge == study::Edge::kHigh ? 1 : 0;
  }
  std::vector<std::pair<Setting, std::uint64_t>> order(counts.begin(), counts.end());
  std::ranges::stable_sort(order, std::greater<>{}, &std::pair<Setting, std::uint64_t>::second);
  Value optima = Value::array();
  for (const auto& [setting, n] : order) {
    Value o = Value::object();
    set_setting(o, setting);
    optima.push(o.set("workloads", n));
  }
  v.set("optima", std::move(optima)).set("edge_low", low).set("edge_high", high);
  v.set("regime_break", s.break_hz ? Value::object()
                                         .set("clock_hz", *s.break_hz)
                                         .set("workloads", std::uint64_t{s.break_workloads})
                                   : Value());
  return v;
}

Value factors_value(const study::Study& s) {
  Value list = Value::array();
  for (const auto& t : s.factors) {
    Value names = Value::array();
    for (const auto& f : t.factors) names.push(f);
    Value levels = Value::array();
    const bool any = t.common > 0;
    for (const auto& l : t.levels) {
      Value level = Value::array();
      for (const auto& word : l.level) level.push(word);
      Value o = Value::object();
      o.set("level", std::move(level))
          .set("workloads", std::uint64_t{l.workloads})
          .set("energy_ratio", any ? Value(l.energy_ratio) : Value())
          .set("energy_saved", any ? Value(1 - l.energy_ratio) : Value())
          .set("time_ratio", any ? Value(l.time_ratio) : Value())
          .set("optimum_clock_hz", maybe(l.optimum_clock_hz))
          .set("baseline_energy_ratio", maybe(l.baseline_energy))
          .set("baseline_time_ratio", maybe(l.baseline_time));
      if (l.energy_ratio_ci95) o.set("energy_ratio_ci95", interval_value(*l.energy_ratio_ci95));
      levels.push(std::move(o));
    }
    list.push(Value::object()
                  .set("factors", std::move(names))
                  .set("common_configurations", std::uint64_t{t.common})
                  .set("configurations", std::uint64_t{t.total})
                  .set("levels", std::move(levels)));
  }
  return list;
}

Value prediction_value(const study::ClockPrediction& p) {
  Value clocks = Value::array();
  for (const double hz : p.clocks_hz) clocks.push(hz);
  return Value::object()
      .set("fitted_from_hz", std::move(clocks))
      .set("predicted_points", std::uint64_t{p.predicted})
      .set("energy_error_mean", p.energy_mean)
      .set("energy_error_worst_workload", p.energy_worst_workload)
      .set("energy_error_worst", p.energy_worst)
      .set("time_error_mean", p.time_mean)
      .set("time_error_worst_workload", p.time_worst_workload)
      .set("time_error_worst", p.time_worst);
}

// ---- for people

Value percent_of_share(double share) { return std::isfinite(share) ? Value(100 * share) : Value(); }

std::string edge_word(const Best& best) {
  if (best.edge == study::Edge::kNone) return "";
  std::string axis = best.edge_of == "parameter" ? "" : " " + best.edge_of;
  std::ranges::replace(axis, '_', ' ');
  return (best.edge == study::Edge::kLow ? "lowest" : "highest") + axis;
}

std::string interval_words(const Workload& w) {
  if (!w.optimum || !w.optimum->energy_saved_ci95) return "";
  const auto& i = *w.optimum->energy_saved_ci95;
  return percent_tenths(i.low) + " to " + percent_tenths(i.high);
}

// Where the parabola through the best point and its neighbours is least.
std::string interpolated_words(const Workload& w) {
  if (!w.interpolated) return "";
  const auto& i = *w.interpolated;
  Setting s;
  if (i.axis == "clock") s.clock_hz = std::round(i.value / 1e6) * 1e6;
  if (i.axis == "memory_clock") s.memory_clock_hz = std::round(i.value / 1e6) * 1e6;
  if (i.axis == "power_limit") s.power_limit_w = std::round(i.value);
  if (i.axis == "parameter") s.parameter = i.value;
  const Setting& best = w.points[w.optimum->point].setting;
  s.clock_is_offset = best.clock_is_offset;
  s.memory_is_offset = best.memory_is_offset;
  return setting_text(s) + " (" + percent_tenths(i.energy_saved) + " %)";
}

Table workloads_table(const StudyView& view) {
  const bool gpus =
      std::ranges::any_of(view.study.workloads, [](const auto& w) { return !w.gpu.empty(); });
  Table t{.title = "Best sampled point of each workload",
          .columns = {{.title = "workload", .numeric = false},
                      {.title = "baseline", .numeric = false},
                      {.title = "best", .numeric = false},
                      {.title = "saved", .unit = "%", .significant = 3},
                      {.title = "slower", .unit = "%", .significant = 3},
                      {.title = "edge of grid", .numeric = false},
                      {.title = "best EDP", .numeric = false},
                      {.title = "valid points", .numeric = false}},
          .rows = {}};
  // One workload has them in the text above.
  const auto any = [&](auto what) {
    return view.study.workloads.size() > 1 && std::ranges::any_of(view.study.workloads, what);
  };
  const bool intervals =
      any([](const Workload& w) { return w.optimum && w.optimum->energy_saved_ci95; });
  const bool between = any([](const Workload& w) { return w.interpolated.has_value(); });
  if (intervals) t.columns.push_back({.title = "95 % interval", .unit = "%", .numeric = false});
  if (between) t.columns.push_back({.title = "between points", .numeric = false});
  std::size_t shown = 0;
  for (const auto& w : view.study.workloads) {
    if (++shown > view.top) continue;
    const auto valid =
        std::ranges::count_if(w.points, [](const Point& p) { return p.invalid.empty(); });
    const std::string points = std::to_string(valid) + " of " + std::to_string(w.points.size());
    std::vector<Value> row = {
        w.name + (gpus && !w.gpu.empty() ? " (" + w.gpu + ")" : ""),
        w.baseline ? Value(setting_text(w.points[*w.baseline].setting)) : Value("not measured")};
    if (w.optimum) {
      row.insert(row.end(), {setting_text(w.points[w.optimum->point].setting),
                             percent_of_share(w.optimum->energy_saved),
                             percent_of_share(w.optimum->slowdown), edge_word(*w.optimum)});
    } else {
      row.insert(row.end(),
                 {w.not_believed.empty() ? "none" : "not believed", nullptr, nullptr, ""});
    }
    row.push_back(w.edp ? Value(setting_text(w.points[w.edp->point].setting)) : Value(""));
    row.emplace_back(points);
    if (intervals) row.emplace_back(interval_words(w));
    if (between) row.emplace_back(interpolated_words(w));
    t.rows.push_back(std::move(row));
  }
  if (view.study.workloads.size() > view.top) {
    t.note = std::to_string(view.study.workloads.size() - view.top) + " more workloads";
    t.hint = "--top shows more";
  }
  return t;
}

Table points_table(const StudyView& view, const Workload& w) {
  const auto any = [&](auto what) { return std::ranges::any_of(w.points, what); };
  const bool achieved = any([](const Point& p) { return p.achieved_hz.has_value(); });
  Table t{.title = "Points of " + w.name,
          .columns = {{.title = "setting", .numeric = false}},
          .rows = {}};
  if (achieved) t.columns.push_back({.title = "ran at", .unit = "MHz"});
  if (w.units_known) t.columns.push_back({.title = "time", .unit = "s"});
  t.columns.push_back({.title = "power", .unit = "W"});
  if (w.units_known) t.columns.push_back({.title = "energy", .unit = "J", .significant = 5});
  t.columns.push_back({.title = "saved", .unit = "%", .significant = 3});
  t.columns.push_back({.title = "slower", .unit = "%", .significant = 3});
  t.columns.push_back({.title = "note", .numeric = false});
  for (std::size_t i = w.points.size(); i-- > 0;) {
    if (t.rows.size() >= view.top) {
      t.note = std::to_string(i + 1) + " more points";
      t.hint = "--top shows more";
      break;
    }
    const Point& p = w.points[i];
    std::vector<Value> row = {setting_text(p.setting)};
    if (achieved) row.push_back(p.achieved_hz ? Value(*p.achieved_hz / 1e6) : Value());
    if (w.units_known) row.push_back(maybe(p.time));
    row.push_back(maybe(p.power_w));
    if (w.units_known) row.push_back(maybe(p.energy));
    if (w.baseline) {
      const Point& base = w.points[*w.baseline];
      row.push_back(p.energy && base.energy ? percent_of_share(1 - *p.energy / *base.energy)
                                            : Value());
      row.push_back(p.time && base.time ? percent_of_share(*p.time / *base.time - 1) : Value());
    } else {
      row.insert(row.end(), {nullptr, nullptr});
    }
    std::string mark;
    const auto add = [&](const std::string& word) { mark += (mark.empty() ? "" : ", ") + word; };
    if (w.baseline == i) add("baseline");
    if (w.optimum && w.optimum->point == i) add("best");
    if (w.edp && w.edp->point == i) add("best EDP");
    if (std::ranges::find(w.pareto, i) != w.pareto.end() && (!w.optimum || w.optimum->point != i))
      add("Pareto");
    if (!p.invalid.empty()) add("not valid: " + p.invalid.front());
    row.emplace_back(mark);
    t.rows.push_back(std::move(row));
  }
  return t;
}

std::string metric_word(study::Metric metric) {
  return metric == study::Metric::kEnergy ? "energy"
         : metric == study::Metric::kEdp  ? "energy x time"
                                          : "energy x time^2";
}

// What is told of a workload that stands alone.
void add_lines_of_one(const Workload& w, Answer& answer) {
  if (w.optimum && w.optimum->energy_saved_ci95) {
    answer.lines.push_back(
        "The saving lies between " + percent_text(w.optimum->energy_saved_ci95->low) + " and " +
        percent_text(w.optimum->energy_saved_ci95->high) + " (95 %, bootstrap over repeats).");
  }
  if (!w.interpolated) return;
  const auto& i = *w.interpolated;
  const bool clock = i.axis == "clock" || i.axis == "memory_clock";
  const auto value = [&](double v) {
    return clock ? clock_text(v)
                 : std::to_string(std::llround(v)) + (i.axis == "power_limit" ? " W" : "");
  };
  answer.lines.push_back("Interpolated, the least lies near " + value(i.value) + ", between " +
                         value(i.low) + " and " + value(i.high) + " (fitted), and saves " +
                         percent_text(i.energy_saved) + ".");
}

std::string headline(const StudyView& view) {
  const study::Study& s = view.study;
  if (s.energy_saved) {
    std::string out =
        s.energy_saved->count == 1
            ? "The best sampled point saves " + percent_text(s.energy_saved->mean) + " energy"
            : "The best sampled points save " + percent_text(s.energy_saved->mean) +
                  " energy on average (" + percent_text(s.energy_saved->min) + " to " +
                  percent_text(s.energy_saved->max) + ") over " +
                  counted(s.energy_saved->count, "workload");
    if (s.slowdown) {
      out += s.energy_saved->count == 1 ? ", and takes " : ", and take ";
      out += percent_text(std::abs(s.slowdown->mean)) +
             (s.slowdown->mean >= 0 ? " more time" : " less time");
    }
    return out + ".";
  }
  if (s.workloads.empty()) {
    return counted(view.data.claims.size(), "published optimum", "published optima") +
           " without measurements: flagged, not believed.";
  }
  const auto any = [&](auto what) { return std::ranges::any_of(s.workloads, what); };
  if (!any([](const auto& w) { return w.baseline.has_value(); })) {
    return view.options.baseline ? "No optimum: the baseline asked for was not measured."
                                 : "No optimum: no power and no energy is known.";
  }
  for (const auto& w : s.workloads) {
    if (!w.not_believed.empty())
      return "No optimum that could be believed: " + w.not_believed + ".";
  }
  return "No optimum: no point is valid.";
}

}  // namespace

std::string setting_text(const Setting& s) {
  if (s.default_clocks && !s.clock_hz) return "default clocks";
  const auto mhz = [](double hz, bool offset) {
    const double v = hz / 1e6;
    const std::string number =
        v == std::round(v) ? std::to_string(std::llround(v)) : std::to_string(v).substr(0, 8);
    return (offset && v >= 0 ? "+" : "") + number;
  };
  std::string out;
  if (s.clock_hz) out = mhz(*s.clock_hz, s.clock_is_offset);
  if (s.memory_clock_hz)
    out += (out.empty() ? "memory " : " / ") + mhz(*s.memory_clock_hz, s.memory_is_offset);
  if (s.clock_hz || s.memory_clock_hz) out += " MHz";
  const auto plain = [](double v) {
    const std::string text = std::to_string(v);
    return v == std::round(v) ? std::to_string(std::llround(v)) : text.substr(0, 6);
  };
  if (s.power_limit_w) out += (out.empty() ? "" : ", ") + plain(*s.power_limit_w) + " W";
  if (s.parameter) out += (out.empty() ? "" : ", ") + plain(*s.parameter);
  return out.empty() ? "one setting" : out;
}

Answer study_answer(const StudyView& view, bool with_page) {
  const study::Study& s = view.study;
  Answer answer{.command = "study", .headline = headline(view)};
  answer.lines.push_back("Baseline: " + s.baseline_rule + ".");
  std::string best = "Best: least " + metric_word(view.options.metric);
  if (view.options.max_slowdown)
    best += " with at most " + percent_text(*view.options.max_slowdown) + " more time";
  answer.lines.push_back(best + "; points that do not prove themselves never win.");
  if (s.energy_saved && s.energy_saved->mean_ci95) {
    answer.lines.push_back(
        "The mean saving lies between " + percent_text(s.energy_saved->mean_ci95->low) + " and " +
        percent_text(s.energy_saved->mean_ci95->high) + " (95 %, bootstrap over workloads).");
  }
  if (s.workloads.size() == 1) add_lines_of_one(s.workloads.front(), answer);
  std::string budgets;
  for (std::size_t i = 0; i < s.budgets.size(); ++i) {
    if (!s.budgets[i]) continue;
    budgets += (budgets.empty() ? "Energy saved within " : "; within ") +
               percent_text(view.options.budgets[i]) +
               " more time: " + percent_text(s.budgets[i]->mean);
  }
  if (!budgets.empty()) answer.lines.push_back(budgets + ".");
  if (s.break_hz) {
    answer.lines.push_back("Below about " + clock_text(*s.break_hz) +
                           " time grows faster than 1/clock (" +
                           counted(s.break_workloads, "workload") + ").");
  }
  if (s.prediction) {
    answer.lines.push_back("From " + counted(s.prediction->clocks_hz.size(), "clock") +
                           " the energy at " + counted(s.prediction->predicted, "other point") +
                           " is foretold within " + percent_text(s.prediction->energy_mean) +
                           " on average, " + percent_text(s.prediction->energy_worst_workload) +
                           " for the worst workload.");
  }
  if (!s.workloads.empty()) answer.tables.push_back(workloads_table(view));
  if (view.with_points || s.workloads.size() == 1) {
    for (const auto& w : s.workloads) answer.tables.push_back(points_table(view, w));
  }
  for (const auto& f : s.factors) answer.tables.push_back(factor_table(f));
  if (!s.findings.empty()) answer.tables.push_back(findings_table(view));

  Value workloads = Value::array();
  for (const auto& w : s.workloads) workloads.push(workload_value(view, w));
  Value claims = Value::array();
  for (const auto& c : view.data.claims) {
    workloads.push(Value::object()
                       .set("name", c.workload)
                       .set("gpu", c.gpu.empty() ? Value() : Value(c.gpu))
                       .set("baseline", nullptr)
                       .set("points", 0)
                       .set("valid_points", 0)
                       .set("not_believed", "a published optimum without its measurements")
                       .set("optimum", nullptr)
                       .set("edp", nullptr)
                       .set("ed2p", nullptr));
    claims.push(Value::object()
                    .set("name", c.workload)
                    .set("gpu", c.gpu.empty() ? Value() : Value(c.gpu))
                    .set("clock_hz", c.clock_hz)
                    .set("baseline_clock_hz", c.top_clock_hz)
                    .set("energy_saved", c.energy_saved)
                    .set("slowdown", c.slowdown));
  }
  Value findings = Value::array();
  for (const auto& f : s.findings) {
    findings.push(
        Value::object().set("kind", f.kind).set("subject", f.subject).set("evidence", f.evidence));
  }
  answer.data
      .set("metric", view.options.metric == study::Metric::kEnergy ? "energy"
                     : view.options.metric == study::Metric::kEdp  ? "edp"
                                                                   : "ed2p")
      .set("max_slowdown", maybe(view.options.max_slowdown))
      .set("baseline_rule", s.baseline_rule)
      .set("workloads", std::move(workloads))
      .set("summary", summary_value(view))
      .set("factors", factors_value(s))
      .set("findings", std::move(findings))
      .set("claims", std::move(claims))
      .set("prediction", s.prediction ? prediction_value(*s.prediction) : Value());
  if (with_page) fill_study_page(view, answer);
  return answer;
}

}  // namespace ergon::cli
