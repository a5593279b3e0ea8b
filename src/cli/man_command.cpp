// ergon man: the manual pages, in roff; with -f md the reference page.
#include "context.hpp"
#include "help.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

Result<int> man(Context& context) {
  const Command* command = nullptr;
  if (!context.operands().empty()) {
    command = find_command(context.operands()[0]);
    if (command == nullptr) {
      return fail(Errc::kNotFound, "there is no command '" + context.operands()[0] + "'",
                  "'ergon' alone lists the commands");
    }
  }
  if (context.text("format") == "md") {
    const auto text = command == nullptr ? reference_page() : reference_section(*command);
    ERGON_TRY_STATUS(context.emit_raw(text));
    return 0;
  }
  const auto text = command == nullptr ? man_page() : man_page(*command);
  Answer answer{
      .command = "man",
      .headline = "manual page of ergon" + (command ? " " + command->name : std::string())};
  answer.data.set("command", command ? Value(command->name) : Value()).set("text", text);
  ERGON_TRY_STATUS(context.emit_text(text, answer));
  return 0;
}

}  // namespace

const Command& man_command() {
  static const Command command = {
      .name = "man",
      .group = "Help",
      .summary = "the manual pages in roff, or as Markdown",
      .operands = {{.name = "COMMAND",
                    .help = "a command; without it, the page of ergon itself",
                    .required = false}},
      .examples = {{"ergon man plan -o ergon-plan.1", "read it with: man ./ergon-plan.1"},
                   {"ergon man", "the page of ergon itself"},
                   {"ergon man -f md", "the whole reference as Markdown"}},
      .artefact = "the page",
      .run = man,
  };
  return command;
}

}  // namespace ergon::cli
