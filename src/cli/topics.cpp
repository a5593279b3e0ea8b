// The short pages of `ergon explain`. They speak of what the commands print, in the same words.
#include "topics.hpp"

#include <array>
#include <vector>

namespace ergon::cli {
namespace {

constexpr std::string_view kSlack = R"(SLACK: how much later an operation could end

Total slack   how much later a node of the graph could end without moving the end of the span (of
              the step, with --steps). The latest end that keeps the span, minus the end.
Free slack    how much later it could end without moving any node that waits for it.

A node on the critical path has no total slack: every nanosecond more lengthens the run. A node
with slack may be slower at no cost in time, and a slower clock often costs less energy. Slack is
shared: two kernels in a row with 10 ms of total slack have 10 ms together, not each.

A lower clock slows a whole GPU, not one kernel, so slack of single kernels is a hint, not a plan.
'ergon plan' decides for time windows (see 'ergon explain packs') and re-times the whole graph.

  ergon graph trace.json.gz --slack --top 20
)";

constexpr std::string_view kPath =
    R"(CRITICAL PATH: the chain of operations that decides how long the run takes

From the last end backwards: each operation started because something before it had ended, and
the chain of those decisive waits leads back to the first start. Only what lies on it can make the
run shorter. Its time has four parts, which sum to the span:

  work         an operation runs, on the GPU or on the host
  latency      a launch takes effect on the GPU, or a wait returns on the host: nobody works
  host gap     a host thread runs no operation and no call that the trace records: Python, or
               profiling off (Python frames in a trace are counted, and not taken as work)
  unexplained  a start later than every rule of the graph allows; it stays where it was seen

In the tables 'host' holds host operations and host gaps. 'api' is the host's part of a runtime or
driver call, 'sync' the return of a blocking one.

  ergon graph trace.json.gz --export html:graph.html      the path as a row of the timeline
)";

constexpr std::string_view kAnchor = R"(ANCHOR: an operation that waits for nothing in the trace

Re-timing moves every operation that has a predecessor. One without, such as the first operation
of a host thread, or GPU work whose launch was not recorded, has nothing to move it: it is held at
the start that the trace shows, and called an anchor. There is at most one a thread, and one a
stream without launches. Many anchors mean that a what-if moves little: the trace says too little.
)";

constexpr std::string_view kIdle =
    R"(IDLE: time in which a GPU runs no kernel, copy or memset, by what it waited for

The cause of a gap is the rule that decided the start of the operation that ends it:

  launch      the launch came late: the host was busy with other work, or the GPU between two
              operations
  sync        the host had waited for the GPU and had not launched ahead, or another stream's
              event was waited for
  copy        a copy on another device
  collective  the other ranks of a collective
  host        the host was idle itself for most of the gap; the first and the last gap too
  unknown     no rule explains the start

'all' is their sum. Idle time costs idle power, and no clock makes it shorter: what helps is to
launch earlier (CUDA graphs, fewer synchronisations, faster host code).
)";

constexpr std::string_view kWhatIf = R"(WHAT-IF: re-time the run with other durations

  ergon graph trace.json.gz --what-if 'kernel=~gemm:x0.5'

SUBJECT=~REGEX:CHANGE, where SUBJECT is kernel (collectives too), copy (memsets too) or host
(host operations and API calls), REGEX an extended regular expression found anywhere in the name,
and CHANGE one of

  x0.5     times that factor
  +10us    so much longer each         ns us ms s
  -1ms     so much shorter each, never below 0

Several rules are applied one after another. Everything that waits for a changed operation moves
with it. Host gaps are no operation: rules of host=~ leave them as they are.
)";

constexpr std::string_view kPolicy = R"(POLICY: what to do with policy.json

'ergon plan ... -o policy.json' writes the clock of each pack (docs/formats/policy.md). No command
of this version applies it: it is the input of a later 'ergon govern', or of a scheduler of your
own. What works today is the best single clock: the answer prints the nvidia-smi or amd-smi
command that locks it. Undo it with 'nvidia-smi --reset-gpu-clocks' (or 'amd-smi reset --clocks').
)";

