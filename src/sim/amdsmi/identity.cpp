// Initialisation, handles and names on AMD's side. One socket and one processor for each GPU.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "exports.hpp"

namespace amdsmi = ergon::gpu_abi::amdsmi;
using amdsmi::Processor;
using amdsmi::Socket;
using amdsmi::Status;
using ergon::gpu_abi::nvml::Return;
using ergon::sim::BoardView;
using ergon::sim::CallKind;
using ergon::sim::Nanoseconds;
using ergon::sim::Session;
using ergon::sim::set_text;
using ergon::sim::Target;
using ergon::sim::with_processor;

namespace ergon::sim {

gpu_abi::amdsmi::Status translated(Return result) {
  switch (result) {
    case Return::kSuccess:
      return gpu_abi::amdsmi::Status::kSuccess;
    case Return::kUninitialized:
      return gpu_abi::amdsmi::Status::kNotInit;
    case Return::kInvalidArgument:
      return gpu_abi::amdsmi::Status::kInvalid;
    case Return::kNotSupported:
      return gpu_abi::amdsmi::Status::kNotSupported;
    case Return::kNoPermission:
      return gpu_abi::amdsmi::Status::kNoPermission;
    case Return::kDriverNotLoaded:
      return gpu_abi::amdsmi::Status::kDriverNotLoaded;
    case Return::kLibRmVersionMismatch:
      return gpu_abi::amdsmi::Status::kInitError;
    case Return::kGpuIsLost:
      return gpu_abi::amdsmi::Status::kNotFound;
    default:
      return gpu_abi::amdsmi::Status::kApiFailed;
  }
}

gpu_abi::amdsmi::Status with_processor(
    Processor processor, CallKind kind, double call_time_s,
    const std::function<gpu_abi::amdsmi::Status(BoardView&, Nanoseconds, Target)>& call) {
  auto status = gpu_abi::amdsmi::Status::kUnknown;
  const Return result =
      with_device(static_cast<gpu_abi::nvml::Device>(processor), kind, call_time_s,
                  [&](BoardView& view, Nanoseconds now, Target target) {
                    status = call(view, now, target);
                    return Return::kSuccess;
                  });
  return result == Return::kSuccess ? status : translated(result);
}

}  // namespace ergon::sim

namespace {

constexpr std::uint32_t kAmd = 0x1002;
constexpr std::uint32_t kNvmlVendorBits = 16;

// domain 0, bus, device 0, function 0.
std::uint64_t bdf(std::uint32_t gpu) { return static_cast<std::uint64_t>(0x0c + gpu * 0x10) << 8U; }

}  // namespace

// Tells a program that reads it that this library is not AMD's.
extern "C" [[gnu::visibility("default")]] const char ergon_sim_version[] = "1";

Status amdsmi_init(std::uint64_t flags) {
  if ((flags & amdsmi::kInitAmdGpus) == 0) return Status::kInvalid;
  return ergon::sim::translated(Session::get().init(true));
}
Status amdsmi_shut_down() { return ergon::sim::translated(Session::get().shutdown()); }

Status amdsmi_status_code_to_string(Status status, const char** text) {
  if (text == nullptr) return Status::kInvalid;
  switch (status) {
    case Status::kSuccess:
      *text = "Call succeeded";
      break;
    case Status::kInvalid:
      *text = "Invalid parameters";
      break;
    case Status::kNotSupported:
      *text = "Feature not supported";
      break;
    case Status::kNoPermission:
      *text = "Permission denied";
      break;
    case Status::kNotInit:
      *text = "Device not initialized";
      break;
    case Status::kNotFound:
      *text = "Device not found";
      break;
    case Status::kDriverNotLoaded:
      *text = "Driver not loaded";
      break;
    default:
      *text = "An unknown error occurred";
      break;
  }
  return Status::kSuccess;
}

Status amdsmi_get_lib_version(amdsmi::Version* version) {
  if (version == nullptr) return Status::kInvalid;
  *version = {26, 0, 2, "simulated"};
  return Status::kSuccess;
}

Status amdsmi_get_socket_handles(std::uint32_t* count, Socket* sockets) {
  if (count == nullptr) return Status::kInvalid;
  if (!Session::get().ready()) return Status::kNotInit;
  const std::uint32_t gpus = Session::get().visible_gpus();
  if (sockets == nullptr) {
    *count = gpus;
    return Status::kSuccess;
  }
  *count = std::min(*count, gpus);
  for (std::uint32_t k = 0; k < *count; ++k) sockets[k] = Session::handle({k, -1});
  return Status::kSuccess;
}

