// JSON text from a Value, and a Value from JSON text. Small documents only; traces have their own
// reader.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ergon/io.hpp"

namespace ergon::io {
namespace {

void write_string(std::string& out, std::string_view text, bool for_html) {
  if (valid_utf8_prefix(text) != text.size()) return write_string(out, valid_utf8(text), for_html);
  out += '"';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        if (u < 0x20 || u == 0x7f || (for_html && (c == '<' || c == '>' || c == '&'))) {
          std::array<char, 8> escape{};
          std::snprintf(escape.data(), escape.size(), "\\u%04x", unsigned{u});
          out += escape.data();
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void write_double(std::string& out, double v) {
  if (!std::isfinite(v)) {
    out += "null";
    return;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), v);
  const std::string_view view(text.data(), static_cast<std::size_t>(end.ptr - text.data()));
  out += view;
  // A double stays a double for readers that tell 1 from 1.0.
  if (view.find_first_of(".en") == std::string_view::npos) out += ".0";
}

class Writer {
 public:
  Writer(int indent, bool for_html) : indent_(indent), for_html_(for_html) {}

  void write(const Value& v, int depth) {
    if (v.is_null()) {
      out += "null";
    } else if (const auto* b = v.as_bool()) {
      out += *b ? "true" : "false";
    } else if (const auto* i = v.as_int()) {
      out += std::to_string(*i);
    } else if (const auto* d = v.as_double()) {
      write_double(out, *d);
    } else if (const auto* s = v.as_string()) {
      write_string(out, *s, for_html_);
    } else if (const auto* a = v.as_array()) {
      list('[', ']', *a, depth, [&](const Value& item) { write(item, depth + 1); });
    } else if (const auto* o = v.as_object()) {
      list('{', '}', *o, depth, [&](const auto& member) {
        write_string(out, member.first, for_html_);
        out += indent_ > 0 ? ": " : ":";
        write(member.second, depth + 1);
      });
    }
  }

  std::string out;

 private:
  // A container of scalars goes on one line, so that tables of numbers stay readable.
  static bool flat(const Value& v) { return v.as_array() == nullptr && v.as_object() == nullptr; }
  static bool flat(const std::pair<std::string, Value>& member) { return flat(member.second); }

  template <class Items, class Write>
  void list(char open, char close, const Items& items, int depth, Write&& write_item) {
    bool one_line = indent_ == 0 || items.size() <= 8;
    for (const auto& item : items) one_line = one_line && (indent_ == 0 || flat(item));
    if (depth == 0) one_line = indent_ == 0;
    out += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out += one_line && indent_ > 0 ? ", " : ",";
      first = false;
      if (!one_line) new_line(depth + 1);
      write_item(item);
    }
    if (!one_line && !items.empty()) new_line(depth);
    out += close;
  }
  void new_line(int depth) {
    out += '\n';
    out.append(static_cast<std::size_t>(depth) * static_cast<std::size_t>(indent_), ' ');
  }

  int indent_;
  bool for_html_;
};

class Parser {
 public:
  Parser(std::string_view text, Twice twice) : text_(text), twice_(twice) {}

  Result<Value> document() {
    Value v;
    ERGON_TRY_STATUS(value(v, 0));
    skip_blank();
    if (at_ != text_.size()) return fail(expected("the end of the document"));
    return v;
  }

 private:
  static constexpr int kMaxDepth = 512;

  Error expected(const std::string& what) const {
    std::string found = "the end";
    if (at_ < text_.size()) {
      const char c = text_[at_];
      found = c >= 0x20 && c < 0x7f ? std::string("'") + c + "'"
                                    : "byte " + std::to_string(static_cast<unsigned char>(c));
    }
    return Error{.code = Errc::kMalformedInput,
                 .message = "not valid JSON at byte " + std::to_string(at_) + ": expected " + what +
                            ", found " + found,
                 .hint = "check the file with any JSON tool",
                 .offset = at_};
  }
  void skip_blank() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  Status word(std::string_view w, Value v, Value& out) {
    if (text_.substr(at_, w.size()) != w) return fail(expected("a value"));
    at_ += w.size();
    out = std::move(v);
    return {};
  }

