// The GPUs that NVML knows.
#pragma once
#include <string>
#include <vector>

#include "ergon/gpu/machine.hpp"

namespace ergon::gpu::nvml {

/// Every GPU, then every MIG instance, of the first of `names` that opens; `speed` of each GPU
/// (any figure that grows with it) beside. Errors as open_machine().
struct Found {
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::vector<double> speed;
  std::vector<std::string> notes;
  std::vector<Error> lost;  ///< GPUs that are listed and do not open
};
Result<Found> find_gpus(const std::vector<std::string>& names, const Options& options);

}  // namespace ergon::gpu::nvml
