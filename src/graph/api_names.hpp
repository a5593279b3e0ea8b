// What a runtime or driver call does to the host and to the GPU, by its name.
#pragma once
#include <cstdint>
#include <string_view>

namespace ergon::graph {

enum class ApiClass : std::uint8_t {
  kOther,
  kLaunch,       ///< launches one kernel
  kGraphLaunch,  ///< launches many operations
  kCopyAsync,
  kCopy,  ///< returns after the copy
  kMemsetAsync,
  kEventRecord,
  kStreamWait,  ///< makes a stream wait for an event
  kEventQuery,  ///< asks and returns: never waits
  kEventSync,
  kStreamSync,
  kDeviceSync,
  kFree,  ///< frees device memory: waits for the device
};

/// Knows cuda*, cu*, hip* names with their version and per-thread suffixes (_v2, _v7000, _ptsz,
/// _ptds, _spt).
ApiClass classify_api(std::string_view name);

/// Calls that can hold the host until the GPU has done something.
constexpr bool blocks_host(ApiClass c) {
  return c == ApiClass::kCopy || c == ApiClass::kEventSync || c == ApiClass::kStreamSync ||
         c == ApiClass::kDeviceSync || c == ApiClass::kFree;
}
constexpr bool launches(ApiClass c) {
  return c == ApiClass::kLaunch || c == ApiClass::kGraphLaunch || c == ApiClass::kCopyAsync ||
         c == ApiClass::kCopy || c == ApiClass::kMemsetAsync;
}

}  // namespace ergon::graph
