// Tables of `study` beside those of workloads and points: factors, and what is wrong.
#include <cmath>
#include <map>

#include "planning.hpp"
#include "study_parts.hpp"

namespace ergon::cli {
namespace {

Value maybe_value(study::Maybe v) { return v && std::isfinite(*v) ? Value(*v) : Value(); }

}  // namespace

std::string percent_tenths(double v) {
  const std::string s = std::to_string(std::round(v * 1000) / 10);
  return s.substr(0, s.find('.') + 2);
}

Table factor_table(const study::FactorTable& f) {
  Table t{.title = "By ",
          .columns = {},
          .rows = {},
          .note = "geometric means over the " + counted(f.common, "configuration") +
                  " that every row has, of " + std::to_string(f.total)};
  for (std::size_t i = 0; i < f.factors.size(); ++i) {
    t.title += (i > 0 ? " and " : "") + f.factors[i];
    t.columns.push_back({.title = f.factors[i], .numeric = false});
  }
  t.columns.insert(t.columns.end(), {{.title = "workloads"},
                                     {.title = "saved", .unit = "%", .significant = 3},
                                     {.title = "95 % interval", .unit = "%", .numeric = false},
                                     {.title = "slower", .unit = "%", .significant = 3},
                                     {.title = "best clock", .unit = "MHz"},
                                     {.title = "energy at baseline", .unit = "x"},
                                     {.title = "time at baseline", .unit = "x"}});
  for (const auto& l : f.levels) {
    std::vector<Value> row(l.level.begin(), l.level.end());
    row.emplace_back(std::uint64_t{l.workloads});
    if (f.common == 0) {
      row.insert(row.end(), 6, Value());
    } else {
      row.emplace_back(100 * (1 - l.energy_ratio));
      row.emplace_back(l.energy_ratio_ci95
                           ? percent_tenths(1 - l.energy_ratio_ci95->high) + " to " +
                                 percent_tenths(1 - l.energy_ratio_ci95->low)
                           : std::string());
      row.emplace_back(100 * (l.time_ratio - 1));
      row.push_back(l.optimum_clock_hz ? Value(*l.optimum_clock_hz / 1e6) : Value());
      row.push_back(maybe_value(l.baseline_energy));
      row.push_back(maybe_value(l.baseline_time));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table findings_table(const StudyView& view) {
  Table t{.title = "What is wrong with the data",
          .columns = {{.title = "finding", .numeric = false},
                      {.title = "subject", .numeric = false},
                      {.title = "evidence", .numeric = false, .whole = true}},
          .rows = {}};
  std::map<std::string, std::size_t> counts;
  for (const auto& f : view.study.findings) ++counts[f.kind];
  std::map<std::string, std::size_t> shown;
  for (const auto& f : view.study.findings) {
    // Two of a kind, and how many more there are.
    const std::size_t n = ++shown[f.kind];
    if (n > 2 && !view.with_points) continue;
    const std::size_t more = n == 2 && !view.with_points ? counts[f.kind] - 2 : 0;
    t.rows.push_back({f.kind,
                      f.subject + (more > 0 ? " and " + std::to_string(more) + " more" : ""),
                      f.evidence});
  }
  return t;
}

}  // namespace ergon::cli
