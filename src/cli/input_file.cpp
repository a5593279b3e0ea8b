// Tells pack files from traces by the outermost members of the document.
#include "input_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace ergon::cli {
namespace {

constexpr std::size_t kFirstLook = std::size_t{1} << 14;
constexpr std::size_t kLongestLook = std::size_t{1} << 26;

// Walks over the outermost members of a JSON object; damage is left to the readers to name.
class Members {
 public:
  explicit Members(std::string_view text) : text_(text) {}

  // nullopt where the text ends before it is decided.
  std::optional<bool> packs() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    skip_space();
    if (at_ == text_.size()) return std::nullopt;
    if (text_[at_++] != '{') return false;
    for (;;) {
      skip_space();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (at_ == text_.size()) return std::nullopt;
      if (text_[at_] != '"') return false;
      const auto key = string();
      if (!key) return std::nullopt;
      skip_space();
      if (at_ == text_.size()) return std::nullopt;
      if (text_[at_++] != ':') return false;
      if (*key == "packs") return true;
      if (*key == "traceEvents") return false;
      skip_space();
      const std::size_t value = at_;
      if (!skip_value()) return std::nullopt;
      if (*key == "schema" && text_.substr(value).starts_with("\"ergon.")) return true;
    }
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  // What stands between the quotes, as it stands.
  std::optional<std::string_view> string() {
    const std::size_t begin = ++at_;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        return text_.substr(begin, at_++ - begin);
      }
    }
    at_ = text_.size();
    return std::nullopt;
  }
  bool skip_value() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!string()) return false;
        if (depth == 0) return true;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return true;
      if (c == '{' || c == '[') ++depth;
      ++at_;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool can_be_opened_again(const std::string& path) {
  struct stat info{};
  return path != "-" && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

Result<bool> InputFile::is_pack_file() {
  ERGON_TRY(source_, io::open_source(path_));
  std::string head;
  std::optional<bool> packs;
  for (std::size_t look = kFirstLook; !packs && look <= kLongestLook; look *= 4) {
    std::size_t used = head.size();
    head.resize(look);
    while (used < look) {
      const auto got = source_->read(std::span(head.data() + used, look - used));
      // Damage this early shows again where the rest is read.
      if (!got || *got == 0) break;
      used += *got;
    }
    head.resize(used);
    packs = Members(head).packs();
    if (used < look) break;
  }
  if (can_be_opened_again(path_)) {
    close();
  } else {
    whole_ = io::prefixed_source(std::move(head), *source_);
  }
  return packs.value_or(false);
}

Result<io::ByteSource*> InputFile::open() {
  if (whole_) return whole_.get();
  if (!source_) {
    ERGON_TRY(source_, io::open_source(path_));
  }
  return source_.get();
}

void InputFile::close() {
  whole_.reset();
  source_.reset();
}

Result<std::vector<InputFile>> input_files(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1)
    return fail(Errc::kInvalidArgument, "stdin is named twice", "'-' can be read once");
  return std::vector<InputFile>(paths.begin(), paths.end());
}

}  // namespace ergon::cli
