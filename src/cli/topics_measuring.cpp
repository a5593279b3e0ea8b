// The pages of `ergon explain` about measuring and sweeping.
#include "topics.hpp"

namespace ergon::cli {

namespace {

constexpr std::string_view kSensor = R"(SENSOR: what a board tells of its own power, and how often

Two figures, each with its own rhythm:

  power           renewed every 20 to 100 ms. A value is the mean over a window before its
                  renewal: as long as the period on some boards, a quarter of it on an A100 or
                  H100 (25 ms of every 100 ms: the rest is not seen), a second where the driver
                  gives an average
  energy counter  joules since the driver was loaded; moves in ticks of 20 to 100 ms

'ergon doctor' measures the period of both, and the averaging window where the load steps while
it watches: on a busy board, or with --load COMMAND. It compares the power values beside each
step with the energy counter. On a quiet board the window cannot be seen: it is unknown (null),
and what is published of boards of its kind stands beside it, labelled so.

  ergon doctor --load './train'
  ergon doctor --gpu sim:a100 --load 'ergon-simload phases.json'
)";

constexpr std::string_view kInterval =
    R"(INTERVAL: what the figure behind the plus-minus sign covers

95 %, of the energy as the sensor sees it: when the edges of the window lie between two ticks,
what happened between readings, resolution, gaps. 'doubts' in the JSON lists each part.

Not in it is the gain of the board's sensor: up to 9 % between boards (published), the same for
every run on one board, so it cancels when runs on one board are compared. supply_energy_j_ci95
holds it too: compare that with a wall meter or another board. The simulated GPU states its
gain, so there the interval holds it.

Over -r N runs it is Student's t of their scatter, and at least what each run's own interval
says. CSV has energy_low_j and energy_high_j, JSON energy_j_ci95: [low, high]. A single time has
none.
)";

constexpr std::string_view kRegions = R"(REGIONS: energy of parts of a program

  C, C++   #include <ergon.h>, -lergon_region:  ergon_region_begin("step"), ergon_region_end(r)
  Python   import ergon;  with ergon.region("step"): ...
  NVTX     ranges of any program are regions too (--no-nvtx leaves them out)

GPU work is asynchronous: synchronise at both ends, or the region holds the launching and not
the work. A region long enough for the sensor is measured. Many short passages are told by the
share of each tick that they fill ('fitted'), where that share differs from tick to tick. Else
the answer is "cannot be known from this sensor", with the window that would do.

  ergon measure -- python train.py
)";

constexpr std::string_view kRecorded = R"(RECORDED: stored readings in the place of a GPU

--gpu recorded:FILE plays a stored measurement in its own time: FILE is a run file of 'ergon
measure -o FILE' (also of one that was killed), or the canonical CSV of 'ergon import LOG -o
FILE'. Its figures are labelled "recorded", not "measured"; a recorded simulation stays
"simulated". Clocks cannot be set.

  ergon measure --duration 30s -o night.db
  ergon measure --gpu recorded:night.db --duration 10s
)";

constexpr std::string_view kSim = R"(SIM: a simulated GPU behind the driver's own interface

--gpu sim:MODEL runs any command on it, and the wrapped program sees it too. Models: v100 a100
h100 h200 l4 rtx4090 (libnvidia-ml.so.1) and mi300x (libamd_smi.so). Options, after commas:

  gpus=2           so many boards
  seed=7           of noise, gain and phases
  gain=1.05        of the sensors
  fault=NAME       no-permission, no-energy-counter, counter-frozen, counter-reset, gpu-lost,
                   mig, slow-calls, lock-not-held, clock-drift, power-cap, hot, ...; A+B for
                   both, @3s for since 3 s

Its workload is ergon-simload PHASES.json. Processes with the same ERGON_SIM_STATE=DIR share one
machine. Its figures are labelled "simulated". All of it: docs/formats/simulated_gpu.md.

  ergon measure --gpu sim:a100,seed=7 -- ergon-simload phases.json
)";

constexpr std::string_view kSweep = R"(SWEEP: which clock is best for a program

'ergon sweep' locks each combination of core clocks (--sm), memory clocks (--mem), power limits
and parameters (-L batch=16,32) in random order, runs the program, and gives everything back.

  baseline    every control left to the driver: measured first, after every few points, and
              last. Its spread says how far the machine drifted; where repeats differ by more
              than their intervals allow, or ran at other clocks, a warning says so
  a point     counts only if it proves itself: the clock was reached and held, nothing
              throttled, the temperature was steady, and the run spans enough refresh periods of
              the sensor. Else it stays visible with its reason and never wins
  too short   where no setting makes the run long enough, the sweep ends after the first baseline
  best        least energy among the points that count; "at the edge" means that a better one
              may lie outside of what was swept

  ergon sweep --sm all --dry-run --run-time 20s -- ./train      what it would take
  ergon sweep --sm 510MHz:1410MHz:8 -o sweep.db -- ./train
  ergon sweep ... -o sweep.db --resume -- ./train               after an interruption
  ergon study sweep.db                                          more about the result

One tool at a time may change a GPU's clocks, whoever runs it; the second is told who holds
them.
)";

constexpr std::string_view kRestore = R"(RESTORE: clocks and limits are given back, whatever happens

Before its first change a command writes a lease ($XDG_STATE_HOME/ergon): what it changes, and
the power limit before. It gives back when it ends, at SIGINT and SIGTERM at once. A watchdog
process gives back within a second when the command is killed. Where that is killed too, every
later 'ergon' command says so, and 'ergon restore' gives back what the lease says.

Locked clocks cannot be read from the driver: giving a clock back means that the driver chooses
it again, a power limit goes back to what it was. After a restart of the machine there is
nothing to give back: the driver has forgotten. 'ergon restore --gpu 0 --defaults' resets a GPU,
whoever changed it.
)";

constexpr Topic kMeasuringTopics[] = {
    {"sensor", "how often a board tells its power, and over how long it averages", kSensor,
     "sensors averaging window averaging-window refresh period doctor tick counter load"},
    {"interval", "what the figure behind the plus-minus sign covers", kInterval,
     "intervals uncertainty ci95 confidence gain doubts"},
    {"regions", "energy of parts of a program", kRegions, "region nvtx phases"},
    {"recorded", "stored readings in the place of a GPU", kRecorded, "replay recording play"},
    {"sim", "a simulated GPU behind the driver's own interface", kSim,
     "simulated simulator simload fault faults gpus gpu"},
    {"sweep", "which clock is best for a program", kSweep,
     "baseline drift dry-run resume edge counts valid"},
    {"restore", "clocks and limits are given back, whatever happens", kRestore,
     "lease watchdog locked"},
};

}  // namespace

std::span<const Topic> measuring_topics() { return kMeasuringTopics; }

}  // namespace ergon::cli
