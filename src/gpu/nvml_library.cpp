// Opening NVML.
#include "nvml_library.hpp"

#include <array>

#include "place.hpp"
#include "simulated_library.hpp"

namespace ergon::gpu::nvml {
namespace {

Error open_error(abi::Return code, const Options& options) {
  const Place place = look_around(options.root);
  switch (code) {
    case abi::Return::kDriverNotLoaded:
      return no_gpu(place, "NVML: the driver is not loaded");
    case abi::Return::kLibraryNotFound:
    case abi::Return::kGpuNotFound:
      return no_gpu(place, "NVML: no device");
    case abi::Return::kLibRmVersionMismatch:
      return {
          Errc::kDevice,
          "the NVIDIA driver" + (place.nvidia_driver.empty() ? "" : " " + place.nvidia_driver) +
              " in the kernel and its library are of different versions",
          place.container
              ? "the container brings its own libnvidia-ml.so.1: remove it from the image, or "
                "restart the container after the driver was updated"
              : "the driver was updated while it was loaded: restart the machine, or unload and "
                "load it (rmmod nvidia; modprobe nvidia)"};
    case abi::Return::kNoPermission:
      return {Errc::kPermission, "no permission to open the NVIDIA driver",
              "let this user read and write /dev/nvidiactl and /dev/nvidia0 (ls -l /dev/nvidia*)"};
    default:
      return Nvml::error(code, "the driver", "");
  }
}

}  // namespace

Error Nvml::error(abi::Return code, const std::string& what, const std::string& gpu) {
  const std::string who = gpu.empty() ? "" : "GPU " + gpu + ": ";
  switch (code) {
    case abi::Return::kNotSupported:
      return {Errc::kUnsupported, who + what + " is not supported by this board or driver", ""};
    case abi::Return::kFunctionNotFound:
      return {Errc::kUnsupported, who + what + " is not known to this version of the driver",
              "a newer driver may know it"};
    case abi::Return::kDeprecated:
      return {Errc::kUnsupported, who + what + " is no longer offered by this driver", ""};
    case abi::Return::kArgumentVersionMismatch:
      return {Errc::kUnsupported, who + what + " is asked in a way that this driver does not know",
              ""};
    case abi::Return::kNoPermission:
      return {Errc::kPermission, who + "no permission for " + what,
              "run as root (sudo), or in a container with CAP_SYS_ADMIN; measuring needs no such "
              "right"};
    case abi::Return::kGpuIsLost:
      return {Errc::kDevice, who + "the GPU is lost: it has fallen off the bus",
              "look for 'Xid 79' in dmesg; restart the machine"};
    case abi::Return::kResetRequired:
      return {Errc::kDevice, who + "the GPU needs a reset before it answers",
              "nvidia-smi --gpu-reset -i " + (gpu.empty() ? "0" : gpu)};
    case abi::Return::kInvalidArgument:
      return {Errc::kUnsupported, who + what + " is refused as an invalid value",
              "ergon doctor lists the clocks and limits that this board takes"};
    case abi::Return::kFreqNotSupported:
      return {Errc::kUnsupported, who + what + " is not a clock of this board",
              "ergon doctor lists its clocks"};
    case abi::Return::kInsufficientPower:
      return {Errc::kDevice, who + "an external power cable is missing", "connect it"};
    case abi::Return::kTimeout:
      return {Errc::kDevice, who + what + ": the driver did not answer in time", "try again"};
    case abi::Return::kInUse:
      return {Errc::kDevice, who + what + ": in use by somebody else", ""};
    case abi::Return::kIrqIssue:
      return {Errc::kDevice, who + "the driver gets no interrupts from the GPU",
              "look at dmesg for NVRM messages"};
    default:
      return {Errc::kDevice,
              who + what + ": the driver answers with error " +
                  std::to_string(static_cast<std::uint32_t>(code)),
              "look at dmesg for NVRM messages"};
  }
}

bool Nvml::is_lost(abi::Return code) {
  return code == abi::Return::kGpuIsLost || code == abi::Return::kResetRequired ||
         code == abi::Return::kUninitialized;
}

Nvml::Nvml(Library library) : library_(std::move(library)) {
#define ERGON_NVML_FIND(name) name = library_.find<abi::fn::name>(#name);
  ERGON_NVML_FUNCTIONS(ERGON_NVML_FIND)
#undef ERGON_NVML_FIND
  simulated = is_simulated(library_);
}

Nvml::~Nvml() {
  if (nvmlShutdown != nullptr) nvmlShutdown();
}

Result<std::shared_ptr<Nvml>> Nvml::open(const std::vector<std::string>& names,
                                         const Options& options) {
  auto library = Library::open(names);
  if (!library) return fail(no_gpu(look_around(options.root), library.error().message));
  std::shared_ptr<Nvml> nvml(new Nvml(*std::move(library)));
  const bool complete = nvml->nvmlInit_v2 != nullptr && nvml->nvmlDeviceGetCount_v2 != nullptr &&
                        nvml->nvmlDeviceGetHandleByIndex_v2 != nullptr;
  if (!complete) {
    nvml->nvmlShutdown = nullptr;
    return fail(Errc::kDevice, "libnvidia-ml.so.1 here is not NVIDIA's, or older than 2013",
                "install the library of the driver");
  }
  if (const auto code = nvml->nvmlInit_v2(); code != abi::Return::kSuccess) {
    nvml->nvmlShutdown = nullptr;
    if (auto settings = settings_error(nvml->library_)) return fail(*std::move(settings));
    return fail(open_error(code, options));
  }
  std::array<char, abi::kVersionBytes> version{};
  if (nvml->nvmlSystemGetDriverVersion != nullptr &&
      nvml->nvmlSystemGetDriverVersion(version.data(), abi::kVersionBytes) ==
          abi::Return::kSuccess) {
    nvml->driver_version = version.data();
  }
  return nvml;
}

}  // namespace ergon::gpu::nvml
