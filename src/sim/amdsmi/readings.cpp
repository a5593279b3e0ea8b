// Power, energy, temperature, throttling, use on AMD's side.
#include <cmath>

#include "exports.hpp"
#include "values.hpp"

namespace amdsmi = ergon::gpu_abi::amdsmi;
using amdsmi::Processor;
using amdsmi::Status;
using ergon::sim::BoardView;
using ergon::sim::CallFault;
using ergon::sim::CallKind;
using ergon::sim::Job;
using ergon::sim::JobState;
using ergon::sim::Nanoseconds;
using ergon::sim::PowerReading;
using ergon::sim::Session;
using ergon::sim::Target;
using ergon::sim::translated;
using ergon::sim::with_processor;

namespace {

// Of the energy accumulator of MI200 and MI300, as ROCm documents it: 2^-16 J.
constexpr float kMicrojoulesPerCount = 15.259F;
constexpr std::uint64_t kJobBytes = 1'073'741'824;
constexpr std::uint32_t kNotAvailable = 0xffff;

std::uint64_t used_bytes(const BoardView& view) {
  std::uint64_t used = 300'000'000;
  for (const Job& job : view.board().jobs) used += job.state != JobState::kFree ? kJobBytes : 0;
  return used;
}

}  // namespace

Status amdsmi_get_energy_count(Processor processor, std::uint64_t* count,
                               float* microjoules_per_count, std::uint64_t* timestamp_ns) {
  if (count == nullptr || microjoules_per_count == nullptr || timestamp_ns == nullptr)
    return Status::kInvalid;
  return with_processor(
      processor, CallKind::kEnergy, [&](BoardView& view, Nanoseconds now, Target) {
        std::uint64_t mj = 0;
        const Status status = translated(ergon::sim::energy_mj(view, now, mj));
        if (status != Status::kSuccess) return status;
        *count = static_cast<std::uint64_t>(static_cast<double>(mj) * 1000 /
                                            static_cast<double>(kMicrojoulesPerCount));
        *microjoules_per_count = kMicrojoulesPerCount;
        *timestamp_ns = static_cast<std::uint64_t>(ergon::sim::counter_reading(view, now).at);
        return Status::kSuccess;
      });
}

Status amdsmi_get_power_info(Processor processor, amdsmi::PowerInfo* info) {
  if (info == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kPower, [&](BoardView& view, Nanoseconds now, Target) {
    *info = amdsmi::PowerInfo{};
    std::uint32_t mw = 0;
    const Status status =
        translated(ergon::sim::power_mw(view, now, PowerReading::kInstant, false, mw));
    if (status != Status::kSuccess) return status;
    const auto watts = static_cast<std::uint32_t>(std::lround(mw / 1000.0));
    info->socket_power = watts;
    info->current_socket_power = watts;
    info->average_socket_power = kNotAvailable;  // MI300 reports the present power alone
    info->gfx_voltage = kNotAvailable;
    info->soc_voltage = kNotAvailable;
    info->mem_voltage = kNotAvailable;
    info->power_limit = static_cast<std::uint32_t>(std::lround(view.board().limit_w));
    return Status::kSuccess;
  });
}

Status amdsmi_get_temp_metric(Processor processor, amdsmi::TemperatureType type,
                              amdsmi::TemperatureMetric metric, std::int64_t* celsius) {
  if (celsius == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    const bool hotspot = type == amdsmi::TemperatureType::kHotspot;
    if (!hotspot && type != amdsmi::TemperatureType::kVram)
      return Status::kNotSupported;  // MI300 has no edge sensor
    if (metric == amdsmi::TemperatureMetric::kCritical) {
      *celsius = static_cast<std::int64_t>(view.model().thermal.slowdown_c);
      return Status::kSuccess;
    }
    if (metric != amdsmi::TemperatureMetric::kCurrent) return Status::kNotSupported;
    *celsius = ergon::sim::celsius(view) - (hotspot ? 0 : 4);
    return Status::kSuccess;
  });
}

