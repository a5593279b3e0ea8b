// Completion scripts for bash, zsh and fish.
#include <algorithm>

#include "help.hpp"

namespace ergon::cli {
namespace {

std::vector<const Flag*> all_flags(const Command& command) {
  std::vector<const Flag*> flags;
  for (const auto& group : flag_groups(command, true))
    flags.insert(flags.end(), group.flags.begin(), group.flags.end());
  return flags;
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

bool has_choices(const Flag& flag) {
  return flag.kind == Kind::kChoice || flag.kind == Kind::kChoiceOrInteger;
}

// The patterns of a shell's case: "-f|--format".
std::string case_pattern(const Flag& flag) {
  return (flag.letter == 0 ? std::string() : std::string("-") + flag.letter + "|") + "--" +
         flag.name;
}

// What the operand is completed with; "ergon man" takes commands.
std::vector<std::string> words_of(const Command& command, const Operand& operand) {
  std::vector<std::string> words = operand.choices;
  words.insert(words.end(), operand.suggestions.begin(), operand.suggestions.end());
  if (command.name == "man") {
    for (const Command* other : commands()) words.push_back(other->name);
  }
  return words;
}

std::vector<std::string> operand_choices(const Command& command) {
  std::vector<std::string> words;
  for (const Operand& operand : command.operands) {
    const auto more = words_of(command, operand);
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

std::vector<std::string> value_words(const Flag& flag) {
  return has_choices(flag) ? flag.choices : flag.suggestions;
}

bool takes_paths(const Command& command) {
  return std::ranges::any_of(command.operands, [](const Operand& operand) { return operand.path; });
}

// Single-quoted for a shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string bash_completion() {
  std::vector<std::string> names;
  for (const Command* command : commands()) names.push_back(command->name);
  std::string out =
      "# bash completion of ergon " ERGON_VERSION
      "\n"
      "_ergon() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    case ${COMP_WORDS[i]} in\n      " +
      join(names, "|") +
      ") command=${COMP_WORDS[i]}; break ;;\n"
      "    esac\n"
      "  done\n"
      "  local flags='--help --version' choices='' files=''\n"
      "  case $command in\n"
      "    '') choices='" +
      join(names, " ") + "' ;;\n";
  for (const Command* command : commands()) {
    std::vector<std::string> flags = {"--help"};
    std::string values;
    for (const Flag* flag : all_flags(*command)) {
      flags.push_back("--" + flag->name);
      if (flag->kind == Kind::kSwitch) continue;
      values += "        " + case_pattern(*flag) + ") ";
      if (!value_words(*flag).empty()) {
        values += "COMPREPLY=($(compgen -W " + quoted(join(value_words(*flag), " ")) +
                  " -- \"$word\")); return ;;\n";
      } else if (flag->kind == Kind::kPath) {
        values += "COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
      } else if (flag->kind == Kind::kExport) {
        values += "COMPREPLY=($(compgen -W " + quoted(join(flag->choices, ": ") + ":") +
                  " -- \"$word\")); return ;;\n";
      } else {
        values += "return ;;\n";
      }
    }
    out += "    " + command->name + ")\n      flags=" + quoted(join(flags, " ")) + "\n";
    const auto choices = operand_choices(*command);
    if (!choices.empty()) out += "      choices=" + quoted(join(choices, " ")) + "\n";
    if (takes_paths(*command)) out += "      files=yes\n";
    out += "      case $before in\n" + values + "      esac ;;\n";
  }
  out +=
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
      "    [[ $files ]] && COMPREPLY+=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _ergon ergon\n";
  return out;
}

std::string zsh_completion() {
  // In an _arguments specification, brackets and colons of the text are escaped.
  const auto plain = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  };
  const auto action = [&plain](const Flag& flag) -> std::string {
    if (flag.kind == Kind::kSwitch) return "";
    std::string text = ":" + plain(flag.value) + ":";
    if (!value_words(flag).empty()) return text + "(" + join(value_words(flag), " ") + ")";
    if (flag.kind == Kind::kPath) return text + "_files";
    return text + " ";
  };
  std::string out = "#compdef ergon\n# zsh completion of ergon " ERGON_VERSION
                    "\n"
                    "_ergon() {\n"
                    "  local context state line\n"
                    "  typeset -A opt_args\n"
                    "  _arguments -C '(- *)--version[the version]' '1:command:->command' "
                    "'*::argument:->argument'\n"
                    "  case $state in\n"
                    "    command)\n"
                    "      local -a commands=(\n";
  for (const Command* command : commands()) {
    out += "        " + quoted(command->name + ":" + plain(command->summary)) + "\n";
  }
  out += "      )\n      _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const Command* command : commands()) {
    out += "        " + command->name +
           ")\n          _arguments \\\n            '(-)'{-h,--help}'[help]' \\\n";
    for (const Flag* flag : all_flags(*command)) {
      const std::string repeat = flag->repeatable ? "\\*" : "";
      const std::string rest = quoted("[" + plain(flag->help) + "]" + action(*flag));
      if (flag->letter == 0) {
        out.append("            ")
            .append(repeat)
            .append("--")
            .append(flag->name)
            .append(rest)
            .append(" \\\n");
      } else {
        out.append("            ").append(repeat).append("{-").append(1, flag->letter);
        out.append(",--").append(flag->name).append("}").append(rest).append(" \\\n");
      }
    }
    for (std::size_t i = 0; i < command->operands.size(); ++i) {
      const auto words = words_of(*command, command->operands[i]);
      if (!words.empty())
        out += "            " +
               quoted(std::to_string(i + 1) + ":argument:(" + join(words, " ") + ")") + " \\\n";
    }
    out +=
        takes_paths(*command) ? "            '*:file:_files' ;;\n" : "            && return ;;\n";
  }
  out += "      esac ;;\n  esac\n}\n_ergon \"$@\"\n";
  return out;
}

std::string fish_completion() {
  std::string out = "# fish completion of ergon " ERGON_VERSION "\ncomplete -c ergon -f\n";
  for (const Command* command : commands()) {
    out += "complete -c ergon -n __fish_use_subcommand -a " + command->name + " -d " +
           quoted(command->summary) + "\n";
  }
  for (const Command* command : commands()) {
    const std::string when =
        "complete -c ergon -n '__fish_seen_subcommand_from " + command->name + "'";
    if (takes_paths(*command)) out += when + " -F\n";
    const auto choices = operand_choices(*command);
    if (!choices.empty()) out += when + " -a " + quoted(join(choices, " ")) + "\n";
    for (const Flag* flag : all_flags(*command)) {
      out += when + (flag->letter == 0 ? std::string() : std::string(" -s ") + flag->letter) +
             " -l " + flag->name;
      if (!value_words(*flag).empty()) {
        out += " -x -a " + quoted(join(value_words(*flag), " "));
      } else if (flag->kind == Kind::kPath) {
        out += " -r -F";
      } else if (flag->kind != Kind::kSwitch) {
        out += " -x";
      }
      out += " -d " + quoted(flag->help) + "\n";
    }
  }
  return out;
}

}  // namespace ergon::cli
