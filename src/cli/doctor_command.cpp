// ergon doctor: what this machine can measure and control.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

#include "context.hpp"
#include "doctor_parts.hpp"
#include "ergon/run/child.hpp"
#include "gpu_input.hpp"
#include "planning.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

constexpr Seconds kLoadWatch{20};

// The program of --load: run by a shell, its output on stderr, ended with the watch.
class Load {
 public:
  Load(const Context& context, const std::optional<OpenedGpus>& opened)
      : context_(context), opened_(opened) {}

  Status start(const std::string& command) {
    run::Program program;
    program.words = {"/bin/sh", "-c", "{ " + command + "\n} >&2"};
    program.environment = child_environment(
        context_.surroundings(),
        opened_ ? opened_->environment : std::vector<std::pair<std::string, std::string>>{});
    program.own_group = true;
    program.dies_with_us = true;
    ERGON_TRY(auto child, run::Child::start(program, signals_.before()));
    child_.emplace(std::move(child));
    return {};
  }
  bool runs() {
    if (const auto caught = signals_.next()) interrupted_ = caught->number;
    if (!child_ || ending_ || interrupted_ != 0) return false;
    ending_ = child_->poll();
    return !ending_;
  }
  /// The signal that ended the watch; 0: none.
  [[nodiscard]] int interrupted_by() const { return interrupted_; }
  /// What it ended with by itself; 0 where it was ended here.
  int end() {
    if (!child_) return 0;
    if (!runs() && ending_) return ending_->status;
    child_->send(SIGTERM);
    run::wait_for(*child_, nullptr, kLook, [] { return false; });
    return 0;
  }

 private:
  static constexpr Nanos kLook = 20'000'000;
  const Context& context_;
  const std::optional<OpenedGpus>& opened_;
  run::Signals signals_;  // the load is in a group of its own: it is ended here
  std::optional<run::Child> child_;
  std::optional<run::Ending> ending_;
  int interrupted_ = 0;
};

Result<int> doctor_run(Context& context) {
  std::optional<OpenedGpus> opened;
  Result<gpu::Machine> machine = gpu::Machine{};
  if (auto found = open_gpus(context, "all", true)) {
    opened = *std::move(found);
    machine = std::move(opened->machine);
  } else {
    // A selection that makes no sense is an error; a machine without a GPU is an answer.
    const Errc code = found.error().code;
    if (code != Errc::kDevice && code != Errc::kPermission) return fail(std::move(found).error());
    machine = fail(std::move(found).error());
  }
  context.stage("watching the sensors");
  run::DoctorOptions options;
  options.watch = Seconds(*context.number("watch"));
  options.probe_control = !context.enabled("read-only");
  options.sleep = [](Nanos ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); };
  std::optional<Load> load;
  if (const auto command = context.text("load")) {
    load.emplace(context, opened);
    if (!context.given("watch")) options.watch = kLoadWatch;
    options.start_load = [&load, words = *command] { return load->start(words); };
    options.load_runs = [&load] { return load->runs(); };
  }
  ERGON_TRY(const run::Checkup checkup, run::examine(machine, options));
  if (load) {
    if (const int status = load->end(); status != 0)
      context.warn("load_failed", "the load ended with status " + std::to_string(status));
    if (load->interrupted_by() != 0) return 128 + load->interrupted_by();
  }
  ERGON_TRY_STATUS(
      context.emit(doctor_answer(checkup, options.probe_control, context.given("load"))));
  return checkup.can_measure() ? 0 : 1;
}

}  // namespace

const Command& doctor_command() {
  static const Command command = {
      .name = "doctor",
      .group = "Measure",
      .summary = "what this machine can measure and control, and how to fix the rest",
      .description =
          "Opens every GPU, asks it for all that Ergon can use, watches its sensors for a moment "
          "to see how often they are renewed, and tries whether clocks could be changed by setting "
          "what is set already. Nothing is changed. Over how long a power value averages shows "
          "only where the load steps: on a busy board, or with --load, whose command a shell runs "
          "with its output on stderr. Exit status 1 where no GPU tells its power.",
      .flags = {{.name = "watch",
                 .kind = Kind::kDuration,
                 .value = "TIME",
                 .help = "how long the sensors are watched; with --load at most, 20 s unless given",
                 .default_text = "1500ms"},
                {.name = "load",
                 .kind = Kind::kText,
                 .value = "COMMAND",
                 .help = "run this meanwhile: its steps of power show the averaging window",
                 .example = "./train"},
                {.name = "read-only",
                 .help = "set nothing: do not try whether clocks could be changed"}},
      .examples = {{"ergon doctor", "this machine"},
                   {"ergon doctor -f json", "the same for a script"},
                   {"ergon doctor --load './square_wave'", "the averaging window, measured"},
                   {"ergon doctor --gpu sim:h100 --watch 3s",
                    "a simulated GPU, watched for longer"}},
      .uses_gpu = true,
      .run = doctor_run,
  };
  return command;
}

}  // namespace ergon::cli
