// The lease: write down, change, give back.
#include "ergon/gpu/lease.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <set>

#include "ergon/gpu/process.hpp"
#include "lease_file.hpp"
#include "machine_lock.hpp"
#include "watchdog.hpp"

namespace ergon::gpu {
namespace {

Gpu* find_gpu(std::span<Gpu* const> gpus, const std::string& uuid) {
  const auto at = std::ranges::find_if(
      gpus, [&](const Gpu* gpu) { return gpu->identity().sensor_owner() == uuid; });
  return at == gpus.end() ? nullptr : *at;
}

std::string watts_text(double watts) {
  const double rounded = std::round(watts * 10) / 10;
  std::string text = std::to_string(rounded);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " W";
}

Status give_back_limit(Gpu& gpu, const LeasedGpu& before, std::string& action) {
  std::optional<double> watts = before.power_limit_w;
  if (!watts) {
    ERGON_TRY(const PowerLimits limits, gpu.power_limits());
    if (!limits.standard)
      return fail(Errc::kUnsupported, "the power limit before the change is not known");
    watts = limits.standard->si();
  }
  action = "set to " + watts_text(*watts);
  return gpu.set_power_limit(Watts(*watts));
}

}  // namespace

std::vector<GivenBack> give_back(const LeaseRecord& record, std::span<Gpu* const> gpus) {
  std::vector<GivenBack> done;
  for (const LeasedGpu& before : record.gpus) {
    Gpu* gpu = find_gpu(gpus, before.uuid);
    const auto act = [&](bool touched, const char* what, const auto& change) {
      if (!touched) return;
      GivenBack entry{.uuid = before.uuid, .what = what, .action = "reset"};
      const Status outcome =
          gpu == nullptr ? Status(fail(Errc::kNotFound, "GPU " + before.uuid + " is not here"))
                         : change(entry.action);
      if (!outcome) entry.failure = outcome.error();
      done.push_back(std::move(entry));
    };
    act(before.core_touched, "core clock",
        [&](std::string&) { return gpu->reset_clocks(Domain::kCore); });
    act(before.memory_touched, "memory clock",
        [&](std::string&) { return gpu->reset_clocks(Domain::kMemory); });
    act(before.limit_touched, "power limit",
        [&](std::string& action) { return give_back_limit(*gpu, before, action); });
  }
  return done;
}

struct Lease::Impl {
  LeaseRecord record;
  LeaseOptions options;
  std::vector<Gpu*> gpus;
  std::vector<LockFile> locks;             ///< among this user's tools: they see who holds a lease
  std::vector<MachineLock> machine_locks;  ///< against everybody else's
  Watchdog watchdog;
  bool given_back = false;

  // The flag of one control of one GPU, on disk before the control is used.
  Status touch(const Gpu& gpu, bool LeasedGpu::* flag) {
    const auto at = std::ranges::find(record.gpus, gpu.identity().sensor_owner(), &LeasedGpu::uuid);
    if (at == record.gpus.end() || given_back) {
      return fail(Errc::kInvalidArgument,
                  "GPU " + gpu.identity().id + " is not part of this lease");
    }
    if ((*at).*flag) return {};
    (*at).*flag = true;
    auto written = write_lease(record);
    if (!written) (*at).*flag = false;
    return written;
  }

  Status start_watchdog() {
    if (options.watchdog.empty()) return {};
    std::vector<int> kept;
    kept.reserve(locks.size() + machine_locks.size());
    for (const LockFile& lock : locks) kept.push_back(lock.descriptor());
    for (const MachineLock& lock : machine_locks) kept.push_back(lock.descriptor());
    ERGON_TRY(watchdog, Watchdog::start(options.watchdog, record.file, kept));
    record.watchdog_pid = watchdog.pid();
    record.watchdog_start_ticks = start_ticks(watchdog.pid());
    return write_lease(record);
  }
};

namespace {

// Another tool's lease over one of these GPUs whose owners are dead: its changes come first.
Status no_stale_lease(const LeaseRecord& wanted, const std::string& folder) {
  for (const FoundLease& found : find_leases(folder)) {
    if (found.record.machine != wanted.machine || found.record.file == wanted.file) continue;
    const bool shares = std::ranges::any_of(found.record.gpus, [&](const LeasedGpu& gpu) {
      return std::ranges::find(wanted.gpus, gpu.uuid, &LeasedGpu::uuid) != wanted.gpus.end();
    });
    if (!shares || is_alive(found.record.pid, found.record.start_ticks)) continue;
    if (is_alive(found.record.watchdog_pid, found.record.watchdog_start_ticks)) continue;
    if (!found.record.touched() || is_gone(found.record)) {
      ERGON_TRY_STATUS(remove_lease(found.record.file));
      continue;
    }
    return fail(Errc::kDevice,
                "clocks or limits of GPU " + wanted.gpus.front().uuid +
                    " are still as a dead 'ergon " + found.record.tool + "' (process " +
                    std::to_string(found.record.pid) + ") left them",
                "ergon restore gives them back");
  }
  return {};
}

}  // namespace

Lease::Lease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}
Lease::~Lease() {
  if (impl_) give_back();
}

