// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
#include <algorithm>
#include <cmath>

#include "exports.hpp"
#include "values.hpp"

namespace nvml = ergon::gpu_abi::nvml;
using nvml::ClockType;
using nvml::Device;
using nvml::Field;
using nvml::FieldValue;
using nvml::PerfPolicy;
using nvml::PowerScope;
using nvml::Return;
using nvml::Sample;
using nvml::SampleKind;
using nvml::ValueType;

namespace ergon::sim {
namespace {

Return set_uint(FieldValue& field, std::uint32_t value) {
  field.type = ValueType::kUint;
  field.value.as_uint = value;
  return Return::kSuccess;
}
Return set_ullong(FieldValue& field, std::uint64_t value) {
  field.type = ValueType::kUllong;
  field.value.as_ullong = value;
  return Return::kSuccess;
}

Return power_field(BoardView& view, Nanoseconds now, FieldValue& field) {
  if (Session::get().fault(CallFault::kNotSupported)) return Return::kNotSupported;
  const bool memory = field.scope == static_cast<std::uint32_t>(PowerScope::kMemory);
  if (!memory && field.scope != static_cast<std::uint32_t>(PowerScope::kGpu))
    return Return::kNotSupported;
  const bool instant = field.field == static_cast<std::uint32_t>(Field::kPowerInstant);
  std::uint32_t mw = 0;
  const Return status =
      power_mw(view, now, instant ? PowerReading::kInstant : PowerReading::kAverage, memory, mw);
  return status == Return::kSuccess ? set_uint(field, mw) : status;
}

std::uint32_t milliwatts(double watts) {
  return static_cast<std::uint32_t>(std::lround(watts * 1000));
}

Return one_field(BoardView& view, Nanoseconds now, FieldValue& field) {
  Session& session = Session::get();
  const bool no_power = session.fault(CallFault::kPowerNa) || session.fault(CallFault::kPartial);
  const PowerSpec& power = view.model().power;
  switch (static_cast<Field>(field.field)) {
    case Field::kPowerAverage:
    case Field::kPowerInstant:
      return no_power ? Return::kNotSupported : power_field(view, now, field);
    case Field::kPowerMinLimit:
      return no_power ? Return::kNotSupported : set_uint(field, milliwatts(power.limit_min));
    case Field::kPowerMaxLimit:
      return no_power ? Return::kNotSupported : set_uint(field, milliwatts(power.limit_max));
    case Field::kPowerDefaultLimit:
      return no_power ? Return::kNotSupported : set_uint(field, milliwatts(power.limit_default));
    case Field::kPowerCurrentLimit:
    case Field::kPowerRequestedLimit:
      return no_power ? Return::kNotSupported : set_uint(field, milliwatts(view.board().limit_w));
    case Field::kTotalEnergy: {
      if (session.fault(CallFault::kPartial) || session.fault(CallFault::kNoEnergyCounter))
        return Return::kNotSupported;
      std::uint64_t mj = 0;
      const Return status = energy_mj(view, now, mj);
      return status == Return::kSuccess ? set_ullong(field, mj) : status;
    }
    case Field::kMemoryTemperature: {
      const std::uint32_t value = memory_celsius(view);
      if (value == 0 || session.fault(CallFault::kNotSupported)) return Return::kNotSupported;
      return set_uint(field, value);
    }
    case Field::kPerfPolicyPower:
      return set_ullong(field, static_cast<std::uint64_t>(view.capped_ns_at(now)));
    case Field::kPerfPolicyThermal:
    case Field::kReasonSwThermalSlowdown:
      return set_ullong(field, static_cast<std::uint64_t>(view.thermal_ns_at(now)));
    case Field::kPerfPolicySyncBoost:
    case Field::kPerfPolicyBoardLimit:
    case Field::kPerfPolicyReliability:
    case Field::kReasonHwThermalSlowdown:
    case Field::kReasonHwPowerBrakeSlowdown:
      return set_ullong(field, 0);
    default:
      return Return::kNotSupported;
  }
}

// The clocks at a time, from the history.
ClockMark clocks_at(const BoardView& view, Nanoseconds at) {
  const std::uint64_t count = view.board().clock_marks;
  const std::uint64_t first =
      count > kClockHistoryLength - 8 ? count - (kClockHistoryLength - 8) : 0;
  ClockMark found = view.store().clocks[first % kClockHistoryLength];
  for (std::uint64_t k = count; k > first; --k) {
    const ClockMark& mark = view.store().clocks[(k - 1) % kClockHistoryLength];
    if (mark.at <= at) return mark;
  }
  return found;
}

std::uint32_t sample_value(const BoardView& view, SampleKind kind, const Reading& reading) {
  switch (kind) {
    case SampleKind::kGpuUtilization:
      return static_cast<std::uint32_t>(std::lround(100 * utilization(view, reading.at).busy));
    case SampleKind::kMemoryUtilization:
      return static_cast<std::uint32_t>(std::lround(100 * utilization(view, reading.at).memory));
    case SampleKind::kProcessorClock:
      return static_cast<std::uint32_t>(clocks_at(view, reading.at).sm_mhz);
    case SampleKind::kMemoryClock:
      return static_cast<std::uint32_t>(clocks_at(view, reading.at).memory_mhz);
    default:
      return milliwatts(reading.value);
  }
}

}  // namespace
}  // namespace ergon::sim

