// Learning shapes, and parsing the punctuation of an event the first time it is seen.
#include "shapes.hpp"

#include <cstring>

#include "text.hpp"

namespace ergon::trace::kineto {

namespace {
constexpr std::size_t kMaxEdges = 2048;
constexpr std::uint16_t kMaxSiblings = 64;
// Longest "ph" or "cat" that becomes part of a literal.
constexpr std::ptrdiff_t kMaxFolded = 32;
}  // namespace

Shapes::Shapes() {
  // Reserved once: nodes and edges point at each other.
  nodes_.reserve(kMaxEdges + 1);
  edges_.reserve(kMaxEdges);
  forget();
}

void Shapes::forget() {
  nodes_.clear();
  edges_.clear();
  nodes_.emplace_back();
  full_ = false;
}

void Shapes::forget_runs() {
  for (ShapeNode& node : nodes_) {
    node.recent = nullptr;
    node.named_runs = false;
    node.run_lengths = 0;
  }
}

ShapeEdge* Shapes::add(ShapeNode* node, std::string_view literal, const Step& step) {
  // A zero byte could match the padding behind the window.
  if (step.odd || literal.size() > kLongestLiteral ||
      literal.find('\0') != std::string_view::npos) {
    return nullptr;
  }
  if (edges_.size() == kMaxEdges || node->edges == kMaxSiblings) {
    full_ = true;
    return nullptr;
  }
  ShapeEdge& edge = edges_.emplace_back();
  ShapeNode& child = nodes_.emplace_back();
  child.context = step.after;
  edge.step = step;
  edge.length = static_cast<std::uint16_t>(literal.size());
  edge.child = &child;
  edge.next = node->first;
  std::memcpy(edge.literal.data(), literal.data(), literal.size());
  node->first = &edge;
  ++node->edges;
  return &edge;
}

namespace {

ValueType type_of(char c) {
  if (c == '"') return ValueType::kString;
  return is_digit(c) || c == '-' ? ValueType::kNumber : ValueType::kOther;
}

bool is_argument(Context context) {
  return context == Context::kFirstArgument || context == Context::kAfterArgument;
}

const char* skip_space(const char* p, const char* end) {
  while (p < end && is_space(*p)) ++p;
  return p;
}

// The key at `p` (behind its opening quote) and the start of its value.
struct Key {
  RawText text;
  const char* value = nullptr;
};
Scan read_key(const char*& p, const char* end, Key& key) {
  const StringEnd close = find_string_end(p, end);
  if (close.quote == nullptr) return Scan::kNeedMore;
  key.text = {{p, static_cast<std::size_t>(close.quote - p)}, close.plain};
  p = skip_space(close.quote + 1, end);
  if (p >= end) return Scan::kNeedMore;
  if (*p != ':') return Scan::kBad;
  p = skip_space(p + 1, end);
  key.value = p;
  return p < end ? Scan::kEvent : Scan::kNeedMore;
}

// Folds the short string at `p` (at its opening quote) into the step. kBad where it is none: then
// it is a value like any other.
Scan fold(const char*& p, const char* end, Field field, Step& step) {
  if (*p != '"') return Scan::kBad;
  const StringEnd close = find_string_end(p + 1, end);
  if (close.quote == nullptr) return Scan::kNeedMore;
  if (!close.plain || close.quote - p > kMaxFolded) return Scan::kBad;
  const std::string_view word(p + 1, static_cast<std::size_t>(close.quote - p - 1));
  if (field == Field::kPhase) {
    if (word.size() != 1) return Scan::kBad;
    step.phase = word.front();
  } else {
    step.category = category_of(word);
  }
  p = close.quote + 1;
  return Scan::kEvent;
}

}  // namespace

Scan discover(Context context, const char*& p, const char* end, Step& step) {
  step = Step{};
  for (;;) {
    p = skip_space(p, end);
    if (p >= end) return Scan::kNeedMore;
    if (context == Context::kBeforeEvent) {
      if (*p == ',') {
        ++p;
      } else if (*p == '{') {
        ++p;
        context = Context::kFirstMember;
      } else if (*p == ']') {
        ++p;
        return Scan::kEndOfArray;
      } else {
        return Scan::kBad;
      }
      continue;
    }
    if (*p == ',' && (context == Context::kAfterMember || context == Context::kAfterArgument)) {
      p = skip_space(p + 1, end);
      if (p >= end) return Scan::kNeedMore;
      if (*p != '"' && *p != '}') return Scan::kBad;
      context = is_argument(context) ? Context::kFirstArgument : Context::kFirstMember;
    }
    if (*p == '}') {
      ++p;
      if (is_argument(context)) {
        context = Context::kAfterMember;
        continue;
      }
      step.type = ValueType::kNone;
      step.after = Context::kBeforeEvent;
      return Scan::kEvent;
    }
    if (*p != '"' || context == Context::kAfterMember || context == Context::kAfterArgument) {
      return Scan::kBad;
    }
    ++p;
    Key key;
    if (const Scan scan = read_key(p, end, key); scan != Scan::kEvent) return scan;
    std::string unescaped;
    std::string_view name = key.text.text;
    if (!key.text.plain) {
      append_clean(unescaped, key.text.text);
      name = unescaped;
    }
    const bool argument = is_argument(context);
    if (!argument && name == "args") {
      if (*p == '{') {
        ++p;
        context = Context::kFirstArgument;
        continue;
      }
      step.odd = true;
    }
    const Field field = argument ? argument_field(name) : event_field(name);
    context = argument ? Context::kAfterArgument : Context::kAfterMember;
    if (field == Field::kPhase || field == Field::kCategory) {
      const Scan folded = fold(p, end, field, step);
      if (folded == Scan::kEvent) continue;
      if (folded == Scan::kNeedMore) return folded;
    }
    step.field = field;
    step.type = type_of(*p);
    step.after = context;
    if (step.type == ValueType::kString) ++p;
    return Scan::kEvent;
  }
}

}  // namespace ergon::trace::kineto
