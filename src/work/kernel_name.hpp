// What a kernel's name says: class, part in its operator, arithmetic unit, element size, tile.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "ergon/model.hpp"

namespace ergon::work {

/// The part a kernel plays among the kernels of one operator.
enum class Role : std::uint8_t { kMain, kHelper };
/// Which product of a convolution it computes, where the name says so.
enum class Direction : std::uint8_t { kAny, kForward, kDataGradient, kWeightGradient };
/// How a convolution saves multiplications.
enum class Shortcut : std::uint8_t { kNone, kWinograd2, kWinograd4, kFft };

struct KernelName {
  model::WorkClass kind = model::WorkClass::kUnknown;
  Role role = Role::kMain;
  Direction direction = Direction::kAny;
  Shortcut shortcut = Shortcut::kNone;
  std::optional<model::Unit>
      unit;                   ///< matrix or vector unit of a gemm, convolution or attention kernel
  bool tensor_cores = false;  ///< matrix units of a type that only the operands tell
  std::optional<double> element_bytes;  ///< of its operands
  int tile_m = 0;                       ///< output tile of a gemm; 0: not in the name
  int tile_n = 0;
  int items_per_thread = 0;  ///< of PyTorch's elementwise kernels: elements a thread handles ...
  int items_per_block = 0;   ///< ... or a block; one of the two, else both 0
  int arrays = 0;            ///< tensors such a kernel reads and writes
};

/// Substring searches only: call it once a distinct name.
KernelName read_kernel_name(std::string_view name);

}  // namespace ergon::work
