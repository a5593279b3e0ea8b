// Readings of a GPU behind NVML: what the board says, with every return code read.
#include "nvml_gpu.hpp"

#include <array>
#include <cmath>

#include "plausible.hpp"

namespace ergon::gpu::nvml {
namespace {

abi::PowerScope scope_of(Scope scope) {
  switch (scope) {
    case Scope::kGpu:
      return abi::PowerScope::kGpu;
    case Scope::kModule:
      return abi::PowerScope::kModule;
    case Scope::kMemory:
      break;
  }
  return abi::PowerScope::kMemory;
}

abi::FieldValue entry(abi::Field id, abi::PowerScope scope) {
  abi::FieldValue value{};
  value.field = static_cast<std::uint32_t>(id);
  value.scope = static_cast<std::uint32_t>(scope);
  value.status = abi::Return::kUnknown;  // what the driver does not fill in has not succeeded
  return value;
}

std::string power_text(Scope scope, PowerKind kind) {
  return std::string(kind == PowerKind::kUsage ? "" : to_string(kind)) +
         (kind == PowerKind::kUsage ? "power of the " : " power of the ") + to_string(scope);
}

}  // namespace

double number_of(const abi::FieldValue& value) {
  switch (value.type) {
    case abi::ValueType::kDouble:
      return value.value.as_double;
    case abi::ValueType::kUint:
      return value.value.as_uint;
    case abi::ValueType::kUlong:
      return static_cast<double>(value.value.as_ulong);
    case abi::ValueType::kUllong:
      return static_cast<double>(value.value.as_ullong);
    case abi::ValueType::kSllong:
      return static_cast<double>(value.value.as_sllong);
    case abi::ValueType::kInt:
      return value.value.as_int;
    case abi::ValueType::kUshort:
      return value.value.as_ushort;
  }
  return -1;  // a type that this product does not know: implausible for every reading
}

NvmlGpu::NvmlGpu(std::shared_ptr<Nvml> nvml, Handles handles, Identity identity,
                 bool whole_second_usage, TimeSource now)
    : nvml_(std::move(nvml)),
      handles_(handles),
      identity_(std::move(identity)),
      whole_second_usage_(whole_second_usage),
      now_(std::move(now)) {}

Error NvmlGpu::error(abi::Return code, const std::string& what) const {
  return Nvml::error(code, what, identity_.id);
}

Result<double> NvmlGpu::field(abi::Field id, abi::PowerScope scope, const std::string& what) const {
  auto value = entry(id, scope);
  ERGON_TRY_STATUS(
      call(what, nvml_->nvmlDeviceGetFieldValues, handles_.sensors, std::int32_t{1}, &value));
  if (value.status != kSuccess) return fail(error(value.status, what));
  return number_of(value);
}

Result<Watts> NvmlGpu::checked_power(double milliwatts, const std::string& what) const {
  const double watts = milliwatts * 1e-3;
  if (!plausible_power(watts, maximum_limit_w_))
    return implausible(identity_.id, what, std::to_string(watts) + " W");
  return Watts(watts);
}

// Which calls give power and energy on this board: asked once.
void NvmlGpu::choose_sources() {
  if (chosen_) return;
  chosen_ = true;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  if (call("power limits", nvml_->nvmlDeviceGetPowerManagementLimitConstraints, handles_.sensors,
           &low, &high) &&
      high > 0 && high < 5'000'000) {
    maximum_limit_w_ = high * 1e-3;
  }
  energy_by_field_ =
      insist([&] {
        return field(abi::Field::kTotalEnergy, abi::PowerScope::kGpu, "the energy counter");
      }).has_value();
  const std::optional<Seconds> whole_second(Seconds(1));
  const std::optional<Seconds> no_average(Seconds(0));
  const std::array sources = {
      PowerSource{Scope::kGpu, PowerKind::kInstant, no_average,
                  "instantaneous power of the GPU (field 186)"},
      PowerSource{Scope::kGpu, PowerKind::kUsage, whole_second_usage_ ? whole_second : no_average,
                  whole_second_usage_ ? "power of the GPU, averaged over one second by the driver"
                                      : "instantaneous power of the GPU (power usage)"},
      PowerSource{Scope::kGpu, PowerKind::kAverage, whole_second,
                  "power of the GPU, averaged over one second by the driver (field 185)"},
      PowerSource{Scope::kModule, PowerKind::kInstant, no_average,
                  "instantaneous power of the whole module (field 186)"},
      PowerSource{Scope::kModule, PowerKind::kAverage, whole_second,
                  "power of the whole module, averaged over one second by the driver (field 185)"},
  };
  // Where the GPU's own power is refused but the module's is not, the counter is the module's too.
  const auto asked = [this](Scope scope, PowerKind kind) {
    return insist([&] { return power(scope, kind); });
  };
  const bool own_field = asked(Scope::kGpu, PowerKind::kInstant).has_value() ||
                         asked(Scope::kGpu, PowerKind::kAverage).has_value();
  if (!own_field && asked(Scope::kModule, PowerKind::kInstant)) energy_scope_ = Scope::kModule;
  for (const PowerSource& source : sources) {
    if (energy_scope_ == Scope::kModule && source.kind == PowerKind::kUsage) continue;
    const auto watts = asked(source.scope, source.kind);
    if (watts) {
      power_source_ = source;
      return;
    }
    // A reading that cannot be true does not make the next call's better; it says most, though.
    if (no_power_.message.empty() || watts.error().code == Errc::kDevice) no_power_ = watts.error();
  }
}

Result<PowerSource> NvmlGpu::power_source() {
  choose_sources();
  if (!power_source_) return fail(no_power_);
  return *power_source_;
}

Result<Scope> NvmlGpu::energy_scope() {
  choose_sources();
  return energy_scope_;
}

Result<Watts> NvmlGpu::power(Scope scope, PowerKind kind) {
  const std::string what = power_text(scope, kind);
  if (kind == PowerKind::kUsage) {
    if (scope != Scope::kGpu) return fail(error(abi::Return::kNotSupported, what));
    std::uint32_t milliwatts = 0;
    ERGON_TRY_STATUS(call(what, nvml_->nvmlDeviceGetPowerUsage, handles_.sensors, &milliwatts));
    return checked_power(milliwatts, what);
  }
  const auto id =
      kind == PowerKind::kInstant ? abi::Field::kPowerInstant : abi::Field::kPowerAverage;
  ERGON_TRY(const double milliwatts, field(id, scope_of(scope), what));
  return checked_power(milliwatts, what);
}

Result<EnergyReading> NvmlGpu::energy() {
  EnergyReading reading;
  std::uint64_t millijoules = 0;
  reading.begin_ns = now_();
  ERGON_TRY_STATUS(call("the energy counter", nvml_->nvmlDeviceGetTotalEnergyConsumption,
                        handles_.sensors, &millijoules));
  reading.end_ns = now_();
  if (!plausible_energy(static_cast<double>(millijoules) * 1e-3))
    return implausible(identity_.id, "the energy counter", std::to_string(millijoules) + " mJ");
  reading.microjoules = static_cast<std::int64_t>(millijoules) * 1000;
  return reading;
}

Result<Hertz> NvmlGpu::clock(Domain domain) {
  std::uint32_t megahertz = 0;
  const std::string what = std::string("the ") + to_string(domain) + " clock";
  ERGON_TRY_STATUS(call(what, nvml_->nvmlDeviceGetClockInfo, handles_.sensors,
                        domain == Domain::kCore ? abi::ClockType::kSm : abi::ClockType::kMemory,
                        &megahertz));
  const double hertz = megahertz * 1e6;
  if (!plausible_clock(hertz))
    return implausible(identity_.id, what, std::to_string(megahertz) + " MHz");
  return Hertz(hertz);
}

Result<Throttle> NvmlGpu::throttle() {
  auto* function = nvml_->nvmlDeviceGetCurrentClocksEventReasons != nullptr
                       ? nvml_->nvmlDeviceGetCurrentClocksEventReasons
                       : nvml_->nvmlDeviceGetCurrentClocksThrottleReasons;
  Throttle found;
  ERGON_TRY_STATUS(call("the throttle reasons", function, handles_.sensors, &found.bits));
  return found;
}

Result<std::vector<ThrottleCounter>> NvmlGpu::throttle_counters() {
  struct Counted {
    abi::Field field;
    std::uint64_t bit;
  };
  constexpr std::array kCounted = {
      Counted{abi::Field::kPerfPolicyPower, reason::kPowerCap},
      Counted{abi::Field::kPerfPolicySyncBoost, reason::kSyncBoost},
      Counted{abi::Field::kPerfPolicyBoardLimit, abi::kReasonBoardLimit},
      Counted{abi::Field::kPerfPolicyReliability, abi::kReasonReliability},
      Counted{abi::Field::kReasonSwThermalSlowdown, reason::kThermal},
      Counted{abi::Field::kReasonHwThermalSlowdown, reason::kHardwareThermal},
      Counted{abi::Field::kReasonHwPowerBrakeSlowdown, reason::kPowerBrake},
      // Older drivers count every thermal cause together.
      Counted{abi::Field::kPerfPolicyThermal, reason::kThermal},
  };
  std::array<abi::FieldValue, kCounted.size()> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = entry(kCounted[i].field, abi::PowerScope::kGpu);
  const std::string what = "counting throttled time";
  ERGON_TRY_STATUS(call(what, nvml_->nvmlDeviceGetFieldValues, handles_.sensors,
                        static_cast<std::int32_t>(values.size()), values.data()));
  std::vector<ThrottleCounter> counters;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double held = values[i].status == kSuccess ? number_of(values[i]) : -1;
    if (held < 0 || held > 9e18 || (seen & kCounted[i].bit) != 0) continue;
    seen |= kCounted[i].bit;
    counters.push_back({kCounted[i].bit, static_cast<Nanos>(held)});
  }
  if (counters.empty()) return fail(error(values[0].status, what));
  return counters;
}

