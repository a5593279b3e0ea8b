// Runs of a program (or spans of time) with readings of the GPUs beside them, and their energy.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ergon/gpu.hpp"
#include "ergon/meter.hpp"
#include "ergon/run/child.hpp"
#include "ergon/run/regions.hpp"
#include "ergon/run/sampler.hpp"

namespace ergon::run {

struct ObserveOptions {
  SamplerOptions sampling;
  /// Start a window just after an observed tick of every energy counter and read on for two more
  /// after its end, so that both edges are known best. Costs up to three ticks a run.
  bool align = true;
  /// Longest wait for a tick.
  Nanos align_limit_ns = 600'000'000;
  /// Regions are taken in from here; nullptr: none.
  RegionRing* regions = nullptr;
  /// Asked at least every 50 ms; false ends the program (SIGTERM, then SIGKILL) or the wait.
  std::function<bool()> keep_going = [] { return true; };
};

/// A process on a GPU that is no part of the program that is measured.
struct Stranger {
  std::string gpu;  ///< its id
  std::int64_t pid = 0;
  /// False: it cannot be looked up here (another PID namespace), so that it may be our own program
  /// by another number.
  bool certain = true;
  friend bool operator==(const Stranger&, const Stranger&) = default;
};
/// "another program was on GPU 0 during the run (process 4711)".
std::string to_string(const Stranger& stranger);
/// Whether the process is one of this PID namespace and lives.
bool is_visible(std::int64_t pid);

/// One run (or watched span) as it went; times on CLOCK_MONOTONIC.
struct RunRecord {
  meter::Window window;
  std::optional<Ending> ending;  ///< nullopt: no program of ours
  Marks marks;
  bool aligned = false;  ///< an observed tick of every counter stands just before the start
  /// Other programs that were on the GPUs meanwhile: their energy is in the readings. Looked for
  /// twice a second and at the end, where our own program is known by its process. One that lived
  /// shorter is found where the driver remembers who worked, and where none of our own program's
  /// children has ended (it may have been one of them).
  std::vector<Stranger> strangers;
};

/// Reads GPUs from open() to close(); in between, runs and waits happen. One thread.
class Observation {
 public:
  /// GPUs that share a sensor (MIG instances of one board) are read once.
  Observation(std::span<gpu::Gpu* const> gpus, const ObserveOptions& options);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  /// Starts the readings.
  void open();
  /// Runs the program once to its end. The error of a program that cannot be started: see
  /// status_of_failed_start().
  Result<RunRecord> run(const Program& program, Signals* signals);
  /// Watches until the process ends (nullptr: for all of `length_ns`); `length_ns` 0: no limit.
  RunRecord watch(const Watched* watched, Nanos length_ns, Signals* signals);
  /// Nobody of ours works: the idle power.
  RunRecord rest(Nanos length_ns, Signals* signals);
  /// A signal that ended a watch() or rest(); none: 0.
  [[nodiscard]] int interrupted_by() const;

  /// The readings since the last call, one entry a GPU that is read itself and copy
  /// (SamplerOptions::copy_every_ns); may be called from another thread, before and after close().
  std::vector<meter::Series> take_new();

  /// Everything that was read, one entry a GPU in their order. Ends the readings.
  struct Readings {
    std::vector<meter::Series> series;           ///< a copy where a sensor is shared
    std::vector<std::optional<Error>> failures;  ///< why a GPU's readings stopped
    std::vector<std::uint64_t> refused;          ///< of each GPU: readings that could not be true
    SamplingCost cost;
  };
  Readings close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// How the sensors of a GPU behave: found from the readings where they tell, else from published
/// measurements of its kind (Yang, Adamek, Armour, SC'24, doi 10.1109/SC41406.2024.00028), else
/// assumed; each part carries its origin.
meter::SensorModel sensor_of(const meter::Series& series, const gpu::Identity& identity,
                             const std::optional<gpu::PowerSource>& source);

/// One GPU over one run.
struct GpuResult {
  meter::EnergyReading energy;
  std::optional<Estimate> above_idle_j;
  std::optional<double> power_w;   ///< mean
  std::optional<double> clock_hz;  ///< achieved, mean over the window
  std::optional<double> clock_least_hz;
  std::optional<double> clock_most_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> temperature_c;
  std::optional<double> temperature_most_c;
  std::optional<double> utilization;
  std::optional<double> throttled_share;  ///< of the readings; nullopt: reasons cannot be read
  std::uint64_t throttle_bits = 0;        ///< all that held the GPU back during the window
  double periods = 0;                     ///< window over the sensor's refresh period
};
/// Relative half-width of the gain of a board's sensor as its maker states it: of the simulator
/// 0.3 % (docs/formats/simulated_gpu.md). No maker of real boards states one: 0, which leaves it
/// out of the intervals (docs/explain/measure.md).
double stated_gain95(const gpu::Identity& gpu);

/// `gain95`: relative half-width of the sensor's gain where its maker states one, in the interval.
GpuResult result_of(const meter::Series& series, const meter::SensorModel& sensor,
                    meter::Window window, const std::optional<Estimate>& idle_power_w,
                    double gain95);

struct IdlePower {
  std::optional<Estimate> power_w;
  /// Of the time, where power samples alone tell and something may have run between the sensor's
  /// windows: utilization was above 0, or cannot be read. The interval holds it.
  std::optional<double> unseen_share;
};
/// Mean idle power from the windows in which nobody worked; nullopt where none tells.
IdlePower idle_power(const meter::Series& series, const meter::SensorModel& sensor,
                     std::span<const meter::Window> idle, double gain95);

/// The sum of estimates that do not depend on each other; nullopt where one is missing.
std::optional<Estimate> sum_of(std::span<const std::optional<Estimate>> parts);
/// Mean over repeated runs with its 95 % interval (Student's t of their scatter, at least the mean
/// of their own intervals); nullopt where one is missing.
std::optional<Estimate> mean_of(std::span<const std::optional<Estimate>> runs);

/// One region's energy over a run.
struct RegionResult {
  std::string name;
  std::size_t count = 0;
  Seconds time;      ///< of all its passages, each counted (they may overlap)
  Seconds covered;   ///< of their union: the energy is of that
  bool cut = false;  ///< the program ended inside
  std::optional<Estimate> energy_j;
  std::string why_unknown;
  std::optional<Seconds> window_needed;  ///< the shortest passage that this sensor can tell
  /// How it is known: "windows" (each passage, or passages without pause between them, measured),
  /// "fitted" (from the share of each reading that lies inside); empty: it is not.
  std::string method;
  /// Of the time, as EnergyReading::unseen_share, the largest of its GPUs: the interval holds it.
  std::optional<double> unseen_share = std::nullopt;
};
/// The energy of each region on these GPUs together; sensors that are shared count once.
struct GpuView {
  const meter::Series* series = nullptr;
  const meter::SensorModel* sensor = nullptr;
  double gain95 = 0;
};
std::vector<RegionResult> region_results(const Marks& marks, meter::Window run,
                                         std::span<const GpuView> gpus);

}  // namespace ergon::run
