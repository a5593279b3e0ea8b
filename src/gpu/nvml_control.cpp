// What a GPU behind NVML can be told, what it lists, and who uses it.
#include <algorithm>
#include <array>
#include <cmath>

#include "nvml_gpu.hpp"

namespace ergon::gpu::nvml {
namespace {

std::uint32_t megahertz(Hertz clock) {
  return static_cast<std::uint32_t>(std::llround(clock.si() * 1e-6));
}

std::string lock_name(Domain domain) {
  return std::string("locking the ") + to_string(domain) + " clock";
}

}  // namespace

Result<std::vector<Hertz>> NvmlGpu::supported_clocks(Domain domain,
                                                     std::optional<Hertz> at_memory) {
  const auto to_hertz = [](const std::vector<std::uint32_t>& megahertz_list) {
    std::vector<Hertz> clocks;
    clocks.reserve(megahertz_list.size());
    for (const std::uint32_t clock : megahertz_list) clocks.emplace_back(clock * 1e6);
    std::ranges::sort(clocks, {}, &Hertz::si);
    const auto same = std::ranges::unique(clocks, {}, &Hertz::si);
    clocks.erase(same.begin(), same.end());
    return clocks;
  };
  const std::string what = std::string("the list of ") + to_string(domain) + " clocks";
  auto* memory = nvml_->nvmlDeviceGetSupportedMemoryClocks;
  auto* core = nvml_->nvmlDeviceGetSupportedGraphicsClocks;
  if (memory == nullptr || core == nullptr)
    return fail(error(abi::Return::kFunctionNotFound, what));
  std::uint32_t at = 0;
  if (domain == Domain::kMemory || !at_memory) {
    ERGON_TRY(const auto memory_clocks,
              list<std::uint32_t>(what, [&](std::uint32_t* count, std::uint32_t* items) {
                return memory(handles_.sensors, count, items);
              }));
    if (memory_clocks.empty()) return fail(error(abi::Return::kNotSupported, what));
    if (domain == Domain::kMemory) return to_hertz(memory_clocks);
    at = std::ranges::max(memory_clocks);
  } else {
    at = megahertz(*at_memory);
  }
  ERGON_TRY(const auto core_clocks,
            list<std::uint32_t>(what, [&](std::uint32_t* count, std::uint32_t* items) {
              return core(handles_.sensors, at, count, items);
            }));
  return to_hertz(core_clocks);
}

Result<Hertz> NvmlGpu::maximum_clock(Domain domain) {
  std::uint32_t highest = 0;
  ERGON_TRY_STATUS(call(std::string("the highest ") + to_string(domain) + " clock",
                        nvml_->nvmlDeviceGetMaxClockInfo, handles_.sensors,
                        domain == Domain::kCore ? abi::ClockType::kSm : abi::ClockType::kMemory,
                        &highest));
  return Hertz(highest * 1e6);
}

Result<Mig> NvmlGpu::mig() {
  std::uint32_t current = 0;
  std::uint32_t pending = 0;
  ERGON_TRY_STATUS(call("MIG", nvml_->nvmlDeviceGetMigMode, handles_.sensors, &current, &pending));
  Mig found;
  found.enabled = current == 1;
  if (!found.enabled) return found;
  std::uint32_t most = 0;
  ERGON_TRY_STATUS(call("the number of MIG instances", nvml_->nvmlDeviceGetMaxMigDeviceCount,
                        handles_.sensors, &most));
  for (std::uint32_t i = 0; i < std::min(most, 64U); ++i) {
    abi::Device instance = nullptr;
    std::array<char, abi::kUuidBytes> uuid{};
    if (!call("", nvml_->nvmlDeviceGetMigDeviceHandleByIndex, handles_.sensors, i, &instance))
      continue;  // a slot without an instance
    ERGON_TRY_STATUS(call("the UUID of a MIG instance", nvml_->nvmlDeviceGetUUID, instance,
                          uuid.data(), abi::kUuidBytes));
    found.instances.emplace_back(uuid.data());
  }
  return found;
}

Result<std::vector<Process>> NvmlGpu::processes() {
  auto* function = nvml_->nvmlDeviceGetComputeRunningProcesses_v3 != nullptr
                       ? nvml_->nvmlDeviceGetComputeRunningProcesses_v3
                       : nvml_->nvmlDeviceGetComputeRunningProcesses_v2;
  const std::string what = "the list of running processes";
  if (function == nullptr) return fail(error(abi::Return::kFunctionNotFound, what));
  ERGON_TRY(const auto running,
            list<abi::ProcessInfo>(what, [&](std::uint32_t* count, abi::ProcessInfo* items) {
              return function(handles_.parts, count, items);
            }));
  std::vector<Process> found;
  for (const auto& process : running) {
    Process entry{.pid = process.pid, .memory_bytes = {}};
    if (process.used_gpu_memory != abi::kValueNotAvailable)
      entry.memory_bytes = process.used_gpu_memory;
    found.push_back(entry);
  }
  return found;
}

Result<std::vector<Process>> NvmlGpu::recent_processes(std::int64_t utc_us) {
  const std::string what = "who kept the GPU busy";
  auto* function = nvml_->nvmlDeviceGetProcessUtilization;
  if (function == nullptr) return fail(error(abi::Return::kFunctionNotFound, what));
  abi::Return last = kSuccess;
  const auto samples = list<abi::ProcessUtilizationSample>(
      what, [&](std::uint32_t* count, abi::ProcessUtilizationSample* items) {
        last = function(handles_.parts, items, count, static_cast<std::uint64_t>(utc_us));
        return last;
      });
  std::vector<Process> found;
  if (!samples && last == abi::Return::kNotFound) return found;
  if (!samples) return fail(samples.error());
  for (const auto& sample : *samples) {
    const bool worked = (sample.sm | sample.memory | sample.encoder | sample.decoder) != 0;
    const bool after = sample.timestamp_us > static_cast<std::uint64_t>(utc_us);
    if (!worked || !after || sample.pid == 0) continue;
    if (std::ranges::find(found, sample.pid, &Process::pid) == found.end())
      found.push_back({.pid = sample.pid, .memory_bytes = {}});
  }
  return found;
}

Status NvmlGpu::whole_board_only(const std::string& what) const {
  if (handles_.parts == handles_.sensors) return {};
  return fail(Errc::kUnsupported,
              what + " acts on the whole GPU, and " + identity_.id + " is a MIG instance of it",
              "select the GPU itself: " + identity_.mig_parent_uuid);
}

Status NvmlGpu::lock_clocks(Domain domain, Hertz low, Hertz high) {
  ERGON_TRY_STATUS(whole_board_only(lock_name(domain)));
  if (low > high || low.si() <= 0)
    return fail(Errc::kInvalidArgument, "a clock range needs a lower and a higher end above zero");
  return call(lock_name(domain),
              domain == Domain::kCore ? nvml_->nvmlDeviceSetGpuLockedClocks
                                      : nvml_->nvmlDeviceSetMemoryLockedClocks,
              handles_.sensors, megahertz(low), megahertz(high));
}

Status NvmlGpu::reset_clocks(Domain domain) {
  ERGON_TRY_STATUS(whole_board_only(lock_name(domain)));
  return call(std::string("giving back the ") + to_string(domain) + " clock",
              domain == Domain::kCore ? nvml_->nvmlDeviceResetGpuLockedClocks
                                      : nvml_->nvmlDeviceResetMemoryLockedClocks,
              handles_.sensors);
}

Status NvmlGpu::set_power_limit(Watts limit) {
  ERGON_TRY_STATUS(whole_board_only("the power limit"));
  const double milliwatts = limit.si() * 1e3;
  if (!(milliwatts > 0 && milliwatts < 1e8))
    return fail(Errc::kInvalidArgument, "a power limit must be above zero");
  return call("setting the power limit", nvml_->nvmlDeviceSetPowerManagementLimit, handles_.sensors,
              static_cast<std::uint32_t>(std::llround(milliwatts)));
}

Status NvmlGpu::probe_control() {
  ERGON_TRY_STATUS(whole_board_only("control"));
  // Both need the right that locking clocks needs. Persistence mode exists on every board.
  std::uint32_t mode = 0;
  if (call("", nvml_->nvmlDeviceGetPersistenceMode, handles_.sensors, &mode)) {
    const auto kept = call("changing clocks and limits", nvml_->nvmlDeviceSetPersistenceMode,
                           handles_.sensors, mode);
    if (kept || kept.error().code == Errc::kPermission) return kept;
  }
  std::uint32_t milliwatts = 0;
  ERGON_TRY_STATUS(call("the power limit", nvml_->nvmlDeviceGetPowerManagementLimit,
                        handles_.sensors, &milliwatts));
  return call("changing clocks and limits", nvml_->nvmlDeviceSetPowerManagementLimit,
              handles_.sensors, milliwatts);
}

}  // namespace ergon::gpu::nvml
