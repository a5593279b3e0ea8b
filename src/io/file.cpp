// Whole-file helpers: reading a source to its end, atomic writes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "ergon/io.hpp"

namespace ergon::io {

Result<std::string> read_all(ByteSource& source, std::size_t limit) {
  std::string text;
  std::size_t used = 0;
  for (;;) {
    if (text.size() - used < (std::size_t{1} << 16)) {
      text.resize(std::max<std::size_t>(text.size() * 2, std::size_t{1} << 17));
    }
    ERGON_TRY(const std::size_t got,
              source.read(std::span(text.data() + used, text.size() - used)));
    if (got == 0) break;
    used += got;
    if (used > limit) {
      return fail(Error{
          .code = Errc::kMalformedInput,
          .message = source.record().path + " is larger than " + std::to_string(limit) + " bytes",
          .hint = "this kind of file is small; is it the right one?",
          .offset = limit});
    }
  }
  text.resize(used);
  return text;
}

namespace {

Error write_error(const std::string& path, int code) {
  return Error{.code = Errc::kIo,
               .message = "cannot write " + path + ": " + std::strerror(code),
               .hint = "check that the folder exists and can be written"};
}

// All bytes, across short writes and signals; the errno, or 0.
int write_bytes(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// A plain file is replaced as a whole; a pipe, a terminal or /dev/null is written to as it is.
bool replaceable(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

}  // namespace

Status write_file(const std::string& path, std::string_view text) {
  if (path == "-") {
    const int code = write_bytes(STDOUT_FILENO, text);
    if (code != 0) return fail(write_error("standard output", code));
    return {};
  }
  const bool replace = replaceable(path);
  std::string target = path;
  int fd = -1;
  if (replace) {
    target = path + ".XXXXXX";
    fd = ::mkstemp(target.data());
    if (fd >= 0) {
      const mode_t mask = ::umask(0);
      ::umask(mask);
      if (::fchmod(fd, 0666 & ~mask) != 0) {
        const int code = errno;
        ::close(fd);
        ::unlink(target.c_str());
        return fail(write_error(path, code));
      }
    }
  } else {
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  }
  if (fd < 0) return fail(write_error(path, errno));
  int code = write_bytes(fd, text);
  if (::close(fd) != 0 && code == 0) code = errno;
  if (code == 0 && replace && std::rename(target.c_str(), path.c_str()) != 0) code = errno;
  if (code != 0) {
    if (replace) ::unlink(target.c_str());
    return fail(write_error(path, code));
  }
  return {};
}

}  // namespace ergon::io
