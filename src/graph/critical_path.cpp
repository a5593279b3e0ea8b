// The chain that decides the span, and where its time goes.
#include <algorithm>
#include <unordered_map>

#include "binding.hpp"

namespace ergon::graph {
namespace {

// Time by name; names are views into the tables, or constants.
class Shares {
 public:
  void add(std::string_view name, Nanos time) {
    if (time == 0) return;
    const auto [it, fresh] = index_.try_emplace(name, shares_.size());
    if (fresh) shares_.push_back({std::string(name), 0});
    shares_[it->second].time_ns += time;
  }
  std::vector<Share> take() {
    std::sort(shares_.begin(), shares_.end(), [](const Share& a, const Share& b) {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.name < b.name;
    });
    return std::move(shares_);
  }

 private:
  std::unordered_map<std::string_view, std::size_t> index_;
  std::vector<Share> shares_;
};

constexpr std::string_view kLatency = "latency";
constexpr std::string_view kUnexplained = "unexplained";

class Walk {
 public:
  Walk(const Timing& timing, const Operators& operators)
      : timing_(timing), graph_(timing.graph()), g_(graph_.impl()), operators_(operators) {
    for (const trace::EventTable* table : g_.tables) {
      for (std::size_t i = 0; i < table->tracks.size(); ++i)
        track_names_.push_back(name_of(*table, table->tracks[i]));
    }
  }

  CriticalPath run() {
    if (graph_.size() == 0) return std::move(path_);
    NodeId n = 0;
    Nanos begin = timing_.start(0);
    for (NodeId i = 0; i < graph_.size(); ++i) {
      if (timing_.end(i) > timing_.end(n)) n = i;
      begin = std::min(begin, timing_.start(i));
    }
    path_.span_ns = timing_.end(n) - begin;
    work(n, timing_.duration(n));
    for (;;) {
      path_.nodes.push_back(n);
      const std::size_t e = decisive_edge(g_, timing_, n, kNoEdge);
      if (e == kNoEdge) break;
      delay(n, g_.residual[n], edge_rule(g_.flags[e]));
      const NodeId from = g_.from[e];
      const Nanos lag = g_.lag[e];
      if (edge_from_start(g_.flags[e])) {
        latency(lag);
      } else {
        work(from, std::max<Nanos>(0, timing_.duration(from) + std::min<Nanos>(lag, 0)));
        latency(std::max<Nanos>(lag, 0));
      }
      n = from;
    }
    path_.anchor_ns = timing_.start(n) - begin;
    unexplained(path_.anchor_ns, track_name(n));
    std::reverse(path_.nodes.begin(), path_.nodes.end());
    path_.by_kind = kind_.take();
    path_.by_kernel = kernel_.take();
    path_.by_operator = operator_.take();
    path_.by_thread = thread_.take();
    return std::move(path_);
  }

 private:
  static std::string name_of(const trace::EventTable& table, const trace::Track& t) {
    if (t.gpu) return "GPU " + std::to_string(t.device) + " stream " + std::to_string(t.stream);
    std::string name = "thread " + std::to_string(t.thread);
    const std::string_view given = table.strings.view(t.name);
    if (!given.empty()) name += " (" + std::string(given) + ")";
    return name;
  }
  [[nodiscard]] std::string_view track_name(NodeId n) const {
    const std::uint32_t t = graph_.table(n);
    return track_names_[g_.track_base[t] + g_.tables[t]->track[graph_.event(n)]];
  }
  [[nodiscard]] std::string_view operator_name(NodeId n) const {
    const trace::EventId op = operators_.of(n);
    return op == trace::kNoEvent ? std::string_view("no operator") : graph_.table_of(n).name_of(op);
  }

  void work(NodeId n, Nanos time) {
    path_.work_ns += time;
    kind_.add(to_string(g_.kind[n]), time);
    kernel_.add(on_gpu(g_.kind[n]) ? graph_.name(n) : std::string_view("host"), time);
    if (time > 0) operator_.add(operator_name(n), time);
    thread_.add(track_name(n), time);
  }
  void latency(Nanos time) {
    path_.latency_ns += time;
    for (Shares* s : {&kind_, &kernel_, &operator_, &thread_}) s->add(kLatency, time);
  }
  void unexplained(Nanos time, std::string_view where) {
    path_.unexplained_ns += time;
    for (Shares* s : {&kind_, &kernel_, &operator_}) s->add(kUnexplained, time);
    thread_.add(where, time);
  }
  void delay(NodeId n, Nanos time, Rule rule) {
    const bool idle_host =
        !on_gpu(g_.kind[n]) && (rule == Rule::kThreadOrder || rule == Rule::kThreadHandOff);
    if (!idle_host) return unexplained(time, track_name(n));
    path_.host_gap_ns += time;
    kind_.add("host", time);
    kernel_.add("host", time);
    operator_.add("no operator", time);
    thread_.add(track_name(n), time);
  }

  const Timing timing_;
  const Graph& graph_;
  const Graph::Impl& g_;
  const Operators& operators_;
  std::vector<std::string> track_names_;
  CriticalPath path_;
  Shares kind_, kernel_, operator_, thread_;
};

}  // namespace

CriticalPath critical_path(const Timing& timing, const Operators& operators) {
  return Walk(timing, operators).run();
}

std::optional<std::size_t> binding_edge(const Timing& timing, NodeId n) {
  const Graph::Impl& g = timing.graph().impl();
  const std::size_t e = decisive_edge(g, timing, n, kNoEdge);
  if (e == kNoEdge) return std::nullopt;
  return e - g.offset[n];
}

std::vector<RuleCount> edges_by_rule(const Timing& timing) {
  const Graph::Impl& g = timing.graph().impl();
  std::vector<RuleCount> counts(kRules);
  for (std::size_t r = 0; r < kRules; ++r) counts[r].rule = static_cast<Rule>(r);
  for (const std::uint8_t flags : g.flags) {
    RuleCount& c = counts[static_cast<std::size_t>(edge_rule(flags))];
    switch (edge_known(flags)) {
      case Known::kRecorded:
        ++c.recorded;
        break;
      case Known::kInferred:
        ++c.inferred;
        break;
      case Known::kAssumed:
        ++c.assumed;
        break;
    }
  }
  for (NodeId n = 0; n < g.size(); ++n) {
    const std::size_t e = decisive_edge(g, timing, n, kNoEdge);
    if (e != kNoEdge) ++counts[static_cast<std::size_t>(edge_rule(g.flags[e]))].binding;
  }
  std::erase_if(counts,
                [](const RuleCount& c) { return c.recorded + c.inferred + c.assumed == 0; });
  return counts;
}

}  // namespace ergon::graph
