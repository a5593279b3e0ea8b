// From words to typed values, by the flag table.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "command.hpp"

namespace ergon::cli {

using FlagValue = std::variant<bool, std::int64_t, double, std::string, TimeRange, Export>;

/// What was asked for besides running a command.
enum class Request { kRun, kShortHelp, kLongHelp, kVersion, kCommandList };

/// A parsed command line. Flags that were not given hold their default, if they have one.
struct Arguments {
  Request request = Request::kRun;
  const Command* command = nullptr;
  std::map<std::string, std::vector<FlagValue>, std::less<>> values;
  std::set<std::string, std::less<>> given;
  std::vector<std::string> operands;
  std::vector<std::string> program;  ///< after "--", where the command wraps a program
};

/// Parses the words after the program's name. kInvalidArgument says which word is wrong and what
/// was meant.
Result<Arguments> parse(std::span<const std::string> words);
/// Parses the words after the command's name. Does not ask for help.
Result<Arguments> parse_command(const Command& command, std::span<const std::string> words);

/// One value of a flag; kInvalidArgument with the flag's spelling and the accepted values.
Result<FlagValue> parse_value(const Flag& flag, std::string_view text, std::string_view spelling);

/// Whether the words ask for the answer as JSON, even where they do not parse: then the error is
/// JSON, too.
bool asks_for_json(std::span<const std::string> words);

/// The candidate nearest to `word` by edit distance (a swap of neighbours counts one), if it is
/// near enough to be meant.
std::optional<std::string> suggest(std::string_view word, std::span<const std::string> candidates);

/// Splits a line as a shell would, with single and double quotes; for the examples of the table.
std::vector<std::string> split_words(std::string_view line);

}  // namespace ergon::cli
