// Calls that hold the host until the GPU has done something: synchronisation, blocking copies,
// frees, full queues.
#include <algorithm>
#include <unordered_map>

#include "draft.hpp"

namespace ergon::graph {
namespace {

constexpr Nanos kQueueStall = 50'000;  // a launch that takes this long, and ...
constexpr std::uint64_t kQueueDepth =
    256;  // ... finds this many operations not yet started, waits for room

class HostWaitFinder {
 public:
  HostWaitFinder(Draft& d, const Process& p) : d_(d), process_(p) {}

  void run() {
    for (const std::uint32_t call : process_.calls) {
      switch (d_.api(call)) {
        case ApiClass::kDeviceSync:
        case ApiClass::kFree:
          device_sync(call);
          break;
        case ApiClass::kStreamSync:
          stream_sync(call);
          break;
        case ApiClass::kEventSync:
          event_sync(call);
          break;
        case ApiClass::kEventRecord:
          record(call);
          break;
        case ApiClass::kCopy:
        case ApiClass::kCopyAsync:
          copy(call);
          launch(call);
          break;
        case ApiClass::kLaunch:
        case ApiClass::kGraphLaunch:
        case ApiClass::kMemsetAsync:
          full_queue(call);
          launch(call);
          break;
        default:
          break;
      }
    }
  }

 private:
  struct Recorded {
    Op after = kNone;
    Nanos at = 0;
  };

  void launch(std::uint32_t call) {
    d_.each_op_of(call, [&](Op k) {
      const std::uint32_t s = d_.op_stream[k];
      if (last_.try_emplace(s, kNone).first->second == kNone) fresh_.push_back(s);
      last_[s] = k;
      last_of_thread_[d_.place(call)] = k;
      ++launched_;
    });
  }
  void record(std::uint32_t call) {
    const auto it = last_of_thread_.find(d_.place(call));
    const Recorded r{it == last_of_thread_.end() ? kNone : it->second, d_.start(call)};
    records_.push_back(r);
    const Draft::Ref ref = d_.ref(call);
    record_time_[ref.table->correlation[ref.event]] = r.at;
  }

  // The last operation of a stream that the call can have waited for: the last one launched, and
  // those after it whose launch is unknown and that ended in time.
  Op last_work(std::uint32_t stream, Op launched, Nanos returned) const {
    Op k = launched;
    while (k + 1 < d_.streams[stream].last && d_.op_call[k + 1] == kNone &&
           d_.op_end(k + 1) <= returned + kRounding)
      ++k;
    return k;
  }
  bool add(std::uint32_t call, Op k, Rule rule, Known known, bool from_start = false) {
    if (k == kNone) return false;
    const Nanos source = from_start ? d_.op_start(k) : d_.op_end(k);
    // What begins when the call has returned (a small copy that the driver keeps a copy of) did not
    // hold it.
    if (source > d_.end(call) + kRounding || d_.op_start(k) >= d_.end(call)) {
      if (known == Known::kRecorded) {
        d_.note("sync_contradicted",
                "synchronisation records that the times of their operations contradict");
      }
      return false;
    }
    d_.waits.push_back({call, k, rule, known, from_start});
    return true;
  }
  [[nodiscard]] const SyncRecord* sync_record(std::uint32_t call) {
    const std::uint32_t event = d_.slot[call];
    if (event == kNone || d_.kind(event) != trace::EventKind::kSyncRecord) return nullptr;
    read_ = read_sync_record(d_, event);
    return &read_;
  }

  void device_sync(std::uint32_t call) {
    const SyncRecord* r = sync_record(call);
    const Known known = r != nullptr ? Known::kRecorded : Known::kInferred;
    std::int32_t gpu = -1;
    if (r != nullptr) {
      const Draft::Ref ref = d_.ref(d_.slot[call]);
      const std::int32_t device = ref.table->tracks[ref.table->track[ref.event]].device;
      for (std::size_t g = 0; g < d_.gpus.size(); ++g) {
        if (d_.gpus[g].table == process_.table && d_.gpus[g].device == device)
          gpu = static_cast<std::int32_t>(g);
      }
    }
    if (gpu < 0) {
      const auto it = last_of_thread_.find(d_.place(call));
      if (it != last_of_thread_.end()) gpu = d_.streams[d_.op_stream[it->second]].gpu;
    }
    std::erase_if(fresh_, [&](std::uint32_t s) {
      if (gpu >= 0 && d_.streams[s].gpu != gpu) return false;
      add(call, last_work(s, last_[s], d_.end(call)), Rule::kDeviceSync, known);
      last_[s] = kNone;
      return true;
    });
  }

  void stream_sync(std::uint32_t call) {
    if (const SyncRecord* r = sync_record(call)) {
      const std::uint32_t s = stream_numbered(d_, d_.slot[call], r->stream);
      if (s != kNone) {
        const Op k = last_launched_before(d_, s, d_.start(call));
        if (k != kNone)
          add(call, last_work(s, k, d_.end(call)), Rule::kStreamSync, Known::kRecorded);
        return;
      }
    }
    // Most programs wait for the stream on which the thread launched last; unless that one was
    // still running.
    const auto it = last_of_thread_.find(d_.place(call));
    if (it != last_of_thread_.end()) {
      const std::uint32_t s = d_.op_stream[it->second];
      const Op k = last_launched_before(d_, s, d_.start(call));
      if (k != kNone &&
          add(call, last_work(s, k, d_.end(call)), Rule::kStreamSync, Known::kInferred))
        return;
    }
    add(call, ended_during(call), Rule::kStreamSync, Known::kInferred);
  }

