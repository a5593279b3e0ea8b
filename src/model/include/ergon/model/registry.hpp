// Finds a device file by any usual spelling, by the name in a trace, or by path.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/model/device.hpp"

namespace ergon::model {

/// A device and what the answer must say about how it was found (empty when nothing is ambiguous),
/// e.g. "a100 means A100-SXM4-80GB; a100-pcie-80gb and a100-sxm4-40gb are others".
struct FoundDevice {
  Device device;
  std::string note;
  std::string origin;  ///< "built in" or the path of the file
};

/// The ids of the device files inside the binary, sorted.
std::vector<std::string> device_ids();
/// All built-in devices, sorted by id.
const std::vector<Device>& built_in_devices();
/// `name`: any spelling, whatever its case, blanks, hyphens and underscores; or a path to a device
/// file (it ends in .json or contains a slash). kNotFound lists the accepted names and the nearest
/// one.
Result<FoundDevice> find_device(std::string_view name);
/// The built-in device that a driver or trace calls `gpu_name`; kNotFound when none fits.
Result<FoundDevice> find_device_of_trace(std::string_view gpu_name);
/// Whether a trace's GPU name may be this device (so that a wrong device is a warning that names
/// both). Unknown names of the same family ("NVIDIA A100-SXM4-80GB" against a100-sxm4-40gb) do not
/// match.
bool is_device(const Device& device, std::string_view gpu_name);

}  // namespace ergon::model
