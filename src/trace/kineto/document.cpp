// Walks a file: members of the outermost object, the events among them, and the way back to the
// next event where the text is damaged.
#include "document.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "../normalise.hpp"
#include "builder.hpp"
#include "metadata.hpp"
#include "scan.hpp"
#include "window.hpp"

namespace ergon::trace::kineto {

namespace {

constexpr std::size_t kMaxEvent = std::size_t{8} << 20U;
constexpr std::size_t kMaxMetadata = std::size_t{16} << 20U;
constexpr std::size_t kMaxKey = 4096;
constexpr std::size_t kMaxMembers = 64;
// What the way back looks at behind a bracket, at most.
constexpr std::ptrdiff_t kLookAhead = 256;

class Reader {
 public:
  Reader(io::ByteSource& source, std::size_t window, bool remember)
      : window_(source, window),
        at_(window_.begin()),
        event_(std::make_unique<RawEvent>()),
        builder_(table_),
        scanner_(remember, builder_.flows_wanted()),
        metadata_(table_) {}

  Status run();
  EventTable finish();
  [[nodiscard]] Nanos clock_ns() const { return metadata_.clock_ns(); }
  [[nodiscard]] double source_seconds() const { return window_.source_seconds(); }

 private:
  // What the way back has found.
  enum class Found : std::uint8_t { kEvent, kMember, kEnd };

  // The next byte that is no white space; -1 at the end.
  int peek();
  bool ensure(std::size_t bytes);
  std::optional<std::string> string();
  Scan skip_value(std::string* text);
  void truncated(std::uint64_t at);
  void members();
  void member();
  void events();
  Scan next_event();
  Found recover();
  bool event_starts_here(const char* p) const;
  bool member_follows(const char* p) const;
  [[nodiscard]] Status usable() const;
  [[nodiscard]] std::uint64_t offset() const { return window_.offset(at_); }

