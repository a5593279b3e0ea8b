// Opening GPUs: what the user may select, where the libraries are looked for, and what kind of
// place this is.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ergon/gpu/readings.hpp"

namespace ergon::gpu {

/// Monotonic time in nanoseconds.
using TimeSource = std::function<Nanos()>;
/// CLOCK_MONOTONIC.
Nanos monotonic_now();

/// What the caller knows and this library must not ask for itself.
struct Options {
  /// Root of the file system that is looked at for driver, container and board facts.
  std::string root = "/";
  /// Folder that holds the simulated libraries (libnvidia-ml.so.1, libamd_smi.so).
  std::string sim_folder;
  /// Value of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER; nullopt: not set.
  std::optional<std::string> cuda_visible_devices;
  std::string cuda_device_order;
  /// A library to open instead of the usual names (tests).
  std::string nvml_library;
  std::string amdsmi_library;
  TimeSource now = monotonic_now;
};

/// What kind of place this is, as far as files tell.
struct Place {
  bool container = false;
  bool wsl = false;
  bool virtual_machine = false;
  std::string jetson;         ///< board name; empty: none
  int nvidia_boards = 0;      ///< on the PCI bus
  int amd_boards = 0;         ///< display or accelerator class, on the PCI bus
  std::string nvidia_driver;  ///< version of the loaded kernel module; empty: none
  bool amd_driver = false;
};
Place look_around(const std::string& root);

/// "sim:a100,seed=7" taken apart.
struct SimSpec {
  std::string model;    ///< "a100"
  std::string options;  ///< "seed=7", as given
};

/// `--gpu SEL`: indices ("0", "0,2"), UUIDs or their beginnings, PCI addresses, "all", "cuda" (what
/// CUDA_VISIBLE_DEVICES leaves) or "cuda:N", "sim:MODEL[,OPTION...]", "recorded:FILE".
struct Selection {
  enum class Kind { kAll, kList, kCuda, kSimulated, kRecorded };
  Kind kind = Kind::kAll;
  std::vector<std::string> items;  ///< of a list; of kCuda the indices, none for all
  SimSpec sim;
  std::string file;
};
/// kInvalidArgument for what cannot be a selection; whether such a GPU exists open_machine() says.
Result<Selection> parse_selection(std::string_view text);

/// What a process (this one before open_machine(), and every wrapped program) must have in its
/// environment for the simulated GPU: ERGON_SIM, ERGON_SIM_STATE, LD_LIBRARY_PATH with the
/// library's folder in front of `library_path`.
std::vector<std::pair<std::string, std::string>> sim_environment(const SimSpec& spec,
                                                                 const std::string& sim_folder,
                                                                 const std::string& state_folder,
                                                                 const std::string& library_path);

/// The GPUs that were selected, in the driver's order.
struct Machine {
  std::vector<std::unique_ptr<Gpu>> gpus;
  /// Position in `gpus` of CUDA device 0, 1, ...; -1: not selected. Empty where it is not known.
  std::vector<int> cuda_order;
  bool cuda_order_certain = true;  ///< false: unlike boards, and CUDA's own order is not documented
  std::vector<std::string> notes;  ///< what the user should know, one sentence each
  /// GPUs that the driver lists and that do not answer, each with the reason: they are left out.
  std::vector<Error> lost;
};
/// kDevice or kPermission (exit 4) with the reason and a hint: no GPU, no driver, container, WSL,
/// Jetson, driver and library of different versions, permission. kNotFound for a selected GPU that
/// is not there. For a simulated GPU the environment of sim_environment() must be set already.
Result<Machine> open_machine(const Selection& selection, const Options& options);

/// Readings that play as one GPU: at each moment the last one before it holds. Of a sample
/// `begin_ns` is the time, on any base that the recordings of a machine share.
struct Recording {
  std::string id;
  std::string uuid;        ///< empty: made from the id
  std::string name;        ///< of the board; empty: "recorded run"
  bool simulated = false;  ///< what was recorded is a simulation
  bool averaged = false;   ///< the power is a one-second average
  std::vector<Sample> samples = {};
};
/// The recordings as a machine, playing from now on in their own time: the first reading of any of
/// them is now. kMalformedInput where there is no reading. `file` names them in errors.
Result<Machine> play(const std::vector<Recording>& recordings, const std::string& file,
                     const Options& options);

/// CUDA's order of these GPUs, as positions: by PCI address where `device_order` is "PCI_BUS_ID",
/// else the fastest first and the rest by PCI address; then what `visible` (the value of
/// CUDA_VISIBLE_DEVICES) leaves, up to its first entry that names none. `speed` is any figure that
/// grows with speed, one a GPU. MIG instances are CUDA's only where `visible` names them.
struct CudaOrder {
  std::vector<int> positions;
  bool certain = true;
};
CudaOrder cuda_order(std::span<const Identity> gpus, std::span<const double> speed,
                     std::string_view device_order, const std::optional<std::string>& visible);

}  // namespace ergon::gpu
