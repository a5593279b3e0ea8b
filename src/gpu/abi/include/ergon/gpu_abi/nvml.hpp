// NVIDIA's management library as its binary interface: the values, structures and functions that
// Ergon calls or plays. Own declarations (names of functions are the exported symbols); layouts as
// in driver branches 450 to 580, where they did not change. A test compares every size and offset
// with the ctypes structures of nvidia-ml-py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ergon::gpu_abi::nvml {

// What every function returns. Drivers return codes that are not listed here; keep them as numbers.
enum class Return : std::uint32_t {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kAlreadyInitialized = 5,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kCorruptedInforom = 14,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kLibRmVersionMismatch = 18,
  kInUse = 19,
  kMemory = 20,
  kNoData = 21,
  kInsufficientResources = 23,
  kFreqNotSupported = 24,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kInvalidState = 29,
  kUnknown = 999,
};

struct DeviceOpaque;
using Device = DeviceOpaque*;

// Flags of nvmlInitWithFlags.
inline constexpr std::uint32_t kInitNoGpus = 1;
inline constexpr std::uint32_t kInitNoAttach = 2;

inline constexpr std::uint32_t kNameBytes = 96;
inline constexpr std::uint32_t kUuidBytes = 96;
inline constexpr std::uint32_t kSerialBytes = 30;
inline constexpr std::uint32_t kVersionBytes = 80;
inline constexpr std::uint32_t kVbiosBytes = 32;

// A structure with a version field states its size and revision there.
template <class Struct>
constexpr std::uint32_t struct_version(std::uint32_t revision) {
  return static_cast<std::uint32_t>(sizeof(Struct)) | (revision << 24);
}

struct PciInfo {
  char bus_id_legacy[16];
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
  std::uint32_t pci_device_id;  // device id in the high half, vendor id in the low half
  std::uint32_t pci_subsystem_id;
  char bus_id[32];  // "00000000:07:00.0"
};

struct Memory {
  std::uint64_t total, free, used;  // bytes
};

struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;  // bytes
};

struct Bar1Memory {
  std::uint64_t total, free, used;  // bytes
};

struct Utilization {
  std::uint32_t gpu, memory;  // percent of the last sample period with work
};

struct ProcessInfoV1 {
  std::uint32_t pid;
  std::uint64_t used_gpu_memory;  // bytes, or kValueNotAvailable
};

struct ProcessInfo {  // of the _v2 and _v3 functions
  std::uint32_t pid;
  std::uint64_t used_gpu_memory;  // bytes, or kValueNotAvailable
  std::uint32_t gpu_instance_id;  // kNoInstance without MIG
  std::uint32_t compute_instance_id;
};
inline constexpr std::uint64_t kValueNotAvailable = ~std::uint64_t{0};
inline constexpr std::uint32_t kNoInstance = ~std::uint32_t{0};

struct ProcessUtilizationSample {
  std::uint32_t pid;
  std::uint64_t timestamp_us;
  std::uint32_t sm, memory, encoder, decoder;  // percent
};

struct ViolationTime {
  std::uint64_t reference_us;
  std::uint64_t violation_ns;
};

struct Temperature {  // nvmlTemperature_v1_t
  std::uint32_t version;
  std::uint32_t sensor;
  std::int32_t celsius;
};

struct PowerValueV2 {
  std::uint32_t version;
  std::uint32_t scope;
  std::uint32_t milliwatts;
};

union Value {
  double as_double;
  std::uint32_t as_uint;
  unsigned long as_ulong;
  std::uint64_t as_ullong;
  std::int64_t as_sllong;
  std::int32_t as_int;
  std::uint16_t as_ushort;
};

enum class ValueType : std::uint32_t {
  kDouble = 0,
  kUint = 1,
  kUlong = 2,
  kUllong = 3,
  kSllong = 4,
  kInt = 5,
  kUshort = 6,
};

// One entry of nvmlDeviceGetFieldValues: the call succeeds while an entry fails, so `status` is
// read for each.
struct FieldValue {
  std::uint32_t field;
  std::uint32_t scope;
  std::int64_t timestamp_us;  // CPU time, microseconds since 1970
  std::int64_t latency_us;
  ValueType type;
  Return status;
  Value value;
};

