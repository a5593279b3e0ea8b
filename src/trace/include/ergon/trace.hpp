// The event table: what a profiler recorded, whatever its format. One folder a format reads into
// it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/io.hpp"

namespace ergon::trace {

/// Index of an event in its table, after normalisation.
using EventId = std::uint32_t;
inline constexpr EventId kNoEvent = 0xffffffffU;
/// Index into EventTable::strings.
using StringId = std::uint32_t;

enum class EventKind : std::uint8_t {
  kHostOp,      ///< an operator on a host thread (cpu_op, Operator)
  kAnnotation,  ///< user_annotation on a host thread (ProfilerStep#N, nccl:all_reduce, ...)
  kPython,      ///< a python function call
  kApi,         ///< a runtime or driver API call (cuda*, cu*, hip*)
  kKernel,      ///< GPU work
  kCopy,
  kMemset,
  kSyncRecord,     ///< cuda_sync: the device's view of a synchronisation
  kGpuAnnotation,  ///< gpu_user_annotation: no work of its own
  kOverhead,       ///< the profiler's own work
  kOther,
};

/// Where an event ran. Host tracks have a thread; GPU tracks have a device, context and stream.
struct Track {
  bool gpu = false;
  std::int64_t process =
      0;  ///< pid of the recording process (for GPU tracks: of the process that launched, if known)
  std::int64_t thread = 0;    ///< host tracks
  std::int32_t device = -1;   ///< GPU tracks; index as the trace counts
  std::int64_t context = -1;  ///< -1: not recorded
  std::int64_t stream = -1;
  StringId name = 0;  ///< thread name, when the trace has it
  StringId process_name =
      0;  ///< of the pid (GPU tracks: the device) under which the trace files it
};

/// A GPU as the trace describes it (`deviceProperties`); empty name and 0 where unknown.
struct GpuProperties {
  std::int32_t device = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;
  int sm_count = 0;
  int compute_major = 0;
  int compute_minor = 0;
};

/// `distributedInfo` and rank; -1 where absent.
struct Distributed {
  std::int64_t rank = -1;
  std::int64_t world_size = -1;
  std::string backend;
};

/// What was left out of the input, or mended, by kind.
struct Skipped {
  std::string reason;  ///< "bad_utf8", "no_duration", "truncated", ...: stable words, listed in
                       ///< docs/formats/kineto.md
  std::uint64_t count = 0;
  std::uint64_t first_offset = 0;  ///< into the uncompressed bytes
  bool damage = true;  ///< false: sound, but no work: not in the table (flows), or rows (Python)
};

/// Blocks of one size in bytes instead of one growing array: appending never copies, so the peak is
/// the size, and a freed block of any column serves every other column.
template <class T>
class Column {
 public:
  static constexpr std::size_t kBlock = (std::size_t{1} << 16) / sizeof(T);
  void push_back(T v) {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_unique_for_overwrite<T[]>(kBlock));
    blocks_.back()[size_ % kBlock] = v;
    ++size_;
  }
  /// `n` values, one after the other from next().
  template <class Next>
  void append(std::size_t n, Next&& next) {
    while (n > 0) {
      if (size_ % kBlock == 0) blocks_.push_back(std::make_unique_for_overwrite<T[]>(kBlock));
      T* const at = blocks_.back().get() + size_ % kBlock;
      const std::size_t some = std::min(n, kBlock - size_ % kBlock);
      for (std::size_t i = 0; i < some; ++i) at[i] = next();
      size_ += some;
      n -= some;
    }
  }
  T& operator[](std::size_t i) { return blocks_[i / kBlock][i % kBlock]; }
  const T& operator[](std::size_t i) const { return blocks_[i / kBlock][i % kBlock]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0;
};

/// A column in which few events have a value, sorted by event.
class SparseColumn {
 public:
  /// Events in ascending order.
  void push_back(EventId event, std::int64_t value) {
    events_.push_back(event);
    values_.push_back(value);
  }
  [[nodiscard]] std::optional<std::int64_t> get(EventId event) const;
  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] EventId event(std::size_t i) const { return events_[i]; }
  [[nodiscard]] std::int64_t value(std::size_t i) const { return values_[i]; }

