// The policy file ergon.policy/1: which clock each pack runs at, what the plan claims, and where it
// comes from.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::policy {

struct Entry {
  std::string pack;
  std::string gpu;
  Hertz clock;
};

/// Where a pack begins, so that a running program can be followed.
struct Marker {
  std::string pack;
  std::string first_kernel;     ///< name of the pack's first kernel
  std::int64_t occurrence = 0;  ///< which launch of that name within the step on that GPU, from 0
  std::optional<std::string> annotation = std::nullopt;
};

struct Policy {
  std::string device;       ///< device file id
  double max_slowdown = 0;  ///< the bound that was asked for; NaN when a deadline was given
  Seconds deadline{};
  Seconds predicted_time{};
  Joules predicted_energy{};
  Joules default_energy{};
  Seconds default_time{};
  Origin origin = Origin::kModelled;
  bool repeats = false;  ///< the packs form one step that repeats
  Seconds switch_time{};
  Joules switch_energy{};
  Seconds min_run{};
  std::vector<Entry> packs;  ///< in the order of the pack file
  std::vector<Marker> markers;
  std::vector<std::string> inputs;  ///< "path digest" of what it was made from
};

/// kMalformedInput names the field, what was found and what was expected: missing fields (markers
/// and inputs may be absent), clocks that are no hertz, a pack listed twice, a marker of a pack
/// that is not listed. Fields of a newer writer are not read.
Result<Policy> read_policy(const std::string& json_text);
std::string write_policy(const Policy& policy);

/// The text of data/schemas/policy.schema.json (JSON Schema 2020-12).
std::string_view policy_schema();

}  // namespace ergon::policy
