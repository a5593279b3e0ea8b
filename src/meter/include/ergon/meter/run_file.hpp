// The run file: everything a measurement or a sweep found out, in one SQLite file
// (docs/formats/run_file.md).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ergon/meter/energy.hpp"
#include "ergon/meter/series.hpp"

namespace ergon::meter {

/// Where a file comes from; written once, when it is created.
struct Provenance {
  std::string kind;  ///< "measure", "sweep", "import"
  std::string ergon_version;
  std::string command_line;                                    ///< as it would be typed
  std::string created_utc;                                     ///< ISO 8601; empty: unknown
  std::vector<std::pair<std::string, std::string>> more = {};  ///< further facts, by name
};

/// Something whose power is read: a GPU, or a domain of the CPU.
struct StoredDevice {
  std::string id;            ///< "0", a UUID, "package-0": unique in the file
  std::string kind = "gpu";  ///< "gpu", "cpu", "dram"
  std::string name = {};
  std::string uuid = {};
  std::string pci = {};
  std::string driver = {};
  Origin origin = Origin::kMeasured;  ///< kSimulated for the simulated GPU
  std::optional<double> power_limit_w = std::nullopt;
  std::optional<double> update_period_s = std::nullopt;
  std::optional<double> averaging_window_s = std::nullopt;
  std::optional<double> energy_tick_s = std::nullopt;
};

/// One setting of a sweep: what was asked for, what the device did, and whether it counts.
struct StoredPoint {
  std::int64_t id = 0;           ///< given by add_point
  std::int64_t order_index = 0;  ///< place in the (random) order of the sweep
  bool baseline = false;
  std::vector<std::pair<std::string, std::string>> parameters = {};  ///< -L name=value
  std::optional<double> asked_clock_hz = std::nullopt;
  std::optional<double> asked_memory_clock_hz = std::nullopt;
  std::optional<double> asked_power_limit_w = std::nullopt;
  std::optional<double> clock_hz = std::nullopt;         ///< achieved
  std::optional<double> memory_clock_hz = std::nullopt;  ///< achieved
  std::optional<double> power_limit_w = std::nullopt;    ///< read back
  std::string state = "planned";                         ///< "planned", "done", "failed"
  std::optional<bool> valid = std::nullopt;              ///< nullopt: not judged
  std::string reason = {};                               ///< why it is invalid or failed
};

/// One device's share of a run.
struct StoredEnergy {
  std::string device;
  std::optional<Estimate> energy_j = std::nullopt;
  std::optional<Estimate> energy_above_idle_j = std::nullopt;
  std::optional<double> energy_counter_j = std::nullopt;
  std::optional<double> energy_trapezoid_j = std::nullopt;
  std::string why_unknown = {};
  std::optional<double> coverage = std::nullopt;
  std::optional<double> disagreement = std::nullopt;
  std::optional<double> clock_hz = std::nullopt;
  std::optional<double> memory_clock_hz = std::nullopt;
  std::optional<double> temperature_c = std::nullopt;
  std::optional<bool> throttled = std::nullopt;
  std::optional<std::uint64_t> throttle_bits = std::nullopt;
};

/// One execution of a program, or one watched span.
struct StoredRun {
  std::int64_t id = 0;  ///< given by add_run
  std::optional<std::int64_t> point = std::nullopt;
  std::int64_t repeat = 0;
  bool warmup = false;
  Window window;  ///< on the base of the samples
  std::optional<Nanos> start_utc_ns = std::nullopt;
  std::optional<int> exit_status = std::nullopt;
  std::vector<StoredEnergy> energies = {};
  /// Figures of the program's own (throughput, loss), by name with unit.
  std::vector<std::pair<std::string, double>> figures = {};
};

/// A phase of a run on one device.
struct StoredRegion {
  std::int64_t run = 0;
  std::string device;
  std::string name;
  Window window;
  std::optional<Estimate> energy_j = std::nullopt;
  std::string why_unknown = {};
};

/// One writer or reader of a run file. Every call that writes is one transaction: what it reported
/// as done survives a crash. Move-only, one thread at a time.
class RunFile {
 public:
  /// A new file; kIo where there is one already or it cannot be written.
  static Result<RunFile> create(const std::string& path, const Provenance& provenance);
  /// An existing file; kMalformedInput where it is no run file or of a later schema. `writable` to
  /// go on with it (--resume).
  static Result<RunFile> open(const std::string& path, bool writable = false);
  /// Whether the first bytes of a file are those of a SQLite file.
  static bool looks_like(std::string_view head);

  RunFile(RunFile&&) noexcept;
  RunFile& operator=(RunFile&&) noexcept;
  ~RunFile();

  Status add_device(const StoredDevice& device);  ///< replaces one of that id
  Result<std::int64_t> add_point(const StoredPoint& point);
  Status update_point(const StoredPoint& point);  ///< by its id
  Result<std::int64_t> add_run(const StoredRun& run);
  Status add_region(const StoredRegion& region);
  Status add_regions(const std::vector<StoredRegion>& regions);
  /// Appends the readings of a device; the same time twice keeps the first.
  Status add_samples(const Series& series);
  Status set_fact(const std::string& name, const std::string& value);

  [[nodiscard]] Result<Provenance> provenance() const;
  [[nodiscard]] Result<std::vector<StoredDevice>> devices() const;
  [[nodiscard]] Result<std::vector<StoredPoint>> points() const;
  [[nodiscard]] Result<std::vector<StoredRun>> runs() const;
  [[nodiscard]] Result<std::vector<StoredRegion>> regions() const;
  /// Readings of a device, in order of time; all of them or those of a window.
  [[nodiscard]] Result<Series> samples(const std::string& device,
                                       std::optional<Window> window = std::nullopt) const;

 private:
  struct Impl;
  explicit RunFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ergon::meter
