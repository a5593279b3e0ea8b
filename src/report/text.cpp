// Figures and foreign text as people see them.
#include "text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "ergon/io.hpp"

namespace ergon::report {
namespace {

constexpr int kMostDecimals = 20;

struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};

// The character at the start of well-formed UTF-8.
Character first_character(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  const char32_t first = at(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1fU) << 6U | (at(1) & 0x3fU), 2};
  if (first < 0xf0) return {(first & 0x0fU) << 12U | (at(1) & 0x3fU) << 6U | (at(2) & 0x3fU), 3};
  return {(first & 0x07U) << 18U | (at(1) & 0x3fU) << 12U | (at(2) & 0x3fU) << 6U | (at(3) & 0x3fU),
          4};
}

bool is_between(char32_t c, char32_t low, char32_t high) { return c >= low && c <= high; }

// Control characters, and those that change the direction of text or are not seen at all.
bool is_hidden(char32_t c) {
  return c < 0x20 || is_between(c, 0x7f, 0x9f) || is_between(c, 0x200b, 0x200f) ||
         is_between(c, 0x2028, 0x202e) || is_between(c, 0x2060, 0x2069) || c == 0xfeff;
}

int width_of(char32_t c) {
  if (is_between(c, 0x300, 0x36f)) return 0;
  const bool wide = is_between(c, 0x1100, 0x115f) || is_between(c, 0x2e80, 0xa4cf) ||
                    is_between(c, 0xac00, 0xd7a3) || is_between(c, 0xf900, 0xfaff) ||
                    is_between(c, 0xfe30, 0xfe6f) || is_between(c, 0xff00, 0xff60) ||
                    is_between(c, 0x1f300, 0x1faff) || is_between(c, 0x20000, 0x3fffd);
  return wide ? 2 : 1;
}

std::string escape_of(char32_t c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const int digits = c < 0x100 ? 2 : 4;
  std::string out = c < 0x100 ? "\\x" : "\\u";
  for (int i = digits - 1; i >= 0; --i)
    out += kDigits[(c >> (4U * static_cast<unsigned>(i))) & 0xfU];
  return out;
}

}  // namespace

std::string number_text(double value, int significant, int most_decimals) {
  if (value == 0 ||
      (most_decimals < kMostDecimals && std::fabs(value) < 0.5 * std::pow(10.0, -most_decimals)))
    return "0";
  std::array<char, 64> text{};
  const double size = std::fabs(value);
  const bool exponent = size < 1e-6 || size >= 1e15;
  if (exponent) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   std::chars_format::scientific, std::max(0, significant - 1));
    return {text.data(), end.ptr};
  }
  // Rounding may carry into another digit (9.9996 -> 10.00): count digits after rounding.
  const auto rounded_to = [&](int decimals) {
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                   std::chars_format::fixed, decimals);
    return std::string(text.data(), end.ptr);
  };
  const int magnitude = static_cast<int>(std::floor(std::log10(size)));
  const int decimals = std::clamp(significant - 1 - magnitude, 0, most_decimals);
  auto shown = rounded_to(decimals);
  if (decimals > 0 &&
      std::fabs(std::strtod(shown.c_str(), nullptr)) >= std::pow(10.0, magnitude + 1)) {
    shown = rounded_to(decimals - 1);
  }
  return shown;
}

std::string cell_text(const Value& value, const Column& column, std::string_view unknown) {
  if (value.is_null()) return std::string(unknown);
  if (const auto* b = value.as_bool()) return *b ? "yes" : "no";
  if (const auto* i = value.as_int()) return std::to_string(*i);
  if (const auto* d = value.as_double()) {
    // No figure here is known to less than a hundredth of a percent.
    const int decimals = column.unit == "%" || column.unit == "points" ? 2 : kMostDecimals;
    return std::isfinite(*d) ? number_text(*d, column.significant, decimals) : std::string(unknown);
  }
  if (const auto* s = value.as_string()) return visible(*s);
  return visible(io::to_json(value, 0));
}

