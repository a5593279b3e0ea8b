// Network simplex with convex piecewise linear arc costs. Dantzig's tree pivots with block pricing;
// leaving arcs by Cunningham's rule, so that degenerate pivots cannot cycle.
#include "network_simplex.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "numbers.hpp"

namespace ergon::plan {
namespace {

constexpr int kTimeBits = 44;
constexpr int kPriceBits = 40;

}  // namespace

Hulls make_hulls(const Problem& problem, const Network& net) {
  Hulls out;
  std::vector<Corner> sorted;
  std::vector<Corner> hull;
  for (const std::uint32_t p : net.row) {
    const Pack& pack = problem.packs[p];
    const double idle = problem.gpus[pack.gpu].idle_power_w;
    sorted.clear();
    for (std::uint32_t k = 0; k < pack.options.size(); ++k) {
      const Option& o = pack.options[k];
      sorted.push_back({k, o.time_s, o.energy_j - idle * o.time_s});
    }
    std::ranges::sort(sorted, [](const Corner& a, const Corner& b) {
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.energy_j < b.energy_j;
    });
    hull.clear();
    for (const Corner& c : sorted) {
      if (!hull.empty() && c.energy_j >= hull.back().energy_j) continue;
      if (!hull.empty() && c.time_s <= hull.back().time_s) continue;
      while (hull.size() >= 2) {
        const Corner& a = hull[hull.size() - 2];
        const Corner& b = hull.back();
        // b is a corner only where the slope from a to b is steeper than from b to c.
        if ((a.energy_j - b.energy_j) * (c.time_s - b.time_s) >
            (b.energy_j - c.energy_j) * (b.time_s - a.time_s))
          break;
        hull.pop_back();
      }
      hull.push_back(c);
    }
    out.begin.push_back(static_cast<std::uint32_t>(out.corners.size()));
    out.corners.insert(out.corners.end(), hull.rbegin(), hull.rend());
  }
  out.begin.push_back(static_cast<std::uint32_t>(out.corners.size()));
  return out;
}

NetworkSimplex::NetworkSimplex(const Network& net, const Hulls& hulls) {
  arcs_ = static_cast<std::uint32_t>(net.arcs.size()) + 1;
  return_arc_ = arcs_ - 1;
  for (const Network::Arc& a : net.arcs) {
    tail_.push_back(a.tail);
    head_.push_back(a.head);
  }
  tail_.push_back(Network::kEnd);
  head_.push_back(Network::kBegin);

  // Scale: the sum of all slowest times, and the steepest hull step or the idle power.
  double longest = 0;
  double steepest = net.idle_w;
  struct Step {
    double price;
    std::uint32_t row;
    std::uint32_t corner;
  };
  const auto slope = [&](std::uint32_t c) {
    const Corner& a = hulls.corners[c - 1];
    const Corner& b = hulls.corners[c];
    return (b.energy_j - a.energy_j) / (a.time_s - b.time_s);
  };
  for (std::uint32_t i = 0; i + 1 < hulls.begin.size(); ++i) {
    longest += hulls.corners[hulls.begin[i]].time_s;
    for (std::uint32_t c = hulls.begin[i] + 1; c < hulls.begin[i + 1]; ++c)
      steepest = std::max(steepest, slope(c));
  }
  for (const Network::Arc& a : net.arcs) longest += a.lag_s;
  time_unit_ = longest > 0 ? std::ldexp(longest, -kTimeBits) : 1;
  price_unit_ = steepest > 0 ? std::ldexp(steepest, -kPriceBits) : 1;
  const auto in_time = [&](double t) { return static_cast<Int>(std::llround(t / time_unit_)); };
  const auto in_price = [&](double p) { return static_cast<Int>(std::llround(p / price_unit_)); };

  std::vector<Step> steps;
  for (const Network::Arc& a : net.arcs) {
    piece_begin_.push_back(static_cast<std::uint32_t>(time_.size()));
    Int time = in_time(a.lag_s);
    steps.clear();
    for (std::uint32_t i = a.first; i < a.last; ++i) {
      time += in_time(hulls.corners[hulls.begin[i]].time_s);
      for (std::uint32_t c = hulls.begin[i] + 1; c < hulls.begin[i + 1]; ++c)
        steps.push_back({slope(c), i, c});
    }
    std::ranges::stable_sort(steps, {}, &Step::price);
    time_.push_back(time);
    brk_.push_back(0);
    step_pack_.push_back(kNone);
    for (const Step& s : steps) {
      time -= in_time(hulls.corners[s.corner - 1].time_s) - in_time(hulls.corners[s.corner].time_s);
      time_.push_back(time);
      brk_.push_back(std::max<Int>(in_price(s.price), 1));
      step_pack_.push_back(s.row);
    }
  }
  // The way back: a makespan above the deadline is impossible, below it costs the idle power.
  piece_begin_.push_back(static_cast<std::uint32_t>(time_.size()));
  time_.insert(time_.end(), {0, 0});
  brk_.insert(brk_.end(), {0, in_price(net.idle_w)});
  step_pack_.insert(step_pack_.end(), {kNone, kNone});
  piece_begin_.push_back(static_cast<std::uint32_t>(time_.size()));
  base_time_ = time_;
  fixed_time_.assign(hulls.begin.size() - 1, -1);
  slow_time_.reserve(hulls.begin.size());
  for (std::uint32_t i = 0; i + 1 < hulls.begin.size(); ++i)
    slow_time_.push_back(in_time(hulls.corners[hulls.begin[i]].time_s));
  lags_.reserve(net.arcs.size());
  for (const Network::Arc& a : net.arcs) {
    lags_.push_back(in_time(a.lag_s));
    first_.push_back(a.first);
    last_.push_back(a.last);
  }
  pack_arc_ = net.pack_arc;

  piece_.assign(arcs_, 0);
  flow_.assign(arcs_, 0);
  in_tree_.assign(arcs_, 0);
  fast_.resize(arcs_);
  slow_.resize(arcs_);
  block_ = std::max<std::uint32_t>(
      10, static_cast<std::uint32_t>(std::sqrt(static_cast<double>(arcs_)) * 1.5));
  build_tree(net.nodes);
}

// Every node hangs on the arc of its longest way to the end, all packs at their slowest, all prices
// zero.
void NetworkSimplex::build_tree(std::uint32_t nodes) {
  when_.assign(nodes, 0);
  parent_.assign(nodes, kNone);
  tree_arc_.assign(nodes, kNone);
  child_.assign(nodes, kNone);
  next_.assign(nodes, kNone);
  prev_.assign(nodes, kNone);
  mark_.assign(nodes, 0);

  std::vector<std::uint32_t> open(nodes, 0);  // arcs out of the node whose head is not yet timed
  std::vector<std::uint32_t> in_begin(nodes + 2, 0);
  for (std::uint32_t a = 0; a < return_arc_; ++a) {
    ++open[tail_[a]];
    ++in_begin[head_[a] + 2];
  }
  std::partial_sum(in_begin.begin(), in_begin.end(), in_begin.begin());
  std::vector<std::uint32_t> in_arcs(return_arc_);
  for (std::uint32_t a = 0; a < return_arc_; ++a) in_arcs[in_begin[head_[a] + 1]++] = a;
  stack_.assign(1, Network::kEnd);
  while (!stack_.empty()) {
    const std::uint32_t node = stack_.back();
    stack_.pop_back();
    for (std::uint32_t i = in_begin[node]; i < in_begin[node + 1]; ++i) {
      const std::uint32_t a = in_arcs[i];
      const std::uint32_t tail = tail_[a];
      const Int when = when_[node] - time_[piece_begin_[a]];
      if (tree_arc_[tail] == kNone || when < when_[tail]) {
        when_[tail] = when;
        tree_arc_[tail] = a;
      }
      if (--open[tail] == 0) stack_.push_back(tail);
    }
  }
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (tree_arc_[node] == kNone) continue;
    in_tree_[tree_arc_[node]] = 1;
    link(node, head_[tree_arc_[node]]);
  }
  for (std::uint32_t a = 0; a < arcs_; ++a) load_piece(a);
}

