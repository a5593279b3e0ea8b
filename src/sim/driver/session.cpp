#include "session.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace ergon::sim {

using gpu_abi::nvml::Device;
using gpu_abi::nvml::Return;

namespace {

constexpr std::uint32_t kMaxInstances = 7;
constexpr double kSlowCallS = 0.15;

// Handles are addresses of these bytes: the GPUs first, then the instances of each.
char handle_bytes[kMaxGpus * (1 + kMaxInstances)];

}  // namespace

void pass_time(double s) {
  if (s <= 0) return;
  timespec left{};
  left.tv_sec = static_cast<time_t>(s);
  left.tv_nsec = static_cast<long>((s - static_cast<double>(left.tv_sec)) * 1e9);
  while (nanosleep(&left, &left) != 0) {
  }
}

Session& Session::get() {
  static auto* const session =
      new Session;  // never destroyed: calls may come at the very end of a process
  return *session;
}

Return Session::init(bool amd) {
  const std::lock_guard lock(mutex_);
  if (users_ > 0) {
    ++users_;
    return Return::kSuccess;
  }
  const MachineAddress address = address_from_environment();
  if (address.sim.empty() && address.state_folder.empty()) return Return::kDriverNotLoaded;
  auto machine = Machine::open(address);
  if (!machine) {
    complaint_ = machine.error().message + "\n" + machine.error().hint;
    if (!hushed_) {
      std::fprintf(stderr, "simulated GPU: %s\nhint: %s\n", machine.error().message.c_str(),
                   machine.error().hint.c_str());
    }
    return machine.error().code == Errc::kDevice ? Return::kDriverNotLoaded
                                                 : Return::kInvalidArgument;
  }
  const auto has = [&](CallFault fault) {
    const auto& faults = (*machine)->config().call_faults;
    return std::ranges::any_of(faults, [&](const TimedFault& f) { return f.fault == fault; });
  };
  if ((*machine)->config().model->identity.amd != amd || has(CallFault::kNoDriver))
    return Return::kDriverNotLoaded;
  if (has(CallFault::kVersionMismatch)) return Return::kLibRmVersionMismatch;
  any_fault_.store(!(*machine)->config().call_faults.empty(), std::memory_order_release);
  machine_ = std::move(*machine);
  users_ = 1;
  return Return::kSuccess;
}

Return Session::shutdown() {
  const std::lock_guard lock(mutex_);
  if (users_ == 0) return Return::kUninitialized;
  // The mapping stays for calls that other threads may be in; the next init opens it anew.
  --users_;
  return Return::kSuccess;
}

bool Session::ready() {
  const std::lock_guard lock(mutex_);
  return users_ > 0;
}

std::shared_ptr<Machine> Session::machine() {
  const std::lock_guard lock(mutex_);
  return users_ > 0 ? machine_ : nullptr;
}

std::optional<Nanoseconds> Session::fault_since(CallFault fault) {
  if (!any_fault_.load(std::memory_order_acquire)) return std::nullopt;
  const auto m = machine();
  if (m == nullptr) return std::nullopt;
  for (const TimedFault& timed : m->config().call_faults) {
    if (timed.fault != fault) continue;
    const Nanoseconds since = m->created() + static_cast<Nanoseconds>(timed.since_s * 1e9);
    if (monotonic_ns() >= since) return since;
  }
  return std::nullopt;
}

bool Session::fault(CallFault fault) { return fault_since(fault).has_value(); }

std::uint32_t Session::visible_gpus() {
  const auto m = machine();
  return m == nullptr || fault(CallFault::kNoDevice) ? 0 : m->config().gpus;
}

Device Session::handle(Target target) {
  const std::size_t at = target.instance < 0 ? target.gpu
                                             : kMaxGpus + target.gpu * kMaxInstances +
                                                   static_cast<std::size_t>(target.instance);
  return reinterpret_cast<Device>(&handle_bytes[at]);  // an opaque address
}

std::optional<Target> Session::target(Device device) {
  const auto address = reinterpret_cast<std::uintptr_t>(device);
  const auto first = reinterpret_cast<std::uintptr_t>(&handle_bytes[0]);
  if (address < first || address >= first + sizeof handle_bytes) return std::nullopt;
  const auto at = static_cast<std::uint32_t>(address - first);
  Target found;
  if (at < kMaxGpus) {
    found = {at, -1};
  } else {
    found = {(at - kMaxGpus) / kMaxInstances,
             static_cast<std::int32_t>((at - kMaxGpus) % kMaxInstances)};
  }
  if (found.gpu >= visible_gpus()) return std::nullopt;
  return found;
}

Return with_machine(const std::function<Return(Machine&)>& call) {
  Session& session = Session::get();
  const auto machine = session.machine();
  if (machine == nullptr) return Return::kUninitialized;
  if (session.fault(CallFault::kSlowCalls)) pass_time(kSlowCallS);
  return call(*machine);
}

Return with_device(Device device, CallKind kind, double call_time_s, const BoardCall& call) {
  return with_machine([&](Machine& machine) {
    Session& session = Session::get();
    const auto target = session.target(device);
    if (!target) return Return::kInvalidArgument;
    pass_time(call_time_s);
    if (target->gpu == 0 && session.fault(CallFault::kGpuLost)) return Return::kGpuIsLost;
    const bool power = kind == CallKind::kPower || kind == CallKind::kEnergy;
    if (session.fault(CallFault::kPartial) &&
        (power || kind == CallKind::kSetter || kind == CallKind::kProcess)) {
      return Return::kNotSupported;
    }
    if (kind == CallKind::kPower && session.fault(CallFault::kPowerNa))
      return Return::kNotSupported;
    if (kind == CallKind::kEnergy && session.fault(CallFault::kNoEnergyCounter))
      return Return::kNotSupported;
    if (kind == CallKind::kSetter && session.fault(CallFault::kNoPermission))
      return Return::kNoPermission;
    const bool reading = power || kind == CallKind::kReading;
    if (reading && target->gpu + 1 == machine.config().gpus &&
        session.fault(CallFault::kOneGpuBroken)) {
      return Return::kUnknown;
    }
    if (kind == CallKind::kSetter && target->instance >= 0) return Return::kNotSupported;
    Return result = Return::kUnknown;
    machine.with_board(
        target->gpu, [&](BoardView& view, Nanoseconds now) { result = call(view, now, *target); });
    return result;
  });
}

Return give_text(const std::string& text, char* buffer, std::uint32_t length) {
  if (buffer == nullptr) return Return::kInvalidArgument;
  if (text.size() >= length) return Return::kInsufficientSize;
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return Return::kSuccess;
}

std::uint64_t epoch_us(Nanoseconds machine_time) {
  return static_cast<std::uint64_t>((realtime_ns() - monotonic_ns() + machine_time) / 1000);
}

}  // namespace ergon::sim

// A program that knows the simulated library tells by itself what is wrong with its settings: the
// library then prints nothing. The error is "message\nhint", empty where there was none.
extern "C" [[gnu::visibility("default")]] void ergon_sim_hush() {
  ergon::sim::Session::get().hush();
}
extern "C" [[gnu::visibility("default")]] const char* ergon_sim_error() {
  return ergon::sim::Session::get().complaint();
}
