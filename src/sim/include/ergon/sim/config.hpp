// What ERGON_SIM asks for: `a100[,gpus=2][,seed=7][,gain=1.02][,fault=NAME[@3s][+NAME...]]`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/sim/model.hpp"

namespace ergon::sim {

inline constexpr std::uint32_t kMaxGpus = 8;

/// What a library call does wrong. Each process has its own; the machine does not know them.
enum class CallFault : std::uint32_t {
  kNoPermission,     ///< setters are refused
  kNotSupported,     ///< instant and average power fields, clocks by id, memory temperature are not
                     ///< supported
  kNoEnergyCounter,  ///< the energy counter is not supported
  kCounterFrozen,    ///< the energy counter stands still
  kCounterReset,     ///< the energy counter starts again at zero (default: 2 s after the machine
                     ///< started)
  kCounterWrap,  ///< the energy counter is 32 bits wide and wraps (soon after the machine started)
  kGpuLost,      ///< every call on GPU 0 fails
  kMig,          ///< MIG is on: instances repeat the parent's power, utilisation is not supported
  kVersionMismatch,  ///< driver and library differ: nothing initialises
  kSlowCalls,        ///< every call takes 150 ms
  kGarbage,          ///< success with absurd values now and then
  kPowerNa,          ///< power and limits are not supported, the rest works
  kPartial,   ///< as on WSL or Jetson: power, energy, limits, locks, processes are not supported
  kNoDevice,  ///< the driver is there, no GPU is
  kNoDriver,  ///< the driver is not loaded
  kOneGpuBroken,   ///< the last GPU's readings fail with "unknown error"
  kUnknownReason,  ///< a reason bit that nobody documents is set
  kMemoryLockUnsupported,
  kCount,
};

/// A fault and since when: seconds after the machine was made; 0: always.
struct TimedFault {
  CallFault fault = CallFault::kCount;
  double since_s = 0;
};

struct Config {
  const Model* model = nullptr;
  std::uint32_t gpus = 1;
  std::uint64_t seed = 0;
  double gain = 0;
  std::uint32_t physical_faults = 0;
  std::vector<TimedFault> call_faults;
  bool gpus_given = false, seed_given = false, gain_given = false;  ///< said, not taken by default
};

/// Errors: kInvalidArgument, with the accepted names in the hint.
[[nodiscard]] Result<Config> parse_config(std::string_view text);

/// Names of all faults, for messages and documentation.
[[nodiscard]] std::vector<std::string_view> fault_names();

}  // namespace ergon::sim
