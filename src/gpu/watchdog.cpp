// Starting the watchdog, and the words that it and the holder exchange: 'r' ready, 'e' + text not
// ready, 'q' nothing left to do. The end of the stream is the holder's death.
#include "watchdog.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "ergon/gpu/lease.hpp"

namespace ergon::gpu {
namespace {

constexpr int kGoMs = 2000;
constexpr int kStepMs = 2;
constexpr int kReadyMs = 30'000;  // a driver that is not loaded yet takes seconds

// Between fork and exec: only what is safe after a fork of a program with threads.
[[noreturn]] void become_watchdog(char* const* arguments, std::span<const int> kept, int channel) {
  ::setsid();
  // Ignored signals stay ignored over exec: only the holder's end counts.
  for (const int signal : {SIGINT, SIGHUP, SIGTERM, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, stream);
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  ::syscall(SYS_close_range, 3U, ~0U, kCloseOnExec);
#endif
  for (const int descriptor : kept) ::fcntl(descriptor, F_SETFD, 0);
  ::fcntl(channel, F_SETFD, 0);
  ::execv(arguments[0], arguments);
  ::_exit(127);
}

// What the watchdog answers: empty for "ready".
std::string wait_until_ready(int channel) {
  pollfd waiting{channel, POLLIN, 0};
  int answered = 0;
  do {
    answered = ::poll(&waiting, 1, kReadyMs);
  } while (answered < 0 && errno == EINTR);
  if (answered == 0) return "it did not answer within 30 s";
  std::array<char, 2000> answer{};
  const ssize_t count = ::recv(channel, answer.data(), answer.size(), 0);
  if (count > 0 && answer[0] == 'r') return {};
  if (count > 1 && answer[0] == 'e')
    return {answer.data() + 1, static_cast<std::size_t>(count - 1)};
  return "it ended at once";
}

}  // namespace

Result<Watchdog> Watchdog::start(const std::vector<std::string>& command,
                                 const std::string& lease_file, std::span<const int> kept) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(Errc::kIo, "cannot make a channel to the watchdog");
  std::vector<std::string> words = command;
  words.push_back(lease_file);
  words.push_back(std::to_string(ends[1]));
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  Watchdog watchdog;
  watchdog.channel_ = ends[0];
  watchdog.pid_ = ::fork();
  if (watchdog.pid_ == 0) become_watchdog(arguments.data(), kept, ends[1]);
  ::close(ends[1]);
  if (watchdog.pid_ < 0) {
    watchdog.pid_ = 0;
    return fail(Errc::kIo, "cannot start the watchdog");
  }
  const std::string trouble = wait_until_ready(watchdog.channel_);
  if (!trouble.empty()) {
    return fail(Errc::kDevice, "the watchdog that gives clocks back is not ready: " + trouble,
                "without it nothing is changed");
  }
  return watchdog;
}

Watchdog::Watchdog(Watchdog&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), channel_(std::exchange(other.channel_, -1)) {}
Watchdog& Watchdog::operator=(Watchdog&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(channel_, other.channel_);
  return *this;
}
Watchdog::~Watchdog() { static_cast<void>(dismiss()); }

bool Watchdog::is_alive() {
  if (pid_ <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = 0;
  return false;
}

bool Watchdog::dismiss() {
  if (channel_ >= 0) {
    static_cast<void>(::send(channel_, "q", 1, MSG_NOSIGNAL));
    ::close(channel_);
    channel_ = -1;
  }
  // It may be stuck in the driver, even where a signal cannot end it: then it is left behind.
  const bool in_time = ends_within(kGoMs);
  if (!in_time) {
    ::kill(pid_, SIGKILL);
    ends_within(kGoMs / 4);
    pid_ = 0;
  }
  return in_time;
}

bool Watchdog::ends_within(int milliseconds) {
  for (int waited = 0; is_alive(); waited += kStepMs) {
    if (waited >= milliseconds) return false;
    ::poll(nullptr, 0, kStepMs);
  }
  return true;
}

bool wait_for_holder(int channel) {
  static_cast<void>(::send(channel, "r", 1, MSG_NOSIGNAL));
  while (true) {
    char word = 0;
    const ssize_t count = ::recv(channel, &word, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    if (word == 'q') return false;
  }
}

void say_unready(int channel, const std::string& why) {
  const std::string text = "e" + why.substr(0, 1500);
  static_cast<void>(::send(channel, text.data(), text.size(), MSG_NOSIGNAL));
}

}  // namespace ergon::gpu
