// Who uses a GPU and how much of it: processes, memory, states.
// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
#include <cmath>

#include "exports.hpp"
#include "session.hpp"

namespace nvml = ergon::gpu_abi::nvml;
using ergon::sim::BoardView;
using ergon::sim::CallFault;
using ergon::sim::CallKind;
using ergon::sim::give_list;
using ergon::sim::Job;
using ergon::sim::JobState;
using ergon::sim::Nanoseconds;
using ergon::sim::Session;
using ergon::sim::Target;
using ergon::sim::with_device;
using nvml::Device;
using nvml::Return;

namespace {

constexpr std::uint64_t kJobBytes = 1'073'741'824;  // what each process has allocated
constexpr std::uint64_t kReservedBytes = 536'870'912;
constexpr std::uint64_t kBar1Bytes = 65'536ULL * 1'048'576;

std::uint64_t used_bytes(const BoardView& view) {
  std::uint64_t used = 0;
  for (const Job& job : view.board().jobs) used += job.state != JobState::kFree ? kJobBytes : 0;
  return used;
}

template <class Info>
Return processes(Device device, std::uint32_t* count, Info* infos) {
  return with_device(device, CallKind::kProcess, [&](BoardView& view, Nanoseconds, Target target) {
    std::vector<Info> list;
    for (const Job& job : view.board().jobs) {
      if (job.state == JobState::kFree) continue;
      Info info{};
      info.pid = static_cast<std::uint32_t>(job.pid);
      info.used_gpu_memory = kJobBytes;
      if constexpr (std::is_same_v<Info, nvml::ProcessInfo>) {
        info.gpu_instance_id = target.instance < 0
                                   ? nvml::kNoInstance
                                   : static_cast<std::uint32_t>(target.instance) + 1;
        info.compute_instance_id = target.instance < 0 ? nvml::kNoInstance : 0;
      }
      list.push_back(info);
    }
    return give_list(list, count, infos);
  });
}

Return no_processes(Device device, std::uint32_t* count) {
  if (count == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kProcess, [&](BoardView&, Nanoseconds, Target) {
    *count = 0;
    return Return::kSuccess;
  });
}

Return constant(Device device, std::uint32_t* out, std::uint32_t value) {
  if (out == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView&, Nanoseconds, Target) {
    *out = value;
    return Return::kSuccess;
  });
}

}  // namespace

Return nvmlDeviceGetComputeRunningProcesses(Device device, std::uint32_t* count,
                                            nvml::ProcessInfoV1* infos) {
  return processes(device, count, infos);
}
Return nvmlDeviceGetComputeRunningProcesses_v2(Device device, std::uint32_t* count,
                                               nvml::ProcessInfo* infos) {
  return processes(device, count, infos);
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, std::uint32_t* count,
                                               nvml::ProcessInfo* infos) {
  return processes(device, count, infos);
}
Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, std::uint32_t* count,
                                                nvml::ProcessInfo* /*infos*/) {
  return no_processes(device, count);
}
Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, std::uint32_t* count,
                                                  nvml::ProcessInfo* /*infos*/) {
  return no_processes(device, count);
}

Return nvmlDeviceGetProcessUtilization(Device device, nvml::ProcessUtilizationSample* samples,
                                       std::uint32_t* count, std::uint64_t last_seen_us) {
  return with_device(device, CallKind::kProcess, [&](BoardView& view, Nanoseconds now, Target) {
    const std::uint64_t stamp = ergon::sim::epoch_us(now);
    const auto shares = ergon::sim::utilization(view, now);
    std::vector<nvml::ProcessUtilizationSample> list;
    for (const Job& job : view.board().jobs) {
      if (job.state != JobState::kRunning || stamp <= last_seen_us) continue;
      nvml::ProcessUtilizationSample sample{};
      sample.pid = static_cast<std::uint32_t>(job.pid);
      sample.timestamp_us = stamp;
      sample.sm = static_cast<std::uint32_t>(std::lround(100 * shares.busy));
      sample.memory = static_cast<std::uint32_t>(std::lround(100 * shares.memory));
      list.push_back(sample);
    }
    // Those that have ended, as long as they are remembered.
    for (const auto& done : view.board().ended) {
      const std::uint64_t ended = ergon::sim::epoch_us(done.at);
      if (done.pid == 0 || ended <= last_seen_us) continue;
      nvml::ProcessUtilizationSample sample{};
      sample.pid = static_cast<std::uint32_t>(done.pid);
      sample.timestamp_us = ended;
      sample.sm = 100;
      list.push_back(sample);
    }
    if (list.empty()) return Return::kNotFound;
    return give_list(list, count, samples);
  });
}

