// A stored measurement that plays as GPUs.
#pragma once
#include "ergon/gpu/machine.hpp"

namespace ergon::gpu {

/// The GPUs of a canonical CSV (see docs/formats), playing from now on in their own time. kIo,
/// kMalformedInput (no time_s column, nothing but a header).
Result<Machine> open_recorded(const std::string& file, const Options& options);

}  // namespace ergon::gpu
