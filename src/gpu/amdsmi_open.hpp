// The GPUs that AMD SMI knows.
#pragma once
#include "nvml_open.hpp"

namespace ergon::gpu::amdsmi {

using nvml::Found;
/// Every GPU of the first of `names` that opens. Errors as open_machine().
Result<Found> find_gpus(const std::vector<std::string>& names, const Options& options);

}  // namespace ergon::gpu::amdsmi
