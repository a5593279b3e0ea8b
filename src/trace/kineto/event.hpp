// One event of `traceEvents`, as it stands in the window: numbers parsed, text not yet copied.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "fields.hpp"

namespace ergon::trace::kineto {

enum class ValueType : std::uint8_t { kString, kNumber, kOther, kNone };

/// Text between the quotes of a string; `plain`: needs no unescaping and no repair.
struct RawText {
  std::string_view text;
  bool plain = true;
};

/// Text of an argument that EventTable::detail keeps, quotes included.
struct RawDetail {
  std::string_view text;
  std::uint8_t index = 0;  ///< into kDetails
};

/// Bits of RawEvent::has and RawEvent::bad.
constexpr std::uint32_t bit(Field field) { return 1U << static_cast<unsigned>(field); }
static_assert(static_cast<unsigned>(Field::kDetail) < 32);

/// What became of arguments that were seen before: their detail text, once the builder knows it.
struct DetailMemo {
  StringId id = 0;
  Family family = Family::kOther;
  bool known = false;
};

struct RawEvent {
  std::uint32_t has = 0;  ///< members and arguments that stand in `this`
  std::uint32_t bad = 0;  ///< those that were there and no number
  char phase = 0;
  CategoryId category = kNoCategory;
  std::uint8_t details = 0;
  DetailMemo* memo = nullptr;  ///< of the first `memo_details` of detail
  std::uint8_t memo_details = 0;
  RawText name;
  std::uint64_t name_hash = 0;  ///< tells most names apart; stands where `name` does
  RawText meta_name;
  /// By Field: times in ns, all else as it stands.
  std::array<std::int64_t, static_cast<std::size_t>(Field::kDetail)> number{};
  std::string_view process_text;  ///< a pid that is text and holds no number
  std::string_view thread_text;
  std::array<RawDetail, kDetails.size() + 1> detail;

  void clear() {
    has = bad = 0;
    phase = 0;
    category = kNoCategory;
    details = 0;
    memo = nullptr;
    memo_details = 0;
    // One after the other: a copy would wait for what was just written.
    process_text = {};
    thread_text = {};
  }
  [[nodiscard]] bool is(Field field) const { return (has & bit(field)) != 0; }
  /// There, and a number.
  [[nodiscard]] bool usable(Field field) const { return (has & ~bad & bit(field)) != 0; }
  [[nodiscard]] std::int64_t operator[](Field field) const {
    return number[static_cast<std::size_t>(field)];
  }
  std::int64_t& operator[](Field field) { return number[static_cast<std::size_t>(field)]; }
};

enum class Scan : std::uint8_t {
  kEvent,       ///< an event, all of it
  kEndOfArray,  ///< the `]` after the last event
  kNeedMore,    ///< the window ends before the event does
  kBad,         ///< no JSON, or no event
};

}  // namespace ergon::trace::kineto
