// Everything that is written from the flag table: help, manual pages, completions, the reference
// page.
#pragma once
#include <string>

#include "command.hpp"

namespace ergon::cli {

/// The grouped list of commands of this build: what `ergon` alone prints.
std::string command_list();
/// "-h": one screen, the examples first.
std::string short_help(const Command& command);
/// "--help": everything.
std::string long_help(const Command& command);

/// The manual page ergon(1) or ergon-COMMAND(1) in roff.
std::string man_page();
std::string man_page(const Command& command);
/// The whole reference as Markdown: docs/reference/cli.md.
std::string reference_page();
/// The part of it about one command.
std::string reference_section(const Command& command);

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

/// "ergon plan INPUT... [flags] -o FILE".
std::string usage_line(const Command& command);
/// The usage of ergon itself; "-- PROGRAM" only where a command of this build wraps one.
std::string general_usage();
/// "-o, --output FILE".
std::string flag_spelling(const Flag& flag);
/// What follows the help of a flag: choices, default, example, repeatable.
/// `command`: whose help it is; nullptr where the flag stands for all commands.
std::string flag_remarks(const Flag& flag, const Command* command = nullptr);

/// The flags under one heading, in the order of the table.
struct FlagGroup {
  std::string title;
  std::vector<const Flag*> flags;
};
/// The global flags that any command of this build offers.
std::vector<const Flag*> offered_global_flags();
/// The command's own groups first, the global flags last; a global flag that the command redefines
/// is left out.
std::vector<FlagGroup> flag_groups(const Command& command, bool with_global);

}  // namespace ergon::cli
