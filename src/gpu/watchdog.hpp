// The process that outlives the holder of a lease.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::gpu {

/// The holder's side of a watchdog: a child in a session of its own that, deaf to the terminal's
/// signals, waits for the end of this process.
class Watchdog {
 public:
  Watchdog() = default;
  Watchdog(Watchdog&& other) noexcept;
  Watchdog& operator=(Watchdog&& other) noexcept;
  ~Watchdog();
  /// Starts `command LEASE_FILE CHANNEL`, which keeps the descriptors `kept` open, and waits until
  /// it is ready. kDevice with what it said where it is not.
  static Result<Watchdog> start(const std::vector<std::string>& command,
                                const std::string& lease_file, std::span<const int> kept);
  [[nodiscard]] bool is_alive();
  /// Tells it that there is nothing left to do, and waits for its end. False: it did not end within
  /// two seconds and was killed.
  bool dismiss();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  bool ends_within(int milliseconds);
  pid_t pid_ = 0;
  int channel_ = -1;
};

/// The watchdog's side: says that it is ready, then waits. True: the holder is gone without a word.
bool wait_for_holder(int channel);
/// The watchdog's side: says why it cannot watch.
void say_unready(int channel, const std::string& why);

}  // namespace ergon::gpu
