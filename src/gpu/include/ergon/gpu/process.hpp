// Whether a process that wrote its name down still lives.
#pragma once
#include <cstdint>
#include <string>

namespace ergon::gpu {

/// Start of a process in clock ticks since the boot (field 22 of /proc/PID/stat); 0: no such
/// process, or it is a zombie.
std::uint64_t start_ticks(std::int64_t pid);
/// Whether that very process, not a later one with its pid, lives.
bool is_alive(std::int64_t pid, std::uint64_t ticks);
/// Whether it stands still because of SIGSTOP or its like.
bool is_stopped(std::int64_t pid);
/// Changes with every start of the machine.
std::string boot_id();

}  // namespace ergon::gpu
