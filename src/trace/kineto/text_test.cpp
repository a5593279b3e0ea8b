// Text that has to be mended before it is shown, and values that are kept in compact form.
#include "kineto/text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ergon/io.hpp"
#include "kineto/bytes.hpp"

namespace ergon::trace::kineto {
namespace {

std::string clean(std::string_view raw, Repairs* repairs = nullptr) {
  std::string out;
  const Repairs r = append_clean(out, raw);
  if (repairs != nullptr) *repairs = r;
  return out;
}

TEST(Text, ResolvesEscapes) {
  EXPECT_EQ(clean(R"(a\"b\\c\/d\u00e4\ud83d\ude00)"), "a\"b\\c/d\xc3\xa4\xf0\x9f\x98\x80");
  EXPECT_EQ(clean(R"(a\nb\tc\u0001d)"), "a b c d");
}

TEST(Text, MendsDamage) {
  Repairs r;
  EXPECT_EQ(clean("a\xff"
                  "b",
                  &r),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_TRUE(r.bad_utf8);
  EXPECT_EQ(clean("a\x01"
                  "b",
                  &r),
            "a b");
  EXPECT_TRUE(r.control);
  EXPECT_EQ(clean(R"(C:\Program Files\x)", &r), R"(C:\Program Files\x)");
  EXPECT_TRUE(r.bad_escape);
  EXPECT_EQ(clean(R"(\ud800x)", &r), "\xef\xbf\xbdx");
  EXPECT_TRUE(r.bad_utf8);
  EXPECT_EQ(clean(R"(\u12)", &r), R"(\u12)");
  EXPECT_TRUE(r.bad_escape);
  EXPECT_EQ(clean("\xed\xa0\x80", &r), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(clean("\xf4\x90\x80\x80", &r).size(), 12U);                          // beyond U+10FFFF
  EXPECT_EQ(clean("\xc0\x80", &r).size(), 6U);                                   // overlong
}

TEST(Text, AnyBytesBecomeValidUtf8WithoutControlCharacters) {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string raw;
    for (std::size_t i = random() % 24; i > 0; --i) {
      const auto r = random();
      raw.push_back(r % 3 == 0 ? "\\u\"ndf0189"[random() % 10] : static_cast<char>(r >> 8));
    }
    const std::string out = clean(raw);
    EXPECT_EQ(io::valid_utf8_prefix(out), out.size());
    for (const char c : out) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
  }
}

// As a window of the reader holds it: with bytes to scan behind it.
bool append_padded(std::string& out, std::string_view raw) {
  const std::string padded = std::string(raw) + std::string(kPadding, '\0');
  Repairs repairs;
  return append_compact(out, std::string_view(padded).substr(0, raw.size()), repairs);
}
std::string compact(std::string_view raw) {
  std::string out = "<";
  return append_padded(out, raw) ? out : "refused" + out;
}

TEST(Text, CompactsValues) {
  EXPECT_EQ(compact("[[ 1,\n 2 ], []]"), "<[[1,2],[]]");
  EXPECT_EQ(compact(R"([ "a b" , "" ])"), R"(<["a b",""])");
  EXPECT_EQ(compact(R"({ "a" : [ true , null ] })"), R"(<{"a":[true,null]})");
  EXPECT_EQ(compact("[NaN, -Infinity, 1.5e-3, 01]"), "<[null,null,1.5e-3,null]");
  EXPECT_EQ(compact(R"(["a\"b\u00e4"])"), "<[\"a\\\"b\xc3\xa4\"]");
}

TEST(Text, RefusesValuesThatAreNone) {
  for (const char* raw : {"[1 2]", "[,]", "[1,]", "{\"a\"}", "{1:2}", "[", "]", "[}", "", "[1]]",
                          "\"a", "{\"a\":}", ":", "1,2"}) {
    EXPECT_EQ(compact(raw), "refused<") << raw;
  }
}

TEST(Text, WhatIsCompactParses) {
  std::mt19937 random(5);
  const std::string alphabet = "[]{},:\"\\ 1a-.etrufals\nN";
  int accepted = 0;
  for (int round = 0; round < 300000; ++round) {
    std::string raw = "[";
    for (std::size_t i = random() % 12; i > 0; --i)
      raw.push_back(alphabet[random() % alphabet.size()]);
    raw += "]";
    std::string out;
    if (!append_padded(out, raw)) continue;
    ++accepted;
    EXPECT_TRUE(io::parse_json(out).has_value()) << raw << " -> " << out;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace ergon::trace::kineto
