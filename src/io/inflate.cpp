// gzip (all members) through ISA-L and zstd (all frames) through libzstd, decoded as they come.
#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "raw_input.hpp"

namespace ergon::io {

namespace {

// What the decoders share. Bytes are decoded in chunks of one size, whatever size is asked for, so
// that a damaged stream gives the same bytes through every window; an error shows only after
// everything before it has been given out.
class Decoder : public ByteSource {
 public:
  explicit Decoder(std::unique_ptr<RawInput> raw) : raw_(std::move(raw)) {}

  Result<std::size_t> read(std::span<char> out) override {
    std::size_t used = 0;
    while (used < out.size()) {
      if (held_begin_ < held_end_) {
        const std::size_t n = std::min(out.size() - used, held_end_ - held_begin_);
        std::memcpy(out.data() + used, held_.get() + held_begin_, n);
        held_begin_ += n;
        used += n;
      } else if (failed_ || done_) {
        break;
      } else if (out.size() - used >= kChunk) {
        used += decode_chunk(out.data() + used);
      } else {
        if (!held_) held_ = std::make_unique_for_overwrite<char[]>(kChunk);
        held_begin_ = 0;
        held_end_ = decode_chunk(held_.get());
      }
    }
    position_ += used;
    if (used == 0 && failed_) {
      if (!failed_->offset && failed_->code == Errc::kMalformedInput) failed_->offset = position_;
      return fail(*failed_);
    }
    return used;
  }
  [[nodiscard]] std::uint64_t position() const override { return position_; }
  [[nodiscard]] InputRecord record() const override { return raw_->record(); }

 protected:
  // Decodes some bytes into `out`; may give 0 without being at the end.
  virtual Result<std::size_t> step(std::span<char> out) = 0;

  [[nodiscard]] tl::unexpected<Error> damaged(const std::string& what) const {
    return fail(Errc::kMalformedInput, raw_->record().path + ": " + what,
                "copy or compress the file again; what could be decoded was read");
  }

  std::unique_ptr<RawInput> raw_;  // NOLINT(readability-identifier-naming)
  bool done_ = false;              // NOLINT(readability-identifier-naming)

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 18U;

  // Less than a chunk only at the end or before damage.
  std::size_t decode_chunk(char* out) {
    std::size_t used = 0;
    while (used < kChunk && !failed_ && !done_) {
      auto got = step({out + used, kChunk - used});
      if (got) {
        used += *got;
      } else {
        failed_ = std::move(got).error();
      }
    }
    return used;
  }

  std::uint64_t position_ = 0;
  std::optional<Error> failed_;
  std::unique_ptr<char[]> held_;
  std::size_t held_begin_ = 0;
  std::size_t held_end_ = 0;
};

class GzipSource final : public Decoder {
 public:
  explicit GzipSource(std::unique_ptr<RawInput> raw)
      : Decoder(std::move(raw)), state_(std::make_unique<inflate_state>()) {
    start_member();
  }

 protected:
  Result<std::size_t> step(std::span<char> out) override {
    if (deferred_ != 0) return damaged(words(deferred_));
    ERGON_TRY(const std::string_view in, raw_->buffered());
    if (state_->block_state == ISAL_BLOCK_FINISH) return next_member(in);
    if (in.empty() && !pending_) return damaged("the gzip data end too early");
    const std::size_t room = std::min<std::size_t>(out.size(), std::size_t{1} << 30);
    // isal_inflate reads and never writes through next_in; its type is not const.
    state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(in.data()));
    state_->avail_in = static_cast<std::uint32_t>(in.size());
    state_->next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_->avail_out = static_cast<std::uint32_t>(room);
    const int code = isal_inflate(state_.get());
    raw_->take(in.size() - state_->avail_in);
    const std::size_t got = room - state_->avail_out;
    // The last bytes of a member may still lie in the decoder when the input is used up.
    pending_ = state_->avail_out == 0;
    if (code < 0 || (code > 0 && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW)) {
      if (got > 0) {
        deferred_ = code;
        return got;
      }
      return damaged(words(code));
    }
    if (got == 0 && state_->avail_in == in.size() && !in.empty()) return damaged(words(code));
    return got;
  }

 private:
  void start_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
    pending_ = false;
  }
  // Another member, padding, or the end. Bytes that are neither are left alone, as gzip does.
  Result<std::size_t> next_member(std::string_view in) {
    if (in.empty()) {
      done_ = true;
      return 0;
    }
    if (in.front() == '\0') {
      raw_->take(std::min(in.find_first_not_of('\0'), in.size()));
      return 0;
    }
    ERGON_TRY(const std::string_view head, raw_->peek(2));
    if (head.starts_with("\x1f\x8b")) {
      start_member();
      return 0;
    }
    return damaged("there is something else after the gzip data");
  }
  static const char* words(int code) {
    switch (code) {
      case ISAL_INCORRECT_CHECKSUM:
        return "the gzip checksum is wrong";
      case ISAL_UNSUPPORTED_METHOD:
        return "the gzip data use an unknown method";
      default:
        return "the gzip data are damaged";
    }
  }

  std::unique_ptr<inflate_state> state_;
  bool pending_ = false;
  int deferred_ = 0;
};

class ZstdSource final : public Decoder {
 public:
  explicit ZstdSource(std::unique_ptr<RawInput> raw)
      : Decoder(std::move(raw)), stream_(ZSTD_createDStream()) {
    ERGON_CHECK(stream_ != nullptr, "out of memory for zstd");
    ZSTD_initDStream(stream_);
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

 protected:
  Result<std::size_t> step(std::span<char> out) override {
    ERGON_TRY(const std::string_view in, raw_->buffered());
    if (in.empty() && !pending_) {
      if (!between_) return damaged("the zstd data end too early");
      done_ = true;
      return 0;
    }
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t code = ZSTD_decompressStream(stream_, &output, &input);
    raw_->take(input.pos);
    if (ZSTD_isError(code) != 0) {
      return damaged(std::string("the zstd data are damaged: ") + ZSTD_getErrorName(code));
    }
    between_ = code == 0;
    pending_ = output.pos == output.size && !between_;
    return output.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool between_ = false;
  bool pending_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> gzip_source(std::unique_ptr<RawInput> raw) {
  return std::make_unique<GzipSource>(std::move(raw));
}

std::unique_ptr<ByteSource> zstd_source(std::unique_ptr<RawInput> raw) {
  return std::make_unique<ZstdSource>(std::move(raw));
}

}  // namespace ergon::io
