// Stream waits for event: the first operation launched on the waiting stream after
// cudaStreamWaitEvent starts after the last operation launched on the recorded stream before
// cudaEventRecord. From cuda_sync records, else from the order of the calls on their thread.
#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "draft.hpp"

namespace ergon::graph {
namespace {

constexpr std::uint32_t kPatience =
    64;  // launches on its thread after which an unresolved wait is given up
constexpr std::size_t kMostRecords = 256;  // unconsumed records kept a thread
constexpr Nanos kLeft =
    100'000;               // a thread that launches nothing for this long after a wait has left it
constexpr int kBack = 64;  // operations looked back for one that had ended

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
  std::uint32_t thread = 0;
  Op last = kNone;               ///< the launch before it on its thread ...
  std::uint32_t before = kNone;  ///< ... and the stream used before that launch's
  std::uint32_t patience = kPatience;
};

struct ThreadState {
  Op last = kNone;               ///< last operation launched from this thread
  std::uint32_t before = kNone;  ///< the stream that it used before that one's
  std::vector<Op> records;  ///< for each event record not yet waited for: the operation it follows
  bool in_waits = false;    ///< the latest call was a wait, on `waited`
  Op waited = kNone;
  std::vector<Pending> pending;
  std::vector<std::pair<Nanos, Nanos>> comm_scopes;  ///< in time order
  std::size_t comm_scope = 0;                        ///< the first that has not ended
  Nanos inside_until = kNever;  ///< end of the scope in which a collective was launched
};

// Which "waits for the newest work of stream X" the trace contradicts, by place in the program: the
// kernels before and after the wait. A wait that one iteration contradicts is none in the others
// either.
using Refuted = std::unordered_set<std::uint64_t>;

class EventWaitFinder {
 public:
  EventWaitFinder(Draft& d, std::uint32_t process, Refuted& refuted, bool trial)
      : d_(d), process_(d.processes[process]), refuted_(refuted), trial_(trial) {
    for (std::uint32_t s = 0; s < d.streams.size(); ++s) {
      if (d.streams[s].process == process && !d.streams[s].launched.empty()) streams_.push_back(s);
    }
    for (std::uint32_t t = 0; t < d.threads.size(); ++t) {
      if (d.threads[t].process == process) find_scopes(t);
    }
  }

  void run() {
    for (const std::uint32_t call : process_.calls) {
      const ApiClass c = d_.api(call);
      const std::uint32_t t = d_.place(call);
      if (c == ApiClass::kEventRecord) {
        record(threads_[t], call);
      } else if (c == ApiClass::kStreamWait) {
        wait(threads_[t], t, call);
      } else if (launches(c)) {
        launch(threads_[t], t, call);
      }
    }
    if (!trial_) {
      d_.note("stream_wait_unresolved", "stream waits without a later launch that they could hold",
              given_up_);
    }
  }

 private:
  void find_scopes(std::uint32_t t) {
    const HostThread& thread = d_.threads[t];
    const Draft::Ref base = d_.ref(thread.begin);
    const std::vector<std::uint8_t>& flags = d_.name_flags[thread.table];
    const auto is_scope = [](std::uint8_t f) { return (f & kNameCommScope) != 0; };
    if (std::none_of(flags.begin(), flags.end(), is_scope)) return;
    for (std::uint32_t e = thread.begin; e < thread.end; ++e) {
      const trace::EventId local = base.event + (e - thread.begin);
      if ((flags[base.table->name[local]] & kNameCommScope) == 0) continue;
      threads_[t].comm_scopes.emplace_back(d_.start(e), d_.end(e));
    }
  }

  void record(ThreadState& thread, std::uint32_t call) {
    thread.in_waits = false;
    if (thread.records.size() == kMostRecords) thread.records.erase(thread.records.begin());
    thread.records.push_back(thread.last);
    const Draft::Ref r = d_.ref(call);
    record_time_[r.table->correlation[r.event]] = d_.start(call);
  }