using ergon::sim::BoardView;
using ergon::sim::CallFault;
using ergon::sim::CallKind;
using ergon::sim::Nanoseconds;
using ergon::sim::Session;
using ergon::sim::Target;
using ergon::sim::with_device;

Return nvmlDeviceGetPowerUsage(Device device, std::uint32_t* milliwatts) {
  if (milliwatts == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kPower, [&](BoardView& view, Nanoseconds now, Target) {
    return ergon::sim::power_mw(view, now, ergon::sim::usage_kind(view.model()), false,
                                *milliwatts);
  });
}

Return nvmlDeviceGetTotalEnergyConsumption(Device device, std::uint64_t* millijoules) {
  if (millijoules == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kEnergy, [&](BoardView& view, Nanoseconds now, Target) {
    return ergon::sim::energy_mj(view, now, *millijoules);
  });
}

Return nvmlDeviceGetFieldValues(Device device, std::int32_t count, FieldValue* fields) {
  if (fields == nullptr || count <= 0) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds now, Target) {
    const auto stamp = static_cast<std::int64_t>(ergon::sim::epoch_us(now));
    for (std::int32_t k = 0; k < count; ++k) {
      fields[k].timestamp_us = stamp;
      fields[k].latency_us = 0;
      fields[k].value.as_ullong = 0;
      fields[k].status = ergon::sim::one_field(view, now, fields[k]);
    }
    return Return::kSuccess;
  });
}

Return nvmlDeviceGetSamples(Device device, SampleKind kind, std::uint64_t last_seen_us,
                            ValueType* type, std::uint32_t* count, Sample* samples) {
  if (type == nullptr || count == nullptr) return Return::kInvalidArgument;
  constexpr std::uint32_t kBuffer = 120;
  const bool power = kind == SampleKind::kPower;
  return with_device(
      device, power ? CallKind::kPower : CallKind::kReading,
      [&](BoardView& view, Nanoseconds now, Target) {
        const bool known = power || kind == SampleKind::kGpuUtilization ||
                           kind == SampleKind::kMemoryUtilization ||
                           kind == SampleKind::kProcessorClock || kind == SampleKind::kMemoryClock;
        if (!known) return Return::kNotSupported;
        *type = ValueType::kUint;
        if (samples == nullptr) {
          *count = kBuffer;
          return Return::kSuccess;
        }
        const auto zero_us = ergon::sim::epoch_us(0);
        const Nanoseconds after = last_seen_us > zero_us
                                      ? static_cast<Nanoseconds>((last_seen_us - zero_us) * 1000)
                                      : Nanoseconds{0};
        const auto readings = ergon::sim::power_readings(view, ergon::sim::PowerReading::kInstant,
                                                         after, now, std::min(*count, kBuffer));
        if (readings.empty()) return Return::kNotFound;
        *count = static_cast<std::uint32_t>(readings.size());
        for (std::size_t k = 0; k < readings.size(); ++k) {
          samples[k].timestamp_us = ergon::sim::epoch_us(readings[k].at);
          samples[k].value.as_ullong = ergon::sim::sample_value(view, kind, readings[k]);
        }
        return Return::kSuccess;
      });
}

