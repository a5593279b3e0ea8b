// Text of a trace made fit to show: unescaped, valid UTF-8, without control characters.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace ergon::trace::kineto {

/// What had to be replaced.
struct Repairs {
  bool bad_utf8 = false;
  bool control = false;  ///< a raw control character, which JSON forbids
  bool bad_escape = false;
};

/// Appends the inside of a JSON string to `out`: escapes resolved, invalid UTF-8 and lone
/// surrogates as U+FFFD, control characters (escaped ones too) as a space.
Repairs append_clean(std::string& out, std::string_view raw);

/// Appends a JSON value to `out`: strings cleaned, white space dropped, tokens that JSON does not
/// know (NaN, ...) as null. False where it is no JSON value; `out` is then as before. kPadding
/// bytes (bytes.hpp) behind `raw` must be readable.
bool append_compact(std::string& out, std::string_view raw, Repairs& repairs);

/// Appends `text`, which is valid UTF-8 without control characters, as a JSON string.
void append_quoted(std::string& out, std::string_view text);

}  // namespace ergon::trace::kineto
