// UTF-8: is it valid, and what to do where it is not.
#include <string>

#include "ergon/io.hpp"

namespace ergon::io {
namespace {

bool in(unsigned char c, unsigned low, unsigned high) { return c >= low && c <= high; }

// Bytes of the well-formed sequence at the start of `text` (Unicode 15, table 3-7); 0: none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto tail = [&](std::size_t i) {
    return in(static_cast<unsigned char>(byte(i)), 0x80, 0xbf);
  };
  const auto first = static_cast<unsigned char>(byte(0));
  const auto second = static_cast<unsigned char>(byte(1));
  if (first < 0x80) return 1;
  if (in(first, 0xc2, 0xdf)) return tail(1) ? 2 : 0;
  if (in(first, 0xe0, 0xef)) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;  // no surrogates
    return in(second, low, high) && tail(2) ? 3 : 0;
  }
  if (in(first, 0xf0, 0xf4)) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return in(second, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t good = valid_utf8_prefix(text);
    out += text.substr(0, good);
    if (good == text.size()) return out;
    out += "\xef\xbf\xbd";
    text.remove_prefix(good + 1);
  }
}

}  // namespace ergon::io
