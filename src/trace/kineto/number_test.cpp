// Times and integers from text, against exact arithmetic.
#include "kineto/number.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace ergon::trace::kineto {
namespace {

TEST(Number, MicrosecondsToNanoseconds) {
  EXPECT_EQ(parse_microseconds("1727000000000123.456"), 1727000000000123456);
  EXPECT_EQ(parse_microseconds("0.001"), 1);
  EXPECT_EQ(parse_microseconds("0.0005"), 1);
  EXPECT_EQ(parse_microseconds("0.00049999999999999999"), 0);
  EXPECT_EQ(parse_microseconds("-0.0005"), -1);
  EXPECT_EQ(parse_microseconds("1e3"), 1000000);
  EXPECT_EQ(parse_microseconds("1.2345e2"), 123450);
  EXPECT_EQ(parse_microseconds("12345E-4"), 1235);  // 1.2345 us: the half away from zero
  EXPECT_EQ(parse_microseconds("+7"), 7000);
  EXPECT_EQ(parse_microseconds(".5"), 500);
  EXPECT_EQ(parse_microseconds("5."), 5000);
  EXPECT_EQ(parse_microseconds("00012.5"), 12500);
  EXPECT_EQ(parse_microseconds("0e999999999999"), 0);
  EXPECT_EQ(parse_microseconds("1e-999999999999"), 0);
}

TEST(Number, RefusesWhatIsNoNumberOrTooLarge) {
  for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "NaN", "Infinity", "-Infinity", "1.2.3",
                           "1 ", " 1", "0x10", "1e999", "9999999999999999", "--1", "null"}) {
    EXPECT_EQ(parse_microseconds(text), std::nullopt) << text;
  }
}

TEST(Number, Integers) {
  EXPECT_EQ(parse_integer("10159970886766084423"),
            static_cast<std::int64_t>(10159970886766084423U));
  EXPECT_EQ(parse_integer("18446744073709551615"), -1);
  EXPECT_EQ(parse_integer("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_integer("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(parse_integer("7.0"), 7);
  EXPECT_EQ(parse_integer("7.5"), std::nullopt);
  EXPECT_EQ(parse_integer("1e3"), 1000);
  EXPECT_EQ(parse_integer("1500e-2"), 15);
}

// The fast spelling and the general one agree wherever the fast one answers, on any text.
TEST(Number, FastAgreesWithGeneral) {
  std::mt19937_64 random(7);
  const std::string alphabet = "0123456789012345678901234567890123456789.-eE,} ";
  for (int round = 0; round < 200000; ++round) {
    std::string text;
    const std::size_t length = random() % 22;
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t letters = random() % 4 == 0 ? alphabet.size() : 40;
      text.push_back(alphabet[random() % letters]);
    }
    const std::string padded = text + std::string(kPadding, '\0');
    const char* p = padded.data();
    Nanos ns = 0;
    if (fast_microseconds(p, ns)) {
      const std::string_view token(padded.data(), static_cast<std::size_t>(p - padded.data()));
      EXPECT_EQ(parse_microseconds(token), ns) << text;
    }
    p = padded.data();
    std::int64_t value = 0;
    if (fast_integer(p, value)) {
      const std::string_view token(padded.data(), static_cast<std::size_t>(p - padded.data()));
      EXPECT_EQ(parse_integer(token), value) << text;
    }
  }
}

TEST(Number, FastTakesWhatKinetoWrites) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 100000; ++round) {
    const std::uint64_t ns = random() % (std::uint64_t{1} << (1 + random() % 60));
    std::string text = std::to_string(ns / 1000) + "." + std::to_string(1000 + ns % 1000).substr(1);
    const std::string padded = text + "," + std::string(kPadding, '\0');
    const char* p = padded.data();
    Nanos got = 0;
    ASSERT_TRUE(fast_microseconds(p, got)) << text;
    EXPECT_EQ(got, static_cast<Nanos>(ns)) << text;
    EXPECT_EQ(*p, ',');
  }
}

TEST(Number, TokenEnds) {
  for (const std::string stop : {",", "}", "]", " ", "\n", "\"", ":", "{", "["}) {
    for (std::size_t length = 0; length < 40; ++length) {
      std::string text(length, 'x');
      text += stop + "yyyy,";
      text.append(kPadding, '\0');
      EXPECT_EQ(token_end(text.data(), text.data() + text.size() - kPadding) - text.data(),
                static_cast<std::ptrdiff_t>(length))
          << stop << length;
    }
  }
  std::string odd = "\xc3\xa4!#1,";
  odd.append(kPadding, '\0');
  EXPECT_EQ(token_end(odd.data(), odd.data() + 6) - odd.data(), 5);
}

}  // namespace
}  // namespace ergon::trace::kineto
