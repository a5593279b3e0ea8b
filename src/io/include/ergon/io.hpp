// Files in and out: byte sources (plain, gzip, zstd, stdin), JSON and CSV text, atomic writes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::io {

/// What was read, for the `inputs` of an answer.
struct InputRecord {
  std::string path;
  std::uint64_t bytes = 0;  ///< bytes of the file as it lies on disk
  std::string format;       ///< "kineto", "packs", ...; filled by the reader that knows
  std::string digest;       ///< XXH3-64 of those bytes, 16 hex digits
};

/// A stream of uncompressed bytes. gzip (several members too) and zstd are recognised by their
/// first bytes, not by the file name. "-" is stdin. One thread at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills as much of `out` as there is; 0 at the end. A damaged stream gives what could be
  /// decoded, then a kMalformedInput error with the offset into the uncompressed bytes.
  virtual Result<std::size_t> read(std::span<char> out) = 0;
  /// Uncompressed bytes given so far.
  [[nodiscard]] virtual std::uint64_t position() const = 0;
  /// Path, bytes on disk and digest of what was read so far; drains nothing.
  [[nodiscard]] virtual InputRecord record() const = 0;
};

/// kIo when the file cannot be opened (a folder, no permission, not there).
Result<std::unique_ptr<ByteSource>> open_source(const std::string& path);
/// A source over bytes in memory (tests, fuzzing), decompressed in the same way.
std::unique_ptr<ByteSource> memory_source(std::string_view bytes, std::string name = "memory");
/// A source over the bytes of another one, which must outlive it: decompresses a compressed member
/// of an archive.
Result<std::unique_ptr<ByteSource>> nested_source(ByteSource& outer, std::string name);
/// The same bytes with `head`, already read from `source`, in front. record() is that of `source`,
/// which must outlive the result.
std::unique_ptr<ByteSource> prefixed_source(std::string head, ByteSource& source);

/// The files of a tar archive, in order (POSIX ustar, GNU long names, pax paths).
class TarReader {
 public:
  /// True where the first 512 bytes of an input are a tar header.
  static bool looks_like(std::string_view head);
  /// `source` must outlive the reader.
  explicit TarReader(ByteSource& source);
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;
  /// The name of the next plain file; nullopt at the end. kMalformedInput for a damaged header.
  Result<std::optional<std::string>> next();
  /// The bytes of the file that next() named; what is left of them is skipped by the next next().
  ByteSource& member();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The whole input, uncompressed; kMalformedInput above `limit` bytes.
Result<std::string> read_all(ByteSource& source, std::size_t limit = std::size_t{1} << 30);

/// Writes through a temporary file in the same folder and renames it; "-" is stdout.
Status write_file(const std::string& path, std::string_view text);

/// Parses one JSON document (RFC 8259, depth up to 512). Integers that fit 64 bits stay integers.
/// kMalformedInput with the byte offset and what was expected. For small files: traces go through
/// the windowed reader of trace/. A member that stands twice in an object is kept twice, or with
/// kRefuse an error: readers differ in which of the two they believe.
enum class Twice { kKeep, kRefuse };
Result<Value> parse_json(std::string_view text, Twice twice = Twice::kKeep);
/// Deterministic JSON text: members in order, shortest round-trip doubles, NaN and infinity as
/// null, `<` escaped as
/// \u003c where `for_html`. Bytes that are not UTF-8 become U+FFFD.
std::string to_json(const Value& value, int indent = 2, bool for_html = false);

/// How many bytes of `text` are well-formed UTF-8, from its start.
std::size_t valid_utf8_prefix(std::string_view text);
/// The text with U+FFFD for every byte that is not UTF-8.
std::string valid_utf8(std::string_view text);

/// One CSV table: a header and rows of equal width (RFC 4180 quotes). kMalformedInput with the
/// line.
struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::uint64_t> lines;  ///< 1-based line of each row
};
Result<CsvTable> parse_csv(std::string_view text);
std::string csv_field(std::string_view text);

/// A finite double from the whole of `text` (no locale, no leading blanks); nullopt otherwise.
std::optional<double> parse_double(std::string_view text);

}  // namespace ergon::io