Result<double> NvmlGpu::temperature_c() {
  std::uint32_t celsius = 0;
  ERGON_TRY_STATUS(call("the temperature", nvml_->nvmlDeviceGetTemperature, handles_.sensors,
                        abi::kTemperatureGpu, &celsius));
  if (!plausible_temperature(celsius))
    return implausible(identity_.id, "the temperature", std::to_string(celsius) + " \u00b0C");
  return static_cast<double>(celsius);
}

Result<PowerLimits> NvmlGpu::power_limits() {
  choose_sources();
  std::uint32_t milliwatts = 0;
  ERGON_TRY_STATUS(call("the power limit", nvml_->nvmlDeviceGetPowerManagementLimit,
                        handles_.sensors, &milliwatts));
  ERGON_TRY(const Watts current, checked_power(milliwatts, "the power limit"));
  PowerLimits limits{current, {}, {}, {}, {}};
  if (call("", nvml_->nvmlDeviceGetEnforcedPowerLimit, handles_.sensors, &milliwatts))
    limits.enforced = Watts(milliwatts * 1e-3);
  if (call("", nvml_->nvmlDeviceGetPowerManagementDefaultLimit, handles_.sensors, &milliwatts))
    limits.standard = Watts(milliwatts * 1e-3);
  std::uint32_t high = 0;
  if (call("", nvml_->nvmlDeviceGetPowerManagementLimitConstraints, handles_.sensors, &milliwatts,
           &high)) {
    limits.minimum = Watts(milliwatts * 1e-3);
    limits.maximum = Watts(high * 1e-3);
  }
  return limits;
}

