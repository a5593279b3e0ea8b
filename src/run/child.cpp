// Starting, watching and waiting for processes.
#include "ergon/run/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "ergon/gpu/machine.hpp"
#include "ergon/gpu/process.hpp"
#include "strangers.hpp"

namespace ergon::run {
namespace {

int open_pidfd(int pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// The files that the name may mean, in the order of PATH.
std::vector<std::string> candidates(const Program& program) {
  const std::string& name = program.words.front();
  if (name.find('/') != std::string::npos) return {name};
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  for (const auto& variable : program.environment) {
    if (variable.starts_with("PATH=")) path = variable.substr(5);
  }
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    out.push_back((folder.empty() ? "." : folder) + "/" + name);
    at = end + 1;
  }
  return out;
}

// In the child after fork: only calls that are safe there.
[[noreturn]] void become(const std::vector<std::string>& files, char* const* words,
                         char* const* environment, const Program& program, const sigset_t& mask,
                         int report, pid_t parent) {
  if (program.own_group) ::setpgid(0, 0);
  if (program.dies_with_us) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(125);
  }
  std::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  int worst = ENOENT;
  for (const auto& file : files) {
    ::execve(file.c_str(), words, environment);
    if (errno != ENOENT && errno != ENOTDIR) worst = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  // The report is best effort: without it the parent sees exit status 127.
  [[maybe_unused]] const auto written = ::write(report, &worst, sizeof worst);
  ::_exit(worst == ENOENT ? 127 : 126);
}

// Sleeps until a descriptor is readable, at most `most_ns`.
void sleep_on(std::array<int, 2> descriptors, Nanos most_ns) {
  std::array<pollfd, 2> all{};
  nfds_t count = 0;
  for (const int d : descriptors) {
    if (d >= 0) all[count++] = {.fd = d, .events = POLLIN, .revents = 0};
  }
  const Nanos most = std::max<Nanos>(most_ns, 0);
  const timespec time{.tv_sec = most / 1'000'000'000, .tv_nsec = most % 1'000'000'000};
  ::ppoll(all.data(), count, &time, nullptr);
}

}  // namespace

int status_of_failed_start(const Error& error) {
  if (error.code == Errc::kNotFound) return 127;
  return error.code == Errc::kPermission ? 126 : 125;
}

Child::Child(int pid, bool group, Nanos started_ns)
    : pid_(pid), descriptor_(open_pidfd(pid)), group_(group), started_ns_(started_ns) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      group_(other.group_),
      started_ns_(other.started_ns_),
      ending_(other.ending_) {}

Child::~Child() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Child> Child::start(const Program& program, const sigset_t& mask) {
  ERGON_CHECK(!program.words.empty(), "a program without a name");
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0)
    return fail(Errc::kIo, std::string("cannot make a pipe: ") + std::strerror(errno));
  const auto files = candidates(program);
  const auto words = pointers(program.words);
  const auto environment = pointers(program.environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(files, words.data(), environment.data(), program, mask, report[1], parent);
  }
  ::close(report[1]);
  if (pid < 0) {
    ::close(report[0]);
    return fail(Errc::kIo, std::string("cannot start a process: ") + std::strerror(errno));
  }
  if (program.own_group) ::setpgid(pid, pid);
  int reason = 0;
  ssize_t got = 0;
  do {
    got = ::read(report[0], &reason, sizeof reason);
  } while (got < 0 && errno == EINTR);
  ::close(report[0]);
  if (got == static_cast<ssize_t>(sizeof reason)) {
    ::waitpid(pid, nullptr, 0);
    const std::string& name = program.words.front();
    if (reason == ENOENT) {
      return fail(Errc::kNotFound, "there is no program '" + name + "'",
                  "check the name, or give its path");
    }
    return fail(Errc::kPermission, "cannot run '" + name + "': " + std::strerror(reason),
                reason == ENOEXEC ? "a script needs a first line such as #!/bin/sh"
                                  : "is it a program, and may this user run it?");
  }
  return Child(pid, program.own_group, gpu::monotonic_now());
}

