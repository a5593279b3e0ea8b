// The flag table is sound, and what is made from it is complete.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "ergon/cli.hpp"
#include "help.hpp"
#include "registry.hpp"
#include "topics.hpp"
#include "values.hpp"

namespace ergon::cli {
namespace {

TEST(Percent, IsWrittenOneWay) {
  EXPECT_EQ(percent_text(0.12345), "12.3 %");
  EXPECT_EQ(percent_text(0.012345), "1.23 %");
  EXPECT_EQ(percent_text(0.02), "2 %") << "as it was given";
  EXPECT_EQ(percent_text(0.025), "2.5 %");
  EXPECT_EQ(percent_text(-0.000195), "-0.02 %");
  EXPECT_EQ(percent_text(-0.00001), "0 %") << "far below what is known";
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(percent_range(0.285, 0.316), "28.5 % to 31.6 %");
  EXPECT_EQ(percent_range(0.30996, 0.31004), "30.996 % to 31.004 %");
  EXPECT_EQ(percent_range(0.31, 0.31), "31 %");
}

TEST(Table, HasNoFaults) {
  for (const auto& fault : lint(described_commands())) ADD_FAILURE() << fault;
}

TEST(Table, LintSeesFaults) {
  const Command broken = {
      .name = "broken",
      .group = "Act",
      .summary = "a command",
      .flags = {{.name = "format", .kind = Kind::kText, .value = "X", .help = "fine"},
                {.name = "Bad", .letter = 'h', .help = "Ends."},
                {.name = "size", .kind = Kind::kBytes, .value = "SIZE", .help = "no example"},
                {.name = "size",
                 .kind = Kind::kBytes,
                 .value = "SIZE",
                 .help = "twice",
                 .default_text = "3"}},
      .exclusive = {{.flags = {"nothing"}}},
      .examples = {{"ergon broken --what", "x"}}};
  const std::array<const Command*, 1> commands = {&broken};
  std::string all;
  for (const auto& fault : lint(commands)) all += fault + "\n";
  for (const auto* part :
       {"fewer than three examples", "--Bad: the name is not", "--Bad: the letter is used twice",
        "--Bad: the help ends", "--size: needs an example", "--size: the name is used twice",
        "--size: bad default", "unknown flag --nothing",
        "the example 'ergon broken --what' fails"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in:\n" << all;
  }
}

TEST(Table, HelpIsOneScreen) {
  for (const Command* command : described_commands()) {
    const auto text = short_help(*command);
    EXPECT_LE(std::ranges::count(text, '\n'), 40) << command->name;
    EXPECT_LT(text.find("Examples:"), text.find("Usage:")) << command->name;
  }
}

TEST(Table, EveryFlagIsEverywhere) {
  for (const Command* command : commands()) {
    for (const Flag& flag : command->flags) {
      EXPECT_NE(long_help(*command).find("--" + flag.name), std::string::npos);
      EXPECT_NE(reference_page().find("--" + flag.name), std::string::npos);
      for (const auto& script : {bash_completion(), zsh_completion()}) {
        EXPECT_NE(script.find("--" + flag.name), std::string::npos) << flag.name;
      }
      EXPECT_NE(fish_completion().find("-l " + flag.name), std::string::npos);
    }
    EXPECT_NE(command_list().find(command->name), std::string::npos);
    EXPECT_NE(man_page().find(command->name), std::string::npos);
  }
}

TEST(Topics, FitOneScreen) {
  for (const Topic& topic : topics()) {
    EXPECT_LE(std::ranges::count(topic.text, '\n'), 30) << topic.name;
    for (std::size_t at = 0; at < topic.text.size();) {
      const auto end = std::min(topic.text.find('\n', at), topic.text.size());
      EXPECT_LE(end - at, 98U) << topic.text.substr(at, end - at);
      at = end + 1;
    }
  }
}

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run_line(std::vector<std::string> words, Written out_result = Written::kDone) {
  Outcome outcome;
  Surroundings surroundings;
  surroundings.out = [&](std::string_view text) {
    outcome.out += text;
    return out_result;
  };
  surroundings.err = [&](std::string_view text) {
    outcome.err += text;
    return Written::kDone;
  };
  outcome.code = run(words, surroundings);
  return outcome;
}

TEST(Run, ExitCodesAndStreams) {
  EXPECT_EQ(run_line({}).code, 0);
  EXPECT_EQ(run_line({"--version"}).out, "ergon " ERGON_VERSION "\n");
  const auto wrong = run_line({"explain", "gapp", "-f", "json"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err,
            "error: there is no topic 'gapp'\nhint: did you mean 'gap'? 'ergon explain' lists the "
            "topics\n");
  EXPECT_NE(wrong.out.find("\"schema\": \"ergon.error/1\""), std::string::npos);
  EXPECT_EQ(run_line({"explain", "gapp"}).out, "");
  EXPECT_NE(run_line({"explain", "-f", "json"}).out.find("ergon.explain/1"), std::string::npos);
}

TEST(Run, AReaderThatWentAwayIsNoError) {
  EXPECT_EQ(run_line({"explain", "gap"}, Written::kReaderGone).code, 0);
  EXPECT_EQ(run_line({"explain", "gap"}, Written::kFailed).code, 3);
  EXPECT_EQ(run_line({}, Written::kFailed).code, 3);
}

}  // namespace
}  // namespace ergon::cli
