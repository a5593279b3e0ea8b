// Windows of bytes to lines.
#include "logs/lines.hpp"

#include <algorithm>

namespace ergon::meter::logs {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 18U;
// A line longer than this is no line of a log.
constexpr std::size_t kLongest = std::size_t{1} << 22U;
// Documents of JSON may stand on one.
constexpr std::size_t kLongestJson = std::size_t{1} << 28U;

void put_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6U));
    put(0x80 | (c & 0x3FU));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12U));
    put(0x80 | ((c >> 6U) & 0x3FU));
    put(0x80 | (c & 0x3FU));
  } else {
    put(0xF0 | (c >> 18U));
    put(0x80 | ((c >> 12U) & 0x3FU));
    put(0x80 | ((c >> 6U) & 0x3FU));
    put(0x80 | (c & 0x3FU));
  }
}

}  // namespace

void Lines::convert(std::string_view raw) {
  if (encoding_ == Encoding::kUnknown) {
    encoding_ = Encoding::kUtf8;
    if (raw.starts_with("\xEF\xBB\xBF")) {
      raw.remove_prefix(3);
    } else if (raw.starts_with("\xFF\xFE")) {
      encoding_ = Encoding::kUtf16Le;
      raw.remove_prefix(2);
    } else if (raw.starts_with("\xFE\xFF")) {
      encoding_ = Encoding::kUtf16Be;
      raw.remove_prefix(2);
    } else if (raw.size() >= 4 && raw[1] == 0 && raw[3] == 0 && raw[0] != 0) {
      encoding_ = Encoding::kUtf16Le;
    }
    if (encoding_ == Encoding::kUtf8) {
      const std::string_view head = raw.substr(0, 4096);
      const auto odd = std::ranges::count_if(head, [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return u < 9 || (u > 13 && u < 32);
      });
      binary_ = odd * 10 > static_cast<std::ptrdiff_t>(head.size());
    }
  }
  if (encoding_ == Encoding::kUtf8) {
    if (raw.find('\0') == std::string_view::npos) {
      buffer_ += raw;
    } else {  // a machine that went down leaves NUL bytes where data was to be written
      std::ranges::copy_if(raw, std::back_inserter(buffer_), [](char c) { return c != '\0'; });
    }
    return;
  }
  std::string bytes = carry_ + std::string(raw);
  carry_.clear();
  const auto unit = [&](std::size_t i) {
    const auto a = static_cast<unsigned char>(bytes[i]);
    const auto b = static_cast<unsigned char>(bytes[i + 1]);
    return encoding_ == Encoding::kUtf16Le ? static_cast<std::uint32_t>(a | (b << 8U))
                                           : static_cast<std::uint32_t>(b | (a << 8U));
  };
  std::size_t i = 0;
  while (i + 2 <= bytes.size()) {
    const std::uint32_t u = unit(i);
    if (u >= 0xD800 && u < 0xDC00) {
      if (i + 4 > bytes.size()) break;
      const std::uint32_t low = unit(i + 2);
      if (low >= 0xDC00 && low < 0xE000) {
        put_utf8(buffer_, 0x10000 + ((u - 0xD800) << 10U) + (low - 0xDC00));
        i += 4;
        continue;
      }
    }
    if (u != 0 && u != 0xFEFF) put_utf8(buffer_, u >= 0xD800 && u < 0xE000 ? 0xFFFD : u);
    i += 2;
  }
  carry_ = bytes.substr(i);
}

Status Lines::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  raw_.resize(kWindow);
  const auto got = source_.read({raw_.data(), raw_.size()});
  if (!got) {
    // What could be decoded has been given; the rest is lost.
    if (buffer_.empty() && number_ == 0) return fail(got.error());
    damage_ = got.error().message;
    end_ = true;
    return {};
  }
  if (*got == 0) {
    end_ = true;
    return {};
  }
  const std::size_t had = buffer_.size();
  convert(std::string_view(raw_).substr(0, *got));
  carriage_ = carriage_ || buffer_.find('\r', had) != std::string::npos;
  return {};
}

Result<bool> Lines::next(std::string_view& line) {
  std::size_t from = at_;
  while (true) {
    const std::string_view all(buffer_);
    auto end = all.find('\n', from);
    if (end == std::string_view::npos && !end_) {
      const bool json = at_ < buffer_.size() && (buffer_[at_] == '{' || buffer_[at_] == '[');
      if (buffer_.size() - at_ > (json ? kLongestJson : kLongest)) {
        return fail(Error{
            Errc::kMalformedInput,
            "a line of more than " + std::string(json ? "256" : "4") + " MiB: this is no power log",
            "power logs have one sample a line", std::nullopt, number_ + 1});
      }
      from = buffer_.size() - at_;
      ERGON_TRY_STATUS(fill());
      continue;
    }
    // Old Macintosh line ends: only where the file has no other ones.
    const std::size_t carriage =
        carriage_ ? all.substr(0, end).find('\r', at_) : std::string_view::npos;
    if (carriage != std::string_view::npos && carriage + 1 < all.size() &&
        all[carriage + 1] != '\n' && !(end != std::string_view::npos && carriage + 1 == end)) {
      end = carriage;
    }
    unended_ = end == std::string_view::npos;
    if (unended_) {
      if (at_ >= buffer_.size()) return false;
      line = all.substr(at_);
      at_ = buffer_.size();
    } else {
      line = all.substr(at_, end - at_);
      at_ = end + 1;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }
}

}  // namespace ergon::meter::logs
