// Values: numbers in place, strings and arrays by their ends.
#include "scan.hpp"

#include <array>
#include <cstring>

#include "number.hpp"

namespace ergon::trace::kineto {

namespace {

// What may follow a string inside an array or object. Where a quote is missing, all that follows
// would otherwise count as strings the wrong way round, to the end of the file.
bool may_follow_string(char c) {
  return c == ',' || c == ':' || c == ']' || c == '}' || is_space(c) || c == '\0';
}

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
      if (q < end && !may_follow_string(*q)) {
        p = q;
        return Balance::kMismatch;
      }
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

#if defined(__AVX2__)
std::uint64_t equal_bytes(__m256i low, __m256i high, char c) {
  const __m256i v = _mm256_set1_epi8(c);
  const auto a = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, v)));
  const auto b = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, v)));
  return a | static_cast<std::uint64_t>(b) << 32U;
}

// Bit i: parity of the bits 0 to i.
std::uint64_t prefix_xor(std::uint64_t v) {
  for (unsigned shift = 1; shift < 64; shift *= 2) v ^= v << shift;
  return v;
}

// An array without escapes and objects, 64 bytes at a time. False: take the slow way.
bool skip_fast(const char*& p, const char* end) {
  std::uint64_t inside = 0;
  std::uint64_t closed_last = 0;  // the block before ended with the end of a string
  int depth = 0;
  for (const char* q = p; q < end; q += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + 32));
    const std::uint64_t quotes = equal_bytes(low, high, '"');
    const std::uint64_t strings = quotes == 0 ? inside : prefix_xor(quotes) ^ inside;
    inside = static_cast<std::uint64_t>(static_cast<std::int64_t>(strings) >> 63U);
    const std::uint64_t ends = quotes & ~strings;
    const std::uint64_t follow = ends << 1U | closed_last;
    closed_last = ends >> 63U;
    const std::uint64_t fit = equal_bytes(low, high, ',') | equal_bytes(low, high, ']') |
                              equal_bytes(low, high, ' ') | equal_bytes(low, high, '\n');
    const std::uint64_t opens = equal_bytes(low, high, '[') & ~strings;
    const std::uint64_t closes = equal_bytes(low, high, ']') & ~strings;
    const std::uint64_t odd =
        equal_bytes(low, high, '\\') | (follow & ~fit) |
        ((equal_bytes(low, high, '{') | equal_bytes(low, high, '}')) & ~strings);
    std::uint64_t brackets = opens | closes;
    while (brackets != 0) {
      const std::uint64_t lowest = brackets & (0U - brackets);
      brackets ^= lowest;
      depth += (opens & lowest) != 0 ? 1 : -1;
      // Not only at the end of a block: where blocks end must not show.
      if (depth > static_cast<int>(kDeepest)) return false;
      if (depth == 0) {
        if ((odd & (lowest - 1)) != 0) return false;
        q += std::countr_zero(lowest) + 1;
        if (q > end) return false;
        p = q;
        return true;
      }
    }
    if (odd != 0) return false;
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

// A value that is no number in the common spelling: text, or digits in another form.
void take_text(RawEvent& e, Field field, std::string_view text) {
  if (field <= Field::kCategory || field >= Field::kMetaName || text == "null") return;
  const bool time = field == Field::kStart || field == Field::kDuration;
  const auto value = time ? parse_microseconds(text) : parse_integer(text);
  e[field] = value.value_or(0);
  if (!value) e.bad |= bit(field);
  e.has |= bit(field);
}

// Part by part here and below: a whole that is put together and then copied is read before its
// parts have arrived in the cache, which stalls.
void set_text(RawText& to, std::string_view text, bool plain) {
  to.text = text;
  to.plain = plain;
}

void add_detail(RawEvent& e, std::string_view text, std::uint8_t index) {
  if (e.details >= e.detail.size()) return;
  RawDetail& to = e.detail[e.details++];
  to.text = text;
  to.index = index;
}