 private:
  Column<EventId> events_;
  Column<std::int64_t> values_;
};

/// Interned strings; id 0 is "".
class StringPool {
 public:
  StringPool();
  StringId intern(std::string_view text);
  /// Keeps the strings `kept`, which get the ids 1, 2, ... in that order; all other ids end.
  void renumber(std::span<const StringId> kept);
  [[nodiscard]] std::string_view view(StringId id) const { return views_[id]; }
  [[nodiscard]] std::size_t size() const { return views_.size(); }

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
  std::vector<std::string_view> views_;
};

/// Complete events, column by column. After normalisation events are ordered by (track order,
/// start, longer first, content), so that neither the order of the file, nor window size, nor
/// thread count shows. Times are integer nanoseconds from `base_ns`.
struct EventTable {
  Column<Nanos> start_ns;
  Column<Nanos> duration_ns;  ///< >= 0
  Column<StringId> name;
  Column<EventKind> kind;
  Column<std::uint32_t> track;       ///< index into tracks
  Column<std::int64_t> correlation;  ///< API calls, GPU work and sync records; -1: none
  Column<std::int64_t>
      external_id;  ///< links GPU work to the host operator that launched it; -1: none
  Column<StringId>
      detail;  ///< interned text of the arguments that matter, as one JSON object; 0: none

  SparseColumn sequence;        ///< "Sequence number" of host operators: a backward operator has
                                ///< that of its forward operator
  SparseColumn forward_thread;  ///< "Fwd thread id" of host operators, where above 0
  SparseColumn collective_seq;  ///< "Seq" of communication kernels and operators

  StringPool strings;
  std::vector<Track> tracks;
  std::vector<GpuProperties> gpus;
  Distributed distributed;
  Nanos base_ns = 0;       ///< time 0 of the table on the trace's own clock
  std::string format;      ///< "kineto"
  std::string profiler;    ///< version words of the trace, free text
  bool generated = false;  ///< the trace says of itself that a generator wrote it
  std::vector<Skipped> skipped;
  io::InputRecord input;

  [[nodiscard]] std::size_t size() const { return start_ns.size(); }
  [[nodiscard]] Nanos end_ns(EventId e) const { return start_ns[e] + duration_ns[e]; }
  [[nodiscard]] std::string_view name_of(EventId e) const { return strings.view(name[e]); }
  [[nodiscard]] std::string_view detail_of(EventId e) const { return strings.view(detail[e]); }
  [[nodiscard]] bool on_gpu(EventId e) const { return tracks[track[e]].gpu; }
};

struct ReadOptions {
  std::size_t window_bytes = std::size_t{1}
                             << 18;  ///< 64 B and up; the result does not depend on it
  int threads = 1;                   ///< 1 or more; the result does not depend on it
};

/// Where the time of reading went (CPU seconds).
struct ReadTimings {
  double decompress_s = 0;
  double parse_s = 0;
  double normalise_s = 0;
  std::uint64_t uncompressed_bytes = 0;
};

/// Reads a trace of any known format; damaged files as far as they make sense (see
/// EventTable::skipped). kMalformedInput (byte offset, what was expected) when nothing usable is
/// found, and for an archive of several files.
Result<EventTable> read_trace(io::ByteSource& source, const ReadOptions& options = {},
                              ReadTimings* timings = nullptr);
/// The same, and every file of a tar archive (compressed or not) as a table of its own, ordered by
/// rank, then by name. A member that is no trace is an error if it is named like one (.json,
/// .json.gz, .json.zst), and left alone otherwise.
Result<std::vector<EventTable>> read_traces(io::ByteSource& source, const ReadOptions& options = {},
                                            ReadTimings* timings = nullptr);

}  // namespace ergon::trace
