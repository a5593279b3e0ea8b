// ergon restore: clocks and limits back after a crash.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "context.hpp"
#include "figures.hpp"
#include "gpu_input.hpp"
#include "planning.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

using gpu::FoundLease;
using gpu::GivenBack;
using gpu::LeaseState;

const char* to_string(LeaseState state) {
  switch (state) {
    case LeaseState::kHeld:
      return "held";
    case LeaseState::kStale:
      return "stale";
    case LeaseState::kGone:
      break;
  }
  return "gone";
}

// What is told about leases and what was done.
class Report {
 public:
  Value leases = Value::array();
  Value actions = Value::array();
  Value damaged = Value::array();
  Table table{.title = "Given back",
              .columns = {{.title = "GPU", .numeric = false, .whole = true},
                          {.title = "what", .numeric = false},
                          {.title = "action", .numeric = false},
                          {.title = "failure", .numeric = false, .whole = true}},
              .rows = {},
              .width = kTextWidth};
  std::vector<std::string> lines;
  std::size_t done = 0;
  std::vector<Error> failures;

  void add(const FoundLease& lease) {
    Value gpus = Value::array();
    for (const auto& gpu : lease.record.gpus) gpus.push(gpu.uuid);
    leases.push(Value::object()
                    .set("tool", lease.record.tool)
                    .set("pid", lease.record.pid)
                    .set("state", to_string(lease.state))
                    .set("simulated", !lease.record.machine.empty())
                    .set("gpus", std::move(gpus)));
  }
  void add(const gpu::DamagedLease& lease, bool removed) {
    damaged.push(Value::object()
                     .set("file", lease.file)
                     .set("reason", lease.error.message)
                     .set("removed", removed));
  }
  void add(const GivenBack& entry) {
    const Value failure = entry.failure ? Value(entry.failure->message) : Value();
    table.rows.push_back({entry.uuid, entry.what, entry.action, failure});
    actions.push(Value::object()
                     .set("gpu", entry.uuid)
                     .set("what", entry.what)
                     .set("action", entry.action)
                     .set("failure", failure));
    if (entry.failure) {
      failures.push_back(*entry.failure);
    } else {
      ++done;
    }
  }
};

std::string who(const FoundLease& lease) {
  return "'ergon " + lease.record.tool + "' (process " + std::to_string(lease.record.pid) + ")";
}

// A watchdog whose holder was just killed needs a moment; a running tool is left alone.
void wait_for_watchdogs(const Surroundings& surroundings, std::vector<FoundLease>& leases) {
  using namespace std::chrono_literals;
  for (int tries = 0; tries < 40; ++tries) {
    const bool busy = std::ranges::any_of(leases, [](const FoundLease& lease) {
      return lease.state == LeaseState::kHeld && !gpu::holder_lives(lease.record);
    });
    if (!busy) return;
    std::this_thread::sleep_for(50ms);
    leases = leases_here(surroundings);
  }
}

Status restore_one(Context& context, const FoundLease& lease, Report& report) {
  report.add(lease);
  switch (lease.state) {
    case LeaseState::kHeld:
      report.lines.push_back(who(lease) + " holds its GPUs and gives them back itself.");
      return {};
    case LeaseState::kGone:
      report.lines.push_back(
          lease.record.machine.empty()
              ? "The machine was restarted after " + who(lease) +
                    " was killed: the driver has forgotten its clocks and limits. The lease is "
                    "removed."
              : "The simulated machine of " + who(lease) + " is gone. The lease is removed.");
      return gpu::drop(lease);
    case LeaseState::kStale:
      break;
  }
  if (!lease.record.touched()) {
    report.lines.push_back(who(lease) + " was killed before it changed anything.");
    return gpu::drop(lease);
  }
  ERGON_TRY(const auto machine, open_leased(lease.record, context.surroundings()));
  std::vector<gpu::Gpu*> gpus;
  gpus.reserve(machine.gpus.size());
  for (const auto& gpu : machine.gpus) gpus.push_back(gpu.get());
  ERGON_TRY(const auto entries, gpu::restore(lease, gpus));
  for (const auto& entry : entries) report.add(entry);
  report.lines.push_back("Given back what " + who(lease) + " had changed.");
  return {};
}

// Without a lease to go by: the driver's own clocks, the board's own limit.
void reset_to_defaults(const OpenedGpus& opened, Report& report) {
  for (gpu::Gpu* gpu : opened.gpus()) {
    gpu::LeaseRecord record;
    record.gpus.push_back({.uuid = gpu->identity().sensor_owner(),
                           .name = gpu->identity().name,
                           .power_limit_w = {},
                           .core_touched = true,
                           .memory_touched = true,
                           .limit_touched = true});
    if (const auto limits = gpu->power_limits(); limits && limits->standard)
      record.gpus.front().power_limit_w = limits->standard->si();
    gpu::Gpu* const one[] = {gpu};
    for (auto& entry : gpu::give_back(record, one)) {
      // A board without such a control has nothing to reset.
      if (entry.failure && entry.failure->code == Errc::kUnsupported) continue;
      report.add(entry);
    }
  }
}

