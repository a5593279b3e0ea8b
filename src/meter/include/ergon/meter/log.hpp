// Any power log, read into one table (docs/formats/power_logs.md).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ergon/io.hpp"
#include "ergon/meter/series.hpp"

namespace ergon::meter {

/// Something wrong with a log. Kinds: truncated_line, column_count, not_a_row, not_a_number,
/// repeated_header, banner, error_message, no_header, gap, duplicate_time, time_backwards,
/// bad_time, unit_mismatch, unit_assumed, impossible_value, implausible, counter_reset,
/// mig_repeats_parent, gpu_lost, clock_set, short_tick, never_renewed, other_board.
struct Defect {
  std::uint64_t line = 0;  ///< 1-based, in its file; 0: the file as a whole
  std::string kind;
  std::string detail;
  std::string file = {};  ///< filled where several logs were joined
};

/// One column of the canonical table: numbers (SI; kMissing where missing) or words.
struct LogColumn {
  std::string name;
  bool text = false;
  std::vector<double> numbers;  ///< one a row, unless `text`
  std::vector<std::uint32_t>
      words;  ///< one a row, if `text`: index into `dictionary`, 0 is missing
  std::vector<std::string> dictionary;  ///< [0] is ""
};

/// A log as one table: a row is a sample of one GPU.
struct PowerLog {
  std::string format;              ///< "nvidia-smi csv", "dcgm text", ...
  std::vector<std::string> gpus;   ///< ids in order of appearance; empty: the log names none
  std::vector<std::uint32_t> gpu;  ///< one a row: index into `gpus`; empty where that is
  std::vector<Nanos> time_ns;      ///< one a row, from the first sample; empty: no time base
  /// UTC of the first sample in ns since 1970; nullopt: no zone.
  std::optional<Nanos> utc_ns;
  /// The same in the zone of the machine that wrote it, as its clock showed it; nullopt: no date.
  std::optional<Nanos> local_ns;
  std::vector<std::uint64_t> line;  ///< one a row
  std::vector<LogColumn> columns;   ///< canonical first, in the order of the contract
  std::vector<Defect> defects;      ///< in order of lines, at most kMostDefects of a kind
  std::map<std::string, std::uint64_t> defect_counts;          ///< all of them
  std::vector<std::pair<std::string, std::uint64_t>> skipped;  ///< lines left out, by reason
  std::vector<std::string> notes;  ///< "times are local, without a zone"

  static constexpr std::size_t kMostDefects = 1000;
  [[nodiscard]] std::size_t rows() const { return line.size(); }
  [[nodiscard]] const LogColumn* find(std::string_view name) const;
  /// Last sample less first; nullopt without a time base.
  [[nodiscard]] std::optional<Seconds> duration() const;
};

/// Reads a log of any kind that is listed in docs/formats/power_logs.md, recognised by its content.
/// kMalformedInput with the reason, the line and what to do for what is no power log.
Result<PowerLog> read_log(io::ByteSource& source);

/// Several logs as one table. Logs with dates lie on one time axis; one GPU id in two logs that
/// overlap in time becomes `name:id`. `names` are short names of the logs, one each.
Result<PowerLog> join_logs(std::vector<PowerLog> logs, const std::vector<std::string>& names);

/// Times for a log without any: each GPU's samples `interval` apart. kInvalidArgument for a log
/// that has times, and an interval that is not above 0.
Status give_times(PowerLog& log, Seconds interval);

/// The canonical CSV of the contract. Missing cells are empty.
std::string to_csv(const PowerLog& log);

/// The readings of each GPU, in order of time; rows whose time goes back are left out. Empty for a
/// log without a time base.
std::vector<Series> to_series(const PowerLog& log);

}  // namespace ergon::meter
