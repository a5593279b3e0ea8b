// The list of commands, the short and the long help.
#include "help.hpp"

#include <algorithm>

namespace ergon::cli {
namespace {

constexpr std::size_t kWidth = 96;

// Breaks `text` at blanks; every line but the first starts with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t used) {
  std::string out;
  std::size_t column = used;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find(' ', at), text.size());
    const auto word = text.substr(at, end - at);
    if (column > indent && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (at > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out;
}

std::string flag_lines(const std::vector<FlagGroup>& groups, const Command* command = nullptr) {
  std::size_t width = 0;
  for (const auto& group : groups) {
    for (const Flag* flag : group.flags) width = std::max(width, flag_spelling(*flag).size());
  }
  width = std::min<std::size_t>(width, 30);
  std::string out;
  for (const auto& group : groups) {
    out += "\n" + group.title + ":\n";
    for (const Flag* flag : group.flags) {
      const auto spelling = flag_spelling(*flag);
      out += "  " + spelling;
      const std::size_t column = width + 4;
      if (spelling.size() > width) {
        out += "\n" + std::string(column, ' ');
      } else {
        out += std::string(column - 2 - spelling.size(), ' ');
      }
      out += wrapped(flag->help + flag_remarks(*flag, command), column, column) + "\n";
    }
  }
  return out;
}

std::string example_lines(const Command& command, std::size_t most) {
  std::size_t width = 0;
  const std::size_t count = std::min(most, command.examples.size());
  for (std::size_t i = 0; i < count; ++i) width = std::max(width, command.examples[i].line.size());
  const bool beside = width <= 58;
  std::string out = "Examples:\n";
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [line, what] = command.examples[i];
    out += "  ";
    out += line;
    out += beside ? std::string(width - line.size() + 3, ' ') : "\n      ";
    out += what;
    out += '\n';
  }
  return out;
}

}  // namespace

std::string flag_spelling(const Flag& flag) {
  std::string text = flag.letter == 0 ? "    " : std::string("-") + flag.letter + ", ";
  text += "--" + flag.name;
  if (flag.kind != Kind::kSwitch) text += " " + flag.value;
  return text;
}

std::string flag_remarks(const Flag& flag, const Command* command) {
  std::vector<std::string> remarks;
  if (!flag.choices.empty() && flag.kind != Kind::kExport) {
    std::string choices = "one of ";
    for (std::size_t i = 0; i < flag.choices.size(); ++i)
      choices += (i == 0 ? "" : ", ") + flag.choices[i];
    if (flag.kind == Kind::kChoiceOrInteger) choices += ", or a number";
    remarks.push_back(std::move(choices));
  }
  if (!flag.example.empty() && flag.kind != Kind::kInteger)
    remarks.push_back("for example " + flag.example);
  // What only some commands write is said by each of them.
  if (command != nullptr && flag.kind == Kind::kExport && !command->exports.empty()) {
    std::string also = "here also ";
    for (std::size_t i = 0; i < command->exports.size(); ++i)
      also += (i == 0 ? "" : ", ") + command->exports[i];
    remarks.insert(remarks.begin(), std::move(also));
  }
  if (!flag.default_text.empty()) remarks.push_back("default " + flag.default_text);
  if (flag.repeatable && flag.kind != Kind::kSwitch) remarks.emplace_back("may be repeated");
  std::string text;
  for (const auto& remark : remarks) text += (text.empty() ? " (" : "; ") + remark;
  return text.empty() ? text : text + ")";
}

std::vector<FlagGroup> flag_groups(const Command& command, bool with_global) {
  std::vector<FlagGroup> groups;
  const auto add = [&groups](const Flag& flag) {
    const std::string title = flag.group.empty() ? "Flags" : flag.group;
    auto found = std::ranges::find(groups, title, &FlagGroup::title);
    if (found == groups.end()) found = groups.insert(groups.end(), FlagGroup{title, {}});
    found->flags.push_back(&flag);
  };
  for (const Flag& flag : command.flags) add(flag);
  for (const Flag& flag : global_flags()) {
    const bool redefined = find_flag(command, flag.name) != &flag;
    if (!redefined && offers(command, flag) && (with_global || flag.name == "output")) add(flag);
  }
  return groups;
}

std::vector<const Flag*> offered_global_flags() {
  std::vector<const Flag*> flags;
  for (const Flag& flag : global_flags()) {
    const auto takes = [&flag](const Command* command) { return offers(*command, flag); };
    if (std::ranges::any_of(commands(), takes)) flags.push_back(&flag);
  }
  return flags;
}

std::string usage_line(const Command& command) {
  std::string line = "ergon " + command.name;
  for (const Operand& operand : command.operands) {
    const std::string name = operand.name + (operand.many ? "..." : "");
    line += operand.required ? " " + name : " [" + name + "]";
  }
  line += " [flags]";
  if (command.wraps_program) line += " -- PROGRAM ARGS...";
  return line;
}

std::string general_usage() {
  const bool wraps = std::ranges::any_of(
      commands(), [](const Command* command) { return command->wraps_program; });
  return std::string("ergon <command> [flags] [ARGS]") + (wraps ? " [-- PROGRAM ARGS...]" : "");
}

std::string command_list() {
  std::string out = "ergon " ERGON_VERSION
                    ": where do the time and the joules of a GPU workload go, and how few "
                    "can it spend?\n\nUsage: " +
                    general_usage() + "\n";
  std::size_t width = 0;
  for (const Command* command : commands()) width = std::max(width, command->name.size());
  for (const auto& group : command_groups()) {
    std::string lines;
    for (const Command* command : commands()) {
      if (command->group != group) continue;
      lines += "  " + command->name + std::string(width - command->name.size() + 3, ' ') +
               command->summary + "\n";
    }
    if (!lines.empty()) out += "\n" + std::string(group) + ":\n" + lines;
  }
  return out +
         "\n'ergon <command> -h' shows examples, '--help' everything, 'ergon explain' the "
         "topics.\n";
}

std::string short_help(const Command& command) {
  std::string out = "ergon " + command.name + ": " + command.summary + "\n\n" +
                    example_lines(command, 3) + "\nUsage: " + usage_line(command) + "\n" +
                    flag_lines(flag_groups(command, false), &command);
  return out + "\nMore: 'ergon " + command.name + " --help' (all flags), 'ergon man " +
         command.name + "'.\n";
}

std::string long_help(const Command& command) {
  std::string out = "ergon " + command.name + ": " + command.summary + "\n\n" +
                    example_lines(command, command.examples.size()) +
                    "\nUsage: " + usage_line(command) + "\n";
  if (!command.description.empty()) out += "\n" + wrapped(command.description, 0, 0) + "\n";
  if (!command.operands.empty()) out += "\nArguments:\n";
  for (const Operand& operand : command.operands) {
    std::string help = operand.help;
    for (std::size_t i = 0; i < operand.choices.size(); ++i)
      help += (i == 0 ? ": " : ", ") + operand.choices[i];
    out += "  " + operand.name + "   " +
           wrapped(help, operand.name.size() + 5, operand.name.size() + 5) + "\n";
  }
  if (!command.artefact.empty()) out += "\n-o writes " + command.artefact + ".\n";
  out += flag_lines(flag_groups(command, true), &command);
  out += "\nExit status: " +
         (command.exit_status.empty()
              ? "0 done; 1 the answer is \"no\"; 2 usage; 3 bad input; 4 device or permission;\n"
                "5 infeasible; 70 a bug."
              : wrapped(command.exit_status, 0, 13)) +
         "\n";
  return out;
}

}  // namespace ergon::cli
