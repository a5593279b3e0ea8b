// The symbols that the simulated libamd_smi.so exports, each with the type that the ABI header
// gives it.
#pragma once

#include <functional>

#include "ergon/gpu_abi/amdsmi.hpp"
#include "session.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration's name cannot be in parentheses.
#define ERGON_AMDSMI_EXPORT(name) \
  extern "C" [[gnu::visibility("default")]] ::ergon::gpu_abi::amdsmi::fn::name name
// NOLINTEND(bugprone-macro-parentheses)

ERGON_AMDSMI_EXPORT(amdsmi_init);
ERGON_AMDSMI_EXPORT(amdsmi_shut_down);
ERGON_AMDSMI_EXPORT(amdsmi_status_code_to_string);
ERGON_AMDSMI_EXPORT(amdsmi_get_lib_version);
ERGON_AMDSMI_EXPORT(amdsmi_get_socket_handles);
ERGON_AMDSMI_EXPORT(amdsmi_get_processor_handles);
ERGON_AMDSMI_EXPORT(amdsmi_get_processor_type);
ERGON_AMDSMI_EXPORT(amdsmi_get_processor_handle_from_bdf);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_device_bdf);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_device_uuid);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_enumeration_info);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_asic_info);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_driver_info);
ERGON_AMDSMI_EXPORT(amdsmi_get_energy_count);
ERGON_AMDSMI_EXPORT(amdsmi_get_power_info);
ERGON_AMDSMI_EXPORT(amdsmi_get_power_cap_info);
ERGON_AMDSMI_EXPORT(amdsmi_set_power_cap);
ERGON_AMDSMI_EXPORT(amdsmi_get_clock_info);
ERGON_AMDSMI_EXPORT(amdsmi_get_clk_freq);
ERGON_AMDSMI_EXPORT(amdsmi_set_clk_freq);
ERGON_AMDSMI_EXPORT(amdsmi_set_gpu_clk_limit);
ERGON_AMDSMI_EXPORT(amdsmi_set_gpu_clk_range);
ERGON_AMDSMI_EXPORT(amdsmi_set_gpu_perf_determinism_mode);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_perf_level);
ERGON_AMDSMI_EXPORT(amdsmi_set_gpu_perf_level);
ERGON_AMDSMI_EXPORT(amdsmi_get_temp_metric);
ERGON_AMDSMI_EXPORT(amdsmi_get_violation_status);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_activity);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_vram_usage);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_memory_total);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_memory_usage);
ERGON_AMDSMI_EXPORT(amdsmi_get_gpu_process_list);

namespace ergon::sim {

/// The codes of NVML's side in AMD's words.
[[nodiscard]] gpu_abi::amdsmi::Status translated(gpu_abi::nvml::Return result);
/// with_device for AMD's handles; `call` answers in AMD's codes.
gpu_abi::amdsmi::Status with_processor(
    gpu_abi::amdsmi::Processor processor, CallKind kind, double call_time_s,
    const std::function<gpu_abi::amdsmi::Status(BoardView&, Nanoseconds, Target)>& call);
inline gpu_abi::amdsmi::Status with_processor(
    gpu_abi::amdsmi::Processor processor, CallKind kind,
    const std::function<gpu_abi::amdsmi::Status(BoardView&, Nanoseconds, Target)>& call) {
  return with_processor(processor, kind, 0, call);
}
/// Copies a text into a fixed field, cut to fit.
template <std::size_t N>
void set_text(char (&field)[N], const std::string& text) {
  const std::size_t bytes = text.copy(field, N - 1);
  field[bytes] = '\0';
}

}  // namespace ergon::sim
