// What the answer of `plan` claims, against what was proven.
#include <gtest/gtest.h>

#include "planning.hpp"

namespace ergon::cli {
namespace {

std::string headline_with_bound(double lower_bound_j) {
  plan::Problem problem;
  problem.gpus = {{.id = "0", .idle_power_w = 1}};
  problem.packs = {{.id = "a",
                    .gpu = 0,
                    .after = {},
                    .options = {{.clock_hz = 1e9, .time_s = 1, .energy_j = 10}}}};
  plan::Outcome outcome;
  outcome.default_choice = outcome.plan.choice = {0};
  outcome.default_value = outcome.plan.value = plan::evaluate(problem, outcome.plan.choice);
  outcome.plan.lower_bound_j = lower_bound_j;
  outcome.deadline_s = 1;
  PlanView view;
  view.problem = &problem;
  view.outcome = &outcome;
  return plan_answer(view, false).headline;
}

TEST(PlanAnswer, ThatNothingCanBeSavedIsSaidWhereItIsProven) {
  EXPECT_NE(headline_with_bound(10).find("Nothing can be saved"), std::string::npos);
  EXPECT_NE(headline_with_bound(5).find("No plan that saves energy was found"), std::string::npos);
}

}  // namespace
}  // namespace ergon::cli