  void wait(ThreadState& thread, std::uint32_t t, std::uint32_t call) {
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
        if (p.source != kNone) recorded_.push_back(p);
        return;
      }
    }
    // After the launch of a collective, within its own scope, the library waits on streams that run
    // no work.
    if (p.at < thread.inside_until) return;
    if (!thread.in_waits) {
      thread.waited = thread.last;
      if (!thread.records.empty()) {
        thread.waited = thread.records.back();
        thread.records.pop_back();
      }
      thread.in_waits = true;
    }
    p.source = thread.waited;
    p.thread = t;
    p.last = thread.last;
    p.before = thread.before;
    if (thread.pending.size() == kPatience) {
      thread.pending.erase(thread.pending.begin());
      ++given_up_;
    }
    thread.pending.push_back(p);
    if (std::find(waiting_.begin(), waiting_.end(), t) == waiting_.end()) waiting_.push_back(t);
  }

  void launch(ThreadState& thread, std::uint32_t t, std::uint32_t call) {
    thread.in_waits = false;
    const Nanos at = d_.start(call);
    d_.each_op_of(call, [&](Op k) {
      resolve_recorded(k);
      std::erase_if(waiting_, [&](std::uint32_t other) {
        ThreadState& w = threads_[other];
        // a wait holds the launches of other threads too, once its own thread has left it at that
        if (other == t || at - w.pending.back().at > kLeft) resolve(w, k);
        return w.pending.empty();
      });
      if (thread.last != kNone && d_.op_stream[thread.last] != d_.op_stream[k]) {
        thread.before = d_.op_stream[thread.last];
      }
      thread.last = k;
      if (d_.op_named(k, kNameCollective)) enter_scope(thread, at);
    });
  }
  static void enter_scope(ThreadState& thread, Nanos at) {
    auto& i = thread.comm_scope;
    while (i < thread.comm_scopes.size() && thread.comm_scopes[i].second < at) ++i;
    if (i < thread.comm_scopes.size() && thread.comm_scopes[i].first <= at)
      thread.inside_until = thread.comm_scopes[i].second;
  }

  void resolve_recorded(Op k) {
    std::erase_if(recorded_, [&](const Pending& p) {
      if (p.target != d_.op_stream[k]) return false;
      if (d_.op_end(p.source) > d_.op_start(k) + kRounding) {
        if (!trial_)
          d_.note("stream_wait_contradicted",
                  "stream waits that the times of their operations contradict");
      } else {
        add(p.source, k, Known::kRecorded);
      }
      return true;
    });
  }

  void resolve(ThreadState& thread, Op k) {
    std::erase_if(thread.pending, [&](Pending& p) {
      if (p.target != kNone && p.target != d_.op_stream[k]) return false;
      const Op source = choose(p, k);
      if (source != kNone) {
        add(source, k, Known::kInferred);
        return true;
      }
      if (--p.patience > 0) return false;
      ++given_up_;
      return true;
    });
  }

  // What can `k` have waited for? In this order: work that ended just when `k` started, if nothing
  // else explains that start; the operation that the order of the calls suggests, or, where the
  // thread comes back to a stream, one before it that had ended; the latest launched on another
  // stream that this one has not waited for yet. Nothing that ended after `k` started, here or (see
  // Refuted) in another iteration.
  Op choose(const Pending& p, Op k) {
    const std::uint32_t mine = d_.op_stream[k];
    const Nanos start = d_.op_start(k);
    const bool late = start > std::max(d_.launch_bound(k), d_.stream_bound(k)) + kTolerance;
    Op best = kNone;
    int best_rank = 0;
    for (const std::uint32_t s : streams_) {
      if (s == mine) continue;
      const bool suggested = p.source != kNone && d_.op_stream[p.source] == s;
      Op x = suggested ? p.source : last_launched_before(d_, s, p.at);
      if (x == kNone) continue;
      const auto ended = [&](Op o) { return d_.op_end(o) <= start + kRounding; };
      const std::uint64_t site = place_in_program(p, k, s);
      const bool here = ended(x);
      if (trial_ && !here) refuted_.insert(site);
      const bool newest = here && !refuted_.contains(site);
      const bool returns = suggested && p.before == mine;
      for (int tries = 0; x != kNone && !ended(x) && tries < kBack; ++tries) {
        x = x > d_.streams[s].first ? x - 1 : kNone;
      }
      if (x == kNone || !ended(x)) continue;
      const auto joined = joined_.find(key(s, mine));
      const bool known = joined != joined_.end() && joined->second >= x;
      int rank = 0;
      if (late && start - d_.op_end(x) <= kTolerance && (newest || returns)) {
        rank = 4;
      } else if (suggested && (newest || (returns && !known))) {
        rank = newest ? 3 : 2;
      } else if (!known && newest) {
        rank = 1;
      }
      if (rank > best_rank || (rank == best_rank && rank > 0 && launched(x) > launched(best))) {
        best = x;
        best_rank = rank;
      }
    }
    return best;
  }
  [[nodiscard]] std::uint64_t place_in_program(const Pending& p, Op k, std::uint32_t stream) const {
    const auto name = [&](Op o) {
      if (o == kNone) return std::uint64_t{0};
      const Draft::Ref r = d_.ref(d_.op_event[o]);
      return std::uint64_t{r.table->name[r.event]} + 1;
    };
    std::uint64_t h = stream;
    for (const std::uint64_t x :
         {std::uint64_t{d_.op_stream[k]}, name(k), name(p.last), std::uint64_t{p.thread}}) {
      h = (h ^ x) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29U;
    }
    return h;
  }
  [[nodiscard]] Nanos launched(Op k) const {
    return d_.op_call[k] == kNone ? kNever : d_.start(d_.op_call[k]);
  }

  void add(Op source, Op target, Known known) {
    if (source == kNone || d_.op_stream[source] == d_.op_stream[target]) return;
    Op& joined =
        joined_.try_emplace(key(d_.op_stream[source], d_.op_stream[target]), source).first->second;
    joined = std::max(joined, source);
    if (trial_) return;
    // of several waits for work of one stream the latest work counts
    for (std::size_t i = d_.op_edges.size(); i > 0 && d_.op_edges[i - 1].to == target; --i) {
      OpEdge& other = d_.op_edges[i - 1];
      if (d_.op_stream[other.from] != d_.op_stream[source]) continue;
      if (source > other.from) other = {source, target, Rule::kEventWait, known};
      return;
    }
    d_.op_edges.push_back({source, target, Rule::kEventWait, known});
  }
  static std::uint64_t key(std::uint32_t from, std::uint32_t to) {
    return (std::uint64_t{from} << 32U) | to;
  }

  Draft& d_;
  const Process& process_;
  std::vector<std::uint32_t> streams_;  ///< of this process
  std::unordered_map<std::uint32_t, ThreadState> threads_;
  std::vector<std::uint32_t> waiting_;  ///< threads with pending waits
  std::vector<Pending> recorded_;
  std::unordered_map<std::int64_t, Nanos> record_time_;
  std::unordered_map<std::uint64_t, Op> joined_;
  Refuted& refuted_;
  bool trial_;  ///< only looks for contradictions
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
  for (std::uint32_t p = 0; p < d.processes.size(); ++p) {
    Refuted refuted;
    EventWaitFinder(d, p, refuted, true).run();
    EventWaitFinder(d, p, refuted, false).run();
  }
}

}  // namespace ergon::graph
