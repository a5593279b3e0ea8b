// Every renderer over one hostile answer.
#include "ergon/report.hpp"

#include <gtest/gtest.h>

#include "text.hpp"

namespace ergon::report {
namespace {

Answer sample() {
  Answer answer{.command = "graph", .headline = "12 kernels in 3.5 ms"};
  answer.lines = {"80 % of the span is GPU work."};
  answer.tables.push_back(
      {.title = "Kernels",
       .columns = {{.title = "name", .numeric = false},
                   {.title = "time", .unit = "ms"},
                   {.title = "count"}},
       .rows = {{"void gemm<128, 64>(float const*)|</script>\x1b[31m", 1.23456, 7},
                {"b\xff", Value(), 12345}},
       .note = "2 of 9 rows; --top shows more"});
  answer.data.set("span_s", 0.0035)
      .set("unknown", Value())
      .set("counts", Value::object().set("kernels", 12));
  answer.data.set(
      "slack",
      Value::array().push(Value::object().set("id", 1)).push(Value::object().set("id", 2)));
  return answer;
}

Envelope envelope() {
  return {.version = "0.1.0",
          .inputs = {{.path = "t.json", .bytes = 10, .format = "kineto", .digest = "00ff"}},
          .warnings = {{.code = "w", .message = "odd", .count = 2}},
          .skipped = {{"bad_utf8", 3}},
          .origin_shares = {{"modelled", 0.75}, {"measured", 0.25}},
          .command_line = "ergon graph t.json"};
}

TEST(Numbers, KeepSignificantDigits) {
  EXPECT_EQ(number_text(0, 4), "0");
  EXPECT_EQ(number_text(1234.5678, 4), "1235");
  EXPECT_EQ(number_text(123456, 4), "123456");
  EXPECT_EQ(number_text(0.00123456, 3), "0.00123");
  EXPECT_EQ(number_text(9.9996, 4), "10.00");
  EXPECT_EQ(number_text(-2.5, 2), "-2.5");
  EXPECT_EQ(number_text(1e-9, 3), "1.00e-09");
}

TEST(Names, ShowControlCharactersAndKeepBothEnds) {
  EXPECT_EQ(visible("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
  EXPECT_EQ(visible("\u202e"), "\\u202e");
  EXPECT_EQ(visible("x\xff"), "x\ufffd");
  EXPECT_EQ(shortened("abcdefghijklmnop", 10, false), "abcde...op");
  EXPECT_EQ(shortened("abcdefghijklmnop", 10, true), "abcdef\u2026nop");
  EXPECT_EQ(shortened("\u4f60\u597d\u4f60\u597d", 5, true), "\u4f60\u2026\u597d");
  EXPECT_EQ(display_width("\u4f60a\u00e9"), 4);
}

TEST(Json, IsTheContractEnvelope) {
  const auto parsed = io::parse_json(to_json(sample(), envelope()));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed->find("schema")->as_string(), "ergon.graph/1");
  EXPECT_EQ(*parsed->find("ergon_version")->as_string(), "0.1.0");
  EXPECT_EQ(*(*parsed->find("inputs")->as_array())[0].find("digest")->as_string(), "00ff");
  EXPECT_EQ(*(*parsed->find("warnings")->as_array())[0].find("count")->as_int(), 2);
  EXPECT_EQ(*(*parsed->find("skipped")->as_array())[0].find("reason")->as_string(), "bad_utf8");
  EXPECT_EQ(*parsed->find("origin_shares")->find("modelled")->as_double(), 0.75);
  EXPECT_TRUE(parsed->find("unknown")->is_null());
}

TEST(Json, LinesHoldTheSameFigures) {
  const auto text = to_json_lines(sample(), envelope());
  std::vector<Value> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    const auto parsed = io::parse_json(text.substr(at, end - at));
    ASSERT_TRUE(parsed.has_value());
    lines.push_back(*parsed);
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 6U);  // the rest; one input, one warning, one skipped; two rows of slack
  EXPECT_EQ(lines[0].find("slack"), nullptr);
  EXPECT_EQ(*lines[5].find("list")->as_string(), "slack");
  EXPECT_EQ(*lines[5].find("id")->as_int(), 2);
}

TEST(Terminal, FitsAndAlignsAndIsSafe) {
  const auto text =
      to_terminal(sample(), envelope(), {.color = false, .unicode = true, .width = 44});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    EXPECT_LE(display_width(text.substr(at, end - at)), 44) << text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_NE(text.find("time (ms)"), std::string::npos);
  EXPECT_NE(text.find("1.235      7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("figures: 75.0 % modelled, 25.0 % measured"), std::string::npos) << text;
  EXPECT_NE(text.find("left out of the input: 3 bad_utf8\n"), std::string::npos);
  const auto ascii =
      to_terminal(sample(), envelope(), {.color = false, .unicode = false, .width = 44});
  EXPECT_NE(ascii.find("..."), std::string::npos);
  EXPECT_NE(to_terminal(sample(), envelope(), {.color = true}).find("\x1b[1m12 kernels"),
            std::string::npos);
}

TEST(Terminal, NamesThatDifferStayDifferent) {
  const std::string start = "sweep_of_the_long_named_network_";
  const std::vector<std::string> names = {start + "alpha_batch_16_of_the_same_end",
                                          start + "beta__batch_16_of_the_same_end", "short"};
  const auto cut = shortened_apart(names, 24, true);
  EXPECT_NE(cut[0], cut[1]);
  EXPECT_EQ(cut[2], "short");
  for (const auto& text : cut) EXPECT_LE(display_width(text), 24) << text;
  // Where nothing helps they are whole.
  const auto narrow = shortened_apart(
      {"abcdefghijklmnop1qrstuvwxyz", "abcdefghijklmnop2qrstuvwxyz", "abcdefghijklmno31qrstuvwxyz"},
      4, true);
  EXPECT_NE(narrow[0], narrow[1]);
  EXPECT_NE(narrow[0], narrow[2]);
  // Equal ones stay equal.
  const auto same = shortened_apart({names[0], names[0]}, 20, true);
  EXPECT_EQ(same[0], same[1]);
}

TEST(Terminal, TextAndHeadingsGoOnInFurtherLines) {
  Answer answer{.command = "graph", .headline = "x"};
  answer.tables.push_back(
      {.title = "T",
       .columns = {{.title = "what", .numeric = false},
                   {.title = "a heading of many words", .unit = "x"},
                   {.title = "evidence", .numeric = false, .whole = true, .wrap = true}},
       .rows = {{"first", 1.5, "one two three four five six seven eight nine ten eleven twelve"}},
       .width = 60});
  const auto text = to_terminal(answer, {}, {.width = 0});
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    EXPECT_LE(display_width(text.substr(at, end - at)), 60) << text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_NE(text.find("twelve"), std::string::npos);
  EXPECT_NE(text.find("words (x)  evidence\n"), std::string::npos) << text;
  EXPECT_EQ(wrapped("aa bb ccccccc d", 5), (std::vector<std::string>{"aa bb", "ccccccc", "d"}));
}

// Cells that must stay whole, or that nothing shorter tells apart, go on in a second line before a
// table leaves the width.
TEST(Terminal, WhatCannotBeShortenedGoesOn) {
  Answer answer{.command = "study", .headline = "h", .lines = {}};
  answer.tables.push_back(
      {.title = "t",
       .columns = {{.title = "workload", .numeric = false},
                   {.title = "setting", .numeric = false, .whole = true},
                   {.title = "saved", .unit = "%"}},
       .rows = {{"Qwen A3B Thinking num_gpus=1 bfloat16 at rest", "2430 / 12481 MHz, 600 W", 1.5},
                {"Qwen A3B Thinking num_gpus=2 bfloat16 at rest", "2430 / 12481 MHz, 600 W", 1.5}},
       .width = 40});
  const auto text = to_terminal(answer, {}, {.width = 0});
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(display_width(text.substr(at, end - at)), 40) << text;
    at = end + 1;
  }
  for (const char* word : {"12481 MHz,", "600 W"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
}

// Sentences are as wide as the tables below them; a name without blanks breaks within.
TEST(Terminal, SentencesAndTitlesGoOnInFurtherLines) {
  Answer answer{.command = "study",
                .headline = "A sentence of more words than forty columns have room for.",
                .lines = {"  fix: another one of many words, which keeps its indent in each line"}};
  answer.tables.push_back(
      {.title = "Points of cudnn::maxwell::gemm::computeWgradOffsetsKernel(cudnn::maxwell)",
       .columns = {{.title = "workload", .numeric = false},
                   {.title = "baseline", .numeric = false, .whole = true},
                   {.title = "saved", .unit = "%"}},
       .rows = {{"mean_of_all_the_things_that_were_seen_as_a", "1300 / 3800 MHz", 1.5},
                {"mean_of_all_the_things_that_were_seen_as_b", "1300 / 3800 MHz", 1.5},
                {"mean_of_all_the_things_that_were_seem_as_a", "1300 / 3800 MHz", 1.5}},
       .width = 40});
  const auto text = to_terminal(answer, {}, {.width = 0});
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    EXPECT_LE(display_width(text.substr(at, end - at)), 40) << text;
    at = end + 1;
  }
  EXPECT_NE(text.find("\ncolumns have room for.\n  fix: another"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    keeps its"), std::string::npos) << text;
}

TEST(Terminal, PercentsHaveAtMostTwoDecimals) {
  const Column percent{.title = "saved", .unit = "%", .significant = 3};
  EXPECT_EQ(cell_text(-0.0195, percent, "-"), "-0.02");
  EXPECT_EQ(cell_text(-0.0049, percent, "-"), "0");
  EXPECT_EQ(cell_text(12.345, percent, "-"), "12.3");
  EXPECT_EQ(cell_text(2.345, percent, "-"), "2.35");
}

TEST(Csv, HasProgramNamesAndFullNumbers) {
  const auto text = to_csv(sample(), envelope());
  EXPECT_TRUE(text.starts_with("name,time_ms,count\n")) << text;
  EXPECT_NE(text.find("1.23456,7\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",,12345\n"), std::string::npos) << text;
  auto two = sample();
  two.tables.push_back(two.tables[0]);
  const auto both = to_csv(two, envelope());
  EXPECT_TRUE(both.starts_with("# Kernels (2 of 9 rows; --top shows more)\n")) << both;
  EXPECT_NE(both.find("\n# Figures\nname,value\n"), std::string::npos) << both;
  EXPECT_NE(both.find("counts.kernels,12\n"), std::string::npos) << both;
  two.tables.clear();
  EXPECT_NE(to_csv(two, envelope()).find("counts.kernels,12\n"), std::string::npos);
}

TEST(Markdown, EscapesNames) {
  const auto text = to_markdown(sample(), envelope());
  EXPECT_NE(text.find("float const\\*)\\|&lt;/script&gt;"), std::string::npos) << text;
  EXPECT_NE(text.find("| name | time (ms) | count |\n|---|---:|---:|\n"), std::string::npos)
      << text;
}

TEST(OpenMetrics, NamesHaveBaseUnits) {
  const auto text = to_openmetrics(sample(), envelope());
  EXPECT_NE(text.find("ergon_graph_span_seconds 0.0035\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("unknown"), std::string::npos);
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(Errors, SayWhatWhyAndNext) {
  const Error error{.code = Errc::kInfeasible,
                    .message = "too\x1b tight",
                    .hint = "loosen it",
                    .offset = 7,
                    .figures = {{"nearest.time_s", 0.5}, {"nearest.energy_j", 2}}};
  EXPECT_EQ(error_text(error, false), "error: too\\x1b tight\n  at byte 7\nhint: loosen it\n");
  const auto parsed = io::parse_json(error_json(error));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed->find("schema")->as_string(), "ergon.error/1");
  EXPECT_EQ(*parsed->find("code")->as_string(), "infeasible");
  EXPECT_EQ(*parsed->find("offset")->as_int(), 7);
  EXPECT_EQ(*parsed->find("nearest")->find("energy_j")->as_double(), 2.0);
}

}  // namespace
}  // namespace ergon::report
