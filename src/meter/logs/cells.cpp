// Reading single cells.
#include "logs/cells.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "ergon/io.hpp"

namespace ergon::meter::logs {
namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

char lower_char(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

constexpr std::array<double, 16> kPowers = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

struct Named {
  std::string_view name;
  Unit unit;
};
// Case matters where it does in the SI: mW and MW.
constexpr std::array kUnits = {
    Named{"W", {"w"}},
    Named{"watt", {"w"}},
    Named{"Watt", {"w"}},
    Named{"watts", {"w"}},
    Named{"Watts", {"w"}},
    Named{"w", {"w"}},
    Named{"mW", {"w", 1, 1e3}},
    Named{"mw", {"w", 1, 1e3}},
    Named{"milliwatts", {"w", 1, 1e3}},
    Named{"milliwatt", {"w", 1, 1e3}},
    Named{"microwatts", {"w", 1, 1e6}},
    Named{"uW", {"w", 1, 1e6}},
    Named{"uw", {"w", 1, 1e6}},
    Named{"\xC2\xB5W", {"w", 1, 1e6}},
    Named{"\xCE\xBCW", {"w", 1, 1e6}},
    Named{"\xC2\xB5J", {"j", 1, 1e6}},
    Named{"\xCE\xBCJ", {"j", 1, 1e6}},
    Named{"KW", {"w", 1e3}},
    Named{"kilowatts", {"w", 1e3}},
    Named{"kW", {"w", 1e3}},
    Named{"kw", {"w", 1e3}},
    Named{"J", {"j"}},
    Named{"j", {"j"}},
    Named{"joule", {"j"}},
    Named{"joules", {"j"}},
    Named{"Joules", {"j"}},
    Named{"Joule", {"j"}},
    Named{"mJ", {"j", 1, 1e3}},
    Named{"mj", {"j", 1, 1e3}},
    Named{"millijoules", {"j", 1, 1e3}},
    Named{"uJ", {"j", 1, 1e6}},
    Named{"uj", {"j", 1, 1e6}},
    Named{"microjoules", {"j", 1, 1e6}},
    Named{"kilojoules", {"j", 1e3}},
    Named{"kJ", {"j", 1e3}},
    Named{"kj", {"j", 1e3}},
    Named{"Wh", {"j", 3600}},
    Named{"wh", {"j", 3600}},
    Named{"mWh", {"j", 3600, 1e3}},
    Named{"mwh", {"j", 3600, 1e3}},
    Named{"kWh", {"j", 3.6e6}},
    Named{"kwh", {"j", 3.6e6}},
    Named{"Hz", {"hz"}},
    Named{"hz", {"hz"}},
    Named{"hertz", {"hz"}},
    Named{"kilohertz", {"hz", 1e3}},
    Named{"megahertz", {"hz", 1e6}},
    Named{"gigahertz", {"hz", 1e9}},
    Named{"kHz", {"hz", 1e3}},
    Named{"khz", {"hz", 1e3}},
    Named{"MHz", {"hz", 1e6}},
    Named{"Mhz", {"hz", 1e6}},
    Named{"mhz", {"hz", 1e6}},
    Named{"GHz", {"hz", 1e9}},
    Named{"ghz", {"hz", 1e9}},
    Named{"C", {"c"}},
    Named{"c", {"c"}},
    Named{"\xC2\xB0"
          "C",
          {"c"}},
    Named{"\xB0"
          "C",
          {"c"}},
    Named{"\xEF\xBF\xBD"
          "C",
          {"c"}},
    Named{"degC", {"c"}},
    Named{"degc", {"c"}},
    Named{"Centigrade", {"c"}},
    Named{"celsius", {"c"}},
    Named{"%", {"ratio", 1, 100}},
    Named{"pct", {"ratio", 1, 100}},
    Named{"percent", {"ratio", 1, 100}},
    Named{"% TDP", {"ratio", 1, 100}},
    Named{"ratio", {"ratio"}},
    Named{"B", {"bytes"}},
    Named{"bytes", {"bytes"}},
    Named{"KB", {"bytes", 1e3}},
    Named{"MB", {"bytes", 1e6}},
    Named{"GB", {"bytes", 1e9}},
    Named{"KiB", {"bytes", 1024}},
    Named{"MiB", {"bytes", 1048576}},
    Named{"mib", {"bytes", 1048576}},
    Named{"GiB", {"bytes", 1073741824}},
    Named{"gib", {"bytes", 1073741824}},
    Named{"KB/s", {"bytes_per_s", 1e3}},
    Named{"MB/s", {"bytes_per_s", 1e6}},
    Named{"GB/s", {"bytes_per_s", 1e9}},
    Named{"s", {"s"}},
    Named{"sec", {"s"}},
    Named{"secs", {"s"}},
    Named{"seconds", {"s"}},
    Named{"ms", {"s", 1, 1e3}},
    Named{"milliseconds", {"s", 1, 1e3}},
    Named{"milli-seconds", {"s", 1, 1e3}},
    Named{"us", {"s", 1, 1e6}},
    Named{"\xC2\xB5s", {"s", 1, 1e6}},
    Named{"\xCE\xBCs", {"s", 1, 1e6}},
    Named{"microseconds", {"s", 1, 1e6}},
    Named{"ns", {"s", 1, 1e9}},
    Named{"nanoseconds", {"s", 1, 1e9}},
    Named{"V", {"v"}},
    Named{"Volt", {"v"}},
    Named{"mV", {"v", 1, 1e3}},
    Named{"mv", {"v", 1, 1e3}},
    Named{"A", {"a"}},
    Named{"mA", {"a", 1, 1e3}},
    Named{"ma", {"a", 1, 1e3}},
    Named{"Milli Ampere", {"a", 1, 1e3}},
    Named{"RPM", {"rpm"}},
    Named{"rpm", {"rpm"}},
};

}  // namespace

std::string_view trim(std::string_view text) {
  while (true) {
    if (!text.empty() && blank(text.front())) {
      text.remove_prefix(1);
    } else if (text.starts_with("\xC2\xA0")) {
      text.remove_prefix(2);
    } else {
      break;
    }
  }
  while (true) {
    if (!text.empty() && blank(text.back())) {
      text.remove_suffix(1);
    } else if (text.ends_with("\xC2\xA0")) {
      text.remove_suffix(2);
    } else {
      break;
    }
  }
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower_char);
  return out;
}

