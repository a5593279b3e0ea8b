// Rows by track and start, looked up for each end of an arrow.
#include "flows.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

namespace ergon::trace::kineto {

namespace {

// Rows before the latest start that are looked at for one that is still running.
constexpr std::size_t kDeepestRows = 64;

struct Row {
  std::uint32_t track = 0;
  Nanos start = 0;
  Nanos duration = 0;
  EventId event = 0;
};

class RowIndex {
 public:
  explicit RowIndex(const EventTable& table) {
    for (EventId e = 0; e < table.size(); ++e) {
      if (!can_be_joined(table.kind[e])) continue;
      rows_.push_back({table.track[e], table.start_ns[e], table.duration_ns[e], e});
    }
    std::ranges::sort(rows_, [](const Row& a, const Row& b) {
      return std::tuple(a.track, a.start, -a.duration, a.event) <
             std::tuple(b.track, b.start, -b.duration, b.event);
    });
    for (std::uint32_t t = 0; t < table.tracks.size(); ++t) {
      const Track& track = table.tracks[t];
      const auto key = track.gpu ? std::tuple(true, std::int64_t{track.device}, track.stream)
                                 : std::tuple(false, track.process, track.thread);
      tracks_[key].push_back(t);
    }
  }

  [[nodiscard]] EventId find(const Flow& flow) const {
    const auto at = tracks_.find({flow.at_work, flow.process, flow.thread});
    if (at == tracks_.end()) return kNoEvent;
    EventId around = kNoEvent;
    for (const std::uint32_t track : at->second) {
      const auto before = [&](const Row& r) {
        return std::tie(r.track, r.start) < std::tie(track, flow.time);
      };
      const auto it = std::partition_point(rows_.begin(), rows_.end(), before);
      if (it != rows_.end() && it->track == track && it->start == flow.time) return it->event;
      auto earlier = static_cast<std::size_t>(it - rows_.begin());
      for (std::size_t n = 0; n < kDeepestRows && earlier > 0; ++n) {
        const Row& row = rows_[--earlier];
        if (row.track != track) break;
        if (row.start + row.duration <= flow.time) continue;
        if (around == kNoEvent) around = row.event;
        break;
      }
    }
    return around;
  }

 private:
  std::vector<Row> rows_;
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::vector<std::uint32_t>> tracks_;
};

}  // namespace

std::uint64_t join_by_flows(EventTable& table, std::vector<Flow> flows) {
  // The order in the file must not show.
  std::ranges::sort(flows, [](const Flow& a, const Flow& b) {
    return std::tie(a.id, a.at_work, a.process, a.thread, a.time) <
           std::tie(b.id, b.at_work, b.process, b.thread, b.time);
  });
  const RowIndex index(table);
  std::uint64_t used = 0;
  for (const Flow& flow : flows) {
    const EventId event = index.find(flow);
    if (event == kNoEvent) continue;
    std::int64_t& id = table.correlation[event];
    if (id == -1) id = flow.id;
    used += id == flow.id ? 1U : 0U;
  }
  return used;
}

}  // namespace ergon::trace::kineto