std::optional<Ending> Child::poll() {
  if (ending_ || pid_ < 0) return ending_;
  int status = 0;
  rusage usage{};
  pid_t got = 0;
  // While it is a zombie the kernel still tells of its children.
  siginfo_t info{};
  std::optional<bool> had_children;
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    if (info.si_pid == 0) return std::nullopt;
    if (const auto lineage = lineage_of(pid_)) had_children = lineage->had_children;
  }
  do {
    got = ::wait4(pid_, &status, WNOHANG, &usage);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return std::nullopt;
  Ending ending;
  ending.had_children = had_children;
  ending.at_ns = gpu::monotonic_now();
  if (got == pid_) {
    ending.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ending.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    const auto seconds = [](const timeval& t) {
      return Seconds(static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6);
    };
    ending.user_time = seconds(usage.ru_utime);
    ending.system_time = seconds(usage.ru_stime);
  } else {
    ending.status = 125;  // somebody else waited for it: its status is lost
  }
  ending_ = ending;
  return ending_;
}

void Child::send(int signal) const {
  if (pid_ > 0 && !ending_) ::kill(group_ ? -pid_ : pid_, signal);
}

void Child::wake() const {
  if (group_ || gpu::is_stopped(pid_)) send(SIGCONT);
}

Result<Watched> Watched::open(int pid) {
  const int descriptor = open_pidfd(pid);
  const std::uint64_t ticks = gpu::start_ticks(pid);
  if (ticks == 0) {
    if (descriptor >= 0) ::close(descriptor);
    return fail(Errc::kNotFound, "there is no process " + std::to_string(pid),
                "ps -e lists the processes that run");
  }
  return Watched(pid, descriptor, ticks);
}

Watched::Watched(Watched&& other) noexcept
    : pid_(other.pid_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      start_ticks_(other.start_ticks_) {}

Watched::~Watched() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Watched::ended() const { return !gpu::is_alive(pid_, start_ticks_); }

Signals::Signals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&held, number);
  ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  descriptor_ = ::signalfd(-1, &held, SFD_NONBLOCK | SFD_CLOEXEC);
}

Signals::~Signals() {
  // What came in too late to be read would end the process now; it has done its work.
  while (next()) {
  }
  if (descriptor_ >= 0) ::close(descriptor_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<Signals::Caught> Signals::next() {
  signalfd_siginfo info{};
  if (::read(descriptor_, &info, sizeof info) != static_cast<ssize_t>(sizeof info))
    return std::nullopt;
  return Caught{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

Ending wait_for(Child& child, Signals* signals, Nanos every_ns,
                const std::function<bool()>& meanwhile) {
  constexpr Nanos kWithoutDescriptor = 1'000'000;
  constexpr Nanos kGrace = 5'000'000'000;
  const Nanos most = child.descriptor() < 0 ? std::min(every_ns, kWithoutDescriptor) : every_ns;
  std::optional<Nanos> told;
  bool killed = false;
  Nanos next = gpu::monotonic_now() + every_ns;
  for (;;) {
    if (auto ending = child.poll()) return *ending;
    const Nanos now = gpu::monotonic_now();
    if (now >= next) {
      next = now + every_ns;
      if (!meanwhile() && !told) {
        told = now;
        child.send(SIGTERM);
        child.wake();
      }
    }
    if (told && !killed && now - *told > kGrace) {
      killed = true;
      child.send(SIGKILL);
    }
    sleep_on({child.descriptor(), signals == nullptr ? -1 : signals->descriptor()},
             std::min(most, next - now));
    while (signals != nullptr) {
      const auto caught = signals->next();
      if (!caught) break;
      if (!caught->by_terminal) child.send(caught->number);
      child.wake();
    }
  }
}

std::optional<Signals::Caught> wait_until(Nanos until_ns, const Watched* watched, Signals* signals,
                                          Nanos every_ns, const std::function<void()>& meanwhile) {
  Nanos next = gpu::monotonic_now() + every_ns;
  for (;;) {
    const Nanos now = gpu::monotonic_now();
    if (now >= until_ns || (watched != nullptr && watched->ended())) return std::nullopt;
    if (now >= next) {
      next = now + every_ns;
      meanwhile();
    }
    sleep_on({watched == nullptr ? -1 : watched->descriptor(),
              signals == nullptr ? -1 : signals->descriptor()},
             std::min(until_ns, next) - now);
    if (signals == nullptr) continue;
    if (const auto caught = signals->next()) return caught;
  }
}

}  // namespace ergon::run
