// The readers of the formats: each takes the lines that are its own.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "logs/builder.hpp"

namespace ergon::meter::logs {

/// One line as it stands in the file.
struct Line {
  std::string_view text;
  std::uint64_t number = 0;
  bool unended = false;  ///< the last line of the file, without a line end
};

/// A reader of one family of formats. It keeps its state between lines; text between that belongs
/// to others does not disturb it.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Whether this line begins something that is this reader's.
  virtual bool begins(const Line& line) = 0;
  /// Takes a line after its beginning; false: not mine (any more).
  virtual bool take(const Line& line, Builder& out) = 0;
  /// The end of the input.
  virtual void end(Builder& out) { static_cast<void>(out); }
};

std::unique_ptr<Reader> smi_query_text_reader();  ///< nvidia-smi -q
std::unique_ptr<Reader> smi_xml_reader();         ///< nvidia-smi -q -x
std::unique_ptr<Reader> banner_reader();     ///< nvidia-smi's table: data only if there is no other
std::unique_ptr<Reader> dmon_reader();       ///< nvidia-smi dmon and pmon
std::unique_ptr<Reader> smi_stats_reader();  ///< nvidia-smi stats
std::unique_ptr<Reader> dcgmi_reader();      ///< dcgmi dmon
std::unique_ptr<Reader> tegrastats_reader();
std::unique_ptr<Reader> json_reader();
std::unique_ptr<Reader> powermetrics_reader();   ///< of macOS
std::unique_ptr<Reader> prometheus_reader();     ///< DCGM exporter and other Prometheus text
std::unique_ptr<Reader> codexl_reader();         ///< AMD CodeXL power profile
std::unique_ptr<Reader> key_value_reader();      ///< NVML pollers: "[000] Power: 290.6, Util: 100"
std::unique_ptr<Reader> amd_report_reader();     ///< amd-smi metric as text
std::unique_ptr<Reader> perf_reader();           ///< perf stat -I with energy events
std::unique_ptr<Reader> gpustat_reader();        ///< gpustat as text
std::unique_ptr<Reader> line_protocol_reader();  ///< of InfluxDB: Telegraf
std::unique_ptr<Reader> pipe_table_reader();     ///< cells between pipes: Markdown, psql, mysql
std::unique_ptr<Reader> intel_gpu_top_reader();  ///< -l
std::unique_ptr<Reader> blank_table_reader();  ///< turbostat, amd-smi monitor, rocm-smi, powerstat

/// Tables of cells with a separator: what most logs are.
class TableReader {
 public:
  TableReader();
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;
  /// Whether a header or a row was taken.
  bool take(const Line& line, Builder& out);
  [[nodiscard]] bool running() const;  ///< a header or a row was seen
  [[nodiscard]] bool narrow() const;   ///< of one column
  void end(Builder& out);
  /// A header that belongs to a table of finished runs, not to a log; empty: none.
  [[nodiscard]] const std::string& runs_table() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a line that is no data says, if it is one of the known messages of tools that failed.
struct Complaint {
  std::string reason;
  std::string hint;
  std::string kind = "error_message";  ///< of the defect: "gpu_lost" where the GPU was
};
/// `cut`: the line may be the begin of a message only.
std::optional<Complaint> complaint_of(std::string_view line, bool cut = false);
/// What a file is that begins like this, if it is a kind that is surely no log ("a PDF", "HTML").
std::optional<std::string> foreign_format(std::string_view first_line);

}  // namespace ergon::meter::logs
