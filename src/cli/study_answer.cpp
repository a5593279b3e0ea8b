// The answer of `study` in words.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "planning.hpp"
#include "study_parts.hpp"

namespace ergon::cli {
namespace {

using study::Point;
using study::Setting;
using study::Workload;

std::string metric_word(study::Metric metric) {
  return metric == study::Metric::kEnergy ? "energy"
         : metric == study::Metric::kEdp  ? "energy x time"
                                          : "energy x time^2";
}

// What is told of a workload that stands alone.
void add_lines_of_one(const Workload& w, Answer& answer) {
  if (w.optimum && w.optimum->energy_saved_ci95) {
    const auto& i = *w.optimum->energy_saved_ci95;
    answer.lines.push_back("The saving lies between " + percent_text(i.low) + " and " +
                           percent_text(i.high) + " (95 %, from " + interval_origin_text(i.from) +
                           ").");
  }
  if (!w.interpolated) return;
  const auto& i = *w.interpolated;
  std::string line = "Interpolated, the least lies near " + axis_text(w, i.value) + ", between " +
                     axis_text(w, i.low) + " and " + axis_text(w, i.high) + " (fitted)";
  if (i.value_ci95) line += ", 95 %: " + axis_range(w, i.value_ci95->low, i.value_ci95->high);
  line += ", and saves " + percent_text(i.energy_saved);
  if (i.energy_saved_ci95)
    line += ", 95 %: " + percent_range(i.energy_saved_ci95->low, i.energy_saved_ci95->high);
  answer.lines.push_back(line + ".");
}

std::string points_text(double share) {
  std::string text = percent_text(share);
  text.erase(text.size() - 2);  // " %": a difference of percents is in points
  return text;
}

// The two levels that are farthest apart.
std::string difference_line(const study::FactorTable& f) {
  const study::LevelDifference* most = nullptr;
  for (const auto& d : f.differences) {
    if (most == nullptr || d.energy_saved > most->energy_saved) most = &d;
  }
  if (most == nullptr || !most->energy_saved_ci95) return {};
  std::string by = "By ";
  for (const auto& name : f.factors) by += (by == "By " ? "" : " and ") + name;
  const std::string a = level_text(f, most->level);
  const std::string b = level_text(f, most->than);
  const auto ends = [](const study::Interval& i) {
    return "95 % [" + points_text(i.low) + ", " + points_text(i.high) + "]";
  };
  const std::string difference = points_text(most->energy_saved) + " points";
  const std::string more = by + ": " + a + " saves " + difference + " more than " + b;
  const std::string common = counted(f.common, "common configuration");
  const std::string own = ends(*most->energy_saved_ci95);
  if (most->told_apart() == true)
    return more + ", " + own + (f.common == 1 ? "" : " over " + common) + ".";
  if (most->told_apart_here() == true)
    return more + " over the " + common + ", " + ends(*most->measured_ci95) +
           "; over further ones they cannot be told apart, " + own + ".";
  return by + ": " + a + " and " + b + " cannot be told apart: " + difference + ", " + own +
         (f.common == 1 ? "" : " over " + common) + ".";
}

std::string headline(const StudyView& view) {
  const study::Study& s = view.study;
  if (s.energy_saved) {
    const bool one = s.energy_saved->count == 1;
    if (s.energy_saved->max <= 0 && view.options.metric == study::Metric::kEnergy) {
      const auto& bound = view.options.max_slowdown;
      return "No setting " +
             (bound ? "within a slowdown of " + percent_text(*bound) + " " : std::string()) +
             "saves energy: the baseline is the best" +
             (one ? "." : " in each of " + counted(s.energy_saved->count, "workload") + ".");
    }
    std::string out =
        one ? "The best sampled point saves " + percent_text(s.energy_saved->mean) + " energy"
            : "The best sampled points save " + percent_text(s.energy_saved->mean) +
                  " energy on average (" + percent_range(s.energy_saved->min, s.energy_saved->max) +
                  ") over " + counted(s.energy_saved->count, "workload");
    if (s.slowdown) out += ", " + slowdown_words(s.slowdown->mean);
    return out + ".";
  }
  if (s.workloads.empty()) {
    return counted(view.data.claims.size(), "published optimum", "published optima") +
           " without measurements: flagged, not believed.";
  }
  const auto any = [&](auto what) { return std::ranges::any_of(s.workloads, what); };
  if (!any([](const auto& w) { return w.baseline.has_value(); })) {
    if (view.options.baseline) return "No optimum: the baseline asked for was not measured.";
    const auto known = [&](study::Maybe Point::* figure) {
      return any([&](const auto& w) {
        return std::ranges::any_of(w.points,
                                   [&](const Point& p) { return (p.*figure).has_value(); });
      });
    };
    return known(&Point::power_w)
               ? "No optimum: power is known, but neither time nor throughput, so "
                 "no energy."
           : known(&Point::time) ? "No optimum: time is known, but no power and no energy."
                                 : "No optimum: no power and no energy is known.";
  }
  for (const auto& w : s.workloads) {
    if (!w.not_believed.empty())
      return "No optimum that could be believed: " + w.not_believed + ".";
  }
  return "No optimum: no point is valid.";
}

constexpr double kWhole = 1e9;  // from here up digits are no help, and soon no integer holds it

std::string huge_text(double v) {
  std::array<char, 32> buffer{};
  const int n = std::snprintf(buffer.data(), buffer.size(), "%.4g", v);
  return {buffer.data(), static_cast<std::size_t>(n)};
}

std::string plain_text(double v) {
  if (std::abs(v) >= kWhole) return huge_text(v);
  const std::string text = std::to_string(v);
  return std::abs(v - std::round(v)) < 5e-4 ? std::to_string(std::llround(v)) : text.substr(0, 6);
}

std::string megahertz_text(double hz, bool offset) {
  const double v = hz / 1e6;
  const std::string number = std::abs(v) >= kWhole                ? huge_text(v)
                             : std::abs(v - std::round(v)) < 5e-4 ? std::to_string(std::llround(v))
                                                                  : std::to_string(v).substr(0, 8);
  return (offset && v >= 0 ? "+" : "") + number;
}

}  // namespace

std::string setting_text(const Setting& s) {
  if (s.default_clocks && !s.clock_hz) return "default clocks";
  std::string out;
  if (s.clock_hz) out = megahertz_text(*s.clock_hz, s.clock_is_offset);
  if (s.memory_clock_hz)
    out +=
        (out.empty() ? "memory " : " / ") + megahertz_text(*s.memory_clock_hz, s.memory_is_offset);
  if (s.clock_hz || s.memory_clock_hz) out += " MHz";
  if (s.power_limit_w) out += (out.empty() ? "" : ", ") + plain_text(*s.power_limit_w) + " W";
  if (s.parameter) out += (out.empty() ? "" : ", ") + plain_text(*s.parameter);
  return out.empty() ? "one setting" : out;
}

std::string axis_text(const Workload& w, double value) {
  const std::string& axis = w.interpolated->axis;
  const Setting& best = w.points[w.optimum->point].setting;
  if (axis == "power_limit") return plain_text(std::round(value)) + " W";
  if (axis == "parameter") return plain_text(value);
  const bool core = axis == "clock";
  return (core ? "" : "memory ") +
         megahertz_text(std::round(value / 1e6) * 1e6,
                        core ? best.clock_is_offset : best.memory_is_offset) +
         " MHz";
}

std::string axis_range(const Workload& w, double low, double high) {
  std::string from = axis_text(w, low);
  std::string to = axis_text(w, high);
  if (from == to) return to;
  // The unit once.
  const std::size_t unit = to.find_last_of(' ');
  if (unit != std::string::npos && from.ends_with(to.substr(unit)))
    from.erase(from.size() - (to.size() - unit));
  const std::string word = "memory ";
  return from + " to " + (to.starts_with(word) ? to.substr(word.size()) : to);
}

Answer study_answer(const StudyView& view, bool with_page) {
  const study::Study& s = view.study;
  Answer answer{.command = "study", .headline = headline(view)};
  const std::string common = common_baseline(view);
  answer.lines.push_back("Baseline: " + s.baseline_rule +
                         (common.empty() || view.options.baseline ? "" : ": " + common) + ".");
  if (s.workloads.size() == 1 && !s.workloads.front().baseline_moved.empty())
    answer.lines.push_back(s.workloads.front().baseline_moved + ".");
  std::string best = "Best: least " + metric_word(view.options.metric);
  if (view.options.max_slowdown)
    best += " at a slowdown of at most " + percent_text(*view.options.max_slowdown);
  answer.lines.push_back(best + "; points that do not prove themselves never win.");
  if (s.energy_saved && s.energy_saved->mean_ci95) {
    answer.lines.push_back(
        "The mean saving lies between " + percent_text(s.energy_saved->mean_ci95->low) + " and " +
        percent_text(s.energy_saved->mean_ci95->high) + " (95 %, bootstrap over workloads).");
  }
  for (const auto& f : s.factors) {
    const std::string line = difference_line(f);
    if (!line.empty()) answer.lines.push_back(line);
  }
  if (s.workloads.size() == 1) add_lines_of_one(s.workloads.front(), answer);
  std::string budgets;
  for (std::size_t i = 0; i < s.budgets.size(); ++i) {
    if (!s.budgets[i]) continue;
    budgets += (budgets.empty() ? "Energy saved at a slowdown of at most " : "; ") +
               percent_text(view.options.budgets[i]) + ": " + percent_text(s.budgets[i]->mean);
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
  if (s.workloads.size() > 1) {
    if (auto fitted = interpolated_table(view)) answer.tables.push_back(*std::move(fitted));
  }
  for (const auto& f : s.factors) {
    answer.tables.push_back(factor_table(f));
    if (f.differences.empty()) continue;
    for (auto& table : differences_tables(view, f)) answer.tables.push_back(std::move(table));
  }
  if (!s.findings.empty()) answer.tables.push_back(findings_table(view));
  answer.data = study_data(view);
  if (with_page) fill_study_page(view, answer);
  return answer;
}

}  // namespace ergon::cli
