// A program over clocks x memory clocks x power limits x parameters, and which points count.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ergon/gpu.hpp"
#include "ergon/run/measure.hpp"

namespace ergon::run {

/// What is asked for at one point; nullopt leaves that control to the driver.
struct Setting {
  std::optional<Hertz> core;
  std::optional<Hertz> memory;
  std::optional<Watts> limit;
  std::vector<std::pair<std::string, std::string>> parameters;
  friend bool operator==(const Setting&, const Setting&) = default;
};
/// "core 1410 MHz, memory 1215 MHz, limit 300 W, batch=16"; "driver's own clocks" for none.
std::string to_string(const Setting& setting);

struct Axis {
  std::string name;
  std::vector<std::string> values;
};

/// The axes of a sweep; an empty list of controls means that control is left alone.
struct SweepGrid {
  std::vector<Hertz> core;
  std::vector<Hertz> memory;
  std::vector<Watts> limits;
  std::vector<Axis> parameters;
};

struct PlannedPoint {
  Setting setting;
  bool baseline = false;
};

/// The points in the order in which they are measured: the baseline (every control left to the
/// driver) of each combination of parameters, then all points shuffled by `seed` with one baseline
/// after every `baseline_every` of them (0: none between), then the baselines again. The same seed
/// gives the same order everywhere.
std::vector<PlannedPoint> plan_sweep(const SweepGrid& grid, std::uint64_t seed, int baseline_every);

/// Which clocks a text asks for: "510MHz,1410MHz", "510MHz:1410MHz:8" (that many, evenly spread,
/// each moved to the nearest supported), "all". Rising, each once. kInvalidArgument; a listed clock
/// that is not supported names the nearest. Where `supported` is empty (not told) listed clocks are
/// taken as they are and a range is not moved.
Result<std::vector<Hertz>> clocks_of(const std::string& text, std::span<const Hertz> supported);
/// The same for watts, "150W,300W" or "150W:300W:4", between the board's limits.
Result<std::vector<Watts>> limits_of(const std::string& text, std::optional<Watts> least,
                                     std::optional<Watts> most);
/// "name=a,b,c".
Result<Axis> axis_of(const std::string& text);
/// The words with every {name} of a parameter replaced.
std::vector<std::string> substitute(const std::vector<std::string>& words, const Setting& setting);
/// Whether some word holds {name}.
bool mentions(const std::vector<std::string>& words, const std::string& name);

/// What a point must prove to count.
struct Requirements {
  double clock_tolerance = 0.01;    ///< relative, but at least one step of `clock_slack`
  Hertz clock_slack{15e6};          ///< clocks are set in steps of 15 MHz and less
  double temperature_band_c = 4;    ///< largest change of temperature within a measured run
  double least_periods = 20;        ///< refresh periods of the sensor within a run
  double most_throttled_share = 0;  ///< of the readings
};

/// What one run showed on one GPU.
struct PointEvidence {
  std::optional<double> clock_hz;  ///< median while busy
  std::optional<double> memory_clock_hz;
  std::optional<double> memory_clock_least_hz;  ///< without the outermost twentieth of the readings
  std::optional<double> memory_clock_most_hz;
  std::optional<double> temperature_low_c;
  std::optional<double> temperature_high_c;
  std::optional<double> power_limit_w;  ///< read back
  std::optional<double> throttled_share;
  std::uint64_t throttle_bits = 0;
  double periods = 0;
  bool energy_known = false;
  std::string why_unknown;
};
PointEvidence evidence_of(const meter::Series& series, const GpuResult& result,
                          meter::Window window);

/// Why such a run does not count, one clause each; empty: it counts. What cannot be read (a board
/// without throttle reasons, say) disproves nothing, except the clocks: a clock that was asked for
/// must be seen.
std::vector<std::string> objections(const Setting& setting, const PointEvidence& evidence,
                                    const Requirements& requirements);

/// One measured point.
struct PointResult {
  std::vector<RunRecord> runs;                  ///< the measured ones
  std::vector<std::vector<GpuResult>> results;  ///< [run][gpu]
  std::vector<meter::Series> series;            ///< of each GPU over all of the point
  std::vector<meter::SensorModel> sensors;
  std::vector<PointEvidence> evidence;  ///< of each GPU, of the last run
  int warm_ups = 0;                     ///< runs that were not counted
  std::optional<Estimate> time_s;       ///< of one run
  std::optional<Estimate> energy_j;     ///< of one run, all GPUs
  /// Achieved, mean of the runs; nullopt where the GPUs ran at different clocks.
  std::optional<double> clock_hz;
  std::optional<double> memory_clock_hz;
  std::vector<std::optional<double>> clocks_hz;  ///< core, of each GPU, mean of the runs
  bool failed = false;                           ///< the program did not succeed
  bool valid = false;
  std::string reason;              ///< why not
  std::optional<Ending> abnormal;  ///< the program was ended by a signal
};

struct SweepOptions {
  Program program;  ///< words with {name}; in a group of its own
  int repeats = 1;
  int most_warm_ups = 5;          ///< runs left out at a point until the temperature is steady
  Nanos settle_ns = 300'000'000;  ///< after a change of clocks
  Requirements requirements;
  bool align = true;
  /// What the sweep sets. Somebody's lock on it from before is taken away at the first setting that
  /// leaves it to the driver: a baseline under that lock would be none.
  bool sets_core = false;
  bool sets_memory = false;
  /// Asked often, also while the program runs; false ends the sweep: the program is told to end.
  std::function<bool()> keep_going = [] { return true; };
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// The mean, where these clocks are one: within 1 %, or 15 MHz; nullopt where they are not, or
/// where none is known.
std::optional<double> one_clock(const std::vector<std::optional<double>>& clocks);

/// Measures points one after another under a lease, which must outlive it as the GPUs must.
/// `lease` may be nullptr where no setting asks for a control.
class Sweep {
 public:
  Sweep(std::vector<gpu::Gpu*> gpus, gpu::Lease* lease, SweepOptions options);

  /// Gives every GPU the setting's clocks and limits. What the setting leaves to the driver is
  /// given back to it, where an earlier point took it.
  Status apply(const Setting& setting);
  /// Applies the setting, runs the program until it is steady and then `repeats` times. An error
  /// where the controls are refused or the program cannot be started; a program that fails is a
  /// result.
  Result<PointResult> measure(const Setting& setting);

 private:
  Status apply_clock(gpu::Gpu& gpu, gpu::Domain domain, const std::optional<Hertz>& clock,
                     bool& taken);
  void conclude(const Setting& setting, PointResult& point, Observation::Readings readings) const;

  std::vector<gpu::Gpu*> gpus_;
  gpu::Lease* lease_;
  SweepOptions options_;
  std::vector<bool> core_taken_;
  std::vector<bool> memory_taken_;
  std::vector<bool> limit_taken_;
};

}  // namespace ergon::run
