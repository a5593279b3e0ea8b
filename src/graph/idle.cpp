// What each GPU waited for when it ran nothing.
#include <algorithm>
#include <array>

#include "binding.hpp"

namespace ergon::graph {
namespace {

enum Cause : std::uint8_t {
  kCauseLaunch,
  kCauseSync,
  kCauseCopy,
  kCauseCollective,
  kCauseHost,
  kCauseUnknown
};
constexpr std::array<const char*, 6> kCauses{"launch",     "sync", "copy",
                                             "collective", "host", "unknown"};

class Idle {
 public:
  explicit Idle(const Timing& timing) : timing_(timing), g_(timing.graph().impl()) {}

  std::vector<IdleCause> run() {
    std::vector<std::vector<NodeId>> work(g_.gpus.size());
    const auto [begin, end, last] = timing_.span();
    for (NodeId n = 0; n < g_.size(); ++n) {
      if (on_gpu(g_.kind[n])) work[g_.gpu(n)].push_back(n);
    }
    std::vector<IdleCause> causes;
    for (std::size_t gpu = 0; gpu < work.size(); ++gpu) {
      totals_ = {};
      counts_ = {};
      gaps(work[gpu], begin, end);
      for (std::size_t c = 0; c < kCauses.size(); ++c) {
        if (counts_[c] > 0)
          causes.push_back({static_cast<std::int32_t>(gpu), kCauses[c], totals_[c], counts_[c]});
      }
    }
    return causes;
  }

 private:
  void gaps(std::vector<NodeId>& work, Nanos begin, Nanos end) {
    const auto earlier = [&](NodeId a, NodeId b) {
      return std::pair(timing_.start(a), a) < std::pair(timing_.start(b), b);
    };
    if (!std::is_sorted(work.begin(), work.end(), earlier))
      std::sort(work.begin(), work.end(), earlier);
    Nanos until = begin;
    bool first = true;
    for (const NodeId n : work) {
      if (timing_.start(n) > until)
        add(first ? kCauseHost : cause(n, until), timing_.start(n) - until);
      // a member of a collective that waits for the others polls
      until = std::max(until, timing_.end(g_.transfer(n)));
      first = false;
    }
    if (end > until) add(kCauseHost, end - until);
  }
  void add(Cause cause, Nanos time) {
    totals_[cause] += time;
    ++counts_[cause];
  }

  // The gap from `idle_from` to the start of n.
  Cause cause(NodeId n, Nanos idle_from) const {
    const std::size_t e = decisive_edge(g_, timing_, n, kNoEdge);
    if (e == kNoEdge || g_.residual[n] > 0) return kCauseUnknown;
    const NodeId from = g_.from[e];
    switch (edge_rule(g_.flags[e])) {
      case Rule::kLaunch:
      case Rule::kGraphLaunch:
        return launched_late(from, idle_from);
      case Rule::kCollective:
        return kCauseCollective;
      case Rule::kEventWait:
      case Rule::kDefaultStream:
        if (!on_gpu(g_.kind[from]) || g_.gpu(from) != g_.gpu(n)) {
          if (g_.kind[from] == NodeKind::kCollective) return kCauseCollective;
          if (g_.kind[from] == NodeKind::kCopy) return kCauseCopy;
        }
        return kCauseSync;
      default:
        return kCauseLaunch;  // the GPU's own time between two operations
    }
  }

  // The launch came late. Back along the host's decisive chain to the beginning of the gap: was the
  // host waiting for the GPU then, idle for most of the time since, or busy?
  Cause launched_late(NodeId call, Nanos idle_from) const {
    Nanos idle = 0;
    NodeId n = call;
    while (timing_.start(n) > idle_from) {
      const std::size_t e = decisive_edge(g_, timing_, n, kNoEdge);
      if (e == kNoEdge) break;
      if (on_gpu(g_.kind[g_.from[e]])) return kCauseSync;
      idle += std::min(g_.residual[n], timing_.start(n) - idle_from);
      n = g_.from[e];
    }
    return 2 * idle > timing_.start(call) - idle_from && idle > 0 ? kCauseHost : kCauseLaunch;
  }

  const Times timing_;
  const Graph::Impl& g_;
  std::array<Nanos, kCauses.size()> totals_{};
  std::array<std::uint64_t, kCauses.size()> counts_{};
};

}  // namespace

std::vector<IdleCause> idle_gaps(const Timing& timing) { return Idle(timing).run(); }

}  // namespace ergon::graph
