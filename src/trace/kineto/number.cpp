// The rare spellings of numbers: exponents, long fractions, signs, 64-bit limits.
#include "number.hpp"

#include <algorithm>

namespace ergon::trace::kineto {

namespace {

// A decimal number taken apart: value = digits * 10^exponent.
struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;
};

constexpr int kExponentLimit = 1000;

std::string_view digits_of(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

std::optional<Decimal> split(std::string_view text) {
  Decimal d;
  if (text.starts_with('-') || text.starts_with('+')) {
    d.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  d.whole = digits_of(text);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    d.fraction = digits_of(text);
  }
  if (d.whole.empty() && d.fraction.empty()) return std::nullopt;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    bool minus = false;
    if (text.starts_with('-') || text.starts_with('+')) {
      minus = text.front() == '-';
      text.remove_prefix(1);
    }
    const std::string_view digits = digits_of(text);
    if (digits.empty()) return std::nullopt;
    for (const char c : digits) d.exponent = std::min(d.exponent * 10 + (c - '0'), kExponentLimit);
    if (minus) d.exponent = -d.exponent;
  }
  if (!text.empty()) return std::nullopt;
  return d;
}

// The integer part of |d| * 10^shift, and whether the rest is at least a half / not zero. nullopt
// above `limit`.
struct Shifted {
  std::uint64_t value = 0;
  bool half = false;
  bool exact = true;
};
std::optional<Shifted> shift(const Decimal& d, int shift_by, std::uint64_t limit) {
  Shifted out;
  const long point = static_cast<long>(d.whole.size()) + d.exponent + shift_by;
  const auto digits = static_cast<long>(d.whole.size() + d.fraction.size());
  const auto digit_at = [&](long i) {
    if (i < 0 || i >= digits) return 0;
    const auto u = static_cast<std::size_t>(i);
    return (u < d.whole.size() ? d.whole[u] : d.fraction[u - d.whole.size()]) - '0';
  };
  bool any = false;
  for (long i = 0; i < std::max(point, digits); ++i) {
    const int digit = digit_at(i);
    if (i >= point) {
      if (digit != 0) out.exact = false;
      continue;
    }
    if (i >= digits && !any) break;
    any = any || digit != 0;
    if (out.value > (limit - static_cast<std::uint64_t>(digit)) / 10) return std::nullopt;
    out.value = out.value * 10 + static_cast<std::uint64_t>(digit);
  }
  out.half = digit_at(point) >= 5;
  return out;
}

}  // namespace

std::optional<Nanos> parse_microseconds(std::string_view text) {
  const auto d = split(text);
  if (!d) return std::nullopt;
  const auto ns = shift(*d, 3, static_cast<std::uint64_t>(kTimeLimit) - 1);
  if (!ns) return std::nullopt;
  const auto value = static_cast<Nanos>(ns->value + (ns->half ? 1U : 0U));
  return d->negative ? -value : value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const auto d = split(text);
  if (!d) return std::nullopt;
  const auto v = shift(*d, 0, ~std::uint64_t{0});
  if (!v || !v->exact) return std::nullopt;
  if (!d->negative) return static_cast<std::int64_t>(v->value);
  if (v->value > std::uint64_t{1} << 63U) return std::nullopt;
  return static_cast<std::int64_t>(0 - v->value);
}

}  // namespace ergon::trace::kineto
