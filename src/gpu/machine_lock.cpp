#include "machine_lock.hpp"

#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "lease_file.hpp"
#include "place.hpp"

namespace ergon::gpu {
namespace {

constexpr int kBacklog = 4096;  ///< nobody accepts: each look at the holder takes a place

struct Address {
  sockaddr_un name{};
  socklen_t length = 0;
};

// An abstract name begins with a zero byte and is as long as the call says.
Address address_of(const std::string& machine, const std::string& uuid) {
  const std::string text = "ergon/" + gpu_lock_name(machine, uuid);
  Address out;
  out.name.sun_family = AF_UNIX;
  const std::size_t count = std::min(text.size(), sizeof out.name.sun_path - 1);
  std::memcpy(out.name.sun_path + 1, text.data(), count);
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + count);
  return out;
}

const sockaddr* plain_address(const Address& address) {
  return reinterpret_cast<const sockaddr*>(&address.name);
}

std::string user_name(uid_t user) {
  std::array<char, 4096> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, room.data(), room.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return "uid " + std::to_string(user);
}

// "process 4711 of alice: ergon sweep ...".
std::string holder_of(const Address& address) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return {};
  std::string text;
  ucred who{};
  socklen_t size = sizeof who;
  if (::connect(probe, plain_address(address), address.length) == 0 &&
      ::getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0) {
    text = who.pid > 0 ? "process " + std::to_string(who.pid) + " of " + user_name(who.uid)
                       : "a process of another container";
    std::string words = who.pid > 0 ? slurp("/proc/" + std::to_string(who.pid) + "/cmdline") : "";
    std::ranges::replace(words, '\0', ' ');
    constexpr std::size_t kLongest = 120;
    if (words.size() > kLongest) words = words.substr(0, kLongest) + "...";
    while (words.ends_with(' ')) words.pop_back();
    if (!words.empty()) text += ": " + words;
  }
  ::close(probe);
  return text;
}

}  // namespace

Result<MachineLock> MachineLock::take(const std::string& machine, const std::string& uuid) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto broken = [](int error) {
    return fail(Errc::kIo,
                "cannot lock a GPU against other tools: " + std::generic_category().message(error));
  };
  if (descriptor < 0) return broken(errno);
  MachineLock lock(descriptor);
  const Address address = address_of(machine, uuid);
  for (int tries = 0; ::bind(descriptor, plain_address(address), address.length) != 0; ++tries) {
    if (errno != EADDRINUSE) return broken(errno);
    if (tries == 20) {
      const std::string holder = holder_of(address);
      return fail(Errc::kDevice,
                  "another tool holds the clocks of GPU " + uuid +
                      (holder.empty() ? "" : " (" + holder + ")"),
                  "wait until it has ended; one tool at a time may change a GPU's clocks");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (::listen(descriptor, kBacklog) != 0) return broken(errno);
  return lock;
}

MachineLock::MachineLock(MachineLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}
MachineLock& MachineLock::operator=(MachineLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
MachineLock::~MachineLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace ergon::gpu
