// Lines of a log in any encoding that Windows and Linux leave behind.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "ergon/io.hpp"

namespace ergon::meter::logs {

/// Gives line after line, without its end (LF, CRLF or CR). A byte-order mark is dropped, UTF-16 is
/// turned into UTF-8 (PowerShell's `>` writes it), NUL bytes are dropped.
class Lines {
 public:
  explicit Lines(io::ByteSource& source) : source_(source) {}
  /// False at the end. `line` lives until the next call.
  Result<bool> next(std::string_view& line);
  [[nodiscard]] std::uint64_t number() const {
    return number_;
  }  ///< of the line given last, from 1
  /// The line given last had no line end: the file was cut there, or its writer left it out.
  [[nodiscard]] bool unended() const { return unended_; }
  /// A damaged compressed stream ended the lines early; empty: no.
  [[nodiscard]] const std::string& damage() const { return damage_; }
  /// More than a tenth of the first bytes are no text.
  [[nodiscard]] bool binary() const { return binary_; }

 private:
  Status fill();
  void convert(std::string_view raw);

  io::ByteSource& source_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::string raw_;
  std::string carry_;  // an odd byte or half a surrogate pair of UTF-16
  std::uint64_t number_ = 0;
  enum class Encoding { kUnknown, kUtf8, kUtf16Le, kUtf16Be };
  Encoding encoding_ = Encoding::kUnknown;
  bool end_ = false;
  bool unended_ = false;
  bool binary_ = false;
  bool carriage_ = false;  ///< some line may end with CR
  std::string damage_;
};

}  // namespace ergon::meter::logs
