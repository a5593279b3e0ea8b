// What Linux tells about processes: whether one lives, which ancestors carry a variable, which
// start of the machine this is.
#pragma once

#include <cstdint>
#include <string>

namespace ergon::sim {

struct ProcessStat {
  bool alive = false;  ///< exists and is no zombie
  std::int32_t parent = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot
};

[[nodiscard]] ProcessStat process_stat(std::int32_t pid);
/// The value of a variable in the environment that a process was started with; empty when absent or
/// unreadable.
[[nodiscard]] std::string initial_environment(std::int32_t pid, const std::string& name);
/// The farthest ancestor of this process that was started, without a gap, with `name` = `value`;
/// this process if none.
[[nodiscard]] std::int32_t root_of_tree(const std::string& name, const std::string& value);
/// Changes with every boot of the machine.
[[nodiscard]] std::string boot_id();
/// CLOCK_MONOTONIC, CLOCK_REALTIME in nanoseconds.
[[nodiscard]] std::int64_t monotonic_ns();
[[nodiscard]] std::int64_t realtime_ns();
/// The program's name of a process, as the kernel keeps it.
[[nodiscard]] std::string process_name(std::int32_t pid);

}  // namespace ergon::sim