Result<Lease> Lease::take(std::span<Gpu* const> gpus, const LeaseOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->gpus.assign(gpus.begin(), gpus.end());
  ERGON_TRY_STATUS(make_folder(options.folder));

  LeaseRecord& record = impl->record;
  record.tool = options.tool;
  record.pid = ::getpid();
  record.start_ticks = start_ticks(record.pid);
  record.boot_id = boot_id();
  record.machine = options.machine;
  record.environment = options.environment;
  record.selection = options.selection;
  record.file = options.folder + "/lease-" + std::to_string(record.pid) + "-" +
                std::to_string(record.start_ticks) + ".json";

  std::set<std::string> seen;
  for (Gpu* gpu : gpus) {
    const std::string& owner = gpu->identity().sensor_owner();
    if (!seen.insert(owner).second) continue;
    ERGON_TRY(auto lock, LockFile::take(gpu_lock_path(options.folder, options.machine, owner),
                                        "ergon " + options.tool + " (process " +
                                            std::to_string(record.pid) + ")"));
    impl->locks.push_back(std::move(lock));
    ERGON_TRY(auto machine_lock, MachineLock::take(options.machine, owner));
    impl->machine_locks.push_back(std::move(machine_lock));
    LeasedGpu before{.uuid = owner, .name = gpu->identity().name, .power_limit_w = {}};
    if (const auto limits = gpu->power_limits()) before.power_limit_w = limits->current.si();
    record.gpus.push_back(std::move(before));
  }
  ERGON_TRY_STATUS(no_stale_lease(record, options.folder));
  ERGON_TRY_STATUS(write_lease(record));
  Lease lease(std::move(impl));  // from here on an error gives back: nothing, but the file
  ERGON_TRY_STATUS(lease.impl_->start_watchdog());
  return lease;
}

Status Lease::lock_clocks(Gpu& gpu, Domain domain, Hertz low, Hertz high) {
  ERGON_TRY_STATUS(impl_->touch(
      gpu, domain == Domain::kCore ? &LeasedGpu::core_touched : &LeasedGpu::memory_touched));
  return gpu.lock_clocks(domain, low, high);
}

Status Lease::reset_clocks(Gpu& gpu, Domain domain) {
  ERGON_TRY_STATUS(impl_->touch(
      gpu, domain == Domain::kCore ? &LeasedGpu::core_touched : &LeasedGpu::memory_touched));
  return gpu.reset_clocks(domain);
}

Status Lease::set_power_limit(Gpu& gpu, Watts limit) {
  ERGON_TRY_STATUS(impl_->touch(gpu, &LeasedGpu::limit_touched));
  return gpu.set_power_limit(limit);
}

Status Lease::ensure_watchdog() {
  if (impl_->options.watchdog.empty() || impl_->given_back || impl_->watchdog.is_alive()) return {};
  return impl_->start_watchdog();
}

std::vector<GivenBack> Lease::give_back() {
  if (!impl_ || impl_->given_back) return {};
  impl_->given_back = true;
  auto done = gpu::give_back(impl_->record, impl_->gpus);
  const bool failed =
      std::ranges::any_of(done, [](const GivenBack& entry) { return entry.failure.has_value(); });
  // With the file gone a watchdog that wakes now finds nothing to do.
  if (!failed) static_cast<void>(remove_lease(impl_->record.file));
  if (!impl_->watchdog.dismiss()) {
    done.push_back({.uuid = "",
                    .what = "watchdog",
                    .action = "killed: it did not end by itself, the driver may be stuck"});
  }
  impl_->locks.clear();
  impl_->machine_locks.clear();
  return done;
}

const LeaseRecord& Lease::record() const { return impl_->record; }

Result<std::vector<GivenBack>> restore(const FoundLease& lease, std::span<Gpu* const> gpus) {
  const std::string folder = lease.record.file.substr(0, lease.record.file.rfind('/'));
  std::vector<LockFile> locks;
  std::vector<MachineLock> machine_locks;
  for (const LeasedGpu& gpu : lease.record.gpus) {
    ERGON_TRY(auto lock,
              LockFile::take(gpu_lock_path(folder, lease.record.machine, gpu.uuid),
                             "ergon restore (process " + std::to_string(::getpid()) + ")"));
    locks.push_back(std::move(lock));
    ERGON_TRY(auto machine_lock, MachineLock::take(lease.record.machine, gpu.uuid));
    machine_locks.push_back(std::move(machine_lock));
  }
  // Read again under the lock: a watchdog may have been quicker.
  const auto record = read_lease(lease.record.file);
  if (!record) return std::vector<GivenBack>{};
  auto done = gpu::give_back(*record, gpus);
  if (std::ranges::none_of(done, [](const GivenBack& e) { return e.failure.has_value(); }))
    ERGON_TRY_STATUS(remove_lease(record->file));
  return done;
}

Status drop(const FoundLease& lease) { return remove_lease(lease.record.file); }

Status drop(const DamagedLease& lease) { return remove_lease(lease.file); }

Status watch(const std::string& lease_file, int channel, const OpenLeased& open) {
  const auto announced = read_lease(lease_file);
  auto machine = announced ? open(*announced) : Result<Machine>(fail(announced.error()));
  if (!machine) {
    say_unready(channel, machine.error().message);
    return fail(machine.error());
  }
  if (!wait_for_holder(channel)) return {};  // it gave back itself
  // Only now: the holder wrote down what it touched as it went.
  auto record = read_lease(lease_file);
  if (!record && !is_there(lease_file)) return {};
  if (!record) {
    // Damaged since: everything that the holder could have changed goes back.
    record = *announced;
    for (LeasedGpu& gpu : record->gpus)
      gpu.core_touched = gpu.memory_touched = gpu.limit_touched = true;
  }
  std::vector<Gpu*> gpus;
  for (const auto& gpu : machine->gpus) gpus.push_back(gpu.get());
  Status outcome;
  for (const GivenBack& entry : gpu::give_back(*record, gpus)) {
    if (entry.failure && outcome) outcome = fail(*entry.failure);
  }
  if (outcome) outcome = remove_lease(lease_file);
  return outcome;
}

}  // namespace ergon::gpu
