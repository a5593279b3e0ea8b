// Pieces of the answer of `plan`: savings, intervals and tables.
#pragma once
#include <optional>

#include "planning.hpp"

namespace ergon::cli {

using plan::single_clock;

struct Savings {
  double energy = 0;    ///< share of the default's energy
  double slowdown = 0;  ///< share of the default's time
};
Savings against(const plan::Evaluation& value, const plan::Evaluation& base);

/// Default, best single clock, plan and bound side by side.
/// `finest_j`: the bound of one pack a kernel with free switching, where it is known.
Table comparison_table(const PlanView& view, std::optional<double> finest_j);
/// The first runs of one clock of each GPU.
Table runs_table(const PlanView& view);
Table frontier_table(const PlanView& view);

/// The interval of what a choice (or one clock for all) is said to cost; nullopt where the figures
/// are measured, or come from a pack file.
std::optional<plan::Spread> spread_of(const PlanView& view, const plan::Choice& choice,
                                      const plan::Evaluation& value);
std::optional<plan::Spread> spread_of(const PlanView& view, const plan::Uniform& uniform);
/// Adds `time_s_ci95`, `energy_j_ci95` and `energy_saved_ci95`.
void set_spread(Value& value, const std::optional<plan::Spread>& spread);
/// One sentence for people; empty where there is no interval.
std::string spread_text(const PlanView& view, const std::optional<plan::Spread>& spread);

}  // namespace ergon::cli
