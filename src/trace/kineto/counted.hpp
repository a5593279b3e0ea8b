// Events that the table only counts (flows, instants, counters): read again by comparing text, any
// digit for any other. Kineto writes a flow for nearly every launch, so they are a third of all
// events. Only speed depends on what is remembered.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "bytes.hpp"

namespace ergon::trace::kineto {

class CountedEvents {
 public:
  struct Match {
    std::size_t length = 0;  ///< 0: none
    char phase = 0;
  };

  /// The event at `p` that reads like one before but for its digits.
  Match find(const char* p, const char* end) {
    for (std::size_t i = 0; i < count_; ++i) {
      const Pattern& pattern = patterns_[order_[i]];
      if (static_cast<std::size_t>(end - p) < pattern.length ||
          p[pattern.phase_at] != pattern.phase || !like(p, pattern)) {
        continue;
      }
      put_first(i);
      return {pattern.length, pattern.phase};
    }
    return {};
  }
  /// Whether all that matters of an event is its phase. (No digits: they are not compared.)
  static bool counts(char phase) {
    return ((phase >= 'a' && phase <= 'z') || (phase >= 'A' && phase <= 'Z')) && phase != 'X' &&
           phase != 'B' && phase != 'E' && phase != 'M';
  }
  /// Remembers the event that stands in [begin, end).
  void learn(const char* begin, const char* end, char phase);

 private:
  static constexpr std::size_t kPatterns = 4;
  static constexpr std::size_t kLongest = 8 * kBlockBytes;
  struct Pattern {
    std::array<char, kLongest> text;
    std::array<char, kLongest> digit;  // 0xff where any digit will do
    std::size_t length = 0;
    std::size_t phase_at = 0;  // a place that tells apart what mostly is no match
    char phase = 0;
  };

  void put_first(std::size_t i) {
    const std::uint8_t first = order_[i];
    for (; i > 0; --i) order_[i] = order_[i - 1];
    order_[0] = first;
  }
  static bool like(const char* p, const Pattern& pattern);

  std::array<Pattern, kPatterns> patterns_;
  std::array<std::uint8_t, kPatterns> order_{};  // most recent first
  std::size_t count_ = 0;
};

}  // namespace ergon::trace::kineto
