// Steps (iterations): by annotation, else by the kernels that repeat.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "impl.hpp"

namespace ergon::graph {
namespace {

constexpr double kAlike = 0.9;          // share of launches that two steps must have in common
constexpr std::size_t kMostNames = 64;  // candidate names tried

struct Mark {
  Nanos start = 0, end = 0;
  trace::StringId name = 0;
};

// Launch times with what they launched, in time order, for one table.
struct Launches {
  std::vector<std::pair<Nanos, trace::StringId>> list;

  // Multiset similarity of the kernels launched in [a, b) and [c, d): common over larger.
  [[nodiscard]] double alike(Nanos a, Nanos b, Nanos c, Nanos d) const {
    std::unordered_map<trace::StringId, std::pair<std::int64_t, std::int64_t>> counts;
    const auto at = [&](Nanos t) {
      return std::lower_bound(list.begin(), list.end(), std::pair<Nanos, trace::StringId>(t, 0));
    };
    for (auto it = at(a); it != at(b); ++it) ++counts[it->second].first;
    for (auto it = at(c); it != at(d); ++it) ++counts[it->second].second;
    std::int64_t common = 0;
    std::int64_t larger = 0;
    for (const auto& [name, n] : counts) {
      common += std::min(n.first, n.second);
      larger += std::max(n.first, n.second);
    }
    return larger == 0 ? 0 : static_cast<double>(common) / static_cast<double>(larger);
  }
};

class Finder {
 public:
  Finder(const Graph& graph, std::uint32_t table)
      : graph_(graph), g_(graph.impl()), t_(table), table_(*g_.tables[table]) {}

  std::vector<Step> run() {
    gather();
    if (profiler_.size() > 0) return steps(profiler_, true);
    std::vector<Mark> best;
    double best_score = 0;
    for (auto& [key, marks] : marks_) consider(marks, best, best_score);
    const bool annotated = !best.empty();
    if (best.empty()) by_repetition(best, best_score);
    return best.empty() ? std::vector<Step>{} : steps(best, annotated);
  }

 private:
  void gather() {
    for (trace::EventId e = 0; e < table_.size(); ++e) {
      const trace::EventKind kind = table_.kind[e];
      if (kind != trace::EventKind::kAnnotation && kind != trace::EventKind::kHostOp) continue;
      const Mark mark{table_.start_ns[e], table_.end_ns(e), table_.name[e]};
      if (table_.name_of(e).starts_with("ProfilerStep#")) {
        profiler_.push_back(mark);
      } else if (kind == trace::EventKind::kAnnotation) {
        marks_[{table_.track[e], mark.name}].push_back(mark);
      }
    }
    std::sort(profiler_.begin(), profiler_.end(),
              [](const Mark& a, const Mark& b) { return a.start < b.start; });
    for (NodeId n = 0; n < graph_.size(); ++n) {
      if (!on_gpu(g_.kind[n]) || graph_.table(n) != t_) continue;
      const NodeId call = graph_.launch(n);
      if (call == kNoNode) continue;
      launches_.list.emplace_back(graph_.start(call) - g_.clock[t_], table_.name[graph_.event(n)]);
    }
    std::sort(launches_.list.begin(), launches_.list.end());
  }

  // Does the time between each two neighbouring marks hold the same kernels? The longest alike
  // period wins: it covers most launches, and of equals begins first.
  void consider(const std::vector<Mark>& marks, std::vector<Mark>& best, double& best_score) const {
    if (marks.size() < 2 || launches_.list.empty()) return;
    double alike = 1;
    const std::size_t stride = std::max<std::size_t>(1, marks.size() / 32);
    for (std::size_t i = 0; i + 2 < marks.size(); i += stride) {
      alike = std::min(alike, launches_.alike(marks[i].start, marks[i + 1].start,
                                              marks[i + 1].start, marks[i + 2].start));
    }
    const Nanos tail = marks.back().start + (marks.back().start - marks[marks.size() - 2].start);
    if (marks.size() == 2) {
      alike = launches_.alike(marks[0].start, marks[1].start, marks[1].start,
                              std::max(tail, marks[1].end));
    }
    if (alike < kAlike) return;
    const auto at = [&](Nanos t) {
      return std::lower_bound(launches_.list.begin(), launches_.list.end(),
                              std::pair<Nanos, trace::StringId>(t, 0));
    };
    const auto covered = static_cast<double>(at(tail) - at(marks.front().start));
    if (covered == 0) return;
    const double score = covered * (alike > 0.99 ? 1.01 : 1);
    const bool earlier = score == best_score && !best.empty() &&
                         (marks.size() < best.size() || (marks.size() == best.size() &&
                                                         marks.front().start < best.front().start));
    if (score > best_score || earlier) {
      best = marks;
      best_score = score;
    }
  }

  // Kernels launched equally often as steps are, rare ones first: each marks a step.
  void by_repetition(std::vector<Mark>& best, double& best_score) const {
    std::unordered_map<trace::StringId, std::vector<Mark>> by_name;
    for (const auto& [at, name] : launches_.list) by_name[name].push_back({at, at, name});
    std::vector<const std::vector<Mark>*> candidates;
    for (const auto& [name, marks] : by_name) {
      if (marks.size() >= 3) candidates.push_back(&marks);
    }
    std::sort(candidates.begin(), candidates.end(), [](const auto* a, const auto* b) {
      return a->size() != b->size() ? a->size() < b->size() : a->front().start < b->front().start;
    });
    if (candidates.size() > kMostNames) candidates.resize(kMostNames);
    for (const auto* marks : candidates) consider(*marks, best, best_score);
  }

