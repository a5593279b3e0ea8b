// Figures and foreign text as people see them: numbers by significant digits, names without control
// characters.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::report {

/// A double with `significant` digits and at most so many decimals, never in exponent form between
/// 1e-6 and 1e15; "0" for zero, and for what rounds to it.
std::string number_text(double value, int significant, int most_decimals = 20);
/// One cell; `unknown` stands for null.
std::string cell_text(const Value& value, const Column& column, std::string_view unknown);
/// A cell for programs: a number in the shortest form that gives its 15 digits back (2018.54, not
/// 2018.5400000000002), "null" for unknown.
std::string data_text(const Value& value);
/// What was left out of the input, in words: "flow" is "flow arrows (not needed)".
std::string skipped_text(std::string_view reason);
/// The table as people read it: where all times of a column are below a second they are in ms or
/// us, joules below one in mJ. Programs (CSV, JSON) get the units of the table itself.
Table in_short_units(const Table& table);
/// The note of a table and the hint that goes with it; "" where it has neither.
std::string note_text(const Table& table);
/// Foreign text for a terminal or a page: control characters and those that reorder text become
/// visible escapes, bytes that are not UTF-8 become U+FFFD. Names in traces are hostile input.
std::string visible(std::string_view text);
/// "title (unit)".
std::string heading(const Column& column);

/// Columns that `text` takes on a terminal.
int display_width(std::string_view text);
/// At most `width` columns: the middle goes, both ends stay.
std::string shortened(std::string_view text, int width, bool unicode);
/// Each in at most `width` columns, but texts that differ stay different: of those that would look
/// alike what they have in common goes; where even this does not tell them apart they are whole.
std::vector<std::string> shortened_apart(const std::vector<std::string>& texts, int width,
                                         bool unicode);
/// Lines of at most `width` columns, broken at spaces; a longer word is a line of its own.
std::vector<std::string> wrapped(std::string_view text, int width);
/// The same, with words that are longer than a line broken, and all lines but the first indented.
std::vector<std::string> broken(std::string_view text, int width, int indent = 0);

/// "&lt;" and so on.
std::string html_text(std::string_view text);

}  // namespace ergon::report
