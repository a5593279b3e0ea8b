// From words to typed values, by the flag table; says what was meant where a word is wrong.
#include "parser.hpp"

#include <algorithm>

namespace ergon::cli {
namespace {

tl::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(Errc::kInvalidArgument, std::move(message), std::move(hint));
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

std::string help_hint(const Command* command) {
  return command == nullptr ? "'ergon' alone lists the commands"
                            : "see 'ergon " + command->name + " -h'";
}

class Parser {
 public:
  explicit Parser(std::span<const std::string> words) : words_(words) {}

  Result<Arguments> run(const Command* command) {
    args_.command = command;
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        ERGON_TRY_STATUS(rest());
        break;
      }
      if (word.starts_with("--")) {
        ERGON_TRY_STATUS(long_flag(word));
      } else if (word.size() > 1 && word.front() == '-') {
        ERGON_TRY_STATUS(short_flags(word));
      } else {
        ERGON_TRY_STATUS(operand(word));
      }
      if (args_.request != Request::kRun) return args_;
    }
    if (args_.command == nullptr) {
      if (!args_.given.empty()) return usage("no command was given", help_hint(nullptr));
      args_.request = Request::kCommandList;
      return args_;
    }
    ERGON_TRY_STATUS(finish());
    return std::move(args_);
  }

 private:
  const Flag* flag_of(std::string_view name) const {
    if (args_.command != nullptr) return find_flag(*args_.command, name);
    for (const Flag& flag : global_flags()) {
      if (flag.name == name) return &flag;
    }
    return nullptr;
  }
  const Flag* flag_of(char letter) const {
    if (args_.command != nullptr) return find_flag(*args_.command, letter);
    for (const Flag& flag : global_flags()) {
      if (flag.letter == letter) return &flag;
    }
    return nullptr;
  }

  // Everything after "--": the wrapped program, else plain operands.
  Status rest() {
    if (args_.command != nullptr && args_.command->wraps_program) {
      args_.program.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
      at_ = words_.size();
      return {};
    }
    while (at_ < words_.size()) {
      ERGON_TRY_STATUS(operand(words_[at_++]));
    }
    return {};
  }

  Status long_flag(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name =
        word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const bool has_value = equals != std::string::npos;
    if (!has_value && name == "help") return request(Request::kLongHelp);
    if (!has_value && name == "version") return request(Request::kVersion);
    const Flag* flag = flag_of(name);
    if (flag == nullptr) return unknown_flag("--" + name);
    if (flag->kind == Kind::kSwitch) {
      if (has_value) return usage("--" + name + " takes no value", help_hint(args_.command));
      return store(*flag, true);
    }
    if (has_value) return value(*flag, word.substr(equals + 1), "--" + name);
    return next_value(*flag, "--" + name);
  }

  Status short_flags(const std::string& word) {
    for (std::size_t i = 1; i < word.size(); ++i) {
      if (word[i] == 'h') return request(Request::kShortHelp);
      const Flag* flag = flag_of(word[i]);
      const std::string spelling = std::string("-") + word[i];
      if (flag == nullptr) return unknown_flag(i == 1 ? word : spelling);
      if (flag->kind == Kind::kSwitch) {
        ERGON_TRY_STATUS(store(*flag, true));
        continue;
      }
      if (i + 1 == word.size()) return next_value(*flag, spelling);
      const auto skip = word[i + 1] == '=' ? i + 2 : i + 1;
      return value(*flag, word.substr(skip), spelling);
    }
    return {};
  }

  Status next_value(const Flag& flag, const std::string& spelling) {
    // A known flag in the place of the value means that the value was forgotten.
    const bool forgotten =
        at_ == words_.size() ||
        (words_[at_].starts_with("--") && (words_[at_].size() == 2 || is_known(words_[at_])));
    if (forgotten) {
      std::string hint = flag.choices.empty() || flag.kind == Kind::kExport
                             ? "accepted: " + std::string(accepted_spellings(flag.kind))
                             : "accepted: " + join(flag.choices, ", ");
      return usage(spelling + " needs a value (" + flag.value + ")", std::move(hint));
    }
    return value(flag, words_[at_++], spelling);
  }

