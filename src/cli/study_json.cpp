// The JSON of `study`: the contract's fields, and what else is known of each figure.
#include <algorithm>
#include <cmath>
#include <map>

#include "study_parts.hpp"

namespace ergon::cli {
namespace {

constexpr std::size_t kConfigurations = 30;  // of a difference, each by itself

using study::Best;
using study::Maybe;
using study::Point;
using study::Setting;
using study::Workload;

Value maybe(Maybe v) { return v && std::isfinite(*v) ? Value(*v) : Value(); }
// `key`_ci95 and what it is from.
void set_interval(Value& v, const std::string& key, const std::optional<study::Interval>& i) {
  if (!i) return;
  v.set(key + "_ci95", Value::array().push(i->low).push(i->high))
      .set(key + "_ci95_from", Value(std::string(i->from)));
}

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
  set_interval(v, "energy_saved", best->energy_saved_ci95);
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
    Value fitted = Value::object();
    fitted.set("axis", i.axis)
        .set(i.axis + unit, i.value)
        .set("bracket" + std::string(unit), Value::array().push(i.low).push(i.high))
        .set("energy_saved", i.energy_saved)
        .set("origin", "fitted");
    set_interval(fitted, i.axis + unit, i.value_ci95);
    set_interval(fitted, "energy_saved", i.energy_saved_ci95);
    v.set("interpolated", std::move(fitted));
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
  if (s) set_interval(v, "mean", s->mean_ci95);
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

// "<level> saves so much more than <than>".
Value differences_value(const study::FactorTable& t) {
  const auto words = [&](std::size_t level) {
    Value out = Value::array();
    for (const auto& word : t.levels[level].level) out.push(word);
    return out;
  };
  Value list = Value::array();
  for (const auto& d : t.differences) {
    Value o = Value::object();
    o.set("level", words(d.level))
        .set("than", words(d.than))
        .set("energy_saved_difference", d.energy_saved);
    set_interval(o, "energy_saved_difference", d.energy_saved_ci95);
    set_interval(o, "energy_saved_difference_here", d.measured_ci95);
    const auto truth = [](std::optional<bool> apart) { return apart ? Value(*apart) : Value(); };
    o.set("told_apart", truth(d.told_apart()))
        .set("told_apart_here", truth(d.told_apart_here()))
        .set("baseline_energy_ratio", maybe(d.baseline_energy));
    set_interval(o, "baseline_energy_ratio", d.baseline_energy_ci95);
    Value each = Value::array();
    for (std::size_t c = 0; c < d.configurations.size() && c < kConfigurations; ++c) {
      Value one = Value::object();
      one.set("configuration", t.configurations[c])
          .set("energy_saved_difference", d.configurations[c].energy_saved);
      set_interval(one, "energy_saved_difference", d.configurations[c].energy_saved_ci95);
      each.push(std::move(one));
    }
    list.push(std::move(o.set("configurations", std::move(each))));
  }
  return list;
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
      set_interval(o, "energy_ratio", l.energy_ratio_ci95);
      set_interval(o, "baseline_energy_ratio", l.baseline_energy_ci95);
      levels.push(std::move(o));
    }
    list.push(Value::object()
                  .set("factors", std::move(names))
                  .set("common_configurations", std::uint64_t{t.common})
                  .set("configurations", std::uint64_t{t.total})
                  .set("levels", std::move(levels))
                  .set("differences", differences_value(t)));
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

}  // namespace

Value study_data(const StudyView& view) {
  const study::Study& s = view.study;
  Value data = Value::object();
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
  data.set("metric", view.options.metric == study::Metric::kEnergy ? "energy"
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
  return data;
}

}  // namespace ergon::cli
