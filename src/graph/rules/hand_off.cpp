// Host threads that wait for each other, as the caller of backward() and the autograd thread do.
// Nothing records it; the evidence is in the idle times: a thread wakes just after another has gone
// idle, and that one stays idle until it is done. A thread that neither launches nor runs
// operations (it polls events, it pins memory) is assumed to follow the threads that do.
#include <algorithm>
#include <map>

#include "draft.hpp"

namespace ergon::graph {
namespace {

constexpr Nanos kAsleep = 200'000;      // a thread idle for this long waits for something
constexpr Nanos kHandOver = 5'000'000;  // from the end of the one to the start of the other
constexpr Nanos kGlance = 50'000;       // shorter idle times inside a session are its own

// A thread's nodes in [first, last): the last one that ends at or before `t`.
Pre last_ended(const Draft& d, const HostThread& t, Nanos at) {
  Pre low = t.first;
  Pre high = t.last;
  while (low < high) {
    const Pre middle = low + (high - low) / 2;
    if (d.node_end(middle) <= at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == t.first ? kNone : low - 1;
}

class HandOffFinder {
 public:
  HandOffFinder(Draft& d, std::uint32_t process) : d_(d), process_(process) {
    for (std::uint32_t t = 0; t < d.threads.size(); ++t) {
      if (d.threads[t].process == process && d.threads[t].has_ops) threads_.push_back(t);
    }
  }

  void run() {
    if (threads_.size() < 2) return;
    for (const std::uint32_t t : threads_) gaps_of(t);
    std::sort(wakes_.begin(), wakes_.end(), [](const HostGap& a, const HostGap& b) {
      return std::pair(a.end, a.after) < std::pair(b.end, b.after);
    });
    for (const HostGap& wake : wakes_) begin_session(wake);
    for (const HostGap& wake : wakes_) resume(wake);
  }

  void follow() {
    constexpr std::size_t kLeaders = 8;
    std::vector<std::uint32_t> leaders;
    std::vector<std::uint32_t> followers;
    for (std::uint32_t t = 0; t < d_.threads.size(); ++t) {
      if (d_.threads[t].process != process_ || d_.threads[t].first == d_.threads[t].last) continue;
      (d_.threads[t].has_ops || d_.threads[t].launches ? leaders : followers).push_back(t);
    }
    std::stable_sort(leaders.begin(), leaders.end(), [&](std::uint32_t a, std::uint32_t b) {
      return d_.threads[a].last - d_.threads[a].first > d_.threads[b].last - d_.threads[b].first;
    });
    if (leaders.size() > kLeaders) leaders.resize(kLeaders);
    wakes_.clear();
    for (const std::uint32_t t : followers) gaps_of(t);
    for (const HostGap& wake : wakes_) {
      Pre latest = kNone;
      for (const std::uint32_t t : leaders) {
        const Pre from = last_ended(d_, d_.threads[t], wake.end);
        if (from != kNone && (latest == kNone || d_.node_end(from) > d_.node_end(latest)))
          latest = from;
      }
      if (latest != kNone && d_.node_end(latest) >= wake.begin) {
        d_.hand_offs.push_back({latest, wake.after, Known::kAssumed});
      }
    }
  }

 private:
  struct Session {
    std::uint32_t worker = 0;
    Nanos begin = 0, end = 0;  ///< of the worker's activity
  };

  void gaps_of(std::uint32_t t) {
    const auto [lo, hi] =
        std::equal_range(d_.gaps.begin(), d_.gaps.end(), HostGap{.thread = t},
                         [](const HostGap& a, const HostGap& b) { return a.thread < b.thread; });
    for (auto it = lo; it != hi; ++it) {
      if (it->end - it->begin >= kGlance || it->begin == kNever) wakes_.push_back(*it);
    }
  }

  // The idle time of thread t that covers `at`; nullptr when it works then.
  const HostGap* idle_at(std::uint32_t t, Nanos at) const {
    const auto it = std::upper_bound(
        d_.gaps.begin(), d_.gaps.end(), std::pair(t, at), [](const auto& key, const HostGap& g) {
          return key.first < g.thread || (key.first == g.thread && key.second < g.end);
        });
    if (it == d_.gaps.end() || it->thread != t || it->begin == kNever || it->begin > at)
      return nullptr;
    return &*it;
  }

  // The end of a thread's activity that starts with node `first`: up to its next long idle time.
  Nanos activity_end(const HostGap& wake) const {
    const HostThread& t = d_.threads[wake.thread];
    const auto next = std::upper_bound(
        d_.gaps.begin(), d_.gaps.end(), wake, [](const HostGap& a, const HostGap& b) {
          return std::pair(a.thread, a.after) < std::pair(b.thread, b.after);
        });
    for (auto it = next; it != d_.gaps.end() && it->thread == wake.thread; ++it) {
      if (it->end - it->begin >= kAsleep * 25) return it->begin;
    }
    return d_.node_end(t.last - 1);
  }

  // Thread `wake.thread` wakes after a long sleep: who has just gone idle, and stays so for most of
  // its activity?
  void begin_session(const HostGap& wake) {
    if (wake.begin != kNever && wake.end - wake.begin < kAsleep) return;
    const Nanos at = wake.end;
    const HostGap* best = nullptr;
    for (const std::uint32_t t : threads_) {
      if (t == wake.thread) continue;
      const HostGap* idle = idle_at(t, at);
      if (idle == nullptr || at - idle->begin > kHandOver) continue;
      if (wake.begin != kNever && wake.begin > idle->begin)
        continue;  // it slept less long than the other worked
      if (best == nullptr || idle->begin > best->begin) best = idle;
    }
    if (best == nullptr) return;
    const Nanos end = activity_end(wake);
    // The caller must be idle for most of the worker's activity, in this gap and those that follow.
    Nanos covered = 0;
    for (const HostGap* g = best;
         g != d_.gaps.data() + d_.gaps.size() && g->thread == best->thread && g->begin < end; ++g) {
      covered += std::min(g->end, end) - std::max(g->begin, at);
    }
    if (covered * 2 < end - at) return;
    const Pre from = last_ended(d_, d_.threads[best->thread], best->begin);
    if (from == kNone) return;
    hand_over(from, wake);
    sessions_[best->thread].push_back({wake.thread, at, end});
  }

  // The caller goes on while or after the worker worked for it: it waited for what the worker did
  // last.
  void resume(const HostGap& wake) {
    if (wake.begin == kNever) return;
    const auto found = sessions_.find(wake.thread);
    if (found == sessions_.end()) return;
    const auto it = std::partition_point(found->second.begin(), found->second.end(),
                                         [&](const Session& s) { return s.begin < wake.end; });
    if (it == found->second.begin()) return;
    const Session& session = *(it - 1);
    if (wake.begin > session.end) return;  // the caller had gone on already
    const Pre from = last_ended(d_, d_.threads[session.worker], wake.end);
    if (from != kNone && d_.node_start(from) >= session.begin && d_.node_end(from) >= wake.begin) {
      hand_over(from, wake);
    }
  }

  // The thread goes on with its first node after `from` has ended. Annotations that only spanned
  // the waiting take no time of their own.
  void hand_over(Pre from, const HostGap& wake) {
    const std::size_t ops = d_.op_event.size();
    const Nanos done = d_.node_end(from);
    Pre to = wake.after;
    while (to > d_.threads[wake.thread].first && d_.host_annotation[to - 1 - ops] != 0 &&
           d_.node_start(to - 1) >= done)
      --to;
    for (Pre p = to; p > d_.threads[wake.thread].first && d_.host_annotation[p - 1 - ops] != 0 &&
                     d_.node_start(p - 1) >= wake.begin;
         --p) {
      d_.host_duration[p - 1 - ops] = 0;
    }
    d_.hand_offs.push_back({from, to});
  }

  Draft& d_;
  std::uint32_t process_;
  std::vector<std::uint32_t> threads_;
  std::vector<HostGap> wakes_;
  std::map<std::uint32_t, std::vector<Session>> sessions_;  ///< by caller, in time order
};

}  // namespace

void find_hand_offs(Draft& d) {
  for (std::uint32_t p = 0; p < d.processes.size(); ++p) {
    HandOffFinder finder(d, p);
    finder.run();
    finder.follow();
  }
  std::sort(d.hand_offs.begin(), d.hand_offs.end(), [](const HandOff& a, const HandOff& b) {
    return std::pair(a.to, a.from) < std::pair(b.to, b.from);
  });
  d.hand_offs.erase(std::unique(d.hand_offs.begin(), d.hand_offs.end()), d.hand_offs.end());
}

}  // namespace ergon::graph