void add_detail(RawEvent& e, Field field, std::string_view text) {
  add_detail(e, text, static_cast<std::uint8_t>(detail_index(field)));
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
      set_text(e.name, text, close.plain);
      break;
    case Field::kMetaName:
      set_text(e.meta_name, text, close.plain);
      break;
    case Field::kPhase:
      e.phase = text.size() == 1 ? text.front() : '\0';
      return;
    case Field::kCategory:
      e.category = category_of(text);
      return;
    case Field::kProcess:
    case Field::kThread: {
      std::string_view& kept = field == Field::kProcess ? e.process_text : e.thread_text;
      kept = id_number(text, e[field]) ? std::string_view{} : text;
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

namespace {

// Numbers, by far the most frequent values. `p` is behind the number afterwards.
inline void take_number(const char*& p, const char* end, Field field, RawEvent& e) {
  const char* const from = p;
  if (field == Field::kStart || field == Field::kDuration) {
    if (fast_microseconds(p, e[field])) {
      e.has |= bit(field);
      return;
    }
  } else if (field >= Field::kProcess && field < Field::kMetaName) {
    if (field <= Field::kThread) (field == Field::kProcess ? e.process_text : e.thread_text) = {};
    if (fast_integer(p, e[field])) {
      e.has |= bit(field);
      return;
    }
  }
  p = token_end(p, end);
  if (p == end) return;
  if (field >= Field::kDetail) {
    add_detail(e, field, between(from, p));
  } else if (field != Field::kIgnored) {
    take_text(e, field, between(from, p));
  }
}

}  // namespace

// Strings, arrays, objects and words.
Scan EventScanner::take(const char*& p, const char* end, const Step& step, RawEvent& e) {
  const Field field = step.field;
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

bool fits(const ShapeEdge& edge, const char* p) {
  return same_bytes(p, edge.literal.data(), edge.length) &&
         may_start(edge.step.type, p[edge.length]);
}

// Any edge but the first. The step of last time is tried first.
ShapeEdge* find_further_edge(ShapeNode& node, const char* p) {
  ShapeEdge** link = &node.first->next;
  while (ShapeEdge* edge = *link) {
    if (fits(*edge, p)) {
      *link = edge->next;
      edge->next = node.first;
      node.first = edge;
      return edge;
    }
    link = &edge->next;
  }
  return nullptr;
}

inline ShapeEdge* find_edge(ShapeNode& node, const char* p) {
  if (node.first == nullptr) return nullptr;
  return fits(*node.first, p) ? node.first : find_further_edge(node, p);
}

// Tells names apart well enough to choose a set of runs.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  if (name.size() >= 8) {
    head = load64(name.data());
    tail = load64(name.data() + name.size() - 8);
  } else {
    std::memcpy(&head, name.data(), name.size());
  }
  const std::uint64_t h = (head ^ (tail << 1U | tail >> 63U)) * 0x9e3779b97f4a7c15U + name.size();
  return h ^ h >> 29U;
}

// A number stands for itself, not for text that an earlier member or event had in its place.
inline void forget_text(RawEvent& e, Field field) {
  if (field == Field::kProcess) e.process_text = {};
  if (field == Field::kThread) e.thread_text = {};
}

}  // namespace

// Replays a run at `p`.
void EventScanner::replay(Run& run, const char* p, RawEvent& e) {
  const Run::Number* const numbers = run.numbers();
  for (std::size_t i = 0; i < run.number_count; ++i) {
    const Field field = numbers[i].field;
    if (field <= Field::kThread) forget_text(e, field);
    e[field] = numbers[i].value;
    e.has |= bit(field);
  }
  if (run.argument_count == 0) return;
  if (e.details == 0) {
    e.memo = &run.memo;
    e.memo_details = run.argument_count;
  }
  const Run::Argument* const arguments = run.arguments();
  for (std::size_t i = 0; i < run.argument_count; ++i) {
    add_detail(e, {p + arguments[i].offset, arguments[i].size}, arguments[i].index);
  }
}

