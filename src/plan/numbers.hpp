// Figures that all solvers share.
#pragma once
#include <cstdint>
#include <limits>

namespace ergon::plan {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Rounding of a sum over a whole problem, relative to it: bounds are lowered by it.
inline constexpr double kRounding = 1e-12;
/// No pack, node or edge.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
/// Above it the sums of a large file could leave the range of a double; no real figure comes near.
inline constexpr double kLargest = 1e18;

}  // namespace ergon::plan
