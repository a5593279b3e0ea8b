// One command line from words to exit code: parse, run, and say what failed.
#include <algorithm>
#include <exception>
#include <new>

#include "context.hpp"
#include "gpu_input.hpp"
#include "help.hpp"
#include "outputs.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

constexpr int kBug = 70;
// As env(1) and timeout(1): the tool failed, not the program that it wraps.
constexpr int kToolFailed = 125;

int report_error(const Error& error, std::span<const std::string> words,
                 const Surroundings& surroundings, bool wraps, bool program_ran = false) {
  bool color = surroundings.color_err;
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string& value =
        words[i] == "--color" && i + 1 < words.size() ? words[i + 1] : words[i];
    if (value == "never" || value == "--color=never") color = false;
    if (value == "--color=always" || (value == "always" && words[i] == "--color")) color = true;
  }
  surroundings.err(report::error_text(error, color));
  if (asks_for_json(words)) {
    // Once the wrapped program ran, stdout is the program's.
    (program_ran ? surroundings.err : surroundings.out)(report::error_json(error));
  }
  return wraps ? kToolFailed : exit_code(error.code);
}

std::string shown_command_line(std::span<const std::string> words) {
  std::string line = "ergon";
  for (const auto& word : words) {
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_=+./:,@%") == std::string::npos;
    line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

int run_parsed(Arguments arguments, std::span<const std::string> words,
               const Surroundings& surroundings) {
  const auto show = [&](const std::string& text) {
    return surroundings.out(text) == Written::kFailed ? 3 : 0;
  };
  switch (arguments.request) {
    case Request::kCommandList:
      return show(command_list());
    case Request::kVersion:
      return show("ergon " ERGON_VERSION "\n");
    case Request::kShortHelp:
      return show(arguments.command == nullptr ? command_list() : short_help(*arguments.command));
    case Request::kLongHelp:
      return show(arguments.command == nullptr ? command_list() : long_help(*arguments.command));
    case Request::kRun:
      break;
  }
  const Command& command = *arguments.command;
  const bool wraps = !arguments.program.empty();
  bool program_ran = false;
  if (command.name != "restore" && !arguments.values.contains("quiet")) {
    if (const auto notice = stale_notice(surroundings); !notice.empty()) surroundings.err(notice);
  }
  Result<int> outcome = [&] {
    Context context(std::move(arguments), surroundings, shown_command_line(words));
    // Before the work is done, not after.
    if (!report::html_available() && context.wants("html")) {
      return Result<int>(fail(report::to_html(Answer{}, {}).error()));
    }
    if (auto safe = check_outputs(context, command); !safe)
      return Result<int>(fail(std::move(safe).error()));
    auto result = command.run(context);
    program_ran = context.program_ran();
    return result;
  }();
  return outcome ? *outcome
                 : report_error(outcome.error(), words, surroundings, wraps, program_ran);
}

}  // namespace

int run(std::span<const std::string> words, const Surroundings& surroundings) {
  try {
    if (const auto watched = run_watchdog(words, surroundings)) return *watched;
    auto arguments = parse(words);
    if (!arguments) {
      const Command* command = words.empty() ? nullptr : find_command(words[0]);
      return report_error(arguments.error(), words, surroundings,
                          command != nullptr && command->wraps_program &&
                              std::ranges::find(words, "--") != words.end());
    }
    return run_parsed(*std::move(arguments), words, surroundings);
  } catch (const std::bad_alloc&) {
    surroundings.err(
        "error: out of memory\nhint: a smaller input, or a machine with more memory\n");
  } catch (const std::exception& exception) {
    surroundings.err("error: a bug in ergon: " + std::string(exception.what()) +
                     "\nhint: please report it with the command line\n");
  }
  return kBug;
}

}  // namespace ergon::cli
