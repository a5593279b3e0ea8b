// The words of the interface, and what the throttle bits say.
#include <array>
#include <bit>
#include <cstdio>
#include <ctime>

#include "ergon/gpu/machine.hpp"

namespace ergon::gpu {
namespace {

struct Name {
  std::uint64_t bit;
  const char* text;
};
constexpr std::array kReasonNames = {
    Name{reason::kIdle, "idle"},
    Name{reason::kAskedClocks, "asked-for clocks"},
    Name{reason::kPowerCap, "power cap"},
    Name{reason::kHardwareSlowdown, "hardware slowdown"},
    Name{reason::kSyncBoost, "sync boost"},
    Name{reason::kThermal, "thermal slowdown"},
    Name{reason::kHardwareThermal, "hardware thermal slowdown"},
    Name{reason::kPowerBrake, "power brake"},
    Name{reason::kDisplayClocks, "display clocks"},
};
constexpr std::uint64_t kHarmless = reason::kIdle | reason::kAskedClocks | reason::kDisplayClocks;

}  // namespace

const char* to_string(Vendor vendor) {
  switch (vendor) {
    case Vendor::kNvidia:
      return "nvidia";
    case Vendor::kAmd:
      return "amd";
    case Vendor::kOther:
      break;
  }
  return "other";
}

const char* to_string(Scope scope) {
  switch (scope) {
    case Scope::kGpu:
      return "gpu";
    case Scope::kModule:
      return "module";
    case Scope::kMemory:
      break;
  }
  return "memory";
}

const char* to_string(PowerKind kind) {
  switch (kind) {
    case PowerKind::kInstant:
      return "instant";
    case PowerKind::kAverage:
      return "average";
    case PowerKind::kUsage:
      break;
  }
  return "usage";
}

const char* to_string(Domain domain) { return domain == Domain::kCore ? "core" : "memory"; }

std::uint64_t Throttle::holding_back() const { return bits & ~kHarmless; }

std::string Throttle::names() const {
  std::string text;
  const auto add = [&](const std::string& name) { text += (text.empty() ? "" : ", ") + name; };
  std::uint64_t left = bits;
  for (const auto& name : kReasonNames) {
    if ((left & name.bit) == 0) continue;
    add(name.text);
    left &= ~name.bit;
  }
  while (left != 0) {
    const std::uint64_t bit = left & (~left + 1);
    std::array<char, 32> hex{};
    std::snprintf(hex.data(), hex.size(), "unknown 0x%llx", static_cast<unsigned long long>(bit));
    add(hex.data());
    left &= ~bit;
  }
  return text;
}

Nanos monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Nanos{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace ergon::gpu
