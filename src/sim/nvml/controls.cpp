// Clocks and limits: what is supported, what is set, what is in force.
// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
#include <algorithm>
#include <cmath>

#include "exports.hpp"
#include "session.hpp"

namespace nvml = ergon::gpu_abi::nvml;
using ergon::sim::BoardView;
using ergon::sim::CallFault;
using ergon::sim::CallKind;
using ergon::sim::give_list;
using ergon::sim::Nanoseconds;
using ergon::sim::Session;
using ergon::sim::Target;
using ergon::sim::with_device;
using nvml::ClockId;
using nvml::ClockType;
using nvml::Device;
using nvml::Return;

namespace {

std::uint32_t whole(double value) { return static_cast<std::uint32_t>(std::lround(value)); }

double call_time(bool lock) {
  const auto machine = Session::get().machine();
  if (machine == nullptr) return 0;
  const ergon::sim::CallTimes& times = machine->config().model->calls;
  return lock ? times.lock_s : times.limit_s;
}

// A video clock follows the core clock at about this ratio.
constexpr double kVideoRatio = 0.9;

Return clock_of(ClockType type, double core, double memory, std::uint32_t* mhz) {
  switch (type) {
    case ClockType::kGraphics:
    case ClockType::kSm:
      *mhz = whole(core);
      return Return::kSuccess;
    case ClockType::kMemory:
      *mhz = whole(memory);
      return Return::kSuccess;
    case ClockType::kVideo:
      *mhz = whole(core * kVideoRatio);
      return Return::kSuccess;
    default:
      return Return::kInvalidArgument;
  }
}

Return get_limit(Device device, std::uint32_t* milliwatts, double (*watts)(const BoardView&)) {
  if (milliwatts == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kPower, [&](BoardView& view, Nanoseconds, Target) {
    *milliwatts = whole(watts(view) * 1000);
    return Return::kSuccess;
  });
}

}  // namespace

Return nvmlDeviceGetClockInfo(Device device, ClockType type, std::uint32_t* mhz) {
  if (mhz == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    return clock_of(type, view.board().sm_mhz, view.board().memory_mhz, mhz);
  });
}
Return nvmlDeviceGetMaxClockInfo(Device device, ClockType type, std::uint32_t* mhz) {
  if (mhz == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    return clock_of(type, view.model().clocks.sm_max, view.model().clocks.memory.front(), mhz);
  });
}
Return nvmlDeviceGetClock(Device device, ClockType type, ClockId id, std::uint32_t* mhz) {
  if (mhz == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    if (Session::get().fault(CallFault::kNotSupported)) return Return::kNotSupported;
    const auto& clocks = view.model().clocks;
    switch (id) {
      case ClockId::kCurrent:
        return clock_of(type, view.board().sm_mhz, view.board().memory_mhz, mhz);
      case ClockId::kAppTarget:
      case ClockId::kAppDefault:
        return clock_of(type, clocks.boost, clocks.memory.front(), mhz);
      case ClockId::kBoostMax:
        return clock_of(type, clocks.sm_max, clocks.memory.front(), mhz);
      default:
        return Return::kInvalidArgument;
    }
  });
}
Return nvmlDeviceGetMaxCustomerBoostClock(Device device, ClockType type, std::uint32_t* mhz) {
  return nvmlDeviceGetClock(device, type, ClockId::kBoostMax, mhz);
}
Return nvmlDeviceGetApplicationsClock(Device device, ClockType type, std::uint32_t* mhz) {
  return nvmlDeviceGetClock(device, type, ClockId::kAppTarget, mhz);
}
Return nvmlDeviceGetDefaultApplicationsClock(Device device, ClockType type, std::uint32_t* mhz) {
  return nvmlDeviceGetClock(device, type, ClockId::kAppDefault, mhz);
}
// Application clocks are on their way out (DESIGN: locked clocks); this driver has given them up
// already.
Return nvmlDeviceSetApplicationsClocks(Device device, std::uint32_t /*memory_mhz*/,
                                       std::uint32_t /*graphics_mhz*/) {
  return with_device(device, CallKind::kSetter,
                     [](BoardView&, Nanoseconds, Target) { return Return::kDeprecated; });
}
Return nvmlDeviceResetApplicationsClocks(Device device) {
  return nvmlDeviceSetApplicationsClocks(device, 0, 0);
}

Return nvmlDeviceGetSupportedMemoryClocks(Device device, std::uint32_t* count, std::uint32_t* mhz) {
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    std::vector<std::uint32_t> clocks;
    for (const double clock : view.model().clocks.memory) clocks.push_back(whole(clock));
    return give_list(clocks, count, mhz);
  });
}
Return nvmlDeviceGetSupportedGraphicsClocks(Device device, std::uint32_t memory_mhz,
                                            std::uint32_t* count, std::uint32_t* mhz) {
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    const auto& memory = view.model().clocks.memory;
    if (std::ranges::none_of(memory, [&](double m) { return whole(m) == memory_mhz; }))
      return Return::kNotFound;
    std::vector<std::uint32_t> clocks;
    for (const double clock : ergon::sim::supported_clocks(view.model()))
      clocks.push_back(whole(clock));
    std::ranges::reverse(clocks);
    return give_list(clocks, count, mhz);
  });
}

