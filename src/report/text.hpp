// Figures and foreign text as people see them: numbers by significant digits, names without control
// characters.
#pragma once
#include <string>
#include <string_view>

#include "ergon/base.hpp"

namespace ergon::report {

/// A double with `significant` digits, never in exponent form between 1e-6 and 1e15; "0" for zero.
std::string number_text(double value, int significant);
/// One cell; `unknown` stands for null.
std::string cell_text(const Value& value, const Column& column, std::string_view unknown);
/// Foreign text for a terminal or a page: control characters and those that reorder text become
/// visible escapes, bytes that are not UTF-8 become U+FFFD. Names in traces are hostile input.
std::string visible(std::string_view text);
/// "title (unit)".
std::string heading(const Column& column);

/// Columns that `text` takes on a terminal.
int display_width(std::string_view text);
/// At most `width` columns: the middle goes, both ends stay.
std::string shortened(std::string_view text, int width, bool unicode);

/// "&lt;" and so on.
std::string html_text(std::string_view text);

}  // namespace ergon::report
