// Readings and control of a GPU behind AMD SMI. Unknown is 0xffff or all ones there, never an
// error: both are read as missing.
#include "amdsmi_gpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "plausible.hpp"

namespace ergon::gpu::amdsmi {
namespace {

abi::ClockType type_of(Domain domain) {
  return domain == Domain::kCore ? abi::ClockType::kGfx : abi::ClockType::kMem;
}

bool is_known(std::uint32_t value) { return value != 0xffffU && value != 0xffffffffU; }

std::string clock_name(Domain domain) { return std::string("the ") + to_string(domain) + " clock"; }

}  // namespace

SmiGpu::SmiGpu(std::shared_ptr<Smi> smi, abi::Processor processor, Identity identity,
               TimeSource now)
    : smi_(std::move(smi)),
      processor_(processor),
      identity_(std::move(identity)),
      now_(std::move(now)) {}

tl::unexpected<Error> SmiGpu::unsupported(const std::string& what) const {
  return fail(Smi::error(abi::Status::kNotSupported, what, identity_.id));
}

void SmiGpu::choose_limit() {
  if (limit_asked_) return;
  limit_asked_ = true;
  abi::PowerCapInfo cap{};
  if (call("", smi_->amdsmi_get_power_cap_info, 0U, &cap) && cap.max_power_cap > 0 &&
      cap.max_power_cap < 5'000'000'000ULL)
    maximum_limit_w_ = static_cast<double>(cap.max_power_cap) * 1e-6;
}

Result<EnergyReading> SmiGpu::energy() {
  std::uint64_t count = 0;
  float resolution = 0;
  std::uint64_t at = 0;
  EnergyReading reading;
  reading.begin_ns = now_();
  ERGON_TRY_STATUS(
      call("the energy counter", smi_->amdsmi_get_energy_count, &count, &resolution, &at));
  reading.end_ns = now_();
  const double microjoules = static_cast<double>(count) * static_cast<double>(resolution);
  if (!(resolution > 0) || !plausible_energy(microjoules * 1e-6))
    return implausible(identity_.id, "the energy counter", std::to_string(count) + " counts");
  reading.microjoules = std::llround(microjoules);
  return reading;
}

Result<Watts> SmiGpu::power(Scope scope, PowerKind kind) {
  choose_limit();
  const std::string what = std::string(to_string(kind)) + " power of the " + to_string(scope);
  if (scope != Scope::kGpu) return unsupported(what);
  abi::PowerInfo info{};
  ERGON_TRY_STATUS(call(what, smi_->amdsmi_get_power_info, &info));
  // MI300 and later answer the current power, earlier ones the average; socket_power is whichever
  // the board has.
  const bool current = is_known(info.current_socket_power);
  const bool average = is_known(info.average_socket_power);
  double watts = 0;
  if (kind == PowerKind::kInstant) {
    if (!current) return unsupported(what);
    watts = info.current_socket_power;
  } else if (kind == PowerKind::kAverage) {
    if (!average) return unsupported(what);
    watts = info.average_socket_power;
  } else if (current || average) {
    watts = current ? info.current_socket_power : info.average_socket_power;
  } else if (info.socket_power < 0xffff) {
    watts = static_cast<double>(info.socket_power);
  } else {
    return unsupported(what);
  }
  if (!plausible_power(watts, maximum_limit_w_))
    return implausible(identity_.id, what, std::to_string(watts) + " W");
  return Watts(watts);
}

Result<PowerSource> SmiGpu::power_source() {
  // The averaging of either figure is not documented.
  const auto asked = [this](PowerKind kind) {
    return insist([&] { return power(Scope::kGpu, kind); });
  };
  if (asked(PowerKind::kInstant))
    return PowerSource{Scope::kGpu, PowerKind::kInstant, {}, "current socket power"};
  if (asked(PowerKind::kAverage))
    return PowerSource{Scope::kGpu, PowerKind::kAverage, {}, "average socket power"};
  ERGON_TRY_STATUS(asked(PowerKind::kUsage).map([](Watts) {}));
  return PowerSource{Scope::kGpu, PowerKind::kUsage, {}, "socket power"};
}

Result<Hertz> SmiGpu::clock(Domain domain) {
  abi::ClockInfo info{};
  ERGON_TRY_STATUS(call(clock_name(domain), smi_->amdsmi_get_clock_info, type_of(domain), &info));
  if (!is_known(info.clock)) return unsupported(clock_name(domain));
  const double hertz = info.clock * 1e6;
  if (!plausible_clock(hertz))
    return implausible(identity_.id, clock_name(domain), std::to_string(info.clock) + " MHz");
  return Hertz(hertz);
}

Result<Throttle> SmiGpu::throttle() {
  abi::ViolationStatus status{};
  ERGON_TRY_STATUS(call("the throttle reasons", smi_->amdsmi_get_violation_status, &status));
  Throttle found;
  const auto add = [&](std::uint8_t active, std::uint64_t bit) {
    if (active == 1) found.bits |= bit;
  };
  add(status.active_power, reason::kPowerCap);
  add(status.active_prochot, reason::kHardwareSlowdown);
  add(status.active_socket_thermal, reason::kHardwareThermal);
  add(status.active_vr_thermal, reason::kThermal);
  add(status.active_hbm_thermal, reason::kThermal);
  return found;
}

Result<std::vector<ThrottleCounter>> SmiGpu::throttle_counters() {
  // AMD counts firmware ticks, not time: a difference shows that it happened, not for how long.
  return unsupported("counting throttled time");
}

Result<double> SmiGpu::temperature_c() {
  std::int64_t celsius = 0;
  Status last;
  for (const auto sensor : {abi::TemperatureType::kHotspot, abi::TemperatureType::kEdge}) {
    last = call("the temperature", smi_->amdsmi_get_temp_metric, sensor,
                abi::TemperatureMetric::kCurrent, &celsius);
    if (last) break;
  }
  ERGON_TRY_STATUS(std::move(last));
  if (!plausible_temperature(static_cast<double>(celsius)))
    return implausible(identity_.id, "the temperature", std::to_string(celsius) + " \u00b0C");
  return static_cast<double>(celsius);
}

Result<PowerLimits> SmiGpu::power_limits() {
  abi::PowerCapInfo cap{};
  ERGON_TRY_STATUS(call("the power limit", smi_->amdsmi_get_power_cap_info, 0U, &cap));
  const auto watts = [](std::uint64_t microwatts) {
    return Watts(static_cast<double>(microwatts) * 1e-6);
  };
  if (!plausible_power(watts(cap.power_cap).si(), std::nullopt))
    return implausible(identity_.id, "the power limit", std::to_string(cap.power_cap) + " uW");
  PowerLimits limits{watts(cap.power_cap), {}, {}, {}, {}};
  if (cap.default_power_cap > 0) limits.standard = watts(cap.default_power_cap);
  if (cap.max_power_cap > 0) {
    limits.minimum = watts(cap.min_power_cap);
    limits.maximum = watts(cap.max_power_cap);
  }
  return limits;
}

Result<Mig> SmiGpu::mig() { return unsupported("MIG"); }

Result<std::vector<Process>> SmiGpu::processes() {
  const std::string what = "the list of running processes";
  std::vector<abi::ProcessInfo> running(256);
  auto count = static_cast<std::uint32_t>(running.size());
  ERGON_TRY_STATUS(call(what, smi_->amdsmi_get_gpu_process_list, &count, running.data()));
  running.resize(std::min<std::size_t>(count, running.size()));
  std::vector<Process> found;
  found.reserve(running.size());
  for (const auto& process : running)
    found.push_back({.pid = process.pid, .memory_bytes = process.memory});
  return found;
}

Result<std::vector<Hertz>> SmiGpu::supported_clocks(Domain domain,
                                                    std::optional<Hertz> /*at_memory*/) {
  abi::Frequencies list{};
  const std::string what = std::string("the list of ") + to_string(domain) + " clocks";
  ERGON_TRY_STATUS(call(what, smi_->amdsmi_get_clk_freq, type_of(domain), &list));
  std::vector<Hertz> clocks;
  const auto count = std::min<std::size_t>(list.supported, abi::kMaxFrequencies);
  clocks.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    clocks.emplace_back(static_cast<double>(list.frequency[i]));
  std::ranges::sort(clocks, {}, &Hertz::si);
  const auto same = std::ranges::unique(clocks, {}, &Hertz::si);
  clocks.erase(same.begin(), same.end());
  if (clocks.empty()) return unsupported(what);
  // Two or three levels are the ends of a range within which any megahertz can be asked for.
  constexpr double kStep = 25e6;
  if (domain == Domain::kCore && clocks.size() <= 3 && clocks.front() < clocks.back()) {
    const double low = clocks.front().si();
    const double high = clocks.back().si();
    clocks.clear();
    for (double clock = low; clock < high; clock += kStep) clocks.emplace_back(clock);
    clocks.emplace_back(high);
  }
  return clocks;
}

Result<Hertz> SmiGpu::maximum_clock(Domain domain) {
  abi::ClockInfo info{};
  ERGON_TRY_STATUS(call("the highest " + std::string(to_string(domain)) + " clock",
                        smi_->amdsmi_get_clock_info, type_of(domain), &info));
  return Hertz(info.max_clock * 1e6);
}

Status SmiGpu::lock_clocks(Domain domain, Hertz low, Hertz high) {
  if (low > high || low.si() <= 0)
    return fail(Errc::kInvalidArgument, "a clock range needs a lower and a higher end above zero");
  const std::string what = std::string("locking the ") + to_string(domain) + " clock";
  const auto megahertz = [](Hertz clock) {
    return static_cast<std::uint64_t>(std::llround(clock.si() * 1e-6));
  };
  if (smi_->amdsmi_set_gpu_clk_limit == nullptr)
    return call(what, smi_->amdsmi_set_gpu_clk_range, megahertz(low), megahertz(high),
                type_of(domain));
  // The range may never be empty on the way: lower the lower end first, raise the higher end first.
  abi::ClockInfo now{};
  const bool rises = call("", smi_->amdsmi_get_clock_info, type_of(domain), &now) &&
                     megahertz(low) > now.max_clock;
  const std::array order = rises ? std::array{abi::ClockLimit::kMax, abi::ClockLimit::kMin}
                                 : std::array{abi::ClockLimit::kMin, abi::ClockLimit::kMax};
  for (const auto limit : order) {
    ERGON_TRY_STATUS(call(what, smi_->amdsmi_set_gpu_clk_limit, type_of(domain), limit,
                          megahertz(limit == abi::ClockLimit::kMin ? low : high)));
  }
  return {};
}

Status SmiGpu::reset_clocks(Domain domain) {
  return call(std::string("giving back the ") + to_string(domain) + " clock",
              smi_->amdsmi_set_gpu_perf_level, abi::PerfLevel::kAuto);
}

Status SmiGpu::set_power_limit(Watts limit) {
  const double microwatts = limit.si() * 1e6;
  if (!(microwatts > 0 && microwatts < 1e11))
    return fail(Errc::kInvalidArgument, "a power limit must be above zero");
  return call("setting the power limit", smi_->amdsmi_set_power_cap, 0U,
              static_cast<std::uint64_t>(std::llround(microwatts)));
}

Status SmiGpu::probe_control() {
  abi::PowerCapInfo cap{};
  ERGON_TRY_STATUS(call("the power limit", smi_->amdsmi_get_power_cap_info, 0U, &cap));
  return call("changing clocks and limits", smi_->amdsmi_set_power_cap, 0U, cap.power_cap);
}

Result<Sample> SmiGpu::sample(const Fields& fields) {
  Sample sample;
  sample.begin_ns = now_();
  const auto keep = [&](const auto& reading, auto& place, const auto& convert) {
    if (reading) {
      place = convert(*reading);
    } else if (reading.error().code == Errc::kDevice) {
      ++sample.refused;
    }
  };
  const auto si = [](auto quantity) { return quantity.si(); };
  if (fields.energy)
    keep(energy(), sample.energy_uj, [](const EnergyReading& r) { return r.microjoules; });
  if (fields.power) {
    auto watts = power(Scope::kGpu, PowerKind::kUsage);
    keep(watts, sample.power_w, si);
  }
  if (fields.clocks) {
    keep(clock(Domain::kCore), sample.core_hz, si);
    keep(clock(Domain::kMemory), sample.memory_hz, si);
  }
  if (fields.throttle) keep(throttle(), sample.throttle_bits, [](Throttle t) { return t.bits; });
  if (fields.temperature) keep(temperature_c(), sample.temperature_c, [](double c) { return c; });
  if (fields.power_limit)
    keep(power_limits(), sample.power_limit_w, [](const PowerLimits& l) { return l.current.si(); });
  if (fields.utilization) {
    abi::EngineUsage busy{};
    if (call("", smi_->amdsmi_get_gpu_activity, &busy) && busy.gfx <= 100)
      sample.utilization = busy.gfx * 0.01;
  }
  sample.end_ns = now_();
  return sample;
}

}  // namespace ergon::gpu::amdsmi