constexpr std::string_view kPacks = R"(PACKS: the time windows that get one clock

A GPU has one core clock for everything that runs on it, and changing it takes from a fraction of
a millisecond to hundreds. So a clock is not chosen for a kernel, but for a pack: a time window of
one GPU. Packs of a GPU follow one another; a pack may wait for packs of other GPUs.

Cuts lie where the host waits, where a collective starts, where its result is waited for, and
where the response to the clock changes. Packs may be short. The planner joins packs in a row into
runs of one clock, and holds each run longer than a multiple of the switch latency (min_run_s).

A pack has options: a clock, the time and the energy of the pack at that clock. They come from
measured runs (--measured), else from a model: see 'ergon explain coverage'.

  ergon pack rank0.json.gz --device h100 -o rank0.packs.json     on each node
  ergon plan rank*.packs.json --max-slowdown 3% -o policy.json   once
)";

constexpr std::string_view kGap = R"(GAP: how far from optimal a plan can be

A plan comes with a lower bound: no assignment of the listed clocks to the packs that meets the
deadline, switch costs included, uses less energy than lower_bound_j. The gap is

    gap = (plan.energy_j - lower_bound_j) / lower_bound_j

A gap of 0 means that the plan is proven optimal. A gap of 1 % means that a better plan, if there
is one, saves at most another 1 %. The gap speaks of the search alone: whether the times and
energies of the packs are right is another question, and their origins answer it.

The finest bound (finest_bound_j, with a trace) is the same bound with one pack a kernel and free
switching: what a GPU with an infinitely agile clock could reach. Where it is far below the plan,
the switch latency is what costs, not the planner.
)";

constexpr std::string_view kCoverage =
    R"(COVERAGE: the share of time or energy that a statement covers

Coverage is always named with its base. In a plan it is the share of GPU time by where the
response to the clock comes from:

  measured   runs at several clocks (--measured)
  shapes     the sizes of the launching operator's tensors, priced with the device file
  class      the kernel's name alone: its class (GEMM, copy, normalisation, ...) is known
  unknown    nothing: time is taken to grow as 1/clock, and the pack keeps the default clock

In a graph, edges are counted by how they are known:

  recorded   the trace says so (a correlation id, a synchronisation record)
  inferred   the trace shows it, with evidence (a wait that ends when a stream's work ends)
  assumed    a rule of the platform, without evidence in this trace

Unknown stays unknown: it is null in JSON, never 0, and an estimate is never called a measurement.
)";

constexpr std::string_view kUnits = R"(UNITS: values carry them

On the command line a number has a unit; a bare number is an error (exit 2).

  percent    3%  0.5%
  time       12ms  0.012s                 ns us ms s min h
  clock      1410MHz  1.41GHz             Hz kHz MHz GHz
  size       200MB  1GiB                  B kB MB GB TB KiB MiB GiB TiB
  energy     0.5J  500mJ                  uJ mJ J kJ MJ Wh kWh
  power      300W  0.3kW                  mW W kW
  time range 10ms:25ms  10ms:  :25ms      from the start of the trace

kB is 1000 bytes and KiB is 1024. Units of energy and power are case-sensitive (mJ, MJ).

In files and JSON the unit stands in the key, in base SI: time_s, energy_j, power_w, clock_hz,
bytes. Only keys that end in _ns are nanoseconds, and those are whole numbers.
)";

constexpr std::string_view kExitCodes = R"(EXIT CODES

   0  done
   1  the answer is "no" (--check-replay found a difference, a device file does not pass)
   2  usage: an unknown flag, command or name, a number without a unit
   3  bad input: a file that is missing, damaged beyond use, or of another kind
   4  device or permission: this machine or build cannot do it
   5  infeasible: no plan meets the bound; the error names the nearest feasible one
  70  a bug in ergon, or the machine is out of memory

stderr says 'error: what and why' and 'hint: what next'. With -f json stdout holds the same as one
document: {"schema": "ergon.error/1", "code", "message", "hint", and "offset" or "line"}.
A reader that goes away (ergon ... | head) is no error.
)";

