// What a GPU says about itself, and what it can be told. Every reading is a Result: what a board
// cannot say is an error with its reason, never 0.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::gpu {

enum class Vendor { kNvidia, kAmd, kOther };
const char* to_string(Vendor vendor);

/// What a power figure covers: the GPU alone, the whole module (Grace Hopper: CPU and its memory
/// too), or the GPU's memory.
enum class Scope { kGpu, kModule, kMemory };
const char* to_string(Scope scope);

/// Which of the driver's power figures. Instant and average are asked for by name on drivers that
/// know them; "usage" is the older call, whose sense depends on the architecture (see
/// PowerSource::averaged).
enum class PowerKind { kInstant, kAverage, kUsage };
const char* to_string(PowerKind kind);

enum class Domain { kCore, kMemory };
const char* to_string(Domain domain);

/// Who a GPU is. `id` is what answers call it: the driver's index as text, or for a MIG instance
/// its UUID.
struct Identity {
  std::string id;
  int index = 0;  ///< the driver's order (by PCI address), which is not CUDA's
  std::string uuid;
  std::string pci;  ///< "00000000:3b:00.0", lower case
  std::string name;
  Vendor vendor = Vendor::kOther;
  std::string architecture;     ///< "ampere", "hopper", ...; empty: not known
  std::string driver;           ///< version of the driver; empty: not known
  std::string mig_parent_uuid;  ///< of a MIG instance: the GPU whose power is all that can be known
  bool simulated = false;
  bool recorded = false;
  /// Whose sensor answers: the parent of a MIG instance, else the GPU itself. GPUs with the same
  /// owner share one energy and one power, which must be summed once.
  [[nodiscard]] const std::string& sensor_owner() const {
    return mig_parent_uuid.empty() ? uuid : mig_parent_uuid;
  }
};

/// The energy counter: joules since the driver was loaded, as an integer. It may stand still
/// between ticks, wrap, or start again: a reader takes differences and checks them.
struct EnergyReading {
  std::int64_t microjoules = 0;
  Nanos begin_ns = 0;  ///< monotonic time before and after the call
  Nanos end_ns = 0;
};

/// The power figure that sample() reads: the best one that this board has.
struct PowerSource {
  Scope scope = Scope::kGpu;
  PowerKind kind = PowerKind::kUsage;
  /// Averaging as documented: 0 "instantaneous", 1 s "one-second average"; nullopt: not documented.
  std::optional<Seconds> documented_average;
  std::string description;  ///< "instantaneous power of the GPU (field 186)"
};

/// Why a clock is not what was asked for. NVIDIA's bits are NVML's own
/// (nvmlClocksEventReasons), AMD's are mapped to the same where the sense is the same; unknown bits
/// are kept.
struct Throttle {
  std::uint64_t bits = 0;
  /// The bits that hold the GPU back: all but idle, asked-for clocks and display clocks.
  [[nodiscard]] std::uint64_t holding_back() const;
  /// "sw power cap, hw thermal slowdown, unknown 0x400"; empty for none.
  [[nodiscard]] std::string names() const;
};

namespace reason {
inline constexpr std::uint64_t kIdle = 0x1;
inline constexpr std::uint64_t kAskedClocks = 0x2;
inline constexpr std::uint64_t kPowerCap = 0x4;
inline constexpr std::uint64_t kHardwareSlowdown = 0x8;
inline constexpr std::uint64_t kSyncBoost = 0x10;
inline constexpr std::uint64_t kThermal = 0x20;
inline constexpr std::uint64_t kHardwareThermal = 0x40;
inline constexpr std::uint64_t kPowerBrake = 0x80;
inline constexpr std::uint64_t kDisplayClocks = 0x100;
}  // namespace reason

/// Time spent held back since the driver was loaded, by reason; reasons that the driver does not
/// count are absent.
struct ThrottleCounter {
  std::uint64_t reason = 0;  ///< one bit of Throttle::bits
  Nanos held_ns = 0;
};

