// Patterns: what may be one, and comparing text with it.
#include "counted.hpp"

#include <algorithm>
#include <string_view>

namespace ergon::trace::kineto {

namespace {

// Where numbers stand alone between punctuation, other digits in their places leave every token
// where it is. Escapes could spell a key.
bool fit(std::string_view text) {
  constexpr std::string_view kPunctuation = "{}[],:.";
  bool quoted = false;
  char before = '\0';
  for (const char c : text) {
    if (c == '\0' || c == '\\') return false;
    if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && !is_digit(c) && !is_space(c) &&
               kPunctuation.find(c) == kPunctuation.npos) {
      if (c != '-' || is_digit(before) || before == '.') return false;
    }
    before = c;
  }
  return true;
}

}  // namespace

bool CountedEvents::like(const char* p, const Pattern& pattern) {
#if defined(__AVX2__)
  const __m256i zero = _mm256_set1_epi8('0');
  const __m256i nine = _mm256_set1_epi8(9);
  for (std::size_t i = 0;; i += kBlockBytes) {
    const auto load = [i](const char* from) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    };
    const __m256i v = load(p);
    const __m256i value = _mm256_sub_epi8(v, zero);
    const __m256i digits = _mm256_cmpeq_epi8(_mm256_min_epu8(value, nine), value);
    const __m256i same = _mm256_or_si256(_mm256_cmpeq_epi8(v, load(pattern.text.data())),
                                         _mm256_and_si256(digits, load(pattern.digit.data())));
    const auto differ = ~static_cast<std::uint32_t>(_mm256_movemask_epi8(same));
    if (pattern.length - i <= kBlockBytes) {
      return _bzhi_u32(differ, static_cast<std::uint32_t>(pattern.length - i)) == 0;
    }
    if (differ != 0) return false;
  }
#else
  for (std::size_t i = 0; i < pattern.length; ++i) {
    if (p[i] != pattern.text[i] && (pattern.digit[i] == 0 || !is_digit(p[i]))) return false;
  }
  return true;
#endif
}

void CountedEvents::learn(const char* begin, const char* end, char phase) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  const std::array<char, 3> quoted{'"', phase, '"'};
  const std::size_t at = text.find(std::string_view(quoted.data(), quoted.size()));
  if (text.size() > kLongest || at == std::string_view::npos || !fit(text)) return;
  // The one that was not seen for longest gives way.
  if (count_ < kPatterns) {
    order_[count_] = static_cast<std::uint8_t>(count_);
    ++count_;
  }
  put_first(count_ - 1);
  Pattern& pattern = patterns_[order_[0]];
  std::ranges::copy(text, pattern.text.begin());
  std::ranges::transform(text, pattern.digit.begin(),
                         [](char c) { return is_digit(c) ? '\xff' : '\0'; });
  pattern.length = text.size();
  pattern.phase = phase;
  pattern.phase_at = at + 1;
}

}  // namespace ergon::trace::kineto
