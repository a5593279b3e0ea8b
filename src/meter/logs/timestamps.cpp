// Parsing and writing times without the C library's zones and locales.
#include "logs/timestamps.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include "logs/cells.hpp"

namespace ergon::meter::logs {
namespace {

constexpr Nanos kSecond = 1'000'000'000;
constexpr Nanos kDay = 86'400 * kSecond;
constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};

// A reader of fixed forms: every step that fails ends it.
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  bool eat(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool eat_any(std::string_view set) {
    if (done() || set.find(peek()) == std::string_view::npos) return false;
    ++at_;
    return true;
  }
  void blanks() {
    while (peek() == ' ') ++at_;
  }
  std::optional<std::int64_t> digits(int least, int most) {
    std::int64_t value = 0;
    int n = 0;
    while (n < most && !done() && peek() >= '0' && peek() <= '9') {
      value = value * 10 + (text_[at_++] - '0');
      ++n;
    }
    if (n < least) return std::nullopt;
    return value;
  }
  // Decimals as nanoseconds; further digits are dropped.
  Nanos decimals() {
    Nanos value = 0;
    Nanos unit = kSecond / 10;
    while (!done() && peek() >= '0' && peek() <= '9') {
      value += (text_[at_++] - '0') * unit;
      unit /= 10;
    }
    return value;
  }
  std::string word() {
    std::string out;
    while (!done() && ((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z'))) {
      out += text_[at_++];
    }
    return lower(out);
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  void go(std::size_t at) { at_ = at; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<Nanos> date_ns(std::int64_t y, std::int64_t m, std::int64_t d) {
  using namespace std::chrono;
  if (y < 1970 || y > 2200) return std::nullopt;
  const year_month_day ymd{year{static_cast<int>(y)}, month{static_cast<unsigned>(m)},
                           day{static_cast<unsigned>(d)}};
  if (!ymd.ok()) return std::nullopt;
  return static_cast<Nanos>(sys_days(ymd).time_since_epoch().count()) * kDay;
}

// HH:MM[:SS[.fff|:fff]] [AM|PM]
std::optional<Nanos> clock_ns(Scan& s, bool need_seconds) {
  const auto h = s.digits(1, 2);
  if (!h || !s.eat(':')) return std::nullopt;
  const auto m = s.digits(1, 2);
  if (!m) return std::nullopt;
  std::int64_t seconds = 0;
  Nanos fraction = 0;
  if (s.eat(':')) {
    const auto sec = s.digits(1, 2);
    if (!sec) return std::nullopt;
    seconds = *sec;
    if (s.eat_any(".,")) {
      fraction = s.decimals();
    } else if (s.peek() == ':') {  // CodeXL: milliseconds after another colon
      s.eat(':');
      const auto ms = s.digits(1, 3);
      if (!ms) return std::nullopt;
      fraction = *ms * 1'000'000;
    }
  } else if (need_seconds) {
    return std::nullopt;
  }
  std::int64_t hours = *h;
  s.blanks();
  const std::size_t mark = s.at();
  std::string half = s.word();
  if (half.size() == 1 && s.eat('.')) {  // "p.m.", "p. m."
    s.blanks();
    half += s.word();
    s.eat('.');
  }
  if (half == "am" || half == "pm") {
    if (hours < 1 || hours > 12) return std::nullopt;
    hours = hours % 12 + (half == "pm" ? 12 : 0);
  } else {
    s.go(mark);
  }
  if (hours > 24 || *m > 59 || seconds > 60) return std::nullopt;
  return (hours * 3600 + *m * 60 + seconds) * kSecond + fraction;
}

// A zone at the end: Z, UTC, GMT, +HH:MM, -HHMM. Absent: local.
std::optional<Stamp> finish(Scan& s, Nanos ns) {
  s.blanks();
  Stamp stamp{Stamp::Kind::kLocal, ns};
  if (s.done()) return stamp;
  stamp.kind = Stamp::Kind::kUtc;
  if (s.peek() == '+' || s.peek() == '-') {
    const bool west = s.peek() == '-';
    s.eat_any("+-");
    const auto h = s.digits(2, 2);
    s.eat(':');
    const auto m = s.digits(0, 2);
    if (!h || !m || !s.done() || *h > 14) return std::nullopt;
    const Nanos offset = (*h * 3600 + *m * 60) * kSecond;
    stamp.ns = west ? ns + offset : ns - offset;
    return stamp;
  }
  const std::string zone = s.word();
  if ((zone == "z" || zone == "utc" || zone == "gmt") && s.done()) return stamp;
  return std::nullopt;
}

// "Fri Jul  4 19:19:44 2025", "Fri 04 Jul 2025 07:19:44 PM UTC"
std::optional<Stamp> asctime(std::string_view text) {
  Scan s(text);
  if (s.word().size() < 3) return std::nullopt;
  s.eat(',');
  s.blanks();
  const auto month_of = [](const std::string& word) -> std::optional<std::int64_t> {
    if (word.size() < 3) return std::nullopt;
    const auto found = std::ranges::find(kMonths, word.substr(0, 3));
    if (found == kMonths.end()) return std::nullopt;
    return found - kMonths.begin() + 1;
  };
  std::optional<std::int64_t> month = month_of(s.word());
  s.blanks();
  const auto day = s.digits(1, 2);
  if (!day) return std::nullopt;
  s.blanks();
  if (!month) {
    month = month_of(s.word());
    s.blanks();
    const auto year = s.digits(4, 4);
    s.blanks();
    const auto time = clock_ns(s, true);
    if (!month || !year || !time) return std::nullopt;
    const auto date = date_ns(*year, *month, *day);
    if (!date) return std::nullopt;
    return finish(s, *date + *time);
  }
  const auto time = clock_ns(s, true);
  if (!time) return std::nullopt;
  s.blanks();
  const std::size_t mark = s.at();
  const std::string zone = s.word();
  if (zone.empty()) s.go(mark);
  s.blanks();
  const auto year = s.digits(4, 4);
  if (!year || !s.done()) return std::nullopt;
  const auto date = date_ns(*year, *month, *day);
  if (!date) return std::nullopt;
  const bool utc = zone == "utc" || zone == "gmt";
  return Stamp{utc ? Stamp::Kind::kUtc : Stamp::Kind::kLocal, *date + *time};
}

}  // namespace

std::optional<Stamp> wall_time(std::string_view text) {
  text = trim(text);
  if (text.size() < 5 || text.size() > 48) return std::nullopt;
  if (text.front() < '0' || text.front() > '9') return asctime(text);
  Scan s(text);
  const auto a = s.digits(1, 8);
  if (!a) return std::nullopt;
  const std::size_t head = s.at();
  if (s.peek() == ':') {
    // A time without a date; two parts only are what a spreadsheet shows of it: minutes.
    Scan day(text);
    if (const auto time = clock_ns(day, true)) {
      day.blanks();
      if (day.done()) return Stamp{Stamp::Kind::kDay, *time};
      return std::nullopt;
    }
    s.eat(':');
    const auto seconds = s.digits(2, 2);
    if (!seconds || *a > 59 || *seconds > 59 || !s.eat_any(".,")) return std::nullopt;
    const Nanos fraction = s.decimals();
    if (!s.done()) return std::nullopt;
    return Stamp{Stamp::Kind::kHour, (*a * 60 + *seconds) * kSecond + fraction};
  }
  std::optional<Nanos> date;
  if (head == 8 && !s.done() && (s.peek() == ' ' || s.peek() == 'T' || s.peek() == '_')) {
    date = date_ns(*a / 10000, *a / 100 % 100, *a % 100);
  } else if (head <= 4 && s.eat_any("/-.")) {
    const auto b = s.digits(1, 2);
    if (!b || !s.eat_any("/-.")) return std::nullopt;
    const char separator = text[head];
    if (head == 4) {
      const auto c = s.digits(1, 2);
      if (!c) return std::nullopt;
      date = date_ns(*a, *b, *c);
    } else {
      const auto year = s.digits(4, 4);
      if (!year) return std::nullopt;
      // Points: day first. Slashes: month first, unless that cannot be.
      const bool day_first = separator != '/' ? *b <= 12 : *a > 12;
      date = day_first ? date_ns(*year, *b, *a) : date_ns(*year, *a, *b);
    }
  }
  if (!date) return std::nullopt;
  if (!s.eat_any("T_,")) s.eat(' ');
  s.blanks();
  if (s.done()) return std::nullopt;  // a date alone is no time base
  const auto time = clock_ns(s, false);
  if (!time) return std::nullopt;
  return finish(s, *date + *time);
}

namespace {

// Epoch seconds with a fraction, the most common bare time: digits, a point, up to nine digits.
std::optional<Stamp> epoch_seconds(std::string_view text) {
  if (text.size() < 10 || text.size() > 20) return std::nullopt;
  Nanos whole = 0;
  std::size_t at = 0;
  while (at < text.size() && at <= 10 && text[at] >= '0' && text[at] <= '9')
    whole = whole * 10 + (text[at++] - '0');
  constexpr Nanos kLatest = 9'000'000'000;  // nanoseconds since 1970 fit until then
  if (at != 10 || whole > kLatest) return std::nullopt;
  Nanos fraction = 0;
  if (at < text.size()) {
    if (text[at++] != '.') return std::nullopt;
    Nanos unit = kSecond / 10;
    for (; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9' || unit == 0) return std::nullopt;
      fraction += (text[at] - '0') * unit;
      unit /= 10;
    }
  }
  return Stamp{Stamp::Kind::kUtc, whole * kSecond + fraction};
}

}  // namespace

std::optional<Stamp> number_time(std::string_view text, std::optional<double> seconds_each,
                                 bool decimal_comma) {
  if (!seconds_each || *seconds_each == 1) {
    if (const auto stamp = epoch_seconds(text)) return stamp;
  }
  const auto number = number_of(trim(text), decimal_comma);
  if (!number || !std::isfinite(number->value)) return std::nullopt;
  if (!number->rest.empty()) {
    const auto unit = unit_of(number->rest);
    if (!unit || unit->suffix != "s") return std::nullopt;
    seconds_each = unit->multiply / unit->divide;
  }
  const double size = std::abs(number->value);
  double each = seconds_each.value_or(1);
  if (!seconds_each) {
    if (size >= 1e17) {
      each = 1e-9;
    } else if (size >= 1e14) {
      each = 1e-6;
    } else if (size >= 1e11) {
      each = 1e-3;
    }
  }
  const double seconds = size * each;
  if (seconds > 9e9) return std::nullopt;
  const bool epoch = seconds > 6e8;  // later than 1989: no machine runs that long
  // Digits are kept as integers: a double holds epoch seconds to a quarter of a microsecond only.
  std::string_view digits = trim(text);
  if (digits.starts_with('-')) {
    if (epoch) return std::nullopt;
    return Stamp{Stamp::Kind::kElapsed, -static_cast<Nanos>(std::llround(seconds * 1e9))};
  }
  int shift = 9;  // powers of ten from the unit to nanoseconds
  if (each == 1e-3) shift = 6;
  if (each == 1e-6) shift = 3;
  if (each == 1e-9) shift = 0;
  if (each != 1 && shift == 9) {
    return Stamp{epoch ? Stamp::Kind::kUtc : Stamp::Kind::kElapsed,
                 static_cast<Nanos>(std::llround(seconds * 1e9))};
  }
  if (digits.find_first_of("eE") != std::string_view::npos) {
    return Stamp{epoch ? Stamp::Kind::kUtc : Stamp::Kind::kElapsed,
                 static_cast<Nanos>(std::llround(seconds * 1e9))};
  }
  Nanos ns = 0;
  int after = -1;
  for (const char c : digits) {
    if (c == '.' || c == ',') {
      after = 0;
      continue;
    }
    if (c < '0' || c > '9') {
      if (c == '+') continue;
      break;
    }
    if (after >= shift) {
      if (after == shift && c >= '5') ++ns;  // the first digit beyond rounds
      break;
    }
    if (ns > (INT64_MAX - 9) / 10) return std::nullopt;
    ns = ns * 10 + (c - '0');
    if (after >= 0) ++after;
  }
  for (int i = std::max(after, 0); i < shift; ++i) {
    if (ns > INT64_MAX / 10) return std::nullopt;
    ns *= 10;
  }
  return Stamp{epoch ? Stamp::Kind::kUtc : Stamp::Kind::kElapsed, ns};
}

std::optional<Stamp> leading_stamp(std::string_view& text) {
  const std::string_view t = trim(text);
  if (t.starts_with('[')) {
    const std::size_t close = t.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    const auto stamp = wall_time(t.substr(1, close - 1));
    if (stamp) text = trim(t.substr(close + 1));
    return stamp;
  }
  const auto after = [&](std::size_t from) {
    return std::min(t.find_first_of(" \t", from), t.size());
  };
  const std::size_t one = after(0);
  const std::size_t two = one < t.size() ? after(one + 1) : one;
  const std::size_t three = two < t.size() ? after(two + 1) : two;
  // "Jan 01 12:00:00": no year, so only the time of the day is known.
  if (three > two && t.front() >= 'A' && t.front() <= 'Z' && one == 3) {
    const auto stamp = wall_time(t.substr(two + 1, three - two - 1));
    if (stamp && stamp->kind == Stamp::Kind::kDay) {
      text = trim(t.substr(three));
      return stamp;
    }
  }
  for (const std::size_t end : {two, one}) {
    if (const auto stamp = wall_time(t.substr(0, end))) {
      text = trim(t.substr(end));
      return stamp;
    }
  }
  const auto number = number_time(t.substr(0, one), std::nullopt);
  if (!number || number->kind != Stamp::Kind::kUtc) return std::nullopt;
  text = trim(t.substr(one));
  return number;
}

void put_seconds(std::string& out, Nanos ns) {
  if (ns < 0) {
    out += '-';
    ns = -ns;
  }
  char text[24];
  const auto [end, error] = std::to_chars(text, text + sizeof text, ns / kSecond);
  out.append(text, end);
  static_cast<void>(error);
  Nanos rest = ns % kSecond;
  if (rest == 0) return;
  char decimals[10];
  decimals[0] = '.';
  for (int i = 9; i >= 1; --i) {
    decimals[i] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  std::size_t length = 10;
  while (decimals[length - 1] == '0') --length;
  out.append(decimals, length);
}

std::string seconds_of(Nanos ns) {
  std::string out;
  put_seconds(out, ns);
  return out;
}

void put_utc(std::string& out, Nanos ns) {
  using namespace std::chrono;
  const Nanos day_count = ns >= 0 ? ns / kDay : -((-ns + kDay - 1) / kDay);
  const Nanos in_day = ns - day_count * kDay;
  const year_month_day ymd{sys_days(days(day_count))};
  const auto two = [&](std::int64_t v) {
    out += static_cast<char>('0' + v / 10 % 10);
    out += static_cast<char>('0' + v % 10);
  };
  const int y = static_cast<int>(ymd.year());
  two(y / 100);
  two(y % 100);
  out += '-';
  two(static_cast<unsigned>(ymd.month()));
  out += '-';
  two(static_cast<unsigned>(ymd.day()));
  out += 'T';
  const Nanos seconds = in_day / kSecond;
  two(seconds / 3600);
  out += ':';
  two(seconds / 60 % 60);
  out += ':';
  two(seconds % 60);
  if (in_day % kSecond != 0) {
    std::string fraction;
    put_seconds(fraction, in_day % kSecond);
    out += fraction.substr(1);
  }
  out += 'Z';
}

std::string utc_text(Nanos ns) {
  std::string out;
  put_utc(out, ns);
  return out;
}

}  // namespace ergon::meter::logs
