// The one clock of this module.
#pragma once
#include <ctime>

#include "ergon/base.hpp"

namespace ergon::run {

/// CLOCK_MONOTONIC, as the GPU readings and the regions have it.
inline Nanos monotonic_clock() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace ergon::run
