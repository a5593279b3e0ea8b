// Cleaning of text and compaction of values; only text that is not plain comes here.
#include "text.hpp"

#include <array>

#include "bytes.hpp"
#include "number.hpp"

namespace ergon::trace::kineto {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void append_code_point(std::string& out, std::uint32_t c) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0U | c >> 6U);
    put(0x80U | (c & 0x3fU));
  } else if (c < 0x10000) {
    put(0xe0U | c >> 12U);
    put(0x80U | (c >> 6U & 0x3fU));
    put(0x80U | (c & 0x3fU));
  } else {
    put(0xf0U | c >> 18U);
    put(0x80U | (c >> 12U & 0x3fU));
    put(0x80U | (c >> 6U & 0x3fU));
    put(0x80U | (c & 0x3fU));
  }
}

// Length of the valid UTF-8 sequence at the start of `s`; 0: none.
std::size_t utf8_length(std::string_view s) {
  const auto at = [&s](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U;
  };
  const auto follows = [&at](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  const unsigned a = at(0);
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a < 0xe0) return follows(1) ? 2 : 0;
  if (a >= 0xe0 && a < 0xf0) {
    if (!follows(1) || !follows(2)) return 0;
    if (a == 0xe0 && at(1) < 0xa0) return 0;
    return a == 0xed && at(1) >= 0xa0 ? 0 : 3;
  }
  if (a >= 0xf0 && a < 0xf5) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (a == 0xf0 && at(1) < 0x90) return 0;
    return a == 0xf4 && at(1) >= 0x90 ? 0 : 4;
  }
  return 0;
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four hex digits behind "\u"; -1: not there.
std::int32_t hex4(std::string_view s) {
  if (s.size() < 4) return -1;
  std::int32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_value(s[i]);
    if (digit < 0) return -1;
    v = v * 16 + digit;
  }
  return v;
}

void append_character(std::string& out, std::uint32_t c) {
  if (c < 0x20) {
    out.push_back(' ');
  } else {
    append_code_point(out, c);
  }
}