  bool is_known(const std::string& word) const {
    const auto equals = word.find('=');
    return flag_of(word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2)) !=
           nullptr;
  }

  Status value(const Flag& flag, std::string_view text, std::string_view spelling) {
    ERGON_TRY(FlagValue parsed, parse_value(flag, text, spelling));
    return store(flag, std::move(parsed));
  }

  Status store(const Flag& flag, FlagValue parsed) {
    auto& held = args_.values[flag.name];
    const bool first = args_.given.insert(flag.name).second;
    if (!first && !flag.repeatable && flag.kind != Kind::kSwitch) {
      return usage("--" + flag.name + " is given twice", "keep one of them");
    }
    if (flag.kind == Kind::kSwitch && !flag.repeatable) held.clear();
    held.push_back(std::move(parsed));
    return {};
  }

  Status operand(const std::string& word) {
    if (args_.command == nullptr) return command_name(word);
    const auto& operands = args_.command->operands;
    const std::size_t count = args_.operands.size();
    if (operands.empty() || (count >= operands.size() && !operands.back().many)) {
      return usage(
          "'" + word + "' is one argument too many for 'ergon " + args_.command->name + "'",
          help_hint(args_.command));
    }
    const Operand& which = operands[std::min(count, operands.size() - 1)];
    if (!which.choices.empty() && std::ranges::find(which.choices, word) == which.choices.end()) {
      const auto near = suggest(word, which.choices);
      return usage("'" + word + "' is no " + which.name + " of 'ergon " + args_.command->name + "'",
                   (near ? "did you mean '" + *near + "'? " : "") +
                       "accepted: " + join(which.choices, ", "));
    }
    args_.operands.push_back(word);
    return {};
  }

  Status command_name(const std::string& word) {
    if (word == "help") return help_word();
    args_.command = find_command(word);
    if (args_.command != nullptr) return {};
    std::vector<std::string> names;
    for (const Command* command : commands()) names.push_back(command->name);
    const auto near = suggest(word, names);
    return usage("there is no command '" + word + "'",
                 near ? "did you mean '" + *near + "'? " + help_hint(nullptr) : help_hint(nullptr));
  }

  // "ergon help [COMMAND]" is what people try first.
  Status help_word() {
    if (at_ == words_.size()) return request(Request::kCommandList);
    ERGON_TRY_STATUS(command_name(words_[at_++]));
    return request(Request::kLongHelp);
  }

  Status request(Request what) {
    args_.request = what;
    return {};
  }

  Status unknown_flag(const std::string& word) {
    std::vector<std::string> names = {"--help", "--version"};
    for (const Flag& flag : global_flags()) names.push_back("--" + flag.name);
    if (args_.command != nullptr) {
      for (const Flag& flag : args_.command->flags) names.push_back("--" + flag.name);
    }
    const auto near = suggest(word, names);
    const std::string where = args_.command == nullptr ? "ergon" : "ergon " + args_.command->name;
    return usage("'" + where + "' has no flag '" + word + "'",
                 near ? "did you mean '" + *near + "'? " + help_hint(args_.command)
                      : help_hint(args_.command));
  }

  Status finish() {
    const Command& command = *args_.command;
    std::size_t needed = 0;
    for (const Operand& operand : command.operands) needed += operand.required ? 1 : 0;
    if (args_.operands.size() < needed) {
      const Operand& missing = command.operands[args_.operands.size()];
      return usage("'ergon " + command.name + "' needs " + missing.name + ": " + missing.help,
                   command.examples.empty() ? help_hint(&command)
                                            : "for example: " + command.examples[0].line);
    }
    const bool instead = std::ranges::any_of(
        command.instead_of_program, [&](const auto& name) { return args_.given.contains(name); });
    if (instead && !args_.program.empty()) {
      return usage("a program after '--' excludes --" + join(command.instead_of_program, " and --"),
                   "keep one of them");
    }
    if (command.wraps_program && args_.program.empty() && !instead) {
      return usage("'ergon " + command.name + "' needs a program after '--'", help_hint(&command));
    }
    for (const Exclusive& exclusive : command.exclusive) {
      ERGON_TRY_STATUS(check(exclusive));
    }
    if (command.artefact.empty() && args_.given.contains("output")) {
      return usage("'ergon " + command.name + "' makes no file for -o",
                   "to write the answer: --export json:FILE, csv:FILE, md:FILE or html:FILE");
    }
    const bool own_gpu =
        std::ranges::find(command.flags, "gpu", &Flag::name) != command.flags.end();
    if (args_.given.contains("gpu") && !own_gpu && !command.uses_gpu) {
      return usage("'ergon " + command.name + "' uses no GPU: --gpu has no meaning here",
                   "leave --gpu out");
    }
    for (const auto& item : args_.values["export"]) {
      ERGON_TRY_STATUS(check(std::get<Export>(item)));
    }
    return defaults();
  }

  Status check(const Exclusive& exclusive) {
    std::vector<std::string> found;
    for (const auto& name : exclusive.flags) {
      if (args_.given.contains(name)) found.push_back("--" + name);
    }
    if (found.size() > 1)
      return usage(join(found, " and ") + " exclude each other", "keep one of them");
    bool enough = !exclusive.one_needed || !found.empty();
    std::vector<std::string> choices;
    choices.reserve(exclusive.flags.size() + exclusive.or_these.size());
    for (const auto& name : exclusive.flags) choices.push_back("--" + name);
    for (const auto& name : exclusive.or_these) {
      choices.push_back("--" + name);
      enough = enough || args_.given.contains(name);
    }
    if (enough) return {};
    for (auto& choice : choices) {
      const Flag* flag = find_flag(*args_.command, std::string_view(choice).substr(2));
      if (flag != nullptr && !flag->example.empty()) choice += " " + flag->example;
    }
    return usage("'ergon " + args_.command->name + "' needs one of " + join(choices, ", "),
                 help_hint(args_.command));
  }

  Status check(const Export& item) {
    std::vector<std::string> accepted = {"json", "csv", "md", "html", "openmetrics"};
    for (const auto& own : args_.command->exports) {
      if (std::ranges::find(accepted, own) == accepted.end()) accepted.push_back(own);
    }
    if (std::ranges::find(accepted, item.format) != accepted.end()) return {};
    return usage("'ergon " + args_.command->name + "' has no export to '" + item.format + "'",
                 "accepted: " + join(accepted, ", "));
  }

  Status defaults() {
    const auto fill = [this](std::span<const Flag> flags) -> Status {
      for (const Flag& flag : flags) {
        if (flag.default_text.empty() || args_.values.contains(flag.name)) continue;
        ERGON_TRY(FlagValue parsed, parse_value(flag, flag.default_text, "--" + flag.name));
        args_.values[flag.name].push_back(std::move(parsed));
      }
      return {};
    };
    ERGON_TRY_STATUS(fill(args_.command->flags));
    return fill(global_flags());
  }

  std::span<const std::string> words_;
  std::size_t at_ = 0;
  Arguments args_;
};