Status amdsmi_get_processor_handles(Socket socket, std::uint32_t* count, Processor* processors) {
  if (count == nullptr) return Status::kInvalid;
  if (!Session::get().ready()) return Status::kNotInit;
  if (!Session::get().target(static_cast<ergon::gpu_abi::nvml::Device>(socket)))
    return Status::kInvalid;
  if (processors != nullptr && *count > 0) processors[0] = socket;
  *count = 1;
  return Status::kSuccess;
}

Status amdsmi_get_processor_type(Processor processor, amdsmi::ProcessorType* type) {
  return with_processor(processor, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target) {
    *type = amdsmi::ProcessorType::kAmdGpu;
    return Status::kSuccess;
  });
}

Status amdsmi_get_processor_handle_from_bdf(amdsmi::Bdf place, Processor* processor) {
  if (processor == nullptr) return Status::kInvalid;
  if (!Session::get().ready()) return Status::kNotInit;
  for (std::uint32_t k = 0; k < Session::get().visible_gpus(); ++k) {
    if (bdf(k) != place.bits) continue;
    *processor = Session::handle({k, -1});
    return Status::kSuccess;
  }
  return Status::kNotFound;
}

Status amdsmi_get_gpu_device_bdf(Processor processor, amdsmi::Bdf* place) {
  if (place == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kIdentity,
                        [&](BoardView&, Nanoseconds, Target target) {
                          place->bits = bdf(target.gpu);
                          return Status::kSuccess;
                        });
}

Status amdsmi_get_gpu_device_uuid(Processor processor, std::uint32_t* length, char* text) {
  if (length == nullptr || text == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target) {
    const std::string uuid =
        ergon::sim::board_uuid(view.model(), view.board().config).substr(4);  // without "GPU-"
    if (*length < uuid.size() + 1) return Status::kInsufficientSize;
    std::memcpy(text, uuid.c_str(), uuid.size() + 1);
    *length = static_cast<std::uint32_t>(uuid.size() + 1);
    return Status::kSuccess;
  });
}

Status amdsmi_get_gpu_enumeration_info(Processor processor, amdsmi::EnumerationInfo* info) {
  if (info == nullptr) return Status::kInvalid;
  return with_processor(
      processor, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target target) {
        *info = {128 + target.gpu, target.gpu, target.gpu + 1, target.gpu, {}};
        set_text(info->hip_uuid, ergon::sim::board_uuid(view.model(), view.board().config));
        return Status::kSuccess;
      });
}

Status amdsmi_get_gpu_asic_info(Processor processor, amdsmi::AsicInfo* info) {
  if (info == nullptr) return Status::kInvalid;
  return with_processor(
      processor, CallKind::kIdentity, [&](BoardView& view, Nanoseconds, Target target) {
        *info = amdsmi::AsicInfo{};
        set_text(info->market_name, view.model().identity.name);
        set_text(info->vendor_name, "Advanced Micro Devices Inc. [AMD/ATI]");
        info->vendor_id = info->subvendor_id = kAmd;
        info->device_id = view.model().identity.pci_device >> kNvmlVendorBits;
        char serial[32];
        std::snprintf(serial, sizeof serial, "0x%014llX",
                      static_cast<unsigned long long>(
                          ergon::sim::draw(view.board().config.seed, 6000, target.gpu) * 0x1p52));
        set_text(info->asic_serial, serial);
        info->oam_id = target.gpu;
        info->compute_units = view.model().identity.cores / 64;
        info->target_graphics_version = 942;
        return Status::kSuccess;
      });
}

Status amdsmi_get_gpu_driver_info(Processor processor, amdsmi::DriverInfo* info) {
  if (info == nullptr) return Status::kInvalid;
  return with_processor(processor, CallKind::kIdentity, [&](BoardView&, Nanoseconds, Target) {
    *info = amdsmi::DriverInfo{};
    set_text(info->version, "6.14.14");
    set_text(info->date, "2015/01/01 00:00");
    set_text(info->name, "amdgpu");
    return Status::kSuccess;
  });
}