Return nvmlDeviceGetMemoryInfo(Device device, nvml::Memory* memory) {
  if (memory == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    memory->total = view.model().identity.memory_bytes;
    memory->used = used_bytes(view) + kReservedBytes;
    memory->free = memory->total - memory->used;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetMemoryInfo_v2(Device device, nvml::MemoryV2* memory) {
  if (memory == nullptr) return Return::kInvalidArgument;
  if (memory->version != nvml::struct_version<nvml::MemoryV2>(2))
    return Return::kArgumentVersionMismatch;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    memory->total = view.model().identity.memory_bytes;
    memory->reserved = kReservedBytes;
    memory->used = used_bytes(view);
    memory->free = memory->total - memory->used - memory->reserved;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetBAR1MemoryInfo(Device device, nvml::Bar1Memory* memory) {
  if (memory == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView&, Nanoseconds, Target) {
    *memory = {kBar1Bytes, kBar1Bytes - 1'048'576, 1'048'576};
    return Return::kSuccess;
  });
}

Return nvmlDeviceGetFanSpeed(Device device, std::uint32_t* percent) {
  if (percent == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    if (!view.model().identity.geforce)
      return Return::kNotSupported;  // the others are cooled by their host
    *percent = static_cast<std::uint32_t>(std::lround(view.board().temperature_c));
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetEncoderUtilization(Device device, std::uint32_t* percent,
                                       std::uint32_t* period_us) {
  if (period_us != nullptr) *period_us = 167'000;
  return constant(device, percent, 0);
}
Return nvmlDeviceGetDecoderUtilization(Device device, std::uint32_t* percent,
                                       std::uint32_t* period_us) {
  return nvmlDeviceGetEncoderUtilization(device, percent, period_us);
}
Return nvmlDeviceGetPerformanceState(Device device, std::uint32_t* state) {
  if (state == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    const auto& clocks = view.model().clocks;
    *state = view.board().memory_mhz < clocks.memory.front() && !view.working() ? 8 : 0;
    return Return::kSuccess;
  });
}
// A driver model is a thing of Windows.
Return nvmlDeviceGetDriverModel(Device device, std::uint32_t* /*current*/,
                                std::uint32_t* /*pending*/) {
  return with_device(device, CallKind::kIdentity,
                     [](BoardView&, Nanoseconds, Target) { return Return::kNotSupported; });
}
Return nvmlDeviceGetDriverModel_v2(Device device, std::uint32_t* current, std::uint32_t* pending) {
  return nvmlDeviceGetDriverModel(device, current, pending);
}
Return nvmlDeviceGetTotalEccErrors(Device device, std::uint32_t /*kind*/, std::uint32_t /*counter*/,
                                   std::uint64_t* errors) {
  if (errors == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    if (view.model().identity.geforce) return Return::kNotSupported;
    *errors = 0;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetComputeMode(Device device, std::uint32_t* mode) {
  return constant(device, mode, 0);
}
Return nvmlDeviceGetDisplayMode(Device device, std::uint32_t* mode) {
  return constant(device, mode, 0);
}
Return nvmlDeviceGetDisplayActive(Device device, std::uint32_t* mode) {
  return constant(device, mode, 0);
}
// NOLINTEND(readability-identifier-naming)