std::string data_text(const Value& value) {
  const auto* d = value.as_double();
  if (d == nullptr || !std::isfinite(*d)) return io::to_json(value, 0);
  std::array<char, 40> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), *d, std::chars_format::general, 15);
  double rounded = *d;
  std::from_chars(text.data(), end.ptr, rounded);
  return io::to_json(Value(rounded), 0);
}

std::string skipped_text(std::string_view reason) {
  struct Words {
    std::string_view reason, words;
    bool work = false;  // it takes time, and might be thought to be work
  };
  constexpr std::array kWords = {Words{"flow", "flow arrows"},
                                 Words{"instant", "instant marks"},
                                 Words{"counter", "counter values"},
                                 Words{"metadata", "metadata entries"},
                                 Words{"async", "asynchronous spans"},
                                 Words{"object", "object marks"},
                                 Words{"python_function", "Python frames", true},
                                 Words{"gpu_user_annotation", "annotations of GPU work", true},
                                 Words{"overhead", "spans of the profiler's own work", true},
                                 Words{"profiler_span", "spans of the whole profile", true},
                                 Words{"other_category", "events of other categories", true}};
  for (const Words& known : kWords) {
    if (reason != known.reason) continue;
    return std::string(known.words) + (known.work ? " (not taken as work)" : " (not needed)");
  }
  return visible(reason);
}

Table in_short_units(const Table& table) {
  Table out = table;
  for (std::size_t c = 0; c < out.columns.size(); ++c) {
    Column& column = out.columns[c];
    if (column.unit != "s" && column.unit != "J") continue;
    double largest = 0;
    for (const auto& row : out.rows) {
      const auto* d = c < row.size() ? row[c].as_double() : nullptr;
      if (d != nullptr && std::isfinite(*d)) largest = std::max(largest, std::fabs(*d));
    }
    if (largest <= 0 || largest >= 1) continue;
    const double factor = largest >= 1e-3 ? 1e3 : 1e6;
    column.unit = (factor == 1e3 ? "m" : "u") + column.unit;
    for (auto& row : out.rows) {
      if (c < row.size() && row[c].as_double() != nullptr)
        row[c] = Value(*row[c].as_double() * factor);
    }
  }
  return out;
}

std::string note_text(const Table& table) {
  if (table.hint.empty()) return table.note;
  return table.note + (table.note.empty() ? "" : "; ") + table.hint;
}

std::string visible(std::string_view text) {
  std::string valid;
  if (io::valid_utf8_prefix(text) != text.size()) {
    valid = io::valid_utf8(text);
    text = valid;
  }
  std::string out;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (is_hidden(code)) {
      out += escape_of(code);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::string heading(const Column& column) {
  return column.unit.empty() ? column.title : column.title + " (" + column.unit + ")";
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    width += width_of(code);
    text.remove_prefix(bytes);
  }
  return width;
}

std::string shortened(std::string_view text, int width, bool unicode) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view mark = unicode ? "\u2026" : "...";
  const int room = std::max(0, width - (unicode ? 1 : 3));
  // The end of a kernel's name tells variants apart as often as its start: two thirds to the start.
  const int head_room = room - room / 3;
  std::vector<std::size_t> starts;
  std::vector<int> widths;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = first_character(text.substr(at));
    starts.push_back(at);
    widths.push_back(width_of(code));
    at += bytes;
  }
  std::size_t head = 0;
  int used = 0;
  while (head < starts.size() && used + widths[head] <= head_room) used += widths[head++];
  std::size_t tail = starts.size();
  while (tail > head && used + widths[tail - 1] <= room) used += widths[--tail];
  const std::size_t head_end = head < starts.size() ? starts[head] : text.size();
  const std::size_t tail_start = tail < starts.size() ? starts[tail] : text.size();
  return std::string(text.substr(0, head_end)) + std::string(mark) +
         std::string(text.substr(tail_start));
}

namespace {

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    out.push_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return out;
}

std::string joined(std::span<const std::string_view> parts) {
  std::string out;
  for (const auto part : parts) out += part;
  return out;
}