  EventTable table_;
  Window window_;
  const char* at_;
  const char* start_ = nullptr;  // where next_event() began, in the window as it is now
  std::unique_ptr<RawEvent> event_;
  Builder builder_;
  EventScanner scanner_;
  Metadata metadata_;
  std::vector<std::string> seen_;
  std::string head_;
  std::string schema_;       // as it stands, quotes included
  const char* reason_ = "";  // of the latest damage
  bool array_ = false;
  bool had_events_ = false;
  bool truncated_ = false;
};

int Reader::peek() {
  for (;;) {
    while (at_ < window_.end() && is_space(*at_)) ++at_;
    if (at_ < window_.end()) return static_cast<unsigned char>(*at_);
    if (!window_.more(at_)) return -1;
  }
}

// Makes `bytes` bytes from at_ available, if the input has them.
bool Reader::ensure(std::size_t bytes) {
  while (static_cast<std::size_t>(window_.end() - at_) < bytes) {
    if (!window_.more(at_)) return false;
  }
  return true;
}

// The string at at_ (its opening quote), raw; nullopt where it does not end soon.
std::optional<std::string> Reader::string() {
  for (;;) {
    const StringEnd close = find_string_end(at_ + 1, window_.end());
    const bool short_enough =
        close.quote != nullptr && static_cast<std::size_t>(close.quote - at_) <= kMaxKey;
    if (short_enough) {
      std::string text(at_ + 1, close.quote);
      at_ = close.quote + 1;
      return text;
    }
    if (static_cast<std::size_t>(window_.end() - at_) > kMaxKey || !window_.more(at_)) {
      return std::nullopt;
    }
  }
}

// Walks over one value of any size without keeping it, or with its text in `text`. kBad where
// brackets do not match or something odd follows a string (a quote is missing), kNeedMore where the
// input ends.
Scan Reader::skip_value(std::string* text) {
  std::string open;
  bool quoted = false;
  bool escaped = false;
  bool after_string = false;
  for (;;) {
    if (at_ == window_.end() && !window_.more(at_)) return Scan::kNeedMore;
    const char c = *at_;
    if (after_string && !is_space(c)) {
      after_string = false;
      if (c != ',' && c != ':' && c != ']' && c != '}') return Scan::kBad;
    }
    if (!quoted && open.empty() && (c == ',' || c == '}' || c == ']')) return Scan::kEvent;
    if (text != nullptr && text->size() < kMaxMetadata) text->push_back(c);
    ++at_;
    if (quoted) {
      if (escaped) {
        escaped = false;
      } else if (c == '\\') {
        escaped = true;
      } else if (c == '"') {
        quoted = false;
        if (open.empty()) return Scan::kEvent;
        after_string = true;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (open.size() == kDeepest) return Scan::kBad;
      open.push_back(c == '[' ? ']' : '}');
    } else if (c == ']' || c == '}') {
      if (open.back() != c) return Scan::kBad;
      open.pop_back();
      if (open.empty()) return Scan::kEvent;
    }
  }
}

void Reader::member() {
  const std::uint64_t start = offset();
  const auto key = string();
  if (!key || peek() != ':') {
    builder_.skip("bad_syntax", start);
    if (recover() == Found::kEvent) events();
    return;
  }
  ++at_;
  const int c = peek();
  if (seen_.size() < kMaxMembers) seen_.push_back(*key);
  if (*key == "traceEvents" && c == '[') {
    ++at_;
    events();
    return;
  }
  const bool wanted = is_metadata(*key);
  std::string text;
  const std::uint64_t value = offset();
  const bool schema = *key == "schema" && schema_.empty();
  const Scan skipped = skip_value(schema ? &schema_ : wanted ? &text : nullptr);
  if (skipped == Scan::kNeedMore) return truncated(value);
  if (skipped == Scan::kBad) {
    builder_.skip("bad_syntax", value);
    if (recover() == Found::kEvent) events();
  } else if (wanted && !metadata_.add(*key, text)) {
    builder_.skip("bad_metadata", value);
  }
}

// Counted once: what is missing at the end is missing at every level.
void Reader::truncated(std::uint64_t at) {
  if (!std::exchange(truncated_, true)) builder_.skip("truncated", at);
}

void Reader::members() {
  for (;;) {
    const int c = peek();
    if (c == -1) return truncated(offset());
    if (c == ',') {
      ++at_;
    } else if (c == '}') {
      ++at_;
      return;
    } else if (c == '"') {
      member();
    } else {
      builder_.skip("bad_syntax", offset());
      if (recover() == Found::kEvent) events();
    }
  }
}

void Reader::events() {
  had_events_ = true;
  for (;;) {
    switch (next_event()) {
      case Scan::kEvent:
        builder_.add(*event_, Place{start_, window_.offset(start_)});
        break;
      case Scan::kEndOfArray:
        return;
      case Scan::kNeedMore: {
        const std::uint64_t rest = Place{at_, offset()};
        at_ = window_.end();
        return truncated(rest);
      }
      case Scan::kBad:
        builder_.skip(reason_, offset());
        if (recover() != Found::kEvent) return;
        break;
    }
  }
}

// The event at at_, with as much of the window as it takes; kNeedMore at the end of the input.
Scan Reader::next_event() {
  for (;;) {
    start_ = at_;
    const char* p = at_;
    const Scan scan = scanner_.next(p, window_.end(), *event_);
    const char* const reached = scan == Scan::kNeedMore ? window_.end() : p;
    if (static_cast<std::size_t>(reached - at_) > kMaxEvent) {
      // What lies behind the limit must not depend on how much of it is in the window.
      at_ += kMaxEvent;
      reason_ = "event_too_long";
      return Scan::kBad;
    }
    if (scan != Scan::kNeedMore) {
      at_ = p;
      if (scan == Scan::kBad) reason_ = scanner_.reason();
      return scan;
    }
    if (!window_.more(at_)) return scan;
  }
}

// Is there `{ "KEY" :` with a key of an event at `p`?
bool Reader::event_starts_here(const char* p) const {
  static constexpr std::array<std::string_view, 10> kKeys = {"ph", "cat", "name", "pid", "tid",
                                                             "ts", "dur", "args", "id",  "bp"};
  const char* const end = std::min(window_.end(), p + kLookAhead);
  ++p;
  while (p < end && is_space(*p)) ++p;
  if (p == end || *p != '"') return false;
  ++p;
  const char* const key = p;
  while (p < end && *p != '"' && p - key < 8) ++p;
  const std::string_view word(key, static_cast<std::size_t>(p - key));
  if (std::ranges::find(kKeys, word) == kKeys.end() || p == end || *p != '"') return false;
  ++p;
  while (p < end && is_space(*p)) ++p;
  return p < end && *p == ':';
}

// Is there `] , "KEY"` with a key of the outermost object at `p`?
bool Reader::member_follows(const char* p) const {
  if (array_) return false;
  const char* const end = std::min(window_.end(), p + kLookAhead);
  ++p;
  while (p < end && (is_space(*p) || *p == ',')) ++p;
  if (p == end || *p != '"') return false;
  const StringEnd close = find_string_end(p + 1, end);
  if (close.quote == nullptr) return false;
  const std::string_view key(p + 1, static_cast<std::size_t>(close.quote - p - 1));
  return is_metadata(key) || key == "traceName" || key == "displayTimeUnit" || key == "INFO";
}

// From damage at at_ to the next event, or to the members behind the events, or to the end.
Reader::Found Reader::recover() {
  constexpr std::string_view kEvents = "\"traceEvents\"";
  for (;;) {
    while (at_ < window_.end() && *at_ != '{' && *at_ != ']' && *at_ != '"') ++at_;
    if (at_ == window_.end() || window_.end() - at_ < kLookAhead) {
      const bool more = window_.more(at_);
      if (!more && at_ == window_.end()) return Found::kEnd;
      if (more) continue;
    }
    const char c = *at_;
    if (c == '"') {
      const std::string_view rest(at_, static_cast<std::size_t>(window_.end() - at_));
      if (!array_ && rest.starts_with(kEvents)) return Found::kMember;
      ++at_;
    } else if (c == ']') {
      ++at_;
      if (member_follows(at_ - 1)) return Found::kMember;
    } else if (!event_starts_here(at_)) {
      ++at_;
    } else {
      const std::uint64_t start = offset();
      const Scan scan = next_event();
      if (scan == Scan::kNeedMore) {
        at_ = window_.end();
        return Found::kEnd;
      }
      if (scan == Scan::kEvent && event_->phase != 0) {
        builder_.add(*event_, Place{start_, start});
        return Found::kEvent;
      }
      if (scan == Scan::kBad && offset() == start) ++at_;
    }
  }
}

Status Reader::run() {
  window_.more(at_);
  if (ensure(3) && std::string_view(at_, 3) == "\xef\xbb\xbf") at_ += 3;
  const int first = peek();
  ensure(64);
  head_.assign(at_, std::min<std::size_t>(64, static_cast<std::size_t>(window_.end() - at_)));
  // What is no JSON may never end (a device, a pipe), and no byte of it is needed.
  if (first != -1 && first != '[' && first != '{') return usable();
  if (first != -1) {
    array_ = first == '[';
    ++at_;
    if (array_) {
      events();
    } else {
      members();
    }
    // Something behind the end: a bracket too many inside, or a second document.
    while (peek() != -1) {
      const std::uint64_t at = offset();
      const std::uint64_t before = builder_.taken_events();
      const Found found = recover();
      if (found == Found::kEvent) events();
      if (found != Found::kEnd && !array_) members();
      builder_.skip(builder_.taken_events() > before ? "trailing_events" : "trailing_data", at);
    }
  }
  // To the end, for the digest, and for damage in the compressed data.
  do {
    at_ = window_.end();
  } while (window_.more(at_));
  if (window_.failure() && window_.failure()->code != Errc::kMalformedInput) {
    return fail(*window_.failure());
  }
  if (window_.failure()) builder_.skip("damaged_compression", offset());
  builder_.finish();
  return usable();
}

Status Reader::usable() const {
  if (builder_.known_events() > 0 && table_.size() > 0) return {};
  const auto refuse = [](std::string message, std::string hint, std::uint64_t at) {
    return fail(Error{.code = Errc::kMalformedInput,
                      .message = std::move(message),
                      .hint = std::move(hint),
                      .offset = at});
  };
  const std::string expected = "; expected a JSON object with traceEvents, or an array of events";
  if (head_.empty()) {
    if (window_.failure()) return fail(*window_.failure());
    return refuse("the input is empty" + expected, "check how the trace was written", 0);
  }
  if (head_.front() != '{' && head_.front() != '[') {
    const Looks looks = looks_of_bytes(head_);
    return refuse("this looks like " + looks.what + expected, looks.hint, 0);
  }
  const Skipped* worst = nullptr;
  for (const Skipped& s : table_.skipped) {
    if (s.damage && (worst == nullptr || s.first_offset < worst->first_offset)) worst = &s;
  }
  if (builder_.complete_events() > 0) {
    return refuse("this is a Chrome trace, but no event has a category that Kineto writes",
                  "rpd, Perfetto and others write such files; Ergon reads traces of the PyTorch "
                  "profiler (Kineto)",
                  0);
  }
  if (!had_events_ && worst == nullptr) {
    const Looks looks = looks_of_members(seen_, schema_);
    return refuse("this looks like " + looks.what + expected, looks.hint, 0);
  }
  if (worst != nullptr) {
    return refuse("no usable event: " + worst->reason + " at byte " +
                      std::to_string(worst->first_offset) + expected,
                  window_.failure() ? window_.failure()->hint : "record or copy the trace again",
                  worst->first_offset);
  }
  return refuse("the trace has no complete events (\"ph\": \"X\")",
                "record with ProfilerActivity.CPU and ProfilerActivity.CUDA", 0);
}

EventTable Reader::finish() {
  metadata_.finish();
  std::ranges::sort(table_.skipped, {}, &Skipped::reason);
  return std::move(table_);
}

}  // namespace

Result<EventTable> read(io::ByteSource& source, const ReadOptions& options, ReadTimings& timings,
                        bool remember_shapes) {
  const double begin = thread_seconds();
  Reader reader(source, options.window_bytes, remember_shapes);
  ERGON_TRY_STATUS(reader.run());
  EventTable table = reader.finish();
  const double parsed = thread_seconds();
  table.format = "kineto";
  table.input = source.record();
  table.input.format = table.format;
  normalise(table, reader.clock_ns());
  timings.decompress_s += reader.source_seconds();
  timings.parse_s += parsed - begin - reader.source_seconds();
  timings.normalise_s += thread_seconds() - parsed;
  timings.uncompressed_bytes += source.position();
  return table;
}

}  // namespace ergon::trace::kineto
