// Leases on disk: written whole or not at all, locked against other tools.
#pragma once
#include <string>
#include <vector>

#include "ergon/gpu/lease.hpp"

namespace ergon::gpu {

/// An open, locked file; unlocked when the last process that holds it is gone.
class LockFile {
 public:
  /// kDevice where somebody else holds it, with what he wrote into it; kIo.
  static Result<LockFile> take(const std::string& path, const std::string& holder);
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

/// The folder of leases, made where it is missing.
Status make_folder(const std::string& folder);
/// What stands for a GPU of a machine in names of locks.
std::string gpu_lock_name(const std::string& machine, const std::string& uuid);
/// The file whose lock stands for a GPU of a machine.
std::string gpu_lock_path(const std::string& folder, const std::string& machine,
                          const std::string& uuid);
/// Whether what the lease changed is forgotten: the machine was started since, or the simulated
/// machine is no longer there.
bool is_gone(const LeaseRecord& record);
/// Whether somebody holds the lock of that file.
bool is_locked(const std::string& path);

/// Written, synchronised and renamed: after a crash the old or the new text is there.
Status write_lease(const LeaseRecord& record);
/// kMalformedInput for what is no lease.
Result<LeaseRecord> read_lease(const std::string& file);
Status remove_lease(const std::string& file);
/// Whether something of that name is there, whatever it is.
bool is_there(const std::string& file);

}  // namespace ergon::gpu