bool same(std::string_view a, std::string_view lower_case) {
  return a.size() == lower_case.size() &&
         std::ranges::equal(a, lower_case, [](char x, char y) { return lower_char(x) == y; });
}

bool missing_marker(std::string_view t) {
  if (t.empty()) return true;
  switch (t.front()) {
    case '[':
      // Any sentence in brackets that is no number: drivers keep inventing them.
      return t.back() == ']' && !number_of(t.substr(1, t.size() - 2));
    case '-':
      return std::ranges::all_of(t, [](char c) { return c == '-'; });
    case 'E':
    case 'e':
      return same(t, "err!") || same(t, "err") || same(t, "error");
    case 'N':
    case 'n':
      return same(t, "n/a") || same(t, "na") || same(t, "nan") || same(t, "none") ||
             same(t, "null") || same(t, "not supported") || same(t, "not available") ||
             same(t, "nil");
    case 'U':
    case 'u':
      return same(t, "unknown error") || same(t, "unknown") || same(t, "unsupported");
    case 'G':
    case 'g':
      return same(t, "gpu requires reset") || same(t, "gpu is lost");
    case 'I':
    case 'i':
      return same(t, "insufficient permissions");
    case 'R':
    case 'r':
      return same(t, "requested functionality has been deprecated");
    case '?':
      return t == "?";
    default:
      return false;
  }
}

std::optional<Unit> unit_of(std::string_view text) {
  text = trim(text);
  for (const Named& named : kUnits) {
    if (named.name == text) return named.unit;
  }
  return std::nullopt;
}

namespace {

// "(1700Mhz)", "1: (1700Mhz)": what rocm-smi puts around its clocks, behind their level.
std::string_view without_level(std::string_view text) {
  const std::size_t open = text.rfind('(');
  if (open == std::string_view::npos) return text;
  std::string_view level = trim(text.substr(0, open));
  if (level.ends_with(':')) level.remove_suffix(1);
  if (!std::ranges::all_of(level, [](char c) { return c >= '0' && c <= '9'; })) return text;
  const std::string_view inside = trim(text.substr(open + 1, text.size() - open - 2));
  const auto number = number_of(inside);
  return number && !number->rest.empty() && unit_of(number->rest) ? inside : text;
}

}  // namespace

