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
  bool odd = false;                   ///< `args` that are no object: the same literal means another
                                      ///< step before an object
};

inline constexpr std::size_t kLongestLiteral = 160;

struct Run;
struct ShapeNode;
struct alignas(64) ShapeEdge {
  Step step;
  std::uint16_t length = 0;
  bool varies = false;      ///< its value ends runs (runs.hpp)
  std::uint32_t blame = 0;  ///< how many runs it broke
  ShapeEdge* next = nullptr;
  ShapeNode* child = nullptr;
  std::array<char, kLongestLiteral> literal{};
};
static_assert(kLongestLiteral % kBlockBytes == 0);
struct ShapeNode {
  ShapeEdge* first = nullptr;
  Context context = Context::kBeforeEvent;
  std::uint16_t edges = 0;
  bool runs = true;              ///< worth asking for runs (runs.hpp)
  bool named_runs = false;       ///< some hold arguments, which go with the event's name
  std::uint8_t run_lengths = 0;  ///< which classes of lengths they have
  Run* recent = nullptr;         ///< the run found last
  std::uint32_t hits = 0;        ///< of runs
  std::uint32_t misses = 0;
};

/// The tree of steps, rooted between two events. Bounded: forgets everything when it is full.
class Shapes {
 public:
  Shapes();
  [[nodiscard]] ShapeNode* root() { return &nodes_.front(); }
  /// Adds a step to `node`; nullptr where it is not worth keeping.
  ShapeEdge* add(ShapeNode* node, std::string_view literal, const Step& step);
  [[nodiscard]] ShapeEdge& edge(std::uint16_t index) { return edges_[index]; }
  [[nodiscard]] std::uint16_t index(const ShapeEdge& edge) const {
    return static_cast<std::uint16_t>(&edge - edges_.data());
  }
  [[nodiscard]] bool full() const { return full_; }
  /// Between events only.
  void forget();
  /// Likewise: no node has a recent run any more.
  void forget_runs();

 private:
  std::vector<ShapeNode> nodes_;
  std::vector<ShapeEdge> edges_;
  bool full_ = false;
};

/// Bit of each ValueType whose text may start with the character.
inline constexpr std::array<std::uint8_t, 256> kValueStarts = [] {
  std::array<std::uint8_t, 256> table{};
  constexpr unsigned kAlways = 1U << static_cast<unsigned>(ValueType::kString) |
                               1U << static_cast<unsigned>(ValueType::kNone);
  for (unsigned c = 0; c < 256; ++c) {
    unsigned bits = kAlways;
    if ((c >= '0' && c <= '9') || c == '-') {
      bits |= 1U << static_cast<unsigned>(ValueType::kNumber);
    } else if (c != '"' && c != ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\0') {
      bits |= 1U << static_cast<unsigned>(ValueType::kOther);
    }
    table[c] = static_cast<std::uint8_t>(bits);
  }
  return table;
}();
/// Whether text that starts with `c` can be a value of this type: a literal that ends before a
/// number also fits before a string or an array.
inline bool may_start(ValueType type, char c) {
  return (kValueStarts[static_cast<unsigned char>(c)] >> static_cast<unsigned>(type) & 1U) != 0;
}

/// Parses punctuation and a key from `p` in `context`. kEvent: `p` is at a value (inside the quotes
/// of a string) or behind the event, `step` says which. kBad: `p` is where it went wrong.
Scan discover(Context context, const char*& p, const char* end, Step& step);

}  // namespace ergon::trace::kineto
