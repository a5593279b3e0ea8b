// JSON and CSV text: round trips, offsets of errors, hostile strings.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ergon/io.hpp"

namespace ergon::io {
namespace {

TEST(Json, RoundTripKeepsOrderIntegersAndDoubles) {
  const std::string text =
      R"({"b":9007199254740993,"a":[1.5,-0.25,1e300,null,true],"s":"\u00e9\ud83d\ude00\n\"<"})";
  const auto parsed = parse_json(text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(*parsed->find("b")->as_int(), 9007199254740993);
  EXPECT_EQ(*parsed->find("s")->as_string(), "é😀\n\"<");
  const auto again = parse_json(to_json(*parsed));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_json(*again, 0), to_json(*parsed, 0));
}

TEST(Json, NotANumberIsNull) { EXPECT_EQ(to_json(Value(0.0 / 0.0), 0), "null"); }

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(to_json(Value("a\xff\xc3(\xe2\x82\xac\xed\xa0\x80"), 0),
            "\"a\xef\xbf\xbd\xef\xbf\xbd(\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(valid_utf8_prefix("abc\xc3\xa9\xc3"), 5U);
}

TEST(Json, HtmlTextCannotCloseAScript) {
  EXPECT_EQ(to_json(Value("</script>&"), 0, true), R"("\u003c/script\u003e\u0026")");
}

TEST(Json, ErrorsSayWhereAndWhat) {
  for (const auto& [text, offset] :
       std::vector<std::pair<std::string, std::uint64_t>>{{"", 0},
                                                          {"{\"a\" 1}", 5},
                                                          {"[1,]", 3},
                                                          {"[1", 2},
                                                          {"01", 0},
                                                          {"\"a", 2},
                                                          {"[\"\\x\"]", 3},
                                                          {"1 2", 2},
                                                          {"nul", 0},
                                                          {"-", 0}}) {
    const auto parsed = parse_json(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().offset, offset) << text << ": " << parsed.error().message;
    EXPECT_EQ(exit_code(parsed.error().code), 3);
  }
}

TEST(Json, AMemberTwiceIsRefusedWhereAsked) {
  const std::string text = R"({"a": 1, "b": {"c": 1, "d": 2, "c": 3}})";
  EXPECT_TRUE(parse_json(text).has_value());
  const auto parsed = parse_json(text, Twice::kRefuse);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_NE(parsed.error().message.find("\"c\" stands twice"), std::string::npos);
  EXPECT_TRUE(parse_json(R"([{"a": 1}, {"a": 2}])", Twice::kRefuse).has_value());
}

TEST(Json, DeepNestingIsRefused) { EXPECT_FALSE(parse_json(std::string(20000, '[')).has_value()); }

TEST(Csv, QuotesNewlinesAndWidths) {
  const auto table = parse_csv("pack,name\r\na,\"x, \"\"y\"\"\nz\"\n\nb,2\n");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->rows[0][1], "x, \"y\"\nz");
  EXPECT_EQ(table->lines[1], 5U);
  EXPECT_EQ(csv_field("x, \"y\""), "\"x, \"\"y\"\"\"");
  const auto narrow = parse_csv("a,b\n1,2\n3\n");
  ASSERT_FALSE(narrow.has_value());
  EXPECT_EQ(narrow.error().line, 3U);
}

TEST(Number, WholeTextOrNothing) {
  EXPECT_EQ(parse_double("1.5e-3"), 1.5e-3);
  EXPECT_FALSE(parse_double("1.5 W").has_value());
  EXPECT_FALSE(parse_double("nan").has_value());
  EXPECT_FALSE(parse_double("").has_value());
}

TEST(WriteFile, ReplacesAsAWholeAndSaysWhy) {
  const auto folder = std::filesystem::temp_directory_path() / "ergon_io_test";
  std::filesystem::create_directories(folder);
  const auto path = (folder / "a.json").string();
  ASSERT_TRUE(write_file(path, "one").has_value());
  ASSERT_TRUE(write_file(path, "two").has_value());
  std::ifstream in(path);
  std::string text;
  in >> text;
  EXPECT_EQ(text, "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_FALSE(write_file((folder / "no" / "b").string(), "x").has_value());
  EXPECT_TRUE(write_file("/dev/null", "x").has_value());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ergon::io
