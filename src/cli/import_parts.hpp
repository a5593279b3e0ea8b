// What `import --sensor` adds to the answer.
#pragma once
#include "context.hpp"
#include "ergon/meter.hpp"

namespace ergon::cli {

/// Four significant digits and the unit: "12.35 s".
std::string figure_text(double value, const char* unit);

/// "12.35 s", "5.2 hours", "888.1 days".
std::string duration_text(double seconds);

/// Sensors of the log's GPUs, the energy the log holds by both estimators, and with --reference the
/// averaging window and the energy of each window beside the meter's.
Status add_sensors(Context& context, const meter::PowerLog& log, Answer& answer);

}  // namespace ergon::cli
