// Stream waits for event: the first operation launched on the waiting stream after
// cudaStreamWaitEvent starts after the last operation launched on the recorded stream before
// cudaEventRecord. From cuda_sync records, else from the order of the calls on their thread.
#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "draft.hpp"

namespace ergon::graph {
namespace {

constexpr std::uint32_t kPatience =
    64;  // launches on its thread after which an unresolved wait is given up
constexpr std::size_t kMostRecords = 256;  // unconsumed records kept a thread

std::int64_t number_after(std::string_view text, std::string_view key) {
  std::size_t at = text.find(key);
  if (at == std::string_view::npos) return -1;
  at += key.size();
  while (at < text.size() && (text[at] == ' ' || text[at] == ':' || text[at] == '"')) ++at;
  std::int64_t value = -1;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value == 0xffffffffLL ? -1 : value;
}

struct Pending {
  Op source = kNone;             ///< what the order of calls suggests; kNone: nothing
  std::uint32_t target = kNone;  ///< stream that waits, when recorded
  Nanos at = 0;                  ///< time of the wait call
  Known known = Known::kInferred;
  std::uint32_t patience = kPatience;
};

struct ThreadState {
  Op last = kNone;          ///< last operation launched from this thread
  std::vector<Op> records;  ///< for each event record not yet waited for: the operation it follows
  bool in_waits = false;    ///< the latest call was a wait, on `waited`
  Op waited = kNone;
  std::vector<Pending> pending;
};

class Finder {
 public:
  Finder(Draft& d, const Process& p) : d_(d), process_(p) {}

  void run() {
    for (const std::uint32_t call : process_.calls) {
      const ApiClass c = d_.api(call);
      ThreadState& thread = threads_[d_.place(call)];
      if (c == ApiClass::kEventRecord) {
        record(thread, call);
      } else if (c == ApiClass::kStreamWait) {
        wait(thread, call);
      } else if (launches(c)) {
        launch(thread, call);
      }
    }
    d_.note("stream_wait_unresolved", "stream waits without a later launch that they could hold",
            given_up_);
  }

 private:
  void record(ThreadState& thread, std::uint32_t call) {
    thread.in_waits = false;
    if (thread.records.size() == kMostRecords) thread.records.erase(thread.records.begin());
    thread.records.push_back(thread.last);
    const Draft::Ref r = d_.ref(call);
    record_time_[r.table->correlation[r.event]] = d_.start(call);
  }

  void wait(ThreadState& thread, std::uint32_t call) {
    Pending p;
    p.at = d_.start(call);
    const std::uint32_t event = d_.slot[call];
    if (event != kNone && d_.kind(event) == trace::EventKind::kSyncRecord) {
      const SyncRecord r = read_sync_record(d_, event);
      const std::uint32_t from = stream_numbered(d_, event, r.wait_on_stream);
      p.target = stream_numbered(d_, event, r.stream);
      if (p.target != kNone && r.wait_on_stream >= 0) {
        const auto recorded = record_time_.find(r.record_correlation);
        const Nanos before = recorded == record_time_.end() ? p.at : recorded->second;
        p.source = from == kNone ? kNone : last_launched_before(d_, from, before);
        p.known = Known::kRecorded;
        if (p.source != kNone) recorded_.push_back(p);
        return;
      }
    }
    if (!thread.in_waits) {
      thread.waited = thread.last;
      if (!thread.records.empty()) {
        thread.waited = thread.records.back();
        thread.records.pop_back();
      }
      thread.in_waits = true;
    }
    p.source = thread.waited;
    if (thread.pending.size() == kPatience) {
      thread.pending.erase(thread.pending.begin());
      ++given_up_;
    }
    thread.pending.push_back(p);
  }

  void launch(ThreadState& thread, std::uint32_t call) {
    thread.in_waits = false;
    d_.each_op_of(call, [&](Op k) {
      resolve_recorded(k);
      resolve(thread, k);
      thread.last = k;
    });
  }

  void resolve_recorded(Op k) {
    std::erase_if(recorded_, [&](const Pending& p) {
      if (p.target != d_.op_stream[k]) return false;
      add(p.source, k, Known::kRecorded);
      return true;
    });
  }

  void resolve(ThreadState& thread, Op k) {
    std::erase_if(thread.pending, [&](Pending& p) {
      const std::uint32_t stream = d_.op_stream[k];
      if (p.target != kNone && p.target != stream) return false;
      if (p.source != kNone && d_.op_stream[p.source] != stream) {
        add(p.source, k, Known::kInferred);
        return true;
      }
      // The next launch goes where the last one went: the stream joins another, or the fork comes
      // later.
      const Op other = joined_work(p, k);
      if (other != kNone) {
        add(other, k, Known::kInferred);
        return true;
      }
      if (--p.patience > 0) return false;
      ++given_up_;
      return true;
    });
  }

