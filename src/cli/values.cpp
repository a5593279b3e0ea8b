// Reads values with units; every failure says what would have been accepted.
#include "values.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace ergon::cli {
namespace {

// A unit is a whole multiple or a whole fraction of the base unit: dividing by 100 keeps "7%" the
// double nearest to 0.07, which multiplying by 0.01 does not.
struct UnitName {
  std::string_view name;
  double times;
  double over = 1;
};

constexpr double kHighestClock = 1e15;  // far beyond any, and in whole MHz within 64 bits

constexpr std::array kPercentUnits = {UnitName{"%", 1, 1e2}};
constexpr std::array kDurationUnits = {
    UnitName{"ns", 1, 1e9}, UnitName{"us", 1, 1e6}, UnitName{"µs", 1, 1e6}, UnitName{"ms", 1, 1e3},
    UnitName{"s", 1},       UnitName{"m", 60},      UnitName{"min", 60},    UnitName{"h", 3600}};
constexpr std::array kClockUnits = {UnitName{"Hz", 1}, UnitName{"kHz", 1e3}, UnitName{"MHz", 1e6},
                                    UnitName{"GHz", 1e9}};
constexpr std::array kByteUnits = {
    UnitName{"B", 1},           UnitName{"kB", 1e3},           UnitName{"MB", 1e6},
    UnitName{"GB", 1e9},        UnitName{"TB", 1e12},          UnitName{"KiB", 1024},
    UnitName{"MiB", 1048576.0}, UnitName{"GiB", 1073741824.0}, UnitName{"TiB", 1099511627776.0}};
constexpr std::array kEnergyUnits = {
    UnitName{"uJ", 1, 1e6}, UnitName{"mJ", 1, 1e3}, UnitName{"J", 1},      UnitName{"kJ", 1e3},
    UnitName{"MJ", 1e6},    UnitName{"Wh", 3600},   UnitName{"kWh", 3.6e6}};
constexpr std::array kPowerUnits = {UnitName{"mW", 1, 1e3}, UnitName{"W", 1}, UnitName{"kW", 1e3}};

std::string decimals_text(double value, int decimals) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

std::span<const UnitName> units_of(Kind kind) {
  switch (kind) {
    case Kind::kPercent:
      return kPercentUnits;
    case Kind::kDuration:
      return kDurationUnits;
    case Kind::kClock:
      return kClockUnits;
    case Kind::kBytes:
      return kByteUnits;
    case Kind::kEnergy:
      return kEnergyUnits;
    case Kind::kPower:
      return kPowerUnits;
    default:
      return {};
  }
}

// Only energy and power have units that differ in case alone ("mJ", "MJ").
bool case_matters(Kind kind) { return kind == Kind::kEnergy || kind == Kind::kPower; }

bool same_word(std::string_view a, std::string_view b, bool exact) {
  if (exact) return a == b;
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

tl::unexpected<Error> refuse(std::string message, std::string_view accepted) {
  return fail(Errc::kInvalidArgument, std::move(message), "accepted: " + std::string(accepted));
}

Result<Nanos> nanos_of(std::string_view text) {
  ERGON_TRY(const double seconds, parse_quantity(Kind::kDuration, text));
  const double ns = std::round(seconds * 1e9);
  if (ns > 9.2e18)
    return refuse("the time is longer than 292 years", accepted_spellings(Kind::kTimeRange));
  return static_cast<Nanos>(ns);
}

}  // namespace

bool is_quantity(Kind kind) { return !units_of(kind).empty(); }

std::string_view accepted_spellings(Kind kind) {
  switch (kind) {
    case Kind::kPercent:
      return "3%, 0.5%";
    case Kind::kDuration:
      return "12ms, 0.012s (units: ns us ms s m h)";
    case Kind::kClock:
      return "1410MHz, 1.41GHz (units: Hz kHz MHz GHz)";
    case Kind::kBytes:
      return "200MB, 1GiB (units: B kB MB GB TB KiB MiB GiB TiB)";
    case Kind::kEnergy:
      return "0.5J, 500mJ (units: uJ mJ J kJ MJ Wh kWh)";
    case Kind::kPower:
      return "300W, 0.3kW (units: mW W kW)";
    case Kind::kInteger:
      return "a whole number, for example 50";
    case Kind::kTimeRange:
      return "10ms:25ms, 10ms:, :25ms";
    case Kind::kExport:
      return "FMT:FILE, for example html:report.html";
    default:
      return "text";
  }
}

Result<double> parse_quantity(Kind kind, std::string_view text) {
  const auto accepted = accepted_spellings(kind);
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status == std::errc::result_out_of_range)
    return refuse("the number is out of range", accepted);
  if (status != std::errc{} || !std::isfinite(number))
    return refuse("this is not a number with a unit", accepted);
  auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  // No time at all is the same in every unit.
  if (unit.empty() && kind == Kind::kDuration && number == 0) return 0.0;
  if (unit.empty()) return refuse("the number has no unit", accepted);
  for (const auto& [name, times, over] : units_of(kind)) {
    if (!same_word(unit, name, case_matters(kind))) continue;
    if (number < 0) return refuse("the value is negative", accepted);
    const double value = number * times / over;
    if (kind == Kind::kClock && value > kHighestClock)
      return refuse("no clock is as high as that", accepted);
    return value;
  }
  return refuse("unknown unit '" + std::string(unit) + "'", accepted);
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  const int most = std::abs(percent) >= 10 ? 1 : 2;
  for (int decimals = 0; decimals < most; ++decimals) {
    const double scale = std::pow(10.0, decimals);
    const double rounded = std::round(percent * scale) / scale;
    if (std::abs(percent - rounded) <= 1e-9 * std::max(1.0, std::abs(percent)))
      return decimals_text(rounded, decimals) + " %";
  }
  // What rounds to nothing is nothing, without a sign.
  const bool none = std::abs(percent) < 0.005;
  return (none ? "0" : decimals_text(percent, most)) + " %";
}

