// The process around the command line: streams, terminal, environment.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "ergon/cli.hpp"

namespace ergon::cli {
namespace {

Written write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return errno == EPIPE ? Written::kReaderGone : Written::kFailed;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return Written::kDone;
}

std::string environment(const char* name) {
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read before any thread starts
  return value == nullptr ? std::string() : std::string(value);
}

bool wants_color(bool is_terminal) {
  if (!environment("NO_COLOR").empty()) return false;
  const auto forced = environment("CLICOLOR_FORCE");
  if ((!forced.empty() && forced != "0") || !environment("FORCE_COLOR").empty()) return true;
  return is_terminal && environment("TERM") != "dumb" && !environment("TERM").empty();
}

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos ||
           value.find("UTF8") != std::string::npos || value.find("utf-8") != std::string::npos;
  }
  return false;
}

int terminal_width(bool is_terminal) {
  const auto columns = environment("COLUMNS");
  if (!columns.empty()) {
    const int width =
        std::atoi(columns.c_str());  // NOLINT(cert-err34-c): a bad value gives 0, which is ignored
    if (width > 0) return width < 40 ? 40 : width;
  }
  if (!is_terminal) return 0;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 80;
}

// $XDG_STATE_HOME/ergon as the XDG base directory specification has it, else what the user can
// write.
std::string state_folder() {
  if (const auto state = environment("XDG_STATE_HOME"); state.starts_with('/'))
    return state + "/ergon";
  if (const auto home = environment("HOME"); home.starts_with('/'))
    return home + "/.local/state/ergon";
  const std::string user = std::to_string(::getuid());
  const std::string session = "/run/user/" + user;
  return ::access(session.c_str(), W_OK) == 0 ? session + "/ergon" : "/tmp/ergon-" + user;
}

std::string program_folder() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::string() : program.parent_path().string();
}

}  // namespace

Surroundings process_surroundings() {
  Surroundings surroundings;
  surroundings.out = [](std::string_view text) { return write_all(STDOUT_FILENO, text); };
  surroundings.err = [](std::string_view text) { return write_all(STDERR_FILENO, text); };
  surroundings.out_is_terminal = ::isatty(STDOUT_FILENO) != 0;
  surroundings.err_is_terminal = ::isatty(STDERR_FILENO) != 0;
  surroundings.color_out = wants_color(surroundings.out_is_terminal);
  surroundings.color_err = wants_color(surroundings.err_is_terminal);
  surroundings.unicode = locale_is_utf8();
  surroundings.width = terminal_width(surroundings.out_is_terminal);
  surroundings.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): as above
    if (value == nullptr) return std::nullopt;
    return value;
  };
  surroundings.environment = [] {
    std::vector<std::string> all;
    for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable)
      all.emplace_back(*variable);
    return all;
  };
  surroundings.set_variable = [](const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  };
  surroundings.program_folder = program_folder();
  surroundings.state_folder = state_folder();
  surroundings.self = {"/proc/self/exe"};
  return surroundings;
}

}  // namespace ergon::cli
