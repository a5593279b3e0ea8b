// Tables of the answer of `plan`.
#include <algorithm>
#include <cmath>

#include "plan_parts.hpp"

namespace ergon::cli {

using plan::Evaluation;
using plan::Problem;

Savings against(const Evaluation& value, const Evaluation& base) {
  const auto clean = [](double share) { return std::abs(share) < 1e-9 ? 0.0 : share; };
  return {clean(base.energy_j > 0 ? 1 - value.energy_j / base.energy_j : 0),
          clean(base.time_s > 0 ? value.time_s / base.time_s - 1 : 0)};
}

Table comparison_table(const PlanView& view, std::optional<double> finest_j) {
  const plan::Outcome& out = *view.outcome;
  Table table{.title = "Within " + time_text(out.deadline_s),
              .columns = {{.title = "", .numeric = false},
                          {.title = "clock", .unit = "MHz"},
                          {.title = "time", .unit = "s", .significant = 5},
                          {.title = "energy", .unit = "J", .significant = 5},
                          {.title = "saved", .unit = "%", .significant = 3},
                          {.title = "slowdown", .unit = "%", .significant = 3},
                          {.title = "changes", .unit = ""}},
              .rows = {}};
  const auto row = [&](const char* name, const std::optional<double>& clock,
                       const Evaluation& value) {
    const Savings s = against(value, out.default_value);
    table.rows.push_back({name, clock ? Value(std::round(*clock / 1e4) / 100) : Value("several"),
                          value.time_s, value.energy_j, 100 * s.energy, 100 * s.slowdown,
                          std::uint64_t{value.switches}});
  };
  row("default clocks", single_clock(*view.problem, out.default_choice), out.default_value);
  if (out.uniform) row("best single clock", out.uniform->clock_hz, out.uniform->value);
  row("plan", single_clock(*view.problem, out.plan.choice), out.plan.value);
  const auto bound = [&](const char* name, double joules) {
    const double saved =
        out.default_value.energy_j > 0 ? 100 * (1 - joules / out.default_value.energy_j) : 0;
    table.rows.push_back({name, nullptr, nullptr, joules, saved, nullptr, nullptr});
  };
  bound("lower bound", out.plan.lower_bound_j);
  if (finest_j) bound("finest bound (a pack a kernel)", *finest_j);
  return table;
}

Table runs_table(const PlanView& view) {
  Table table{.title = "Runs of one clock",
              .columns = {{.title = "gpu", .numeric = false},
                          {.title = "first pack", .numeric = false},
                          {.title = "packs"},
                          {.title = "clock", .unit = "MHz"},
                          {.title = "time", .unit = "s"},
                          {.title = "energy", .unit = "J"},
                          {.title = "begins with", .numeric = false}},
              .rows = {}};
  const Problem& problem = *view.problem;
  const plan::Choice& choice = view.outcome->plan.choice;
  std::size_t runs = 0;
  constexpr std::size_t kMost = 24;
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g) {
    double clock = -1;
    for (std::size_t i = 0; i < choice.size(); ++i) {
      if (problem.packs[i].gpu != g) continue;
      const plan::Option& option = problem.packs[i].options[choice[i]];
      if (option.clock_hz != clock) {
        clock = option.clock_hz;
        ++runs;
        if (runs > kMost) continue;
        const std::string first =
            view.job != nullptr ? view.job->packs.packs[i].first_operation : std::string();
        table.rows.push_back({problem.gpus[g].id, problem.packs[i].id, std::uint64_t{0},
                              std::round(clock / 1e4) / 100, 0.0, 0.0, first});
      }
      if (runs > kMost) continue;
      auto& row = table.rows.back();
      row[2] = *row[2].as_int() + 1;
      row[4] = *row[4].as_double() + option.time_s;
      row[5] = *row[5].as_double() + option.energy_j;
    }
  }
  if (runs > kMost)
    table.note = std::to_string(runs - kMost) + " more runs; the policy file (-o) lists every pack";
  return table;
}

Table frontier_table(const PlanView& view) {
  Table table{.title = "Time-energy frontier",
              .columns = {{.title = "deadline", .unit = "s", .significant = 6},
                          {.title = "time", .unit = "s", .significant = 6},
                          {.title = "energy", .unit = "J", .significant = 6},
                          {.title = "lower bound", .unit = "J", .significant = 6},
                          {.title = "saved", .unit = "%", .significant = 4},
                          {.title = "slowdown", .unit = "%", .significant = 4}},
              .rows = {}};
  for (const auto& point : view.frontier) {
    const Savings s = against(point.solution.value, view.outcome->default_value);
    table.rows.push_back({point.deadline_s, point.solution.value.time_s,
                          point.solution.value.energy_j, point.solution.lower_bound_j,
                          100 * s.energy, 100 * s.slowdown});
  }
  return table;
}

}  // namespace ergon::cli
