// The lease: what was changed on which GPU is on disk before the change, and is given back after
// any death: by the holder, by its watchdog, or by `ergon restore`.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ergon/gpu/machine.hpp"
#include "ergon/gpu/readings.hpp"

namespace ergon::gpu {

/// What one GPU had, and what has been touched since. Clock locks cannot be read back from the
/// driver: giving back means the driver's own clock control.
struct LeasedGpu {
  std::string uuid;
  std::string name;
  std::optional<double> power_limit_w;  ///< before the first change; nullopt: not readable
  bool core_touched = false;
  bool memory_touched = false;
  bool limit_touched = false;
};

/// A lease as it stands on disk ("ergon.lease/1").
struct LeaseRecord {
  std::string file;
  std::string tool;  ///< "sweep"
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< of the process, from /proc/PID/stat: a pid may be used again
  std::int64_t watchdog_pid = 0;  ///< 0: none yet
  std::uint64_t watchdog_start_ticks = 0;
  std::string boot_id;
  /// Which machine: empty for this one, the state folder for a simulated one.
  std::string machine;
  /// What a process needs in its environment to reach the same GPUs (the simulated machine).
  std::vector<std::pair<std::string, std::string>> environment;
  std::string selection;  ///< as for parse_selection()
  std::vector<LeasedGpu> gpus;
  [[nodiscard]] bool touched() const;
};

enum class LeaseState {
  kHeld,   ///< its holder or its watchdog lives
  kStale,  ///< both are dead: clocks may still be changed
  kGone,  ///< the machine was started since, so that the driver forgot every lock and limit; or the
          ///< simulated machine's state is no longer there
};
struct FoundLease {
  LeaseRecord record;
  LeaseState state = LeaseState::kHeld;
};
/// Every lease in the folder, by file name; a folder that is not there holds none. A file that
/// cannot be read as a lease is skipped: see damaged_leases().
std::vector<FoundLease> find_leases(const std::string& folder);

/// A file that has the name of a lease and cannot be read as one (cut off, of another version, a
/// folder): what it changed is not known, and may still be changed.
struct DamagedLease {
  std::string file;
  Error error;
};
std::vector<DamagedLease> damaged_leases(const std::string& folder);

/// Whether the tool that took the lease still runs (its watchdog may outlive it for a moment).
bool holder_lives(const LeaseRecord& record);

/// What giving back did, one entry a GPU and control.
struct GivenBack {
  std::string uuid;
  std::string what;    ///< "core clock", "memory clock", "power limit"; "watchdog"
  std::string action;  ///< "reset", "set to 400 W"
  std::optional<Error> failure = std::nullopt;
};
/// Undoes what the record says was touched, on these GPUs (a GPU that is not among them is a
/// failure of its entries); tries everything even where something fails. Does not touch the file.
std::vector<GivenBack> give_back(const LeaseRecord& record, std::span<Gpu* const> gpus);

struct LeaseOptions {
  std::string folder;  ///< made where needed, 0700
  std::string tool;
  std::string selection;
  std::string machine;  ///< as LeaseRecord::machine
  std::vector<std::pair<std::string, std::string>> environment;
  /// Program and arguments of the watchdog (this product in its hidden mode); the lease file and
  /// the number of the channel's descriptor are appended. Empty: no watchdog (tests).
  std::vector<std::string> watchdog;
};

/// Held while clocks or limits are changed. Gives back when it goes out of scope. One thread.
class Lease {
 public:
  /// Locks the GPUs against other tools (kDevice names the other one), writes the lease, starts the
  /// watchdog and waits until it is ready. The GPUs must outlive the lease.
  static Result<Lease> take(std::span<Gpu* const> gpus, const LeaseOptions& options);
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();

  // The change is on disk before it is made.
  Status lock_clocks(Gpu& gpu, Domain domain, Hertz low, Hertz high);
  Status reset_clocks(Gpu& gpu, Domain domain);
  Status set_power_limit(Gpu& gpu, Watts limit);

  /// Whether the watchdog lives; starts a new one where it does not.
  Status ensure_watchdog();
  /// Gives everything back, removes the lease, ends the watchdog. Where something could not be
  /// given back the lease stays for `restore`. A second call does nothing.
  std::vector<GivenBack> give_back();
  [[nodiscard]] const LeaseRecord& record() const;

 private:
  struct Impl;
  explicit Lease(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Opens the GPUs of a lease, in the watchdog's process.
using OpenLeased = std::function<Result<Machine>(const LeaseRecord&)>;
/// The watchdog's side: opens the GPUs of the lease, tells the holder that it is ready (or why
/// not), waits until the holder is gone, and then gives back and removes the lease; returns at once
/// where the holder gave back itself. `channel` is the descriptor that the holder passed.
Status watch(const std::string& lease_file, int channel, const OpenLeased& open);

/// Gives back a stale lease and removes its file, under its lock; kDevice where somebody holds it.
/// The file stays where something failed.
Result<std::vector<GivenBack>> restore(const FoundLease& lease, std::span<Gpu* const> gpus);
/// Removes the file of a lease that no longer means anything (the machine was restarted).
Status drop(const FoundLease& lease);
/// Removes a damaged one, once its GPUs were given back by other means.
Status drop(const DamagedLease& lease);

}  // namespace ergon::gpu
