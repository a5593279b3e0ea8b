// Rows as the readers of the formats hand them over, and what becomes of them in the end.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ergon/meter/log.hpp"
#include "logs/names.hpp"
#include "logs/timestamps.hpp"

namespace ergon::meter::logs {

/// A row without a time in a log that has times elsewhere.
inline constexpr Nanos kNoTime = INT64_MIN;

/// Looks strings up by views.
struct ViewHash {
  using is_transparent =
      void;  // NOLINT(readability-identifier-naming): the name the library looks for
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
using WordIds = std::unordered_map<std::string, std::uint32_t, ViewHash, std::equal_to<>>;

class Builder {
 public:
  /// Where a column of a name lies; made if it is new.
  std::size_t column(const std::string& name, bool text);
  [[nodiscard]] bool is_text(std::size_t column) const { return columns_[column].text; }

  void begin_row(std::uint64_t line);
  void set(std::size_t column, double value);  ///< of the row begun last
  /// Gives the word's number, for set_word.
  std::uint32_t set_text(std::size_t column, std::string_view value);
  void set_word(std::size_t column, std::uint32_t word);
  /// By the field of a cell: a number with a unit, words, or missing; `text` is trimmed. Defects
  /// are recorded. For readers that are not in a hurry.
  void set_cell(const Field& field, std::string_view text);
  void set_gpu(std::string_view id);
  void set_time(const Stamp& stamp);
  /// A line of its own that is a time: that of the rows below it, if rows have none.
  void lone_time(const Stamp& stamp) { lone_ = stamp; }
  [[nodiscard]] std::size_t rows() const { return lines_.size(); }

  void defect(std::uint64_t line, std::string kind, const std::string& detail = {});
  void skip(const std::string& reason, std::uint64_t count = 1) { skipped_[reason] += count; }
  void note(std::string text);
  /// "nvidia-smi csv": the first reader that gave a row names the format, further ones are added.
  void format(const std::string& name);
  /// Rows of a node or a CPU: no GPU is meant.
  void no_gpu() { no_gpu_ = true; }
  /// Something that only power logs have was seen: rows without a known column are taken, too.
  void surely_log() { surely_log_ = true; }
  /// The file is of a kind that need not be a log ("JSON"): a refusal says so.
  void came_as(std::string kind) { kind_ = std::move(kind); }
  /// Why a file without a sample has none, where that is known.
  void no_sample(std::string why) { why_none_ = std::move(why); }
  /// Records that are results of finished runs, with what shows it.
  void finished_runs(std::string why) { runs_ = std::move(why); }
  /// Rows that have no id may be several GPUs, told apart by their order.
  void may_interleave() { may_interleave_ = true; }

  /// The table: time base, defects of time, units and repeats, canonical order. `Errc` with the
  /// reason where no row holds anything of use.
  Result<PowerLog> finish();

  /// Direct access for the reader of big tables.
  std::vector<double>& numbers(std::size_t column) { return columns_[column].numbers; }

 private:
  struct Times {
    std::vector<Nanos> ns;  ///< one a row, kNoTime where there is none
    std::optional<Stamp::Kind> kind;
  };
  void pad();
  void lanes();
  void set_lanes(std::size_t g, double tick_ns);
  void same_gpus();
  void unwrap();
  void half_days();
  void seasons();
  void check_times(PowerLog& log);
  void check_values(PowerLog& log);
  void check_counters(const PowerLog& log);
  void check_units(PowerLog& log);
  void check_renewals(const PowerLog& log);
  void check_boards(const PowerLog& log);

  std::vector<LogColumn> columns_;
  std::vector<WordIds> word_ids_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<std::uint64_t> lines_;
  std::vector<std::uint32_t> gpu_;  ///< 0: none, else index + 1
  std::vector<std::string> gpus_;
  std::map<std::string, std::uint32_t, std::less<>> gpu_ids_;
  Times times_;
  std::optional<Stamp> lone_;
  Times lone_times_;  ///< as times_, from lines of their own
  std::vector<Defect> defects_;
  std::map<std::string, std::uint64_t> defect_counts_;
  std::map<std::string, std::uint64_t> skipped_;
  std::vector<std::string> notes_;
  std::string format_;
  std::string kind_;
  std::string runs_;
  std::string why_none_;
  std::size_t unclear_lanes_ = 0;  ///< rows of a tick that may be of one GPU or of as many
  bool no_gpu_ = false;
  bool may_interleave_ = false;
  bool surely_log_ = false;
};

}  // namespace ergon::meter::logs
