// From the draft to the graph: nodes in topological order, edges in rows, delays that no edge
// explains.
#include <algorithm>
#include <limits>
#include <queue>

#include "draft.hpp"

namespace ergon::graph {
namespace {

// A row of draft nodes whose order is known: a thread or a stream.
struct Row {
  Pre next = 0, last = 0;
};

// Of nodes that start together, hosts come before the GPU, transfers after the members' arrival,
// and what returns from a wait last.
unsigned rank(const Draft& d, Pre p) {
  if (p < d.op_event.size()) return 1;
  if (p >= d.first_transfer) return 2;
  return d.host_kind[p - d.op_event.size()] == NodeKind::kSync ? 3 : 0;
}

std::vector<Pre> time_order(const Draft& d) {
  struct Head {
    Nanos start;
    unsigned rank;
    std::uint32_t row;
    bool operator>(const Head& o) const {
      return std::tie(start, rank, row) > std::tie(o.start, o.rank, o.row);
    }
  };
  std::vector<Row> rows;
  rows.reserve(d.threads.size() + d.streams.size());
  for (const HostThread& t : d.threads) rows.push_back({t.first, t.last});
  for (const Stream& s : d.streams) rows.push_back({s.first, s.last});
  rows.push_back({d.first_transfer, d.first_transfer + static_cast<Pre>(d.transfers.size())});
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  const auto push = [&](std::uint32_t r) {
    if (rows[r].next < rows[r].last)
      heads.push({d.node_start(rows[r].next), rank(d, rows[r].next), r});
  };
  for (std::uint32_t r = 0; r < rows.size(); ++r) push(r);
  std::vector<Pre> order;
  order.reserve(d.op_event.size() + d.host_event.size());
  while (!heads.empty()) {
    const std::uint32_t r = heads.top().row;
    heads.pop();
    // a row runs on while it stays ahead of the others
    const Nanos others = heads.empty() ? std::numeric_limits<Nanos>::max() : heads.top().start;
    Row row = rows[r];
    do {
      order.push_back(row.next++);
      if (row.next == row.last) break;
      const Nanos start = d.node_start(row.next);
      if (start < others) continue;
      if (!heads.empty() && Head{start, rank(d, row.next), r} > heads.top()) break;
    } while (true);
    rows[r] = row;
    push(r);
  }
  return order;
}

class Assembler {
 public:
  Assembler(Draft&& d, Graph::Impl& g)
      : d_(d), g_(g), order_(time_order(d)), place_(order_.size()) {}

  void run() {
    for (NodeId n = 0; n < order_.size(); ++n) place_[order_[n]] = n;
    index_sources();
    nodes();
    edges();
    finish();
  }

 private:
  struct Candidate {
    NodeId from;
    Nanos lag;
    Rule rule;
    Known known;
    bool from_start;
    Nanos bound;
  };

  void index_sources() {
    std::sort(d_.op_edges.begin(), d_.op_edges.end(), [](const OpEdge& a, const OpEdge& b) {
      return std::tie(a.to, a.from) < std::tie(b.to, b.from);
    });
    std::erase_if(d_.waits, [](const HostWait& w) { return w.at == kNone; });
    std::sort(d_.waits.begin(), d_.waits.end(), [](const HostWait& a, const HostWait& b) {
      return std::tie(a.at, a.op, a.rule) < std::tie(b.at, b.op, b.rule);
    });
    // Most nodes have none of these: a byte spares them the searches.
    marks_.assign(order_.size(), 0);
    for (const HostThread& t : d_.threads) {
      if (t.first < t.last) marks_[t.first] |= kFirstInRow;
    }
    for (const Pre p : d_.waiting) marks_[p] |= kWaited;
    for (const OpEdge& e : d_.op_edges) marks_[e.to] |= kMoreEdges;
    for (const HostWait& w : d_.waits) marks_[w.at] |= kMoreEdges;
    for (const HandOff& h : d_.hand_offs) marks_[h.to] |= kMoreEdges;
  }

  void nodes() {
    const std::size_t n = order_.size();
    const std::size_t ops = d_.op_event.size();
    g_.event.reserve(n);
    g_.kind.reserve(n);
    g_.start.reserve(n);
    g_.duration.reserve(n);
    for (const Pre p : order_) {
      if (p < ops) {
        const std::uint32_t e = d_.op_event[p];
        g_.event.push_back(e);
        g_.kind.push_back(op_kind(p));
        g_.start.push_back(d_.start(e));
        g_.duration.push_back(d_.end_node(p) == p ? d_.duration(e) : 0);
      } else {
        g_.event.push_back(d_.host_event[p - ops]);
        g_.kind.push_back(d_.host_kind[p - ops]);
        g_.start.push_back(d_.host_start[p - ops]);
        g_.duration.push_back(d_.host_duration[p - ops]);
      }
    }
    g_.start.finish();
    g_.duration.finish();
    std::vector<std::uint32_t>().swap(d_.host_event);
    std::vector<NodeKind>().swap(d_.host_kind);
    std::vector<Nanos>().swap(d_.host_start);
    std::vector<Nanos>().swap(d_.host_duration);
  }

