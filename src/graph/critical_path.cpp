// The chain that decides the span, and where its time goes.
#include <algorithm>
#include <array>

#include "binding.hpp"

namespace ergon::graph {
namespace {

// Time by key, a small number; each key has a name, and keys may share one.
class Shares {
 public:
  explicit Shares(std::size_t keys) : time_(keys, 0), used_(keys, 0) {}
  void add(std::size_t key, Nanos time) {
    time_[key] += time;
    used_[key] |= static_cast<std::uint8_t>(time != 0);
  }
  template <class NameOf>
  std::vector<Share> take(NameOf&& name_of) {
    std::vector<Share> shares;
    for (std::size_t key = 0; key < used_.size(); ++key) {
      if (used_[key] != 0) shares.push_back({std::string(name_of(key)), time_[key]});
    }
    std::sort(shares.begin(), shares.end(),
              [](const Share& a, const Share& b) { return a.name < b.name; });
    std::size_t kept = 0;
    for (Share& s : shares) {
      if (kept > 0 && shares[kept - 1].name == s.name) {
        shares[kept - 1].time_ns += s.time_ns;
      } else {
        if (&shares[kept] != &s) shares[kept] = std::move(s);
        ++kept;
      }
    }
    shares.resize(kept);
    std::stable_sort(shares.begin(), shares.end(),
                     [](const Share& a, const Share& b) { return a.time_ns > b.time_ns; });
    return shares;
  }

 private:
  std::vector<Nanos> time_;         // by key
  std::vector<std::uint8_t> used_;  // by key: some time was added
};

// Keys of a list: these first, then names of the tables, or tracks.
enum Fixed : std::uint8_t { kLatency, kUnexplained, kOnHost, kNoOperator, kFixed };
constexpr std::array<std::string_view, kFixed> kFixedNames = {"latency", "unexplained", "host",
                                                              "no operator"};
constexpr std::size_t kKinds = static_cast<std::size_t>(NodeKind::kSync) + 1;

class Walk {
 public:
  Walk(const Timing& timing, const Operators& operators)
      : timing_(timing),
        g_(timing.graph().impl()),
        operators_(operators),
        string_base_(string_bases(g_)),
        track_names_(names_of_tracks(g_)),
        kind_(kFixed + kKinds),
        kernel_(string_base_.back()),
        operator_(string_base_.back()),
        thread_(kFixed + track_names_.size()) {}

