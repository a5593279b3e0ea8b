// Cells of a log: missing markers, numbers with units.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ergon::meter::logs {

std::string_view trim(std::string_view text);  ///< blanks, tabs and no-break spaces at both ends
std::string lower(std::string_view text);
bool same(std::string_view a, std::string_view lower_case);  ///< ASCII case is ignored

/// [N/A], N/A, [Not Supported], [Unknown Error], [GPU requires reset], [Insufficient Permissions],
/// [Requested functionality has been deprecated], any other bracketed sentence, ERR!, -, nan, none,
/// null, empty. Missing is missing, never 0.
bool missing_marker(std::string_view trimmed);

/// A unit of a cell or header: `value * multiply / divide` is in the SI unit that `suffix` names.
struct Unit {
  std::string_view suffix;  ///< "w", "j", "hz", "c", "ratio", "bytes", "s", "v", "a", "rpm", ""
  double multiply = 1;
  double divide = 1;
  friend bool operator==(const Unit&, const Unit&) = default;
};
/// "W", "mW", "MHz", "MiB", "%", "us", "°C", "mJ", "kWh", "Joules", ...; nullopt: unknown.
std::optional<Unit> unit_of(std::string_view text);

/// The number at the start of `text` (a decimal comma if so asked), and what follows it.
struct Number {
  double value = 0;
  std::string_view rest;  ///< trimmed: the unit, or what makes it no number
  int decimals = -1;      ///< digits after the point; -1: no point
  /// The value is `digits` over a power of ten, both exact: scaling rounds once. 0: not so.
  double digits = 0;
};
/// The value in the unit's SI unit, rounded once.
double apply(const Unit& unit, const Number& number);
std::optional<Number> number_of(std::string_view text, bool decimal_comma = false);

/// The cells of a line. Quotes are removed and protect separators.
void split(std::string_view line, char separator, std::vector<std::string_view>& cells,
           std::string& scratch);
/// Words separated by blanks.
void split_blanks(std::string_view line, std::vector<std::string_view>& words);

}  // namespace ergon::meter::logs
