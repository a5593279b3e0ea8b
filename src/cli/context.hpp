// What a running command sees: its typed arguments, and the ways to say its answer.
#pragma once
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/cli.hpp"
#include "ergon/io.hpp"
#include "ergon/report.hpp"
#include "parser.hpp"
#include "values.hpp"

namespace ergon::cli {

/// Not copyable, one thread at a time. Asking for a flag that the command does not have, or with
/// the wrong accessor, is a bug and stops the program.
class Context {
 public:
  Context(Arguments arguments, const Surroundings& surroundings, std::string command_line);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Arguments. Numbers are SI: seconds, hertz, bytes, joules, watts; percent is a fraction.
  [[nodiscard]] const std::vector<std::string>& operands() const { return arguments_.operands; }
  [[nodiscard]] const std::vector<std::string>& program() const { return arguments_.program; }
  [[nodiscard]] bool enabled(std::string_view name) const;  ///< a switch
  [[nodiscard]] bool given(std::string_view name) const;    ///< by the user, not by its default
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  [[nodiscard]] std::optional<TimeRange> time_range(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;  ///< a repeatable flag
  [[nodiscard]] int threads() const;  ///< -j, else the machine's
  [[nodiscard]] std::uint64_t seed() const;
  /// Files that `--export FORMAT:FILE` asks for; for formats that the command writes itself, such
  /// as "perfetto".
  [[nodiscard]] std::vector<std::string> export_paths(std::string_view format) const;
  /// Whether the answer will be shown in this format anywhere ("html" decides whether to fill
  /// Answer::page).
  [[nodiscard]] bool wants(std::string_view format) const;
  [[nodiscard]] bool verbose() const;
  /// The file of -o.
  [[nodiscard]] std::optional<std::string> output() const { return text("output"); }

  // What every answer carries.
  void add_input(io::InputRecord input);
  void warn(std::string code, std::string message, std::uint64_t count = 1);
  void skipped(std::string reason, std::uint64_t count);
  void origin_share(std::string origin, double share);

  /// Shows what is being done on a terminal, after half a second, until the next stage, emit() or
  /// the end.
  void stage(std::string what);
  void end_stage();
  /// A line on stderr with -v.
  void say(std::string_view line);

  /// Whether the files of -o and --export can be written, as far as that can be seen without
  /// touching them: for commands whose answer takes long to come. kIo names the first that cannot.
  [[nodiscard]] Status outputs_are_writable() const;
  /// The answer: stdout in the chosen format, and every generic --export. Once a command. Where a
  /// program is wrapped, it is told even where an export cannot be written.
  Status emit(const Answer& answer);
  /// The program that is wrapped has stdout: emit() writes to stderr. Warnings are part of a JSON
  /// answer then, and not said twice.
  void answer_to_stderr() { to_stderr_ = true; }
  /// From here on stdout is the program's even where the tool fails.
  void program_runs() { program_ran_ = true; }
  [[nodiscard]] bool program_ran() const { return program_ran_; }
  /// A file of `--export FORMAT:FILE` in a format that the command writes itself; "-" is stdout.
  Status write_export(const std::string& path, std::string_view text);
  /// What the command makes: to the file of -o. With "-" the artefact takes stdout and the answer
  /// is only exported; without -o nothing is written. Call it before emit().
  Status write_artefact(std::string_view text);
  /// For commands whose answer is a text (a manual page): `text` to -o or stdout.
  Status emit_raw(std::string_view text);
  /// The same, but the answer where another format than a table is asked for.
  Status emit_text(std::string_view text, const Answer& answer);

  [[nodiscard]] const Surroundings& surroundings() const { return surroundings_; }
  [[nodiscard]] const std::string& version() const { return envelope_.version; }
  /// As it would be typed.
  [[nodiscard]] const std::string& command_line() const { return envelope_.command_line; }

 private:
  [[nodiscard]] const std::vector<FlagValue>* values(std::string_view name) const;
  Status print(std::string_view text);

  Arguments arguments_;
  const Surroundings& surroundings_;
  report::Envelope envelope_;
  bool stdout_taken_ = false;
  bool to_stderr_ = false;
  bool program_ran_ = false;
  class Progress;
  std::unique_ptr<Progress> progress_;
};

/// CPU time of the process so far, in seconds: for --timings.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace ergon::cli
