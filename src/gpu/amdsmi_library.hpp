// AMD SMI's functions, each looked up by name, and what its status codes mean.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ergon/gpu/machine.hpp"
#include "ergon/gpu_abi/amdsmi.hpp"
#include "library.hpp"

namespace ergon::gpu::amdsmi {

namespace abi = gpu_abi::amdsmi;

/// An initialised AMD SMI; shut down with its last owner. A function that this version lacks is
/// nullptr.
class Smi {
 public:
  static Result<std::shared_ptr<Smi>> open(const std::vector<std::string>& names,
                                           const Options& options);
  ~Smi();
  Smi(const Smi&) = delete;
  Smi& operator=(const Smi&) = delete;

  /// An Error for a status: what was asked of which GPU, why not, what next.
  [[nodiscard]] static Error error(abi::Status code, const std::string& what,
                                   const std::string& gpu);

  bool simulated = false;

#define ERGON_AMDSMI_FUNCTIONS(X) \
  X(amdsmi_init)                  \
  X(amdsmi_shut_down)             \
  X(amdsmi_get_socket_handles)    \
  X(amdsmi_get_processor_handles) \
  X(amdsmi_get_processor_type)    \
  X(amdsmi_get_gpu_device_bdf)    \
  X(amdsmi_get_gpu_device_uuid)   \
  X(amdsmi_get_gpu_asic_info)     \
  X(amdsmi_get_gpu_driver_info)   \
  X(amdsmi_get_energy_count)      \
  X(amdsmi_get_power_info)        \
  X(amdsmi_get_power_cap_info)    \
  X(amdsmi_set_power_cap)         \
  X(amdsmi_get_clock_info)        \
  X(amdsmi_get_clk_freq)          \
  X(amdsmi_set_gpu_clk_limit)     \
  X(amdsmi_set_gpu_clk_range)     \
  X(amdsmi_get_gpu_perf_level)    \
  X(amdsmi_set_gpu_perf_level)    \
  X(amdsmi_get_temp_metric)       \
  X(amdsmi_get_violation_status)  \
  X(amdsmi_get_gpu_activity)      \
  X(amdsmi_get_gpu_process_list)

#define ERGON_AMDSMI_MEMBER(name) abi::fn::name* name = nullptr;
  ERGON_AMDSMI_FUNCTIONS(ERGON_AMDSMI_MEMBER)
#undef ERGON_AMDSMI_MEMBER

 private:
  explicit Smi(Library library);
  Library library_;
};

}  // namespace ergon::gpu::amdsmi
