// The flag table: one description of each command, from which parsing, help, man pages, completions
// and the reference page are made.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "values.hpp"

namespace ergon::cli {

class Context;

/// One flag of a command.
struct Flag {
  std::string name;  ///< long name without the dashes
  char letter = 0;   ///< short name, 0 for none
  Kind kind = Kind::kSwitch;
  std::string value = {};  ///< how the value is called in help: "FILE"; empty for switches
  std::string help;        ///< one phrase without a full stop, at most 90 bytes
  std::string default_text =
      {};                    ///< what holds without the flag, as it would be typed; empty: nothing
  std::string group = {};    ///< heading in the long help; empty: "Flags"
  std::string example = {};  ///< a value, as it would be typed; needed where it is not plain
  bool repeatable = false;
  std::vector<std::string> choices = {};
  std::vector<std::string> suggestions = {};  ///< offered by completion; others are allowed
  std::int64_t minimum = std::numeric_limits<std::int64_t>::min();  ///< of whole numbers
};

/// One positional argument of a command; only the last may be `many`.
struct Operand {
  std::string name;  ///< "FILE"
  std::string help;
  bool required = true;
  bool many = false;
  bool path = false;  ///< completed as a file
  std::vector<std::string> choices = {};
  std::vector<std::string> suggestions = {};  ///< offered by completion; others are allowed
};

struct Example {
  std::string line;  ///< a complete command line; a test parses it
  std::string what;
};

/// At most one flag of `flags` may be given; with `one_needed` at least one of `flags` or
/// `or_these`.
struct Exclusive {
  std::vector<std::string> flags;
  bool one_needed = false;
  std::vector<std::string> or_these = {};
};

/// One subcommand.
struct Command {
  std::string name;
  std::string group;             ///< heading in the list of commands
  std::string summary;           ///< one phrase, at most 70 bytes
  std::string description = {};  ///< a paragraph for the long help
  std::vector<Operand> operands = {};
  std::vector<Flag> flags = {};
  std::vector<Exclusive> exclusive = {};
  std::vector<Example> examples = {};  ///< three or more
  std::string artefact = {};  ///< what -o writes; empty: the command has no artefact and refuses -o
  std::vector<std::string> exports =
      {};                      ///< formats of --export beyond those of every answer ("perfetto")
  bool uses_gpu = false;       ///< takes the global --gpu SEL
  bool wraps_program = false;  ///< takes "-- PROGRAM ARGS..."; failures of the tool are exit 125
  /// What the exit status says, in words, where it is not the usual.
  std::string exit_status = {};
  /// Flags of which one may stand in place of the program; then exit codes are the ordinary ones.
  std::vector<std::string> instead_of_program = {};
  /// Does the work; 0, or 1 where the answer is "no". Empty: the command is not part of this build
  /// and is not listed.
  std::function<Result<int>(Context&)> run = {};
};

/// The commands of this build, in the order of the list.
std::span<const Command* const> commands();
/// nullptr where this build has no such command.
const Command* find_command(std::string_view name);
/// The flags that mean the same in every command.
std::span<const Flag> global_flags();
/// The flag of that long name: the command's own wins over a global one; nullptr where there is
/// none.
const Flag* find_flag(const Command& command, std::string_view name);
const Flag* find_flag(const Command& command, char letter);
/// Whether a global flag means something here: -o needs an artefact, --gpu a command that uses a
/// GPU.
bool offers(const Command& command, const Flag& global);
/// Headings of the list of commands, in order.
std::span<const std::string_view> command_groups();

/// Faults of the table itself: duplicates, missing value names, defaults or examples that do not
/// parse. Empty: none.
std::vector<std::string> lint(std::span<const Command* const> commands);

}  // namespace ergon::cli