// One call for energy and the powers where the driver has it; what it lacks stays unknown.
void NvmlGpu::read_fields(const Fields& fields, Sample& sample, abi::Return& worst) const {
  std::array<abi::FieldValue, 3> values{};
  int count = 0;
  int energy = -1;
  int power = -1;
  int memory = -1;
  const auto add = [&](abi::Field id, abi::PowerScope scope, int& place) {
    place = count++;
    values[static_cast<std::size_t>(place)] = entry(id, scope);
  };
  if (fields.energy && energy_by_field_)
    add(abi::Field::kTotalEnergy, abi::PowerScope::kGpu, energy);
  const bool by_field = power_source_ && power_source_->kind != PowerKind::kUsage;
  if (fields.power && by_field) {
    add(power_source_->kind == PowerKind::kInstant ? abi::Field::kPowerInstant
                                                   : abi::Field::kPowerAverage,
        scope_of(power_source_->scope), power);
  }
  if (fields.memory_power) add(abi::Field::kPowerInstant, abi::PowerScope::kMemory, memory);
  if (count == 0 || nvml_->nvmlDeviceGetFieldValues == nullptr) return;
  if (const auto code = nvml_->nvmlDeviceGetFieldValues(handles_.sensors, count, values.data());
      code != kSuccess) {
    worst = code;
    return;
  }
  const auto value = [&](int place) -> std::optional<double> {
    if (place < 0) return std::nullopt;
    const auto& found = values[static_cast<std::size_t>(place)];
    if (Nvml::is_lost(found.status)) worst = found.status;
    if (found.status != kSuccess) return std::nullopt;
    return number_of(found);
  };
  if (const auto millijoules = value(energy)) {
    if (plausible_energy(*millijoules * 1e-3)) {
      sample.energy_uj = static_cast<std::int64_t>(*millijoules) * 1000;
    } else {
      ++sample.refused;
    }
  }
  const auto keep = [&](const std::optional<double>& milliwatts, std::optional<double>& place) {
    if (!milliwatts) return;
    if (plausible_power(*milliwatts * 1e-3, maximum_limit_w_)) {
      place = *milliwatts * 1e-3;
    } else {
      ++sample.refused;
    }
  };
  keep(value(power), sample.power_w);
  keep(value(memory), sample.memory_power_w);
}

