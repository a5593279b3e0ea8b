// Steps (iterations): by annotation, else by the kernels that repeat.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "impl.hpp"

namespace ergon::graph {
namespace {

constexpr double kAlike =
    0.9;  // share of launches that two steps have in common, and of steps that do
constexpr double kWhole = 0.8;               // share of launches that steps cover
constexpr Nanos kMostUneven = 10;            // long step over short
constexpr std::size_t kFewestLaunches = 10;  // a step
constexpr std::size_t kMostNames = 64;       // candidate kernels tried

struct Mark {
  Nanos start = 0, end = 0;
  trace::StringId name = 0;
};

// Launch times with what they launched, in time order, for one table.
struct Launches {
  std::vector<std::pair<Nanos, trace::StringId>> list;

  [[nodiscard]] std::size_t count(Nanos begin, Nanos end) const {
    const auto at = [&](Nanos t) {
      return std::lower_bound(list.begin(), list.end(), std::pair<Nanos, trace::StringId>(t, 0));
    };
    return begin < end ? static_cast<std::size_t>(at(end) - at(begin)) : 0;
  }
  // Multiset similarity of the kernels launched in [a, b) and [c, d): common over larger.
  [[nodiscard]] double alike(Nanos a, Nanos b, Nanos c, Nanos d) const {
    std::unordered_map<trace::StringId, std::pair<std::int64_t, std::int64_t>> counts;
    const auto at = [&](Nanos t) {
      return std::lower_bound(list.begin(), list.end(), std::pair<Nanos, trace::StringId>(t, 0));
    };
    for (auto it = at(a), last = at(b); it < last; ++it) ++counts[it->second].first;
    for (auto it = at(c), last = at(d); it < last; ++it) ++counts[it->second].second;
    std::int64_t common = 0;
    std::int64_t larger = 0;
    for (const auto& [name, n] : counts) {
      common += std::min(n.first, n.second);
      larger += std::max(n.first, n.second);
    }
    return larger == 0 ? 0 : static_cast<double>(common) / static_cast<double>(larger);
  }
};

class StepFinder {
 public:
  StepFinder(const Graph& graph, std::uint32_t table)
      : g_(graph.impl()), t_(table), table_(*g_.tables[table]) {}

  std::vector<Step> run() {
    gather();
    if (!profiler_.empty()) return steps(profiler_, Found::kProfiler);
    Best best;
    for (const auto& [key, marks] : marks_) consider(marks, best);
    if (!best.marks.empty()) return steps(best.marks, Found::kAnnotation);
    if (const Mark* whole = covering()) return steps({*whole}, Found::kAnnotation);
    by_repetition(best);
    return best.marks.empty() ? std::vector<Step>{} : steps(best.marks, Found::kRepetition);
  }

 private:
  enum class Found : std::uint8_t { kProfiler, kAnnotation, kRepetition };
  struct Best {
    std::vector<Mark> marks;
    double score = 0;
  };

  static std::string without_digits(std::string_view name) {
    std::string text(name);
    std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
    return text;
  }

  void gather() {
    std::unordered_map<trace::StringId, std::string>
        stems;  // "decode 17" and "decode 18" mark the same
    std::vector<bool> step(table_.strings.size());
    for (trace::StringId s = 0; s < step.size(); ++s)
      step[s] = table_.strings.view(s).starts_with("ProfilerStep#");
    for (trace::EventId e = 0; e < table_.size(); ++e) {
      const trace::EventKind kind = table_.kind[e];
      if (kind != trace::EventKind::kAnnotation &&
          (kind != trace::EventKind::kHostOp || !step[table_.name[e]]))
        continue;
      const Mark mark{table_.start_ns[e], table_.end_ns(e), table_.name[e]};
      if (step[mark.name]) {
        profiler_.push_back(mark);
      } else {
        auto [stem, fresh] = stems.try_emplace(mark.name);
        if (fresh) stem->second = without_digits(table_.name_of(e));
        marks_[{table_.track[e], stem->second}].push_back(mark);
      }
    }
    std::sort(profiler_.begin(), profiler_.end(),
              [](const Mark& a, const Mark& b) { return a.start < b.start; });
    for (NodeId n = 0; n < g_.size(); ++n) {
      if (!on_gpu(g_.kind[n]) || g_.table_of(g_.event[n]) != t_ || g_.arrival(n) != n) continue;
      const NodeId call = g_.launch(n);
      if (call == kNoNode) continue;
      launches_.list.emplace_back(g_.start[call] - g_.clock[t_],
                                  table_.name[g_.event[n] - g_.base[t_]]);
    }
    if (!std::is_sorted(launches_.list.begin(), launches_.list.end()))
      std::sort(launches_.list.begin(), launches_.list.end());
  }

