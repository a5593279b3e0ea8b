// Words to values: units, suggestions, exclusions, and what each error says.
#include "parser.hpp"

#include <gtest/gtest.h>

#include "registry.hpp"

namespace ergon::cli {
namespace {

Result<Arguments> parse_as(const Command& command, std::string_view line) {
  const auto words = split_words(line);
  return parse_command(command, words);
}

double quantity(Kind kind, std::string_view text) {
  const auto value = parse_quantity(kind, text);
  EXPECT_TRUE(value.has_value()) << text;
  return value.value_or(-1);
}

TEST(Values, CarryUnits) {
  EXPECT_EQ(quantity(Kind::kPercent, "3%"), 0.03);
  EXPECT_EQ(quantity(Kind::kPercent, "7%"), 0.07);
  EXPECT_EQ(quantity(Kind::kDuration, "12ms"), 0.012);
  EXPECT_EQ(quantity(Kind::kDuration, "0.012 s"), 0.012);
  EXPECT_EQ(quantity(Kind::kDuration, "2min"), 120.0);
  EXPECT_EQ(quantity(Kind::kDuration, "5µs"), 5e-6);
  EXPECT_EQ(quantity(Kind::kClock, "1410MHz"), 1.41e9);
  EXPECT_EQ(quantity(Kind::kClock, "1410mhz"), 1.41e9);
  EXPECT_EQ(quantity(Kind::kBytes, "200MB"), 2e8);
  EXPECT_EQ(quantity(Kind::kBytes, "1GiB"), 1073741824.0);
  EXPECT_EQ(quantity(Kind::kEnergy, "500mJ"), 0.5);
  EXPECT_EQ(quantity(Kind::kEnergy, "1MJ"), 1e6);
  EXPECT_EQ(quantity(Kind::kPower, "0.3kW"), 300.0);
}

TEST(Values, BareAndOddNumbersAreRefusedWithTheAcceptedSpellings) {
  for (const auto* text :
       {"3", "0", "3x", "", "%", "nan%", "inf%", "-3%", "1e999%", "0x3%", "3 %%", " 3%"}) {
    const auto value = parse_quantity(Kind::kPercent, text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().hint, "accepted: 3%, 0.5%") << text;
    EXPECT_EQ(exit_code(value.error().code), 2);
  }
}

TEST(Values, TimeRangesAreWholeNanoseconds) {
  const auto range = parse_time_range("10ms:25.000001ms");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->begin, 10'000'000);
  EXPECT_EQ(range->end, 25'000'001);
  EXPECT_FALSE(parse_time_range(":25ms")->begin.has_value());
  for (const auto* text : {"10ms", ":", "25ms:10ms", "1:2", "a:b"}) {
    EXPECT_FALSE(parse_time_range(text).has_value()) << text;
  }
}

TEST(Parser, ReadsEverySpellingOfAFlag) {
  for (const auto* line :
       {"t.json --top 7 -f json", "--top=7 t.json -fjson", "-f=json t.json --top 7"}) {
    const auto arguments = parse_as(graph_command(), line);
    ASSERT_TRUE(arguments.has_value()) << line << ": " << arguments.error().message;
    EXPECT_EQ(std::get<std::int64_t>(arguments->values.at("top")[0]), 7);
    EXPECT_EQ(std::get<std::string>(arguments->values.at("format")[0]), "json");
    EXPECT_EQ(arguments->operands, std::vector<std::string>{"t.json"});
  }
  const auto switches = parse_as(graph_command(), "-qv -- -odd.json");
  ASSERT_TRUE(switches.has_value());
  EXPECT_TRUE(switches->given.contains("quiet"));
  EXPECT_TRUE(switches->given.contains("verbose"));
  EXPECT_EQ(switches->operands, std::vector<std::string>{"-odd.json"});
}

TEST(Parser, DefaultsHoldAndRepeatsAdd) {
  const auto arguments =
      parse_as(graph_command(), "- --what-if kernel=~a:x2 --what-if 'copy=~b c:x0'");
  ASSERT_TRUE(arguments.has_value());
  EXPECT_EQ(std::get<std::int64_t>(arguments->values.at("top")[0]), 50);
  EXPECT_EQ(arguments->values.at("what-if").size(), 2U);
  EXPECT_FALSE(arguments->given.contains("top"));
  EXPECT_EQ(std::get<std::string>(arguments->values.at("steps")[0]), "all");
  EXPECT_EQ(std::get<std::int64_t>(parse_as(graph_command(), "- --steps 3")->values.at("steps")[0]),
            3);
}

struct Wrong {
  const Command& (*command)();
  std::string line;
  std::string message;
  std::string hint;
};

TEST(Parser, ErrorsNameTheWordAndWhatWasMeant) {
  const std::vector<Wrong> cases = {
      {graph_command, "t.json --slak", "'ergon graph' has no flag '--slak'",
       "did you mean '--slack'?"},
      {graph_command, "t.json -z", "'ergon graph' has no flag '-z'", "see 'ergon graph -h'"},
      {graph_command, "t.json --top", "--top needs a value (N)", "accepted: a whole number"},
      {graph_command, "t.json --top --slack", "--top needs a value (N)",
       "accepted: a whole number"},
      {graph_command, "t.json --top 0", "--top '0': the number is below 1", "raise it"},
      {graph_command, "t.json --top 1.5", "--top '1.5': this is not a whole number", "accepted"},
      {graph_command, "t.json --steps some", "--steps 'some'",
       "accepted: auto, all, or a whole number"},
      {graph_command, "t.json --slack=yes", "--slack takes no value", ""},
      {graph_command, "t.json -f jsn", "-f 'jsn': there is no such choice", "did you mean 'json'?"},
      {graph_command, "t.json --top 1 --top 2", "--top is given twice", "keep one"},
      {graph_command, "t.json -o x", "'ergon graph' makes no file for -o", "--export json:FILE"},
      {graph_command, "t.json --export html", "--export 'html'", "FMT:FILE"},
      {graph_command, "t.json --export pdf:x", "no export to 'pdf'", "perfetto"},
      {graph_command, "", "'ergon graph' needs FILE", "for example: ergon graph"},
      {plan_command, "t.json --max-slowdown 3", "--max-slowdown '3': the number has no unit",
       "accepted: 3%"},
      {plan_command, "t.json", "needs one of --max-slowdown 3%, --deadline 12ms, --frontier",
       "see"},
      {plan_command, "t.json --max-slowdown 3% --deadline 1ms", "exclude each other", "keep one"},
      {device_command, "list --export perfetto:x", "no export to 'perfetto'", "accepted: json"},
      {plan_command, "t.json --frontier --gpu 0", "uses no GPU", "leave --gpu out"},
      {device_command, "shw", "'shw' is no ACTION", "did you mean 'show'?"},
      {explain_command, "gap slack", "one argument too many", "see"},
  };
  for (const auto& [command, line, message, hint] : cases) {
    const auto arguments = parse_as(command(), line);
    ASSERT_FALSE(arguments.has_value()) << line;
    EXPECT_NE(arguments.error().message.find(message), std::string::npos)
        << arguments.error().message;
    EXPECT_NE(arguments.error().hint.find(hint), std::string::npos) << arguments.error().hint;
    EXPECT_EQ(exit_code(arguments.error().code), 2);
  }
}

TEST(Parser, CommandsAndRequests) {
  const auto request = [](std::string_view line) { return parse(split_words(line)); };
  EXPECT_EQ(request("")->request, Request::kCommandList);
  EXPECT_EQ(request("help")->request, Request::kCommandList);
  EXPECT_EQ(request("--version")->request, Request::kVersion);
  EXPECT_EQ(request("explain -h")->request, Request::kShortHelp);
  EXPECT_EQ(request("help explain")->request, Request::kLongHelp);
  EXPECT_EQ(request("-f json explain gap")->command, &explain_command());
}

TEST(Parser, UnknownCommandsAreSuggested) {
  const std::vector<std::string> words = {"explian"};
  const auto arguments = parse(words);
  ASSERT_FALSE(arguments.has_value());
  EXPECT_EQ(arguments.error().message, "there is no command 'explian'");
  EXPECT_NE(arguments.error().hint.find("did you mean 'explain'?"), std::string::npos);
  const std::vector<std::string> names = {"plan", "pack"};
  EXPECT_EQ(suggest("plna", names), "plan");
  EXPECT_FALSE(suggest("measure", names).has_value());
}

TEST(Parser, JsonIsAskedForInEverySpelling) {
  for (const auto* line : {"graph -f json", "graph --format=json x", "-fjson", "x --format json"}) {
    EXPECT_TRUE(asks_for_json(split_words(line))) << line;
  }
  EXPECT_FALSE(asks_for_json(split_words("measure -- prog -f json")));
  EXPECT_FALSE(asks_for_json(split_words("graph -f csv")));
}

}  // namespace
}  // namespace ergon::cli