  [[nodiscard]] NodeKind op_kind(Op k) const {
    switch (d_.kind(d_.op_event[k])) {
      case trace::EventKind::kCopy:
        return NodeKind::kCopy;
      case trace::EventKind::kMemset:
        return NodeKind::kMemset;
      default:
        return d_.op_named(k, kNameCollective) ? NodeKind::kCollective : NodeKind::kKernel;
    }
  }

  void edges() {
    std::size_t launches = 0;
    for (const std::uint32_t call : d_.op_call) launches += call != kNone ? 1 : 0;
    const std::size_t most =
        order_.size() + launches + d_.op_edges.size() + d_.waits.size() + d_.hand_offs.size();
    g_.from.reserve(most);
    g_.lag.reserve(most);
    g_.flags.reserve(most);
    g_.offset.reserve(order_.size() + 1);
    g_.offset.push_back(0);
    g_.residual.reserve(order_.size());
    for (NodeId n = 0; n < order_.size(); ++n) {
      const Pre p = order_[n];
      found_.clear();
      if (p < d_.op_event.size()) {
        operation(n, p);
      } else if (marks_[p] == 0 && p < d_.first_transfer) {
        follow(n, place_[p - 1]);
        continue;
      } else if (p < d_.first_transfer) {
        host(n, p);
      } else {
        transfer(n, p - d_.first_transfer);
      }
      settle(n);
    }
    g_.residual.finish();
    d_.note("order_conflict", "dependencies left out because they would close a cycle", conflicts_);
  }

  void operation(NodeId n, Op k) {
    const std::uint32_t call = d_.op_call[k];
    if (call != kNone && d_.slot[call] != kNone) {
      const Draft::LaunchLag l = d_.launch_lag(k);
      const bool graph = d_.op_class(k) == OpClass::kGraph;
      add(n, place_[d_.slot[call]], l.lag, graph ? Rule::kGraphLaunch : Rule::kLaunch,
          Known::kRecorded, !l.from_end);
    }
    if (d_.op_previous[k] != kNone) {
      add_after(n, d_.op_previous[k], d_.stream_lag(k),
                d_.op_overlaps[k] ? Rule::kStreamOverlap : Rule::kStreamOrder,
                d_.op_overlaps[k] ? Known::kInferred : Known::kRecorded);
    }
    if ((marks_[k] & kMoreEdges) == 0) return;
    auto it = std::partition_point(d_.op_edges.begin(), d_.op_edges.end(),
                                   [&](const OpEdge& e) { return e.to < k; });
    for (; it != d_.op_edges.end() && it->to == k; ++it) {
      const auto gpu = static_cast<std::size_t>(d_.streams[d_.op_stream[k]].gpu);
      const Nanos seen = d_.op_start(k) - d_.op_end(it->from);
      add_after(n, it->from, std::min(d_.latency.stream[gpu], seen), it->rule, it->known);
    }
  }

  // Most host nodes: after the one before on their thread, and nothing else.
  void follow(NodeId n, NodeId before) {
    const Nanos start = g_.start[n];
    const Nanos bound = before < n ? g_.start[before] + g_.duration[before] : start + 1;
    if (bound > start) {
      ++conflicts_;
    } else {
      g_.from.push_back(before);
      g_.lag.push_back(0);
      g_.flags.push_back(pack_edge(Rule::kThreadOrder, Known::kRecorded, false));
    }
    g_.offset.push_back(static_cast<std::uint32_t>(g_.from.size()));
    g_.residual.push_back(bound > start ? 0 : start - bound);
  }

  void host(NodeId n, Pre p) {
    if ((marks_[p] & kFirstInRow) == 0) {
      const bool waited = (marks_[p] & kWaited) != 0;
      const NodeId before = place_[p - 1];
      const Nanos gap = g_.start[n] - g_.start[before] - g_.duration[before];
      add(n, before, waited ? std::min(d_.latency.sync_return, gap) : 0, Rule::kThreadOrder,
          Known::kRecorded, false);
    }
    if ((marks_[p] & kMoreEdges) == 0) return;
    auto wait = std::partition_point(d_.waits.begin(), d_.waits.end(),
                                     [&](const HostWait& w) { return w.at < p; });
    for (; wait != d_.waits.end() && wait->at == p; ++wait) {
      const Nanos source = wait->from_start ? d_.op_start(wait->op) : d_.op_end(wait->op);
      const Nanos seen = g_.start[n] - source;
      const bool staged = wait->from_start && wait->rule == Rule::kBlockingCopy;
      add(n, place_[wait->from_start ? wait->op : d_.end_node(wait->op)],
          staged ? seen : std::min(seen, d_.latency.sync_return), wait->rule, wait->known,
          wait->from_start);
    }
    auto off = std::partition_point(d_.hand_offs.begin(), d_.hand_offs.end(),
                                    [&](const HandOff& h) { return h.to < p; });
    for (; off != d_.hand_offs.end() && off->to == p; ++off) {
      add(n, place_[off->from], 0, Rule::kThreadHandOff, off->known, false);
    }
  }

