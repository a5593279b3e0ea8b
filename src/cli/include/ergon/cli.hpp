// The command line of Ergon: words in, an exit code out.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ergon::cli {

/// How a write to stdout or stderr ended.
enum class Written { kDone, kReaderGone, kFailed };

/// What the process stands in; read once in main, so that everything below can be tested without a
/// process.
struct Surroundings {
  std::function<Written(std::string_view)> out;
  std::function<Written(std::string_view)> err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color_out = false;  ///< as the environment wants it; --color decides
  bool color_err = false;
  bool unicode = true;
  int width = 0;  ///< of the terminal; 0: no terminal, names are not shortened
  /// A variable of the environment; nullopt: not set. Empty function: none is.
  std::function<std::optional<std::string>(const std::string&)> variable;
  /// All variables, "NAME=value": what a wrapped program inherits. Empty function: none.
  std::function<std::vector<std::string>()> environment;
  /// Sets a variable for this process and the programs it starts. Only while one thread runs.
  std::function<void(const std::string&, const std::string&)> set_variable;
  std::string program_folder;  ///< where this program lies; empty: not known
  std::string state_folder;    ///< what outlives a command: $XDG_STATE_HOME/ergon; empty: nowhere
  std::vector<std::string> self;  ///< how this program is started again; empty: it cannot be
};

/// The surroundings of this process: its streams, NO_COLOR, CLICOLOR_FORCE, FORCE_COLOR, TERM,
/// COLUMNS, LC_ALL, LC_CTYPE, LANG, XDG_STATE_HOME, HOME.
Surroundings process_surroundings();

/// Runs one command line (without the program's name) and gives the exit code: 0 done, 1 the answer
/// is "no", 2 usage, 3 bad input, 4 device or permission, 5 infeasible, 70 a bug or the machine is
/// out of memory. A reader that went away is a success.
int run(std::span<const std::string> words, const Surroundings& surroundings);

}  // namespace ergon::cli
