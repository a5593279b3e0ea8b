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

/// A pid or tid: a number, or text that stands for one.
struct RawId {
  std::int64_t number = 0;
  std::string_view text;  ///< set where it is text that holds no number
};

/// Bits of RawEvent::has and RawEvent::bad.
constexpr std::uint32_t bit(Field field) { return 1U << static_cast<unsigned>(field); }
static_assert(static_cast<unsigned>(Field::kDetail) < 32);

struct RawEvent {
  std::uint32_t has = 0;  ///< members and arguments that stand in `this`
  std::uint32_t bad = 0;  ///< those that were there and no number
  char phase = 0;
  CategoryId category = kNoCategory;
  std::uint8_t details = 0;
  RawText name;
  Nanos start = 0;
  Nanos duration = 0;
  RawId process;
  RawId thread;
  std::int64_t external_id = 0;
  std::int64_t correlation = 0;
  std::int64_t device = 0;
  std::int64_t context = 0;
  std::int64_t stream = 0;
  std::int64_t sequence = 0;
  std::int64_t forward_thread = 0;
  std::int64_t collective_seq = 0;
  RawText meta_name;
  std::array<RawDetail, kDetails.size() + 1> detail;

  void clear() {
    has = bad = 0;
    phase = 0;
    category = kNoCategory;
    details = 0;
  }
  [[nodiscard]] bool is(Field field) const { return (has & bit(field)) != 0; }
};

enum class Scan : std::uint8_t {
  kEvent,       ///< an event, all of it
  kEndOfArray,  ///< the `]` after the last event
  kNeedMore,    ///< the window ends before the event does
  kBad,         ///< no JSON, or no event
};

}  // namespace ergon::trace::kineto