std::string slowdown_words(double slowdown) {
  const std::string share = percent_text(std::abs(slowdown));
  if (std::abs(slowdown) < 5e-5 || share == "0 %") return "at no slowdown";
  return (slowdown > 0 ? "at a slowdown of " : "at a speedup of ") + share;
}

std::string percent_range(double low, double high) {
  std::string from = percent_text(low);
  std::string to = percent_text(high);
  for (int decimals = 2; from == to && low != high && decimals < 4; ++decimals) {
    from = decimals_text(100 * low, decimals) + " %";
    to = decimals_text(100 * high, decimals) + " %";
  }
  return from == to ? from : from + " to " + to;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto* first = text.data();
  const auto* last = first + text.size();
  const auto [end, status] = std::from_chars(first, last, number);
  if (status == std::errc::result_out_of_range) {
    return refuse("the number is out of range", accepted_spellings(Kind::kInteger));
  }
  if (status != std::errc{} || end != last) {
    return refuse("this is not a whole number", accepted_spellings(Kind::kInteger));
  }
  return number;
}

Result<TimeRange> parse_time_range(std::string_view text) {
  const auto accepted = accepted_spellings(Kind::kTimeRange);
  const auto colon = text.find(':');
  if (colon == std::string_view::npos)
    return refuse("a time range has a colon between its ends", accepted);
  TimeRange range;
  const auto begin = text.substr(0, colon);
  const auto end = text.substr(colon + 1);
  if (begin.empty() && end.empty())
    return refuse("both ends of the time range are missing", accepted);
  if (!begin.empty()) {
    ERGON_TRY(range.begin, nanos_of(begin));
  }
  if (!end.empty()) {
    ERGON_TRY(range.end, nanos_of(end));
  }
  if (range.begin && range.end && *range.begin >= *range.end) {
    return refuse("the time range ends before it begins", accepted);
  }
  return range;
}

Result<Export> parse_export(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) {
    return refuse("an export names a format and a file", accepted_spellings(Kind::kExport));
  }
  return Export{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

}  // namespace ergon::cli