struct PowerLimits {
  Watts current;
  std::optional<Watts> enforced;  ///< after every other limiter; nullopt: not said
  std::optional<Watts> standard;  ///< the board's default
  std::optional<Watts> minimum;
  std::optional<Watts> maximum;
};

struct Process {
  std::uint32_t pid = 0;
  std::optional<std::uint64_t> memory_bytes;
};

struct Mig {
  bool enabled = false;
  std::vector<std::string> instances;  ///< their UUIDs, in order
};

/// What sample() is asked for; each costs a call or a share of one.
struct Fields {
  bool energy = true;
  bool power = true;
  bool clocks = true;
  bool throttle = true;
  bool temperature = true;
  bool memory_power = false;
  bool power_limit = false;
  bool utilization = false;
};

/// One moment of one GPU. nullopt: not asked for, not supported, or refused as implausible
/// (`refused` counts those). Times are monotonic, around all calls of the sample.
struct Sample {
  Nanos begin_ns = 0;
  Nanos end_ns = 0;
  std::optional<std::int64_t> energy_uj;
  std::optional<double> power_w;         ///< by Gpu::power_source()
  std::optional<double> memory_power_w;  ///< the GPU's memory
  std::optional<double> core_hz;         ///< achieved
  std::optional<double> memory_hz;
  std::optional<double> power_limit_w;
  std::optional<double> temperature_c;
  std::optional<double> utilization;  ///< 0 to 1
  std::optional<std::uint64_t> throttle_bits;
  int refused = 0;
};

/// One GPU of a machine. One thread at a time takes readings; control calls may come from another
/// at the same time. Different GPUs may be used from different threads. kUnsupported: this board or
/// driver cannot; kPermission; kDevice: lost, or an answer that cannot be true.
class Gpu {
 public:
  Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  virtual ~Gpu() = default;

  [[nodiscard]] virtual const Identity& identity() const = 0;

  // Readings.
  /// All that is asked for, in as few calls as the driver allows; an error only where the GPU is
  /// gone.
  virtual Result<Sample> sample(const Fields& fields) = 0;
  virtual Result<EnergyReading> energy() = 0;
  virtual Result<Watts> power(Scope scope, PowerKind kind) = 0;
  /// What sample() takes for power, decided once when the GPU was opened.
  virtual Result<PowerSource> power_source() = 0;
  /// What the energy counter covers: of a Grace Hopper the whole module.
  virtual Result<Scope> energy_scope() = 0;
  virtual Result<Hertz> clock(Domain domain) = 0;
  virtual Result<Throttle> throttle() = 0;
  virtual Result<std::vector<ThrottleCounter>> throttle_counters() = 0;
  virtual Result<double> temperature_c() = 0;
  virtual Result<PowerLimits> power_limits() = 0;
  virtual Result<Mig> mig() = 0;
  virtual Result<std::vector<Process>> processes() = 0;
  /// Those that kept the GPU busy at some time after `utc_us` (microseconds since 1970), also where
  /// they have ended; as far back as the driver remembers. Their memory is not told.
  virtual Result<std::vector<Process>> recent_processes(std::int64_t utc_us) {
    static_cast<void>(utc_us);
    return fail(Errc::kUnsupported, "this driver does not remember who kept the GPU busy");
  }
  /// Clocks that can be asked for, rising. For the core those at the highest memory clock unless
  /// `at_memory` says another.
  virtual Result<std::vector<Hertz>> supported_clocks(Domain domain,
                                                      std::optional<Hertz> at_memory = {}) = 0;
  /// Highest clock the board goes to on its own.
  virtual Result<Hertz> maximum_clock(Domain domain) = 0;

  // Control. Call these through a Lease, which gives everything back; a direct call is for giving
  // back only. Success means accepted, not achieved: read the clock back under load.
  virtual Status lock_clocks(Domain domain, Hertz low, Hertz high) = 0;
  virtual Status reset_clocks(Domain domain) = 0;
  virtual Status set_power_limit(Watts limit) = 0;
  /// Whether control calls would be let through, without changing anything: sets what is set
  /// already. kPermission or kUnsupported where not.
  virtual Status probe_control() = 0;
};

}  // namespace ergon::gpu
