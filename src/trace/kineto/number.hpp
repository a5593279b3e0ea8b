// Numbers of a trace as text: integers and decimal microseconds, never through double.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "bytes.hpp"
#include "ergon/base.hpp"

namespace ergon::trace::kineto {

/// Limits of a time and of a duration: the difference of two times plus a duration fits 63 bits.
inline constexpr Nanos kTimeLimit = Nanos{1} << 62;
inline constexpr Nanos kEarliest = -(Nanos{1} << 60);
inline constexpr Nanos kLongest = Nanos{1} << 61;

/// A decimal number of microseconds (sign, fraction, exponent allowed) in nanoseconds, rounded to
/// the nearest, halves away from zero. nullopt for anything else, and beyond kTimeLimit.
std::optional<Nanos> parse_microseconds(std::string_view text);
/// A decimal integer; also with a zero fraction or a whole exponent ("7.0", "1e3"). Values up to
/// 2^64 - 1 keep their 64 bits. nullopt for anything else.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// End of the bare token (number, true, NaN, ...) at `p`.
inline const char* token_end(const char* p, const char* end) {
#if defined(__AVX2__)
  // Nearly always a comma, a bracket or white space within the first 16 bytes.
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i comma = _mm_cmpeq_epi8(v, _mm_set1_epi8(','));
  const __m128i close =  // ] and }
      _mm_cmpeq_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)), _mm_set1_epi8('}'));
  const __m128i low = _mm_cmpgt_epi8(_mm_set1_epi8('#'), v);  // white space and quotes, 0x80 up
  const auto stops =
      static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(comma, close), low)));
  const auto colons = static_cast<std::uint32_t>(_mm_movemask_epi8(
      _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(':')),
                   _mm_cmpeq_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)), _mm_set1_epi8('{')))));
  if (stops != 0 && (colons & ((stops & (0U - stops)) - 1)) == 0) {
    const char* const stop = p + std::countr_zero(stops);
    if (stop < end && static_cast<signed char>(*stop) > 0 && *stop != '!') return stop;
  }
#endif
  while (p < end && *p != ',' && *p != '}' && *p != ']' && !is_space(*p) && *p != '"' &&
         *p != ':' && *p != '{' && *p != '[') {
    ++p;
  }
  return p;
}

inline constexpr std::uint64_t kPowersOfTen[] = {1,     10,     100,     1000,
                                                 10000, 100000, 1000000, 10000000};

/// Reads the digits at `p`, 16 at most, and moves behind them; how many there were.
inline unsigned take_digits(const char*& p, std::uint64_t& value) {
  std::uint64_t word = load64(p);
  const unsigned first = leading_digits(word);
  if (first == 0) return 0;
  value = digits_value(word, first);
  p += first;
  if (first < 8) return first;
  word = load64(p);
  const unsigned more = leading_digits(word);
  if (more == 8) {
    value = value * 100000000 + digits_value(word, 8);
  } else if (more > 0) {
    value = value * kPowersOfTen[more] + digits_value(word, more);
  }
  p += more;
  return 8 + more;
}

/// Reads the common spelling of an integer at `p` and moves behind it; false (p unmoved) where the
/// spelling is another.
inline bool fast_integer(const char*& p, std::int64_t& value) {
  const char* q = p;
  const bool negative = *q == '-';
  q += negative ? 1 : 0;
  std::uint64_t v = 0;
  const unsigned n = take_digits(q, v);
  if (n == 0 || n == 16 || *q == '.' || *q == 'e' || *q == 'E') return false;
  value = negative ? -static_cast<std::int64_t>(v) : static_cast<std::int64_t>(v);
  p = q;
  return true;
}

/// The same for microseconds with up to three decimals.
inline bool fast_microseconds(const char*& p, Nanos& value) {
  const char* q = p;
  std::uint64_t v = 0;
  const unsigned whole = take_digits(q, v);
  if (whole == 0 || (whole == 16 && is_digit(*q))) return false;
  // Now at most 16 digits: a million times less than what overflows below.
  std::uint64_t ns = v * 1000;
  if (*q == '.') {
    const std::uint64_t word = load64(q + 1);
    const unsigned n = leading_digits(word);
    if (n == 0 || n > 3) return false;
    ns += digits_value(word, n) * kPowersOfTen[3 - n];
    q += 1 + n;
  }
  if (*q == 'e' || *q == 'E' || *q == '.') return false;
  if (ns > static_cast<std::uint64_t>(kTimeLimit)) return false;
  value = static_cast<Nanos>(ns);
  p = q;
  return true;
}

}  // namespace ergon::trace::kineto
