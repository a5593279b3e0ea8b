// The power inside of many short windows, from the share of each counter tick that they fill.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "ergon/meter.hpp"

namespace ergon::run {

struct ShareFit {
  std::optional<Estimate> energy_j;  ///< of all windows together
  std::string why;                   ///< why there is none, to follow "..., and "
};
/// Between two ticks the counter grows by P_in * f + P_out * (1 - f) times the time between them,
/// where f is the share inside of the windows. With enough ticks of different f a straight line
/// gives P_in; with the same f everywhere (25 ms of every 100 ms, in step with the sensor) nothing
/// does. The interval holds the scatter of the fit and the attenuation by inexact tick times; it
/// assumes that the power inside does not depend on f.
ShareFit fit_shares(const meter::Series& series, const meter::SensorModel& sensor,
                    meter::Window run, std::span<const meter::Window> windows);

}  // namespace ergon::run
