// Opening AMD SMI.
#include "amdsmi_library.hpp"

#include "place.hpp"
#include "simulated_library.hpp"

namespace ergon::gpu::amdsmi {

Error Smi::error(abi::Status code, const std::string& what, const std::string& gpu) {
  const std::string who = gpu.empty() ? "" : "GPU " + gpu + ": ";
  switch (code) {
    case abi::Status::kNotSupported:
    case abi::Status::kNotYetImplemented:
      return {Errc::kUnsupported, who + what + " is not supported by this board or driver", ""};
    case abi::Status::kNoData:
    case abi::Status::kUnexpectedData:
      return {Errc::kUnsupported, who + what + ": the driver has no value", ""};
    case abi::Status::kNoPermission:
      return {Errc::kPermission, who + "no permission for " + what,
              "run as root (sudo); to read, join the groups 'render' and 'video'"};
    case abi::Status::kInvalid:
    case abi::Status::kInputOutOfBounds:
      return {Errc::kUnsupported, who + what + " is refused as an invalid value",
              "ergon doctor lists the clocks and limits that this board takes"};
    case abi::Status::kBusy:
    case abi::Status::kTimeout:
      return {Errc::kDevice, who + what + ": the driver is busy", "try again"};
    default:
      return {Errc::kDevice,
              who + what + ": the driver answers with status " +
                  std::to_string(static_cast<std::uint32_t>(code)),
              "look at dmesg for amdgpu messages"};
  }
}

Smi::Smi(Library library) : library_(std::move(library)) {
#define ERGON_AMDSMI_FIND(name) name = library_.find<abi::fn::name>(#name);
  ERGON_AMDSMI_FUNCTIONS(ERGON_AMDSMI_FIND)
#undef ERGON_AMDSMI_FIND
  simulated = is_simulated(library_);
}

Smi::~Smi() {
  if (amdsmi_shut_down != nullptr) amdsmi_shut_down();
}

Result<std::shared_ptr<Smi>> Smi::open(const std::vector<std::string>& names,
                                       const Options& options) {
  auto library = Library::open(names);
  if (!library) return fail(no_gpu(look_around(options.root), library.error().message));
  std::shared_ptr<Smi> smi(new Smi(*std::move(library)));
  const bool complete = smi->amdsmi_init != nullptr && smi->amdsmi_get_socket_handles != nullptr &&
                        smi->amdsmi_get_processor_handles != nullptr;
  const auto code = complete ? smi->amdsmi_init(abi::kInitAmdGpus) : abi::Status::kInitError;
  if (code == abi::Status::kSuccess) return smi;
  smi->amdsmi_shut_down = nullptr;
  if (auto settings = settings_error(smi->library_)) return fail(*std::move(settings));
  if (!complete)
    return fail(Errc::kDevice, "libamd_smi.so here is not AMD's, or too old",
                "install ROCm 6 or 7");
  const bool no_driver = code == abi::Status::kDriverNotLoaded || code == abi::Status::kNoDriver ||
                         code == abi::Status::kNotFound;
  return fail(no_driver ? no_gpu(look_around(options.root), "AMD SMI: no driver")
                        : error(code, "AMD SMI", ""));
}

}  // namespace ergon::gpu::amdsmi
