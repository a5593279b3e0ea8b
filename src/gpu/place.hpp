// Facts about the place, for error messages.
#pragma once
#include <filesystem>
#include <string>

#include "ergon/gpu/machine.hpp"

namespace ergon::gpu {

/// A whole small file without its last newline; empty where it cannot be read.
std::string slurp(const std::filesystem::path& path);
/// Why there is no GPU in such a place, and what to do; `why` is what a library said.
Error no_gpu(const Place& place, const std::string& why);

}  // namespace ergon::gpu
