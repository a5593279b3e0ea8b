// Contracts the graph of a window.
#include "window_retimer.hpp"

#include <limits>

namespace ergon::plan {

using graph::NodeId;

namespace {
constexpr Nanos kNever = std::numeric_limits<Nanos>::min();
}  // namespace

// Where nearly all nodes go: after one other alone and no earlier than its end, so that the graph
// has it begin a fixed time after. False: not known to.
bool WindowRetimer::contract(const graph::Graph& graph, NodeId n) {
  const graph::Edge edge = graph.edge(n, 0);
  if (!(edge.from_start || edge.lag >= 0) || edge.from < window_.first) return false;
  std::uint32_t base = base_[edge.from - window_.first];
  if (base == kAbsolute) return false;
  if (!edge.from_start && kept_[base / 2].id == edge.from && kept_[base / 2].scales) ++base;
  Kept& kept = kept_[base / 2];
  (base % 2 == 0 ? kept.start_reach : kept.end_reach) = n;
  base_.push_back(base);
  if (window_.next != graph::kNoNode) return true;
  Nanos& latest = latest_[base];
  latest = std::max(latest, end_of(graph, n));
  return true;
}

// The idle tail moves along.
Nanos WindowRetimer::end_of(const graph::Graph& graph, NodeId n) const {
  if (!window_.tails.empty() && std::ranges::binary_search(window_.tails, n)) return window_.end_ns;
  return graph.start(n) + graph.duration(n);
}

void WindowRetimer::add(const graph::Graph& graph, NodeId n, bool scales) {
  const std::size_t edges = graph.edge_count(n);
  if (longer_ && !scales && edges == 1 && contract(graph, n)) return;
  const auto first = static_cast<std::uint32_t>(waits_.size());
  const Nanos start = graph.start(n);
  const Nanos duration = graph.duration(n);
  const Nanos ready = start - (edges == 0 ? 0 : graph.residual(n));
  Nanos floor = edges == 0 ? start : graph.span_begin();
  for (std::size_t e = 0; e < edges; ++e) {
    const graph::Edge edge = graph.edge(n, e);
    const Nanos from =
        graph.start(edge.from) + (edge.from_start ? 0 : graph.duration(edge.from)) + edge.lag;
    std::uint32_t base = edge.from < window_.first ? kAbsolute : base_[edge.from - window_.first];
    if (base == kAbsolute) {
      floor = std::max(floor, from);
      continue;
    }
    const Kept& before = kept_[base / 2];
    if (!edge.from_start && before.id == edge.from && before.scales) ++base;
    const auto slack = static_cast<double>(ready - from);
    bool known = false;
    for (std::size_t w = first; w < waits_.size(); ++w) {
      if (waits_[w].slot != base) continue;
      waits_[w].slack_ns = std::min(waits_[w].slack_ns, slack);
      known = true;
    }
    if (!known) waits_.push_back({slack, base});
  }
  const std::size_t waits = waits_.size() - first;
  std::uint32_t base = kAbsolute;
  if (longer_ && !scales && waits == 1 && waits_.back().slack_ns <= 0) {
    base = waits_.back().slot;
    Kept& kept = kept_[base / 2];
    (base % 2 == 0 ? kept.start_reach : kept.end_reach) = n;
    waits_.pop_back();
  } else if (scales || waits > 0) {
    base = static_cast<std::uint32_t>(2 * kept_.size());
    kept_.push_back({.observed_ns = static_cast<double>(duration),
                     .floor_slack_ns = static_cast<double>(ready - floor),
                     .id = n,
                     .waits_end = static_cast<std::uint32_t>(waits_.size()),
                     .start_reach = n,
                     .end_reach = n,
                     .scales = scales});
    start_.push_back(start);
    duration_.push_back(duration);
    latest_.insert(latest_.end(), 2, kNever);
  }
  base_.push_back(base);
  if (window_.next != graph::kNoNode) return;
  const Nanos end = end_of(graph, n);
  if (base == kAbsolute) {
    absolute_late_ns_ = std::max(absolute_late_ns_, static_cast<double>(end - window_.end_ns));
  } else {
    Nanos& latest = latest_[base + (scales ? 1 : 0)];
    latest = std::max(latest, end);
  }
}

// Ends that can be the last: not those that another one never lies before.
void WindowRetimer::find_tails() {
  if (window_.next != graph::kNoNode) {
    const std::uint32_t base = base_.back();
    if (base == kAbsolute) return;
    tails_.push_back({base / 2, base % 2 == 1, 0});
    absolute_late_ns_ = -std::numeric_limits<double>::infinity();
    return;
  }
  std::uint32_t w = 0;
  for (std::size_t k = 0; k < kept_.size(); ++k) {
    const Nanos least = longer_ ? duration_[k] : 0;
    for (; w < kept_[k].waits_end; ++w) {
      Nanos& latest = latest_[waits_[w].slot];
      if (latest <= start_[k] - static_cast<Nanos>(waits_[w].slack_ns) + least) latest = kNever;
    }
  }
  for (std::uint32_t b = 0; b < latest_.size(); ++b) {
    if (latest_[b] == kNever) continue;
    tails_.push_back({b / 2, b % 2 == 1, static_cast<double>(window_.end_ns - latest_[b])});
  }
}

// A time's place is used again after the last node that waits for it.
void WindowRetimer::give_slots() {
  constexpr std::uint32_t kUnused = 0;
  std::vector<std::uint32_t> last_use(2 * kept_.size(), kUnused);
  std::uint32_t w = 0;
  for (std::uint32_t k = 0; k < kept_.size(); ++k) {
    for (; w < kept_[k].waits_end; ++w) last_use[waits_[w].slot] = k;
  }
  std::vector<std::uint32_t> free;
  const auto take = [&](std::uint32_t base) -> std::uint32_t {
    if (last_use[base] == kUnused) return 0;
    if (free.empty()) return static_cast<std::uint32_t>(slots_++);
    const std::uint32_t slot = free.back();
    free.pop_back();
    return slot;
  };
  w = 0;
  for (std::uint32_t k = 0; k < kept_.size(); ++k) {
    for (; w < kept_[k].waits_end; ++w) {
      const std::uint32_t base = waits_[w].slot;
      const Kept& from = kept_[base / 2];
      waits_[w].slot = base % 2 == 0 ? from.start_slot : from.end_slot;
      if (last_use[base] == k) free.push_back(waits_[w].slot);
    }
    kept_[k].start_slot = take(2 * k);
    kept_[k].end_slot = kept_[k].scales ? take(2 * k + 1) : 0;
  }
}

void WindowRetimer::finish() {
  find_tails();
  give_slots();
  base_ = {};
  latest_ = {};
  start_ = {};
  duration_ = {};
}

}  // namespace ergon::plan
