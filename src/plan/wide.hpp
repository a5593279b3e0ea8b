// Several doubles at once, one a lane. Compilers leave short loops over arrays scalar.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace ergon::plan {

namespace wide {
using Quad [[gnu::vector_size(32)]] = double;

template <std::size_t kWidth>
struct Parts {
  static_assert(kWidth % 4 == 0, "lanes come in fours, or one alone");
  using Part = Quad;
  static constexpr std::size_t kCount = kWidth / 4;
};
template <>
struct Parts<1> {
  using Part = double;
  static constexpr std::size_t kCount = 1;
};

template <class Part>
Part load(const double* p) {
  Part x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
template <class Part>
void store(double* p, const Part& x) {
  std::memcpy(p, &x, sizeof x);
}

/// Calls `body` with std::type_identity of Quad and 0, 4, 8, ... below `count`, then of double for
/// what is left.
template <class Body>
void for_lanes(std::size_t count, Body&& body) {
  std::size_t k = 0;
  for (; k + 4 <= count; k += 4) body(std::type_identity<Quad>{}, k);
  for (; k < count; ++k) body(std::type_identity<double>{}, k);
}
}  // namespace wide

/// kWidth doubles: 1, or a multiple of 4.
template <std::size_t kWidth>
struct Wide {
  using Part = typename wide::Parts<kWidth>::Part;
  static constexpr std::size_t kParts = wide::Parts<kWidth>::kCount;
  std::array<Part, kParts> part = {};

  void fill(double v) {
    for (Part& p : part) p = Part{} + v;
  }
  [[nodiscard]] double operator[](std::size_t lane) const {
    if constexpr (kWidth == 1) {
      return part[0];
    } else {
      return part[lane / 4][lane % 4];
    }
  }
  void set(std::size_t lane, double v) {
    if constexpr (kWidth == 1) {
      part[0] = v;
    } else {
      part[lane / 4][lane % 4] = v;
    }
  }
  Wide& operator+=(const Wide& o) {
    for (std::size_t p = 0; p < kParts; ++p) part[p] += o.part[p];
    return *this;
  }
  /// Each lane of `o` minus `less`, where that is more.
  void at_least(const Wide& o, double less) {
    for (std::size_t p = 0; p < kParts; ++p) {
      const Part t = o.part[p] - less;
      part[p] = part[p] < t ? t : part[p];
    }
  }
};

/// std::floor of each lane, none negative.
inline void floor_into(wide::Quad& x) {
  // Adding this leaves no room for a fraction: the sum is rounded to the nearest integer.
  constexpr double kNoFraction = 0x1.8p52;
  const wide::Quad nearest = (x + kNoFraction) - kNoFraction;
  const wide::Quad one = wide::Quad{} + 1.0;
  const wide::Quad floor = nearest > x ? nearest - one : nearest;
  x = x < 0x1p51 ? floor : x;  // beyond that the sum is not exact, and halves are all there is
}

}  // namespace ergon::plan
