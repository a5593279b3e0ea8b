// Values: numbers in place, strings and arrays by their ends.
#include "scan.hpp"

#include <array>

#include "number.hpp"

namespace ergon::trace::kineto {

namespace {

// Brackets one by one, with their kinds.
Balance skip_slowly(const char*& p, const char* end) {
  std::array<char, kDeepest> open;
  std::size_t depth = 0;
  const char* q = p;
  while (q < end) {
    const char c = *q;
    if (c == '"') {
      const StringEnd close = find_string_end(q + 1, end);
      if (close.quote == nullptr) return Balance::kNeedMore;
      q = close.quote + 1;
      continue;
    }
    if (c == '[' || c == '{') {
      if (depth == kDeepest) {
        p = q;
        return Balance::kTooDeep;
      }
      open[depth++] = c == '[' ? ']' : '}';
    } else if (c == ']' || c == '}') {
      if (open[--depth] != c) {
        p = q;
        return Balance::kMismatch;
      }
      if (depth == 0) {
        p = q + 1;
        return Balance::kClosed;
      }
    }
    ++q;
  }
  return Balance::kNeedMore;
}

#if defined(__AVX2__) && defined(__PCLMUL__)
std::uint64_t equal_bytes(__m256i low, __m256i high, char c) {
  const __m256i v = _mm256_set1_epi8(c);
  const auto a = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, v)));
  const auto b = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, v)));
  return a | static_cast<std::uint64_t>(b) << 32U;
}

// An array without escapes and objects, 64 bytes at a time. False: take the slow way.
bool skip_fast(const char*& p, const char* end) {
  std::uint64_t inside = 0;
  int depth = 0;
  for (const char* q = p; q < end; q += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 32));
    const std::uint64_t quotes = equal_bytes(low, high, '"');
    const std::uint64_t strings =
        static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_clmulepi64_si128(
            _mm_set_epi64x(0, static_cast<long long>(quotes)), _mm_set1_epi8(-1), 0))) ^
        inside;
    inside = static_cast<std::uint64_t>(static_cast<std::int64_t>(strings) >> 63U);
    const std::uint64_t opens = equal_bytes(low, high, '[') & ~strings;
    const std::uint64_t closes = equal_bytes(low, high, ']') & ~strings;
    const std::uint64_t odd =
        equal_bytes(low, high, '\\') |
        ((equal_bytes(low, high, '{') | equal_bytes(low, high, '}')) & ~strings);
    std::uint64_t brackets = opens | closes;
    while (brackets != 0) {
      const std::uint64_t lowest = brackets & (0U - brackets);
      brackets ^= lowest;
      depth += (opens & lowest) != 0 ? 1 : -1;
      if (depth == 0) {
        if ((odd & (lowest - 1)) != 0) return false;
        q += std::countr_zero(lowest) + 1;
        if (q > end) return false;
        p = q;
        return true;
      }
    }
    if (odd != 0 || depth > static_cast<int>(kDeepest)) return false;
  }
  return false;
}
#else
bool skip_fast(const char*& /*p*/, const char* /*end*/) { return false; }
#endif

}  // namespace

Balance skip_balanced(const char*& p, const char* end) {
  if (*p == '[' && skip_fast(p, end)) return Balance::kClosed;
  return skip_slowly(p, end);
}

namespace {

std::string_view between(const char* a, const char* b) {
  return {a, static_cast<std::size_t>(b - a)};
}

// The number that stands for a pid or tid given as text: "123", "stream 7".
bool id_number(std::string_view text, std::int64_t& number) {
  constexpr std::string_view kStream = "stream ";
  if (text.starts_with(kStream)) text.remove_prefix(kStream.size());
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto value = parse_integer(text);
  if (!value) return false;
  number = *value;
  return true;
}

std::int64_t* integer_slot(RawEvent& e, Field field) {
  switch (field) {
    case Field::kProcess:
      return &e.process.number;
    case Field::kThread:
      return &e.thread.number;
    case Field::kStart:
      return &e.start;
    case Field::kDuration:
      return &e.duration;
    case Field::kExternalId:
      return &e.external_id;
    case Field::kCorrelation:
      return &e.correlation;
    case Field::kDevice:
      return &e.device;
    case Field::kContext:
      return &e.context;
    case Field::kStream:
      return &e.stream;
    case Field::kSequence:
      return &e.sequence;
    case Field::kForwardThread:
      return &e.forward_thread;
    case Field::kCollectiveSeq:
      return &e.collective_seq;
    default:
      return nullptr;
  }
}

// A value that is no number in the common spelling: text, or digits in another form.
void take_text(RawEvent& e, Field field, std::string_view text) {
  std::int64_t* slot = integer_slot(e, field);
  if (slot == nullptr) return;
  if (text == "null") return;
  const bool time = field == Field::kStart || field == Field::kDuration;
  const auto value = time ? parse_microseconds(text) : parse_integer(text);
  if (value) {
    *slot = *value;
  } else {
    e.bad |= bit(field);
  }
  e.has |= bit(field);
}

void add_detail(RawEvent& e, Field field, std::string_view text) {
  if (e.details < e.detail.size()) {
    e.detail[e.details++] = {text, static_cast<std::uint8_t>(detail_index(field))};
  }
}

constexpr Field kStreamDetail = [] {
  for (std::size_t i = 0; i < kDetails.size(); ++i) {
    if (kDetails[i].key == "stream") return detail_field(i);
  }
  return Field::kIgnored;
}();

void take_string(RawEvent& e, Field field, const char* p, StringEnd close) {
  const std::string_view text = between(p, close.quote);
  switch (field) {
    case Field::kIgnored:
      return;
    case Field::kName:
      e.name = {text, close.plain};
      break;
    case Field::kMetaName:
      e.meta_name = {text, close.plain};
      break;
    case Field::kPhase:
      e.phase = text.size() == 1 ? text.front() : '\0';
      return;
    case Field::kCategory:
      e.category = category_of(text);
      return;
    case Field::kProcess:
    case Field::kThread: {
      RawId& id = field == Field::kProcess ? e.process : e.thread;
      id.text = id_number(text, id.number) ? std::string_view{} : text;
      break;
    }
    case Field::kStream:
      add_detail(e, kStreamDetail, between(p - 1, close.quote + 1));
      take_text(e, field, text);
      return;
    default:
      if (field >= Field::kDetail) {
        add_detail(e, field, between(p - 1, close.quote + 1));
      } else {
        take_text(e, field, text);
      }
      return;
  }
  e.has |= bit(field);
}

}  // namespace

