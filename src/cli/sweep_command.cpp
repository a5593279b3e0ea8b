// ergon sweep: a program over clocks x memory clocks x power limits x parameters.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "gpu_input.hpp"
#include "planning.hpp"
#include "registry.hpp"
#include "sweep_parts.hpp"

namespace ergon::cli {
namespace fs = std::filesystem;
namespace {

Nanos sweep_clock_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return Nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::string sweep_utc_text() {
  const std::time_t seconds = sweep_clock_ns(CLOCK_REALTIME) / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string about_seconds(double seconds) {
  if (seconds < 100) return std::to_string(std::lround(seconds)) + " s";
  return std::to_string(std::lround(seconds / 60)) + " min";
}

// One sweep from its flags to its answer.
class Session {
 public:
  explicit Session(Context& context) : context_(context) {}

  Result<int> run() {
    if (context_.given("run-time") && !context_.enabled("dry-run"))
      return fail(Errc::kInvalidArgument, "--run-time means something with --dry-run only");
    ERGON_TRY(opened_, open_gpus(context_, default_selection()));
    ERGON_TRY_STATUS(plan());
    if (context_.enabled("dry-run")) return dry_run();
    context_.answer_to_stderr();
    ERGON_TRY_STATUS(open_file());
    std::optional<gpu::Lease> lease;
    if (controls()) {
      ERGON_TRY_STATUS(check_control());
      ERGON_TRY(lease, take_lease(context_, opened_, "sweep"));
      lease_ = &*lease;
    }
    const auto outcome = measure_all();
    give_back();
    lease_ = nullptr;
    context_.end_stage();
    if (!outcome) return fail(outcome.error());
    ERGON_TRY_STATUS(tell());
    if (status_ != 0) return status_;
    return std::ranges::any_of(answer_.rows, &SweepRow::valid) ? 0 : 1;
  }

 private:
  std::string default_selection() const {
    const auto& around = context_.surroundings();
    const auto visible = around.variable ? around.variable("CUDA_VISIBLE_DEVICES") : std::nullopt;
    return visible && !visible->empty() ? "cuda" : "all";
  }

  Status plan() {
    const auto gpus = opened_.gpus();
    gpu::Gpu& first = *gpus.front();
    const auto listed = [&](const char* flag, gpu::Domain domain) -> Result<std::vector<Hertz>> {
      const auto text = context_.text(flag);
      if (!text || *text == "default") return std::vector<Hertz>{};
      const auto supported = first.supported_clocks(domain);
      return run::clocks_of(
          *text, supported ? std::span<const Hertz>(*supported) : std::span<const Hertz>());
    };
    ERGON_TRY(grid_.core, listed("sm", gpu::Domain::kCore));
    ERGON_TRY(grid_.memory, listed("mem", gpu::Domain::kMemory));
    if (const auto text = context_.text("power-limit")) {
      const auto limits = first.power_limits();
      ERGON_TRY(grid_.limits, run::limits_of(*text, limits ? limits->minimum : std::nullopt,
                                             limits ? limits->maximum : std::nullopt));
    }
    for (const auto& text : context_.texts("parameter")) {
      ERGON_TRY(auto axis, run::axis_of(text));
      if (!run::mentions(context_.program(), axis.name)) {
        return fail(Errc::kInvalidArgument, "no argument of the program holds {" + axis.name + "}",
                    "write it where the value belongs: -- PROGRAM --batch {batch}");
      }
      grid_.parameters.push_back(std::move(axis));
    }
    if (grid_.core.empty() && grid_.memory.empty() && grid_.limits.empty() &&
        grid_.parameters.empty()) {
      return fail(Errc::kInvalidArgument, "there is nothing to sweep over",
                  "give --sm, --mem, --power-limit or -L: ergon sweep --sm 510MHz:1410MHz:8 -- "
                  "PROGRAM");
    }
    const auto every = static_cast<int>(*context_.integer("baseline-every"));
    for (auto& point : run::plan_sweep(grid_, context_.seed(), every)) {
      SweepRow row;
      row.setting = std::move(point.setting);
      row.baseline = point.baseline;
      answer_.rows.push_back(std::move(row));
    }
    answer_.program = context_.program();
    answer_.repeats = static_cast<int>(*context_.integer("runs"));
    for (const gpu::Gpu* gpu : gpus) answer_.gpus.push_back(gpu->identity());
    answer_.simulated = answer_.gpus.front().simulated;
    return {};
  }

  run::SweepOptions options() {
    run::SweepOptions options;
    options.program.words = context_.program();
    options.program.environment = child_environment(context_.surroundings(), opened_.environment);
    options.repeats = static_cast<int>(*context_.integer("runs"));
    options.settle_ns = std::llround(*context_.number("settle") * 1e9);
    options.align = !context_.enabled("no-align");
    options.sets_core = !grid_.core.empty();
    options.sets_memory = !grid_.memory.empty();
    options.requirements.temperature_band_c =
        static_cast<double>(*context_.integer("temperature-band"));
    options.requirements.least_periods = static_cast<double>(*context_.integer("least-periods"));
    options.requirements.clock_tolerance = *context_.number("tolerance");
    options.keep_going = [this] { return goes_on(); };
    options.say = [this](const std::string& line) { context_.say(line); };
    return options;
  }

  // Clocks are given back at once: the program may take its time to end.
  bool goes_on() {
    while (const auto caught = signals_.next()) {
      if (signal_ != 0) continue;
      signal_ = caught->number;
      give_back();
    }
    return signal_ == 0;
  }

  void give_back() {
    if (lease_ == nullptr) return;
    for (const auto& entry : lease_->give_back()) {
      if (entry.failure) {
        context_.warn("not_given_back", "the " + entry.what + " of " + entry.uuid +
                                            " could not be given back: " + entry.failure->message +
                                            " ('ergon restore' tries again)");
      }
    }
  }

  Status open_file() {
    const auto path = context_.output();
    const bool resume = context_.enabled("resume");
    if (!path) {
      if (!resume) return {};
      return fail(Errc::kInvalidArgument, "--resume needs the file of the sweep", "add -o FILE");
    }
    answer_.file = *path;
    if (path->ends_with(".csv")) {
      if (resume)
        return fail(Errc::kInvalidArgument, "a sweep goes on from its run file, not from CSV",
                    "use -o sweep.sqlite, and --export csv:points.csv beside it");
      return {};
    }
    const std::int64_t offset = sweep_clock_ns(CLOCK_REALTIME) - sweep_clock_ns(CLOCK_MONOTONIC);
    if (resume && fs::exists(*path)) {
      ERGON_TRY(file_, SweepFile::resume(*path, answer_, answer_.rows, offset));
      return {};
    }
    if (fs::exists(*path)) {
      return fail(Errc::kIo, "there is a file '" + *path + "' already",
                  "--resume goes on with it; else give another name");
    }
    meter::Provenance provenance;
    provenance.kind = "sweep";
    provenance.ergon_version = context_.version();
    provenance.command_line = context_.command_line();
    provenance.created_utc = sweep_utc_text();
    ERGON_TRY(file_, SweepFile::create(*path, provenance, answer_, answer_.rows, offset));
    return file_->add_gpus(opened_.gpus());
  }

  // How many points at the end are the closing baselines, for which time is kept back.
  std::size_t closing() const {
    std::size_t count = 0;
    while (count < answer_.rows.size() && answer_.rows[answer_.rows.size() - 1 - count].baseline)
      ++count;
    return count;
  }

  bool controls() const {
    return !grid_.core.empty() || !grid_.memory.empty() || !grid_.limits.empty();
  }

  // Before the first run, not after the baseline. A board that cannot be asked may still take
  // clocks.
  Status check_control() {
    for (gpu::Gpu* gpu : opened_.gpus()) {
      auto allowed = gpu->probe_control();
      const bool refused =
          !allowed && (allowed.error().code == Errc::kPermission || gpu->identity().recorded);
      if (refused) return allowed;
    }
    return {};
  }

  Status measure_all() {
    run::Sweep sweep(opened_.gpus(), lease_, options());
    const double start = seconds_now();
    const auto budget = context_.number("budget");
    const std::size_t last = answer_.rows.size() - closing();
    double longest = 0;
    for (std::size_t i = 0; i < answer_.rows.size() && goes_on(); ++i) {
      SweepRow& row = answer_.rows[i];
      if (row.state != "planned") continue;
      if (budget && i < last && longest > 0) {
        const double kept_back = longest * static_cast<double>(closing());
        if (seconds_now() - start + longest + kept_back > *budget) {
          answer_.stopped = "the budget is used up";
          continue;
        }
      }
      context_.stage("point " + std::to_string(i + 1) + " of " +
                     std::to_string(answer_.rows.size()) + ": " + run::to_string(row.setting));
      const double before = seconds_now();
      ERGON_TRY_STATUS(measure_one(sweep, row));
      longest = std::max(longest, seconds_now() - before);
      if (status_ != 0) break;
    }
    if (signal_ != 0) {
      answer_.stopped = "interrupted";
      status_ = 128 + signal_;
    }
    return {};
  }

  static double seconds_now() {
    return static_cast<double>(sweep_clock_ns(CLOCK_MONOTONIC)) * 1e-9;
  }

  Status measure_one(run::Sweep& sweep, SweepRow& row) {
    auto measured = sweep.measure(row.setting);
    if (!measured) {
      if (signal_ != 0) return {};
      const int failed = run::status_of_failed_start(measured.error());
      const bool not_started = !program_ran_ && (failed == 126 || failed == 127);
      if (!not_started) return fail(std::move(measured).error());
      context_.surroundings().err(report::error_text(measured.error(), false));
      status_ = failed;
      answer_.stopped = "the program cannot be started";
      return {};
    }
    program_ran_ = true;
    context_.program_runs();
    if (signal_ != 0) return {};  // half a point is none
    const run::PointResult& point = *measured;
    if (point.abnormal) {
      status_ = point.abnormal->status;
      answer_.stopped = "the program was killed by a signal";
    }
    row.state = point.failed ? "failed" : "done";
    row.valid = point.valid;
    row.reason = point.reason;
    row.runs = static_cast<int>(point.runs.size());
    row.warm_ups = point.warm_ups;
    row.time_s = point.time_s;
    row.energy_j = point.energy_j;
    row.clock_hz = point.clock_hz;
    row.memory_clock_hz = point.memory_clock_hz;
    for (const auto& evidence : point.evidence) {
      if (evidence.temperature_high_c)
        row.temperature_c = std::max(row.temperature_c.value_or(0), *evidence.temperature_high_c);
    }
    context_.say(run::to_string(row.setting) + ": " + (row.valid ? "counts" : row.reason));
    if (!point.failed && hopeless(point)) {
      answer_.stopped = "the program is too short for the sensor at every clock of the sweep";
      status_ = 1;
    }
    return file_ ? file_->store(row, point, opened_.gpus()) : Status{};
  }

  // Whether no point can span enough refresh periods: time grows as 1/clock at most. Parameters,
  // limits and memory clocks may change everything.
  bool hopeless(const run::PointResult& point) const {
    if (!grid_.parameters.empty() || !grid_.limits.empty() || !grid_.memory.empty()) return false;
    if (grid_.core.empty() || point.evidence.empty()) return false;
    const double lowest = grid_.core.front().si();
    const double highest = std::max(grid_.core.back().si(), point.clock_hz.value_or(0));
    const auto needed = static_cast<double>(*context_.integer("least-periods"));
    return std::ranges::all_of(point.evidence, [&](const run::PointEvidence& evidence) {
      return evidence.periods > 0 && evidence.periods * highest / lowest < needed;
    });
  }

  Status tell() {
    for (const auto& baseline : baselines_of(answer_.rows)) {
      if (baseline.spread && *baseline.spread > 0.03) {
        context_.warn("baseline_drift", "the repeated baselines differ by " +
                                            std::to_string(std::lround(*baseline.spread * 100)) +
                                            " % in energy: the machine drifted during the sweep");
      }
    }
    context_.origin_share(answer_.simulated ? "simulated" : "measured", 1);
    if (!answer_.file.empty() && !file_)
      ERGON_TRY_STATUS(context_.write_artefact(sweep_csv(answer_.rows)));
    Answer answer = sweep_answer(answer_);
    answer.csv = sweep_csv(answer_.rows);
    return context_.emit(answer);
  }

  // What the sweep would take: from --run-time, or from one run that changes nothing.
  Result<int> dry_run() {
    double seconds = 0;
    std::optional<double> joules;
    if (const auto given = context_.number("run-time")) {
      seconds = *given;
    } else {
      context_.answer_to_stderr();
      run::Setting setting;
      for (const auto& axis : grid_.parameters)
        setting.parameters.emplace_back(axis.name, axis.values.front());
      ERGON_TRY(const auto pilot, pilot_run(setting));
      seconds = pilot.seconds;
      joules = pilot.joules;
      const auto needed = static_cast<double>(*context_.integer("least-periods"));
      if (pilot.periods > 0 && pilot.periods < needed) {
        context_.warn("too_short", "one run spans " + std::to_string(std::lround(pilot.periods)) +
                                       " refresh periods of the sensor, " +
                                       std::to_string(std::lround(needed)) +
                                       " are needed to count: make the program run longer");
      }
    }
    const auto repeats = static_cast<double>(*context_.integer("runs"));
    const double beside = *context_.number("settle") + (context_.enabled("no-align") ? 0 : 0.6);
    double least = 0;
    double most = 0;
    double highest = 0;
    for (const SweepRow& row : answer_.rows) {
      if (row.setting.core) highest = std::max(highest, row.setting.core->si());
    }
    if (const auto top = opened_.gpus().front()->maximum_clock(gpu::Domain::kCore))
      highest = std::max(highest, top->si());
    for (const SweepRow& row : answer_.rows) {
      const double slower = row.setting.core ? highest / row.setting.core->si() : 1;
      least += beside + repeats * seconds;
      most += beside + repeats * seconds * slower;
    }
    const auto count = static_cast<double>(answer_.rows.size());
    Answer answer{
        .command = "sweep",
        .headline =
            counted(answer_.rows.size(), "point") + ", about " + about_seconds(least) + " to " +
            about_seconds(most) +
            (joules ? " and " + std::to_string(std::lround(*joules * repeats * count)) + " J"
                    : "") +
            ". Nothing was changed."};
    answer.lines.emplace_back(
        "Time: between every run taking as long as at the driver's own clocks, and time growing as "
        "1/clock; warm-up runs come on top. Energy: as if every run cost what the first did.");
    Table table{.title = "Plan",
                .columns = {{.title = "order"},
                            {.title = "setting", .numeric = false, .whole = true},
                            {.title = "baseline", .numeric = false}},
                .rows = {}};
    Value points = Value::array();
    for (std::size_t i = 0; i < answer_.rows.size(); ++i) {
      const SweepRow& row = answer_.rows[i];
      table.rows.push_back(
          {std::uint64_t{i + 1}, run::to_string(row.setting), row.baseline ? "yes" : ""});
    }
    answer.tables.push_back(std::move(table));
    const Answer whole = sweep_answer(answer_);
    answer.data = whole.data;
    Value energy = joules ? Value(*joules * repeats * count) : Value();
    answer.data.set("estimate", Value::object()
                                    .set("origin", "assumed")
                                    .set("run_time_s", seconds)
                                    .set("time_low_s", least)
                                    .set("time_high_s", most)
                                    .set("energy_j", std::move(energy)));
    context_.origin_share("assumed", 1);
    ERGON_TRY_STATUS(context_.emit(answer));
    return 0;
  }

  struct Pilot {
    double seconds = 0;
    std::optional<double> joules;
    double periods = 0;
  };
  Result<Pilot> pilot_run(const run::Setting& setting) {
    Pilot pilot;
    const auto gpus = opened_.gpus();
    run::ObserveOptions observe;
    observe.align = !context_.enabled("no-align");
    run::Program program;
    program.words = run::substitute(context_.program(), setting);
    program.environment = child_environment(context_.surroundings(), opened_.environment);
    run::Observation observation(gpus, observe);
    observation.open();
    auto record = observation.run(program, &signals_);
    const auto readings = observation.close();
    ERGON_TRY(const auto run_record, std::move(record));
    context_.program_runs();
    if (run_record.ending && run_record.ending->status != 0) {
      return fail(Errc::kInvalidArgument,
                  "the program ended with status " + std::to_string(run_record.ending->status),
                  "a sweep needs a program that succeeds");
    }
    std::vector<std::optional<Estimate>> parts;
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const auto source = gpus[g]->power_source();
      const auto sensor = run::sensor_of(readings.series[g], gpus[g]->identity(),
                                         source ? std::optional(*source) : std::nullopt);
      const auto result =
          run::result_of(readings.series[g], sensor, run_record.window, std::nullopt, 0);
      parts.push_back(result.energy.energy_j);
      pilot.periods = result.periods;
    }
    const auto total = run::sum_of(parts);
    pilot.seconds = run_record.window.length().si();
    if (total) pilot.joules = total->value;
    return pilot;
  }

  Context& context_;
  run::Signals signals_;  // before every thread
  OpenedGpus opened_;
  run::SweepGrid grid_;
  SweepAnswer answer_;
  std::optional<SweepFile> file_;
  gpu::Lease* lease_ = nullptr;
  bool program_ran_ = false;
  int signal_ = 0;
  int status_ = 0;
};

Result<int> sweep_run(Context& context) { return Session(context).run(); }

std::vector<Flag> sweep_flags() {
  const std::string what = "What is swept";
  const std::string how = "How each point is measured";
  return {
      {.name = "sm",
       .kind = Kind::kText,
       .value = "CLOCKS",
       .help = "core clocks: a list, low:high:count, or all",
       .group = what},
      {.name = "mem",
       .kind = Kind::kText,
       .value = "CLOCKS",
       .help = "memory clocks, in the same way",
       .group = what},
      {.name = "power-limit",
       .kind = Kind::kText,
       .value = "WATTS",
       .help = "power limits: a list, or low:high:count",
       .group = what},
      {.name = "parameter",
       .letter = 'L',
       .kind = Kind::kText,
       .value = "NAME=A,B",
       .help = "values for {NAME} in the program's arguments",
       .group = what,
       .repeatable = true},
      {.name = "runs",
       .letter = 'r',
       .kind = Kind::kInteger,
       .value = "N",
       .help = "measured runs at each point",
       .default_text = "1",
       .group = how,
       .minimum = 1},
      {.name = "baseline-every",
       .kind = Kind::kInteger,
       .value = "N",
       .help = "repeat the baseline after N points; 0: not",
       .default_text = "8",
       .group = how,
       .minimum = 0},
      {.name = "settle",
       .kind = Kind::kDuration,
       .value = "TIME",
       .help = "wait after a change of clocks",
       .default_text = "300ms",
       .group = how},
      {.name = "temperature-band",
       .kind = Kind::kInteger,
       .value = "C",
       .help = "largest temperature change within a run",
       .default_text = "4",
       .group = how,
       .minimum = 1},
      {.name = "least-periods",
       .kind = Kind::kInteger,
       .value = "N",
       .help = "sensor periods that a run must span",
       .default_text = "20",
       .group = how,
       .minimum = 1},
      {.name = "tolerance",
       .kind = Kind::kPercent,
       .value = "PERCENT",
       .help = "of achieved clocks, 15 MHz at least",
       .default_text = "1%",
       .group = how},
      {.name = "no-align", .help = "do not wait for a tick of the sensor", .group = how},
      {.name = "budget",
       .kind = Kind::kDuration,
       .value = "TIME",
       .help = "start no point that would end later",
       .example = "30m"},
      {.name = "resume", .help = "go on with the file of -o"},
      {.name = "dry-run", .help = "show the plan; runs the program once"},
      {.name = "run-time",
       .kind = Kind::kDuration,
       .value = "TIME",
       .help = "with --dry-run: how long a run takes",
       .example = "20s"},
  };
}

}  // namespace

const Command& sweep_command() {
  static const Command command = {
      .name = "sweep",
      .group = "Measure",
      .summary = "run a program over clocks, power limits and parameters",
      .description =
          "Locks each combination in random order, runs the program, and gives everything back, "
          "however it ends. The driver's own clocks are measured at the start, in between and at "
          "the end as the baseline. A point counts only if it proves itself: the clocks that were "
          "asked for were reached and held, nothing throttled, the temperature was steady, and the "
          "run was long enough for the sensor; else it says why not. With -o the points, runs and "
          "readings go to a run file as they are made, and --resume goes on with it; a name that "
          "ends in .csv gets one line a point.",
      .flags = sweep_flags(),
      .examples = {{"ergon sweep --sm 510MHz:1410MHz:8 -o sweep.sqlite -- ./train",
                    "eight core clocks, evenly spread"},
                   {"ergon sweep --sm all -L batch=16,32 --budget 30m -- ./train --batch {batch}",
                    "every clock and two batch sizes, for half an hour"},
                   {"ergon sweep --gpu sim:a100 --sm all --dry-run --run-time 5s -- ./train",
                    "what a sweep of the simulated GPU would take"}},
      .artefact = "the run file (SQLite), or CSV for a name that ends in .csv",
      .uses_gpu = true,
      .wraps_program = true,
      .run = sweep_run,
  };
  return command;
}

}  // namespace ergon::cli