Status amdsmi_get_violation_status(Processor processor, amdsmi::ViolationStatus* status) {
  if (status == nullptr) return Status::kInvalid;
  return with_processor(
      processor, CallKind::kReading, [&](BoardView& view, Nanoseconds now, Target) {
        *status = amdsmi::ViolationStatus{};
        const std::uint64_t bits = ergon::sim::reasons(view);
        status->reference_timestamp = ergon::sim::epoch_us(now);
        status->violation_timestamp = status->reference_timestamp;
        // Accumulators count milliseconds of the firmware's loop.
        status->acc_counter = static_cast<std::uint64_t>((now - view.board().created) / 1'000'000);
        status->acc_power = static_cast<std::uint64_t>(view.capped_ns_at(now) / 1'000'000);
        status->acc_socket_thermal =
            static_cast<std::uint64_t>(view.thermal_ns_at(now) / 1'000'000);
        status->active_power = (bits & ergon::sim::kReasonPowerCap) != 0 ? 1 : 0;
        status->active_socket_thermal = (bits & ergon::sim::kReasonThermal) != 0 ? 1 : 0;
        status->per_power = status->active_power != 0 ? 100 : 0;
        status->per_socket_thermal = status->active_socket_thermal != 0 ? 100 : 0;
        return Status::kSuccess;
      });
}

Status amdsmi_get_gpu_activity(Processor processor, amdsmi::EngineUsage* usage) {
  if (usage == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading,
                        [&](BoardView& view, Nanoseconds now, Target) {
                          const auto shares = ergon::sim::utilization(view, now);
                          *usage = amdsmi::EngineUsage{};
                          usage->gfx = static_cast<std::uint32_t>(std::lround(100 * shares.busy));
                          usage->umc = static_cast<std::uint32_t>(std::lround(100 * shares.memory));
                          return Status::kSuccess;
                        });
}

Status amdsmi_get_gpu_vram_usage(Processor processor, amdsmi::VramUsage* usage) {
  if (usage == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    constexpr std::uint64_t kMb = 1'048'576;
    *usage = {static_cast<std::uint32_t>(view.model().identity.memory_bytes / kMb),
              static_cast<std::uint32_t>(used_bytes(view) / kMb),
              {}};
    return Status::kSuccess;
  });
}

Status amdsmi_get_gpu_memory_total(Processor processor, amdsmi::MemoryType type,
                                   std::uint64_t* bytes) {
  if (bytes == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    if (type != amdsmi::MemoryType::kVram) return Status::kNotSupported;
    *bytes = view.model().identity.memory_bytes;
    return Status::kSuccess;
  });
}

Status amdsmi_get_gpu_memory_usage(Processor processor, amdsmi::MemoryType type,
                                   std::uint64_t* bytes) {
  if (bytes == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    if (type != amdsmi::MemoryType::kVram) return Status::kNotSupported;
    *bytes = used_bytes(view);
    return Status::kSuccess;
  });
}

Status amdsmi_get_gpu_process_list(Processor processor, std::uint32_t* count,
                                   amdsmi::ProcessInfo* list) {
  if (count == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kProcess, [&](BoardView& view, Nanoseconds, Target) {
    std::uint32_t found = 0;
    for (const Job& job : view.board().jobs) {
      if (job.state == JobState::kFree) continue;
      if (list != nullptr && found < *count) {
        list[found] = amdsmi::ProcessInfo{};
        list[found].pid = static_cast<std::uint32_t>(job.pid);
        list[found].memory = list[found].memory_usage.vram = kJobBytes;
        ergon::sim::set_text(list[found].name, ergon::sim::process_name(job.pid));
      }
      ++found;
    }
    const bool cut = list != nullptr && found > *count;
    *count = found;
    return cut ? Status::kInsufficientSize : Status::kSuccess;
  });
}
