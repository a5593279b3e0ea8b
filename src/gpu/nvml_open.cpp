// Enumerating the GPUs behind NVML.
#include "nvml_open.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "nvml_gpu.hpp"
#include "place.hpp"

namespace ergon::gpu::nvml {
namespace {

std::string architecture_name(abi::Architecture architecture) {
  switch (architecture) {
    case abi::Architecture::kVolta:
      return "volta";
    case abi::Architecture::kTuring:
      return "turing";
    case abi::Architecture::kAmpere:
      return "ampere";
    case abi::Architecture::kAda:
      return "ada";
    case abi::Architecture::kHopper:
      return "hopper";
    case abi::Architecture::kBlackwell:
      return "blackwell";
  }
  return {};
}

class Enumerator {
 public:
  Enumerator(std::shared_ptr<Nvml> nvml, const Options& options)
      : nvml_(std::move(nvml)), options_(options) {}

  Status run() {
    std::uint32_t count = 0;
    if (const auto code = nvml_->nvmlDeviceGetCount_v2(&count); code != kSuccess)
      return fail(Nvml::error(code, "the number of GPUs", ""));
    if (count == 0) return fail(no_gpu(look_around(options_.root), "the driver knows no GPU"));
    Error last;
    for (std::uint32_t i = 0; i < std::min(count, 1024U); ++i) {
      // One GPU that is lost does not hide the others.
      if (auto added = add(i); !added) {
        last = added.error();
        found.lost.push_back(last);
      }
    }
    if (found.gpus.empty()) return fail(std::move(last));
    std::ranges::move(instances_, std::back_inserter(found.gpus));
    found.speed.resize(found.gpus.size(), 0);
    return {};
  }

  Found found;

 private:
  Status add(std::uint32_t index) {
    const std::string id = std::to_string(index);
    abi::Device device = nullptr;
    if (const auto code = nvml_->nvmlDeviceGetHandleByIndex_v2(index, &device); code != kSuccess)
      return fail(Nvml::error(code, "opening the GPU", id));
    Identity identity;
    identity.id = id;
    identity.index = static_cast<int>(index);
    identity.vendor = Vendor::kNvidia;
    identity.driver = nvml_->driver_version;
    identity.simulated = nvml_->simulated;
    ERGON_TRY(identity.uuid, uuid_of(device, id));
    std::array<char, abi::kNameBytes> name{};
    if (nvml_->nvmlDeviceGetName != nullptr &&
        nvml_->nvmlDeviceGetName(device, name.data(), abi::kNameBytes) == kSuccess)
      identity.name = name.data();
    abi::PciInfo pci{};
    if (nvml_->nvmlDeviceGetPciInfo_v3 != nullptr &&
        nvml_->nvmlDeviceGetPciInfo_v3(device, &pci) == kSuccess) {
      identity.pci = pci.bus_id;
      std::ranges::transform(identity.pci, identity.pci.begin(),
                             [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
    abi::Architecture architecture{};
    if (nvml_->nvmlDeviceGetArchitecture != nullptr &&
        nvml_->nvmlDeviceGetArchitecture(device, &architecture) == kSuccess)
      identity.architecture = architecture_name(architecture);
    std::int32_t major = 0;
    std::int32_t minor = 0;
    const bool capable =
        nvml_->nvmlDeviceGetCudaComputeCapability != nullptr &&
        nvml_->nvmlDeviceGetCudaComputeCapability(device, &major, &minor) == kSuccess;
    // NVML's documentation of nvmlDeviceGetPowerUsage: a one-second average from Ampere on, except
    // on GA100 (compute capability 8.0).
    const bool whole_second = capable && major >= 8 && !(major == 8 && minor == 0);
    found.speed.push_back(speed_of(device));
    found.gpus.push_back(std::make_unique<NvmlGpu>(nvml_, Handles{device, device}, identity,
                                                   whole_second, options_.now));
    add_instances(device, identity, whole_second);
    return {};
  }

  void add_instances(abi::Device board, const Identity& parent, bool whole_second) {
    const auto mig = found.gpus.back()->mig();
    if (!mig || !mig->enabled) return;
    found.notes.push_back("GPU " + parent.id +
                          " is in MIG mode: its power and energy are those of the whole GPU, "
                          "whichever instance is asked");
    std::uint32_t most = 0;
    if (nvml_->nvmlDeviceGetMaxMigDeviceCount == nullptr ||
        nvml_->nvmlDeviceGetMaxMigDeviceCount(board, &most) != kSuccess)
      return;
    for (std::uint32_t i = 0; i < std::min(most, 64U); ++i) {
      abi::Device instance = nullptr;
      if (nvml_->nvmlDeviceGetMigDeviceHandleByIndex(board, i, &instance) != kSuccess) continue;
      auto uuid = uuid_of(instance, parent.id);
      if (!uuid) continue;
      Identity identity = parent;
      identity.uuid = *uuid;
      identity.id = *std::move(uuid);
      identity.mig_parent_uuid = parent.uuid;
      instances_.push_back(std::make_unique<NvmlGpu>(
          nvml_, Handles{board, instance}, std::move(identity), whole_second, options_.now));
    }
  }

  [[nodiscard]] Result<std::string> uuid_of(abi::Device device, const std::string& id) const {
    std::array<char, abi::kUuidBytes> uuid{};
    const auto code = nvml_->nvmlDeviceGetUUID == nullptr
                          ? abi::Return::kFunctionNotFound
                          : nvml_->nvmlDeviceGetUUID(device, uuid.data(), abi::kUuidBytes);
    if (code != kSuccess) return fail(Nvml::error(code, "the UUID", id));
    return std::string(uuid.data());
  }

  // Cores times clock: what "fastest first" can mean for unlike boards.
  [[nodiscard]] double speed_of(abi::Device device) const {
    std::uint32_t cores = 0;
    std::uint32_t clock = 0;
    const bool known =
        nvml_->nvmlDeviceGetNumGpuCores != nullptr &&
        nvml_->nvmlDeviceGetNumGpuCores(device, &cores) == kSuccess &&
        nvml_->nvmlDeviceGetMaxClockInfo != nullptr &&
        nvml_->nvmlDeviceGetMaxClockInfo(device, abi::ClockType::kSm, &clock) == kSuccess;
    return known ? static_cast<double>(cores) * clock : 0;
  }

  std::shared_ptr<Nvml> nvml_;
  const Options& options_;
  std::vector<std::unique_ptr<Gpu>> instances_;
};

}  // namespace

Result<Found> find_gpus(const std::vector<std::string>& names, const Options& options) {
  ERGON_TRY(auto nvml, Nvml::open(names, options));
  Enumerator enumerator(std::move(nvml), options);
  ERGON_TRY_STATUS(enumerator.run());
  return std::move(enumerator.found);
}

}  // namespace ergon::gpu::nvml
