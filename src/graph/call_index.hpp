// API calls by (table, correlation id).
#pragma once
#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "draft.hpp"
#include "ergon/base/radix_sort.hpp"

namespace ergon::graph {

/// A group of more calls of one id than this names nothing.
inline constexpr std::size_t kMostCallsOfAnId = 64;

class CallIndex {
 public:
  struct Entry {
    std::uint32_t table, call;
    std::int64_t id;
  };
  explicit CallIndex(std::vector<Entry> entries) : entries_(std::move(entries)) {
    // Entries come table by table with calls ascending: of one id they stay so.
    std::vector<Entry> spare;
    radix_sort(entries_, spare, [](const Entry& e) { return e.id; });
    radix_sort(entries_, spare, [](const Entry& e) { return std::int64_t{e.table}; });
  }
  /// The calls of an id; ids mostly come in ascending order, so the place after the last answer is
  /// tried first.
  std::span<const Entry> find(std::uint32_t table, std::int64_t id) {
    const auto before = [&](const Entry& e) {
      return std::tie(e.table, e.id) < std::tie(table, id);
    };
    std::size_t at = hint_;
    const bool lucky =
        at < entries_.size() && !before(entries_[at]) && (at == 0 || before(entries_[at - 1]));
    if (!lucky) {
      at = static_cast<std::size_t>(std::partition_point(entries_.begin(), entries_.end(), before) -
                                    entries_.begin());
    }
    std::size_t end = at;
    while (end < entries_.size() && entries_[end].table == table && entries_[end].id == id &&
           end - at <= kMostCallsOfAnId) {
      ++end;
    }
    hint_ = end;
    if (end - at > kMostCallsOfAnId) return {};
    return std::span(entries_).subspan(at, end - at);
  }

 private:
  std::vector<Entry> entries_;
  std::size_t hint_ = 0;
};

/// Gives every stream whose process the trace does not name (several processes in one file) the one
/// whose calls fit its operations. Correlation ids are unique within a process only, and processes
/// that run the same program use the same ones. Notes what stays open.
void assign_processes(Draft& draft, CallIndex& index);

}  // namespace ergon::graph
