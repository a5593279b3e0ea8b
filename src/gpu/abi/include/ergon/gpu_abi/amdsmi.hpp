// AMD SMI as its binary interface: the values, structures and functions that Ergon calls or plays.
// Own declarations (names of functions are the exported symbols); layouts and values of
// library 26.0 as in ROCm 7.0, compared by a test with the ctypes structures of the PyPI package
// amdsmi 7.0.2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ergon::gpu_abi::amdsmi {

enum class Status : std::uint32_t {
  kSuccess = 0,
  kInvalid = 1,
  kNotSupported = 2,
  kNotYetImplemented = 3,
  kApiFailed = 7,
  kTimeout = 8,
  kNoPermission = 10,
  kInputOutOfBounds = 17,
  kInitError = 18,
  kBusy = 30,
  kNotFound = 31,
  kNotInit = 32,
  kDriverNotLoaded = 34,
  kNoData = 40,
  kInsufficientSize = 41,
  kUnexpectedData = 43,
  kNoDriver = 51,
  kNullPointer = 53,
  kUnknown = 0xffffffff,
};

using Socket = void*;
using Processor = void*;

inline constexpr std::uint64_t kInitAmdGpus = 2;
enum class ProcessorType : std::uint32_t { kUnknown = 0, kAmdGpu = 1, kAmdCpu = 2 };
enum class ClockType : std::uint32_t {
  kGfx = 0,
  kDf = 1,
  kDcef = 2,
  kSoc = 3,
  kMem = 4,
  kPcie = 5
};
enum class ClockLimit : std::uint32_t { kMin = 0, kMax = 1 };
enum class PerfLevel : std::uint32_t {
  kAuto = 0,
  kLow = 1,
  kHigh = 2,
  kManual = 3,
  kDeterminism = 8,
  kUnknown = 256
};
enum class TemperatureType : std::uint32_t { kEdge = 0, kHotspot = 1, kVram = 2 };
enum class TemperatureMetric : std::uint32_t { kCurrent = 0, kCritical = 5 };
enum class MemoryType : std::uint32_t { kVram = 0, kVisibleVram = 1, kGtt = 2 };

inline constexpr std::size_t kStringBytes = 256;
inline constexpr std::uint32_t kUuidBytes = 38;
inline constexpr std::size_t kMaxFrequencies = 33;
inline constexpr std::size_t kMaxXcc = 8;

struct AsicInfo {
  char market_name[kStringBytes];
  std::uint32_t vendor_id;
  char vendor_name[kStringBytes];
  std::uint32_t subvendor_id;
  std::uint64_t device_id;
  std::uint32_t rev_id;
  char asic_serial[kStringBytes];
  std::uint32_t oam_id;
  std::uint32_t compute_units;
  std::uint64_t target_graphics_version;
  std::uint32_t subsystem_id;
  std::uint32_t reserved[21];
};

struct DriverInfo {
  char version[kStringBytes];
  char date[kStringBytes];
  char name[kStringBytes];
};

struct Version {
  std::uint32_t major, minor, release;
  const char* build;
};

// domain:bus:device.function packed from the high bits down: 48, 8, 5, 3.
struct Bdf {
  std::uint64_t bits;
};

struct EnumerationInfo {
  std::uint32_t drm_render, drm_card, hsa_id, hip_id;
  char hip_uuid[kStringBytes];
};

struct PowerInfo {
  std::uint64_t socket_power;          // W
  std::uint32_t current_socket_power;  // W, MI300 and later; 0xffffffff or 0xffff: unknown
  std::uint32_t average_socket_power;  // W, earlier ones
  std::uint64_t gfx_voltage, soc_voltage, mem_voltage;  // mV
  std::uint32_t power_limit;                            // W
  std::uint64_t reserved[18];
};

struct PowerCapInfo {
  std::uint64_t power_cap, default_power_cap, dpm_cap, min_power_cap,
      max_power_cap;  // uW (dpm_cap: MHz)
  std::uint64_t reserved[3];
};

struct ClockInfo {
  std::uint32_t clock, min_clock, max_clock;  // MHz
  std::uint8_t locked, deep_sleep;
  std::uint32_t reserved[4];
};

struct Frequencies {
  bool has_deep_sleep;
  std::uint32_t supported;
  std::uint32_t current;
  std::uint64_t frequency[kMaxFrequencies];  // Hz
};

struct EngineUsage {
  std::uint32_t gfx, umc, mm;  // percent
  std::uint32_t reserved[13];
};

struct VramUsage {
  std::uint32_t total, used;  // MB
  std::uint32_t reserved[2];
};

