// Tar archives: headers, long names, and each member as a byte source of its own.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "ergon/io.hpp"

namespace ergon::io {

namespace {

constexpr std::size_t kRecord = 512;
// Longest name record that is read; longer ones are damage.
constexpr std::uint64_t kNameLimit = std::uint64_t{1} << 16;
using Header = std::array<char, kRecord>;

std::string_view field(const Header& header, std::size_t offset, std::size_t size) {
  const std::string_view raw(header.data() + offset, size);
  return raw.substr(0, std::min(raw.find('\0'), raw.size()));
}

// Octal text, or base 256 where the first bit is set (GNU); nullopt for anything else.
std::optional<std::uint64_t> number(const Header& header, std::size_t offset, std::size_t size) {
  const auto* p = reinterpret_cast<const unsigned char*>(header.data()) + offset;
  std::uint64_t value = 0;
  if ((p[0] & 0x80U) != 0) {
    for (std::size_t i = 0; i < size; ++i) {
      const unsigned byte = i == 0 ? p[i] & 0x7fU : p[i];
      if (value >> 55U != 0) return std::nullopt;
      value = value << 8U | byte;
    }
    return value;
  }
  for (const char c : field(header, offset, size)) {
    if (c == ' ') continue;
    if (c < '0' || c > '7' || value >> 60U != 0) return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

bool checksum_matches(const Header& header) {
  const auto stored = number(header, 148, 8);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kRecord; ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return stored && *stored == sum;
}

}  // namespace

struct TarReader::Impl {
  // What is left of the current member, as a source.
  class Member final : public ByteSource {
   public:
    explicit Member(ByteSource& outer) : outer_(outer) {}
    void start(std::string name, std::uint64_t size) {
      name_ = std::move(name);
      left_ = size;
      given_ = 0;
    }
    Result<std::size_t> read(std::span<char> out) override {
      if (left_ == 0) return 0;
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left_));
      ERGON_TRY(const std::size_t got, outer_.read(out.first(want)));
      if (got == 0) {
        const std::uint64_t missing = std::exchange(left_, 0);
        return fail(Error{
            .code = Errc::kMalformedInput,
            .message = name_ + ": the archive ends " + std::to_string(missing) + " bytes too early",
            .hint = "copy the archive again; what it holds was read",
            .offset = given_});
      }
      left_ -= got;
      given_ += got;
      return got;
    }
    [[nodiscard]] std::uint64_t position() const override { return given_; }
    [[nodiscard]] InputRecord record() const override {
      return InputRecord{.path = name_, .bytes = given_, .format = {}, .digest = {}};
    }
    [[nodiscard]] std::uint64_t left() const { return left_; }

   private:
    ByteSource& outer_;
    std::string name_;
    std::uint64_t left_ = 0;
    std::uint64_t given_ = 0;
  };

  explicit Impl(ByteSource& s) : source(s), member(s) {}

  // Fills `out`; false at the end of the archive.
  Result<bool> read_exactly(std::span<char> out) {
    std::size_t used = 0;
    while (used < out.size()) {
      ERGON_TRY(const std::size_t got, source.read(out.subspan(used)));
      if (got == 0) return false;
      used += got;
    }
    return true;
  }
  Status skip(std::uint64_t bytes) {
    std::array<char, 8192> sink{};
    while (bytes > 0) {
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(sink.size(), bytes));
      ERGON_TRY(const std::size_t got, source.read(std::span(sink).first(want)));
      if (got == 0) return {};
      bytes -= got;
    }
    return {};
  }
  // The text of a name record.
  Result<std::string> text(std::uint64_t size) {
    if (size > kNameLimit) return damaged("a member name is too long");
    std::string out(static_cast<std::size_t>(size), '\0');
    ERGON_TRY(const bool whole, read_exactly(out));
    if (!whole) return damaged("the archive ends in a member name");
    ERGON_TRY_STATUS(skip(padding_of(size)));
    return out;
  }
  static std::uint64_t padding_of(std::uint64_t size) {
    return (kRecord - size % kRecord) % kRecord;
  }
  [[nodiscard]] tl::unexpected<Error> damaged(const std::string& what) const {
    return fail(Error{.code = Errc::kMalformedInput,
                      .message = source.record().path + ": " + what,
                      .hint = "a tar archive was expected; unpack it and name the files",
                      .offset = source.position()});
  }