constexpr std::string_view kFormats = R"(FORMATS: how an answer is written

-f FORMAT writes the answer to stdout, --export FORMAT:FILE to a file; --export may be repeated,
so one run gives a table, a page and a JSON document.

  table        for people: the answer in a sentence, then tables (default of -f)
  json         one document; the contract for programs: see 'ergon schema'
  jsonl        one line a table row, after one line with everything else
  csv          the tables; of several, each starts with a line '# title' and ends with an empty
               line. Names are whole, numbers in their shortest form, unknown is empty
  md           the tables as Markdown
  html         one offline page: timeline, frontier, tables; --export only
  openmetrics  the figures as OpenMetrics text, for Prometheus; --export only
  perfetto     the trace with the answer's tracks, for ui.perfetto.dev; some commands

-o FILE is something else: what the command makes (a policy, a pack file). Warnings and progress
go to stderr, so stdout is always the answer alone.

Every JSON answer has schema, ergon_version, inputs, warnings, skipped and origin_shares; unknown
is null. More fields may appear; none is renamed without a new schema version.
)";

constexpr std::string_view kMeasure =
    R"(MEASURE: how many joules a program took, and how well that is known

Two estimators beside the program: the energy counter, aligned to its ticks, and the trapezoid
over the renewals of the power value. The counter is told unless it is known far worse; where the
two contradict each other the interval holds both. Unknown is unknown, with the reason, never 0.

  interval      95 %, of the energy as the sensor sees it: edges of the window, what happened
                between readings, resolution, gaps. The board's own gain (up to 9 %) is the same
                for every run on that board and stands apart (supply_energy_j_ci95).
  coverage      the share of the window's time that readings account for
  above idle    less idle power times time (--idle 5s reads it before and after)
  held back by  throttle reasons seen during the run: a power cap, heat
  regions       parts of the program that it names itself (ergon.h, Python's ergon.region) or that
                are NVTX ranges. A region too short for the sensor is "cannot be known from this
                sensor", with the window that would do.

A window starts at an observed tick and is read for two more after its end (up to half a second);
--no-align leaves that out. The program's streams and exit status are its own.

  ergon measure -r 5 --warmup 1 --idle 5s -- ./train
  ergon measure --gpu sim:a100 -- ergon-simload phases.json
)";

constexpr std::array kTopics = {
    Topic{"measure", "joules of a program, and how well they are known", kMeasure,
          "energy joules estimator estimators above-idle"},
    Topic{"critical-path", "the chain that decides the time: work, latency, host gaps", kPath,
          "path work latency host-gap host-gaps gaps unexplained host"},
    Topic{"anchor", "an operation that waits for nothing in the trace", kAnchor, "anchors"},
    Topic{"idle", "what a GPU waited for when it ran nothing", kIdle,
          "launch sync collective cause"},
    Topic{"what-if", "re-time the run with other durations", kWhatIf, "whatif"},
    Topic{"slack", "how much later an operation could end", kSlack},
    Topic{"packs", "the time windows that get one clock", kPacks},
    Topic{"gap", "how far from optimal a plan can be", kGap,
          "bound lower-bound finest-bound optimal"},
    Topic{"policy", "what to do with the file that plan writes", kPolicy, "lock apply govern"},
    Topic{"coverage", "the share of time or energy that a statement covers", kCoverage,
          "inferred assumed measured shapes class unknown origin"},
    Topic{"units", "values carry them; the accepted spellings", kUnits},
    Topic{"exit-codes", "what the exit status says", kExitCodes},
    Topic{"formats", "how an answer is written", kFormats},
};

}  // namespace

std::span<const Topic> topics() {
  // The page on measuring stands first, those that belong to it after it.
  static const std::vector<Topic> all = [] {
    std::vector<Topic> list = {kTopics.front()};
    const auto more = measuring_topics();
    list.insert(list.end(), more.begin(), more.end());
    list.insert(list.end(), kTopics.begin() + 1, kTopics.end());
    return list;
  }();
  return all;
}

}  // namespace ergon::cli
