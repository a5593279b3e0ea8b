// ergon completion: the completion script of a shell.
#include "context.hpp"
#include "help.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

Result<int> completion(Context& context) {
  const auto& shell = context.operands()[0];
  const auto text = shell == "bash"  ? bash_completion()
                    : shell == "zsh" ? zsh_completion()
                                     : fish_completion();
  Answer answer{.command = "completion", .headline = "completion script for " + shell};
  answer.data.set("shell", shell).set("text", text);
  ERGON_TRY_STATUS(context.emit_text(text, answer));
  return 0;
}

}  // namespace

const Command& completion_command() {
  static const Command command = {
      .name = "completion",
      .group = "Help",
      .summary = "the completion script of a shell",
      .description =
          "bash: source it from ~/.bashrc, or install it as bash-completion/completions/ergon. "
          "zsh: install "
          "it as _ergon in a folder of $fpath. fish: install it as fish/completions/ergon.fish.",
      .operands = {{.name = "SHELL", .help = "the shell", .choices = {"bash", "zsh", "fish"}}},
      .examples = {{"ergon completion bash", "for: source <(ergon completion bash)"},
                   {"ergon completion zsh -o _ergon", "a file for a folder of $fpath"},
                   {"ergon completion fish -o ergon.fish", "a file for fish/completions"}},
      .artefact = "the script",
      .run = completion,
  };
  return command;
}

}  // namespace ergon::cli
