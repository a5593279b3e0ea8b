// ergon plan: traces or packs to a clock policy under a bound, with a certified gap.
#include "registry.hpp"

namespace ergon::cli {

const Command& plan_command() {
  static const Command command = {
      .name = "plan",
      .group = "Act",
      .summary = "traces or packs -> clock policy under a bound",
      .description =
          "Chooses the clock of each pack so that the energy is least and the time stays within "
          "the bound. "
          "The answer holds the default clocks, the best single clock with the command that locks "
          "it, the "
          "plan, a certified lower bound and the gap between both. An infeasible bound is exit 5 "
          "and names "
          "the nearest feasible one.",
      .operands = {{.name = "INPUT",
                    .help = "a trace, pack files, or (with --measured) nothing",
                    .required = false,
                    .many = true,
                    .path = true}},
      .flags =
          {
              {.name = "max-slowdown",
               .kind = Kind::kPercent,
               .value = "PERCENT",
               .help = "longest time, over the time at default clocks",
               .group = "Bound",
               .example = "3%"},
              {.name = "deadline",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "longest time",
               .group = "Bound",
               .example = "12ms"},
              {.name = "frontier",
               .help = "least energy at 20 or more deadlines",
               .group = "Bound"},
              {.name = "device",
               .kind = Kind::kText,
               .value = "NAME",
               .help = "the GPU; by default the one that the trace names",
               .group = "Models",
               .example = "h100"},
              {.name = "measured",
               .kind = Kind::kPath,
               .value = "CSV",
               .help = "measured runs: pack,clock_hz,time_s,energy_j; no model is used",
               .group = "Models"},
              {.name = "trace-clock",
               .kind = Kind::kClock,
               .value = "CLOCK",
               .help = "the clock that the trace was recorded at",
               .group = "Models",
               .example = "1410MHz"},
              {.name = "switch-latency",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "how long a change of the clock takes, instead of the device file's",
               .group = "Switching",
               .example = "25ms"},
              {.name = "switch-energy",
               .kind = Kind::kEnergy,
               .value = "ENERGY",
               .help = "what a change of the clock costs",
               .group = "Switching",
               .example = "0.5J"},
              {.name = "min-run",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "shortest time between two changes of a GPU's clock",
               .group = "Switching",
               .example = "250ms"},
          },
      .exclusive = {{.flags = {"max-slowdown", "deadline"},
                     .one_needed = true,
                     .or_these = {"frontier"}}},
      .examples = {{"ergon plan trace.json.gz --max-slowdown 3% -o policy.json",
                    "at most 3 % slower"},
                   {"ergon plan trace.json.gz --device h100 --deadline 12ms -o policy.json",
                    "within 12 ms a step"},
                   {"ergon plan job.packs.json --frontier --export html:plan.html",
                    "the whole frontier, as a page"},
                   {"ergon plan rank0.packs.json rank1.packs.json --max-slowdown 3% -o policy.json",
                    "the reduce step of many ranks"},
                   {"ergon plan --measured runs.csv --max-slowdown 5% -f json",
                    "from measured runs alone"}},
      .artefact = "the policy file (ergon.policy/1)",
  };
  return command;
}

}  // namespace ergon::cli