void NetworkSimplex::link(std::uint32_t node, std::uint32_t parent) {
  parent_[node] = parent;
  prev_[node] = kNone;
  next_[node] = child_[parent];
  if (next_[node] != kNone) prev_[next_[node]] = node;
  child_[parent] = node;
}

void NetworkSimplex::unlink(std::uint32_t node) {
  if (prev_[node] != kNone)
    next_[prev_[node]] = next_[node];
  else
    child_[parent_[node]] = next_[node];
  if (next_[node] != kNone) prev_[next_[node]] = prev_[node];
}

void NetworkSimplex::load_piece(std::uint32_t arc) {
  const std::uint32_t at = piece_begin_[arc] + piece_[arc];
  fast_[arc] = time_[at];
  slow_[arc] = in_tree_[arc] != 0 ? time_[at] : piece_[arc] == 0 ? kMuch : time_[at - 1];
}

bool NetworkSimplex::find_entering() {
  Int most = 0;
  std::uint32_t left = block_;
  std::uint32_t arc = scan_;
  for (std::uint32_t seen = 0; seen < arcs_; ++seen) {
    const Int window = when_[head_[arc]] - when_[tail_[arc]];
    const Int up = fast_[arc] - window;
    const Int down = window - slow_[arc];
    if (std::max(up, down) > most) {
      most = std::max(up, down);
      entering_ = arc;
      rising_ = up > down;
    }
    if (++arc == arcs_) arc = 0;
    if (--left == 0) {
      if (most > 0) break;
      left = block_;
    }
  }
  scan_ = arc;
  return most > 0;
}

