// What the scanner has seen before: from one value of an event to the next, the literal bytes in
// between ("punctuation, key, colon") and what they mean. A trace has a few dozen such steps, so
// almost every event is read by comparing bytes and never by parsing punctuation.
#pragma once
#include <memory>
#include <vector>

#include "bytes.hpp"
#include "event.hpp"

namespace ergon::trace::kineto {

/// Where in an event a position is.
enum class Context : std::uint8_t {
  kBeforeEvent,
  kFirstMember,
  kAfterMember,
  kFirstArgument,
  kAfterArgument,
};

/// The step from behind one value to the next value, or to the end of the event.
struct Step {
  Field field = Field::kIgnored;
  ValueType type = ValueType::kNone;  ///< kNone: the event ends
  Context after = Context::kBeforeEvent;
  char phase = 0;                     ///< of a "ph" on the way; 0: none
  CategoryId category = kNoCategory;  ///< of a "cat" on the way
};

inline constexpr std::size_t kLongestLiteral = 160;

struct ShapeNode;
struct alignas(64) ShapeEdge {
  Step step;
  std::uint16_t length = 0;
  ShapeEdge* next = nullptr;
  ShapeNode* child = nullptr;
  std::array<char, kLongestLiteral> literal{};
};
static_assert(kLongestLiteral % kBlockBytes == 0);
struct ShapeNode {
  ShapeEdge* first = nullptr;
  Context context = Context::kBeforeEvent;
  std::uint16_t edges = 0;
};

/// The tree of steps, rooted between two events. Bounded: forgets everything when it is full.
class Shapes {
 public:
  Shapes();
  [[nodiscard]] ShapeNode* root() { return &nodes_.front(); }
  /// Adds a step to `node`; nullptr where it is not worth keeping.
  ShapeNode* add(ShapeNode* node, std::string_view literal, const Step& step);
  /// To be called between events.
  void forget_if_full() {
    if (full_) forget();
  }

 private:
  void forget();
  std::vector<ShapeNode> nodes_;
  std::vector<ShapeEdge> edges_;
  bool full_ = false;
};

/// Parses punctuation and a key from `p` in `context`. kEvent: `p` is at a value (inside the quotes
/// of a string) or behind the event, `step` says which. kBad: `p` is where it went wrong.
Scan discover(Context context, const char*& p, const char* end, Step& step);

}  // namespace ergon::trace::kineto
