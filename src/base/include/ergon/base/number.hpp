// Numbers out of text, without exceptions and without the user's locale.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ergon {

// The number that the whole of `text` spells ("12"; "1.5" for a floating `Number`); nothing when
// there is anything else in it (a sign +, spaces, a unit) or when it does not fit.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace ergon
