// The critical path against the overlay that HolisticTraceAnalysis drew into the same trace. Every
// difference is put to the test by what-if.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "graph_oracle.hpp"

namespace ergon::graph_oracle {
namespace {

using graph::NodeId;
using Key = std::tuple<std::string, std::int64_t, std::int64_t>;  // name, start and duration in us

Result<std::set<Key>> marked(const std::string& path) {
  ERGON_TRY(const auto source, io::open_source(path));
  ERGON_TRY(const std::string text, io::read_all(*source));
  ERGON_TRY(const Value document, io::parse_json(text));
  std::set<Key> keys;
  const Value* events = document.find("traceEvents");
  if (events == nullptr || events->as_array() == nullptr) return keys;
  for (const Value& e : *events->as_array()) {
    const Value* args = e.find("args");
    if (args == nullptr || args->find("critical") == nullptr || e.find("dur") == nullptr) continue;
    keys.emplace(*e.find("name")->as_string(), *e.find("ts")->as_int(), *e.find("dur")->as_int());
  }
  return keys;
}

class Comparison {
 public:
  Comparison(const graph::Graph& g, const std::set<Key>& golden)
      : g_(g), t_(g.table_of(0)), golden_(golden), timed_(g), span_(timed_.run()) {
    for (const NodeId n : graph::critical_path(g, graph::Operators(g)).nodes) {
      by_event_[g.event(n)].push_back(n);
    }
    for (NodeId n = 0; n < g.size(); ++n) all_.emplace(key(n), n);
  }

  int run() {
    std::size_t same = 0;
    std::vector<NodeId> omitted;  // on their path, not on ours
    for (const Key& k : golden_) {
      const auto node = all_.find(k);
      if (node == all_.end()) {
        line("marked events found", "all", std::get<0>(k), false);
        continue;
      }
      if (by_event_.contains(g_.event(node->second))) {
        same += graph::on_gpu(g_.kind(node->second)) ? 1 : 0;
      } else {
        omitted.push_back(node->second);
      }
    }
    std::sort(omitted.begin(), omitted.end());
    line("GPU operations on both paths", "16", fmt::format("{}", same), same == 16);
    not_theirs(omitted);
    if (!omitted.empty()) only_ours(omitted);
    return failed_ ? 1 : 0;
  }

 private:
  [[nodiscard]] Key key(NodeId n) const {
    const trace::EventId e = g_.event(n);
    return {std::string(t_.name_of(e)), (t_.base_ns + t_.start_ns[e]) / 1000,
            t_.duration_ns[e] / 1000};
  }
  void line(std::string_view what, std::string_view expected, std::string_view found, bool good) {
    failed_ = failed_ || !good;
    fmt::print("graph: golden overlay: {} | {} | {} | {}\n", what, expected, found,
               good ? "pass" : "FAIL");
  }
  // The span's growth when a node takes `by` more.
  Nanos growth(NodeId n, Nanos by) {
    timed_.reset_durations();
    timed_.durations()[n] += by;
    return timed_.run() - span_;
  }

  // Their path leaves the host for GPU operations whose end nothing waits for: no nanosecond of
  // theirs matters.
  void not_theirs(const std::vector<NodeId>& omitted) {
    const graph::Slack slack = graph::slack(g_);
    const bool gpu = std::all_of(omitted.begin(), omitted.end(),
                                 [&](NodeId n) { return graph::on_gpu(g_.kind(n)); });
    line("events only on theirs", "6 GPU operations", fmt::format("{}", omitted.size()),
         gpu && omitted.size() == 6);
    Nanos faster = 0;
    Nanos within = 0;
    Nanos beyond = 0;
    Nanos least = span_;
    for (const NodeId n : omitted) {
      least = std::min(least, slack.total_ns[n]);
      faster = std::max(faster, std::abs(growth(n, -g_.duration(n))));
      within = std::max(within, std::abs(growth(n, slack.total_ns[n])));
      beyond = std::max(beyond, std::abs(growth(n, slack.total_ns[n] + 1) - 1));
    }
    line("span when any of them takes no time", "unchanged", fmt::format("{} ns", faster),
         faster == 0);
    line("span when any of them takes its slack longer", "unchanged",
         fmt::format("{} ns (slack of {} us and more)", within, least / 1000),
         within == 0 && least > 0);
    line("span when any of them takes 1 ns more than that", "1 ns longer",
         fmt::format("{} ns off", beyond), beyond == 0);
  }

  // Ours stays on the host: between the first omitted operation's launch and the synchronisation
  // after them, every host node there decides the span. Their tool has no annotations, no calls
  // of less than 1 us, and ends before the last call.
  void only_ours(const std::vector<NodeId>& omitted) {
    const Nanos from = g_.start(g_.launch(omitted.front()));
    const Nanos to = g_.start(omitted.back()) + g_.duration(omitted.back());
    std::size_t annotations = 0;
    std::size_t host = 0;
    std::size_t small = 0;
    std::size_t unargued = 0;
    Nanos off = 0;
    for (const auto& [e, nodes] : by_event_) {
      if (golden_.contains(key(nodes.front()))) continue;
      const bool gpu = graph::on_gpu(g_.kind(nodes.front()));
      if (t_.kind[e] == trace::EventKind::kAnnotation) {
        ++annotations;
      } else if (!gpu && g_.start(nodes.front()) >= from && g_.start(nodes.front()) <= to) {
        ++host;
        for (const NodeId n : nodes) off = std::max(off, std::abs(growth(n, 1'000) - 1'000));
      } else if (!gpu && (t_.duration_ns[e] < 1'000 ||
                          g_.start(nodes.back()) + g_.duration(nodes.back()) == g_.span_end())) {
        ++small;
      } else {
        ++unargued;
      }
    }
    line("events only on ours without an argument", "0",
         fmt::format("{} (of {} annotations, {} on the host meanwhile, {} short or last)", unargued,
                     annotations, host, small),
         unargued == 0);
    line("span when the host takes 1 us longer meanwhile", "1 us longer",
         fmt::format("{} ns off in {} events", off, host), off == 0 && host > 0);
  }

  const graph::Graph& g_;
  const trace::EventTable& t_;
  const std::set<Key>& golden_;
  graph::Retimer timed_;
  Nanos span_;
  std::map<trace::EventId, std::vector<NodeId>> by_event_;  ///< our path
  std::map<Key, NodeId> all_;
  bool failed_ = false;
};

}  // namespace

int golden(const std::string& path, const std::string& overlay) {
  const auto keys = marked(overlay);
  auto l = load(path);
  auto g = l ? graph::build(l->views) : tl::unexpected(l.error());
  if (!g || !keys) {
    fmt::print("graph: golden overlay | read | {} | FAIL\n",
               (g ? keys.error() : g.error()).message);
    return 1;
  }
  return Comparison(*g, *keys).run();
}

}  // namespace ergon::graph_oracle
