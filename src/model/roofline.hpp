// Roofline time of Work with the clock in it.
#pragma once
#include "ergon/model/device.hpp"
#include "ergon/model/work.hpp"

namespace ergon::model {

/// Seconds by what sets them. `value` lets parts overlap as their 3-norm; `low` is the largest part
/// at its best rate (perfect overlap), `high` the sum of all parts at their worst (no overlap).
/// Nothing known: all 0.
struct Roofline {
  double value = 0;
  double low = 0;
  double high = 0;
  double core = 0;    ///< parts that follow the SM clock
  double memory = 0;  ///< parts that wait for memory
  double link = 0;    ///< parts no clock of the GPU changes
};
/// Units or levels without a known peak are left out.
Roofline roofline(const Work& work, const Device& device, double f, double memory_scale);

}  // namespace ergon::model