// What a lease that cannot be read changed is not known: only the driver's defaults are sure.
void tell_damaged(Context& context, Report& report) {
  const std::string& folder = context.surroundings().state_folder;
  if (folder.empty()) return;
  const bool reset = context.enabled("defaults") && report.failures.empty();
  for (const auto& lease : gpu::damaged_leases(folder)) {
    const std::string what =
        "the lease '" + lease.file + "' cannot be read: " + lease.error.message;
    const bool removed = reset && gpu::drop(lease).has_value();
    report.add(lease, removed);
    if (removed) {
      report.lines.push_back("Removed: " + what +
                             ". Should it be of other GPUs than these, reset those as well.");
      continue;
    }
    Error error;
    error.code = Errc::kMalformedInput;
    error.message = what + "; what it changed may still be changed";
    error.hint = "ergon restore --gpu " + context.text("gpu").value_or("all") +
                 " --defaults resets clocks and limits without it";
    report.failures.push_back(std::move(error));
    report.lines.push_back("Not given back: " + report.failures.back().message + ".");
  }
}

Result<int> restore_run(Context& context) {
  Report report;
  auto leases = leases_here(context.surroundings());
  std::optional<OpenedGpus> opened;
  if (context.given("gpu")) {
    ERGON_TRY(opened, open_gpus(context));
    std::set<std::string> wanted;
    for (const gpu::Gpu* gpu : opened->gpus()) wanted.insert(gpu->identity().sensor_owner());
    leases = leases_here(context.surroundings());
    wait_for_watchdogs(context.surroundings(), leases);
    std::erase_if(leases, [&](const FoundLease& lease) {
      if (lease.record.machine != opened->machine_id) return true;
      const bool meant = std::ranges::any_of(
          lease.record.gpus, [&](const gpu::LeasedGpu& gpu) { return wanted.contains(gpu.uuid); });
      if (!meant && lease.state == LeaseState::kStale && lease.record.touched())
        report.lines.push_back("Left alone: what " + who(lease) + " changed on " +
                               lease.record.gpus.front().uuid + ", which --gpu does not select.");
      return !meant;
    });
  } else {
    if (context.enabled("defaults"))
      return fail(Errc::kInvalidArgument, "--defaults needs to know which GPUs",
                  "add --gpu all, or --gpu 0");
    wait_for_watchdogs(context.surroundings(), leases);
  }
  for (const auto& lease : leases) ERGON_TRY_STATUS(restore_one(context, lease, report));
  if (context.enabled("defaults")) reset_to_defaults(*opened, report);
  tell_damaged(context, report);
  if (!report.failures.empty() && report.done == 0) return fail(report.failures.front());

  Answer answer{.command = "restore", .headline = {}, .lines = report.lines};
  const bool told = report.done == 0 && !report.lines.empty();
  answer.headline =
      told ? "Nothing is left to give back:"
      : report.done == 0
          ? "Nothing had to be given back."
          : counted(report.done, "clock or limit", "clocks and limits") + " given back.";
  if (!report.failures.empty())
    answer.headline += " " + counted(report.failures.size(), "failure") + ".";
  if (!report.table.rows.empty()) answer.tables.push_back(std::move(report.table));
  answer.data.set("leases", std::move(report.leases))
      .set("actions", std::move(report.actions))
      .set("damaged", std::move(report.damaged))
      .set("given_back", std::uint64_t{report.done})
      .set("failures", std::uint64_t{report.failures.size()});
  ERGON_TRY_STATUS(context.emit(answer));
  return report.failures.empty() ? 0 : 1;
}

}  // namespace

const Command& restore_command() {
  static const Command command = {
      .name = "restore",
      .group = "Act",
      .summary = "give clocks and limits back after a crash",
      .description =
          "Before a command changes a clock or a limit it writes down what was there, and a "
          "watchdog gives it back should the command be killed. Where both were killed, this "
          "command gives back what is written down. It does nothing where nothing was changed. "
          "Clock locks cannot be read from the driver: giving a clock back means that the driver "
          "chooses it again.",
      .flags = {{.name = "defaults",
                 .help = "reset the GPUs of --gpu to the driver's defaults, whoever changed them"}},
      .examples = {{"ergon restore", "give back what a killed command changed"},
                   {"ergon restore --gpu 0", "only on GPU 0"},
                   {"ergon restore --gpu all --defaults",
                    "the driver's clocks and the board's limits on every GPU"}},
      .uses_gpu = true,
      .run = restore_run,
  };
  return command;
}

}  // namespace ergon::cli
