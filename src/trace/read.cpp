// Opening a trace of any format: archives, a reading thread, the format's own reader.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "ergon/trace.hpp"
#include "kineto/document.hpp"
#include "kineto/window.hpp"

namespace ergon::trace {

namespace {

// What is looked at first. As much as decoders decode at once, so that what follows is decoded in
// place.
constexpr std::size_t kHead = std::size_t{1} << 18U;
constexpr std::size_t kAheadBytes = std::size_t{1} << 18U;
constexpr std::size_t kAheadPieces = 3;

// Reads and decompresses in a thread of its own, a few pieces ahead.
class ReadAhead final : public io::ByteSource {
 public:
  explicit ReadAhead(io::ByteSource& source) : source_(source), thread_([this] { work(); }) {}
  ~ReadAhead() override { join(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  Result<std::size_t> read(std::span<char> out) override {
    std::size_t used = 0;
    while (used < out.size()) {
      if (taken_ == piece_.size() && !next_piece()) break;
      const std::size_t n = std::min(out.size() - used, piece_.size() - taken_);
      std::memcpy(out.data() + used, piece_.data() + taken_, n);
      taken_ += n;
      used += n;
    }
    position_ += used;
    if (used == 0 && failure_) return fail(*failure_);
    return used;
  }
  [[nodiscard]] std::uint64_t position() const override { return position_; }
  /// Only after the end was read, or join().
  [[nodiscard]] io::InputRecord record() const override { return source_.record(); }
  void join() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void work() {
    const double begin = kineto::thread_seconds();
    for (;;) {
      std::string piece(kAheadBytes, '\0');
      auto got = source_.read(piece);
      std::unique_lock lock(mutex_);
      if (!got) failure_ = got.error();
      if (!got || *got == 0) break;
      piece.resize(*got);
      room_.wait(lock, [this] { return stop_ || pieces_.size() < kAheadPieces; });
      if (stop_) break;
      pieces_.push_back(std::move(piece));
      filled_.notify_one();
    }
    const std::lock_guard lock(mutex_);
    seconds_ = kineto::thread_seconds() - begin;
    done_ = true;
    filled_.notify_one();
  }
  bool next_piece() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return done_ || !pieces_.empty(); });
    if (pieces_.empty()) return false;
    piece_ = std::move(pieces_.front());
    pieces_.pop_front();
    taken_ = 0;
    room_.notify_one();
    return true;
  }

  io::ByteSource& source_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::condition_variable room_;
  std::deque<std::string> pieces_;
  bool done_ = false;
  bool stop_ = false;
  std::optional<Error> failure_;
  double seconds_ = 0;
  std::string piece_;
  std::size_t taken_ = 0;
  std::uint64_t position_ = 0;
  std::thread thread_;
};

Result<EventTable> read_one(io::ByteSource& source, const ReadOptions& options,
                            ReadTimings& timings) {
  const auto named = [&source](Result<EventTable> table) -> Result<EventTable> {
    if (table) return table;
    // What fails below the trace (a compressed stream) names its file itself.
    const std::string name = source.record().path + ": ";
    std::string& message = table.error().message;
    if (!message.starts_with(name)) message.insert(0, name);
    return table;
  };
  if (options.threads < 2) return named(kineto::read(source, options, timings));
  ReadAhead ahead(source);
  auto table = kineto::read(ahead, options, timings);
  ahead.join();
  timings.decompress_s += ahead.seconds();
  return named(std::move(table));
}

// The first bytes of an input, and all of it again.
struct Opened {
  std::string head;
  std::unique_ptr<io::ByteSource> source;
};
Result<Opened> open(io::ByteSource& source) {
  Opened opened;
  opened.head.resize(kHead);
  std::size_t used = 0;
  while (used < kHead) {
    auto got = source.read(std::span(opened.head.data() + used, kHead - used));
    // Damage this early shows again where the rest is read.
    if (!got && got.error().code != Errc::kMalformedInput) return fail(std::move(got).error());
    if (!got || *got == 0) break;
    used += *got;
  }
  opened.head.resize(used);
  opened.source = io::prefixed_source(opened.head, source);
  return opened;
}

bool named_like_a_trace(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".json.gz") || name.ends_with(".json.zst");
}

}  // namespace

Result<std::vector<EventTable>> read_traces(io::ByteSource& source, const ReadOptions& options,
                                            ReadTimings* timings) {
  ReadTimings sink;
  ReadTimings& t = timings == nullptr ? sink : *timings;
  ERGON_TRY(const Opened opened, open(source));
  std::vector<EventTable> tables;
  if (!io::TarReader::looks_like(opened.head)) {
    ERGON_TRY(EventTable table, read_one(*opened.source, options, t));
    tables.push_back(std::move(table));
    return tables;
  }
  io::TarReader archive(*opened.source);
  const std::string path = source.record().path;
  std::optional<Error> refused;
  for (;;) {
    ERGON_TRY(const auto name, archive.next());
    if (!name) break;
    ERGON_TRY(const auto member, io::nested_source(archive.member(), path + ":" + *name));
    auto table = read_one(*member, options, t);
    if (table) {
      tables.push_back(*std::move(table));
    } else if (named_like_a_trace(*name) || table.error().code != Errc::kMalformedInput) {
      return fail(std::move(table).error());
    } else if (!refused) {
      refused = std::move(table).error();
    }
  }
  if (tables.empty()) {
    return refused ? fail(*std::move(refused))
                   : fail(Errc::kMalformedInput, path + ": the archive holds no files",
                          "give an archive of traces, or the traces themselves");
  }
  std::ranges::sort(tables, [](const EventTable& a, const EventTable& b) {
    return std::pair(a.distributed.rank, a.input.path) <
           std::pair(b.distributed.rank, b.input.path);
  });
  return tables;
}

Result<EventTable> read_trace(io::ByteSource& source, const ReadOptions& options,
                              ReadTimings* timings) {
  ReadTimings sink;
  ERGON_TRY(const Opened opened, open(source));
  if (io::TarReader::looks_like(opened.head)) {
    return fail(Errc::kMalformedInput,
                source.record().path + " is a tar archive; expected one trace",
                "unpack it, or use a command that takes several traces");
  }
  return read_one(*opened.source, options, timings == nullptr ? sink : *timings);
}

}  // namespace ergon::trace
