// The list of commands, the global flags, and the lint of the whole table.
#include "registry.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "parser.hpp"

namespace ergon::cli {
namespace {

constexpr std::array<std::string_view, 5> kGroups = {"Measure", "Understand", "Act", "Infer",
                                                     "Help"};

std::vector<Flag> make_global_flags() {
  const std::string group = "Global flags";
  return {
      {.name = "format",
       .letter = 'f',
       .kind = Kind::kChoice,
       .value = "FORMAT",
       .help = "how the answer is written on stdout",
       .default_text = "table",
       .group = group,
       .choices = {"table", "json", "jsonl", "csv", "md"}},
      {.name = "output",
       .letter = 'o',
       .kind = Kind::kPath,
       .value = "FILE",
       .help = "write what the command makes to FILE; '-' is stdout",
       .group = group},
      {.name = "export",
       .kind = Kind::kExport,
       .value = "FMT:FILE",
       .help = "also write the answer: json, csv, md, html or openmetrics",
       .group = group,
       .example = "html:report.html",
       .repeatable = true,
       .choices = {"json", "csv", "md", "html", "perfetto", "openmetrics"}},
      {.name = "threads",
       .letter = 'j',
       .kind = Kind::kInteger,
       .value = "N",
       .help = "threads to use; the answer does not depend on it",
       .group = group,
       .example = "2",
       .minimum = 1},
      {.name = "gpu",
       .kind = Kind::kText,
       .value = "SEL",
       .help = "index, UUID, all, cuda:N, sim:MODEL[,gpus=N][,fault=NAME] or recorded:FILE",
       .group = group,
       .example = "sim:h100"},
      {.name = "seed",
       .kind = Kind::kInteger,
       .value = "N",
       .help = "seed of what is drawn by chance",
       .default_text = "1",
       .group = group,
       .minimum = 0},
      {.name = "color",
       .kind = Kind::kChoice,
       .value = "WHEN",
       .help = "colour on a terminal; NO_COLOR is honoured",
       .default_text = "auto",
       .group = group,
       .choices = {"auto", "always", "never"}},
      {.name = "wide", .help = "do not shorten names to the width of the terminal", .group = group},
      {.name = "no-progress", .help = "no progress on a terminal", .group = group},
      {.name = "quiet", .letter = 'q', .help = "no warnings on stderr", .group = group},
      {.name = "verbose",
       .letter = 'v',
       .help = "say more on stderr",
       .group = group,
       .repeatable = true},
  };
}

class Linter {
 public:
  std::vector<std::string> faults;

  void check(const Command& command) {
    const std::string where = "ergon " + command.name;
    if (std::ranges::find(kGroups, command.group) == kGroups.end())
      complain(where, "is in no known group");
    if (command.summary.empty() || command.summary.size() > 70)
      complain(where, "has no summary of at most 70 bytes");
    if (command.examples.size() < 3) complain(where, "has fewer than three examples");
    std::set<std::string> names = {"help", "version"};
    std::set<char> letters = {'h'};
    for (const Flag& flag : command.flags) check(flag, where, names, letters);
    // A command may give a global flag its own sense, but not half of one.
    for (const Flag& flag : global_flags()) {
      if (names.contains(flag.name)) continue;
      check(flag, where, names, letters);
    }
    for (std::size_t i = 0; i + 1 < command.operands.size(); ++i) {
      if (command.operands[i].many) complain(where, "has a repeated operand that is not the last");
      if (!command.operands[i].required && command.operands[i + 1].required) {
        complain(where, "has a needed operand after one that is not");
      }
    }
    for (const Exclusive& exclusive : command.exclusive) {
      for (const auto& name : exclusive.flags) known(command, name, where);
      for (const auto& name : exclusive.or_these) known(command, name, where);
    }
    for (const Example& example : command.examples) check(example, command, where);
  }

 private:
  void complain(const std::string& where, const std::string& what) {
    faults.push_back(where + ": " + what);
  }

  void known(const Command& command, const std::string& name, const std::string& where) {
    if (find_flag(command, name) == nullptr) complain(where, "excludes the unknown flag --" + name);
  }

