// From raw events to rows of the table: tracks, interned text, kept arguments, B/E pairs, names.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "event.hpp"
#include "flows.hpp"
#include "halves.hpp"
#include "place.hpp"
#include "text.hpp"

namespace ergon::trace::kineto {

class Builder {
 public:
  explicit Builder(EventTable& table);

  /// Takes a scanned event that starts at `offset`.
  void add(const RawEvent& event, const Place& offset);
  /// Counts something left out.
  void skip(std::string_view reason, std::uint64_t offset, bool damage = true,
            std::uint64_t count = 1);
  /// Matches B and E, names the tracks. Then the table is complete, but not normalised.
  void finish();

  /// Complete events, and those of a category that Kineto writes.
  [[nodiscard]] std::uint64_t complete_events() const { return complete_; }
  [[nodiscard]] std::uint64_t known_events() const { return known_; }
  /// Complete events, and begins and ends.
  [[nodiscard]] std::uint64_t taken_events() const { return complete_ + halves_.size(); }
  /// Whether arrows must be read: no row has told its correlation yet. Lives as the builder.
  [[nodiscard]] const bool& flows_wanted() const { return flows_wanted_; }

 private:
  struct TrackKey {
    std::int64_t group = 0;  // pid, or device
    std::int64_t line = 0;   // tid, or stream
    std::int64_t context = -1;
    bool gpu = false;
    bool operator==(const TrackKey&) const = default;
  };
  struct TrackKeyHash {
    std::size_t operator()(const TrackKey& key) const;
  };
  struct Row {
    std::uint32_t track = 0;
    Nanos time = 0;
    StringId name = 0;
    StringId detail = 0;
    EventKind kind = EventKind::kOther;
    std::int64_t correlation = -1;
    std::int64_t external_id = -1;
  };
  // A detail by its raw text, so that text seen before is neither compacted nor interned again.
  struct CachedDetail {
    std::uint64_t hash = 0;
    StringId id = 0;
    std::uint16_t first = 0;  // index of the first argument, and the family
    std::string raw;
  };
  // Complete rows on their way to the table, column by column.
  static constexpr std::size_t kRows = 256;
  struct Rows {
    std::size_t count = 0;
    std::array<Nanos, kRows> start, duration;
    std::array<std::int64_t, kRows> correlation, external_id;
    std::array<StringId, kRows> name, detail;
    std::array<std::uint32_t, kRows> track;
    std::array<EventKind, kRows> kind;
  };
  struct Count {
    std::uint64_t count = 0;
    std::uint64_t first_offset = 0;
  };

  void add_complete(const RawEvent& event, const Place& offset);
  void add_half(const RawEvent& event, const Place& offset);
  void add_metadata(const RawEvent& event, const Place& offset);
  void add_flow(const RawEvent& event, const Place& offset);
  void append(const Row& row, Nanos duration);
  void append_ids(const RawEvent& event, EventId id);
  void flush_rows();
  void match_halves();
  void use_flows();
  void count_no_work(CategoryId category, const Place& offset);
  void complete_tracks();
  bool start_usable(const RawEvent& event, const Place& offset);
  Row row_of(const RawEvent& event, const Place& offset);
  std::int64_t id_of(const RawEvent& event, Field field, const Place& offset);
  std::uint32_t track_of(const RawEvent& event, const Category& category, const Place& offset);
  StringId text_of(const RawText& text, const Place& offset);
  StringId name_of(const RawEvent& event, const Place& offset);
  StringId detail_of(const RawEvent& event, Family family, const Place& offset);
  StringId cached_detail(const RawEvent& event, Family family, const Place& offset);
  StringId detail_of_both(StringId begin, StringId end, Family family);
  StringId detail_text(const RawEvent& event, Family family, const Place& offset);
  void count_repairs(const Repairs& repairs, const Place& offset);

  EventTable& table_;
  std::unordered_map<TrackKey, std::uint32_t, TrackKeyHash> tracks_;
  std::vector<std::pair<TrackKey, std::uint32_t>> recent_;
  // The thread of the latest event on a host.
  std::int64_t last_process_ = 0;
  std::int64_t last_thread_ = 0;
  std::optional<std::uint32_t> last_track_;
  std::vector<bool> calls_api_;  // by track
  std::vector<StringId> names_;  // by RawEvent::name_hash
  std::vector<CachedDetail> details_;
  Rows rows_;
  std::vector<Half> halves_;
  std::vector<Flow> flows_;  // while they are wanted
  bool flows_wanted_ = true;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> thread_names_;
  std::map<std::int64_t, std::string> process_names_;
  std::map<std::int64_t, std::string> text_ids_;
  std::array<Count, 128> other_phases_{};
  std::array<Count, kCategories.size()> no_work_{};  // rows that are no work
  std::string scratch_;
  std::uint64_t damages_ = 0;  // calls of skip()
  std::uint64_t complete_ = 0;
  std::uint64_t known_ = 0;
};

}  // namespace ergon::trace::kineto
