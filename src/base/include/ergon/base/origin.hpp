// How a number is known, and an estimate with its interval.
#pragma once
#include <optional>
#include <string>

namespace ergon {

enum class Origin { kMeasured, kFitted, kPublished, kModelled, kSimulated, kAssumed, kMixed };
/// "measured", "fitted", ... as in every file and answer.
const char* to_string(Origin origin);
/// nullopt for a word that names no origin.
std::optional<Origin> origin_from(const std::string& word);

/// A figure in SI units with its 95 % interval (low <= value <= high).
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  Origin origin = Origin::kAssumed;
};

}  // namespace ergon
