// Joins GPU operations and sync records to the calls that caused them, by (process, correlation
// id).
#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "draft.hpp"
#include "ergon/base/radix_sort.hpp"

namespace ergon::graph {
namespace {

// The API calls sorted by (table, correlation id, event). A group of more calls of one id than this
// names nothing.
constexpr std::size_t kMostCallsOfAnId = 64;

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

std::int64_t correlation(const Draft& d, std::uint32_t e) {
  const Draft::Ref r = d.ref(e);
  return r.table->correlation[r.event];
}

// The call of that correlation in `process` (kNone: any of the table): launching calls first, the
// latest that starts no later than `start`.
struct Match {
  std::uint32_t call = kNone;
  bool launches = false;
  bool late = false;  ///< only calls after `start` carry the id
};
Match find_call(const Draft& d, CallIndex& index, std::int64_t id, std::uint32_t table,
                std::uint32_t process, Nanos start, bool want_launch) {
  Match best;
  for (const auto& [call_table, call, call_id] : index.find(table, id)) {
    const HostThread& thread = d.threads[d.place(call)];
    if (process != kNone && thread.process != process) continue;
    const bool able = !want_launch || launches(d.api(call));
    if (d.start(call) > start) {
      best.late = best.call == kNone;
      continue;
    }
    if (best.call == kNone || (able && !best.launches) ||
        (able == best.launches && d.start(call) > d.start(best.call))) {
      best = {call, able, false};
    }
  }
  return best;
}

// Streams whose process the trace does not name: the process that most of their operations point
// at.
void vote_processes(Draft& d, CallIndex& index) {
  for (Stream& s : d.streams) {
    if (s.process != kNone) continue;
    std::map<std::uint32_t, std::uint32_t> votes;
    for (Op k = s.first; k < s.last; ++k) {
      const std::uint32_t e = d.op_event[k];
      const std::int64_t id = correlation(d, e);
      if (id < 0) continue;
      for (const CallIndex::Entry& entry : index.find(s.table, id)) {
        if (launches(d.api(entry.call)) && d.start(entry.call) <= d.start(e)) {
          ++votes[d.threads[d.place(entry.call)].process];
        }
      }
    }
    std::uint32_t most = 0;
    for (const auto& [process, count] : votes) {
      if (count > most) {
        most = count;
        s.process = process;
      }
    }
  }
}

}  // namespace

void correlate(Draft& d) {
  d.op_call.assign(d.op_event.size(), kNone);
  d.slot.assign(d.base.back(), kNone);
  std::vector<CallIndex::Entry> entries;
  for (const HostThread& thread : d.threads) {
    for (std::uint32_t e = thread.begin; e < thread.end; ++e) {
      if (d.kind(e) != trace::EventKind::kApi) continue;
      const std::int64_t id = correlation(d, e);
      if (id >= 0) entries.push_back({thread.table, e, id});
    }
  }
  CallIndex index(std::move(entries));
  vote_processes(d, index);

  std::uint64_t late = 0;
  for (Op k = 0; k < d.op_event.size(); ++k) {
    const std::uint32_t e = d.op_event[k];
    d.slot[e] = k;
    const std::int64_t id = correlation(d, e);
    if (id < 0) continue;
    const Stream& s = d.streams[d.op_stream[k]];
    const Match match = find_call(d, index, id, s.table, s.process, d.start(e), true);
    late += match.late ? 1 : 0;
    if (match.call == kNone) continue;
    d.op_call[k] = match.call;
    std::uint32_t& first = d.slot[match.call];
    if (first == kNone) {
      first = k;
    } else if (d.op_start(k) < d.op_start(first)) {
      d.further.emplace_back(match.call, first);
      first = k;
    } else {
      d.further.emplace_back(match.call, k);
    }
  }
  std::sort(d.further.begin(), d.further.end());
  d.note("operation_before_launch",
         "GPU operations that start before the call with their correlation id", late);

  if (!d.options.use_sync_records) return;
  std::uint64_t orphans = 0;
  for (const Stream& s : d.streams) {
    for (std::uint32_t e = s.begin; e < s.end; ++e) {
      if (d.kind(e) != trace::EventKind::kSyncRecord) continue;
      const std::int64_t id = correlation(d, e);
      const Match match =
          id < 0 ? Match{}
                 : find_call(d, index, id, s.table, s.process, d.start(e) + kRounding, false);
      if (match.call == kNone || launches(d.api(match.call))) {
        ++orphans;
      } else if (d.slot[match.call] == kNone) {
        d.slot[match.call] = e;
      }
    }
  }
  d.note("sync_record_without_call",
         "synchronisation records without an API call of their correlation id", orphans);
}

void filter_operations(Draft& d) {
  if (!d.options.range) return;
  std::vector<std::uint32_t> events;
  std::vector<std::uint32_t> calls;
  std::vector<std::uint32_t> streams;
  std::vector<Op> renamed(d.op_event.size(), kNone);
  for (Stream& s : d.streams) {
    const auto first = static_cast<Op>(events.size());
    for (Op k = s.first; k < s.last; ++k) {
      const std::uint32_t e = d.op_event[k];
      d.slot[e] = kNone;
      if (!d.in_range(d.op_call[k] == kNone ? e : d.op_call[k])) continue;
      renamed[k] = static_cast<Op>(events.size());
      d.slot[e] = renamed[k];
      events.push_back(e);
      calls.push_back(d.op_call[k]);
      streams.push_back(d.op_stream[k]);
    }
    s.first = first;
    s.last = static_cast<Op>(events.size());
  }
  // all operations of a call are in or out together
  for (Op k = 0; k < renamed.size(); ++k) {
    const std::uint32_t call = d.op_call[k];
    if (call != kNone && d.slot[call] == k) d.slot[call] = renamed[k];
  }
  std::erase_if(d.further, [&](const auto& f) { return renamed[f.second] == kNone; });
  for (auto& f : d.further) f.second = renamed[f.second];
  d.op_event = std::move(events);
  d.op_call = std::move(calls);
  d.op_stream = std::move(streams);
}

}  // namespace ergon::graph
