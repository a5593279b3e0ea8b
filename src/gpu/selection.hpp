// What a selection means on a machine.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "ergon/gpu/machine.hpp"

namespace ergon::gpu {

/// Positions of the GPUs that one entry of a selection names: an index, a PCI address, a UUID or
/// its beginning.
std::vector<int> matches(std::string_view item, std::span<const Identity> gpus);

}  // namespace ergon::gpu
