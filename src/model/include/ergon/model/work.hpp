// Work: operations by functional unit and bytes by memory level of something that ran or will run.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ergon/base.hpp"

namespace ergon::model {

/// Functional units. One fused multiply-add is 2 FLOP. kMatrixFp16 stands for bfloat16 too.
enum class Unit : std::uint8_t {
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
/// Memory levels. Coefficients are incremental: a byte from HBM pays HBM, L2 and L1. kHbm is the
/// GPU's own memory, GDDR too; kLink is what leaves the GPU (PCIe, NVLink).
enum class Level : std::uint8_t { kL1, kL2, kHbm, kLink };
inline constexpr std::size_t kLevels = 4;

constexpr std::size_t index(Unit unit) { return static_cast<std::size_t>(unit); }
constexpr std::size_t index(Level level) { return static_cast<std::size_t>(level); }
/// "vector_fp32", "hbm", ...: the keys of device files and answers.
const char* to_string(Unit unit);
const char* to_string(Level level);
std::optional<Unit> unit_from(std::string_view word);
std::optional<Level> level_from(std::string_view word);

/// nullopt is unknown, never 0. `bytes` counts what crosses each level: bytes that come from HBM
/// are counted at HBM, L2 and L1.
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

}  // namespace ergon::model