std::optional<Number> number_of(std::string_view text, bool decimal_comma) {
  if (text.ends_with(')')) text = without_level(text);
  const char* p = text.data();
  const char* const end = p + text.size();
  const char* q = p;
  bool negative = false;
  if (q < end && (*q == '-' || *q == '+')) negative = *q++ == '-';
  std::uint64_t digits = 0;
  int count = 0;
  int decimals = -1;
  const char point = decimal_comma ? ',' : '.';
  const char* const first = q;
  for (; q < end; ++q) {
    if (*q >= '0' && *q <= '9') {
      if (count < 18) digits = digits * 10 + static_cast<std::uint64_t>(*q - '0');
      ++count;
      if (decimals >= 0) ++decimals;
    } else if (*q == point && decimals < 0) {
      decimals = 0;
    } else {
      break;
    }
  }
  if (count == 0 || q == first) return std::nullopt;
  Number out;
  out.decimals = decimals;
  const bool exponent = q < end && (*q == 'e' || *q == 'E') && q + 1 < end &&
                        ((q[1] >= '0' && q[1] <= '9') || q[1] == '-' || q[1] == '+');
  if (!exponent && count <= 15) {
    // Up to 15 digits and a power of ten up to 1e15 are exact: one rounding in the division.
    out.value =
        static_cast<double>(digits) / kPowers[static_cast<std::size_t>(std::max(decimals, 0))];
    out.digits = static_cast<double>(digits);
    if (negative) {
      out.value = -out.value;
      out.digits = -out.digits;
    }
  } else {
    std::string copy(p, exponent ? end : q);
    if (copy.starts_with('+')) copy.erase(0, 1);
    if (decimal_comma) std::ranges::replace(copy, ',', '.');
    const auto [stop, error] = std::from_chars(copy.data(), copy.data() + copy.size(), out.value);
    if (error != std::errc() || !std::isfinite(out.value)) return std::nullopt;
    q = p + (stop - copy.data()) + (text.starts_with('+') ? 1 : 0);
  }
  out.rest = trim(std::string_view(q, static_cast<std::size_t>(end - q)));
  return out;
}

double apply(const Unit& unit, const Number& number) {
  if (number.digits == 0) return number.value * unit.multiply / unit.divide;
  const double power = kPowers[static_cast<std::size_t>(std::max(number.decimals, 0))];
  return number.digits * unit.multiply / (power * unit.divide);
}

void split(std::string_view line, char separator, std::vector<std::string_view>& cells,
           std::string& scratch) {
  cells.clear();
  if (line.find('"') == std::string_view::npos) {
    // Cells are short: a plain loop beats a call per cell.
    const char* from = line.data();
    const char* const end = from + line.size();
    for (const char* p = from;; ++p) {
      if (p != end && *p != separator) continue;
      const char* first = from;
      const char* last = p;
      while (first != last && (*first == ' ' || *first == '\t')) ++first;
      while (last != first && (last[-1] == ' ' || last[-1] == '\t')) --last;
      std::string_view cell(first, static_cast<std::size_t>(last - first));
      if (!cell.empty() && (static_cast<unsigned char>(cell.front()) >= 0x80 ||
                            static_cast<unsigned char>(cell.back()) >= 0x80)) {
        cell = trim(cell);
      }
      cells.push_back(cell);
      if (p == end) break;
      from = p + 1;
    }
    return;
  }
  // Quoted cells are copied without their quotes; the scratch is reserved so that views stay valid.
  scratch.clear();
  scratch.reserve(line.size());
  std::size_t i = 0;
  while (true) {
    while (i < line.size() && blank(line[i]) && line[i] != separator) ++i;
    if (i < line.size() && line[i] == '"') {
      const std::size_t from = scratch.size();
      ++i;
      while (i < line.size()) {
        if (line[i] == '"') {
          if (i + 1 < line.size() && line[i + 1] == '"') {
            scratch += '"';
            i += 2;
            continue;
          }
          ++i;
          break;
        }
        scratch += line[i++];
      }
      cells.push_back(trim(std::string_view(scratch).substr(from)));
      while (i < line.size() && line[i] != separator) ++i;
    } else {
      const std::size_t to = std::min(line.find(separator, i), line.size());
      cells.push_back(trim(line.substr(i, to - i)));
      i = to;
    }
    if (i >= line.size()) break;
    ++i;
  }
}

void split_blanks(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  std::size_t i = 0;
  while (i < line.size()) {
    while (i < line.size() && blank(line[i])) ++i;
    const std::size_t from = i;
    while (i < line.size() && !blank(line[i])) ++i;
    if (i > from) words.push_back(line.substr(from, i - from));
  }
}

}  // namespace ergon::meter::logs
