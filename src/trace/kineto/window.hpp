// The part of the input that is in memory: a window that slides over the bytes of a source.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "bytes.hpp"
#include "ergon/io.hpp"

namespace ergon::trace::kineto {

/// Bytes [begin(), end()) of the input, followed by kPadding zero bytes. Pointers into it live
/// until the next more().
class Window {
 public:
  Window(io::ByteSource& source, std::size_t step);

  [[nodiscard]] const char* begin() const { return buffer_.get(); }
  [[nodiscard]] const char* end() const { return buffer_.get() + size_; }
  /// Offset of `p` into the uncompressed input.
  [[nodiscard]] std::uint64_t offset(const char* p) const {
    return first_ + static_cast<std::uint64_t>(p - buffer_.get());
  }
  /// Drops what lies before `keep`, adds a step of bytes (at least as many as were kept, so that
  /// growing to n bytes costs O(n)), and moves `keep` to the new begin(). False at the end of the
  /// input, where nothing is added.
  bool more(const char*& keep);
  [[nodiscard]] bool at_end() const { return done_; }
  /// Why the input ended early, if it did.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// CPU seconds spent in the source; not measured where the step is tiny.
  [[nodiscard]] double source_seconds() const { return seconds_; }

 private:
  io::ByteSource& source_;
  std::size_t step_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::uint64_t first_ = 0;
  bool done_ = false;
  std::optional<Error> failure_;
  double seconds_ = 0;
};

/// CPU seconds of this thread.
double thread_seconds();

}  // namespace ergon::trace::kineto