  // Does the time between each two neighbouring marks hold the same kernels, and much the same
  // time? Of several such marks those that cover most launches win, then the fewest, then the
  // earliest.
  void consider(const std::vector<Mark>& marks, Best& best) const {
    if (marks.size() < 2 || launches_.list.empty()) return;
    const Nanos last = marks.size() == 2 ? std::max<Nanos>(1, marks[1].end - marks[1].start)
                                         : marks.back().start - marks[marks.size() - 2].start;
    const auto at = [&](std::size_t i) {
      return i < marks.size() ? marks[i].start : marks.back().start + last;
    };
    const std::size_t stride = std::max<std::size_t>(1, marks.size() / 64);
    std::size_t windows = 0;
    std::size_t same = 0;
    std::vector<Nanos> lengths;
    for (std::size_t i = 0; i + 1 < marks.size(); i += stride) {
      if (marks.size() > 2 && i + 2 == marks.size())
        break;  // what follows the last mark is not known to be a step
      ++windows;
      same += launches_.alike(at(i), at(i + 1), at(i + 1), at(i + 2)) >= kAlike ? 1 : 0;
      lengths.push_back(at(i + 1) - at(i));
    }
    if (marks.size() == 2) lengths.push_back(last);
    std::sort(lengths.begin(), lengths.end());
    if (windows == 0 || static_cast<double>(same) < kAlike * static_cast<double>(windows)) return;
    // the first step often warms up, the last is often cut: a tenth at either end does not count
    const std::size_t trim = lengths.size() / 10;
    if (lengths[lengths.size() - 1 - trim] > kMostUneven * lengths[trim]) return;
    const std::size_t covered = launches_.count(at(0), at(marks.size()));
    if (covered < kFewestLaunches * marks.size()) return;
    const auto score = static_cast<double>(covered);
    const bool tie = score == best.score && !best.marks.empty();
    const bool rather =
        tie &&
        (marks.size() < best.marks.size() ||
         (marks.size() == best.marks.size() && marks.front().start < best.marks.front().start));
    if (score > best.score || rather) best = {marks, score};
  }

  // The one annotation that holds nearly everything: then there is one step.
  [[nodiscard]] const Mark* covering() const {
    const Mark* found = nullptr;
    for (const auto& [key, marks] : marks_) {
      if (marks.size() != 1) continue;
      const Mark& m = marks.front();
      if (static_cast<double>(launches_.count(m.start, m.end)) <
          kWhole * static_cast<double>(launches_.list.size()))
        continue;
      if (found == nullptr || m.start < found->start) found = &m;
    }
    return launches_.list.empty() ? nullptr : found;
  }

  // Kernels launched once a step mark it; rare ones are tried first.
  void by_repetition(Best& best) const {
    std::map<trace::StringId, std::vector<Mark>> by_name;
    for (const auto& [at, name] : launches_.list) by_name[name].push_back({at, at, name});
    std::vector<const std::vector<Mark>*> candidates;
    for (const auto& [name, marks] : by_name) {
      if (marks.size() >= 3) candidates.push_back(&marks);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const auto* a, const auto* b) {
      return a->size() != b->size() ? a->size() < b->size() : a->front().start < b->front().start;
    });
    if (candidates.size() > kMostNames) candidates.resize(kMostNames);
    for (const auto* marks : candidates) consider(*marks, best);
    if (best.score < kWhole * static_cast<double>(launches_.list.size())) best = {};
  }

  [[nodiscard]] std::vector<Step> steps(const std::vector<Mark>& marks, Found found) const {
    std::vector<Step> result;
    for (std::size_t i = 0; i < marks.size(); ++i) {
      Step s;
      s.table = t_;
      s.annotated = found != Found::kRepetition;
      s.name = s.annotated ? std::string(table_.strings.view(marks[i].name))
                           : "step " + std::to_string(i);
      s.host.begin = marks[i].start;
      s.host.end = marks[i].end;
      if (i + 1 < marks.size()) {
        s.host.end = marks[i + 1].start;  // what follows a step until the next begins belongs to it
      } else if (found != Found::kProfiler && !result.empty()) {
        s.host.end = marks[i].start + (result.back().host.end - result.back().host.begin);
      }
      s.host.end = std::max(s.host.end, s.host.begin + 1);
      const bool empty = !launches_.list.empty() && launches_.count(s.host.begin, s.host.end) == 0;
      if (!empty) result.push_back(std::move(s));  // the profiler's last step is often cut short
    }
    // where nothing but the next mark ends a step, the last one may be cut
    if (found != Found::kProfiler && marks.size() >= 3) result.pop_back();
    for (std::size_t i = 0; i < result.size() && result.size() > 1; ++i) {
      const Step& other = i + 1 < result.size() ? result[i + 1] : result[i - 1];
      result[i].alike = launches_.alike(result[i].host.begin, result[i].host.end, other.host.begin,
                                        other.host.end);
    }
    return result;
  }

  const Graph::Impl& g_;
  std::uint32_t t_;
  const trace::EventTable& table_;
  std::vector<Mark> profiler_;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<Mark>> marks_;
  Launches launches_;
};

}  // namespace

std::vector<Step> find_steps(const Graph& graph) {
  std::vector<Step> all;
  for (std::uint32_t t = 0; t < graph.impl().tables.size(); ++t) {
    std::vector<Step> steps = StepFinder(graph, t).run();
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

}  // namespace ergon::graph
