// The best of all choices of a small problem, for tests.
#pragma once
#include <algorithm>

#include "evaluate.hpp"
#include "numbers.hpp"
#include "random_problem.hpp"

namespace ergon::plan::testing {

struct Extremes {
  double energy_j = kInfinity;   ///< least energy of the choices in time
  double fastest_s = kInfinity;  ///< of all choices
  double slowest_s = 0;
};

inline Extremes extremes(const Problem& problem, double deadline_s) {
  Extremes best;
  for_each_choice(problem, [&](const Choice& choice) {
    const Evaluation e = evaluate(problem, choice);
    if (!e.runs_long_enough) return;
    best.fastest_s = std::min(best.fastest_s, e.time_s);
    best.slowest_s = std::max(best.slowest_s, e.time_s);
    if (e.time_s <= latest_end(deadline_s)) best.energy_j = std::min(best.energy_j, e.energy_j);
  });
  return best;
}

}  // namespace ergon::plan::testing
