// Manual pages in roff.
#include "help.hpp"

namespace ergon::cli {
namespace {

// Text for roff: backslashes, dashes, and dots or quotes that would start a request.
std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string header(const std::string& name, std::string_view summary) {
  return ".TH \"" + name + "\" 1 \"\" \"ergon " ERGON_VERSION "\" \"Ergon manual\"\n.SH NAME\n" +
         roff(name) + " \\- " + roff(summary) + "\n";
}

std::string flags(const std::vector<FlagGroup>& groups, const Command* command = nullptr) {
  std::string out;
  for (const auto& group : groups) {
    out += ".SS \"" + roff(group.title) + "\"\n";
    for (const Flag* flag : group.flags) {
      out += ".TP\n";
      if (flag->letter != 0) out += "\\fB\\-" + std::string(1, flag->letter) + "\\fR, ";
      out += "\\fB\\-\\-" + roff(flag->name) + "\\fR";
      if (flag->kind != Kind::kSwitch) out += " \\fI" + roff(flag->value) + "\\fR";
      out += "\n" + roff(flag->help + flag_remarks(*flag, command)) + "\n";
    }
  }
  return out;
}

constexpr std::string_view kExitStatus =
    ".SH \"EXIT STATUS\"\n"
    ".TP\n0\ndone\n.TP\n1\nthe answer is \"no\"\n.TP\n2\nusage\n.TP\n3\nbad input\n.TP\n4\ndevice "
    "or permission\n"
    ".TP\n5\ninfeasible; the error names the nearest feasible bound\n.TP\n70\na bug in ergon, or "
    "out of memory\n";

}  // namespace

std::string man_page(const Command& command) {
  std::string out = header("ergon-" + command.name, command.summary);
  out += ".SH SYNOPSIS\n.B " + roff(usage_line(command)) + "\n";
  if (!command.description.empty()) out += ".SH DESCRIPTION\n" + roff(command.description) + "\n";
  if (!command.operands.empty()) out += ".SH ARGUMENTS\n";
  for (const Operand& operand : command.operands) {
    std::string help = operand.help;
    for (std::size_t i = 0; i < operand.choices.size(); ++i)
      help += (i == 0 ? ": " : ", ") + operand.choices[i];
    out += ".TP\n.I " + roff(operand.name) + "\n" + roff(help) + "\n";
  }
  out += ".SH OPTIONS\n" + flags(flag_groups(command, true), &command);
  if (!command.artefact.empty())
    out += ".PP\nThe file of \\fB\\-o\\fR is " + roff(command.artefact) + ".\n";
  out += ".SH EXAMPLES\n";
  for (const Example& example : command.examples) {
    out += ".TP\n.B " + roff(example.line) + "\n" + roff(example.what) + "\n";
  }
  if (command.exit_status.empty()) {
    out += kExitStatus;
  } else {
    out += ".SH \"EXIT STATUS\"\n" + roff(command.exit_status) + "\n";
  }
  out += ".SH \"SEE ALSO\"\n.BR ergon (1)\n";
  return out;
}

std::string man_page() {
  std::string out = header("ergon", "time and energy of GPU workloads: critical path, clock plans");
  out += ".SH SYNOPSIS\n.B " + roff(general_usage()) + "\n.SH COMMANDS\n";
  for (const auto& group : command_groups()) {
    std::string lines;
    for (const Command* command : commands()) {
      if (command->group != group) continue;
      lines += ".TP\n.BR ergon\\-" + roff(command->name) + " (1)\n" + roff(command->summary) + "\n";
    }
    if (!lines.empty()) out += ".SS " + std::string(group) + "\n" + lines;
  }
  out += ".SH OPTIONS\n" + flags({{"Global flags", offered_global_flags()}});
  out += ".PP\nValues carry units (3%, 12ms, 1410MHz, 200MB); a bare number is an error.\n";
  out += kExitStatus;
  out +=
      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nnot empty: no colour\n"
      ".TP\n.B CLICOLOR_FORCE, FORCE_COLOR\nnot empty: colour also where stdout is no terminal\n"
      ".TP\n.B COLUMNS\nwidth of tables\n";
  return out;
}

}  // namespace ergon::cli
