#include "ergon/sim/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>

namespace ergon::sim {
namespace {

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

// Called for every look at a machine with work on it, hence without streams and allocation.
ProcessStat process_stat(std::int32_t pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char buffer[1024];
  const ssize_t bytes = read(fd, buffer, sizeof buffer);
  close(fd);
  if (bytes <= 0) return {};
  std::string_view text(buffer, static_cast<std::size_t>(bytes));
  const std::size_t name_end = text.rfind(')');  // the name may hold blanks and parentheses
  if (name_end == std::string_view::npos || text.size() < name_end + 3) return {};
  text.remove_prefix(name_end + 2);
  ProcessStat stat;
  const char state = text.front();
  for (int field = 3; field <= 22 && !text.empty(); ++field) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    if (field == 4) std::from_chars(word.data(), word.data() + word.size(), stat.parent);
    if (field == 22) std::from_chars(word.data(), word.data() + word.size(), stat.start);
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  stat.alive = stat.start != 0 && state != 'Z' && state != 'X';
  return stat;
}

std::string initial_environment(std::int32_t pid, const std::string& name) {
  const std::string text = read_all("/proc/" + std::to_string(pid) + "/environ");
  const std::string prefix = name + "=";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    const std::string entry = text.substr(at, end == std::string::npos ? end : end - at);
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return {};
}

std::int32_t root_of_tree(const std::string& name, const std::string& value) {
  std::int32_t root = getpid();
  for (std::int32_t pid = process_stat(root).parent; pid > 1; pid = process_stat(pid).parent) {
    if (initial_environment(pid, name) != value) break;
    root = pid;
  }
  return root;
}

std::string boot_id() {
  std::string text = read_all("/proc/sys/kernel/random/boot_id");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string process_name(std::int32_t pid) {
  std::string text = read_all("/proc/" + std::to_string(pid) + "/comm");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
std::int64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }

}  // namespace ergon::sim