  // Of the work on other streams before the wait, that which ended when `k` could start (evidence),
  // else the latest launched that this stream has not waited for yet.
  Op joined_work(const Pending& p, Op k) {
    const bool late =
        d_.op_start(k) > std::max(d_.launch_bound(k), d_.stream_bound(k)) + kTolerance;
    Op best = kNone;
    bool best_tight = false;
    for (std::uint32_t s = 0; s < d_.streams.size(); ++s) {
      const Stream& stream = d_.streams[s];
      if (s == d_.op_stream[k] || stream.launched.empty() ||
          d_.processes.data() + stream.process != &process_)
        continue;
      const Op x = last_launched_before(d_, s, p.at);
      if (x == kNone || d_.op_end(x) > d_.op_start(k) + kRounding) continue;
      const auto joined = joined_.find(key(s, d_.op_stream[k]));
      if (joined != joined_.end() && joined->second >= x) continue;
      const bool tight = late && d_.op_start(k) - d_.op_end(x) <= kTolerance;
      const auto launched = [&](Op o) { return d_.start(d_.op_call[o]); };
      if (best == kNone || (tight && !best_tight) ||
          (tight == best_tight && launched(x) > launched(best))) {
        best = x;
        best_tight = tight;
      }
    }
    return best;
  }

  void add(Op source, Op target, Known known) {
    if (source == kNone || d_.op_stream[source] == d_.op_stream[target]) return;
    if (d_.op_start(target) < d_.op_end(source) - kRounding) {
      d_.note("stream_wait_contradicted",
              "stream waits that the times of their operations contradict");
      return;
    }
    Op& joined =
        joined_.try_emplace(key(d_.op_stream[source], d_.op_stream[target]), source).first->second;
    joined = std::max(joined, source);
    for (std::size_t i = d_.op_edges.size(); i-- > 0 && d_.op_edges[i].to == target;) {
      if (d_.op_edges[i].from == source) return;
    }
    d_.op_edges.push_back({source, target, Rule::kEventWait, known});
  }
  static std::uint64_t key(std::uint32_t from, std::uint32_t to) {
    return (std::uint64_t{from} << 32U) | to;
  }

  Draft& d_;
  const Process& process_;
  std::unordered_map<std::uint32_t, ThreadState> threads_;
  std::vector<Pending> recorded_;
  std::unordered_map<std::int64_t, Nanos> record_time_;
  std::unordered_map<std::uint64_t, Op> joined_;
  std::uint64_t given_up_ = 0;
};

}  // namespace

SyncRecord read_sync_record(const Draft& d, std::uint32_t event) {
  const Draft::Ref r = d.ref(event);
  const std::string_view text = r.table->detail_of(r.event);
  SyncRecord record;
  record.stream = r.table->tracks[r.table->track[r.event]].stream;
  if (record.stream == 0xffffffffLL) record.stream = -1;
  record.wait_on_stream = number_after(text, "\"wait_on_stream\"");
  record.record_correlation = number_after(text, "\"wait_on_cuda_event_record_corr_id\"");
  return record;
}

std::uint32_t stream_numbered(const Draft& d, std::uint32_t record, std::int64_t number) {
  if (number < 0) return kNone;
  const Draft::Ref r = d.ref(record);
  const trace::Track& at = r.table->tracks[r.table->track[r.event]];
  for (std::uint32_t s = 0; s < d.streams.size(); ++s) {
    const Stream& stream = d.streams[s];
    if (d.tables[stream.table] == r.table && stream.stream == number &&
        stream.last > stream.first &&
        (at.device < 0 || d.gpus[static_cast<std::size_t>(stream.gpu)].device == at.device) &&
        (at.context < 0 || stream.context < 0 || stream.context == at.context)) {
      return s;
    }
  }
  return kNone;
}

Op last_launched_before(const Draft& d, std::uint32_t stream, Nanos t) {
  const std::vector<Op>& launched = d.streams[stream].launched;
  const auto it = std::partition_point(launched.begin(), launched.end(),
                                       [&](Op k) { return d.start(d.op_call[k]) < t; });
  return it == launched.begin() ? kNone : *(it - 1);
}

void find_event_waits(Draft& d) {
  for (const Process& p : d.processes) Finder(d, p).run();
}

}  // namespace ergon::graph