  ByteSource& source;
  Member member;
  std::uint64_t padding = 0;
};

TarReader::TarReader(ByteSource& source) : impl_(std::make_unique<Impl>(source)) {}
TarReader::~TarReader() = default;

bool TarReader::looks_like(std::string_view head) {
  if (head.size() < kRecord || head.substr(257, 5) != "ustar") return false;
  Header header{};
  std::memcpy(header.data(), head.data(), kRecord);
  return checksum_matches(header);
}

ByteSource& TarReader::member() { return impl_->member; }

namespace {
// The value of `path=` in a pax record list ("LENGTH KEY=VALUE\n"...); empty if there is none.
std::string pax_path(std::string_view text) {
  std::string path;
  while (!text.empty()) {
    std::size_t length = 0;
    std::size_t i = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && i < 6; ++i) {
      length = length * 10 + static_cast<std::size_t>(text[i] - '0');
    }
    if (length <= i || length > text.size()) break;
    const std::string_view record = text.substr(i, length - i);
    if (record.starts_with(" path=") && record.back() == '\n') {
      path = record.substr(6, record.size() - 7);
    }
    text.remove_prefix(length);
  }
  return path;
}
}  // namespace

Result<std::optional<std::string>> TarReader::next() {
  Impl& a = *impl_;
  ERGON_TRY_STATUS(a.skip(a.member.left() + a.padding));
  a.padding = 0;
  a.member.start({}, 0);
  std::string long_name;
  for (;;) {
    Header header{};
    ERGON_TRY(const bool whole, a.read_exactly(header));
    if (!whole || std::ranges::all_of(header, [](char c) { return c == '\0'; })) {
      ERGON_TRY_STATUS(a.skip(~std::uint64_t{0}));
      return std::optional<std::string>{};
    }
    if (!checksum_matches(header)) return a.damaged("a member header is damaged");
    const auto size = number(header, 124, 12);
    if (!size) return a.damaged("a member size is damaged");
    const char type = header[156];
    if (type == 'L') {
      ERGON_TRY(long_name, a.text(*size));
      while (!long_name.empty() && long_name.back() == '\0') long_name.pop_back();
    } else if (type == 'x') {
      ERGON_TRY(const std::string records, a.text(*size));
      if (auto path = pax_path(records); !path.empty()) long_name = std::move(path);
    } else if (type == '0' || type == '\0') {
      std::string name = std::exchange(long_name, {});
      if (name.empty()) {
        name = field(header, 0, 100);
        const std::string_view prefix =
            field(header, 257, 6) == "ustar" ? field(header, 345, 155) : std::string_view{};
        if (!prefix.empty()) name.insert(0, std::string(prefix).append("/"));
      }
      a.padding = Impl::padding_of(*size);
      a.member.start(name, *size);
      return std::optional<std::string>(std::move(name));
    } else {
      long_name.clear();
      ERGON_TRY_STATUS(a.skip(*size + Impl::padding_of(*size)));
    }
  }
}

namespace {
class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string head, ByteSource& source) : head_(std::move(head)), source_(source) {}
  Result<std::size_t> read(std::span<char> out) override {
    if (used_ == head_.size()) return source_.read(out);
    const std::size_t n = std::min(out.size(), head_.size() - used_);
    std::memcpy(out.data(), head_.data() + used_, n);
    used_ += n;
    return n;
  }
  [[nodiscard]] std::uint64_t position() const override {
    return used_ < head_.size() ? used_ : source_.position();
  }
  [[nodiscard]] InputRecord record() const override { return source_.record(); }

 private:
  std::string head_;
  std::size_t used_ = 0;
  ByteSource& source_;
};
}  // namespace

std::unique_ptr<ByteSource> prefixed_source(std::string head, ByteSource& source) {
  return std::make_unique<PrefixedSource>(std::move(head), source);
}

}  // namespace ergon::io
