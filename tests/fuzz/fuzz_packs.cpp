// Any bytes as a pack file: refused, or read, written back alike, and planned if small.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ergon/plan.hpp"

// libFuzzer gives the name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ergon::plan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto problem = read_packs(text);
  if (!problem) {
    ERGON_CHECK(!problem.error().message.empty(), "a refusal says why");
    return 0;
  }
  const std::string written = write_packs(*problem);
  const auto again = read_packs(written);
  ERGON_CHECK(again && write_packs(*again) == written, "what is written reads back alike");
  const Choice top = default_choice(*problem);
  const Evaluation value = evaluate(*problem, top);
  ERGON_CHECK(std::isfinite(value.time_s) && std::isfinite(value.energy_j), "figures stay finite");
  double choices = 1;
  for (const Pack& p : problem->packs) choices *= static_cast<double>(p.options.size());
  if (problem->packs.size() > 12 || choices > 1e5 || problem->gpus.size() > 4) return 0;
  const auto plan = solve(*problem, 1.05 * value.time_s);
  if (!plan) return 0;
  const Evaluation planned = evaluate(*problem, plan->choice);
  ERGON_CHECK(planned.runs_long_enough && planned.time_s <= 1.05 * value.time_s * (1 + 1e-9),
              "a plan keeps its bounds");
  ERGON_CHECK(plan->lower_bound_j <= planned.energy_j, "no plan is below the bound");
  return 0;
}
