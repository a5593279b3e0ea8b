// What a DVFS data set holds once it is read: one sample a row, whatever the file looked like.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::study {

using Maybe = std::optional<double>;  ///< missing is missing, never 0

/// What was asked of the GPU.
struct Setting {
  Maybe clock_hz = {};  ///< core clock, or its offset from a default that the data doesn't name
  Maybe memory_clock_hz = {};  ///< likewise
  Maybe power_limit_w = {};
  Maybe parameter =
      {};  ///< what is swept where the data has neither clocks nor limits: a batch size
  bool clock_is_offset = false;
  bool memory_is_offset = false;
  bool default_clocks = false;  ///< measured with the clocks left alone (a baseline file)
  friend bool operator==(const Setting&, const Setting&) = default;
};
/// Order of clock, memory clock, limit, parameter; missing comes first.
bool operator<(const Setting& a, const Setting& b);

/// One measurement.
struct Sample {
  std::string workload = {};
  std::string gpu = {};  ///< empty: the data doesn't say
  std::map<std::string, std::string> factors =
      {};  ///< network, batch, algorithm, ... as far as known
  Setting setting = {};
  Maybe achieved_hz = {};
  Maybe achieved_low_hz = {};
  Maybe achieved_high_hz = {};
  Maybe memory_hz = {};  ///< achieved
  Maybe memory_low_hz = {};
  Maybe memory_high_hz = {};
  Maybe time =
      {};  ///< in seconds, or in a unit that the data doesn't name (`Dataset::units_known`)
  Maybe power_w = {};
  Maybe energy = {};        ///< in joules where `time` is in seconds
  Maybe energy_error = {};  ///< half of the 95 % interval that the data gives, over the energy
  Maybe rate = {};          ///< work per time, in any unit
  Maybe check = {};         ///< rate per watt as the data states it, in any unit
  Maybe temperature_c = {};
  Maybe utilization = {};         ///< share, 0 to 1
  std::optional<bool> good = {};  ///< what the data itself says of this row
  std::string why_bad = {};       ///< and why
  bool baseline = false;          ///< the data calls it its baseline
  std::string run = {};           ///< repeat, as the data calls it
  std::string unit_of_work = {};  ///< "token": time and energy are those of one
  Maybe start_s = {};             ///< of the run, seconds since the epoch as far as the data says
  std::size_t file = 0;
  std::uint64_t line = 0;
  int gpus = 1;                   ///< that the energy is the sum of
  bool energy_unit_known = true;  ///< the data gives it
  bool units_known = true;        ///< false: time and energy are right up to a factor
  bool energy_derived = false;
  bool from_log = false;  ///< the busy part of a power log
  Maybe log_s = {};       ///< how long that log is
};

struct Finding {
  std::string kind = {};
  std::string subject = {};
  std::string evidence = {};
};

struct Note {
  std::string code = {};
  std::string message = {};
  std::uint64_t count = 1;
};

/// A published optimum without the measurements behind it.
struct Claim {
  std::string workload = {};
  std::string gpu = {};
  double clock_hz = 0;
  double top_clock_hz = 0;
  Maybe fastest_clock_hz = {};
  double energy_saved = 0;
  double slowdown = 0;
  std::size_t file = 0;
};

struct Dataset {
  std::vector<Sample> samples = {};
  std::vector<Claim> claims = {};
  std::vector<std::string> formats = {};  ///< of each source: "long table", "matrix", ...
  std::vector<Note> notes = {};           ///< what was assumed, and why
  std::vector<std::pair<std::string, std::uint64_t>> skipped = {};
  std::vector<Finding> findings = {};  ///< found while reading: unit slips, offsets
  bool simulated = false;              ///< some of it was measured on a simulated GPU
  std::string parameter_name = {};     ///< what Setting::parameter is
};

/// A file: its path (settings and names may stand in it) and its uncompressed bytes.
struct Source {
  std::string path = {};
  std::string text = {};
};

/// A column or a constant that takes a role, as `--map` names it.
struct MappedColumn {
  std::string column = {};  ///< header, or its number from 1; empty: `constant`
  std::string unit = {};
  std::string constant = {};
  Maybe offset_from = {};  ///< the column holds offsets from this, in its unit
};
/// docs/formats/study_map.md.
struct Mapping {
  std::map<std::string, MappedColumn> roles = {};  ///< "clock", "time", ... or a factor's name
  std::vector<std::string> header = {};            ///< for a table without one
  [[nodiscard]] bool empty() const { return roles.empty() && header.empty(); }
};
/// `clock=sm_mhz:MHz,time=t:ms,gpu="V100"`, or the JSON of a descriptor file.
Result<Mapping> parse_mapping(std::string_view text);

/// `column=value` or `column=~part`: rows that are kept.
struct Filter {
  std::string column = {};
  std::string value = {};
  bool part = false;
};
Result<Filter> parse_filter(std::string_view text);

/// Reads and joins files of any recognised kind; kinds are told by shape and column names.
/// kMalformedInput names the first file that cannot be used, why, and how to map it.
Result<Dataset> read(std::span<const Source> sources, const Mapping& mapping = {},
                     std::span<const Filter> filters = {});

}  // namespace ergon::study