struct Sample {
  std::uint64_t timestamp_us;
  Value value;
};

// Field ids of nvmlDeviceGetFieldValues.
enum class Field : std::uint32_t {
  kPerfPolicyPower = 74,  // ns spent below the asked clock because of the power limit
  kPerfPolicyThermal = 75,
  kPerfPolicySyncBoost = 76,
  kPerfPolicyBoardLimit = 77,
  kPerfPolicyLowUtilization = 78,
  kPerfPolicyReliability = 79,
  kPerfPolicyTotalAppClocks = 80,
  kPerfPolicyTotalBaseClocks = 81,
  kMemoryTemperature = 82,
  kTotalEnergy = 83,    // mJ since the driver was loaded
  kPowerAverage = 185,  // mW, by scope
  kPowerInstant = 186,
  kPowerMinLimit = 187,
  kPowerMaxLimit = 188,
  kPowerDefaultLimit = 189,
  kPowerCurrentLimit = 190,
  kEnergy = 191,
  kPowerRequestedLimit = 192,
  kReasonSwThermalSlowdown = 269,  // ns
  kReasonHwThermalSlowdown = 270,
  kReasonHwPowerBrakeSlowdown = 271,
};

enum class PowerScope : std::uint32_t { kGpu = 0, kModule = 1, kMemory = 2 };

enum class ClockType : std::uint32_t { kGraphics = 0, kSm = 1, kMemory = 2, kVideo = 3 };
enum class ClockId : std::uint32_t { kCurrent = 0, kAppTarget = 1, kAppDefault = 2, kBoostMax = 3 };
inline constexpr std::uint32_t kTemperatureGpu = 0;
enum class TemperatureThreshold : std::uint32_t {
  kShutdown = 0,
  kSlowdown = 1,
  kMemoryMax = 2,
  kGpuMax = 3,
};
enum class PerfPolicy : std::uint32_t {
  kPower = 0,
  kThermal = 1,
  kSyncBoost = 2,
  kBoardLimit = 3,
  kLowUtilization = 4,
  kReliability = 5
};
enum class SampleKind : std::uint32_t {
  kPower = 0,
  kGpuUtilization = 1,
  kMemoryUtilization = 2,
  kProcessorClock = 5,
  kMemoryClock = 6,
  kModulePower = 7
};
enum class Architecture : std::uint32_t {
  kVolta = 5,
  kTuring = 6,
  kAmpere = 7,
  kAda = 8,
  kHopper = 9,
  kBlackwell = 10
};

// Bits of the clocks event (throttle) reasons. Drivers set bits that are not listed; keep them.
enum Reason : std::uint64_t {
  kReasonGpuIdle = 0x1,
  kReasonApplicationClocks = 0x2,
  kReasonSwPowerCap = 0x4,
  kReasonHwSlowdown = 0x8,
  kReasonSyncBoost = 0x10,
  kReasonSwThermal = 0x20,
  kReasonHwThermal = 0x40,
  kReasonHwPowerBrake = 0x80,
  kReasonDisplayClock = 0x100,
  kReasonBoardLimit = 0x200,
  kReasonReliability = 0x400,
};

