// Compares the files of -o and --export with one another and with what the command reads.
#include "outputs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

namespace ergon::cli {
namespace {

struct Output {
  std::string path;
  std::string flag;  // as it was given
};

std::vector<Output> outputs_of(const Context& context, const Command& command) {
  std::vector<Output> outputs;
  if (!command.artefact.empty() && context.output())
    outputs.push_back({*context.output(), "-o " + *context.output()});
  for (const auto& format : find_flag(command, "export")->choices) {
    for (const auto& path : context.export_paths(format))
      outputs.push_back({path, "--export " + format + ":" + path});
  }
  return outputs;
}

// Every word that may name a file: one that names none is the same as no output.
std::vector<std::string> inputs_of(const Context& context, const Command& command) {
  std::vector<std::string> inputs;
  if (!command.operands.empty() && command.operands.back().path) inputs = context.operands();
  for (const Flag& flag : command.flags) {
    if (flag.kind != Kind::kPath && flag.kind != Kind::kText) continue;
    for (auto& text : context.texts(flag.name)) inputs.push_back(std::move(text));
  }
  constexpr std::string_view kRecorded = "recorded:";
  if (command.uses_gpu) {
    if (const auto gpu = context.text("gpu"); gpu && gpu->starts_with(kRecorded))
      inputs.push_back(gpu->substr(kRecorded.size()));
  }
  if (!context.program().empty()) inputs.push_back(context.program().front());
  return inputs;
}

// Only plain files can be written over.
std::optional<struct stat> plain_file(const std::string& path, int standard_stream) {
  struct stat info{};
  const int status = path == "-" ? ::fstat(standard_stream, &info) : ::stat(path.c_str(), &info);
  if (status != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return info;
}

bool same(const std::optional<struct stat>& a, const std::optional<struct stat>& b) {
  return a && b && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// Also of files that are yet to be written.
bool same_place(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a == "-" || b == "-") return false;
  if (same(plain_file(a, -1), plain_file(b, -1))) return true;
  const auto place = [](const std::string& path) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(path, error);
    return std::filesystem::weakly_canonical(absolute, error);  // empty where it cannot be said
  };
  const auto left = place(a);
  return !left.empty() && left == place(b);
}

}  // namespace

Status check_outputs(const Context& context, const Command& command) {
  const auto outputs = outputs_of(context, command);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const std::string& path = outputs[i].path;
      if (!same_place(outputs[j].path, path)) continue;
      return fail(Errc::kInvalidArgument,
                  "two outputs go to " + (path == "-" ? std::string("stdout") : "'" + path + "'"),
                  "give each of -o and --export a file of its own");
    }
  }
  if (outputs.empty()) return {};
  for (const auto& input : inputs_of(context, command)) {
    const auto read = plain_file(input, STDIN_FILENO);
    if (!read) continue;
    for (const auto& output : outputs) {
      if (output.path == "-" || !same(read, plain_file(output.path, -1))) continue;
      return fail(Errc::kInvalidArgument,
                  "'" + output.flag + "' would overwrite the input '" + input + "'",
                  "give each of -o and --export a file of its own");
    }
  }
  return {};
}

}  // namespace ergon::cli
