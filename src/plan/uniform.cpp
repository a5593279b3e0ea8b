// The plans people use today: every pack at its highest clock, or the whole step at one clock.
#include <algorithm>
#include <map>
#include <vector>

#include "ergon/plan.hpp"
#include "evaluate.hpp"

namespace ergon::plan {

Choice default_choice(const Problem& problem) {
  Choice choice(problem.packs.size());
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const auto& options = problem.packs[i].options;
    const auto top =
        std::max_element(options.begin(), options.end(),
                         [](const Option& a, const Option& b) { return a.clock_hz < b.clock_hz; });
    choice[i] = static_cast<std::uint32_t>(top - options.begin());
  }
  return choice;
}

std::optional<double> single_clock(const Problem& problem, std::span<const std::uint32_t> choice) {
  std::optional<double> clock;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const double hz = problem.packs[i].options[choice[i]].clock_hz;
    if (clock && *clock != hz) return std::nullopt;
    clock = hz;
  }
  return clock;
}

std::optional<Uniform> best_uniform(const Problem& problem, double deadline_s) {
  // Clock -> how many packs list it. An ordered map: ties go to the lower clock on every machine.
  std::map<double, std::size_t> packs_with;
  for (const Pack& p : problem.packs) {
    for (const Option& o : p.options) ++packs_with[o.clock_hz];
  }
  std::optional<Uniform> best;
  for (const auto& [clock_hz, count] : packs_with) {
    if (count != problem.packs.size()) continue;
    Uniform u{.clock_hz = clock_hz, .choice = Choice(problem.packs.size()), .value = {}};
    for (std::size_t i = 0; i < u.choice.size(); ++i) {
      const auto& options = problem.packs[i].options;
      std::uint32_t k = 0;
      while (options[k].clock_hz != clock_hz) ++k;
      u.choice[i] = k;
    }
    u.value = evaluate(problem, u.choice);
    if (u.value.time_s > latest_end(deadline_s)) continue;
    if (!best || u.value.energy_j < best->value.energy_j) best = std::move(u);
  }
  return best;
}

}  // namespace ergon::plan
