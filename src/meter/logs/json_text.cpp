// Brackets, strings, and what Python adds to JSON.
#include "logs/json_text.hpp"

#include <utility>
#include <vector>

namespace ergon::meter::logs {
namespace {

// Steps over a string that begins at `at`; npos: it does not end.
std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// What Python prints of a dict: {'GPU0': 66.2, 'ok': True, 'none': None}
std::string without_python(std::string_view text) {
  std::string out;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      out += c == quote ? '"' : c;
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '\'' || c == '"') {
      quote = c;
      out += '"';
      continue;
    }
    bool found = false;
    for (const auto& [word, json] : {std::pair{"None", "null"}, std::pair{"True", "true"},
                                     std::pair{"False", "false"}, std::pair{"nan", "null"}}) {
      if (!text.substr(at).starts_with(word)) continue;
      out += json;
      at += std::string_view(word).size() - 1;
      found = true;
      break;
    }
    if (!found) out += c;
  }
  return out;
}

// json.dumps writes numbers that JSON does not have.
std::string without_nan(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      const std::size_t end = std::min(after_string(text, at), text.size());
      out += text.substr(at, end - at);
      at = end;
      continue;
    }
    bool found = false;
    for (const std::string_view word : {"NaN", "nan", "-Infinity", "Infinity"}) {
      if (text.substr(at, word.size()) != word) continue;
      out += "null";
      at += word.size();
      found = true;
      break;
    }
    if (!found) out += text[at++];
  }
  return out;
}

// Closes a document after the last member that is surely whole: one that a comma or a bracket
// follows.
std::string closed(std::string_view text) {
  std::vector<char> open;
  std::vector<char> best_open;
  std::size_t best = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = after_string(text, at);
      if (end == std::string_view::npos) break;
      at = end;
      continue;
    }
    if (c == ',') {
      best = at;
      best_open = open;
    }
    if (c == '{' || c == '[') open.push_back(c == '{' ? '}' : ']');
    if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) break;
      open.pop_back();
      best = at + 1;
      best_open = open;
    }
    ++at;
  }
  std::string out(text.substr(0, best));
  for (; !best_open.empty(); best_open.pop_back()) out += best_open.back();
  return out;
}

}  // namespace

void JsonText::add(std::string_view line, std::uint64_t number) {
  if (begin_ == text_.size()) {
    text_.clear();
    at_ = 0;
    begin_ = 0;
  }
  text_ += line;
  text_ += '\n';
  number_ = number;
}

std::optional<JsonText::Document> JsonText::next() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (in_string_) {
      if (c == '\\') {
        ++at_;
      } else if (c == '"') {
        in_string_ = false;
      }
      continue;
    }
    if (c == '"') {
      in_string_ = depth_ > 0;
    } else if (c == '{' || c == '[') {
      if (depth_ == 0 && !in_array_ && c == '[') {
        in_array_ = true;
        begin_ = at_ + 1;
        continue;
      }
      if (depth_++ == 0) {
        begin_ = at_;
        line_ = number_;
      }
    } else if (c == '}' || c == ']') {
      if (depth_ == 0) {
        in_array_ = false;
        begin_ = at_ + 1;
        continue;
      }
      if (--depth_ > 0) continue;
      Document out{text_.substr(begin_, at_ + 1 - begin_), line_, true};
      begin_ = ++at_;
      // Long lines hold many: what was given is not kept.
      constexpr std::size_t kKept = std::size_t{1} << 20U;
      if (begin_ > kKept) {
        text_.erase(0, begin_);
        at_ = 0;
        begin_ = 0;
      }
      return out;
    }
  }
  if (depth_ == 0) begin_ = text_.size();
  return std::nullopt;
}

std::optional<JsonText::Document> JsonText::rest() {
  if (depth_ == 0) return std::nullopt;
  Document out{text_.substr(begin_), line_, false};
  depth_ = 0;
  begin_ = text_.size();
  return out;
}

std::optional<Value> json_value(const JsonText::Document& document) {
  std::string text = document.whole ? document.text : closed(document.text);
  auto value = io::parse_json(text);
  if (!value) value = io::parse_json(without_nan(text));
  if (!value && text.find('\'') != std::string::npos) value = io::parse_json(without_python(text));
  if (!value) return std::nullopt;
  return std::move(*value);
}

}  // namespace ergon::meter::logs
