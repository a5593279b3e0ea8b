// price(): seconds and joules of Work on a Device at a Clock, without any observation.
#pragma once
#include <array>
#include <optional>

#include "ergon/base.hpp"
#include "ergon/model/device.hpp"
#include "ergon/model/work.hpp"

namespace ergon::model {

/// Seconds and joules of a piece of work at one clock, by component; the components' values sum to
/// energy_j.value.
struct Price {
  Estimate time_s;
  Estimate energy_j;
  Estimate power_w;
  Estimate constant_j;                       ///< idle power over the time
  Estimate clock_j;                          ///< power of a clocked, active chip over the time
  std::array<Estimate, kUnits> unit_j = {};  ///< 0 where the Work has none
  std::array<Estimate, kLevels> level_j = {};
  Hertz achieved_clock;       ///< below the asked one when the power limit held it back
  bool power_capped = false;  ///< the power limit, not the clock, set the speed
  bool below_break = false;   ///< under the device's regime break: extrapolated, worse than 1/f
};

struct PriceOptions {
  std::optional<Watts> power_limit = std::nullopt;  ///< unset: the device's default
};

/// Roofline time (units and L1 follow the SM clock, L2 in part, HBM only below the memory knee) and
/// P = min(limit, idle + active V^2 f + sum e V^2 rate) (Antepara et al., SC'25, Eq. 1 and 3, with
/// voltage scaling added). Where the limit binds the achieved clock drops until it holds, and the
/// time grows. Intervals: see docs/explain/work_and_price.md. kInvalidArgument for a clock outside
/// the device's range or negative Work; kUnsupported, naming it, for a unit or level without peak
/// or coefficient.
Result<Price> price(const Work& work, const Device& device, const Clock& clock,
                    const PriceOptions& options = {});

}  // namespace ergon::model