// Adds the value just taken to the run that is being recorded.
void EventScanner::record(const Step& step, const RawEvent& e) {
  if (step.field == Field::kIgnored) return;
  if (step.field >= Field::kDetail) {
    if (e.details == 0 || e.details == e.detail.size()) return runs_.cancel();
    const RawDetail& last = e.detail[e.details - 1U];
    return runs_.add_argument(last.index, last.text.data(), last.text.size());
  }
  // Text as a pid, a pointer as a stream: too rare to be worth it.
  if (step.type != ValueType::kNumber || (e.bad & bit(step.field)) != 0 || !e.is(step.field)) {
    return runs_.cancel();
  }
  runs_.add_number(step.field, e[step.field]);
}

Scan EventScanner::scan(const char*& from, const char* end, RawEvent& e) {
  ShapeNode* node = remember_ ? shapes_.root() : nullptr;
  Context context = Context::kBeforeEvent;
  std::uint64_t name = 0;
  bool recording = false;
  Step found;
  const char* p = from;  // kept out of memory
  const auto leave = [&from, &p](Scan scan) {
    from = p;
    return scan;
  };
  for (;;) {
    const Step* step = nullptr;
    const ShapeEdge* edge = nullptr;
    if (node != nullptr) {
      if (node->runs && !recording) {
        if (Run* const run = runs_.find(node, name, p)) {
          replay(*run, p, e);
          p += run->length;
          step = &run->last;
          node = run->to;
        } else if (node->runs) {
          runs_.begin(node, name, p);
          recording = true;
        }
      }
      if (step == nullptr) {
        edge = find_edge(*node, p);
        if (edge != nullptr) {
          p += edge->length;
          step = &edge->step;
          node = edge->child;
        }
      }
    }
    if (step == nullptr) {
      const char* at = p;
      const Scan scan = discover(context, at, end, found);
      const std::string_view literal = between(p, at);
      p = at;
      if (scan == Scan::kBad) return leave(bad("bad_syntax"));
      if (scan != Scan::kEvent) return leave(scan);
      step = &found;
      if (node != nullptr) {
        edge = shapes_.add(node, literal, found);
        node = edge == nullptr ? nullptr : edge->child;
      }
      if (edge == nullptr) {
        runs_.cancel();
        recording = false;
      }
    }
    if (recording) {
      if (Runs::ends(*edge)) {
        runs_.end(*edge, p);
      } else {
        runs_.add_value(*edge, p);
      }
      recording = runs_.recording();
    }
    if (step->phase != 0) e.phase = step->phase;
    if (step->category != kNoCategory) e.category = step->category;
    if (step->type == ValueType::kNone) return leave(Scan::kEvent);
    context = step->after;
    if (step->type == ValueType::kNumber) {
      take_number(p, end, step->field, e);
      if (p >= end) return leave(Scan::kNeedMore);
    } else {
      const char* at = p;
      const Scan scan = take(at, end, *step, e);
      p = at;
      if (scan != Scan::kEvent) return leave(scan);
      if (step->field == Field::kName && e.is(Field::kName)) {
        name = e.name_hash = hash_of(e.name.text);
      }
    }
    if (recording) {
      record(*step, e);
      recording = runs_.recording();
    }
  }
}

Scan EventScanner::next(const char*& p, const char* end, RawEvent& event) {
  if (shapes_.full()) {
    shapes_.forget();
    runs_.clear();
  }
  runs_.settle();
  event.clear();
  if (const auto like = counted_.find(p, end); like.length > 0) {
    event.phase = like.phase;
    p += like.length;
    return Scan::kEvent;
  }
  const char* q = p;
  const Scan scan = this->scan(q, end, event);
  runs_.cancel();
  if (scan == Scan::kEvent && remember_ && CountedEvents::counts(event.phase) &&
      !(flows_wanted_ && may_join(event))) {
    counted_.learn(p, q, event.phase);
  }
  if (scan != Scan::kNeedMore) p = q;
  return scan;
}

}  // namespace ergon::trace::kineto
