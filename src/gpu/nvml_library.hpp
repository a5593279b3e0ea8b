// NVML's functions, each looked up by name, and what its return codes mean.
#pragma once
#include <memory>
#include <string>

#include "ergon/gpu/machine.hpp"
#include "ergon/gpu_abi/nvml.hpp"
#include "library.hpp"

namespace ergon::gpu::nvml {

namespace abi = gpu_abi::nvml;
inline constexpr abi::Return kSuccess = abi::Return::kSuccess;

/// An initialised NVML; shut down with its last owner. A function that this version lacks is
/// nullptr.
class Nvml {
 public:
  static Result<std::shared_ptr<Nvml>> open(const std::vector<std::string>& names,
                                            const Options& options);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// An Error for a return code: what was asked of which GPU, why not, what next.
  [[nodiscard]] static Error error(abi::Return code, const std::string& what,
                                   const std::string& gpu);
  /// The board is gone: nothing more can be asked of it.
  [[nodiscard]] static bool is_lost(abi::Return code);

  std::string driver_version;
  bool simulated = false;

#define ERGON_NVML_FUNCTIONS(X)                   \
  X(nvmlInit_v2)                                  \
  X(nvmlShutdown)                                 \
  X(nvmlSystemGetDriverVersion)                   \
  X(nvmlDeviceGetCount_v2)                        \
  X(nvmlDeviceGetHandleByIndex_v2)                \
  X(nvmlDeviceGetName)                            \
  X(nvmlDeviceGetArchitecture)                    \
  X(nvmlDeviceGetUUID)                            \
  X(nvmlDeviceGetPciInfo_v3)                      \
  X(nvmlDeviceGetCudaComputeCapability)           \
  X(nvmlDeviceGetNumGpuCores)                     \
  X(nvmlDeviceGetPowerUsage)                      \
  X(nvmlDeviceGetTotalEnergyConsumption)          \
  X(nvmlDeviceGetFieldValues)                     \
  X(nvmlDeviceGetClockInfo)                       \
  X(nvmlDeviceGetMaxClockInfo)                    \
  X(nvmlDeviceGetSupportedMemoryClocks)           \
  X(nvmlDeviceGetSupportedGraphicsClocks)         \
  X(nvmlDeviceSetGpuLockedClocks)                 \
  X(nvmlDeviceResetGpuLockedClocks)               \
  X(nvmlDeviceSetMemoryLockedClocks)              \
  X(nvmlDeviceResetMemoryLockedClocks)            \
  X(nvmlDeviceGetPowerManagementLimit)            \
  X(nvmlDeviceGetPowerManagementLimitConstraints) \
  X(nvmlDeviceGetPowerManagementDefaultLimit)     \
  X(nvmlDeviceGetEnforcedPowerLimit)              \
  X(nvmlDeviceSetPowerManagementLimit)            \
  X(nvmlDeviceGetCurrentClocksEventReasons)       \
  X(nvmlDeviceGetCurrentClocksThrottleReasons)    \
  X(nvmlDeviceGetViolationStatus)                 \
  X(nvmlDeviceGetTemperature)                     \
  X(nvmlDeviceGetUtilizationRates)                \
  X(nvmlDeviceGetPersistenceMode)                 \
  X(nvmlDeviceSetPersistenceMode)                 \
  X(nvmlDeviceGetMigMode)                         \
  X(nvmlDeviceGetMaxMigDeviceCount)               \
  X(nvmlDeviceGetMigDeviceHandleByIndex)          \
  X(nvmlDeviceGetComputeRunningProcesses_v2)      \
  X(nvmlDeviceGetComputeRunningProcesses_v3)      \
  X(nvmlDeviceGetProcessUtilization)

#define ERGON_NVML_MEMBER(name) abi::fn::name* name = nullptr;
  ERGON_NVML_FUNCTIONS(ERGON_NVML_MEMBER)
#undef ERGON_NVML_MEMBER

 private:
  explicit Nvml(Library library);
  Library library_;
};

}  // namespace ergon::gpu::nvml