bool NetworkSimplex::pivot() {
  ++pivots_;
  const std::uint32_t arc = entering_;
  const std::uint32_t at = piece_begin_[arc] + piece_[arc];
  const std::uint32_t from = rising_ ? tail_[arc] : head_[arc];
  const std::uint32_t to = rising_ ? head_[arc] : tail_[arc];

  // Where the ways of both ends to the root meet.
  ++stamp_;
  std::uint32_t a = from;
  std::uint32_t b = to;
  std::uint32_t join = kNone;
  while (join == kNone) {
    if (a != kNone) {
      if (mark_[a] == stamp_) join = a;
      mark_[a] = stamp_;
      a = parent_[a];
    }
    if (join == kNone && b != kNone) {
      if (mark_[b] == stamp_) join = b;
      mark_[b] = stamp_;
      b = parent_[b];
    }
  }

  const auto end_of = [&](std::uint32_t e, std::uint32_t p) {
    return p + 1 == piece_begin_[e + 1] ? kMuch : brk_[p + 1];
  };
  // Room on a tree arc until its next break point.
  const auto room = [&](std::uint32_t e, bool rises) {
    const std::uint32_t p = piece_begin_[e] + piece_[e];
    return rises ? end_of(e, p) - flow_[e] : flow_[e] - brk_[p];
  };
  Int delta = rising_ ? end_of(arc, at) - flow_[arc] : flow_[arc] - brk_[at - 1];
  std::uint32_t out = kNone;
  bool out_on_from = false;
  for (std::uint32_t v = from; v != join; v = parent_[v]) {
    const Int d = room(tree_arc_[v], tail_[tree_arc_[v]] != v);
    if (d < delta) {
      delta = d;
      out = v;
      out_on_from = true;
    }
  }
  for (std::uint32_t v = to; v != join; v = parent_[v]) {
    const Int d = room(tree_arc_[v], tail_[tree_arc_[v]] == v);
    if (d <= delta) {
      delta = d;
      out = v;
      out_on_from = false;
    }
  }
  if (delta >= kMuch / 2) return false;

  if (delta > 0) {
    flow_[arc] += rising_ ? delta : -delta;
    for (std::uint32_t v = from; v != join; v = parent_[v])
      flow_[tree_arc_[v]] += tail_[tree_arc_[v]] == v ? -delta : delta;
    for (std::uint32_t v = to; v != join; v = parent_[v])
      flow_[tree_arc_[v]] += tail_[tree_arc_[v]] == v ? delta : -delta;
  }
  if (out == kNone) {  // the entering arc itself reaches its next break point
    piece_[arc] += rising_ ? 1U : ~std::uint32_t{0};
    load_piece(arc);
    return true;
  }

  const std::uint32_t leaving = tree_arc_[out];
  const bool leaves_rising = (tail_[leaving] == out) != out_on_from;
  if (leaves_rising) ++piece_[leaving];
  in_tree_[leaving] = 0;
  load_piece(leaving);
  if (!rising_) --piece_[arc];
  in_tree_[arc] = 1;
  load_piece(arc);

  // Turn the way from the entering arc to the leaving one and hang it on the other side.
  const std::uint32_t inner = out_on_from ? from : to;
  std::uint32_t node = inner;
  std::uint32_t new_parent = out_on_from ? to : from;
  std::uint32_t new_arc = arc;
  while (true) {
    const std::uint32_t old_parent = parent_[node];
    const std::uint32_t old_arc = tree_arc_[node];
    unlink(node);
    link(node, new_parent);
    tree_arc_[node] = new_arc;
    if (node == out) break;
    new_parent = node;
    new_arc = old_arc;
    node = old_parent;
  }
  const Int window = when_[head_[arc]] - when_[tail_[arc]];
  const Int by = fast_[arc] - window;
  shift(inner, head_[arc] == inner ? by : -by);
  return true;
}

