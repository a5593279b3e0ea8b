// One tool at a time changes a GPU's clocks, whoever runs it: a lock that all users share.
#pragma once
#include <string>

#include "ergon/base.hpp"

namespace ergon::gpu {

/// A name in the kernel's abstract socket namespace: no file, nothing to clean up, and no user's
/// permissions in the way. Free again when the last process that holds the descriptor is gone.
/// Containers with a network of their own have a namespace of their own: there it does not reach.
class MachineLock {
 public:
  /// For a GPU ("GPU-..." and the machine, as in a lease). Waits a moment for a holder that is just
  /// ending. kDevice where somebody holds it, with his process, user and command line as far as
  /// they can be seen.
  static Result<MachineLock> take(const std::string& machine, const std::string& uuid);
  MachineLock(MachineLock&& other) noexcept;
  MachineLock& operator=(MachineLock&& other) noexcept;
  ~MachineLock();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  explicit MachineLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace ergon::gpu