// Every function type, under the name of its symbol: `fn::nvmlDeviceGetCount_v2* count =
// dlsym(...)`.
namespace fn {
using nvmlInit = Return();
using nvmlInit_v2 = Return();
using nvmlInitWithFlags = Return(std::uint32_t flags);
using nvmlShutdown = Return();
using nvmlErrorString = const char*(Return);
using nvmlSystemGetDriverVersion = Return(char*, std::uint32_t);
using nvmlSystemGetNVMLVersion = Return(char*, std::uint32_t);
using nvmlSystemGetCudaDriverVersion = Return(std::int32_t*);
using nvmlSystemGetCudaDriverVersion_v2 = Return(std::int32_t*);
using nvmlSystemGetProcessName = Return(std::uint32_t pid, char*, std::uint32_t);
using nvmlDeviceGetCount = Return(std::uint32_t*);
using nvmlDeviceGetCount_v2 = Return(std::uint32_t*);
using nvmlDeviceGetHandleByIndex = Return(std::uint32_t, Device*);
using nvmlDeviceGetHandleByIndex_v2 = Return(std::uint32_t, Device*);
using nvmlDeviceGetHandleByUUID = Return(const char*, Device*);
using nvmlDeviceGetHandleByPciBusId_v2 = Return(const char*, Device*);
using nvmlDeviceGetName = Return(Device, char*, std::uint32_t);
using nvmlDeviceGetBrand = Return(Device, std::uint32_t*);
using nvmlDeviceGetArchitecture = Return(Device, Architecture*);
using nvmlDeviceGetIndex = Return(Device, std::uint32_t*);
using nvmlDeviceGetUUID = Return(Device, char*, std::uint32_t);
using nvmlDeviceGetSerial = Return(Device, char*, std::uint32_t);
using nvmlDeviceGetMinorNumber = Return(Device, std::uint32_t*);
using nvmlDeviceGetVbiosVersion = Return(Device, char*, std::uint32_t);
using nvmlDeviceGetPciInfo_v3 = Return(Device, PciInfo*);
using nvmlDeviceGetCudaComputeCapability = Return(Device, std::int32_t* major, std::int32_t* minor);
using nvmlDeviceGetC2cModeInfoV = Return(Device, void*);
using nvmlDeviceGetNumGpuCores = Return(Device, std::uint32_t*);
using nvmlDeviceGetPowerUsage = Return(Device, std::uint32_t* milliwatts);
using nvmlDeviceGetTotalEnergyConsumption = Return(Device, std::uint64_t* millijoules);
using nvmlDeviceGetFieldValues = Return(Device, std::int32_t count, FieldValue*);
using nvmlDeviceGetSamples = Return(Device, SampleKind, std::uint64_t last_seen_us, ValueType*,
                                    std::uint32_t* count, Sample*);
using nvmlDeviceGetClockInfo = Return(Device, ClockType, std::uint32_t* mhz);
using nvmlDeviceGetMaxClockInfo = Return(Device, ClockType, std::uint32_t* mhz);
using nvmlDeviceGetClock = Return(Device, ClockType, ClockId, std::uint32_t* mhz);
using nvmlDeviceGetMaxCustomerBoostClock = Return(Device, ClockType, std::uint32_t* mhz);
using nvmlDeviceGetApplicationsClock = Return(Device, ClockType, std::uint32_t* mhz);
using nvmlDeviceGetDefaultApplicationsClock = Return(Device, ClockType, std::uint32_t* mhz);
using nvmlDeviceSetApplicationsClocks = Return(Device, std::uint32_t memory_mhz,
                                               std::uint32_t graphics_mhz);
using nvmlDeviceResetApplicationsClocks = Return(Device);
using nvmlDeviceGetSupportedMemoryClocks = Return(Device, std::uint32_t* count, std::uint32_t* mhz);
using nvmlDeviceGetSupportedGraphicsClocks = Return(Device, std::uint32_t memory_mhz,
                                                    std::uint32_t* count, std::uint32_t* mhz);
using nvmlDeviceSetGpuLockedClocks = Return(Device, std::uint32_t min_mhz, std::uint32_t max_mhz);
using nvmlDeviceResetGpuLockedClocks = Return(Device);
using nvmlDeviceSetMemoryLockedClocks = Return(Device, std::uint32_t min_mhz,
                                               std::uint32_t max_mhz);
using nvmlDeviceResetMemoryLockedClocks = Return(Device);
using nvmlDeviceGetPowerManagementMode = Return(Device, std::uint32_t*);
using nvmlDeviceGetPowerManagementLimit = Return(Device, std::uint32_t* milliwatts);
using nvmlDeviceGetPowerManagementLimitConstraints = Return(Device, std::uint32_t* min_mw,
                                                            std::uint32_t* max_mw);
using nvmlDeviceGetPowerManagementDefaultLimit = Return(Device, std::uint32_t* milliwatts);
using nvmlDeviceGetEnforcedPowerLimit = Return(Device, std::uint32_t* milliwatts);
using nvmlDeviceSetPowerManagementLimit = Return(Device, std::uint32_t milliwatts);
using nvmlDeviceSetPowerManagementLimit_v2 = Return(Device, PowerValueV2*);
using nvmlDeviceGetCurrentClocksEventReasons = Return(Device, std::uint64_t*);
using nvmlDeviceGetSupportedClocksEventReasons = Return(Device, std::uint64_t*);
using nvmlDeviceGetCurrentClocksThrottleReasons = Return(Device, std::uint64_t*);
using nvmlDeviceGetSupportedClocksThrottleReasons = Return(Device, std::uint64_t*);
using nvmlDeviceGetViolationStatus = Return(Device, PerfPolicy, ViolationTime*);
using nvmlDeviceGetTemperature = Return(Device, std::uint32_t sensor, std::uint32_t* celsius);
using nvmlDeviceGetTemperatureV = Return(Device, Temperature*);
using nvmlDeviceGetTemperatureThreshold = Return(Device, TemperatureThreshold,
                                                 std::uint32_t* celsius);
using nvmlDeviceGetFanSpeed = Return(Device, std::uint32_t* percent);
using nvmlDeviceGetUtilizationRates = Return(Device, Utilization*);
using nvmlDeviceGetEncoderUtilization = Return(Device, std::uint32_t* percent,
                                               std::uint32_t* period_us);
using nvmlDeviceGetDecoderUtilization = Return(Device, std::uint32_t* percent,
                                               std::uint32_t* period_us);
using nvmlDeviceGetProcessUtilization = Return(Device, ProcessUtilizationSample*,
                                               std::uint32_t* count, std::uint64_t last_seen_us);
using nvmlDeviceGetPerformanceState = Return(Device, std::uint32_t*);
using nvmlDeviceGetMemoryInfo = Return(Device, Memory*);
using nvmlDeviceGetMemoryInfo_v2 = Return(Device, MemoryV2*);
using nvmlDeviceGetBAR1MemoryInfo = Return(Device, Bar1Memory*);
using nvmlDeviceGetPersistenceMode = Return(Device, std::uint32_t*);
using nvmlDeviceSetPersistenceMode = Return(Device, std::uint32_t);
using nvmlDeviceGetComputeMode = Return(Device, std::uint32_t*);
using nvmlDeviceGetDisplayMode = Return(Device, std::uint32_t*);
using nvmlDeviceGetDisplayActive = Return(Device, std::uint32_t*);
using nvmlDeviceGetDriverModel = Return(Device, std::uint32_t* current, std::uint32_t* pending);
using nvmlDeviceGetDriverModel_v2 = Return(Device, std::uint32_t* current, std::uint32_t* pending);
using nvmlDeviceGetTotalEccErrors = Return(Device, std::uint32_t kind, std::uint32_t counter,
                                           std::uint64_t*);
using nvmlDeviceGetMigMode = Return(Device, std::uint32_t* current, std::uint32_t* pending);
using nvmlDeviceGetMaxMigDeviceCount = Return(Device, std::uint32_t*);
using nvmlDeviceGetMigDeviceHandleByIndex = Return(Device, std::uint32_t, Device*);
using nvmlDeviceGetDeviceHandleFromMigDeviceHandle = Return(Device, Device*);
using nvmlDeviceIsMigDeviceHandle = Return(Device, std::uint32_t*);
using nvmlDeviceGetGpuInstanceId = Return(Device, std::uint32_t*);
using nvmlDeviceGetComputeInstanceId = Return(Device, std::uint32_t*);
using nvmlDeviceGetComputeRunningProcesses = Return(Device, std::uint32_t* count, ProcessInfoV1*);
using nvmlDeviceGetComputeRunningProcesses_v2 = Return(Device, std::uint32_t* count, ProcessInfo*);
using nvmlDeviceGetComputeRunningProcesses_v3 = Return(Device, std::uint32_t* count, ProcessInfo*);
using nvmlDeviceGetGraphicsRunningProcesses_v3 = Return(Device, std::uint32_t* count, ProcessInfo*);
using nvmlDeviceGetMPSComputeRunningProcesses_v3 = Return(Device, std::uint32_t* count,
                                                          ProcessInfo*);
}  // namespace fn

}  // namespace ergon::gpu_abi::nvml
