// The HTML page of `study`: curves, bars and heat maps.
#include <algorithm>
#include <cmath>
#include <set>

#include "planning.hpp"
#include "study_parts.hpp"

namespace ergon::cli {
namespace {

constexpr std::size_t kWorkloads = 300;

std::string factor(const study::Workload& w, const char* name) {
  const auto at = w.factors.find(name);
  return at == w.factors.end() ? std::string() : at->second;
}

report::StudyWorkload page_workload(const study::Workload& w, const std::string& parameter) {
  report::StudyWorkload out{.name = w.name,
                            .gpu = w.gpu,
                            .network = factor(w, "network"),
                            .batch = factor(w, "batch"),
                            .algorithm = factor(w, "algorithm")};
  const study::Point* base = w.baseline ? &w.points[*w.baseline] : nullptr;
  for (const study::Point& p : w.points) {
    report::StudyPoint point{.clock_hz = p.setting.clock_hz,
                             .memory_clock_hz = p.setting.memory_clock_hz,
                             .power_limit_w = p.setting.power_limit_w,
                             .parameter = p.setting.parameter,
                             .power_w = p.power_w,
                             .valid = p.invalid.empty()};
    if (base != nullptr && p.time && base->time) point.time_ratio = *p.time / *base->time;
    if (base != nullptr && p.energy && base->energy) point.energy_ratio = *p.energy / *base->energy;
    out.points.push_back(point);
  }
  out.baseline = w.baseline;
  if (w.optimum) {
    out.best = w.optimum->point;
    out.energy_saved = w.optimum->energy_saved;
    if (std::isfinite(w.optimum->slowdown)) out.slowdown = w.optimum->slowdown;
    if (w.optimum->energy_saved_ci95) {
      out.energy_saved_low = w.optimum->energy_saved_ci95->low;
      out.energy_saved_high = w.optimum->energy_saved_ci95->high;
    }
    if (w.optimum->point != w.baseline) out.edge = study::edge_words(*w.optimum, parameter);
  }
  return out;
}

}  // namespace

void fill_study_page(const StudyView& view, Answer& answer) {
  const study::Study& s = view.study;
  report::Page page;
  if (s.energy_saved) {
    std::string range = percent_range(s.energy_saved->min, s.energy_saved->max);
    if (s.energy_saved->mean_ci95) {
      range = "mean; 95 %: " +
              percent_range(s.energy_saved->mean_ci95->low, s.energy_saved->mean_ci95->high);
    } else if (s.energy_saved->count == 1) {
      range = "one workload";
      for (const auto& w : s.workloads) {
        if (w.optimum && w.optimum->energy_saved_ci95)
          range = "95 %: " + percent_range(w.optimum->energy_saved_ci95->low,
                                           w.optimum->energy_saved_ci95->high);
      }
    }
    page.figures.push_back({"energy saved", 100 * s.energy_saved->mean, "%", range, 3});
  }
  if (s.slowdown)
    page.figures.push_back({"slowdown", 100 * s.slowdown->mean, "%", "mean at the best points", 3});
  for (std::size_t i = 0; i < s.budgets.size(); ++i) {
    if (!s.budgets[i]) continue;
    page.figures.push_back({"saved within " + percent_text(view.options.budgets[i]),
                            100 * s.budgets[i]->mean, "%", "slowdown at most that; mean", 3});
  }
  std::set<std::string_view> kinds;
  for (const auto& f : s.findings) kinds.insert(f.kind);
  page.figures.push_back({"findings", static_cast<double>(s.findings.size()), "",
                          s.findings.empty() ? "nothing contradicts itself in the data"
                                             : "of " + counted(kinds.size(), "kind"),
                          6});
  report::StudyPage study{.parameter = view.data.parameter_name};
  for (const auto& w : s.workloads) {
    if (study.workloads.size() == kWorkloads) break;
    study.workloads.push_back(page_workload(w, view.data.parameter_name));
    for (const auto& p : w.points)
      study.clocks_are_offsets = study.clocks_are_offsets || p.setting.clock_is_offset;
  }
  study.left_out = s.workloads.size() - study.workloads.size();
  if (!study.workloads.empty()) page.study = std::move(study);
  answer.page = report::to_value(page);
}

}  // namespace ergon::cli
