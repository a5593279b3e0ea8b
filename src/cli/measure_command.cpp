// ergon measure: run a program (or watch one), report time and energy.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <set>

#include "cpu_meter.hpp"
#include "gpu_input.hpp"
#include "measure_parts.hpp"
#include "measure_store.hpp"
#include "planning.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace fs = std::filesystem;
namespace {

constexpr Nanos kSettle = 500'000'000;       ///< after the last run, before its idle power is read
constexpr Nanos kCopyEvery = 1'000'000'000;  ///< of readings, to the run file

Nanos clock_ns(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return Nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::string utc_text(Nanos utc_ns) {
  const std::time_t seconds = utc_ns / 1'000'000'000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// What makes one measurement; its parts in the order in which they may be made.
class Measurer {
 public:
  explicit Measurer(Context& context) : context_(context) {}

  Result<int> run() {
    ERGON_TRY_STATUS(prepare());
    run::ObserveOptions options;
    options.align = !context_.enabled("no-align");
    options.regions = ring_ ? &*ring_ : nullptr;
    options.keep_going = [this] {
      cpu_.look();
      return true;
    };
    if (context_.output()) options.sampling.copy_every_ns = kCopyEvery;
    observation_ = std::make_unique<run::Observation>(opened_.gpus(), options);
    measurement_.interval_ns = options.sampling.interval_ns;
    measurement_.start_utc_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    observation_->open();
    start_store();
    idle();
    const auto status = observation_->interrupted_by() != 0
                            ? Result<int>(128 + observation_->interrupted_by())
                            : work();
    if (status && observation_->interrupted_by() == 0 && !measurement_.runs.empty() &&
        idle_ns() > 0) {
      observation_->rest(kSettle, &signals_);
      idle();
    }
    close();
    if (store_ && (!status || measurement_.runs.empty())) store_->discard();
    if (!status) return fail(status.error());
    if (measurement_.runs.empty()) {
      store_.reset();
      if (!measurement_.warm_up_status) return *status;
    }
    ERGON_TRY_STATUS(tell());
    return *status;
  }

 private:
  Nanos idle_ns() const { return std::llround(context_.number("idle").value_or(0) * 1e9); }

  Status prepare() {
    if (context_.number("duration") == 0.0) {
      return fail(Errc::kInvalidArgument, "--duration 0: nothing can be watched in no time",
                  "--duration 30s, or --pid N alone to watch a process to its end");
    }
    if (context_.output() == "-") {
      return fail(Errc::kInvalidArgument, "a run file is a database and cannot go to stdout",
                  "-o FILE for the readings; --export json:FILE for the answer");
    }
    if (wraps()) {
      context_.answer_to_stderr();
    } else {
      if (context_.given("runs") || context_.given("warmup")) {
        return fail(Errc::kInvalidArgument, "--runs and --warmup need a program to run",
                    "ergon measure -r 5 -- PROGRAM");
      }
      if (const auto pid = context_.integer("pid")) {
        ERGON_TRY(auto watched, run::Watched::open(static_cast<int>(*pid)));
        watched_.emplace(std::move(watched));
      }
    }
    ERGON_TRY_STATUS(context_.outputs_are_writable());
    const auto visible = context_.surroundings().variable
                             ? context_.surroundings().variable("CUDA_VISIBLE_DEVICES")
                             : std::nullopt;
    ERGON_TRY(opened_, open_gpus(context_, visible && !visible->empty() ? "cuda" : "all"));
    ERGON_TRY_STATUS(check_readable());
    if (const auto path = context_.output(); path && fs::exists(*path)) {
      return fail(Errc::kIo, "there is a file '" + *path + "' already",
                  "a run file is never written over: give another name, or remove it");
    }
    auto environment = opened_.environment;
    if (wraps()) {
      ERGON_TRY_STATUS(prepare_regions(environment));
      name_strangers();
    }
    program_.words = context_.program();
    program_.environment = child_environment(context_.surroundings(), environment);
    return {};
  }

  // What runs on these GPUs before our program starts is not ours, and its energy is in the figure.
  void name_strangers() {
    for (gpu::Gpu* gpu : opened_.gpus()) {
      const auto processes = gpu->processes();
      if (!processes || processes->empty()) continue;
      std::string list;
      for (const auto& process : *processes) {
        list += (list.empty() ? "" : ", ") + std::to_string(process.pid);
        if (!run::is_visible(process.pid)) list += " which this namespace cannot see";
        named_.push_back({.gpu = gpu->identity().id, .pid = process.pid});
      }
      context_.warn("shared_gpu", "other programs use GPU " + gpu->identity().id + " (process " +
                                      list + "): their energy is in the figures");
    }
  }
  // Those that came later.
  void name_strangers(const std::vector<run::Stranger>& strangers) {
    for (const auto& stranger : strangers) {
      const auto same = [&](const run::Stranger& named) {
        return named.gpu == stranger.gpu && named.pid == stranger.pid;
      };
      if (std::ranges::any_of(named_, same)) continue;
      named_.push_back(stranger);
      context_.warn(stranger.certain ? "shared_gpu" : "unknown_process",
                    run::to_string(stranger) + (stranger.certain ? ": its" : ": if not, its") +
                        " energy is in the figures");
    }
  }

  bool wraps() const { return !context_.program().empty(); }

  // A run that would end without any energy is refused before it begins.
  Status check_readable() {
    std::optional<Error> last;
    std::size_t readable = 0;
    for (gpu::Gpu* gpu : opened_.gpus()) {
      auto energy = gpu->energy();
      auto power = gpu->power_source();
      if (energy || power) {
        ++readable;
        continue;
      }
      last = power.error();
      context_.warn("unreadable_gpu",
                    "GPU " + gpu->identity().id +
                        " gives neither energy nor power: " + power.error().message);
    }
    if (readable > 0 || !last) return {};
    return fail(
        Errc::kUnsupported, "no energy can be measured here: " + last->message,
        last->hint.empty() ? "ergon doctor says what this machine can measure" : last->hint);
  }

  Status prepare_regions(std::vector<std::pair<std::string, std::string>>& environment) {
    const Surroundings& around = context_.surroundings();
    const auto library = [&](const char* name) {
      return (fs::path(around.program_folder).parent_path() / "lib" / name).string();
    };
    ERGON_TRY(ring_folder_, TemporaryFolder::make("ergon-"));
    ERGON_TRY(ring_, run::RegionRing::create(ring_folder_->path()));
    environment.emplace_back("ERGON_REGIONS", ring_->path());
    environment.emplace_back("ERGON_REGION_LIBRARY", library("libergon_region.so"));
    const auto injected = around.variable ? around.variable("NVTX_INJECTION64_PATH") : std::nullopt;
    if (injected && !injected->empty()) {
      context_.warn("nvtx_taken", "NVTX ranges are no regions: another tool takes them (" +
                                      *injected + ", NVTX_INJECTION64_PATH)");
    } else if (!context_.enabled("no-nvtx")) {
      environment.emplace_back("NVTX_INJECTION64_PATH", library("libergon_nvtx.so"));
    }
    return {};
  }

  // Readings go to the file of -o as they come: a tool that is killed leaves them.
  void start_store() {
    const auto path = context_.output();
    if (!path) return;
    meter::Provenance provenance;
    provenance.kind = "measure";
    provenance.ergon_version = context_.version();
    provenance.command_line = context_.command_line();
    provenance.created_utc = utc_text(clock_ns(CLOCK_REALTIME));
    provenance.more.emplace_back("utc_offset_ns", std::to_string(measurement_.start_utc_ns));
    std::vector<meter::StoredDevice> devices;
    for (const gpu::Gpu* gpu : opened_.gpus()) devices.push_back(stored_device(gpu->identity()));
    store_ = std::make_unique<SampleStore>(*path, std::move(provenance), std::move(devices),
                                           [this] { return observation_->take_new(); });
    store_->start();
  }

  void idle() {
    if (idle_ns() == 0) return;
    context_.stage("reading idle power");
    const auto record = observation_->rest(idle_ns(), &signals_);
    context_.end_stage();
    measurement_.idle.push_back(record.window);
  }

  // The status to end with. Failures to start are told here: nothing was measured then.
  Result<int> work() {
    if (!wraps()) return watch();
    const auto warmups = context_.integer("warmup").value_or(0);
    const auto runs = context_.integer("runs").value_or(1);
    int status = 0;
    for (std::int64_t k = -warmups; k < runs; ++k) {
      cpu_.start();
      auto record = observation_->run(program_, &signals_);
      const auto cpu_j = cpu_.stop();
      if (!record) {
        const int failed = run::status_of_failed_start(record.error());
        if (failed == 125) return fail(record.error());
        context_.surroundings().err(report::error_text(record.error(), false));
        return failed;
      }
      context_.program_runs();
      status = record->ending->status;
      if (k >= 0) keep(*std::move(record), cpu_j);
      if (status != 0) {
        if (k < 0) {
          measurement_.warm_up_status = status;
          context_.warn("warmup_failed", "warm-up run " + std::to_string(k + warmups + 1) +
                                             " ended with status " + std::to_string(status) +
                                             ": nothing was measured");
        } else if (k + 1 < runs) {
          context_.warn("program_failed", "the program ended with status " +
                                              std::to_string(status) + ": it is not run again");
        }
        break;
      }
    }
    return status;
  }

  Result<int> watch() {
    const Nanos length = std::llround(context_.number("duration").value_or(0) * 1e9);
    cpu_.start();
    auto record = observation_->watch(watched_ ? &*watched_ : nullptr, length, &signals_);
    const auto cpu_j = cpu_.stop();
    keep(std::move(record), cpu_j);
    const int signal = observation_->interrupted_by();
    return signal == 0 || signal == SIGINT ? 0 : 128 + signal;
  }

  void keep(run::RunRecord record, const std::optional<double>& cpu_j) {
    if (record.marks.lost > 0) {
      context_.warn("regions_lost",
                    "marks of regions were lost: the program makes them faster than they are read",
                    record.marks.lost);
    }
    name_strangers(record.strangers);
    MeasuredRun run;
    run.record = std::move(record);
    run.cpu_j = cpu_j;
    measurement_.runs.push_back(std::move(run));
  }

  void close() {
    Measurement& m = measurement_;
    m.program = context_.program();
    if (watched_) m.pid = watched_->pid();
    if (store_) store_->stop();
    auto readings = observation_->close();
    m.cost = readings.cost;
    if (store_) m.cost.cpu_time += store_->cpu_time();
    if (!m.runs.empty())
      m.created_utc = utc_text(m.start_utc_ns + m.runs.front().record.window.start_ns);
    m.cpu_why_unknown = cpu_.why_unknown();
    measured_gpus(context_, opened_.gpus(), readings, m);
    analyse_runs(context_, m);
  }

  Status tell() {
    const Measurement& m = measurement_;
    std::size_t known = 0;
    std::size_t fitted = 0;
    for (const auto& run : m.runs) {
      known += run.total_j ? 1 : 0;
      for (const auto& region : run.regions) {
        known += region.energy_j ? 1 : 0;
        fitted += region.method == "fitted" ? 1 : 0;
      }
    }
    if (known > 0) {
      const double share = static_cast<double>(fitted) / static_cast<double>(known);
      context_.origin_share(origin_of_readings(m.gpus.front().identity), 1 - share);
      if (fitted > 0) context_.origin_share("fitted", share);
    }
    // What was measured is told even where a file cannot be written.
    Status kept = store_ ? store_->complete(m) : Status();
    for (const auto& path : context_.export_paths("openmetrics")) {
      auto written = context_.write_export(path, measure_openmetrics(m, context_.version()));
      if (kept) kept = std::move(written);
    }
    ERGON_TRY_STATUS(context_.emit(measure_answer(m)));
    return kept;
  }

  Context& context_;
  run::Signals signals_;  // before every thread
  OpenedGpus opened_;
  std::unique_ptr<TemporaryFolder> ring_folder_;
  std::optional<run::RegionRing> ring_;
  std::optional<run::Watched> watched_;
  run::Program program_;
  CpuMeter cpu_;
  std::unique_ptr<run::Observation> observation_;
  std::unique_ptr<SampleStore> store_;  // its thread asks the observation
  Measurement measurement_;
  std::vector<run::Stranger> named_;  ///< other programs that were warned of
};

Result<int> measure_run(Context& context) { return Measurer(context).run(); }

}  // namespace

const Command& measure_command() {
  static const Command command = {
      .name = "measure",
      .group = "Measure",
      .summary = "run a program, report time and energy",
      .description =
          "Like 'perf stat' for joules: runs the program with its streams untouched and its exit "
          "status passed on, reads the GPUs beside it, and tells their energy by two estimators "
          "(energy counter and power samples) with a 95 % interval, or why it cannot be known. The "
          "answer goes to stderr, in the format of -f too, because stdout is the program's; "
          "--export json:FILE keeps it apart. Regions of the program (ergon.h, Python's "
          "ergon.region, NVTX "
          "ranges) get their own energy. With --pid or --duration a program that already runs, or "
          "the whole machine, is watched.",
      .flags =
          {
              {.name = "runs",
               .letter = 'r',
               .kind = Kind::kInteger,
               .value = "N",
               .help = "run the program N times, report mean and interval",
               .default_text = "1",
               .minimum = 1},
              {.name = "warmup",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "runs before that, which do not count",
               .default_text = "0",
               .minimum = 0},
              {.name = "idle",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "read idle power that long before and after, and subtract it apart",
               .default_text = "0",
               .example = "5s"},
              {.name = "no-align",
               .help = "do not wait for the sensor: faster to start and end, wider intervals"},
              {.name = "pid",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "watch this process until it ends",
               .example = "4711",
               .minimum = 1},
              {.name = "duration",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "watch the whole machine (with --pid: the process) that long",
               .example = "30s"},
              {.name = "no-nvtx", .help = "do not take NVTX ranges for regions"},
          },
      .examples = {{"ergon measure -- ./train", "energy and time of a program"},
                   {"ergon measure -r 5 --warmup 1 --idle 5s -- ./bench", "five runs, less idle"},
                   {"ergon measure --duration 30s --gpu 0", "one GPU, whatever runs on it"},
                   {"ergon measure -o runs.db --export json:runs.json -- python train.py",
                    "keep the readings and the answer"},
                   {"ergon measure --gpu sim:a100,seed=7 -- ergon-simload phases.json",
                    "on a simulated GPU"}},
      .artefact = "the runs with all readings, one SQLite file",
      .exports = {"openmetrics"},
      .uses_gpu = true,
      .wraps_program = true,
      .exit_status = "the program's own; 125 ergon failed; 126 not executable; 127 not found.",
      .instead_of_program = {"pid", "duration"},
      .run = measure_run,
  };
  return command;
}

}  // namespace ergon::cli
