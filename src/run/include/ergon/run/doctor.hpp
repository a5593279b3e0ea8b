// What this machine can measure and control, and the fix for what it cannot.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ergon/gpu.hpp"
#include "ergon/meter/sensor.hpp"
#include "ergon/run/rapl.hpp"

namespace ergon::run {

/// Something that the user should know; `fix` says exactly what to do, empty where nothing can be.
struct Finding {
  enum class Severity { kError, kWarning, kNote };
  Severity severity = Severity::kNote;
  std::string subject;  ///< "GPU 0", "CPU", "machine"
  std::string message;
  std::string fix;
};
const char* to_string(Finding::Severity severity);

/// One GPU examined. A Result that failed says why.
struct GpuCheckup {
  gpu::Identity identity;
  std::optional<int> cuda_index;
  Result<gpu::PowerSource> power_source;
  Result<gpu::EnergyReading> energy;
  Result<gpu::Scope> energy_scope;
  /// Periods are from readings taken here, or unknown.
  meter::SensorModel sensor;
  /// The averaging window as the readings taken here show it; else why they do not.
  Result<meter::OwnWindow> window = fail(Errc::kUnsupported, "nothing was read");
  /// What is published of boards of its kind, or assumed; nullopt: nothing.
  std::optional<Estimate> published_window_s = std::nullopt;
  std::optional<double> power_w;
  std::uint64_t refused = 0;  ///< readings that could not be true
  Nanos call_ns = 0;          ///< median time of one sample
  Result<gpu::PowerLimits> limits;
  Result<std::vector<Hertz>> core_clocks;
  Result<std::vector<Hertz>> memory_clocks;
  Result<gpu::Throttle> throttle;
  Result<std::vector<gpu::ThrottleCounter>> throttle_counters;
  Result<double> temperature_c;
  Result<gpu::Mig> mig;
  Result<std::vector<gpu::Process>> processes;
  Status control;
  [[nodiscard]] bool can_measure() const { return power_source.has_value() || energy.has_value(); }
};

struct Checkup {
  gpu::Place place;
  std::vector<GpuCheckup> gpus;
  std::size_t lost = 0;  ///< GPUs that the driver lists and that do not answer
  std::optional<Error> no_gpu;
  std::optional<std::vector<CpuDomain>> cpu;
  std::optional<Error> no_cpu;
  std::vector<Finding> findings;
  [[nodiscard]] bool can_measure() const;  ///< some GPU tells its power or energy
  [[nodiscard]] bool can_control() const;  ///< some GPU's clocks may be changed
};

struct DoctorOptions {
  std::string root = "/";
  /// How long the sensors are watched; longer shows slower refreshes.
  Seconds watch{1.5};
  gpu::TimeSource now = gpu::monotonic_now;
  std::function<void(Nanos)> sleep;  ///< for so many nanoseconds
  /// Whether it is tried if clocks could be changed, by setting what is set already.
  bool probe_control = true;
  /// Called once the GPUs were asked and before their sensors are watched: starts a load. Empty:
  /// none of ours.
  std::function<Status()> start_load;
  /// Whether the load still runs; the watch ends half a second after it.
  std::function<bool()> load_runs;
};

/// Examines every GPU of the machine (or says why there is none), the CPU's counters and the place.
/// Changes nothing. An error only of `start_load`.
Result<Checkup> examine(const Result<gpu::Machine>& machine, const DoctorOptions& options);

}  // namespace ergon::run
