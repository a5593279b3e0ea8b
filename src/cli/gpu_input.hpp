// The GPUs that --gpu selects, opened; and the lease over them.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "context.hpp"
#include "ergon/gpu.hpp"

namespace ergon::cli {

/// A folder that is removed with its owner.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> make(const std::string& prefix);
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Leaves it where it is: somebody may still need what lies in it.
  void keep() { kept_ = true; }

 private:
  std::string path_;
  bool kept_ = false;
};

/// The GPUs of --gpu. `environment` is what a wrapped program must have besides this process's own.
struct OpenedGpus {
  std::unique_ptr<TemporaryFolder> state;  ///< of a simulated machine that nobody else named
  gpu::Machine machine;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string selection;   ///< reaches the same GPUs again, from any process
  std::string machine_id;  ///< LeaseRecord::machine
  [[nodiscard]] std::vector<gpu::Gpu*> gpus() const;
};
/// "NVIDIA A100 (simulated)", "... (recorded)", "... (recorded, simulated)".
std::string name_with_origin(const gpu::Identity& gpu);
/// How figures of these GPUs are known: "measured", "simulated", "recorded" (a recorded simulation
/// is simulated).
const char* origin_of_readings(const gpu::Identity& gpu);

/// `otherwise` holds where --gpu is not given. Sets the variables of a simulated GPU for this
/// process: call it while one thread runs. Notes of the machine become warnings unless `quietly`.
Result<OpenedGpus> open_gpus(Context& context, const std::string& otherwise = "all",
                             bool quietly = false);
/// The environment of a wrapped program, "NAME=value": this process's own, with `more` in its
/// place.
std::vector<std::string> child_environment(
    const Surroundings& surroundings, const std::vector<std::pair<std::string, std::string>>& more);
/// What gpu::open_machine() needs from the surroundings.
gpu::Options gpu_options(const Surroundings& surroundings);

/// Takes the lease over these GPUs, with a watchdog.
Result<gpu::Lease> take_lease(Context& context, const OpenedGpus& opened, const std::string& tool);
/// Leases of this machine: those of a simulated one only where ERGON_SIM_STATE names it, or names
/// none.
std::vector<gpu::FoundLease> leases_here(const Surroundings& surroundings);
/// Opens the GPUs of a lease; sets the variables of a simulated machine for this process.
Result<gpu::Machine> open_leased(const gpu::LeaseRecord& record, const Surroundings& surroundings);

/// Words for stderr about leases whose holder was killed together with its watchdog; empty: none.
std::string stale_notice(const Surroundings& surroundings);
/// The watchdog of a lease, where the words ask for it ("__watchdog LEASE CHANNEL"): its exit code.
std::optional<int> run_watchdog(std::span<const std::string> words,
                                const Surroundings& surroundings);

}  // namespace ergon::cli