Return nvmlDeviceSetGpuLockedClocks(Device device, std::uint32_t min_mhz, std::uint32_t max_mhz) {
  return with_device(device, CallKind::kSetter, call_time(true),
                     [&](BoardView& view, Nanoseconds now, Target) {
                       if (min_mhz > max_mhz || max_mhz == 0) return Return::kInvalidArgument;
                       view.lock_clocks(min_mhz, max_mhz, now);
                       return Return::kSuccess;
                     });
}
Return nvmlDeviceResetGpuLockedClocks(Device device) {
  return with_device(device, CallKind::kSetter, call_time(true),
                     [&](BoardView& view, Nanoseconds now, Target) {
                       view.unlock_clocks(now);
                       return Return::kSuccess;
                     });
}
Return nvmlDeviceSetMemoryLockedClocks(Device device, std::uint32_t min_mhz,
                                       std::uint32_t max_mhz) {
  return with_device(
      device, CallKind::kSetter, call_time(true), [&](BoardView& view, Nanoseconds now, Target) {
        if (!view.model().clocks.memory_lock ||
            Session::get().fault(CallFault::kMemoryLockUnsupported)) {
          return Return::kNotSupported;
        }
        if (min_mhz > max_mhz || max_mhz == 0) return Return::kInvalidArgument;
        // The highest supported clock within the range; a range without one is lowered to the next
        // below.
        const auto& memory = view.model().clocks.memory;
        const auto found = std::ranges::find_if(memory, [&](double m) { return m <= max_mhz; });
        view.lock_memory(found == memory.end() ? memory.back() : *found, now);
        return Return::kSuccess;
      });
}
Return nvmlDeviceResetMemoryLockedClocks(Device device) {
  return with_device(device, CallKind::kSetter, call_time(true),
                     [&](BoardView& view, Nanoseconds now, Target) {
                       if (!view.model().clocks.memory_lock ||
                           Session::get().fault(CallFault::kMemoryLockUnsupported)) {
                         return Return::kNotSupported;
                       }
                       view.lock_memory(0, now);
                       return Return::kSuccess;
                     });
}

Return nvmlDeviceGetPowerManagementMode(Device device, std::uint32_t* mode) {
  if (mode == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kPower, [&](BoardView&, Nanoseconds, Target) {
    *mode = 1;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetPowerManagementLimit(Device device, std::uint32_t* milliwatts) {
  return get_limit(device, milliwatts, [](const BoardView& view) { return view.board().limit_w; });
}
Return nvmlDeviceGetEnforcedPowerLimit(Device device, std::uint32_t* milliwatts) {
  return get_limit(device, milliwatts, [](const BoardView& view) { return view.board().limit_w; });
}
Return nvmlDeviceGetPowerManagementDefaultLimit(Device device, std::uint32_t* milliwatts) {
  return get_limit(device, milliwatts,
                   [](const BoardView& view) { return view.model().power.limit_default; });
}
Return nvmlDeviceGetPowerManagementLimitConstraints(Device device, std::uint32_t* min_mw,
                                                    std::uint32_t* max_mw) {
  if (max_mw == nullptr) return Return::kInvalidArgument;
  *max_mw = 0;
  const Return status =
      get_limit(device, min_mw, [](const BoardView& view) { return view.model().power.limit_min; });
  if (status != Return::kSuccess) return status;
  return get_limit(device, max_mw,
                   [](const BoardView& view) { return view.model().power.limit_max; });
}
Return nvmlDeviceSetPowerManagementLimit(Device device, std::uint32_t milliwatts) {
  return with_device(device, CallKind::kSetter, call_time(false),
                     [&](BoardView& view, Nanoseconds now, Target) {
                       if (Session::get().fault(CallFault::kPowerNa)) return Return::kNotSupported;
                       const auto& power = view.model().power;
                       if (milliwatts < whole(power.limit_min * 1000) ||
                           milliwatts > whole(power.limit_max * 1000)) {
                         return Return::kInvalidArgument;
                       }
                       view.set_limit(milliwatts / 1000.0, now);
                       return Return::kSuccess;
                     });
}
Return nvmlDeviceSetPowerManagementLimit_v2(Device device, nvml::PowerValueV2* value) {
  if (value == nullptr) return Return::kInvalidArgument;
  if (value->version != nvml::struct_version<nvml::PowerValueV2>(2))
    return Return::kArgumentVersionMismatch;
  if (value->scope != static_cast<std::uint32_t>(nvml::PowerScope::kGpu))
    return Return::kNotSupported;
  return nvmlDeviceSetPowerManagementLimit(device, value->milliwatts);
}

Return nvmlDeviceGetPersistenceMode(Device device, std::uint32_t* mode) {
  if (mode == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    *mode = view.board().persistence;
    return Return::kSuccess;
  });
}
Return nvmlDeviceSetPersistenceMode(Device device, std::uint32_t mode) {
  return with_device(device, CallKind::kSetter, call_time(false),
                     [&](BoardView& view, Nanoseconds, Target) {
                       view.set_persistence(mode != 0);
                       return Return::kSuccess;
                     });
}
// NOLINTEND(readability-identifier-naming)
