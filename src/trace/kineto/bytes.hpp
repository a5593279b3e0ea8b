// Byte primitives of the scanner: literal compare, end of a string, runs of digits. All may read up
// to kPadding bytes past the end they are given; the window keeps that many zero bytes there.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ergon::trace::kineto {

inline constexpr std::size_t kPadding = 128;
inline constexpr std::size_t kBlockBytes = 32;

inline std::uint64_t load64(const char* p) {
  std::uint64_t v = 0;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// JSON white space.
inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

/// True where the `size` bytes at `p` are those at `literal`, whose storage is a multiple of
/// kBlockBytes long.
inline bool same_bytes(const char* p, const char* literal, std::size_t size) {
#if defined(__AVX2__)
  for (std::size_t i = 0;; i += kBlockBytes) {
    const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i));
    const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(literal + i));
    const auto differ = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)));
    if (size - i <= kBlockBytes) {
      return _bzhi_u32(differ, static_cast<std::uint32_t>(size - i)) == 0;
    }
    if (differ != 0) return false;
  }
#else
  return std::memcmp(p, literal, size) == 0;
#endif
}

/// What a string holds besides plain ASCII.
struct StringEnd {
  const char* quote = nullptr;  ///< the closing quote; nullptr: none before `end`
  bool plain = true;            ///< no escapes, no control characters, no bytes above 0x7f
};

/// The end of the string that starts at `p` (after its opening quote).
inline StringEnd find_string_end(const char* p, const char* end) {
  StringEnd result;
#if defined(__AVX2__)
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i slash = _mm256_set1_epi8('\\');
  const __m256i blank = _mm256_set1_epi8(0x20);
  while (p < end) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const auto quotes =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, quote)));
    // Signed compare: bytes above 0x7f count as below 0x20, which is what `plain` wants.
    const __m256i odd = _mm256_or_si256(_mm256_cmpeq_epi8(v, slash), _mm256_cmpgt_epi8(blank, v));
    const auto odds = static_cast<std::uint32_t>(_mm256_movemask_epi8(odd));
    if (quotes == 0 && odds == 0) {
      p += kBlockBytes;
      continue;
    }
    const std::uint32_t before_quote = quotes == 0 ? ~0U : (quotes & (0U - quotes)) - 1;
    if ((odds & before_quote) == 0) {
      p += std::countr_zero(quotes);
      result.quote = p < end ? p : nullptr;
      return result;
    }
    break;
  }
#endif
  while (p < end) {
    const char c = *p;
    if (c == '"') {
      result.quote = p;
      return result;
    }
    if (c == '\\') {
      result.plain = false;
      ++p;
    } else if (static_cast<unsigned char>(c - 0x20) > 0x5f) {
      result.plain = false;
    }
    ++p;
  }
  return result;
}

/// The number of decimal digits at the start of the 8 bytes of `v`.
inline unsigned leading_digits(std::uint64_t v) {
  static_assert(std::endian::native == std::endian::little,
                "the scanner reads little-endian words");
  const std::uint64_t x = v ^ 0x3030303030303030U;
  const std::uint64_t other = ((x + 0x7676767676767676U) | x) & 0x8080808080808080U;
  return other == 0 ? 8U : static_cast<unsigned>(std::countr_zero(other)) / 8;
}

/// The value of the first `n` digits (1 to 8) of `v`.
inline std::uint64_t digits_value(std::uint64_t v, unsigned n) {
  v = (v ^ 0x3030303030303030U) << (64 - 8 * n);
  v = (v * 10) + (v >> 8U);
  constexpr std::uint64_t kMask = 0x000000ff000000ffU;
  constexpr std::uint64_t kMul1 = 0x000f424000000064U;  // 100 + (1000000 << 32)
  constexpr std::uint64_t kMul2 = 0x0000271000000001U;  // 1 + (10000 << 32)
  return (((v & kMask) * kMul1) + (((v >> 16U) & kMask) * kMul2)) >> 32U;
}

}  // namespace ergon::trace::kineto
