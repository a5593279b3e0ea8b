// ergon pack: one trace to its packs and their options, the map step of many ranks.
#include "registry.hpp"

namespace ergon::cli {

const Command& pack_command() {
  static const Command command = {
      .name = "pack",
      .group = "Act",
      .summary = "one trace -> its packs (the map step of many ranks)",
      .description =
          "Cuts the trace of one rank into packs (time windows that get one clock) and prices each "
          "pack at "
          "every clock of the device. Run it where the trace lies; 'ergon plan' reads the small "
          "pack files.",
      .operands = {{.name = "TRACE", .help = "the trace of one rank; '-' is stdin", .path = true}},
      .flags =
          {
              {.name = "device",
               .kind = Kind::kText,
               .value = "NAME",
               .help = "the GPU that the trace was recorded on",
               .example = "h100"},
              {.name = "switch-latency",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "how long a change of the clock takes, instead of the device file's",
               .example = "25ms"},
              {.name = "switch-energy",
               .kind = Kind::kEnergy,
               .value = "ENERGY",
               .help = "what a change of the clock costs",
               .example = "0.5J"},
              {.name = "trace-clock",
               .kind = Kind::kClock,
               .value = "CLOCK",
               .help = "the clock that the trace was recorded at",
               .example = "1410MHz"},
          },
      .examples = {{"ergon pack rank0.json.gz --device h100 -o rank0.packs.json",
                    "packs of one rank"},
                   {"ergon pack trace.json --device a100 --trace-clock 1410MHz -o job.packs.json",
                    "the clock of the recording is known"},
                   {"ergon pack trace.json --device h100 -o - --switch-latency 1ms",
                    "the pack file on stdout"}},
      .artefact = "the pack file (ergon.packs/1)",
  };
  return command;
}

}  // namespace ergon::cli
