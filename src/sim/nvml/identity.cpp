// Initialisation, versions, which GPUs there are and what they are called.
// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
#include <cstdio>
#include <cstring>
#include <string_view>

#include "exports.hpp"
#include "session.hpp"

using ergon::gpu_abi::nvml::Architecture;
using ergon::gpu_abi::nvml::Device;
using ergon::gpu_abi::nvml::PciInfo;
using ergon::gpu_abi::nvml::Return;
using ergon::sim::BoardView;
using ergon::sim::CallFault;
using ergon::sim::CallKind;
using ergon::sim::give_text;
using ergon::sim::Machine;
using ergon::sim::Nanoseconds;
using ergon::sim::Session;
using ergon::sim::Target;
using ergon::sim::with_device;
using ergon::sim::with_machine;

namespace {

constexpr const char* kDriver = "570.133.20";
constexpr const char* kLibrary = "12.570.133.20";
constexpr std::int32_t kCuda = 12080;

std::string formatted(const char* format, auto... values) {
  char text[128];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string uuid(const BoardView& view, Target target) {
  return ergon::sim::board_uuid(view.model(), view.board().config, target.instance);
}

std::uint32_t bus(std::uint32_t gpu) { return 0x07 + gpu * 0x10; }
std::string bus_id(std::uint32_t gpu) { return formatted("00000000:%02X:00.0", bus(gpu)); }

Return handle_where(const std::function<bool(BoardView&, Target)>& matches, Device* device) {
  if (device == nullptr) return Return::kInvalidArgument;
  return with_machine([&](Machine& machine) {
    const std::uint32_t gpus = Session::get().visible_gpus();
    const bool mig = Session::get().fault(CallFault::kMig);
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
      bool found = false;
      for (std::int32_t instance = -1; instance < (mig ? 2 : 0) && !found; ++instance) {
        machine.with_board(
            gpu, [&](BoardView& view, Nanoseconds) { found = matches(view, {gpu, instance}); });
        if (found) *device = Session::handle({gpu, instance});
      }
      if (found) return Return::kSuccess;
    }
    return Return::kNotFound;
  });
}

}  // namespace

// Tells a program that reads it that this library is not NVIDIA's.
extern "C" [[gnu::visibility("default")]] const char ergon_sim_version[] = "1";

Return nvmlInit() { return Session::get().init(false); }
Return nvmlInit_v2() { return Session::get().init(false); }
Return nvmlInitWithFlags(std::uint32_t /*flags*/) { return Session::get().init(false); }
Return nvmlShutdown() { return Session::get().shutdown(); }

