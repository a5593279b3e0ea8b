#include "ergon/sim/config.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "ergon/sim/board.hpp"

namespace ergon::sim {
namespace {

struct FaultName {
  const char* name;
  CallFault call;
  std::uint32_t physical;
  double since_s;  // when none is given
};

constexpr std::array kFaults = {
    FaultName{"no-permission", CallFault::kNoPermission, 0, 0},
    FaultName{"not-supported", CallFault::kNotSupported, 0, 0},
    FaultName{"no-energy-counter", CallFault::kNoEnergyCounter, 0, 0},
    FaultName{"counter-frozen", CallFault::kCounterFrozen, 0, 0},
    FaultName{"counter-reset", CallFault::kCounterReset, 0, 2},
    FaultName{"counter-wrap", CallFault::kCounterWrap, 0, 0},
    FaultName{"gpu-lost", CallFault::kGpuLost, 0, 0},
    FaultName{"mig", CallFault::kMig, 0, 0},
    FaultName{"version-mismatch", CallFault::kVersionMismatch, 0, 0},
    FaultName{"slow-calls", CallFault::kSlowCalls, 0, 0},
    FaultName{"garbage", CallFault::kGarbage, 0, 0},
    FaultName{"power-na", CallFault::kPowerNa, 0, 0},
    FaultName{"partial", CallFault::kPartial, 0, 0},
    FaultName{"no-device", CallFault::kNoDevice, 0, 0},
    FaultName{"no-driver", CallFault::kNoDriver, 0, 0},
    FaultName{"one-gpu-broken", CallFault::kOneGpuBroken, 0, 0},
    FaultName{"unknown-reason", CallFault::kUnknownReason, 0, 0},
    FaultName{"memory-lock-unsupported", CallFault::kMemoryLockUnsupported, 0, 0},
    FaultName{"lock-not-held", CallFault::kCount, kLockNotHeld, 0},
    FaultName{"clock-drift", CallFault::kCount, kClockDrift, 0},
    FaultName{"power-cap", CallFault::kCount, kPowerCapped, 0},
    FaultName{"hot", CallFault::kCount, kHot, 0},
    FaultName{"memory-drift", CallFault::kCount, kMemoryDrift, 0},
};

template <class T>
std::string join(const T& names) {
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

// Cuts the part before `separator` off `text`.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
  return part;
}

tl::unexpected<Error> bad(std::string_view part, std::string hint) {
  return fail(Errc::kInvalidArgument, "ERGON_SIM: cannot understand '" + std::string(part) + "'",
              std::move(hint));
}

Status add_fault(std::string_view text, Config& config) {
  const std::string_view whole = text;
  const std::string_view name = next_part(text, '@');
  for (const FaultName& known : kFaults) {
    if (name != known.name) continue;
    double since = known.since_s;
    if (!text.empty()) {
      if (text.back() != 's') return bad(whole, "a time is written as in counter-reset@3s");
      const auto given = parse_number<double>(text.substr(0, text.size() - 1));
      if (!given || !(*given >= 0)) return bad(whole, "a time is written as in counter-reset@3s");
      if (known.physical != 0)
        return bad(whole, "this fault belongs to the machine and acts from its start");
      since = *given;
    }
    config.physical_faults |= known.physical;
    if (known.call != CallFault::kCount) config.call_faults.push_back({known.call, since});
    return {};
  }
  return bad(name, "faults are " + join(fault_names()));
}

}  // namespace

std::vector<std::string_view> fault_names() {
  std::vector<std::string_view> names;
  names.reserve(kFaults.size());
  for (const FaultName& fault : kFaults) names.emplace_back(fault.name);
  return names;
}

Result<Config> parse_config(std::string_view text) {
  Config config;
  const std::string_view name = next_part(text, ',');
  config.model = find_model(name);
  if (config.model == nullptr) return bad(name, "the first word is one of " + join(model_keys()));
  while (!text.empty()) {
    const std::string_view part = next_part(text, ',');
    std::string_view value = part;
    const std::string_view key = next_part(value, '=');
    if (key == "gpus") {
      const auto count = parse_number<std::uint32_t>(value);
      if (!count || *count < 1 || *count > kMaxGpus) return bad(part, "gpus is 1 to 8");
      config.gpus = *count;
      config.gpus_given = true;
    } else if (key == "seed") {
      const auto seed = parse_number<std::uint64_t>(value);
      if (!seed) return bad(part, "seed is a whole number");
      config.seed = *seed;
      config.seed_given = true;
    } else if (key == "gain") {
      const auto gain = parse_number<double>(value);
      if (!gain || !(*gain > 0.5 && *gain < 2))
        return bad(part, "gain is the sensors' factor, as in gain=1.05");
      config.gain = *gain;
      config.gain_given = true;
    } else if (key == "fault") {
      while (!value.empty()) ERGON_TRY_STATUS(add_fault(next_part(value, '+'), config));
    } else {
      return bad(part, "accepted: gpus=, seed=, gain=, fault=");
    }
  }
  return config;
}

}  // namespace ergon::sim