  void check(const Flag& flag, const std::string& command, std::set<std::string>& names,
             std::set<char>& letters) {
    const std::string where = command + " --" + flag.name;
    const bool plain_name = !flag.name.empty() && std::ranges::all_of(flag.name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (!plain_name) complain(where, "the name is not of a-z, 0-9 and dashes");
    if (!names.insert(flag.name).second) complain(where, "the name is used twice");
    if (flag.letter != 0 && !letters.insert(flag.letter).second)
      complain(where, "the letter is used twice");
    if (flag.help.empty() || flag.help.size() > 90)
      complain(where, "the help is not 1 to 90 bytes");
    if (flag.help.ends_with('.')) complain(where, "the help ends with a full stop");
    const bool is_switch = flag.kind == Kind::kSwitch;
    if (is_switch != flag.value.empty())
      complain(where, "a flag has a value name if and only if it takes a value");
    const bool has_choices = flag.kind == Kind::kChoice || flag.kind == Kind::kChoiceOrInteger;
    if (has_choices && flag.choices.empty()) complain(where, "has no choices");
    for (const auto& choice : flag.choices) {
      if (std::ranges::any_of(choice, [](char c) { return c <= ' ' || c > '~'; }))
        complain(where, "a choice is odd");
    }
    if (!flag.default_text.empty() && !parse_value(flag, flag.default_text, ""))
      complain(where, "bad default");
    if (!flag.example.empty() && !parse_value(flag, flag.example, ""))
      complain(where, "bad example");
    const bool plain =
        is_switch || has_choices || flag.kind == Kind::kPath || flag.kind == Kind::kText;
    if (!plain && flag.example.empty() && flag.default_text.empty())
      complain(where, "needs an example or a default");
  }

  void check(const Example& example, const Command& command, const std::string& where) {
    auto words = split_words(example.line);
    if (words.size() < 2 || words[0] != "ergon" || words[1] != command.name) {
      return complain(where, "the example does not run this command: " + example.line);
    }
    const auto parsed = parse_command(command, std::span(words).subspan(2));
    if (!parsed)
      complain(where, "the example '" + example.line + "' fails: " + parsed.error().message);
    if (example.what.empty()) complain(where, "an example does not say what it does");
  }
};

}  // namespace

std::span<const Command* const> described_commands() {
  static const std::array all = {&graph_command(),  &pack_command(),    &plan_command(),
                                 &device_command(), &explain_command(), &completion_command(),
                                 &man_command(),    &schema_command(),  &restore_command(),
                                 &doctor_command(), &measure_command(), &import_command(),
                                 &study_command(),  &sweep_command()};
  return all;
}

std::span<const Command* const> commands() {
  static const std::vector<const Command*> offered_commands = [] {
    std::vector<const Command*> offered;
    for (const auto& group : kGroups) {
      for (const Command* command : described_commands()) {
        if (command->group == group && command->run) offered.push_back(command);
      }
    }
    return offered;
  }();
  return offered_commands;
}

const Command* find_command(std::string_view name) {
  for (const Command* command : commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

std::span<const Flag> global_flags() {
  static const std::vector<Flag> flags = make_global_flags();
  return flags;
}

const Flag* find_flag(const Command& command, std::string_view name) {
  for (const Flag& flag : command.flags) {
    if (flag.name == name) return &flag;
  }
  for (const Flag& flag : global_flags()) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

const Flag* find_flag(const Command& command, char letter) {
  for (const Flag& flag : command.flags) {
    if (flag.letter == letter) return &flag;
  }
  for (const Flag& flag : global_flags()) {
    if (flag.letter == letter) return &flag;
  }
  return nullptr;
}

bool offers(const Command& command, const Flag& global) {
  if (global.name == "output") return !command.artefact.empty();
  return global.name != "gpu" || command.uses_gpu;
}

std::span<const std::string_view> command_groups() { return kGroups; }

std::vector<std::string> lint(std::span<const Command* const> commands) {
  Linter linter;
  std::set<std::string> names;
  for (const Command* command : commands) {
    if (!names.insert(command->name).second)
      linter.faults.push_back("ergon " + command->name + ": twice");
    linter.check(*command);
  }
  return linter.faults;
}

}  // namespace ergon::cli
