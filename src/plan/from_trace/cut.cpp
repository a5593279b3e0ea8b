// Cuts a GPU's operations into segments of like clock response: small chunks first, then the most
// alike neighbours are joined.
#include "cut.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace ergon::plan {
namespace {

using graph::NodeId;

// Sums over the operations of a segment.
struct Sums {
  double time = 0;     // seconds of GPU work
  double core = 0;     // of which follow the clock
  double dynamic = 0;  // joules that follow the voltage
  void add(const Sums& o) {
    time += o.time;
    core += o.core;
    dynamic += o.dynamic;
  }
};

// What joining two neighbours loses: the time whose response (or power, as a share of the limit) is
// misrepresented by the mean. Joining an empty stretch loses nothing.
double misfit(const Sums& a, const Sums& b, double limit_w) {
  if (a.time <= 0 || b.time <= 0) return 0;
  const double response = std::abs(a.core / a.time - b.core / b.time);
  const double power =
      limit_w > 0 ? std::abs(a.dynamic / a.time - b.dynamic / b.time) / limit_w : 0;
  return (response + power) * a.time * b.time / (a.time + b.time);
}

struct Chunk {
  Segment segment;
  Sums sums;
  double misfit_before = -1;  // with the chunk before; negative: not known
};
// One that is joined with its living neighbours.
struct Link : Chunk {
  std::size_t previous = 0, next = 0;
  std::uint32_t version = 0;
  bool alive = true;
};
constexpr std::size_t kNoChunk = static_cast<std::size_t>(-1);

// Chunks of at least `least` ns, or less where the response changes, never split where something
// that scales runs across, unless it has grown too long.
std::vector<Chunk> chunks_of(const graph::Graph& graph, const Window& window,
                             const NodeModels& models, std::span<const NodeId> operations,
                             const std::vector<bool>& hard, Nanos least, Nanos longest,
                             double limit_w) {
  std::vector<Chunk> chunks;
  chunks.reserve(operations.size());
  Nanos running_until = window.begin_ns;  // of what scales
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const NodeId n = operations[i];
    const Nanos start = graph.start(n);
    const NodeModel& m = models[n - window.first];
    const double t = to_seconds(graph.duration(n)).si();
    const Sums sums{t, t * double{m.core}, double{m.core_j}};
    bool cut = chunks.empty() || hard[i];
    if (!cut) {
      const Nanos length = start - chunks.back().segment.start_ns;
      const bool clean = start >= running_until;
      const auto differs = [&] {
        return misfit(chunks.back().sums, sums, limit_w) >
               0.02 * std::min(sums.time, chunks.back().sums.time);
      };
      cut = (clean && length > 0 && (length >= least || differs())) || length >= longest;
    }
    if (cut) {
      Chunk c;
      c.segment = {i, i, chunks.empty() ? window.begin_ns : start, !chunks.empty() && hard[i]};
      chunks.push_back(c);
    }
    chunks.back().segment.end = i + 1;
    chunks.back().sums.add(sums);
    if (m.core > 0 || m.memory > 0)
      running_until = std::max(running_until, start + graph.duration(n));
  }
  return chunks;
}

