// The event scanner: from the window's bytes to one RawEvent after the other.
#pragma once
#include "counted.hpp"
#include "event.hpp"
#include "flows.hpp"
#include "runs.hpp"
#include "shapes.hpp"

namespace ergon::trace::kineto {

class EventScanner {
 public:
  EventScanner(const EventScanner&) = delete;
  EventScanner& operator=(const EventScanner&) = delete;

  /// `remember` false: never uses what it has seen before (slower, the same events; for tests).
  /// Arrows are read in full, not only counted, as long as `flows_wanted` (which must outlive it).
  EventScanner(bool remember, const bool& flows_wanted)
      : runs_(shapes_), remember_(remember), flows_wanted_(flows_wanted) {}

  /// Reads the event that starts at or after `p`, which lies between two events of an array.
  /// kEvent, kEndOfArray: `p` is behind it. kNeedMore: `p` unmoved. kBad: `p` is where the text is
  /// no longer an event, reason() says why.
  Scan next(const char*& p, const char* end, RawEvent& event);
  [[nodiscard]] const char* reason() const { return reason_; }

 private:
  Scan scan(const char*& from, const char* end, RawEvent& event);
  Scan take(const char*& p, const char* end, const Step& step, RawEvent& event);
  static void replay(Run& run, const char* p, RawEvent& event);
  void record(const Step& step, const RawEvent& event);
  Scan bad(const char* reason) {
    reason_ = reason;
    return Scan::kBad;
  }

  Shapes shapes_;
  Runs runs_;
  CountedEvents counted_;
  bool remember_;
  const bool& flows_wanted_;
  const char* reason_ = "";
};

/// The end of the array or object at `p`. kEvent: `p` is behind it. kBad: brackets do not match, or
/// nest deeper than kDeepest.
inline constexpr std::size_t kDeepest = 512;
enum class Balance : std::uint8_t { kClosed, kNeedMore, kMismatch, kTooDeep };
Balance skip_balanced(const char*& p, const char* end);

}  // namespace ergon::trace::kineto
