// Joins GPU operations and sync records to the calls that caused them, by (process, correlation
// id).
#include <algorithm>
#include <map>

#include "call_index.hpp"

namespace ergon::graph {
namespace {

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

// The work of several processes on one row of the file is several streams: their queues are not
// one.
void split_shared_streams(Draft& d, CallIndex& index) {
  const std::size_t streams = d.streams.size();
  for (std::size_t s = 0; s < streams; ++s) {
    if (!d.streams[s].shared) continue;
    const Stream whole = d.streams[s];
    std::map<std::uint32_t, std::vector<std::uint32_t>> events_of;
    for (Op k = whole.first; k < whole.last; ++k) {
      const std::uint32_t e = d.op_event[k];
      const std::int64_t id = correlation(d, e);
      const Match match =
          id < 0 ? Match{} : find_call(d, index, id, whole.table, kNone, d.start(e), true);
      const bool known = match.call != kNone;
      events_of[known ? d.threads[d.place(match.call)].process : whole.process].push_back(e);
    }
    Op next = whole.first;
    for (const auto& [process, events] : events_of) {
      // The first keeps the row's synchronisation records.
      const bool keeps = next == whole.first;
      const auto place = static_cast<std::uint32_t>(keeps ? s : d.streams.size());
      if (!keeps) {
        d.streams.push_back(whole);
        d.streams.back().begin = d.streams.back().end = whole.end;
      }
      Stream& part = d.streams[place];
      part.process = process;
      part.first = next;
      for (const std::uint32_t e : events) {
        d.op_event[next] = e;
        d.op_stream[next++] = place;
      }
      part.last = next;
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
  assign_processes(d, index);
  split_shared_streams(d, index);

  std::uint64_t late = 0;
  std::uint64_t launched = 0;
  for (Op k = 0; k < d.op_event.size(); ++k) {
    const std::uint32_t e = d.op_event[k];
    d.slot[e] = k;
    const std::int64_t id = correlation(d, e);
    if (id < 0) continue;
    const Stream& s = d.streams[d.op_stream[k]];
    const std::uint32_t process = s.shared ? kNone : s.process;
    const Match match = find_call(d, index, id, s.table, process, d.start(e), true);
    late += match.late ? 1 : 0;
    if (match.call == kNone) continue;
    d.op_call[k] = match.call;
    ++launched;
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
  if (launched == 0) {
    d.note("no_launches",
           "a GPU operation without a launch, as all are here: no correlation id joins it to a "
           "call, so other times of the host do not move it",
           d.op_event.size());
  }

  if (!d.options.use_sync_records) return;
  std::uint64_t orphans = 0;
  for (const Stream& s : d.streams) {
    for (std::uint32_t e = s.begin; e < s.end; ++e) {
      if (d.kind(e) != trace::EventKind::kSyncRecord) continue;
      const std::int64_t id = correlation(d, e);
      const Match match = id < 0 ? Match{}
                                 : find_call(d, index, id, s.table, s.shared ? kNone : s.process,
                                             d.start(e) + kRounding, false);
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