void NetworkSimplex::shift(std::uint32_t node, Int by) {
  if (by == 0) return;
  // Walks the subtree without a stack: down to the first child, else on to the next of a forebear.
  const std::uint32_t top = node;
  while (true) {
    when_[node] += by;
    if (child_[node] != kNone) {
      node = child_[node];
      continue;
    }
    while (node != top && next_[node] == kNone) node = parent_[node];
    if (node == top) return;
    node = next_[node];
  }
}

void NetworkSimplex::retime_tree() {
  for (std::uint32_t a = 0; a < arcs_; ++a) load_piece(a);
  stack_.assign(1, Network::kEnd);
  when_[Network::kEnd] = 0;
  while (!stack_.empty()) {
    const std::uint32_t node = stack_.back();
    stack_.pop_back();
    for (std::uint32_t c = child_[node]; c != kNone; c = next_[c]) {
      const std::uint32_t a = tree_arc_[c];
      when_[c] = head_[a] == c ? when_[node] + fast_[a] : when_[node] - fast_[a];
      stack_.push_back(c);
    }
  }
}

bool NetworkSimplex::solve(double deadline_s) {
  // Rounding of the times must not make the fastest plan too slow.
  const auto spare = static_cast<Int>(pack_arc_.size() + arcs_);
  const double limit = std::min(deadline_s / time_unit_, std::ldexp(1.0, kTimeBits + 2));
  time_[piece_begin_[return_arc_] + 1] = -static_cast<Int>(std::llround(limit)) - spare;
  retime_tree();
  while (find_entering())
    if (!pivot()) return false;
  return true;
}

double NetworkSimplex::price(std::uint32_t arc) const {
  return static_cast<double>(flow_[arc]) * price_unit_;
}

double NetworkSimplex::node_time(std::uint32_t node) const {
  return static_cast<double>(when_[node] - when_[Network::kBegin]) * time_unit_;
}

NetworkSimplex::Cut NetworkSimplex::cut(std::uint32_t arc) const {
  const std::uint32_t at = piece_begin_[arc] + piece_[arc];
  if (in_tree_[arc] != 0 || piece_[arc] == 0) return {piece_[arc], 0};
  const Int window = when_[head_[arc]] - when_[tail_[arc]];
  if (window <= time_[at]) return {piece_[arc], 0};
  if (window >= time_[at - 1]) return {piece_[arc] - 1, 0};
  return {piece_[arc] - 1, static_cast<double>(time_[at - 1] - window) /
                               static_cast<double>(time_[at - 1] - time_[at])};
}

std::span<const std::uint32_t> NetworkSimplex::steps(std::uint32_t arc) const {
  return std::span(step_pack_)
      .subspan(piece_begin_[arc] + 1, piece_begin_[arc + 1] - piece_begin_[arc] - 1);
}

void NetworkSimplex::fix(std::uint32_t row_index, double time_s) {
  if (fixed_time_[row_index] < 0) fixed_.push_back(row_index);
  fixed_time_[row_index] = time_s;
  settle_times(pack_arc_[row_index]);
}

void NetworkSimplex::unfix() {
  for (const std::uint32_t i : fixed_) fixed_time_[i] = -1;
  fixed_.clear();
  time_ = base_time_;
}

void NetworkSimplex::settle_times(std::uint32_t arc) {
  Int time = lags_[arc];
  for (std::uint32_t i = first_[arc]; i < last_[arc]; ++i)
    time += fixed_time_[i] < 0 ? slow_time_[i]
                               : static_cast<Int>(std::llround(fixed_time_[i] / time_unit_));
  const std::uint32_t begin = piece_begin_[arc];
  time_[begin] = time;
  for (std::uint32_t p = begin + 1; p < piece_begin_[arc + 1]; ++p) {
    if (fixed_time_[step_pack_[p]] < 0) time -= base_time_[p - 1] - base_time_[p];
    time_[p] = time;
  }
}

}  // namespace ergon::plan