// Where chunks are many times the packs wanted, neighbours that are nearly alike are joined in
// passes over all of them, each allowing more: the queue below is left with the rest. Returns what
// the joins lose.
double join_the_most_alike(std::vector<Chunk>& chunks, std::size_t wanted, double tolerance_s,
                           double limit_w) {
  const std::size_t many = 32 * wanted;
  double lost = 0;
  double allowed = tolerance_s / static_cast<double>(chunks.size() + 1) / 16;
  while (chunks.size() > many) {
    std::size_t kept = 0;
    bool same = true;  // the chunk before is what it was in the last pass
    for (std::size_t i = 1; i < chunks.size(); ++i) {
      Chunk& left = chunks[kept];
      const Chunk& right = chunks[i];
      const bool known = same && right.misfit_before >= 0;
      const double cost = right.segment.hard ? allowed
                          : known            ? right.misfit_before
                                             : misfit(left.sums, right.sums, limit_w);
      if (!right.segment.hard && cost < allowed) {
        left.segment.end = right.segment.end;
        left.sums.add(right.sums);
        left.misfit_before = -1;
        lost += cost;
        same = false;
      } else {
        chunks[++kept] = right;
        if (!right.segment.hard) chunks[kept].misfit_before = cost;
        same = true;
      }
    }
    const bool joined = kept + 1 < chunks.size();
    chunks.resize(kept + 1);
    if (!joined && allowed > tolerance_s) break;
    allowed *= 4;
  }
  return lost;
}

struct Join {
  double cost;
  std::size_t left;
  std::uint32_t left_version, right_version;
  // Ties go to the earlier pair, so that the result does not depend on the heap.
  friend bool operator<(const Join& a, const Join& b) {
    return a.cost != b.cost ? a.cost > b.cost : a.left > b.left;
  }
};

std::vector<Segment> join_neighbours(std::vector<Chunk> pieces, std::size_t wanted,
                                     double tolerance_s, double limit_w) {
  double lost = join_the_most_alike(pieces, wanted, tolerance_s, limit_w);
  std::vector<Link> chunks;
  chunks.reserve(pieces.size());
  for (const Chunk& c : pieces) chunks.push_back({c});
  std::size_t alive = chunks.size();
  std::priority_queue<Join> joins;
  const auto propose = [&](std::size_t left) {
    if (left == kNoChunk || chunks[left].next == kNoChunk) return;
    const Link& a = chunks[left];
    const Link& b = chunks[a.next];
    if (b.segment.hard) return;
    joins.push({misfit(a.sums, b.sums, limit_w), left, a.version, b.version});
  };
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].previous = i == 0 ? kNoChunk : i - 1;
    chunks[i].next = i + 1 == chunks.size() ? kNoChunk : i + 1;
  }
  for (std::size_t i = 0; i < chunks.size(); ++i) propose(i);
  while (!joins.empty()) {
    const Join join = joins.top();
    Link& a = chunks[join.left];
    if (!a.alive || a.version != join.left_version || a.next == kNoChunk ||
        chunks[a.next].version != join.right_version) {
      joins.pop();
      continue;
    }
    if (alive <= wanted && lost + join.cost > tolerance_s) break;
    joins.pop();
    lost += join.cost;
    Link& b = chunks[a.next];
    a.segment.end = b.segment.end;
    a.sums.add(b.sums);
    ++a.version;
    b.alive = false;
    ++b.version;
    a.next = b.next;
    if (a.next != kNoChunk) chunks[a.next].previous = join.left;
    --alive;
    propose(join.left);
    propose(a.previous);
  }
  std::vector<Segment> segments;
  for (const Link& c : chunks) {
    if (c.alive) segments.push_back(c.segment);
  }
  return segments;
}

}  // namespace

std::vector<Segment> cut_segments(const graph::Graph& graph, const Window& window,
                                  const NodeModels& models, std::span<const NodeId> operations,
                                  const std::vector<bool>& hard_cuts, const CutOptions& options) {
  const Nanos length = window.end_ns - window.begin_ns;
  const Nanos least = length / static_cast<Nanos>(8 * options.max_packs) + 1;
  const Nanos longest = length / static_cast<Nanos>(options.max_packs) + 1;
  auto chunks =
      chunks_of(graph, window, models, operations, hard_cuts, least, longest, options.limit_w);
  // Alike enough: all joins together misrepresent at most this share of the window.
  constexpr double kTolerance = 1e-4;
  return join_neighbours(std::move(chunks), options.max_packs, kTolerance * to_seconds(length).si(),
                         options.limit_w);
}

}  // namespace ergon::plan
