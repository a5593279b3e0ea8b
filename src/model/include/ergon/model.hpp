// Work x Device x Clock -> Price: what a unit of work costs in seconds and joules, by component,
// with an interval.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::model {

/// Functional units. One fused multiply-add is 2 FLOP.
enum class Unit {
  kVectorFp64,
  kVectorFp32,
  kVectorFp16,
  kMatrixFp64,
  kMatrixTf32,
  kMatrixFp16,
  kMatrixFp8,
  kMatrixInt8,
  kInteger
};
inline constexpr std::size_t kUnits = 9;
/// Memory levels. Coefficients are incremental: a byte from HBM pays HBM, L2 and L1.
enum class Level { kL1, kL2, kHbm, kLink };
inline constexpr std::size_t kLevels = 4;
const char* to_string(Unit unit);
const char* to_string(Level level);

/// Operations by unit and bytes by level of something that ran or will run. nullopt is unknown,
/// never 0.
struct Work {
  std::array<std::optional<Flops>, kUnits> ops = {};
  std::array<std::optional<Bytes>, kLevels> bytes = {};
  Origin origin = Origin::kModelled;
};

/// The clocks of a GPU. `memory` unset: the device's default memory clock.
struct Clock {
  Hertz sm{};
  std::optional<Hertz> memory = std::nullopt;
};

/// Seconds and joules of a piece of work at one clock, by component.
struct Price {
  Estimate time_s;
  Estimate energy_j;
  Estimate constant_j;  ///< constant (idle, leakage) power over the time
  std::array<Estimate, kUnits> unit_j = {};
  std::array<Estimate, kLevels> level_j = {};
  bool power_capped = false;  ///< the power limit, not the clock, set the speed
};

/// How a kernel's time answers to the SM clock: t(f) = t(f0) * (sensitivity * f0/f + 1 -
/// sensitivity) above the regime break; below it the time grows at least as 1/f. `sensitivity` in
/// [0, 1].
struct ClockResponse {
  Estimate sensitivity;
};

struct Device;  // see device.hpp of this module's include root
}  // namespace ergon::model