const char* nvmlErrorString(Return result) {
  switch (result) {
    case Return::kSuccess:
      return "Success";
    case Return::kUninitialized:
      return "Uninitialized";
    case Return::kInvalidArgument:
      return "Invalid Argument";
    case Return::kNotSupported:
      return "Not Supported";
    case Return::kNoPermission:
      return "Insufficient Permissions";
    case Return::kNotFound:
      return "Not Found";
    case Return::kInsufficientSize:
      return "Insufficient Size";
    case Return::kDriverNotLoaded:
      return "Driver Not Loaded";
    case Return::kGpuIsLost:
      return "GPU is lost";
    case Return::kLibRmVersionMismatch:
      return "Driver/library version mismatch";
    case Return::kArgumentVersionMismatch:
      return "Argument version mismatch";
    default:
      return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* text, std::uint32_t length) {
  return with_machine([&](Machine&) { return give_text(kDriver, text, length); });
}
Return nvmlSystemGetNVMLVersion(char* text, std::uint32_t length) {
  return give_text(kLibrary, text, length);
}
Return nvmlSystemGetCudaDriverVersion_v2(std::int32_t* version) {
  if (version == nullptr) return Return::kInvalidArgument;
  *version = kCuda;
  return Return::kSuccess;
}
Return nvmlSystemGetCudaDriverVersion(std::int32_t* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}
Return nvmlSystemGetProcessName(std::uint32_t pid, char* text, std::uint32_t length) {
  const std::string name = ergon::sim::process_name(static_cast<std::int32_t>(pid));
  return name.empty() ? Return::kNotFound : give_text(name, text, length);
}

Return nvmlDeviceGetCount_v2(std::uint32_t* count) {
  if (count == nullptr) return Return::kInvalidArgument;
  return with_machine([&](Machine&) {
    *count = Session::get().visible_gpus();
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetCount(std::uint32_t* count) { return nvmlDeviceGetCount_v2(count); }

Return nvmlDeviceGetHandleByIndex_v2(std::uint32_t index, Device* device) {
  if (device == nullptr) return Return::kInvalidArgument;
  return with_machine([&](Machine&) {
    if (index >= Session::get().visible_gpus()) return Return::kInvalidArgument;
    *device = Session::handle({index, -1});
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetHandleByIndex(std::uint32_t index, Device* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}
Return nvmlDeviceGetHandleByUUID(const char* text, Device* device) {
  if (text == nullptr) return Return::kInvalidArgument;
  return handle_where([&](BoardView& view, Target target) { return uuid(view, target) == text; },
                      device);
}
Return nvmlDeviceGetHandleByPciBusId_v2(const char* text, Device* device) {
  if (text == nullptr) return Return::kInvalidArgument;
  // "0000:07:00.0" and "00000000:07:00.0" are the same place, in either case of letters.
  std::string_view given(text);
  const std::size_t domain = given.find(':');
  if (domain == std::string_view::npos) return Return::kInvalidArgument;
  const std::string rest(given.substr(domain));
  return handle_where(
      [&](BoardView&, Target target) {
        return target.instance < 0 &&
               strcasecmp(bus_id(target.gpu).substr(8).c_str(), rest.c_str()) == 0;
      },
      device);
}

Return nvmlDeviceGetName(Device device, char* text, std::uint32_t length) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target target) {
    std::string name = view.model().identity.name;
    if (target.instance >= 0) name += " MIG 3g";
    return give_text(name, text, length);
  });
}
Return nvmlDeviceGetBrand(Device device, std::uint32_t* brand) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target) {
    constexpr std::uint32_t kTesla = 2;
    constexpr std::uint32_t kGeforce = 5;
    constexpr std::uint32_t kNvidia = 14;
    *brand = view.model().identity.geforce             ? kGeforce
             : view.model().identity.architecture == 5 ? kTesla
                                                       : kNvidia;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetArchitecture(Device device, Architecture* architecture) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target) {
    const bool ada =
        view.model().identity.compute_major == 8 && view.model().identity.compute_minor == 9;
    *architecture =
        ada ? Architecture::kAda : static_cast<Architecture>(view.model().identity.architecture);
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetIndex(Device device, std::uint32_t* index) {
  return with_device(device, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target target) {
    *index = target.instance < 0 ? target.gpu : static_cast<std::uint32_t>(target.instance);
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetMinorNumber(Device device, std::uint32_t* minor) {
  return nvmlDeviceGetIndex(device, minor);
}
Return nvmlDeviceGetUUID(Device device, char* text, std::uint32_t length) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target target) {
    return give_text(uuid(view, target), text, length);
  });
}
Return nvmlDeviceGetSerial(Device device, char* text, std::uint32_t length) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target target) {
    if (view.model().identity.geforce) return Return::kNotSupported;
    const auto number =
        static_cast<unsigned>(ergon::sim::draw(view.board().config.seed, 6000, target.gpu) * 1e9);
    return give_text(formatted("1%012u", number), text, length);
  });
}
Return nvmlDeviceGetVbiosVersion(Device device, char* text, std::uint32_t length) {
  return with_device(device, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target) {
    return give_text("92.00.45.00.0E", text, length);
  });
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  if (info == nullptr) return Return::kInvalidArgument;
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target target) {
    *info = PciInfo{};
    info->bus = bus(target.gpu);
    info->pci_device_id = view.model().identity.pci_device;
    info->pci_subsystem_id = 0x146310DE;
    std::strncpy(info->bus_id, bus_id(target.gpu).c_str(), sizeof info->bus_id - 1);
    std::strncpy(info->bus_id_legacy, bus_id(target.gpu).substr(4).c_str(),
                 sizeof info->bus_id_legacy - 1);
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetCudaComputeCapability(Device device, std::int32_t* major, std::int32_t* minor) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target) {
    *major = view.model().identity.compute_major;
    *minor = view.model().identity.compute_minor;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetNumGpuCores(Device device, std::uint32_t* cores) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target) {
    *cores = view.model().identity.cores;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetC2cModeInfoV(Device device, void* /*info*/) {
  return with_device(device, CallKind::kIdentity,
                     [](BoardView&, Nanoseconds, Target) { return Return::kNotSupported; });
}

Return nvmlDeviceGetMigMode(Device device, std::uint32_t* current, std::uint32_t* pending) {
  return with_device(device, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target) {
    const auto& identity = view.model().identity;
    const bool able =
        identity.compute_major >= 9 || (identity.compute_major == 8 && identity.compute_minor == 0);
    if (!able) return Return::kNotSupported;
    *current = *pending = Session::get().fault(CallFault::kMig) ? 1 : 0;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetMaxMigDeviceCount(Device device, std::uint32_t* count) {
  return with_device(device, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target) {
    *count = Session::get().fault(CallFault::kMig) ? 7 : 0;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, std::uint32_t index, Device* instance) {
  return with_device(device, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target target) {
    if (!Session::get().fault(CallFault::kMig) || target.instance >= 0)
      return Return::kNotSupported;
    if (index >= 2) return Return::kNotFound;
    *instance = Session::handle({target.gpu, static_cast<std::int32_t>(index)});
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device instance, Device* device) {
  return with_device(instance, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target target) {
    if (target.instance < 0) return Return::kInvalidArgument;
    *device = Session::handle({target.gpu, -1});
    return Return::kSuccess;
  });
}
Return nvmlDeviceIsMigDeviceHandle(Device device, std::uint32_t* is) {
  return with_device(device, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target target) {
    *is = target.instance >= 0 ? 1 : 0;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetGpuInstanceId(Device device, std::uint32_t* id) {
  return with_device(device, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target target) {
    if (target.instance < 0) return Return::kNotSupported;
    *id = static_cast<std::uint32_t>(target.instance) + 1;
    return Return::kSuccess;
  });
}
Return nvmlDeviceGetComputeInstanceId(Device device, std::uint32_t* id) {
  return with_device(device, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target target) {
    if (target.instance < 0) return Return::kNotSupported;
    *id = 0;
    return Return::kSuccess;
  });
}
// NOLINTEND(readability-identifier-naming)
