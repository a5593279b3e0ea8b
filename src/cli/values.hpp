// Values with units as they are typed on the command line: "3%", "12ms", "1410MHz", "200MB".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ergon/base.hpp"

namespace ergon::cli {

/// What a flag's value is. Quantities need a unit; a bare number is an error that shows the
/// accepted spellings.
enum class Kind {
  kSwitch,           ///< no value
  kText,             ///< any text
  kInteger,          ///< a whole number, at least Flag::minimum
  kPercent,          ///< "3%", held as the fraction 0.03
  kDuration,         ///< "12ms", held in seconds
  kClock,            ///< "1410MHz", held in hertz
  kBytes,            ///< "200MB", "1GiB", held in bytes
  kEnergy,           ///< "0.5J", held in joules
  kPower,            ///< "300W", held in watts
  kPath,             ///< a file; "-" is stdin or stdout
  kChoice,           ///< one of Flag::choices
  kChoiceOrInteger,  ///< one of Flag::choices, or a whole number
  kTimeRange,        ///< "10ms:25ms", either end may be left out
  kExport,           ///< "FMT:FILE", FMT one of Flag::choices
};

/// Whether the values of this kind are numbers with a unit.
bool is_quantity(Kind kind);
/// "3%, 0.5%" and so on: what to type, for errors and for help.
std::string_view accepted_spellings(Kind kind);

/// The SI value of a quantity (a fraction for percent). kInvalidArgument for a bare number, an
/// unknown unit, a negative or a non-finite value; the message does not name the flag.
Result<double> parse_quantity(Kind kind, std::string_view text);
/// A whole number in decimal digits, optionally negative.
Result<std::int64_t> parse_integer(std::string_view text);

/// 0.1234 as "12.3 %": one decimal from ten percent on, else two, for no figure here is known to
/// less than a hundredth of a percent; what is round is said so ("2 %", "0 %").
std::string percent_text(double share);
/// "at a slowdown of 3.00 %", "at a speedup of 2 %", "at no slowdown" where it is a rounding.
std::string slowdown_words(double slowdown);
/// "28.5 % to 31.6 %", with more decimals where the ends would look alike; one where they are.
std::string percent_range(double low, double high);

/// From `begin` to `end` in nanoseconds from the start of the trace; nullopt: open.
struct TimeRange {
  std::optional<Nanos> begin;
  std::optional<Nanos> end;
};
Result<TimeRange> parse_time_range(std::string_view text);

/// A file of `--export FMT:FILE`.
struct Export {
  std::string format;
  std::string path;
};
/// kInvalidArgument without a colon or a file; the caller checks the format.
Result<Export> parse_export(std::string_view text);

}  // namespace ergon::cli
