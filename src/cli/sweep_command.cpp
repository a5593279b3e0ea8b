// ergon sweep: a program over clocks x memory clocks x power limits x parameters.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "gpu_input.hpp"
#include "measure_parts.hpp"
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

// One sweep from its flags to its answer.
class Session {
 public:
  explicit Session(Context& context) : context_(context) {}

  Result<int> run() {
    if (context_.given("run-time") && !context_.enabled("dry-run"))
      return fail(Errc::kInvalidArgument, "--run-time means something with --dry-run only");
    ERGON_TRY(opened_, open_gpus(context_, default_selection()));
    ERGON_TRY_STATUS(plan());
    if (context_.enabled("dry-run")) return sweep_dry_run(context_, opened_, answer_, signals_);
    context_.answer_to_stderr();
    ERGON_TRY_STATUS(context_.outputs_are_writable());
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
    if (std::ranges::any_of(answer_.rows, &SweepRow::valid)) return 0;
    const auto failed = std::ranges::find_if(
        answer_.rows, [](const SweepRow& row) { return row.failed_status.has_value(); });
    const bool all =
        std::ranges::none_of(answer_.rows, [](const SweepRow& row) { return row.state == "done"; });
    return all && failed != answer_.rows.end() ? *failed->failed_status : 1;
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
    if (*path == "-") {
      return fail(Errc::kInvalidArgument, "a run file is a database and cannot go to stdout",
                  "-o FILE for the points and readings; --export csv:FILE for the points alone");
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
    row.clocks_hz = point.clocks_hz;
    if (point.failed) row.failed_status = point.runs.back().ending->status;
    for (const auto& results : point.results) {
      for (std::size_t g = 0; g < results.size(); ++g) {
        if (const auto& unseen = results[g].energy.unseen_share;
            unseen && unseen_.insert(answer_.gpus[g].id).second)
          context_.warn("unseen_power", unseen_text(answer_.gpus[g].id, *unseen));
      }
    }
    for (const auto& evidence : point.evidence) {
      if (evidence.temperature_high_c)
        row.temperature_c = std::max(row.temperature_c.value_or(0), *evidence.temperature_high_c);
    }
    context_.say(run::to_string(row.setting) + ": " + (row.valid ? "counts" : row.reason));
    if (!point.failed && row.baseline) look_at_length(row, point);
    return file_ ? file_->store(row, point, opened_.gpus()) : Status{};
  }

  // After the first baseline of every combination of parameters: where no setting can make any of
  // them span enough refresh periods of the sensor, nothing of the sweep could count.
  void look_at_length(const SweepRow& row, const run::PointResult& point) {
    double periods = std::numeric_limits<double>::infinity();
    for (const auto& evidence : point.evidence) periods = std::min(periods, evidence.periods);
    const auto needed = static_cast<double>(*context_.integer("least-periods"));
    const SweepReach reach = sweep_reach(*opened_.gpus().front());
    double longest = 0;
    for (const SweepRow& other : answer_.rows) {
      if (other.setting.parameters == row.setting.parameters)
        longest = std::max(longest, periods * reach.most_slowdown(other.setting));
    }
    too_short_[row.setting.parameters] = periods > 0 && longest < needed;
    const bool all_seen = std::ranges::all_of(answer_.rows, [&](const SweepRow& other) {
      return too_short_.contains(other.setting.parameters);
    });
    if (!all_seen || !std::ranges::all_of(too_short_, [](const auto& e) { return e.second; }))
      return;
    answer_.stopped =
        "the program is too short for the sensor at every setting of the sweep: the baseline "
        "spans " +
        std::to_string(std::lround(periods)) + " of its refresh periods, " +
        std::to_string(std::lround(needed)) + " are needed";
    status_ = 1;
  }

  Status tell() {
    for (const auto& baseline : baselines_of(answer_.rows)) {
      const std::string which = sweep_parameters_text(baseline.parameters);
      const std::string of = which.empty() ? "" : " of " + which;
      if (baseline.spread && (*baseline.spread > 0.03 || baseline.beyond_intervals)) {
        context_.warn("baseline_drift",
                      "the repeated baselines" + of + " differ by " +
                          percent_text(*baseline.spread) + " in energy" +
                          (baseline.beyond_intervals ? ", more than their intervals allow" : "") +
                          ": the machine drifted during the sweep");
      }
      if (baseline.clocks_differ) {
        context_.warn("baseline_clock", "the repeated baselines" + of +
                                            " ran at clocks that differ by " +
                                            clock_text(*baseline.clock_spread_hz) +
                                            ": the driver's own choice changed during the sweep");
      }
    }
    context_.origin_share(origin_of_readings(answer_.gpus.front()), 1);
    // What was measured is told even where the file cannot be written.
    Status kept;
    if (!answer_.file.empty() && !file_) kept = context_.write_artefact(sweep_csv(answer_.rows));
    Answer answer = sweep_answer(answer_);
    answer.csv = sweep_csv(answer_.rows);
    ERGON_TRY_STATUS(context_.emit(answer));
    return kept;
  }

  Context& context_;
  run::Signals signals_;  // before every thread
  OpenedGpus opened_;
  run::SweepGrid grid_;
  SweepAnswer answer_;
  std::optional<SweepFile> file_;
  gpu::Lease* lease_ = nullptr;
  std::map<std::vector<std::pair<std::string, std::string>>, bool> too_short_;
  bool program_ran_ = false;
  std::set<std::string> unseen_;  ///< GPUs whose sensor was warned of
  int signal_ = 0;
  int status_ = 0;
};

Result<int> sweep_run(Context& context) { return Session(context).run(); }

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
          "ends in .csv gets one line a point. Exit status 0 where a point counts, the program's "
          "own "
          "where it failed at every point, else 1.",
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
      .exit_status =
          "0 a point counts; 1 none does; 125 ergon "
          "failed; 126 not executable; 127 not found; 128 + N where signal N ended it.",
      .run = sweep_run,
  };
  return command;
}

}  // namespace ergon::cli