Result<Sample> NvmlGpu::sample(const Fields& fields) {
  choose_sources();
  Sample sample;
  abi::Return worst = kSuccess;
  sample.begin_ns = now_();
  read_fields(fields, sample, worst);
  // The calls that have no field. A missing value stays missing; a lost GPU ends the sample.
  const auto read = [&](auto* function, auto... arguments) {
    if (function == nullptr) return false;
    const auto code = function(handles_.sensors, arguments...);
    if (Nvml::is_lost(code)) worst = code;
    return code == kSuccess;
  };
  const auto keep = [&](bool plausible, double value, std::optional<double>& place) {
    if (plausible) {
      place = value;
    } else {
      ++sample.refused;
    }
  };
  std::uint32_t value = 0;
  std::uint64_t wide = 0;
  if (fields.energy && !energy_by_field_ &&
      read(nvml_->nvmlDeviceGetTotalEnergyConsumption, &wide)) {
    if (plausible_energy(static_cast<double>(wide) * 1e-3)) {
      sample.energy_uj = static_cast<std::int64_t>(wide) * 1000;
    } else {
      ++sample.refused;
    }
  }
  if (fields.power && power_source_ && power_source_->kind == PowerKind::kUsage &&
      read(nvml_->nvmlDeviceGetPowerUsage, &value))
    keep(plausible_power(value * 1e-3, maximum_limit_w_), value * 1e-3, sample.power_w);
  if (fields.clocks && read(nvml_->nvmlDeviceGetClockInfo, abi::ClockType::kSm, &value))
    keep(plausible_clock(value * 1e6), value * 1e6, sample.core_hz);
  if (fields.clocks && read(nvml_->nvmlDeviceGetClockInfo, abi::ClockType::kMemory, &value))
    keep(plausible_clock(value * 1e6), value * 1e6, sample.memory_hz);
  auto* reasons = nvml_->nvmlDeviceGetCurrentClocksEventReasons != nullptr
                      ? nvml_->nvmlDeviceGetCurrentClocksEventReasons
                      : nvml_->nvmlDeviceGetCurrentClocksThrottleReasons;
  if (fields.throttle && read(reasons, &wide)) sample.throttle_bits = wide;
  if (fields.temperature && read(nvml_->nvmlDeviceGetTemperature, abi::kTemperatureGpu, &value))
    keep(plausible_temperature(value), value, sample.temperature_c);
  if (fields.power_limit && read(nvml_->nvmlDeviceGetEnforcedPowerLimit, &value))
    keep(plausible_power(value * 1e-3, std::nullopt), value * 1e-3, sample.power_limit_w);
  abi::Utilization busy{};
  if (fields.utilization && read(nvml_->nvmlDeviceGetUtilizationRates, &busy))
    keep(busy.gpu <= 100, busy.gpu * 0.01, sample.utilization);
  sample.end_ns = now_();
  if (Nvml::is_lost(worst)) return fail(error(worst, "reading the GPU"));
  return sample;
}

}  // namespace ergon::gpu::nvml
