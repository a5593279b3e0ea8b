// What the figures of `plan` are worth: their intervals, and the share that was measured.
#include <algorithm>

#include "plan_parts.hpp"

namespace ergon::cli {
namespace {

Value interval(double low, double high) {
  Value v = Value::array();
  v.push(low).push(high);
  return v;
}

std::optional<plan::Spread> spread_at(const PlanView& view, const std::vector<double>& clocks_hz,
                                      const plan::Evaluation& value) {
  return plan::spread_of(view.job->packs, clocks_hz, value, view.outcome->default_value);
}

}  // namespace

std::optional<plan::Spread> spread_of(const PlanView& view, const plan::Choice& choice,
                                      const plan::Evaluation& value) {
  if (view.job == nullptr) return std::nullopt;
  std::vector<double> clocks;
  clocks.reserve(choice.size());
  for (std::size_t i = 0; i < choice.size(); ++i)
    clocks.push_back(view.problem->packs[i].options[choice[i]].clock_hz);
  return spread_at(view, clocks, value);
}

std::optional<plan::Spread> spread_of(const PlanView& view, const plan::Uniform& uniform) {
  if (view.job == nullptr) return std::nullopt;
  return spread_at(view, std::vector(view.problem->packs.size(), uniform.clock_hz), uniform.value);
}

double measured_share(const PlanView& view) {
  double measured_j = 0;
  if (view.job != nullptr) {
    const plan::TracePacks& packs = view.job->packs;
    for (graph::NodeId n = packs.window.first; n < packs.window.last; ++n) {
      const std::int32_t curve = packs.nodes[n - packs.window.first].curve;
      if (curve < 0) continue;
      measured_j +=
          packs.curves[static_cast<std::size_t>(curve)].power_w[packs.table.reference_index] *
          to_seconds(view.job->graph->duration(n)).si();
    }
  } else {
    const plan::Choice& choice = view.outcome->default_choice;
    for (std::size_t i = 0; i < choice.size(); ++i)
      measured_j += view.problem->packs[i].options[choice[i]].energy_j;
  }
  const double all_j = view.outcome->default_value.energy_j;
  if (!(all_j > 0)) return view.job == nullptr ? 1 : 0;
  const double share = std::clamp(measured_j / all_j, 0.0, 1.0);
  return share > 1 - 1e-9 ? 1 : share;
}

void set_spread(Value& value, const std::optional<plan::Spread>& spread) {
  if (!spread) return;
  value.set("time_s_ci95", interval(spread->time_low_s, spread->time_high_s))
      .set("energy_j_ci95", interval(spread->energy_low_j, spread->energy_high_j))
      .set("energy_saved_ci95", interval(spread->saved_low, spread->saved_high));
}

std::string spread_text(const PlanView& view, const std::optional<plan::Spread>& spread) {
  if (!spread) return {};
  const double before = view.outcome->default_value.time_s;
  const auto slowdown = [&](double seconds) {
    const double share = before > 0 ? seconds / before - 1 : 0;
    return percent_text(share < 1e-9 ? 0 : share);
  };
  std::string text =
      "Modelled, not measured: over the ends of the model's intervals (idle power, power of work, "
      "clock response) the plan needs " +
      energy_text(spread->energy_low_j, 3) + " to " + energy_text(spread->energy_high_j, 3) +
      ", saves " + percent_text(spread->saved_low) + " to " + percent_text(spread->saved_high) +
      ", at a slowdown of " + slowdown(spread->time_low_s) + " to " + slowdown(spread->time_high_s);
  const model::ClockTable& table = view.job->packs.table;
  double lowest = table.reference.si();
  const plan::Choice& choice = view.outcome->plan.choice;
  for (std::size_t i = 0; i < choice.size(); ++i)
    lowest = std::min(lowest, view.problem->packs[i].options[choice[i]].clock_hz);
  const bool late = spread->time_high_s > view.outcome->deadline_s * (1 + 1e-9);
  text += late ? ": the upper end is over the bound, so measure before you rely on it." : ".";
  if (lowest < 0.5 * table.reference.si()) {
    text += " Its lowest clock, " + clock_text(lowest) +
            ", is less than half of the trace's: times and energies are extrapolated far.";
  }
  return text;
}

}  // namespace ergon::cli
