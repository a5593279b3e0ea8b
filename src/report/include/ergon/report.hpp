// An Answer -> terminal table, JSON, JSON lines, CSV, Markdown, OpenMetrics, one offline HTML page.
#pragma once
#include <string>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/io.hpp"

namespace ergon::report {

struct Warning {
  std::string code = {};
  std::string message = {};
  std::uint64_t count = 1;
};

/// What every answer carries besides its own figures.
struct Envelope {
  std::string version = {};
  std::vector<io::InputRecord> inputs = {};
  std::vector<Warning> warnings = {};
  std::vector<std::pair<std::string, std::uint64_t>> skipped = {};  ///< reason, count
  std::vector<std::pair<std::string, double>> origin_shares =
      {};  ///< origin word, share of the answer's figures
  std::string command_line = {};
};

/// "schema", "ergon_version", "inputs", "warnings", "skipped", "origin_shares" and the answer's own
/// members.
Value document(const Answer& answer, const Envelope& envelope);
std::string to_json(const Answer& answer, const Envelope& envelope);
std::string to_json_lines(const Answer& answer, const Envelope& envelope);

struct TerminalStyle {
  bool color = false;
  bool unicode = true;
  int width = 100;  ///< names are shortened to fit; 0: never
};
std::string to_terminal(const Answer& answer, const Envelope& envelope, const TerminalStyle& style);
std::string to_csv(const Answer& answer, const Envelope& envelope);
std::string to_markdown(const Answer& answer, const Envelope& envelope);
/// Every figure of the answer's data as a gauge, named by its path and base unit.
std::string to_openmetrics(const Answer& answer, const Envelope& envelope);
/// Whether this build has the page: it was built with Node.
bool html_available();
/// kUnsupported where it has not.
Result<std::string> to_html(const Answer& answer, const Envelope& envelope);

/// The error document ergon.error/1.
std::string error_json(const Error& error);
/// "error: ...\nhint: ...\n" for stderr.
std::string error_text(const Error& error, bool color);
/// "warning: ...\n" for stderr, one line a warning.
std::string warnings_text(const Envelope& envelope, bool color);

}  // namespace ergon::report