// Accumulated throttling: counters of residency, active flags (1, 0, or 0xff: unknown) and
// percentages.
struct ViolationStatus {
  std::uint64_t reference_timestamp;  // us since 1970
  std::uint64_t violation_timestamp;
  std::uint64_t acc_counter;
  std::uint64_t acc_prochot, acc_power, acc_socket_thermal, acc_vr_thermal, acc_hbm_thermal,
      acc_below_host_limit;
  std::uint64_t per_prochot, per_power, per_socket_thermal, per_vr_thermal, per_hbm_thermal,
      per_below_host_limit;
  std::uint8_t active_prochot, active_power, active_socket_thermal, active_vr_thermal,
      active_hbm_thermal, active_below_host_limit;
  std::uint64_t acc_by_xcc[4][kMaxXcc][8];
  std::uint64_t per_by_xcc[4][kMaxXcc][8];
  std::uint8_t active_by_xcc[4][kMaxXcc][8];
  std::uint64_t reserved[3][8][8];
};

struct ProcessInfo {
  char name[kStringBytes];
  std::uint32_t pid;
  std::uint64_t memory;  // bytes
  struct {
    std::uint64_t gfx, enc;  // ns
    std::uint32_t reserved[12];
  } engine_usage;
  struct {
    std::uint64_t gtt, cpu, vram;  // bytes
    std::uint32_t reserved[10];
  } memory_usage;
  char container_name[kStringBytes];
  std::uint32_t cu_occupancy;
  std::uint32_t reserved[11];
};

// Every function type, under the name of its symbol.
namespace fn {
using amdsmi_init = Status(std::uint64_t flags);
using amdsmi_shut_down = Status();
using amdsmi_status_code_to_string = Status(Status, const char**);
using amdsmi_get_lib_version = Status(Version*);
using amdsmi_get_socket_handles = Status(std::uint32_t* count, Socket*);
using amdsmi_get_processor_handles = Status(Socket, std::uint32_t* count, Processor*);
using amdsmi_get_processor_type = Status(Processor, ProcessorType*);
using amdsmi_get_processor_handle_from_bdf = Status(Bdf, Processor*);
using amdsmi_get_gpu_device_bdf = Status(Processor, Bdf*);
using amdsmi_get_gpu_device_uuid = Status(Processor, std::uint32_t* length, char*);
using amdsmi_get_gpu_enumeration_info = Status(Processor, EnumerationInfo*);
using amdsmi_get_gpu_asic_info = Status(Processor, AsicInfo*);
using amdsmi_get_gpu_driver_info = Status(Processor, DriverInfo*);
using amdsmi_get_energy_count = Status(Processor, std::uint64_t* count,
                                       float* microjoules_per_count, std::uint64_t* timestamp_ns);
using amdsmi_get_power_info = Status(Processor, PowerInfo*);
using amdsmi_get_power_cap_info = Status(Processor, std::uint32_t sensor, PowerCapInfo*);
using amdsmi_set_power_cap = Status(Processor, std::uint32_t sensor, std::uint64_t microwatts);
using amdsmi_get_clock_info = Status(Processor, ClockType, ClockInfo*);
using amdsmi_get_clk_freq = Status(Processor, ClockType, Frequencies*);
using amdsmi_set_clk_freq = Status(Processor, ClockType, std::uint64_t bitmask);
using amdsmi_set_gpu_clk_limit = Status(Processor, ClockType, ClockLimit, std::uint64_t mhz);
using amdsmi_set_gpu_clk_range = Status(Processor, std::uint64_t min_mhz, std::uint64_t max_mhz,
                                        ClockType);
using amdsmi_set_gpu_perf_determinism_mode = Status(Processor, std::uint64_t mhz);
using amdsmi_get_gpu_perf_level = Status(Processor, PerfLevel*);
using amdsmi_set_gpu_perf_level = Status(Processor, PerfLevel);
using amdsmi_get_temp_metric = Status(Processor, TemperatureType, TemperatureMetric,
                                      std::int64_t* celsius);
using amdsmi_get_violation_status = Status(Processor, ViolationStatus*);
using amdsmi_get_gpu_activity = Status(Processor, EngineUsage*);
using amdsmi_get_gpu_vram_usage = Status(Processor, VramUsage*);
using amdsmi_get_gpu_memory_total = Status(Processor, MemoryType, std::uint64_t*);
using amdsmi_get_gpu_memory_usage = Status(Processor, MemoryType, std::uint64_t*);
using amdsmi_get_gpu_process_list = Status(Processor, std::uint32_t* count, ProcessInfo*);
}  // namespace fn

}  // namespace ergon::gpu_abi::amdsmi