// One escape at the start of `raw` (which starts with a backslash); the bytes it took.
std::size_t append_escape(std::string& out, std::string_view raw, Repairs& repairs) {
  if (raw.size() < 2) {
    repairs.bad_escape = true;
    out.push_back('\\');
    return 1;
  }
  switch (raw[1]) {
    case '"':
      out.push_back('"');
      return 2;
    case '\\':
      out.push_back('\\');
      return 2;
    case '/':
      out.push_back('/');
      return 2;
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      out.push_back(' ');
      return 2;
    case 'u':
      break;
    default:
      // A lone backslash, as in an unescaped Windows path.
      repairs.bad_escape = true;
      out.push_back('\\');
      return 1;
  }
  const std::int32_t high = hex4(raw.substr(2));
  if (high < 0) {
    repairs.bad_escape = true;
    out.push_back('\\');
    return 1;
  }
  if (high >= 0xd800 && high < 0xe000) {
    const bool pair = high < 0xdc00 && raw.size() >= 12 && raw[6] == '\\' && raw[7] == 'u';
    const std::int32_t low = pair ? hex4(raw.substr(8)) : -1;
    if (low >= 0xdc00 && low < 0xe000) {
      append_code_point(
          out, static_cast<std::uint32_t>(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
      return 12;
    }
    repairs.bad_utf8 = true;
    out += kReplacement;
    return 6;
  }
  append_character(out, static_cast<std::uint32_t>(high));
  return 6;
}

bool is_json_number(std::string_view t) {
  std::size_t i = t.starts_with('-') ? 1 : 0;
  const auto digits = [&t, &i] {
    const std::size_t from = i;
    while (i < t.size() && is_digit(t[i])) ++i;
    return i > from;
  };
  const std::size_t whole = i;
  if (!digits() || (t[whole] == '0' && i > whole + 1)) return false;
  if (i < t.size() && t[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < t.size() && (t[i] == 'e' || t[i] == 'E')) {
    ++i;
    if (i < t.size() && (t[i] == '+' || t[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == t.size();
}

void add(Repairs& to, const Repairs& from) {
  to.bad_utf8 = to.bad_utf8 || from.bad_utf8;
  to.control = to.control || from.control;
  to.bad_escape = to.bad_escape || from.bad_escape;
}

}  // namespace

Repairs append_clean(std::string& out, std::string_view raw) {
  Repairs repairs;
  while (!raw.empty()) {
    const auto c = static_cast<unsigned char>(raw.front());
    if (c == '\\') {
      raw.remove_prefix(append_escape(out, raw, repairs));
    } else if (c < 0x20) {
      repairs.control = true;
      out.push_back(' ');
      raw.remove_prefix(1);
    } else if (const std::size_t n = utf8_length(raw); n > 0) {
      out += raw.substr(0, n);
      raw.remove_prefix(n);
    } else {
      repairs.bad_utf8 = true;
      out += kReplacement;
      raw.remove_prefix(1);
    }
  }
  return repairs;
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  if (text.find_first_of("\"\\") == std::string_view::npos) {
    out += text;
  } else {
    for (const char c : text) {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  out.push_back('"');
}

namespace {

// Compacts one JSON value without recursion; knows what may come next.
class Compactor {
 public:
  Compactor(std::string& out, std::string_view raw, Repairs& repairs)
      : out_(out), p_(raw.data()), end_(raw.data() + raw.size()), repairs_(repairs) {}

  bool run() {
    for (;;) {
      while (p_ < end_ && is_space(*p_)) ++p_;
      if (p_ == end_) return next_ == Next::kComma && depth_ == 0;
      if (!step(*p_)) return false;
    }
  }

 private:
  enum class Next : std::uint8_t { kValue, kFirstValue, kKey, kFirstKey, kColon, kComma };

  bool step(char c) {
    const bool value = next_ == Next::kValue || next_ == Next::kFirstValue;
    const bool key = next_ == Next::kKey || next_ == Next::kFirstKey;
    switch (c) {
      case '[':
      case '{':
        if (!value || depth_ == kDepth) return false;
        open_[depth_++] = c == '[' ? ']' : '}';
        next_ = c == '[' ? Next::kFirstValue : Next::kFirstKey;
        return punctuation(c);
      case ']':
      case '}':
        if (depth_ == 0 || open_[depth_ - 1] != c) return false;
        if (next_ != Next::kComma && next_ != (c == ']' ? Next::kFirstValue : Next::kFirstKey)) {
          return false;
        }
        --depth_;
        next_ = Next::kComma;
        return punctuation(c);
      case ',':
        if (next_ != Next::kComma || depth_ == 0) return false;
        next_ = open_[depth_ - 1] == ']' ? Next::kValue : Next::kKey;
        return punctuation(c);
      case ':':
        if (next_ != Next::kColon) return false;
        next_ = Next::kValue;
        return punctuation(c);
      case '"':
        if (!value && !key) return false;
        next_ = key ? Next::kColon : Next::kComma;
        return string();
      default:
        if (!value) return false;
        next_ = Next::kComma;
        return token();
    }
  }
  bool punctuation(char c) {
    out_.push_back(c);
    ++p_;
    return true;
  }
  bool string() {
    const StringEnd close = find_string_end(p_ + 1, end_);
    if (close.quote == nullptr) return false;
    const char* const q = close.quote;
    if (close.plain) {
      out_.append(p_, q + 1);
      p_ = q + 1;
      return true;
    }
    std::string text;
    add(repairs_, append_clean(text, {p_ + 1, static_cast<std::size_t>(q - p_ - 1)}));
    append_quoted(out_, text);
    p_ = q + 1;
    return true;
  }
  bool token() {
    const char* q = token_end(p_, end_);
    if (q == p_) return false;
    const std::string_view word(p_, static_cast<std::size_t>(q - p_));
    const bool known = word == "true" || word == "false" || is_json_number(word);
    out_ += known ? word : std::string_view("null");
    p_ = q;
    return true;
  }

  static constexpr std::size_t kDepth = 256;
  std::string& out_;
  const char* p_;
  const char* end_;
  Repairs& repairs_;
  std::array<char, kDepth> open_;
  std::size_t depth_ = 0;
  Next next_ = Next::kValue;
};

}  // namespace

bool append_compact(std::string& out, std::string_view raw, Repairs& repairs) {
  const std::size_t before = out.size();
  if (Compactor(out, raw, repairs).run()) return true;
  out.resize(before);
  return false;
}

}  // namespace ergon::trace::kineto