// Texts of a group without the middle of what they all begin with, and shortened as a whole where
// that leaves too much.
std::vector<std::string> without_common_start(const std::vector<std::string>& group, int width,
                                              bool unicode) {
  std::vector<std::vector<std::string_view>> texts;
  texts.reserve(group.size());
  for (const auto& text : group) texts.push_back(characters_of(text));
  std::size_t common = texts.front().size();
  for (const auto& text : texts) {
    std::size_t same = 0;
    while (same < std::min(common, text.size()) && text[same] == texts.front()[same]) ++same;
    common = same;
  }
  const std::string mark = unicode ? "\u2026" : "...";
  std::vector<std::string> out;
  for (const auto& text : texts) {
    const std::span<const std::string_view> all(text);
    const std::string rest = joined(all.subspan(common));
    const int room = width - display_width(rest) - display_width(mark);
    if (room >= 0) {
      // Both ends of what is common: names begin and go on alike.
      const auto kept = std::min(static_cast<std::size_t>(room), common);
      const std::size_t tail = kept / 3;
      out.push_back(joined(all.first(kept - tail)) + mark +
                    joined(all.subspan(common - tail, tail)) + rest);
    } else {
      out.push_back(mark + shortened(rest, width - display_width(mark), unicode));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> shortened_apart(const std::vector<std::string>& texts, int width,
                                         bool unicode) {
  std::vector<std::string> out;
  out.reserve(texts.size());
  for (const auto& text : texts) out.push_back(shortened(text, width, unicode));
  // Groups of texts that look alike now, and their members.
  const auto alike = [&] {
    std::map<std::string, std::set<std::string>> groups;
    for (std::size_t i = 0; i < texts.size(); ++i) groups[out[i]].insert(texts[i]);
    std::erase_if(groups, [](const auto& g) { return g.second.size() < 2; });
    return groups;
  };
  for (const auto& [shown, members] : alike()) {
    const std::vector<std::string> group(members.begin(), members.end());
    const auto apart = without_common_start(group, width, unicode);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto at = std::ranges::find(group, texts[i]);
      if (at != group.end()) out[i] = apart[static_cast<std::size_t>(at - group.begin())];
    }
  }
  for (const auto& [shown, members] : alike()) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (members.contains(texts[i])) out[i] = texts[i];
    }
  }
  return out;
}

std::vector<std::string> wrapped(std::string_view text, int width) {
  std::vector<std::string> lines(1);
  int used = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const int wide = display_width(word);
    if (used > 0 && used + 1 + wide > width) {
      lines.emplace_back();
      used = 0;
    }
    if (used > 0) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += wide;
  }
  return lines;
}

std::vector<std::string> broken(std::string_view text, int width, int indent) {
  std::vector<std::string> lines;
  const std::string start(static_cast<std::size_t>(std::max(indent, 0)), ' ');
  std::string line;
  int used = 0;
  const auto room = [&] { return std::max(1, width - (lines.empty() ? 0 : indent)); };
  const auto end_line = [&] {
    lines.push_back(lines.empty() ? line : start + line);
    line.clear();
    used = 0;
  };
  for (std::string word : wrapped(text, 1)) {
    int wide = display_width(word);
    if (used > 0 && used + 1 + wide > room()) end_line();
    while (wide > room()) {
      // Before the first character that goes beyond.
      std::size_t cut = 0;
      while (cut < word.size()) {
        std::size_t next = cut + 1;
        while (next < word.size() && (static_cast<unsigned char>(word[next]) & 0xC0U) == 0x80U)
          ++next;
        if (cut > 0 && display_width(std::string_view(word).substr(0, next)) > room()) break;
        cut = next;
      }
      line = word.substr(0, cut);
      word.erase(0, cut);
      wide = display_width(word);
      end_line();
    }
    if (word.empty() && !lines.empty()) continue;
    line += (used > 0 ? " " : "") + word;
    used += (used > 0 ? 1 : 0) + wide;
  }
  if (!line.empty() || lines.empty()) end_line();
  return lines;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : visible(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace ergon::report
