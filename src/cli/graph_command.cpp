// ergon graph: the execution graph of traces: critical path, slack, idle gaps, what-if.
#include "registry.hpp"

namespace ergon::cli {

const Command& graph_command() {
  static const Command command = {
      .name = "graph",
      .group = "Understand",
      .summary = "execution graph of a trace: critical path, slack, what-if",
      .description =
          "Builds the dependency graph of one or more trace files (the ranks of one job), re-times "
          "it, and "
          "says where the time goes. Each edge is recorded, inferred or assumed, and the answer "
          "counts them. "
          "With --check-replay the exit status is 1 where re-timing with all factors 1 does not "
          "give the "
          "trace back to the nanosecond.",
      .operands = {{.name = "FILE",
                    .help = "a trace (Kineto JSON, plain, .gz or .zst); '-' is stdin",
                    .many = true,
                    .path = true}},
      .flags =
          {
              {.name = "slack", .help = "list how much later each node could end"},
              {.name = "top",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "rows of the lists that are shown",
               .default_text = "50",
               .minimum = 1},
              {.name = "what-if",
               .kind = Kind::kText,
               .value = "RULE",
               .help =
                   "re-time with changed durations: SUBJECT=~REGEX:xFACTOR; kernel, copy or host",
               .example = "kernel=~gemm:x0.5",
               .repeatable = true},
              {.name = "check-replay",
               .help = "prove that re-timing gives the trace back; exit 1 if not"},
              {.name = "steps",
               .kind = Kind::kChoiceOrInteger,
               .value = "STEPS",
               .help = "the repeating step to look at",
               .default_text = "all",
               .group = "Selection",
               .choices = {"auto", "all"},
               .minimum = 0},
              {.name = "gpu",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "only GPU work of this device of the trace",
               .group = "Selection",
               .example = "0",
               .minimum = 0},
              {.name = "time-range",
               .kind = Kind::kTimeRange,
               .value = "A:B",
               .help = "only what the host starts from A to B after the first event",
               .group = "Selection",
               .example = "10ms:25ms"},
              {.name = "timings",
               .help = "say how long reading, building and re-timing took",
               .group = "Other"},
          },
      .examples = {{"ergon graph trace.json.gz", "summary: counts, critical path, idle gaps"},
                   {"ergon graph trace.json.gz --slack --top 20",
                    "what could run slower at no cost"},
                   {"ergon graph trace.json --what-if 'kernel=~gemm:x0.5'",
                    "if every GEMM took half as long"},
                   {"ergon graph trace.json --check-replay -f json",
                    "0 ns difference, node by node"},
                   {"ergon graph trace.json --export perfetto:path.json",
                    "the trace with critical path and slack, for Perfetto"},
                   {"ergon graph rank0.json rank1.json --gpu 0 --time-range 10ms:25ms",
                    "a part of a job of two ranks"}},
      .exports = {"perfetto"},
  };
  return command;
}

}  // namespace ergon::cli
