// Prints the size of each structure and the offset of each field, one a line, for comparison with
// others' declarations.
#include <cstdio>

#include "ergon/gpu_abi/amdsmi.hpp"
#include "ergon/gpu_abi/nvml.hpp"

namespace {

namespace amdsmi = ergon::gpu_abi::amdsmi;
namespace nvml = ergon::gpu_abi::nvml;

void size(const char* name, std::size_t bytes) { std::printf("%s . %zu\n", name, bytes); }
void field(const char* name, const char* member, std::size_t offset) {
  std::printf("%s %s %zu\n", name, member, offset);
}

// NAME is the structure's name in the other declaration, THEIRS its field there.
#define ERGON_SIZE(name, type) size(name, sizeof(type))
#define ERGON_FIELD(name, theirs, type, member) field(name, theirs, offsetof(type, member))

void print_nvml() {
  ERGON_SIZE("nvml:nvmlPciInfo_t", nvml::PciInfo);
  ERGON_FIELD("nvml:nvmlPciInfo_t", "domain", nvml::PciInfo, domain);
  ERGON_FIELD("nvml:nvmlPciInfo_t", "pciSubSystemId", nvml::PciInfo, pci_subsystem_id);
  ERGON_FIELD("nvml:nvmlPciInfo_t", "busId", nvml::PciInfo, bus_id);
  ERGON_SIZE("nvml:c_nvmlMemory_t", nvml::Memory);
  ERGON_FIELD("nvml:c_nvmlMemory_t", "used", nvml::Memory, used);
  ERGON_SIZE("nvml:c_nvmlMemory_v2_t", nvml::MemoryV2);
  ERGON_FIELD("nvml:c_nvmlMemory_v2_t", "reserved", nvml::MemoryV2, reserved);
  ERGON_FIELD("nvml:c_nvmlMemory_v2_t", "used", nvml::MemoryV2, used);
  ERGON_SIZE("nvml:c_nvmlBAR1Memory_t", nvml::Bar1Memory);
  ERGON_SIZE("nvml:c_nvmlUtilization_t", nvml::Utilization);
  ERGON_SIZE("nvml:c_nvmlProcessInfo_v2_t", nvml::ProcessInfo);
  ERGON_FIELD("nvml:c_nvmlProcessInfo_v2_t", "usedGpuMemory", nvml::ProcessInfo, used_gpu_memory);
  ERGON_FIELD("nvml:c_nvmlProcessInfo_v2_t", "gpuInstanceId", nvml::ProcessInfo, gpu_instance_id);
  ERGON_SIZE("nvml:c_nvmlProcessUtilizationSample_t", nvml::ProcessUtilizationSample);
  ERGON_FIELD("nvml:c_nvmlProcessUtilizationSample_t", "smUtil", nvml::ProcessUtilizationSample,
              sm);
  ERGON_SIZE("nvml:c_nvmlViolationTime_t", nvml::ViolationTime);
  ERGON_FIELD("nvml:c_nvmlViolationTime_t", "violationTime", nvml::ViolationTime, violation_ns);
  ERGON_SIZE("nvml:c_nvmlTemperature_v1_t", nvml::Temperature);
  ERGON_FIELD("nvml:c_nvmlTemperature_v1_t", "temperature", nvml::Temperature, celsius);
  ERGON_SIZE("nvml:c_nvmlPowerValue_v2_t", nvml::PowerValueV2);
  ERGON_FIELD("nvml:c_nvmlPowerValue_v2_t", "powerValueMw", nvml::PowerValueV2, milliwatts);
  ERGON_SIZE("nvml:c_nvmlValue_t", nvml::Value);
  ERGON_SIZE("nvml:c_nvmlFieldValue_t", nvml::FieldValue);
  ERGON_FIELD("nvml:c_nvmlFieldValue_t", "scopeId", nvml::FieldValue, scope);
  ERGON_FIELD("nvml:c_nvmlFieldValue_t", "timestamp", nvml::FieldValue, timestamp_us);
  ERGON_FIELD("nvml:c_nvmlFieldValue_t", "valueType", nvml::FieldValue, type);
  ERGON_FIELD("nvml:c_nvmlFieldValue_t", "nvmlReturn", nvml::FieldValue, status);
  ERGON_FIELD("nvml:c_nvmlFieldValue_t", "value", nvml::FieldValue, value);
  ERGON_SIZE("nvml:c_nvmlSample_t", nvml::Sample);
  ERGON_FIELD("nvml:c_nvmlSample_t", "sampleValue", nvml::Sample, value);
}

void print_amdsmi() {
  ERGON_SIZE("amdsmi:struct_amdsmi_asic_info_t", amdsmi::AsicInfo);
  ERGON_FIELD("amdsmi:struct_amdsmi_asic_info_t", "device_id", amdsmi::AsicInfo, device_id);
  ERGON_FIELD("amdsmi:struct_amdsmi_asic_info_t", "num_of_compute_units", amdsmi::AsicInfo,
              compute_units);
  ERGON_FIELD("amdsmi:struct_amdsmi_asic_info_t", "target_graphics_version", amdsmi::AsicInfo,
              target_graphics_version);
  ERGON_SIZE("amdsmi:struct_amdsmi_driver_info_t", amdsmi::DriverInfo);
  ERGON_SIZE("amdsmi:struct_amdsmi_version_t", amdsmi::Version);
  ERGON_FIELD("amdsmi:struct_amdsmi_version_t", "build", amdsmi::Version, build);
  ERGON_SIZE("amdsmi:union_amdsmi_bdf_t", amdsmi::Bdf);
  ERGON_SIZE("amdsmi:struct_amdsmi_enumeration_info_t", amdsmi::EnumerationInfo);
  ERGON_SIZE("amdsmi:struct_amdsmi_power_info_t", amdsmi::PowerInfo);
  ERGON_FIELD("amdsmi:struct_amdsmi_power_info_t", "average_socket_power", amdsmi::PowerInfo,
              average_socket_power);
  ERGON_FIELD("amdsmi:struct_amdsmi_power_info_t", "power_limit", amdsmi::PowerInfo, power_limit);
  ERGON_SIZE("amdsmi:struct_amdsmi_power_cap_info_t", amdsmi::PowerCapInfo);
  ERGON_FIELD("amdsmi:struct_amdsmi_power_cap_info_t", "max_power_cap", amdsmi::PowerCapInfo,
              max_power_cap);
  ERGON_SIZE("amdsmi:struct_amdsmi_clk_info_t", amdsmi::ClockInfo);
  ERGON_FIELD("amdsmi:struct_amdsmi_clk_info_t", "clk_locked", amdsmi::ClockInfo, locked);
  ERGON_SIZE("amdsmi:struct_amdsmi_frequencies_t", amdsmi::Frequencies);
  ERGON_FIELD("amdsmi:struct_amdsmi_frequencies_t", "current", amdsmi::Frequencies, current);
  ERGON_FIELD("amdsmi:struct_amdsmi_frequencies_t", "frequency", amdsmi::Frequencies, frequency);
  ERGON_SIZE("amdsmi:struct_amdsmi_engine_usage_t", amdsmi::EngineUsage);
  ERGON_SIZE("amdsmi:struct_amdsmi_vram_usage_t", amdsmi::VramUsage);
  ERGON_SIZE("amdsmi:struct_amdsmi_violation_status_t", amdsmi::ViolationStatus);
  ERGON_FIELD("amdsmi:struct_amdsmi_violation_status_t", "per_ppt_pwr", amdsmi::ViolationStatus,
              per_power);
  ERGON_FIELD("amdsmi:struct_amdsmi_violation_status_t", "active_ppt_pwr", amdsmi::ViolationStatus,
              active_power);
  ERGON_FIELD("amdsmi:struct_amdsmi_violation_status_t", "per_gfx_clk_below_host_limit_pwr",
              amdsmi::ViolationStatus, per_by_xcc);
  ERGON_FIELD("amdsmi:struct_amdsmi_violation_status_t", "reserved", amdsmi::ViolationStatus,
              reserved);
  ERGON_SIZE("amdsmi:struct_amdsmi_proc_info_t", amdsmi::ProcessInfo);
  ERGON_FIELD("amdsmi:struct_amdsmi_proc_info_t", "pid", amdsmi::ProcessInfo, pid);
  ERGON_FIELD("amdsmi:struct_amdsmi_proc_info_t", "engine_usage", amdsmi::ProcessInfo,
              engine_usage);
  ERGON_FIELD("amdsmi:struct_amdsmi_proc_info_t", "cu_occupancy", amdsmi::ProcessInfo,
              cu_occupancy);
}

}  // namespace

int main() {
  print_nvml();
  print_amdsmi();
}