  CriticalPath run() {
    if (g_.size() == 0) return std::move(path_);
    const Times::Span span = timing_.span();
    NodeId n = span.last;
    path_.span_ns = span.end - span.begin;
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
    path_.anchor_ns = timing_.start(n) - span.begin;
    unexplained(path_.anchor_ns, track(n));
    std::reverse(path_.nodes.begin(), path_.nodes.end());
    path_.by_kind = kind_.take([](std::size_t key) {
      return key < kFixed ? kFixedNames[key] : to_string(static_cast<NodeKind>(key - kFixed));
    });
    const auto string = [this](std::size_t key) { return string_of(key); };
    path_.by_kernel = kernel_.take(string);
    path_.by_operator = operator_.take(string);
    path_.by_thread = thread_.take([this](std::size_t key) {
      return key < kFixed ? kFixedNames[key] : std::string_view(track_names_[key - kFixed]);
    });
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
  static std::vector<std::string> names_of_tracks(const Graph::Impl& g) {
    std::vector<std::string> names;
    const std::vector<std::string> labels = labels_of(g.tables);
    for (std::size_t t = 0; t < g.tables.size(); ++t) {
      const std::string prefix = labels[t].empty() ? "" : labels[t] + " ";
      for (const trace::Track& track : g.tables[t]->tracks)
        names.push_back(prefix + name_of(*g.tables[t], track));
    }
    return names;
  }
  // The first key of each table's strings, and one past the last.
  static std::vector<std::size_t> string_bases(const Graph::Impl& g) {
    std::vector<std::size_t> bases{kFixed};
    for (const trace::EventTable* table : g.tables)
      bases.push_back(bases.back() + table->strings.size());
    return bases;
  }
  [[nodiscard]] std::string_view string_of(std::size_t key) const {
    if (key < kFixed) return kFixedNames[key];
    const auto above = std::upper_bound(string_base_.begin(), string_base_.end(), key);
    const auto t = static_cast<std::size_t>(above - string_base_.begin()) - 1;
    return g_.tables[t]->strings.view(static_cast<trace::StringId>(key - string_base_[t]));
  }

  // Keys of a node.
  [[nodiscard]] std::size_t track(NodeId n) const {
    const std::uint32_t t = g_.table_of(g_.event[n]);
    return kFixed + g_.track_base[t] + g_.tables[t]->track[g_.event[n] - g_.base[t]];
  }
  [[nodiscard]] std::size_t kernel(NodeId n) const {
    if (!on_gpu(g_.kind[n])) return kOnHost;
    const std::uint32_t t = g_.table_of(g_.event[n]);
    return string_base_[t] + g_.tables[t]->name[g_.event[n] - g_.base[t]];
  }
  [[nodiscard]] std::size_t operator_around(NodeId n) const {
    const trace::EventId op = operators_.of(n);
    if (op == trace::kNoEvent) return kNoOperator;
    const std::uint32_t t = g_.table_of(g_.event[n]);
    return string_base_[t] + g_.tables[t]->name[op];
  }

  void work(NodeId n, Nanos time) {
    if (time == 0) return;
    path_.work_ns += time;
    kind_.add(kFixed + static_cast<std::size_t>(g_.kind[n]), time);
    kernel_.add(kernel(n), time);
    operator_.add(operator_around(n), time);
    thread_.add(track(n), time);
  }
  void latency(Nanos time) {
    path_.latency_ns += time;
    for (Shares* s : {&kind_, &kernel_, &operator_, &thread_}) s->add(kLatency, time);
  }
  void unexplained(Nanos time, std::size_t where) {
    path_.unexplained_ns += time;
    for (Shares* s : {&kind_, &kernel_, &operator_}) s->add(kUnexplained, time);
    thread_.add(where, time);
  }
  void delay(NodeId n, Nanos time, Rule rule) {
    if (time == 0) return;
    const bool idle_host =
        !on_gpu(g_.kind[n]) && (rule == Rule::kThreadOrder || rule == Rule::kThreadHandOff);
    if (!idle_host) return unexplained(time, track(n));
    path_.host_gap_ns += time;
    kind_.add(kOnHost, time);
    kernel_.add(kOnHost, time);
    operator_.add(kNoOperator, time);
    thread_.add(track(n), time);
  }

  const Times timing_;
  const Graph::Impl& g_;
  const Operators& operators_;
  std::vector<std::size_t> string_base_;
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
  const std::size_t e = decisive_edge(g, Times(timing), n, kNoEdge);
  if (e == kNoEdge) return std::nullopt;
  return e - g.offset[n];
}

std::vector<RuleCount> edges_by_rule(const Timing& timing) {
  const Graph::Impl& g = timing.graph().impl();
  std::vector<RuleCount> counts(kRules);
  for (std::size_t r = 0; r < kRules; ++r) counts[r].rule = static_cast<Rule>(r);
  // Four counters of each, in turns: one would wait for its own last value.
  using Counters = std::array<std::array<std::uint64_t, 4>, 256>;
  const auto sums = [](const Counters& counters) {
    std::array<std::uint64_t, 256> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const std::uint64_t count : counters[i]) all[i] += count;
    }
    return all;
  };
  Counters edges{};
  for (std::size_t e = 0; e < g.flags.size(); ++e) ++edges[g.flags[e]][e % 4];
  const auto by_flags = sums(edges);
  for (std::size_t flags = 0; flags < by_flags.size(); ++flags) {
    if (by_flags[flags] == 0) continue;
    RuleCount& c = counts[static_cast<std::size_t>(edge_rule(static_cast<std::uint8_t>(flags)))];
    switch (edge_known(static_cast<std::uint8_t>(flags))) {
      case Known::kRecorded:
        c.recorded += by_flags[flags];
        break;
      case Known::kInferred:
        c.inferred += by_flags[flags];
        break;
      case Known::kAssumed:
        c.assumed += by_flags[flags];
        break;
    }
  }
  const Times times(timing);
  Counters binding{};
  for (NodeId n = 0; n < g.size(); ++n) {
    const std::size_t e = decisive_edge(g, times, n, kNoEdge);
    if (e != kNoEdge) ++binding[g.flags[e]][n % 4];
  }
  const auto bound = sums(binding);
  for (std::size_t flags = 0; flags < bound.size(); ++flags) {
    if (bound[flags] == 0) continue;
    counts[static_cast<std::size_t>(edge_rule(static_cast<std::uint8_t>(flags)))].binding +=
        bound[flags];
  }
  std::erase_if(counts,
                [](const RuleCount& c) { return c.recorded + c.inferred + c.assumed == 0; });
  return counts;
}

}  // namespace ergon::graph
