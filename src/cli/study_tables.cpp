// Tables of `study`: workloads, points, factors, and what is wrong.
#include <algorithm>
#include <cmath>
#include <map>

#include "figures.hpp"
#include "planning.hpp"
#include "study_parts.hpp"

namespace ergon::cli {
namespace {

using study::Best;
using study::Point;
using study::Workload;

constexpr std::size_t kBoards = 4;  // of which baselines are told in one line

Value finite(study::Maybe v) { return v && std::isfinite(*v) ? Value(*v) : Value(); }
Value percent_of(double share) { return std::isfinite(share) ? Value(100 * share) : Value(); }
// Both ends of an interval as cells.
void push_ends(std::vector<Value>& row, const std::optional<study::Interval>& i, double scale) {
  row.push_back(i ? Value(scale * i->low) : Value());
  row.push_back(i ? Value(scale * i->high) : Value());
}
Column percent_column(const std::string& title) {
  return {.title = title, .unit = "%", .significant = 3};
}
void add_ends(Table& t, const std::string& title, const std::string& unit, int significant) {
  t.columns.push_back({.title = title + " low", .unit = unit, .significant = significant});
  t.columns.push_back({.title = title + " high", .unit = unit, .significant = significant});
}

bool several_gpus(const StudyView& view) {
  return std::ranges::any_of(view.study.workloads, [&](const Workload& w) {
    return w.gpu != view.study.workloads.front().gpu;
  });
}

bool whole_baseline(const StudyView& view) { return !common_baseline(view).empty(); }

}  // namespace

std::string common_baseline(const StudyView& view) {
  std::vector<std::pair<std::string, std::string>> of_gpu;  // as they come
  for (const auto& w : view.study.workloads) {
    if (!w.baseline) return "";
    const std::string mine = setting_text(w.points[*w.baseline].setting);
    const auto at = std::ranges::find(of_gpu, w.gpu, &std::pair<std::string, std::string>::first);
    if (at != of_gpu.end() && at->second != mine) return "";
    if (at == of_gpu.end()) of_gpu.emplace_back(w.gpu, mine);
  }
  if (of_gpu.empty() || of_gpu.size() > kBoards) return "";
  const bool one =
      std::ranges::all_of(of_gpu, [&](const auto& g) { return g.second == of_gpu.front().second; });
  if (one) return of_gpu.front().second;
  std::string text;
  for (const auto& [gpu, setting] : of_gpu) {
    text += (text.empty() ? "" : "; ") + setting;
    if (!gpu.empty()) text += " on " + gpu;
  }
  return text;
}

std::string interval_origin_text(std::string_view from) {
  if (from == study::kFromRepeats) return "repeats";
  if (from == study::kFromSensor) return "the sensor's intervals";
  if (from == study::kFromBoth) return "repeats and the sensor's intervals";
  if (from == study::kFromConfigurations) return "a bootstrap over configurations";
  return "a bootstrap over workloads";
}

Table workloads_table(const StudyView& view) {
  const auto& workloads = view.study.workloads;
  const auto any = [&](auto what) { return std::ranges::any_of(workloads, what); };
  const bool gpus = several_gpus(view);
  const bool baselines = !whole_baseline(view);
  const auto suspicious = [](const Workload& w) {
    return w.optimum && w.optimum->edge != study::Edge::kNone && w.optimum->point != w.baseline;
  };
  const bool edges = any(suspicious);
  const bool intervals =
      any([](const Workload& w) { return w.optimum && w.optimum->energy_saved_ci95; });
  const std::string& board = workloads.empty() || gpus ? "" : workloads.front().gpu;
  Table t{.title = "Best sampled point of each workload" + (board.empty() ? "" : " on " + board),
          .columns = {{.title = "workload", .numeric = false}},
          .rows = {},
          .width = kTextWidth};
  if (gpus) t.columns.push_back({.title = "gpu", .numeric = false});
  if (baselines) t.columns.push_back({.title = "baseline", .numeric = false, .whole = true});
  t.columns.push_back({.title = "best", .numeric = false, .whole = true});
  t.columns.push_back(percent_column("saved"));
  if (intervals) add_ends(t, "saved", "%", 3);
  t.columns.push_back(percent_column("slowdown"));
  if (edges) t.columns.push_back({.title = "edge of grid", .numeric = false, .whole = true});
  t.columns.push_back({.title = "best EDP", .numeric = false, .whole = true});
  const bool rejected = any([](const Workload& w) {
    return std::ranges::any_of(w.points, [](const Point& p) { return !p.invalid.empty(); });
  });
  if (rejected) t.columns.push_back({.title = "valid points", .numeric = false});
  std::map<std::string_view, int> origins;
  for (const auto& w : workloads) {
    if (t.rows.size() == view.top) break;
    std::vector<Value> row = {w.name};
    if (gpus) row.emplace_back(w.gpu);
    if (baselines)
      row.emplace_back(w.baseline ? setting_text(w.points[*w.baseline].setting) : "not measured");
    const auto interval = w.optimum ? w.optimum->energy_saved_ci95 : std::nullopt;
    if (interval) ++origins[interval->from];
    if (w.optimum) {
      row.emplace_back(w.optimum->point == w.baseline
                           ? "the baseline"
                           : setting_text(w.points[w.optimum->point].setting));
    } else {
      row.emplace_back(w.not_believed.empty() ? "none" : "not believed");
    }
    row.push_back(w.optimum ? percent_of(w.optimum->energy_saved) : Value());
    if (intervals) push_ends(row, interval, 100);
    row.push_back(w.optimum ? percent_of(w.optimum->slowdown) : Value());
    if (edges)
      row.emplace_back(suspicious(w) ? study::edge_words(*w.optimum, view.data.parameter_name)
                                     : "");
    row.emplace_back(w.edp ? setting_text(w.points[w.edp->point].setting) : "");
    const auto valid =
        std::ranges::count_if(w.points, [](const Point& p) { return p.invalid.empty(); });
    if (rejected)
      row.emplace_back(std::to_string(valid) + " of " + std::to_string(w.points.size()));
    t.rows.push_back(std::move(row));
  }
  std::string from = rejected ? "" : "all points are valid";
  std::string interval;
  for (const auto& [origin, n] : origins)
    interval += (interval.empty() ? "low, high: 95 % interval from " : ", or from ") +
                interval_origin_text(origin);
  if (!interval.empty()) from += (from.empty() ? "" : "; ") + interval;
  t.note = from;
  if (workloads.size() > view.top) {
    t.note += (from.empty() ? "" : "; ") + std::to_string(workloads.size() - view.top) +
              " more workloads";
    t.hint = "--top shows more";
  }
  return t;
}

std::optional<Table> interpolated_table(const StudyView& view) {
  Table t{.title = "Between the sampled points (fitted)",
          .columns = {{.title = "workload", .numeric = false}},
          .rows = {},
          .width = kTextWidth};
  const bool gpus = several_gpus(view);
  if (gpus) t.columns.push_back({.title = "gpu", .numeric = false});
  t.columns.push_back({.title = "least at", .numeric = false, .whole = true});
  t.columns.push_back({.title = "between", .numeric = false, .whole = true});
  const auto& workloads = view.study.workloads;
  const bool intervals = std::ranges::any_of(
      workloads, [](const Workload& w) { return w.interpolated && w.interpolated->value_ci95; });
  if (intervals) t.columns.push_back({.title = "interval", .numeric = false, .whole = true});
  t.columns.push_back(percent_column("saved"));
  if (intervals) add_ends(t, "saved", "%", 3);
  std::size_t fitted = 0;
  for (const auto& w : workloads) {
    if (!w.interpolated) continue;
    if (++fitted > view.top) continue;
    const auto& i = *w.interpolated;
    std::vector<Value> row = {w.name};
    if (gpus) row.emplace_back(w.gpu);
    row.insert(row.end(), {axis_text(w, i.value), axis_range(w, i.low, i.high)});
    if (intervals)
      row.emplace_back(i.value_ci95 ? axis_range(w, i.value_ci95->low, i.value_ci95->high) : "");
    row.push_back(percent_of(i.energy_saved));
    if (intervals) push_ends(row, i.energy_saved_ci95, 100);
    t.rows.push_back(std::move(row));
  }
  if (t.rows.empty()) return {};
  t.note = "a parabola through the best point and its neighbours";
  if (intervals) t.note += "; interval, low, high: 95 %";
  if (fitted > view.top) {
    t.note += "; " + std::to_string(fitted - view.top) + " more workloads";
    t.hint = "--top shows more";
  }
  return t;
}

Table points_table(const StudyView& view, const Workload& w) {
  const auto any = [&](auto what) { return std::ranges::any_of(w.points, what); };
  const bool achieved = any([](const Point& p) { return p.achieved_hz.has_value(); });
  Table t{.title = "Points of " + w.name,
          .columns = {{.title = "setting", .numeric = false, .whole = true}},
          .rows = {},
          .width = kTextWidth};
  if (achieved) t.columns.push_back({.title = "ran at", .unit = "MHz"});
  if (w.units_known) t.columns.push_back({.title = "time", .unit = "s"});
  t.columns.push_back({.title = "power", .unit = "W"});
  if (w.units_known) t.columns.push_back({.title = "energy", .unit = "J", .significant = 5});
  t.columns.push_back({.title = "saved", .unit = "%", .significant = 3});
  t.columns.push_back({.title = "slowdown", .unit = "%", .significant = 3});
  t.columns.push_back({.title = "note", .numeric = false, .wrap = true});
  for (std::size_t i = w.points.size(); i-- > 0;) {
    if (t.rows.size() >= view.top) {
      t.note = std::to_string(i + 1) + " more points";
      t.hint = "--top shows more";
      break;
    }
    const Point& p = w.points[i];
    std::vector<Value> row = {setting_text(p.setting)};
    if (achieved) row.push_back(p.achieved_hz ? Value(*p.achieved_hz / 1e6) : Value());
    if (w.units_known) row.push_back(finite(p.time));
    row.push_back(finite(p.power_w));
    if (w.units_known) row.push_back(finite(p.energy));
    if (w.baseline) {
      const Point& base = w.points[*w.baseline];
      row.push_back(p.energy && base.energy ? percent_of(1 - *p.energy / *base.energy) : Value());
      row.push_back(p.time && base.time ? percent_of(*p.time / *base.time - 1) : Value());
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

Table factor_table(const study::FactorTable& f) {
  Table t{.title = "By ",
          .columns = {},
          .rows = {},
          .note = "geometric means over the " + counted(f.common, "configuration") +
                  " that every row has, of " + std::to_string(f.total),
          .width = kTextWidth};
  const auto any = [&](auto what) { return std::ranges::any_of(f.levels, what); };
  const bool saved = any([](const auto& l) { return l.energy_ratio_ci95.has_value(); });
  const bool clocks = any([](const auto& l) { return l.optimum_clock_hz.has_value(); });
  const bool energies = any([](const auto& l) { return l.baseline_energy.has_value(); });
  const bool times = any([](const auto& l) { return l.baseline_time.has_value(); });
  for (std::size_t i = 0; i < f.factors.size(); ++i) {
    t.title += (i > 0 ? " and " : "") + f.factors[i];
    t.columns.push_back({.title = f.factors[i], .numeric = false});
  }
  t.columns.push_back({.title = "workloads"});
  t.columns.push_back(percent_column("saved"));
  if (saved) add_ends(t, "saved", "%", 3);
  t.columns.push_back(percent_column("slowdown"));
  if (clocks) t.columns.push_back({.title = "best clock", .unit = "MHz"});
  if (energies) t.columns.push_back({.title = "energy at baseline", .unit = "x"});
  if (times) t.columns.push_back({.title = "time at baseline", .unit = "x"});
  for (const auto& l : f.levels) {
    std::vector<Value> row(l.level.begin(), l.level.end());
    row.emplace_back(std::uint64_t{l.workloads});
    if (f.common == 0) {
      row.insert(row.end(), t.columns.size() - row.size(), Value());
    } else {
      row.push_back(percent_of(1 - l.energy_ratio));
      std::optional<study::Interval> share;
      if (l.energy_ratio_ci95)
        share = {1 - l.energy_ratio_ci95->high, 1 - l.energy_ratio_ci95->low, {}};
      if (saved) push_ends(row, share, 100);
      row.push_back(percent_of(l.time_ratio - 1));
      if (clocks) row.push_back(l.optimum_clock_hz ? Value(*l.optimum_clock_hz / 1e6) : Value());
      if (energies) row.push_back(finite(l.baseline_energy));
      if (times) row.push_back(finite(l.baseline_time));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

std::string level_text(const study::FactorTable& f, std::size_t level) {
  std::string out;
  for (const auto& word : f.levels[level].level) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<Table> differences_tables(const StudyView& view, const study::FactorTable& f) {
  std::string by;
  for (const auto& name : f.factors) by += (by.empty() ? "" : " and ") + name;
  const auto any = [&](auto what) { return std::ranges::any_of(f.differences, what); };
  const bool here = any([](const auto& d) { return d.measured_ci95.has_value(); });
  // With three configurations or more as a sample of others like them.
  const bool further = any([](const auto& d) {
    return d.energy_saved_ci95 && d.energy_saved_ci95->from == study::kFromConfigurations;
  });
  const bool ratios = any([](const auto& d) { return d.baseline_energy_ci95.has_value(); });
  Table t{.title = "How much one " + by + " saves more than another",
          .columns = {{.title = by, .numeric = false},
                      {.title = "than", .numeric = false},
                      {.title = "saves more", .unit = "points", .significant = 3}},
          .rows = {},
          .width = kTextWidth};
  Table r{.title = "Energy of one " + by + " over another, at the baseline",
          .columns = {{.title = by, .numeric = false},
                      {.title = "over", .numeric = false},
                      {.title = "energy", .unit = "x"}},
          .rows = {},
          .width = kTextWidth};
  add_ends(r, "energy", "x", 4);
  const auto verdict = [](std::optional<bool> apart) {
    return !apart ? "not known" : *apart ? "yes" : "no";
  };
  if (here) {
    add_ends(t, "here", "points", 3);
    t.columns.push_back({.title = "told apart here", .numeric = false});
  }
  if (further) {
    add_ends(t, "further", "points", 3);
    t.columns.push_back({.title = "told apart", .numeric = false});
  }
  std::string_view measured;
  for (const auto& d : f.differences) {
    if (t.rows.size() == view.top) break;
    std::vector<Value> row = {level_text(f, d.level), level_text(f, d.than), 100 * d.energy_saved};
    if (here) {
      push_ends(row, d.measured_ci95, 100);
      row.emplace_back(verdict(d.told_apart_here()));
      if (d.measured_ci95) measured = d.measured_ci95->from;
    }
    if (further) {
      push_ends(row, d.energy_saved_ci95, 100);
      row.emplace_back(verdict(d.told_apart()));
    }
    t.rows.push_back(std::move(row));
    if (!ratios || !d.baseline_energy) continue;
    std::vector<Value> ratio = {level_text(f, d.level), level_text(f, d.than), *d.baseline_energy};
    push_ends(ratio, d.baseline_energy_ci95, 1);
    r.rows.push_back(std::move(ratio));
  }
  if (here)
    t.note = "here: 95 % of these " + counted(f.common, "configuration") + ", from " +
             interval_origin_text(measured);
  if (further)
    t.note += std::string(here ? "; " : "") +
              "further: 95 % of others like them, from a bootstrap over configurations";
  if (!here && !further)
    t.note =
        "no interval: fewer than three configurations in common, and neither repeats nor a "
        "sensor's intervals";
  if (f.differences.size() > view.top) {
    t.note += "; " + std::to_string(f.differences.size() - view.top) + " more pairs";
    t.hint = "--top shows more";
  }
  std::vector<Table> out = {std::move(t)};
  if (!r.rows.empty()) out.push_back(std::move(r));
  return out;
}

Table findings_table(const StudyView& view) {
  std::map<std::string, std::size_t> counts;
  for (const auto& f : view.study.findings) ++counts[f.kind];
  Table t{
      .title = "What is wrong with the data: " + counted(view.study.findings.size(), "finding") +
               " of " + counted(counts.size(), "kind"),
      .columns = {{.title = "finding", .numeric = false},
                  {.title = "subject", .numeric = false},
                  {.title = "evidence", .numeric = false, .whole = true, .wrap = true}},
      .rows = {},
      .width = kTextWidth};
  std::map<std::string, std::size_t> shown;
  for (const auto& f : view.study.findings) {
    // Two of a kind, and how many more there are.
    const std::size_t n = ++shown[f.kind];
    if (n > 3 && !view.with_points) continue;
    if (n == 3 && counts[f.kind] > 3 && !view.with_points) {
      t.rows.push_back({f.kind, std::to_string(counts[f.kind] - 2) + " more",
                        "each with its own evidence in the JSON, or with --points"});
      continue;
    }
    t.rows.push_back({f.kind, f.subject, f.evidence});
  }
  return t;
}

}  // namespace ergon::cli
