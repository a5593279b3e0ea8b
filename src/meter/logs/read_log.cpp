// Line by line to the reader whose it is.
#include <algorithm>
#include <array>

#include "ergon/meter/log.hpp"
#include "logs/lines.hpp"
#include "logs/reader.hpp"

namespace ergon::meter {
namespace {

using namespace logs;

Error refuse(std::string message, std::string hint, std::optional<std::uint64_t> line) {
  return {Errc::kMalformedInput, std::move(message), std::move(hint), std::nullopt, line};
}

constexpr const char* kHint =
    "docs/formats/power_logs.md lists what can be read; nvidia-smi "
    "--query-gpu=timestamp,index,power.draw,clocks.sm --format=csv -lms 100 writes a good log";

constexpr const char* kRunFileHint =
    "a run file of 'ergon measure' or 'ergon sweep' is read by 'ergon study FILE', and played by "
    "--gpu recorded:FILE";

}  // namespace

Result<PowerLog> read_log(io::ByteSource& source) {
  Lines lines(source);
  Builder out;
  TableReader table;
  // The banner comes last: it is data only where nothing else is.
  std::array<std::unique_ptr<Reader>, 19> readers = {
      json_reader(),        smi_query_text_reader(), smi_xml_reader(),       dmon_reader(),
      dcgmi_reader(),       prometheus_reader(),     codexl_reader(),        amd_report_reader(),
      blank_table_reader(), perf_reader(),           tegrastats_reader(),    powermetrics_reader(),
      gpustat_reader(),     intel_gpu_top_reader(),  line_protocol_reader(), pipe_table_reader(),
      key_value_reader(),   smi_stats_reader(),      banner_reader()};
  std::optional<Complaint> complaint;
  std::uint64_t complaint_line = 0;
  std::uint64_t first_text = 0;
  std::string_view text;
  while (true) {
    ERGON_TRY(const bool more, lines.next(text));
    if (!more) break;
    const Line line{text, lines.number(), lines.unended()};
    // Most lines of most logs are rows of a running table.
    const char first = text.empty() ? '\0' : text.front();
    const bool plain = (first >= '0' && first <= '9') || first == '"';
    const bool alone = plain && table.running() && table.narrow() && wall_time(text);
    if (plain && table.running() && !alone && table.take(line, out)) continue;
    const std::string_view trimmed = trim(text);
    if (trimmed.empty()) continue;
    const auto lone = trimmed.size() <= 48 ? wall_time(trimmed) : std::nullopt;
    if (lone) out.lone_time(*lone);
    if (first_text == 0) {
      first_text = line.number;
      if (const auto what = foreign_format(trimmed)) {
        const bool ours = what->find("SQLite") != std::string::npos;
        return fail(refuse("this is " + *what + ", no power log", ours ? kRunFileHint : kHint,
                           line.number));
      }
      if (lines.binary())
        return fail(refuse("this is no text, so no power log", kHint, line.number));
    }
    bool taken = false;
    for (const auto& reader : readers) {
      if (reader->begins(line) || reader->take(line, out)) {
        taken = true;
        break;
      }
    }
    if (taken || lone) continue;
    const auto said = complaint_of(trimmed, line.unended);
    if (!said && !(plain && table.running()) && table.take(line, out)) continue;
    if (said) {
      if (!complaint) complaint_line = line.number;
      if (!complaint) complaint = said;
      out.defect(line.number, said->kind, std::string(trimmed.substr(0, 120)));
      out.skip("messages of errors");
    } else if (trimmed.starts_with("====") && trimmed.ends_with("====")) {
      out.skip("headings between rules");
    } else if (line.unended && table.running()) {
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
    } else {
      out.defect(line.number, "not_a_row", std::string(trimmed.substr(0, 60)));
      out.skip("lines that are no samples");
    }
  }
  if (first_text == 0) return fail(refuse("the log is empty", kHint, std::nullopt));
  if (!table.runs_table().empty()) {
    return fail(refuse("this is a table of finished runs, no power log: " + table.runs_table(),
                       "ergon study reads such tables", first_text));
  }
  table.end(out);
  for (const auto& reader : readers) reader->end(out);
  if (!lines.damage().empty()) {
    out.defect(lines.number(), "truncated_line", lines.damage());
    out.skip("damaged end of the compressed file");
  }
  if (complaint && out.rows() == 0) {
    return fail(refuse(complaint->reason.starts_with("this ")
                           ? complaint->reason
                           : "this is no log but an error message: " + complaint->reason,
                       complaint->hint, complaint_line));
  }
  auto log = out.finish();
  if (!log) {
    Error error = log.error();
    if (!error.line) error.line = first_text;
    return fail(std::move(error));
  }
  return log;
}

}  // namespace ergon::meter
