// What a simulated GPU is: published data of the board, and hidden parameters of its physics and
// sensors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ergon::sim {

/// When a reading changes and what it averages (Yang, Adamek, Armour, SC'24: update period and
/// "boxcar").
struct SensorSpec {
  bool present = true;
  double period_s = 0.1;
  double window_s = 0.1;
};

/// Times as on a wall clock. Reading takes a microsecond or so (0.5 us: what is published for the
/// instant power field), which is what the simulation itself needs.
struct CallTimes {
  double lock_s = 0.012;   ///< setting or resetting clocks (10-20 ms: ml-energy/zeus issue 29)
  double limit_s = 0.006;  ///< setting a power limit
};

/// Identity as the libraries report it.
struct BoardIdentity {
  const char* name = "";
  bool amd = false;
  std::uint32_t architecture = 0;  ///< nvmlDeviceArchitecture_t
  std::int32_t compute_major = 0, compute_minor = 0;
  std::uint32_t pci_device = 0;  ///< device and vendor id as NVML packs them
  std::uint32_t cores = 0;
  std::uint64_t memory_bytes = 0;
  bool geforce = false;
};

/// Clocks in MHz. Supported core clocks are `sm_min + floor(k * sm_step)` up to `sm_max`.
struct ClockSpec {
  double sm_min = 0, sm_max = 0, sm_step = 15;
  double boost = 0;  ///< under load without a lock: the default clock
  double reach = 0;  ///< no lock brings more than this
  double idle = 0;
  std::vector<double> memory;  ///< supported, the default one first
  double memory_idle = 0;      ///< equal to the default one on boards with HBM
  bool memory_lock = true;     ///< Volta refuses it
  double latency_min_s = 0.005, latency_max_s = 0.03;  ///< of a core clock change, by target
};

/// P = constant + DRAM + leakage(V, T) + clock tree(V, f) + compute(V, rate) + memory path(V,
/// rate), in watts at the default clocks and V = 1. V(f) is `floor` up to the knee, then rises to 1
/// at `boost` with `exponent`.
struct PowerSpec {
  double constant = 0;
  double dram = 0;           ///< refresh and interface, follows the memory clock
  double leakage = 0;        ///< at 45 degrees C
  double leakage_per_k = 0;  ///< relative growth per kelvin
  double tree = 0;           ///< clock tree and uncore while a kernel runs
  double tree_idle = 0.3;    ///< share of it while none runs
  double compute = 0;        ///< at peak arithmetic rate
  double memory = 0;         ///< at peak bandwidth
  double knee_mhz = 0, floor = 0.7, exponent = 1.5;
  double bandwidth_knee_mhz = 0;  ///< below this core clock the bandwidth falls with it
  double limit_default = 0, limit_min = 0, limit_max = 0;
};

struct ThermalSpec {
  double ambient_c = 27;
  double k_per_w = 0.1;
  double tau_s = 20;
  double slowdown_c = 90;
};

struct Model {
  const char* key = "";
  BoardIdentity identity;
  ClockSpec clocks;
  PowerSpec power;
  ThermalSpec thermal;
  SensorSpec instant;             ///< NVML_FI_DEV_POWER_INSTANT
  SensorSpec average;             ///< NVML_FI_DEV_POWER_AVERAGE
  bool usage_is_average = false;  ///< what nvmlDeviceGetPowerUsage returns
  bool memory_power = false;      ///< memory scope answers
  double counter_period_s = 0.1;
  CallTimes calls;
};

/// nullptr for a name that is not known.
[[nodiscard]] const Model* find_model(std::string_view key);
[[nodiscard]] std::vector<std::string_view> model_keys();

/// Supported core clocks, MHz, ascending.
[[nodiscard]] std::vector<double> supported_clocks(const Model& model);
/// The highest supported core clock at or below `mhz`, at least the lowest one.
[[nodiscard]] double supported_at_most(const Model& model, double mhz);

}  // namespace ergon::sim