  std::vector<Step> steps(const std::vector<Mark>& marks, bool annotated) const {
    const bool named = !profiler_.empty();
    std::vector<Step> result;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      Step s;
      s.table = t_;
      s.annotated = annotated;
      s.name =
          named ? std::string(table_.strings.view(marks[i].name)) : "step " + std::to_string(i);
      s.host.begin = marks[i].start;
      s.host.end = marks[i].end;
      if (i + 1 < marks.size()) {
        s.host.end = marks[i + 1].start;  // what follows a step until the next begins belongs to it
      } else if (!named && !result.empty()) {
        s.host.end = marks[i].start + (result.back().host.end - result.back().host.begin);
      }
      s.host.end = std::max(s.host.end, s.host.begin + 1);
      result.push_back(std::move(s));
    }
    return result;
  }

  const Graph& graph_;
  const Graph::Impl& g_;
  std::uint32_t t_;
  const trace::EventTable& table_;
  std::vector<Mark> profiler_;
  std::map<std::pair<std::uint32_t, trace::StringId>, std::vector<Mark>> marks_;
  Launches launches_;
};

// What two nodes must share to be the same piece of work in two steps: the how-manieth event of
// that name on that track, and the how-manieth piece of it.
struct Key {
  std::uint32_t track = 0, name = 0, instance = 0, piece = 0;
  NodeKind kind{};
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::uint64_t h = k.track;
    for (const std::uint64_t x : {std::uint64_t{k.name}, std::uint64_t{k.instance},
                                  std::uint64_t{k.piece}, static_cast<std::uint64_t>(k.kind)}) {
      h = (h ^ x) * 0x9e3779b97f4a7c15ULL;
      h ^= h >> 29U;
    }
    return static_cast<std::size_t>(h);
  }
};

// The keys of a step's nodes. Host events are counted in the table, so that one too short to have a
// node still counts.
class Keys {
 public:
  Keys(const Graph& graph, const Step& step)
      : graph_(graph), g_(graph.impl()), table_(*g_.tables[step.table]) {
    std::unordered_map<std::uint64_t, std::uint32_t> seen;
    for (trace::EventId e = 0; e < table_.size(); ++e) {
      const trace::EventKind kind = table_.kind[e];
      if (kind != trace::EventKind::kHostOp && kind != trace::EventKind::kApi) continue;
      if (table_.start_ns[e] < step.host.begin || table_.start_ns[e] >= step.host.end) continue;
      instance_[e] = seen[(std::uint64_t{table_.track[e]} << 32U) | table_.name[e]]++;
    }
  }
  Key next(NodeId n) {
    const trace::EventId e = graph_.event(n);
    Key key{table_.track[e], table_.name[e], 0, 0, g_.kind[n]};
    if (on_gpu(key.kind)) {
      key.instance = launched_[(std::uint64_t{key.track} << 32U) | key.name]++;
    } else {
      const auto it = instance_.find(e);
      key.instance = it == instance_.end() ? 0xffffffffU : it->second;
      key.piece = pieces_[e]++;
    }
    return key;
  }

 private:
  const Graph& graph_;
  const Graph::Impl& g_;
  const trace::EventTable& table_;
  std::unordered_map<trace::EventId, std::uint32_t> instance_, pieces_;
  std::unordered_map<std::uint64_t, std::uint32_t> launched_;
};

}  // namespace

std::vector<Step> find_steps(const Graph& graph) {
  std::vector<Step> all;
  for (std::uint32_t t = 0; t < graph.impl().tables.size(); ++t) {
    std::vector<Step> steps = Finder(graph, t).run();
    all.insert(all.end(), std::make_move_iterator(steps.begin()),
               std::make_move_iterator(steps.end()));
  }
  return all;
}

std::vector<NodeId> nodes_of(const Graph& graph, const Step& step) {
  const Graph::Impl& g = graph.impl();
  const Nanos begin = step.host.begin + g.clock[step.table];
  const Nanos end = step.host.end + g.clock[step.table];
  std::vector<NodeId> nodes;
  for (NodeId n = 0; n < graph.size(); ++n) {
    if (graph.table(n) != step.table) continue;
    NodeId decides = n;
    if (on_gpu(g.kind[n])) {
      const NodeId call = graph.launch(n);
      if (call != kNoNode) decides = call;
    }
    if (g.start[decides] >= begin && g.start[decides] < end) nodes.push_back(n);
  }
  return nodes;
}

std::vector<std::pair<NodeId, NodeId>> match_nodes(const Graph& graph, const Step& a,
                                                   const Step& b) {
  std::vector<std::pair<NodeId, NodeId>> pairs;
  if (a.table != b.table) return pairs;
  std::unordered_map<Key, NodeId, KeyHash> others;
  Keys keys_of_b(graph, b);
  for (const NodeId n : nodes_of(graph, b)) others.try_emplace(keys_of_b.next(n), n);
  Keys keys_of_a(graph, a);
  for (const NodeId n : nodes_of(graph, a)) {
    const auto it = others.find(keys_of_a.next(n));
    if (it != others.end()) pairs.emplace_back(n, it->second);
  }
  return pairs;
}

}  // namespace ergon::graph
