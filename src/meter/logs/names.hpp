// What a column of a log is, by its name.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/cells.hpp"

namespace ergon::meter::logs {

/// The meaning of a column.
struct Field {
  enum class Role { kValue, kTime, kDate, kDayTime, kGpu, kIgnored };
  Role role = Role::kValue;
  /// Canonical name ("power_w") where `fixed`, else a stem that gets its unit appended.
  std::string name;
  bool fixed = false;
  bool text = false;         ///< words even where they look like numbers (driver_version)
  std::optional<Unit> unit;  ///< from the header, or what such a column has without one
  bool unit_stated = false;  ///< the header itself says the unit
  int rank = 0;              ///< of several columns for one canonical name the highest takes it
  std::string fallback;      ///< the name of the others
  /// A bare number is something else ("sclk clock level: 1"): not this column's.
  bool needs_unit = false;
  int lane = -1;  ///< number of the GPU in the column's own name ("gpu1_power")
};

/// Lower case, every run of other characters than letters and digits one underscore.
std::string key_of(std::string_view text);
/// By the header text of a column: unit in [], (), after a slash, or as the name's last part.
Field field_of(std::string_view header);
/// Whether the name says something this importer knows (not merely a stem).
bool known_name(std::string_view header);
/// A final name: stem and unit suffix, unless it ends with it already.
std::string with_suffix(const std::string& stem, std::string_view suffix);

/// A column of ours with its usual unit, or another one that its source gives it in.
Field canonical_field(std::string column, std::optional<Unit> unit = std::nullopt);

/// The canonical columns in their order, after time and GPU.
const std::vector<std::string>& canonical_order();

/// Units for the columns of `nvidia-smi dmon` and DCGM without any.
std::optional<Unit> default_unit(const std::string& canonical);

}  // namespace ergon::meter::logs
