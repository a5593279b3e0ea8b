// Processes by pid and start time.
#include "ergon/gpu/process.hpp"

#include <charconv>
#include <sstream>

#include "place.hpp"

namespace ergon::gpu {

std::uint64_t start_ticks(std::int64_t pid) {
  if (pid <= 0) return 0;
  const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  // The second field is the name in brackets, which may hold anything.
  const auto close = stat.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream fields(stat.substr(close + 1));
  std::string field;
  std::string state;
  fields >> state;
  if (state == "Z" || state == "X") return 0;
  for (int number = 4; number <= 22; ++number) fields >> field;
  std::uint64_t ticks = 0;
  std::from_chars(field.data(), field.data() + field.size(), ticks);
  return ticks;
}

bool is_alive(std::int64_t pid, std::uint64_t ticks) {
  const std::uint64_t found = start_ticks(pid);
  return found != 0 && found == ticks;
}

bool is_stopped(std::int64_t pid) {
  const std::string stat = slurp("/proc/" + std::to_string(pid) + "/stat");
  const auto close = stat.rfind(')');
  return close != std::string::npos && stat.substr(close + 1).starts_with(" T");
}

std::string boot_id() { return slurp("/proc/sys/kernel/random/boot_id"); }

}  // namespace ergon::gpu