  void event_sync(std::uint32_t call) {
    if (const SyncRecord* r = sync_record(call); r != nullptr && r->wait_on_stream >= 0) {
      const std::uint32_t s = stream_numbered(d_, d_.slot[call], r->wait_on_stream);
      const auto at = record_time_.find(r->record_correlation);
      if (s != kNone) {
        const Op k =
            last_launched_before(d_, s, at == record_time_.end() ? d_.start(call) : at->second);
        if (k != kNone) add(call, k, Rule::kEventSync, Known::kRecorded);
      }
      return;
    }
    // The latest record whose work had ended when the call returned.
    for (std::size_t i = records_.size(), tries = 0; i-- > 0 && tries < 64; ++tries) {
      const Op k = records_[i].after;
      if (k != kNone && d_.op_end(k) <= d_.end(call) + kRounding) {
        add(call, k, Rule::kEventSync, Known::kInferred);
        return;
      }
    }
    add(call, ended_during(call), Rule::kEventSync, Known::kInferred);
  }

  // Of each stream's work launched before the call, the last that ended while the call ran.
  Op ended_during(std::uint32_t call) const {
    const Nanos begin = d_.start(call);
    const Nanos end = d_.end(call) + kRounding;
    Op best = kNone;
    for (const auto& [s, unused] : last_) {
      const Op newest = last_launched_before(d_, s, begin);
      if (newest == kNone) continue;
      const Op first = d_.streams[s].first;
      const auto ended_by = [&](Op k) { return d_.op_end(k) <= end; };
      // ends ascend along a stream but for overlaps: search, then look at the few around
      Op low = first;
      Op high = newest + 1;
      while (low < high) {
        const Op middle = low + (high - low) / 2;
        if (ended_by(middle)) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low == first) continue;
      const Op k = low - 1;
      if (d_.op_end(k) <= begin) continue;
      if (best == kNone || d_.op_end(k) > d_.op_end(best) ||
          (d_.op_end(k) == d_.op_end(best) && k < best))
        best = k;
    }
    return best;
  }

  void copy(std::uint32_t call) {
    const Op k = d_.slot[call];
    if (k == kNone) return;
    const bool waits_by_name = d_.api(call) == ApiClass::kCopy;
    if (!waits_by_name && !d_.op_named(k, kNamePageable)) return;
    if (d_.op_end(k) <= d_.end(call) + kRounding) {
      add(call, k, Rule::kBlockingCopy, Known::kInferred);
    } else if (d_.op_start(k) < d_.end(call) && d_.op_previous[k] != kNone &&
               d_.op_end(d_.op_previous[k]) > d_.start(call)) {
      add(call, k, Rule::kBlockingCopy, Known::kInferred, true);
    }
  }

  void full_queue(std::uint32_t call) {
    if (d_.duration(call) < kQueueStall || d_.slot[call] == kNone) return;
    const std::uint32_t s = d_.op_stream[d_.slot[call]];
    const std::vector<Op>& launched = d_.streams[s].launched;
    const Nanos begin = d_.start(call);
    const Nanos end = d_.end(call);
    const auto issued = std::partition_point(launched.begin(), launched.end(),
                                             [&](Op k) { return d_.start(d_.op_call[k]) < begin; });
    const auto started =
        std::partition_point(launched.begin(), issued, [&](Op k) { return d_.op_start(k) <= end; });
    if (started == launched.begin()) return;
    if (static_cast<std::uint64_t>(issued - started) < kQueueDepth) return;
    const Op k = *(started - 1);
    if (d_.op_start(k) <= begin || end - d_.op_start(k) > kQueueStall) return;
    add(call, k, Rule::kQueueFull, Known::kInferred, true);
  }

  Draft& d_;
  const Process& process_;
  std::unordered_map<std::uint32_t, Op>
      last_;                          ///< by stream: last launched since the last device sync
  std::vector<std::uint32_t> fresh_;  ///< streams with work since then
  std::unordered_map<std::uint32_t, Op> last_of_thread_;
  std::vector<Recorded> records_;
  std::unordered_map<std::int64_t, Nanos> record_time_;
  SyncRecord read_;
  std::uint64_t launched_ = 0;
};

}  // namespace

void find_host_waits(Draft& d) {
  for (const Process& p : d.processes) HostWaitFinder(d, p).run();
  std::stable_sort(d.waits.begin(), d.waits.end(),
                   [](const HostWait& a, const HostWait& b) { return a.call < b.call; });
  DurationHistogram returns;
  for (std::size_t i = 0; i < d.waits.size();) {
    Nanos last = kNever;
    std::size_t j = i;
    for (; j < d.waits.size() && d.waits[j].call == d.waits[i].call; ++j) {
      if (!d.waits[j].from_start) last = std::max(last, d.op_end(d.waits[j].op));
    }
    if (last > d.start(d.waits[i].call)) returns.add(d.end(d.waits[i].call) - last);
    i = j;
  }
  d.latency.sync_return = returns.quantile(0.05);
}

}  // namespace ergon::graph