  // A transfer begins when every member of its group has begun. Few members name each other; of
  // many the first gathers them, and the others begin with it.
  void transfer(NodeId n, std::size_t t) {
    constexpr std::size_t kFew = 16;
    const std::vector<Transfer>& all = d_.transfers;
    std::size_t first = t;
    std::size_t last = t + 1;
    while (first > 0 && all[first - 1].group == all[t].group) --first;
    while (last < all.size() && all[last].group == all[t].group) ++last;
    add(n, place_[all[t].op], 0, Rule::kCollective, Known::kRecorded, false);
    if (last - first > kFew && t != first) {
      add(n, place_[d_.first_transfer + static_cast<Pre>(first)], 0, Rule::kCollective,
          all[t].known, true);
      return;
    }
    for (std::size_t m = first; m < last; ++m) {
      if (m != t) add(n, place_[all[m].op], 0, Rule::kCollective, all[m].known, false);
    }
  }

  // After the end of an operation; an overlap may reach back to before its transfer.
  void add_after(NodeId n, Op op, Nanos lag, Rule rule, Known known) {
    const Pre end = d_.end_node(op);
    if (end != op && d_.op_end(op) + lag < g_.start[place_[end]]) {
      add(n, place_[op], d_.op_end(op) + lag - d_.op_start(op), rule, known, true);
    } else {
      add(n, place_[end], lag, rule, known, false);
    }
  }

  void add(NodeId n, NodeId from, Nanos lag, Rule rule, Known known, bool from_start) {
    if (from >= n) {
      ++conflicts_;
      return;
    }
    if (lag < std::numeric_limits<std::int32_t>::min()) {
      lag = 0;
      from_start = true;
    }
    lag = std::min<Nanos>(lag, std::numeric_limits<std::int32_t>::max());
    const std::uint8_t flags = pack_edge(rule, known, from_start);
    const Nanos bound = Graph::Impl::bound(g_.start[from], g_.duration[from], lag, flags);
    if (bound > g_.start[n]) {
      ++conflicts_;
      return;
    }
    found_.push_back({from, lag, rule, known, from_start, bound});
  }

  // Which edge decided the start; what is left over within the tolerance was that edge's own
  // latency, what is more is delay that nothing explains.
  void settle(NodeId n) {
    Nanos residual = 0;
    if (!found_.empty()) {
      Candidate* best = found_.data();
      for (Candidate& c : found_) {
        const bool rather = c.bound == best->bound && best->rule == Rule::kThreadOrder &&
                            c.rule != Rule::kThreadOrder;
        if (c.bound > best->bound || rather) best = &c;
      }
      const Nanos start = g_.start[n];
      residual = start - best->bound;
      const NodeKind kind = g_.kind[n];
      const bool device_decides =
          on_gpu(kind) || (best->rule != Rule::kThreadOrder && best->rule != Rule::kThreadHandOff);
      if (residual > 0 && residual <= kTolerance && device_decides) {
        best->lag = start - g_.start[best->from] - (best->from_start ? 0 : g_.duration[best->from]);
        residual = 0;
      }
    }
    for (const Candidate& c : found_) {
      g_.from.push_back(c.from);
      g_.lag.push_back(static_cast<std::int32_t>(c.lag));
      g_.flags.push_back(pack_edge(c.rule, c.known, c.from_start));
    }
    g_.offset.push_back(static_cast<std::uint32_t>(g_.from.size()));
    g_.residual.push_back(residual);
  }

  void finish() {
    g_.tables = d_.tables;
    g_.base = d_.base;
    g_.clock = d_.clock;
    g_.gpus = std::move(d_.gpus);
    g_.track_base = std::move(d_.track_base);
    g_.gpu_of_track = std::move(d_.gpu_of_track);
    g_.notes = std::move(d_.notes);
    for (const auto& [op, transfer] : d_.transfer_of)
      g_.coupled.emplace_back(place_[op], place_[transfer]);
    std::sort(g_.coupled.begin(), g_.coupled.end());
    if (order_.empty()) return;
    g_.span_begin = g_.start[0];
    g_.span_end = g_.start[0] + g_.duration[0];
    for (NodeId n = 1; n < order_.size(); ++n) {
      const Nanos end = g_.start[n] + g_.duration[n];
      if (end > g_.span_end) g_.span_end = end, g_.last_to_end = n;
    }
  }

  Draft& d_;
  Graph::Impl& g_;
  std::vector<Pre> order_;
  std::vector<NodeId> place_;
  static constexpr std::uint8_t kFirstInRow = 1;
  static constexpr std::uint8_t kWaited = 2;
  static constexpr std::uint8_t kMoreEdges = 4;
  std::vector<std::uint8_t> marks_;  // by draft node
  std::vector<Candidate> found_;
  std::uint64_t conflicts_ = 0;
};

}  // namespace

void assemble(Draft&& draft, Graph::Impl& graph) { Assembler(std::move(draft), graph).run(); }

}  // namespace ergon::graph