  Status value(Value& out, int depth) {
    if (depth > kMaxDepth) return fail(expected("at most 512 levels of nesting"));
    skip_blank();
    if (at_ >= text_.size()) return fail(expected("a value"));
    switch (text_[at_]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"': {
        std::string s;
        ERGON_TRY_STATUS(string(s));
        out = Value(std::move(s));
        return {};
      }
      case 't':
        return word("true", true, out);
      case 'f':
        return word("false", false, out);
      case 'n':
        return word("null", nullptr, out);
      default:
        return number(out);
    }
  }
  Status object(Value& out, int depth) {
    ++at_;
    Value::Object members;
    skip_blank();
    if (!take('}')) {
      do {
        skip_blank();
        if (at_ >= text_.size() || text_[at_] != '"')
          return fail(expected("a member name in quotes"));
        std::string name;
        ERGON_TRY_STATUS(string(name));
        skip_blank();
        if (!take(':')) return fail(expected("':'"));
        Value member;
        ERGON_TRY_STATUS(value(member, depth + 1));
        members.emplace_back(std::move(name), std::move(member));
        skip_blank();
      } while (take(','));
      if (!take('}')) return fail(expected("',' or '}'"));
      const std::string* repeated = twice_ == Twice::kRefuse ? name_given_twice(members) : nullptr;
      if (repeated != nullptr)
        return fail(expected("each member once, but \"" + *repeated + "\" stands twice"));
    }
    out = Value(std::move(members));
    return {};
  }
  static const std::string* name_given_twice(const Value::Object& members) {
    if (members.size() < 2) return nullptr;
    std::vector<const std::string*> names;
    names.reserve(members.size());
    for (const auto& [name, member] : members) names.push_back(&name);
    std::ranges::sort(names, {},
                      [](const std::string* name) -> const std::string& { return *name; });
    const auto at = std::ranges::adjacent_find(
        names, [](const std::string* a, const std::string* b) { return *a == *b; });
    return at == names.end() ? nullptr : *at;
  }
  Status array(Value& out, int depth) {
    ++at_;
    Value::Array items;
    skip_blank();
    if (!take(']')) {
      do {
        Value item;
        ERGON_TRY_STATUS(value(item, depth + 1));
        items.push_back(std::move(item));
        skip_blank();
      } while (take(','));
      if (!take(']')) return fail(expected("',' or ']'"));
    }
    out = Value(std::move(items));
    return {};
  }
  Status number(Value& out) {
    const std::size_t begin = at_;
    if (take('-')) {
    }
    const auto digits = [&] {
      const std::size_t from = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      return at_ - from;
    };
    const std::size_t lead = at_;
    const std::size_t whole = digits();
    if (whole == 0 || (whole > 1 && text_[lead] == '0')) {
      at_ = begin;
      return fail(expected("a value"));
    }
    bool integer = true;
    if (take('.')) {
      integer = false;
      if (digits() == 0) return fail(expected("a digit"));
    }
    if (take('e') || take('E')) {
      integer = false;
      if (!take('+')) take('-');
      if (digits() == 0) return fail(expected("a digit"));
    }
    const char* first = text_.data() + begin;
    const char* last = text_.data() + at_;
    if (integer) {
      std::int64_t i = 0;
      if (std::from_chars(first, last, i).ec == std::errc{}) {
        out = Value(i);
        return {};
      }
    }
    double d = 0;
    if (std::from_chars(first, last, d).ec != std::errc{} || !std::isfinite(d)) {
      at_ = begin;
      return fail(expected("a number within the range of a double"));
    }
    out = Value(d);
    return {};
  }
  static void append_utf8(std::string& s, unsigned code) {
    const auto put = [&](unsigned byte) { s += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0U | (code >> 6U));
      put(0x80U | (code & 0x3fU));
    } else if (code < 0x10000) {
      put(0xe0U | (code >> 12U));
      put(0x80U | ((code >> 6U) & 0x3fU));
      put(0x80U | (code & 0x3fU));
    } else {
      put(0xf0U | (code >> 18U));
      put(0x80U | ((code >> 12U) & 0x3fU));
      put(0x80U | ((code >> 6U) & 0x3fU));
      put(0x80U | (code & 0x3fU));
    }
  }
  Result<unsigned> hex4() {
    unsigned code = 0;
    const char* first = text_.data() + at_;
    if (text_.size() - at_ < 4 || std::from_chars(first, first + 4, code, 16).ptr != first + 4) {
      return fail(expected("four hex digits"));
    }
    at_ += 4;
    return code;
  }
  Status string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return {};
      }
      if (static_cast<unsigned char>(c) < 0x20)
        return fail(expected("no control character in a string"));
      if (c != '\\') {
        out += c;
        ++at_;
        continue;
      }
      ++at_;
      if (at_ >= text_.size()) break;
      const char e = text_[at_++];
      switch (e) {
        case '"':
        case '\\':
        case '/':
          out += e;
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case 'n':
          out += '\n';
          break;
        case 'r':
          out += '\r';
          break;
        case 't':
          out += '\t';
          break;
        case 'u': {
          ERGON_TRY(unsigned code, hex4());
          if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
            at_ += 2;
            ERGON_TRY(const unsigned low, hex4());
            if (low < 0xdc00 || low > 0xdfff)
              return fail(expected("the second half of a surrogate pair"));
            code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
          } else if (code >= 0xd800 && code < 0xe000) {
            code = 0xfffd;
          }
          append_utf8(out, code);
          break;
        }
        default:
          --at_;
          return fail(expected("a known escape"));
      }
    }
    return fail(expected("the closing quote of a string"));
  }

  std::string_view text_;
  Twice twice_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_json(const Value& value, int indent, bool for_html) {
  Writer writer(indent, for_html);
  writer.write(value, 0);
  if (indent > 0) writer.out += '\n';
  return std::move(writer.out);
}

Result<Value> parse_json(std::string_view text, Twice twice) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  return Parser(text, twice).document();
}

std::optional<double> parse_double(std::string_view text) {
  double v = 0;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const char* last = text.data() + text.size();
  const char* first = last - text.size();
  const auto result = std::from_chars(first, last, v);
  if (text.empty() || result.ec != std::errc{} || result.ptr != last || !std::isfinite(v))
    return std::nullopt;
  return v;
}

}  // namespace ergon::io