// Optimal string alignment distance: insert, delete, replace, or swap two neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

Result<Arguments> parse(std::span<const std::string> words) { return Parser(words).run(nullptr); }

Result<Arguments> parse_command(const Command& command, std::span<const std::string> words) {
  return Parser(words).run(&command);
}

Result<FlagValue> parse_value(const Flag& flag, std::string_view text, std::string_view spelling) {
  const auto named = [&](Error error) {
    error.message = std::string(spelling) + " '" + std::string(text) + "': " + error.message;
    return fail(std::move(error));
  };
  const auto wrap = [&](auto result) -> Result<FlagValue> {
    if (!result) return named(std::move(result).error());
    return FlagValue(*std::move(result));
  };
  const bool listed = std::ranges::find(flag.choices, text) != flag.choices.end();
  switch (flag.kind) {
    case Kind::kSwitch:
      return FlagValue(true);
    case Kind::kText:
    case Kind::kPath:
      if (text.empty())
        return usage(std::string(spelling) + " needs a value (" + flag.value + ")", "it is empty");
      return FlagValue(std::string(text));
    case Kind::kChoice: {
      if (listed) return FlagValue(std::string(text));
      const auto near = suggest(text, flag.choices);
      return usage(
          std::string(spelling) + " '" + std::string(text) + "': there is no such choice",
          (near ? "did you mean '" + *near + "'? " : "") + "accepted: " + join(flag.choices, ", "));
    }
    case Kind::kInteger:
    case Kind::kChoiceOrInteger: {
      if (listed) return FlagValue(std::string(text));
      auto number = parse_integer(text);
      if (!number && flag.kind == Kind::kChoiceOrInteger) {
        number.error().hint = "accepted: " + join(flag.choices, ", ") + ", or a whole number";
      }
      if (number && *number < flag.minimum) {
        return named({Errc::kInvalidArgument, "the number is below " + std::to_string(flag.minimum),
                      "raise it"});
      }
      return wrap(std::move(number));
    }
    case Kind::kTimeRange:
      return wrap(parse_time_range(text));
    case Kind::kExport:
      return wrap(parse_export(text));
    default:
      return wrap(parse_quantity(flag.kind, text));
  }
}

bool asks_for_json(std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const auto& word = words[i];
    const bool separate = (word == "-f" || word == "--format") && i + 1 < words.size();
    const std::string_view value = separate ? std::string_view(words[i + 1])
                                   : word.starts_with("--format=")
                                       ? std::string_view(word).substr(9)
                                   : word.starts_with("-f") ? std::string_view(word).substr(2)
                                                            : std::string_view{};
    if (value == "json" || value == "jsonl" || value == "=json" || value == "=jsonl") return true;
  }
  return false;
}

std::optional<std::string> suggest(std::string_view word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ') {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

}  // namespace ergon::cli
