// What `ergon sweep` measures and what it tells.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "context.hpp"
#include "ergon/meter.hpp"
#include "ergon/run.hpp"
#include "gpu_input.hpp"

namespace ergon::cli {

/// One point of the sweep as it stands in the run file and in the answer.
struct SweepRow {
  run::Setting setting;
  bool baseline = false;
  std::int64_t stored_id = 0;
  std::string state = "planned";  ///< "planned", "done", "failed"
  bool valid = false;
  std::string reason;
  int runs = 0;
  int warm_ups = 0;
  std::optional<Estimate> time_s;    ///< of one run
  std::optional<Estimate> energy_j;  ///< of one run, all GPUs
  std::optional<double> clock_hz;    ///< achieved; nullopt also where the GPUs' clocks differ
  std::optional<double> memory_clock_hz;
  std::vector<std::optional<double>> clocks_hz;  ///< of each GPU; empty: of a resumed sweep
  std::optional<int> failed_status;              ///< of the program, where it failed
  std::optional<double> temperature_c;           ///< highest
};

struct SweepAnswer {
  std::vector<SweepRow> rows;
  std::vector<std::string> program;
  std::vector<gpu::Identity> gpus;
  int repeats = 1;   ///< measured runs a point
  std::string file;  ///< of -o; empty: none
  bool simulated = false;
  std::string stopped;  ///< why before the end: "interrupted", "the budget is used up"; empty: not
};

/// Means of the valid baselines of one combination of parameters.
struct SweepBaseline {
  std::vector<std::pair<std::string, std::string>> parameters;
  std::optional<double> time_s;
  std::optional<double> energy_j;
  std::optional<double>
      spread;  ///< (most - least) / mean of their energies; nullopt: fewer than two
  std::optional<double> clock_spread_hz = std::nullopt;  ///< most less least achieved clock
  bool clocks_differ = false;     ///< by more than a step of clocks: 15 MHz or 1 %
  bool beyond_intervals = false;  ///< two repeats lie apart by more than their intervals allow
  std::size_t count = 0;
};
std::vector<SweepBaseline> baselines_of(const std::vector<SweepRow>& rows);

/// A point that has everything and proves itself.
bool row_counts(const SweepRow& row);
/// "batch=16 mode=train"; empty: none.
std::string sweep_parameters_text(
    const std::vector<std::pair<std::string, std::string>>& parameters);

/// The least energy of one combination of parameters among the points that count, but its
/// baseline.
struct SweepOptimum {
  const SweepRow* row = nullptr;
  const SweepBaseline* baseline = nullptr;
  const char* edge = nullptr;
  double energy_saved = 0;
  double slowdown = 0;
};
std::vector<SweepOptimum> sweep_optima(const std::vector<SweepRow>& rows,
                                       const std::vector<SweepBaseline>& baselines);

/// The figures of the HTML page.
void fill_sweep_page(const SweepAnswer& sweep, const std::vector<SweepBaseline>& baselines,
                     const std::vector<SweepOptimum>& optima, Answer& answer);

Answer sweep_answer(const SweepAnswer& sweep);
/// One line a point: what was asked, what came, whether it counts. Base SI units.
std::string sweep_csv(const std::vector<SweepRow>& rows);

/// How much a setting can slow a program down at most: time grows as 1/clock at most, and a power
/// limit takes the core to its lowest clock at most.
struct SweepReach {
  double highest_core_hz = 0;  ///< 0: not known, as below
  double lowest_core_hz = 0;
  double highest_memory_hz = 0;
  /// A factor on the time at the driver's own clocks, 1 and more; infinite where it is not known.
  [[nodiscard]] double most_slowdown(const run::Setting& setting) const;
};
SweepReach sweep_reach(gpu::Gpu& gpu);

/// The plan with what it would take: from --run-time, or from one run of each combination of
/// parameters that changes nothing.
Result<int> sweep_dry_run(Context& context, const OpenedGpus& opened, const SweepAnswer& sweep,
                          run::Signals& signals);
std::vector<Flag> sweep_flags();

/// The run file of a sweep: the plan first, then each point as it is done. Times of the readings
/// stand on one base also after the machine was started again.
class SweepFile {
 public:
  /// A new file with all points planned. kIo where there is one.
  static Result<SweepFile> create(const std::string& path, const meter::Provenance& provenance,
                                  const SweepAnswer& sweep, std::vector<SweepRow>& rows,
                                  std::int64_t utc_offset_ns);
  /// Goes on with a file: `rows` become what it says. kInvalidArgument where the file is of another
  /// sweep than `rows` plan.
  static Result<SweepFile> resume(const std::string& path, const SweepAnswer& sweep,
                                  std::vector<SweepRow>& rows, std::int64_t utc_offset_ns);
  Status add_gpus(const std::vector<gpu::Gpu*>& gpus);
  /// Stores what a point showed; `gpus` in the order of its results.
  Status store(const SweepRow& row, const run::PointResult& point,
               const std::vector<gpu::Gpu*>& gpus);

 private:
  SweepFile(meter::RunFile file, std::int64_t shift_ns, std::int64_t utc_offset_ns)
      : file_(std::move(file)), shift_ns_(shift_ns), utc_offset_ns_(utc_offset_ns) {}
  meter::RunFile file_;
  std::int64_t shift_ns_;       ///< added to times of now
  std::int64_t utc_offset_ns_;  ///< of the file's base
};

}  // namespace ergon::cli
