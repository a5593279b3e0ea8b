// Renewals of a column at their best known times: what both estimators stand on.
#pragma once
#include <vector>

#include "ergon/meter.hpp"

namespace ergon::meter {

/// A renewal with the time at which the sensor most likely published it.
struct Renewal {
  double at_ns = 0;     ///< from the first read of the series
  double doubt_ns = 0;  ///< half-width: it was published within at +/- doubt
  double value = 0;
};

/// Places each refresh on the local regular grid of its neighbours, never outside of the two reads
/// that bracket it. `origin_ns` is subtracted from all times; `period_ns` 0: unknown.
std::vector<Renewal> place(const std::vector<Refresh>& refreshes, double period_ns,
                           Nanos origin_ns);

/// Whether all readings are the same value over so long and so many that the sensor should have
/// moved: at least five over two seconds (whole watts: twenty over
/// five, as they hide small changes).
bool one_value(const std::vector<Nanos>& time_ns, const std::vector<double>& power);

}  // namespace ergon::meter
