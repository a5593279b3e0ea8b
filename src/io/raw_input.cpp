// Reading bytes and hashing them on the way; the plain source; opening by content.
#include "raw_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name that xxhash.h reads
#include <xxhash.h>

namespace ergon::io {

namespace {
constexpr std::size_t kBuffer = std::size_t{1} << 17;
}  // namespace

struct RawInput::Digest {
  XXH3_state_t state{};
};

RawInput::RawInput(std::string name)
    : name_(std::move(name)),
      buffer_(std::make_unique_for_overwrite<char[]>(kBuffer)),
      digest_(std::make_unique<Digest>()) {
  XXH3_64bits_reset(&digest_->state);
}
RawInput::~RawInput() = default;

Result<std::size_t> RawInput::fetch_hashed(std::span<char> out) {
  ERGON_TRY(const std::size_t got, fetch(out));
  XXH3_64bits_update(&digest_->state, out.data(), got);
  total_ += got;
  return got;
}

Result<std::size_t> RawInput::read(std::span<char> out) {
  if (begin_ == end_) return fetch_hashed(out);
  const std::size_t n = std::min(out.size(), end_ - begin_);
  std::memcpy(out.data(), buffer_.get() + begin_, n);
  begin_ += n;
  return n;
}

Result<std::string_view> RawInput::buffered() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
    // Full buffers from pipes too: where a buffer ends must not depend on who fills the pipe.
    while (end_ < kBuffer) {
      ERGON_TRY(const std::size_t got,
                fetch_hashed(std::span(buffer_.get() + end_, kBuffer - end_)));
      if (got == 0) break;
      end_ += got;
    }
  }
  return std::string_view(buffer_.get() + begin_, end_ - begin_);
}

Result<std::string_view> RawInput::peek(std::size_t n) {
  ERGON_CHECK(n <= kBuffer, "peek beyond the buffer");
  if (kBuffer - begin_ < n) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < n) {
    ERGON_TRY(const std::size_t got, fetch_hashed(std::span(buffer_.get() + end_, kBuffer - end_)));
    if (got == 0) break;
    end_ += got;
  }
  return std::string_view(buffer_.get() + begin_, end_ - begin_);
}

InputRecord RawInput::record() const {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits_digest(&digest_->state)));
  return InputRecord{.path = name_, .bytes = total_, .format = {}, .digest = text};
}

namespace {

class RawFile final : public RawInput {
 public:
  RawFile(std::string name, int fd, bool owned)
      : RawInput(name), name_(std::move(name)), fd_(fd), owned_(owned) {}
  ~RawFile() override {
    if (owned_) ::close(fd_);
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

 protected:
  Result<std::size_t> fetch(std::span<char> out) override {
    for (;;) {
      const ssize_t n = ::read(fd_, out.data(), out.size());
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno == EINTR) continue;
      return fail(Errc::kIo, "cannot read " + name_ + ": " + std::strerror(errno),
                  "check the file and the disk it lies on");
    }
  }

 private:
  std::string name_;
  int fd_;
  bool owned_;
};

class RawMemory final : public RawInput {
 public:
  RawMemory(std::string name, std::string_view bytes) : RawInput(std::move(name)), rest_(bytes) {}

 protected:
  Result<std::size_t> fetch(std::span<char> out) override {
    const std::size_t n = std::min(out.size(), rest_.size());
    if (n > 0) std::memcpy(out.data(), rest_.data(), n);
    rest_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view rest_;
};

class RawNested final : public RawInput {
 public:
  RawNested(std::string name, ByteSource& source) : RawInput(std::move(name)), source_(source) {}

 protected:
  Result<std::size_t> fetch(std::span<char> out) override { return source_.read(out); }

 private:
  ByteSource& source_;
};

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<RawInput> raw) : raw_(std::move(raw)) {}
  Result<std::size_t> read(std::span<char> out) override {
    std::size_t used = 0;
    while (used < out.size()) {
      if (failed_) {
        if (used > 0) break;
        return fail(*failed_);
      }
      auto got = raw_->read(out.subspan(used));
      if (!got) {
        failed_ = std::move(got).error();
        continue;
      }
      if (*got == 0) break;
      used += *got;
    }
    position_ += used;
    return used;
  }
  [[nodiscard]] std::uint64_t position() const override { return position_; }
  [[nodiscard]] InputRecord record() const override { return raw_->record(); }

 private:
  std::unique_ptr<RawInput> raw_;
  std::uint64_t position_ = 0;
  std::optional<Error> failed_;
};

constexpr std::string_view kGzip{"\x1f\x8b", 2};
constexpr std::string_view kZstd{"\x28\xb5\x2f\xfd", 4};

}  // namespace

Result<std::unique_ptr<RawInput>> open_raw(const std::string& path) {
  if (path == "-") return std::make_unique<RawFile>("-", STDIN_FILENO, false);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int code = errno;
    return fail(Errc::kIo, "cannot open " + path + ": " + std::strerror(code),
                code == ENOENT ? "check the path; - reads standard input"
                               : "check the permissions of the file");
  }
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(fd);
    return fail(Errc::kIo, path + " is a folder", "name the files in it");
  }
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return std::make_unique<RawFile>(path, fd, true);
}

std::unique_ptr<RawInput> raw_memory(std::string_view bytes, std::string name) {
  return std::make_unique<RawMemory>(std::move(name), bytes);
}

std::unique_ptr<RawInput> raw_source(ByteSource& source, std::string name) {
  return std::make_unique<RawNested>(std::move(name), source);
}

Result<std::unique_ptr<ByteSource>> decode(std::unique_ptr<RawInput> raw) {
  ERGON_TRY(const std::string_view head, raw->peek(4));
  if (head.starts_with(kGzip)) return gzip_source(std::move(raw));
  if (head.starts_with(kZstd)) return zstd_source(std::move(raw));
  return std::make_unique<PlainSource>(std::move(raw));
}

Result<std::unique_ptr<ByteSource>> open_source(const std::string& path) {
  ERGON_TRY(auto raw, open_raw(path));
  return decode(std::move(raw));
}

std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name) {
  auto source = decode(raw_memory(bytes, std::move(name)));
  ERGON_CHECK(source.has_value(), "memory cannot fail to be read");
  return *std::move(source);
}

Result<std::unique_ptr<ByteSource>> nested_source(ByteSource& outer, std::string name) {
  return decode(raw_source(outer, std::move(name)));
}

}  // namespace ergon::io
