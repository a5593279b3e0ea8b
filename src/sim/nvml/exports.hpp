// The symbols that the simulated libnvidia-ml.so.1 exports, each with the type that the ABI header
// gives it: a definition that differs does not compile. What is not listed is absent, as in an
// older driver.
#pragma once

#include "ergon/gpu_abi/nvml.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration's name cannot be in parentheses.
#define ERGON_NVML_EXPORT(name) \
  extern "C" [[gnu::visibility("default")]] ::ergon::gpu_abi::nvml::fn::name name
// NOLINTEND(bugprone-macro-parentheses)

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
ERGON_NVML_EXPORT(nvmlInit);
ERGON_NVML_EXPORT(nvmlInit_v2);
ERGON_NVML_EXPORT(nvmlInitWithFlags);
ERGON_NVML_EXPORT(nvmlShutdown);
ERGON_NVML_EXPORT(nvmlErrorString);
ERGON_NVML_EXPORT(nvmlSystemGetDriverVersion);
ERGON_NVML_EXPORT(nvmlSystemGetNVMLVersion);
ERGON_NVML_EXPORT(nvmlSystemGetCudaDriverVersion);
ERGON_NVML_EXPORT(nvmlSystemGetCudaDriverVersion_v2);
ERGON_NVML_EXPORT(nvmlSystemGetProcessName);
ERGON_NVML_EXPORT(nvmlDeviceGetCount);
ERGON_NVML_EXPORT(nvmlDeviceGetCount_v2);
ERGON_NVML_EXPORT(nvmlDeviceGetHandleByIndex);
ERGON_NVML_EXPORT(nvmlDeviceGetHandleByIndex_v2);
ERGON_NVML_EXPORT(nvmlDeviceGetHandleByUUID);
ERGON_NVML_EXPORT(nvmlDeviceGetHandleByPciBusId_v2);
ERGON_NVML_EXPORT(nvmlDeviceGetName);
ERGON_NVML_EXPORT(nvmlDeviceGetBrand);
ERGON_NVML_EXPORT(nvmlDeviceGetArchitecture);
ERGON_NVML_EXPORT(nvmlDeviceGetIndex);
ERGON_NVML_EXPORT(nvmlDeviceGetUUID);
ERGON_NVML_EXPORT(nvmlDeviceGetSerial);
ERGON_NVML_EXPORT(nvmlDeviceGetMinorNumber);
ERGON_NVML_EXPORT(nvmlDeviceGetVbiosVersion);
ERGON_NVML_EXPORT(nvmlDeviceGetPciInfo_v3);
ERGON_NVML_EXPORT(nvmlDeviceGetCudaComputeCapability);
ERGON_NVML_EXPORT(nvmlDeviceGetC2cModeInfoV);
ERGON_NVML_EXPORT(nvmlDeviceGetNumGpuCores);
ERGON_NVML_EXPORT(nvmlDeviceGetPowerUsage);
ERGON_NVML_EXPORT(nvmlDeviceGetTotalEnergyConsumption);
ERGON_NVML_EXPORT(nvmlDeviceGetFieldValues);
ERGON_NVML_EXPORT(nvmlDeviceGetSamples);
ERGON_NVML_EXPORT(nvmlDeviceGetClockInfo);
ERGON_NVML_EXPORT(nvmlDeviceGetMaxClockInfo);
ERGON_NVML_EXPORT(nvmlDeviceGetClock);
ERGON_NVML_EXPORT(nvmlDeviceGetMaxCustomerBoostClock);
ERGON_NVML_EXPORT(nvmlDeviceGetApplicationsClock);
ERGON_NVML_EXPORT(nvmlDeviceGetDefaultApplicationsClock);
ERGON_NVML_EXPORT(nvmlDeviceSetApplicationsClocks);
ERGON_NVML_EXPORT(nvmlDeviceResetApplicationsClocks);
ERGON_NVML_EXPORT(nvmlDeviceGetSupportedMemoryClocks);
ERGON_NVML_EXPORT(nvmlDeviceGetSupportedGraphicsClocks);
ERGON_NVML_EXPORT(nvmlDeviceSetGpuLockedClocks);
ERGON_NVML_EXPORT(nvmlDeviceResetGpuLockedClocks);
ERGON_NVML_EXPORT(nvmlDeviceSetMemoryLockedClocks);
ERGON_NVML_EXPORT(nvmlDeviceResetMemoryLockedClocks);
ERGON_NVML_EXPORT(nvmlDeviceGetPowerManagementMode);
ERGON_NVML_EXPORT(nvmlDeviceGetPowerManagementLimit);
ERGON_NVML_EXPORT(nvmlDeviceGetPowerManagementLimitConstraints);
ERGON_NVML_EXPORT(nvmlDeviceGetPowerManagementDefaultLimit);
ERGON_NVML_EXPORT(nvmlDeviceGetEnforcedPowerLimit);
ERGON_NVML_EXPORT(nvmlDeviceSetPowerManagementLimit);
ERGON_NVML_EXPORT(nvmlDeviceSetPowerManagementLimit_v2);
ERGON_NVML_EXPORT(nvmlDeviceGetCurrentClocksEventReasons);
ERGON_NVML_EXPORT(nvmlDeviceGetSupportedClocksEventReasons);
ERGON_NVML_EXPORT(nvmlDeviceGetCurrentClocksThrottleReasons);
ERGON_NVML_EXPORT(nvmlDeviceGetSupportedClocksThrottleReasons);
ERGON_NVML_EXPORT(nvmlDeviceGetViolationStatus);
ERGON_NVML_EXPORT(nvmlDeviceGetTemperature);
ERGON_NVML_EXPORT(nvmlDeviceGetTemperatureV);
ERGON_NVML_EXPORT(nvmlDeviceGetTemperatureThreshold);
ERGON_NVML_EXPORT(nvmlDeviceGetFanSpeed);
ERGON_NVML_EXPORT(nvmlDeviceGetUtilizationRates);
ERGON_NVML_EXPORT(nvmlDeviceGetEncoderUtilization);
ERGON_NVML_EXPORT(nvmlDeviceGetDecoderUtilization);
ERGON_NVML_EXPORT(nvmlDeviceGetProcessUtilization);
ERGON_NVML_EXPORT(nvmlDeviceGetPerformanceState);
ERGON_NVML_EXPORT(nvmlDeviceGetMemoryInfo);
ERGON_NVML_EXPORT(nvmlDeviceGetMemoryInfo_v2);
ERGON_NVML_EXPORT(nvmlDeviceGetBAR1MemoryInfo);
ERGON_NVML_EXPORT(nvmlDeviceGetPersistenceMode);
ERGON_NVML_EXPORT(nvmlDeviceSetPersistenceMode);
ERGON_NVML_EXPORT(nvmlDeviceGetComputeMode);
ERGON_NVML_EXPORT(nvmlDeviceGetDisplayMode);
ERGON_NVML_EXPORT(nvmlDeviceGetDisplayActive);
ERGON_NVML_EXPORT(nvmlDeviceGetMigMode);
ERGON_NVML_EXPORT(nvmlDeviceGetMaxMigDeviceCount);
ERGON_NVML_EXPORT(nvmlDeviceGetMigDeviceHandleByIndex);
ERGON_NVML_EXPORT(nvmlDeviceGetDeviceHandleFromMigDeviceHandle);
ERGON_NVML_EXPORT(nvmlDeviceIsMigDeviceHandle);
ERGON_NVML_EXPORT(nvmlDeviceGetGpuInstanceId);
ERGON_NVML_EXPORT(nvmlDeviceGetComputeInstanceId);
ERGON_NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses);
ERGON_NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v2);
ERGON_NVML_EXPORT(nvmlDeviceGetComputeRunningProcesses_v3);
ERGON_NVML_EXPORT(nvmlDeviceGetGraphicsRunningProcesses_v3);
ERGON_NVML_EXPORT(nvmlDeviceGetMPSComputeRunningProcesses_v3);
ERGON_NVML_EXPORT(nvmlDeviceGetDriverModel);
ERGON_NVML_EXPORT(nvmlDeviceGetDriverModel_v2);
ERGON_NVML_EXPORT(nvmlDeviceGetTotalEccErrors);
// NOLINTEND(readability-identifier-naming)
