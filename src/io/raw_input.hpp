// Compressed bytes as they lie on disk, in memory or in another source, with their digest.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ergon/io.hpp"

namespace ergon::io {

/// Hands out bytes in pieces and hashes what it hands out. Not thread-safe.
class RawInput {
 public:
  explicit RawInput(std::string name);
  virtual ~RawInput();
  RawInput(const RawInput&) = delete;
  RawInput& operator=(const RawInput&) = delete;

  /// Reads into `out` straight, buffered bytes first; 0 at the end.
  Result<std::size_t> read(std::span<char> out);
  /// The buffered bytes not yet taken; fills the buffer when it is empty. Empty at the end.
  Result<std::string_view> buffered();
  /// Takes the first `n` of buffered().
  void take(std::size_t n) { begin_ += n; }
  /// Buffers at least `n` bytes if the input has them (n <= the buffer's size), takes none.
  Result<std::string_view> peek(std::size_t n);

  [[nodiscard]] InputRecord record() const;

 protected:
  virtual Result<std::size_t> fetch(std::span<char> out) = 0;

 private:
  Result<std::size_t> fetch_hashed(std::span<char> out);

  struct Digest;
  std::string name_;
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t total_ = 0;
  std::unique_ptr<Digest> digest_;
};

Result<std::unique_ptr<RawInput>> open_raw(const std::string& path);
std::unique_ptr<RawInput> raw_memory(std::string_view bytes, std::string name);
std::unique_ptr<RawInput> raw_source(ByteSource& source, std::string name);

/// The decoder that the first bytes ask for; plain bytes otherwise.
Result<std::unique_ptr<ByteSource>> decode(std::unique_ptr<RawInput> raw);
std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<RawInput> raw);
std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<RawInput> raw);

}  // namespace ergon::io