Return nvmlDeviceGetCurrentClocksEventReasons(Device device, std::uint64_t* bits) {
  if (bits == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    *bits = ergon::sim::reasons(view);
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, std::uint64_t* bits) {
  return nvmlDeviceGetCurrentClocksEventReasons(device, bits);
}
Return nvmlDeviceGetSupportedClocksEventReasons(Device device, std::uint64_t* bits) {
  if (bits == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView&, Nanoseconds, Target) {
    *bits = 0x1ff;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetSupportedClocksThrottleReasons(Device device, std::uint64_t* bits) {
  return nvmlDeviceGetSupportedClocksEventReasons(device, bits);
}

Return nvmlDeviceGetViolationStatus(Device device, PerfPolicy policy,
                                    nvml::ViolationTime* violation) {
  if (violation == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds now, Target) {
    violation->reference_us = ergon::sim::epoch_us(now);
    switch (policy) {
      case PerfPolicy::kPower:
        violation->violation_ns = static_cast<std::uint64_t>(view.capped_ns_at(now));
        break;
      case PerfPolicy::kThermal:
        violation->violation_ns = static_cast<std::uint64_t>(view.thermal_ns_at(now));
        break;
      default:
        violation->violation_ns = 0;
    }
    return Return::kSuccess;
  });
}

Return nvmlDeviceGetTemperature(Device device, std::uint32_t sensor, std::uint32_t* degrees) {
  if (degrees == nullptr || sensor != nvml::kTemperatureGpu) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    *degrees = static_cast<std::uint32_t>(ergon::sim::celsius(view));
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetTemperatureV(Device device, nvml::Temperature* temperature) {
  if (temperature == nullptr || temperature->sensor != nvml::kTemperatureGpu)
    return Return::kInvalidArgument;
  if (temperature->version != nvml::struct_version<nvml::Temperature>(1))
    return Return::kArgumentVersionMismatch;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    temperature->celsius = ergon::sim::celsius(view);
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetTemperatureThreshold(Device device, nvml::TemperatureThreshold threshold,
                                         std::uint32_t* degrees) {
  if (degrees == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds, Target) {
    const double slowdown = view.model().thermal.slowdown_c;
    switch (threshold) {
      case nvml::TemperatureThreshold::kShutdown:
        *degrees = static_cast<std::uint32_t>(slowdown + 5);
        break;
      case nvml::TemperatureThreshold::kSlowdown:
        *degrees = static_cast<std::uint32_t>(slowdown + 2);
        break;
      case nvml::TemperatureThreshold::kGpuMax:
        *degrees = static_cast<std::uint32_t>(slowdown);
        break;
      default:
        return Return::kNotSupported;
    }
    return Return::kSuccess;
  });
}

Return nvmlDeviceGetUtilizationRates(Device device, nvml::Utilization* rates) {
  if (rates == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kReading, [&](BoardView& view, Nanoseconds now, Target) {
    if (Session::get().fault(CallFault::kMig)) return Return::kNotSupported;
    const auto shares = ergon::sim::utilization(view, now);
    rates->gpu = static_cast<std::uint32_t>(std::lround(100 * shares.busy));
    rates->memory = static_cast<std::uint32_t>(std::lround(100 * shares.memory));
    return Return::kSuccess;
  });
}
// NOLINTEND(readability-identifier-naming)
