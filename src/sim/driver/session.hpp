// What the calls of both libraries share: initialisation, handles, faults, the time that a call
// takes. The codes are NVML's; AMD SMI's calls translate them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "ergon/gpu_abi/nvml.hpp"
#include "ergon/sim.hpp"

namespace ergon::sim {

/// What a call is about: faults refuse by kind.
enum class CallKind { kIdentity, kReading, kPower, kEnergy, kProcess, kSetter };

/// The GPU (or MIG instance) behind a handle.
struct Target {
  std::uint32_t gpu = 0;
  std::int32_t instance = -1;  ///< of MIG; -1: the GPU itself
};

class Session {
 public:
  static Session& get();

  /// `amd`: whether the library is AMD's; a machine of the other maker is as no driver.
  gpu_abi::nvml::Return init(bool amd);
  gpu_abi::nvml::Return shutdown();
  [[nodiscard]] bool ready();
  /// Why the machine could not be opened is told by complaint() alone, no longer on stderr.
  void hush() { hushed_ = true; }
  [[nodiscard]] const char* complaint() const { return complaint_.c_str(); }

  /// The machine; only while initialised.
  [[nodiscard]] std::shared_ptr<Machine> machine();
  [[nodiscard]] bool fault(CallFault fault);
  /// When the fault set in, in machine time; empty when it has not.
  [[nodiscard]] std::optional<Nanoseconds> fault_since(CallFault fault);
  [[nodiscard]] std::uint32_t visible_gpus();

  [[nodiscard]] static gpu_abi::nvml::Device handle(Target target);
  [[nodiscard]] std::optional<Target> target(gpu_abi::nvml::Device device);

 private:
  std::mutex mutex_;
  std::shared_ptr<Machine> machine_;
  int users_ = 0;
  std::atomic<bool> any_fault_{false};  ///< of calls
  bool hushed_ = false;
  std::string complaint_;
};

using BoardCall = std::function<gpu_abi::nvml::Return(BoardView&, Nanoseconds now, Target)>;

/// Runs `call` on the board behind `device`, after the checks that its kind asks for and after
/// `call_time_s`.
gpu_abi::nvml::Return with_device(gpu_abi::nvml::Device device, CallKind kind, double call_time_s,
                                  const BoardCall& call);
inline gpu_abi::nvml::Return with_device(gpu_abi::nvml::Device device, CallKind kind,
                                         const BoardCall& call) {
  return with_device(device, kind, 0, call);
}
/// For calls without a device: the checks of initialisation, then `call`.
gpu_abi::nvml::Return with_machine(const std::function<gpu_abi::nvml::Return(Machine&)>& call);

/// Copies a text with its end into a caller's buffer.
gpu_abi::nvml::Return give_text(const std::string& text, char* buffer, std::uint32_t length);
/// Hands a list out by NVML's protocol: too small a buffer gets the count and kInsufficientSize.
template <class T, class List>
gpu_abi::nvml::Return give_list(const List& list, std::uint32_t* count, T* buffer) {
  using gpu_abi::nvml::Return;
  if (count == nullptr) return Return::kInvalidArgument;
  const auto size = static_cast<std::uint32_t>(list.size());
  const bool fits = buffer != nullptr && *count >= size;
  *count = size;
  if (size == 0) return Return::kSuccess;
  if (!fits) return Return::kInsufficientSize;
  std::copy(list.begin(), list.end(), buffer);
  return Return::kSuccess;
}

/// Times the library reports: microseconds since 1970 of a machine time.
[[nodiscard]] std::uint64_t epoch_us(Nanoseconds machine_time);
void pass_time(double seconds);

}  // namespace ergon::sim
