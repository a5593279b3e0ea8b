// The errors of every optimiser when no plan meets the deadline.
#include "infeasible.hpp"

#include <cstdio>

namespace ergon::plan {
namespace {

// Digits enough for the figure to be used as the next deadline (feasible has a tolerance of 1e-9).
std::string seconds(double s) {
  char text[40];
  // In the unit that people would take: 12.5 ms.
  if (s >= 1 || s <= 0)
    std::snprintf(text, sizeof text, "%.12g s", s);
  else if (s >= 1e-3)
    std::snprintf(text, sizeof text, "%.12g ms", s * 1e3);
  else
    std::snprintf(text, sizeof text, "%.12g us", s * 1e6);
  return text;
}

}  // namespace

Error too_early(double deadline_s, const Evaluation& nearest, bool proven) {
  const std::string least = seconds(nearest.time_s);
  return Error{
      .code = Errc::kInfeasible,
      .message = (proven ? "no plan ends within " : "found no plan that ends within ") +
                 seconds(deadline_s),
      .hint = proven ? "the fastest plan takes " + least + ": allow at least that"
                     : "a plan of " + least + " is known, though not proven to be the fastest: " +
                           "allow at least that",
      .figures = {{"nearest.time_s", nearest.time_s}, {"nearest.energy_j", nearest.energy_j}}};
}

Error no_plan_at_all(bool proven) {
  return Error{.code = Errc::kInfeasible,
               .message = std::string(proven ? "no plan keeps" : "found no plan that keeps") +
                          " every run of one clock as long as switch.min_run_s",
               .hint = "give the packs a common clock, or lower switch.min_run_s"};
}

}  // namespace ergon::plan
