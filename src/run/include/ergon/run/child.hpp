// The wrapped program: its streams are its own, signals reach it, its exit status is passed on.
#pragma once
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::run {

/// What is started, and how.
struct Program {
  std::vector<std::string> words;        ///< program and arguments; looked for along PATH
  std::vector<std::string> environment;  ///< all of it, "NAME=value"
  /// In a process group of its own, so that all of it can be stopped; else in ours, so that the
  /// terminal's signals and job control reach it as they would without us.
  bool own_group = false;
  /// SIGKILL for the program where the thread that started it dies.
  bool dies_with_us = false;
};

/// How a program ended.
struct Ending {
  int status = 0;  ///< as a shell gives it: the exit status, or 128 + the signal
  int signal = 0;  ///< that killed it; 0: none
  Nanos at_ns = 0;
  Seconds user_time;  ///< of the program and the children it waited for
  Seconds system_time;
  /// Children of it have ended, or may have; nullopt: not known.
  std::optional<bool> had_children = std::nullopt;
};

/// The exit status that a shell gives where a program cannot be started: 127 not found, 126 not
/// runnable; 125 for a failure of our own.
int status_of_failed_start(const Error& error);

/// A running child of this process; only this child is waited for. Not copyable.
class Child {
 public:
  /// The program runs (exec has succeeded) on return. kNotFound, kPermission (found, not runnable),
  /// else kIo. The child has the signal mask `mask`, default SIGPIPE, and inherits nothing else.
  static Result<Child> start(const Program& program, const sigset_t& mask);
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  /// A child that still runs is left alone.
  ~Child();

  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] Nanos started_ns() const { return started_ns_; }
  /// The ending, once there is one.
  std::optional<Ending> poll();
  /// To the child, or to its whole group where it has one.
  void send(int signal) const;
  /// Lets a stopped child (SIGSTOP, Ctrl-Z) go on, so that a signal sent before can reach it.
  void wake() const;
  /// A descriptor that is readable once the child ended; -1 where the kernel has none.
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  Child(int pid, bool group, Nanos started_ns);
  int pid_ = -1;
  int descriptor_ = -1;
  bool group_ = false;
  Nanos started_ns_ = 0;
  std::optional<Ending> ending_;
};

/// A process that somebody else started: told when it ends, not how.
class Watched {
 public:
  /// kNotFound where there is no such process.
  static Result<Watched> open(int pid);
  Watched(Watched&& other) noexcept;
  Watched& operator=(Watched&&) = delete;
  Watched(const Watched&) = delete;
  ~Watched();
  [[nodiscard]] bool ended() const;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  Watched(int pid, int descriptor, std::uint64_t start_ticks)
      : pid_(pid), descriptor_(descriptor), start_ticks_(start_ticks) {}
  int pid_ = -1;
  int descriptor_ = -1;
  std::uint64_t start_ticks_;  ///< as gpu::start_ticks(): a pid may be used again
};

/// While it lives SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process but are read here. To
/// be made before the first thread, so that all threads have the mask.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  struct Caught {
    int number = 0;
    /// By the terminal (Ctrl-C): every process in the foreground has had it already.
    bool by_terminal = false;
  };
  /// The next one that came in, if any; does not wait.
  std::optional<Caught> next();
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// The mask as it was: for children.
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

/// Waits for the child while signals are passed on: those of the terminal it has had already. Calls
/// `meanwhile` at least every `every_ns`; where it returns false the child is told to end (SIGTERM,
/// after five seconds SIGKILL).
Ending wait_for(Child& child, Signals* signals, Nanos every_ns,
                const std::function<bool()>& meanwhile);

/// Waits until `until_ns` or until the process ends (nullptr: no process). A signal ends the wait:
/// it is returned.
std::optional<Signals::Caught> wait_until(Nanos until_ns, const Watched* watched, Signals* signals,
                                          Nanos every_ns, const std::function<void()>& meanwhile);

}  // namespace ergon::run
