// What kind of place this is: container, WSL, virtual machine, Jetson; boards and drivers.
#include "place.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ergon/gpu/machine.hpp"

namespace ergon::gpu {
namespace fs = std::filesystem;
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool in_container(const fs::path& root) {
  if (is_there(root / ".dockerenv") || is_there(root / "run/.containerenv")) return true;
  const std::string groups = slurp(root / "proc/1/cgroup");
  for (const char* mark : {"docker", "kubepods", "containerd", "libpod", "lxc"}) {
    if (groups.find(mark) != std::string::npos) return true;
  }
  return false;
}

// Words of the firmware's product and vendor names that only virtual machines have.
bool in_virtual_machine(const fs::path& root) {
  const std::string board = lower(slurp(root / "sys/class/dmi/id/product_name") +
                                  slurp(root / "sys/class/dmi/id/sys_vendor"));
  for (const char* mark : {"kvm", "qemu", "vmware", "virtualbox", "virtual machine", "xen", "bochs",
                           "google compute engine", "amazon ec2"}) {
    if (board.find(mark) != std::string::npos) return true;
  }
  std::ifstream cpus(root / "proc/cpuinfo");
  for (std::string line; std::getline(cpus, line);) {
    if (line.starts_with("flags")) return (line + " ").find(" hypervisor ") != std::string::npos;
  }
  return false;
}

void count_boards(const fs::path& root, Place& place) {
  std::error_code ignored;
  for (const auto& device : fs::directory_iterator(root / "sys/bus/pci/devices", ignored)) {
    const std::string vendor = slurp(device.path() / "vendor");
    const std::string kind = slurp(device.path() / "class");
    // Display controllers (03) and processing accelerators (12).
    if (!kind.starts_with("0x03") && !kind.starts_with("0x12")) continue;
    if (vendor.starts_with("0x10de")) ++place.nvidia_boards;
    if (vendor.starts_with("0x1002")) ++place.amd_boards;
  }
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue ...": the first word of digits
// and dots.
std::string driver_version(const std::string& text) {
  std::istringstream words(text.substr(0, text.find('\n')));
  for (std::string word; words >> word;) {
    const bool number = word.find('.') != std::string::npos &&
                        word.find_first_not_of("0123456789.") == std::string::npos;
    if (number) return word;
  }
  return {};
}

}  // namespace

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::string found = text.str();
  while (!found.empty() && (found.back() == '\n' || found.back() == '\0')) found.pop_back();
  return found;
}

Place look_around(const std::string& root_text) {
  const fs::path root = root_text;
  Place place;
  place.container = in_container(root);
  place.wsl = lower(slurp(root / "proc/version")).find("microsoft") != std::string::npos;
  place.virtual_machine = !place.wsl && in_virtual_machine(root);
  const std::string board = slurp(root / "proc/device-tree/model");
  if (is_there(root / "etc/nv_tegra_release") || lower(board).find("jetson") != std::string::npos) {
    place.jetson = board.empty() ? "Jetson" : board;
  }
  count_boards(root, place);
  place.nvidia_driver = driver_version(slurp(root / "proc/driver/nvidia/version"));
  place.amd_driver = is_there(root / "sys/module/amdgpu");
  return place;
}

Error no_gpu(const Place& place, const std::string& why) {
  const auto error = [&](std::string message, std::string hint) {
    return Error{Errc::kDevice, std::move(message), std::move(hint)};
  };
  const std::string detail = why.empty() ? std::string() : " (" + why + ")";
  const std::string otherwise =
      "; without a GPU: --gpu sim:a100 plays one, --gpu recorded:FILE plays a recorded run";
  if (!place.jetson.empty()) {
    return error(
        "no GPU that tells its power: " + place.jetson +
            " is a Jetson, whose driver has no NVML power readings" + detail,
        "its power rails are read with tegrastats; 'ergon import' reads power logs" + otherwise);
  }
  if (place.wsl) {
    return error("no GPU here: WSL shows a GPU only through the Windows driver" + detail,
                 "install the NVIDIA driver on Windows (not inside WSL); its library is looked for "
                 "in /usr/lib/wsl/lib" +
                     otherwise);
  }
  if (place.container && place.nvidia_driver.empty()) {
    return error("no GPU in this container" + detail,
                 "start it with the GPU: docker run --gpus all ... (NVIDIA container toolkit), or "
                 "--device /dev/kfd --device /dev/dri for AMD" +
                     otherwise);
  }
  if (place.container) {
    return error(
        "this container sees the NVIDIA driver " + place.nvidia_driver + " but not its library" +
            detail,
        "start it with the 'utility' capability: NVIDIA_DRIVER_CAPABILITIES=all" + otherwise);
  }
  if (place.nvidia_boards > 0 && place.nvidia_driver.empty()) {
    return error("there is an NVIDIA board but no NVIDIA driver is loaded" + detail,
                 "install the driver or load it: modprobe nvidia" + otherwise);
  }
  if (place.nvidia_boards > 0 || !place.nvidia_driver.empty()) {
    return error("the NVIDIA driver " + place.nvidia_driver +
                     " is loaded but its library libnvidia-ml.so.1 cannot be opened" + detail,
                 "install the driver's user-space package of the same version" + otherwise);
  }
  if (place.amd_boards > 0) {
    return error(std::string("there is an AMD board but ") +
                     (place.amd_driver ? "libamd_smi.so cannot be opened"
                                       : "the amdgpu driver is not loaded") +
                     detail,
                 (place.amd_driver ? "install the package amd-smi-lib of ROCm"
                                   : "install the amdgpu driver or load it: modprobe amdgpu") +
                     otherwise);
  }
  return error(
      "no GPU here" + detail,
      std::string(place.virtual_machine ? "this is a virtual machine: pass a GPU through to it"
                                        : "no NVIDIA or AMD board is on the PCI bus") +
          otherwise);
}

}  // namespace ergon::gpu
