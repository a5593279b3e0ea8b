// The HTML page of `sweep`: every point's time and energy, with its interval.
#include <algorithm>

#include "ergon/report/page.hpp"
#include "sweep_parts.hpp"

namespace ergon::cli {

void fill_sweep_page(const SweepAnswer& sweep, const std::vector<SweepBaseline>& baselines,
                     const std::vector<SweepOptimum>& optima, Answer& answer) {
  report::Page page;
  report::SweepPage figure;
  for (const SweepBaseline& baseline : baselines) {
    report::SweepGroup group{.label = sweep_parameters_text(baseline.parameters)};
    const auto optimum = std::ranges::find_if(
        optima, [&](const SweepOptimum& o) { return o.baseline == &baseline; });
    for (const SweepRow& row : sweep.rows) {
      if (row.setting.parameters != baseline.parameters || !row.energy_j || !row.time_s) continue;
      const auto asked = row.setting.core ? std::optional(row.setting.core->si()) : row.clock_hz;
      group.points.push_back({.setting = run::to_string(row.setting),
                              .clock_hz = asked,
                              .time_s = row.time_s->value,
                              .energy_j = row.energy_j->value,
                              .energy_low_j = row.energy_j->low,
                              .energy_high_j = row.energy_j->high,
                              .baseline = row.baseline,
                              .best = optimum != optima.end() && optimum->row == &row,
                              .valid = row_counts(row),
                              .reason = row.reason});
    }
    if (!group.points.empty()) figure.groups.push_back(std::move(group));
  }
  const auto done =
      std::ranges::count_if(sweep.rows, [](const SweepRow& row) { return row.state != "planned"; });
  const auto valid = std::ranges::count_if(sweep.rows, row_counts);
  for (std::size_t i = 0; i < optima.size() && i < 3; ++i) {
    const SweepOptimum& best = optima[i];
    const std::string at = run::to_string(best.row->setting);
    page.figures.push_back(
        {.label = "energy saved",
         .value = 100 * best.energy_saved,
         .unit = "%",
         .note = at +
                 (best.edge == nullptr ? "" : std::string(", ") + best.edge + " edge of the sweep"),
         .significant = 3});
    page.figures.push_back({.label = "slowdown",
                            .value = 100 * best.slowdown,
                            .unit = "%",
                            .note = "there, against the baseline",
                            .significant = 3});
  }
  page.figures.push_back({.label = "points that count",
                          .value = static_cast<double>(valid),
                          .unit = "",
                          .note = "of " + std::to_string(done) + " measured",
                          .significant = 6});
  if (!figure.groups.empty()) page.sweep = std::move(figure);
  answer.page = report::to_value(page);
}

}  // namespace ergon::cli
