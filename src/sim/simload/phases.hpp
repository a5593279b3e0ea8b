// Reads a phases file: {"repeat": 1, "phases": [{"name", "duration_s", "compute", "memory",
// "power_w"}]}.
#pragma once

#include <string>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/sim/board.hpp"

namespace ergon::sim {

struct Workload {
  std::uint32_t repeat = 1;
  std::vector<std::string> names;
  std::vector<Phase> phases;
};

/// `name` stands in messages. Errors: kMalformedInput, which say which phase and which key.
[[nodiscard]] Result<Workload> parse_workload(const std::string& text, const std::string& name);
/// Errors: kIo too.
[[nodiscard]] Result<Workload> read_workload(const std::string& path);

}  // namespace ergon::sim