Scan EventScanner::take(const char*& p, const char* end, const Step& step, RawEvent& e) {
  const Field field = step.field;
  if (step.type == ValueType::kNumber) {
    const char* const from = p;
    if (field == Field::kStart || field == Field::kDuration) {
      Nanos* slot = field == Field::kStart ? &e.start : &e.duration;
      if (fast_microseconds(p, *slot)) {
        e.has |= bit(field);
      } else {
        p = token_end(p, end);
        if (p < end) take_text(e, field, between(from, p));
      }
    } else if (field >= Field::kDetail) {
      p = token_end(p, end);
      add_detail(e, field, between(from, p));
    } else if (std::int64_t* slot = integer_slot(e, field); slot != nullptr) {
      if (fast_integer(p, *slot)) {
        e.has |= bit(field);
      } else {
        p = token_end(p, end);
        if (p < end) take_text(e, field, between(from, p));
      }
      if (field == Field::kProcess) e.process.text = {};
      if (field == Field::kThread) e.thread.text = {};
    } else {
      p = token_end(p, end);
    }
    return p < end ? Scan::kEvent : Scan::kNeedMore;
  }
  if (step.type == ValueType::kString) {
    const StringEnd close = find_string_end(p, end);
    if (close.quote == nullptr) return Scan::kNeedMore;
    take_string(e, field, p, close);
    p = close.quote + 1;
    return p < end ? Scan::kEvent : Scan::kNeedMore;
  }
  const char* const from = p;
  if (*p == '[' || *p == '{') {
    switch (skip_balanced(p, end)) {
      case Balance::kClosed:
        break;
      case Balance::kNeedMore:
        return Scan::kNeedMore;
      case Balance::kMismatch:
        return bad("unbalanced_brackets");
      case Balance::kTooDeep:
        return bad("too_deep");
    }
    if (field >= Field::kDetail) add_detail(e, field, between(from, p));
  } else {
    p = token_end(p, end);
    if (p == from) return p < end ? bad("bad_syntax") : Scan::kNeedMore;
    if (p < end) {
      if (field >= Field::kDetail) {
        add_detail(e, field, between(from, p));
      } else {
        take_text(e, field, between(from, p));
      }
    }
  }
  return p < end ? Scan::kEvent : Scan::kNeedMore;
}

namespace {
// Bit of each ValueType whose text may start with the character: a literal that ends before a
// number also fits before a string or an array.
constexpr std::array<std::uint8_t, 256> kStarts = [] {
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

bool may_start(ValueType type, char c) {
  return (kStarts[static_cast<unsigned char>(c)] >> static_cast<unsigned>(type) & 1U) != 0;
}
}  // namespace

Scan EventScanner::scan(const char*& p, const char* end, RawEvent& e) {
  ShapeNode* node = remember_ ? shapes_.root() : nullptr;
  Context context = Context::kBeforeEvent;
  Step found;
  for (;;) {
    const Step* step = nullptr;
    if (node != nullptr) {
      ShapeEdge** link = &node->first;
      while (ShapeEdge* edge = *link) {
        if (same_bytes(p, edge->literal.data(), edge->length) &&
            may_start(edge->step.type, p[edge->length])) {
          if (link != &node->first) {
            // The step of last time is tried first.
            *link = edge->next;
            edge->next = node->first;
            node->first = edge;
          }
          p += edge->length;
          step = &edge->step;
          node = edge->child;
          break;
        }
        link = &edge->next;
      }
    }
    if (step == nullptr) {
      const char* const from = p;
      const Scan scan = discover(context, p, end, found);
      if (scan == Scan::kBad) return bad("bad_syntax");
      if (scan != Scan::kEvent) return scan;
      step = &found;
      if (node != nullptr) node = shapes_.add(node, between(from, p), found);
    }
    if (step->phase != 0) e.phase = step->phase;
    if (step->category != kNoCategory) e.category = step->category;
    if (step->type == ValueType::kNone) return Scan::kEvent;
    context = step->after;
    if (const Scan scan = take(p, end, *step, e); scan != Scan::kEvent) return scan;
  }
}

Scan EventScanner::next(const char*& p, const char* end, RawEvent& event) {
  shapes_.forget_if_full();
  const char* q = p;
  event.clear();
  const Scan scan = this->scan(q, end, event);
  if (scan != Scan::kNeedMore) p = q;
  return scan;
}

}  // namespace ergon::trace::kineto
