// Enumerating the GPUs behind AMD SMI.
#include "amdsmi_open.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "amdsmi_gpu.hpp"
#include "place.hpp"

namespace ergon::gpu::amdsmi {
namespace {

constexpr abi::Status kSuccess = abi::Status::kSuccess;

// domain:bus:device.function, packed from the high bits down: 48, 8, 5, 3.
std::string pci_text(abi::Bdf bdf) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%08llx:%02x:%02x.%x",
                static_cast<unsigned long long>(bdf.bits >> 16U),
                static_cast<unsigned>((bdf.bits >> 8U) & 0xffU),
                static_cast<unsigned>((bdf.bits >> 3U) & 0x1fU),
                static_cast<unsigned>(bdf.bits & 0x7U));
  return text.data();
}

// The count is asked with a null list first.
template <class Handle, class Ask>
Result<std::vector<Handle>> handles(const Ask& ask, const std::string& what) {
  std::uint32_t count = 0;
  auto code = ask(&count, nullptr);
  if (code != kSuccess) return fail(Smi::error(code, what, ""));
  std::vector<Handle> list(std::min(count, 4096U));
  count = static_cast<std::uint32_t>(list.size());
  if (list.empty()) return list;
  code = ask(&count, list.data());
  if (code != kSuccess) return fail(Smi::error(code, what, ""));
  list.resize(std::min<std::size_t>(count, list.size()));
  return list;
}

Identity identify(const Smi& smi, abi::Processor processor, int index) {
  Identity identity;
  identity.id = std::to_string(index);
  identity.index = index;
  identity.vendor = Vendor::kAmd;
  identity.simulated = smi.simulated;
  std::array<char, abi::kUuidBytes> uuid{};
  std::uint32_t length = abi::kUuidBytes;
  if (smi.amdsmi_get_gpu_device_uuid != nullptr &&
      smi.amdsmi_get_gpu_device_uuid(processor, &length, uuid.data()) == kSuccess)
    identity.uuid.assign(uuid.data(), std::find(uuid.begin(), uuid.end(), '\0'));
  abi::Bdf bdf{};
  if (smi.amdsmi_get_gpu_device_bdf != nullptr &&
      smi.amdsmi_get_gpu_device_bdf(processor, &bdf) == kSuccess)
    identity.pci = pci_text(bdf);
  if (identity.uuid.empty()) identity.uuid = "pci-" + identity.pci;
  abi::AsicInfo asic{};
  if (smi.amdsmi_get_gpu_asic_info != nullptr &&
      smi.amdsmi_get_gpu_asic_info(processor, &asic) == kSuccess) {
    asic.market_name[abi::kStringBytes - 1] = 0;
    identity.name = asic.market_name;
    std::array<char, 32> version{};
    std::snprintf(version.data(), version.size(), "gfx%llx",
                  static_cast<unsigned long long>(asic.target_graphics_version));
    if (asic.target_graphics_version != 0 && asic.target_graphics_version != ~0ULL)
      identity.architecture = version.data();
  }
  abi::DriverInfo driver{};
  if (smi.amdsmi_get_gpu_driver_info != nullptr &&
      smi.amdsmi_get_gpu_driver_info(processor, &driver) == kSuccess) {
    driver.version[abi::kStringBytes - 1] = 0;
    identity.driver = driver.version;
  }
  return identity;
}

}  // namespace

Result<Found> find_gpus(const std::vector<std::string>& names, const Options& options) {
  ERGON_TRY(const auto smi, Smi::open(names, options));
  ERGON_TRY(const auto sockets, handles<abi::Socket>(
                                    [&](std::uint32_t* count, abi::Socket* list) {
                                      return smi->amdsmi_get_socket_handles(count, list);
                                    },
                                    "the list of sockets"));
  Found found;
  for (const abi::Socket socket : sockets) {
    ERGON_TRY(const auto processors, handles<abi::Processor>(
                                         [&](std::uint32_t* count, abi::Processor* list) {
                                           return smi->amdsmi_get_processor_handles(socket, count,
                                                                                    list);
                                         },
                                         "the list of processors"));
    for (const abi::Processor processor : processors) {
      abi::ProcessorType type{};
      if (smi->amdsmi_get_processor_type != nullptr &&
          (smi->amdsmi_get_processor_type(processor, &type) != kSuccess ||
           type != abi::ProcessorType::kAmdGpu))
        continue;
      auto identity = identify(*smi, processor, static_cast<int>(found.gpus.size()));
      found.gpus.push_back(
          std::make_unique<SmiGpu>(smi, processor, std::move(identity), options.now));
      found.speed.push_back(0);
    }
  }
  if (found.gpus.empty()) return fail(no_gpu(look_around(options.root), "AMD SMI knows no GPU"));
  return found;
}

}  // namespace ergon::gpu::amdsmi
