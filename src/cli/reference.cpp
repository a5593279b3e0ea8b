// The reference page in Markdown: docs/reference/cli.md is this text, and a test compares them.
#include "help.hpp"

namespace ergon::cli {
namespace {

// Text for a Markdown table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '_') out += '\\';
    out += c;
  }
  return out;
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string flag_table(const std::vector<const Flag*>& flags) {
  std::string out = "| flag | |\n|---|---|\n";
  for (const Flag* flag : flags) {
    std::string spelling = flag_spelling(*flag);
    spelling.erase(0, spelling.find_first_not_of(' '));
    out += "| " + code(spelling) + " | " + cell(flag->help + flag_remarks(*flag)) + " |\n";
  }
  return out;
}

}  // namespace

std::string reference_section(const Command& command) {
  std::string out = "## ergon " + command.name + "\n\n" + command.summary + "\n\n```\n" +
                    usage_line(command) + "\n```\n";
  if (!command.description.empty()) out += "\n" + command.description + "\n";
  out += "\n```sh\n";
  for (const Example& example : command.examples)
    out += "# " + example.what + "\n" + example.line + "\n";
  out += "```\n";
  if (!command.operands.empty()) out += "\n| argument | |\n|---|---|\n";
  for (const Operand& operand : command.operands) {
    std::string help = operand.help;
    for (std::size_t i = 0; i < operand.choices.size(); ++i)
      help += (i == 0 ? ": " : ", ") + operand.choices[i];
    out += "| " + code(operand.name + (operand.many ? "..." : "")) + " | " + cell(help) +
           (operand.required ? "" : " (optional)") + " |\n";
  }
  for (const auto& group : flag_groups(command, false)) {
    if (group.title == "Global flags") continue;
    out += "\n" + group.title + "\n\n" + flag_table(group.flags);
  }
  if (!command.artefact.empty()) out += "\n`-o FILE` writes " + command.artefact + ".\n";
  if (!command.exports.empty()) {
    out += "\n`--export` also takes";
    for (const auto& format : command.exports) out += " `" + format + ":FILE`";
    out += ".\n";
  }
  return out;
}

std::string reference_page() {
  std::string out =
      "# Command line\n\nMade by `ergon man -f md` from the flag table; a test compares them.\n\n"
      "```\n" +
      general_usage() + "\n```\n\n| command | |\n|---|---|\n";
  for (const Command* command : commands()) {
    out += "| [" + code("ergon " + command->name) + "](#ergon-" + command->name + ") | " +
           cell(command->summary) + " |\n";
  }
  out += "\n## Global flags\n\n";
  out += flag_table(offered_global_flags());
  out +=
      "\nValues carry units: `3%`, `12ms`, `1410MHz`, `200MB`; a bare number is an error (exit "
      "2).\n\n"
      "## Exit codes\n\n| code | |\n|---|---|\n| 0 | done |\n| 1 | the answer is \"no\" |\n| 2 | "
      "usage |\n"
      "| 3 | bad input |\n| 4 | device or permission |\n| 5 | infeasible; the error names the "
      "nearest feasible bound |\n"
      "| 70 | a bug, or out of memory |\n";
  for (const Command* command : commands()) out += "\n" + reference_section(*command);
  return out;
}

}  // namespace ergon::cli
