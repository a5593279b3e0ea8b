// Physical quantities as types. A quantity holds its SI value; mixing dimensions does not compile.
#pragma once
#include <compare>
#include <cstdint>

namespace ergon {

/// Exponents of the base dimensions. Energy is a base of its own: everything here is built from
/// joules and seconds.
struct Dimension {
  int energy = 0;
  int time = 0;
  int data = 0;
  int work = 0;
  friend constexpr bool operator==(const Dimension&, const Dimension&) = default;
  friend constexpr Dimension operator+(Dimension a, Dimension b) {
    return {a.energy + b.energy, a.time + b.time, a.data + b.data, a.work + b.work};
  }
  friend constexpr Dimension operator-(Dimension a, Dimension b) {
    return {a.energy - b.energy, a.time - b.time, a.data - b.data, a.work - b.work};
  }
};

template <Dimension D>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double si) : si_(si) {}
  /// The value in the SI base unit of the dimension.
  [[nodiscard]] constexpr double si() const { return si_; }

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.si_ + b.si_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.si_ - b.si_); }
  friend constexpr Quantity operator*(Quantity a, double k) { return Quantity(a.si_ * k); }
  friend constexpr Quantity operator*(double k, Quantity a) { return Quantity(a.si_ * k); }
  friend constexpr Quantity operator/(Quantity a, double k) { return Quantity(a.si_ / k); }
  constexpr Quantity& operator+=(Quantity b) {
    si_ += b.si_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity b) {
    si_ -= b.si_;
    return *this;
  }

 private:
  double si_ = 0;
};

template <Dimension A, Dimension B>
constexpr auto operator*(Quantity<A> a, Quantity<B> b) {
  if constexpr (A + B == Dimension{}) {
    return a.si() * b.si();
  } else {
    return Quantity<A + B>(a.si() * b.si());
  }
}
template <Dimension A, Dimension B>
constexpr auto operator/(Quantity<A> a, Quantity<B> b) {
  if constexpr (A == B) {
    return a.si() / b.si();
  } else {
    return Quantity<A - B>(a.si() / b.si());
  }
}

using Joules = Quantity<Dimension{.energy = 1}>;
using Seconds = Quantity<Dimension{.time = 1}>;
using Watts = Quantity<Dimension{.energy = 1, .time = -1}>;
using Hertz = Quantity<Dimension{.time = -1}>;
using Bytes = Quantity<Dimension{.data = 1}>;
using Flops = Quantity<Dimension{.work = 1}>;
using BytesPerSecond = Quantity<Dimension{.time = -1, .data = 1}>;
using FlopsPerSecond = Quantity<Dimension{.time = -1, .work = 1}>;

/// A time or a duration of a trace: integer nanoseconds, never a floating-point number.
using Nanos = std::int64_t;
constexpr Seconds to_seconds(Nanos ns) { return Seconds(static_cast<double>(ns) * 1e-9); }

}  // namespace ergon
