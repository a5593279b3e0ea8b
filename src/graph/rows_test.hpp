// Traces by hand for the tests of the graph: rows in any order, brought into table order at the
// end.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ergon/graph.hpp"

namespace ergon::graph_test {

using graph::NodeId;
using graph::NodeKind;
using graph::Rule;
using trace::EventKind;

class Rows {
 public:
  // of the rows that follow
  int process = 1;
  int device = 0;
  int context = -1;

  void host(int thread, EventKind kind, Nanos start, Nanos duration, std::string name,
            std::int64_t correlation = -1) {
    rows_.push_back({false,
                     process,
                     -1,
                     -1,
                     thread,
                     kind,
                     start,
                     duration,
                     std::move(name),
                     correlation,
                     {},
                     -1});
  }
  void op(int thread, Nanos start, Nanos duration, std::string name) {
    host(thread, EventKind::kHostOp, start, duration, std::move(name));
  }
  void call(int thread, Nanos start, Nanos duration, std::string name,
            std::int64_t correlation = -1) {
    host(thread, EventKind::kApi, start, duration, std::move(name), correlation);
  }
  void gpu(int stream, EventKind kind, Nanos start, Nanos duration, std::string name,
           std::int64_t correlation, std::string detail = {}, std::int64_t sequence = -1) {
    rows_.push_back({true, process, device, context, stream, kind, start, duration, std::move(name),
                     correlation, std::move(detail), sequence});
  }
  void kernel(int stream, Nanos start, Nanos duration, std::string name, std::int64_t correlation,
              std::string detail = {}) {
    gpu(stream, EventKind::kKernel, start, duration, std::move(name), correlation,
        std::move(detail));
  }
  /// A launch of 2 us and its kernel.
  void launched(int thread, Nanos called, int stream, Nanos start, Nanos duration,
                const std::string& name, std::int64_t correlation) {
    call(thread, called, 2'000, "cudaLaunchKernel", correlation);
    kernel(stream, start, duration, name, correlation);
  }

  trace::EventTable table() {
    trace::EventTable t;
    std::stable_sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return std::tuple(a.place(), a.start, -a.duration) <
             std::tuple(b.place(), b.start, -b.duration);
    });
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      if (i == 0 || rows_[i - 1].place() != r.place()) {
        trace::Track track;
        track.gpu = r.gpu;
        track.process = r.process;
        track.thread = r.gpu ? 0 : r.track;
        track.device = r.device;
        track.context = r.context;
        track.stream = r.gpu ? r.track : -1;
        t.tracks.push_back(track);
      }
      if (r.sequence >= 0)
        t.collective_seq.push_back(static_cast<trace::EventId>(t.size()), r.sequence);
      t.start_ns.push_back(r.start);
      t.duration_ns.push_back(r.duration);
      t.name.push_back(t.strings.intern(r.name));
      t.kind.push_back(r.kind);
      t.track.push_back(static_cast<std::uint32_t>(t.tracks.size() - 1));
      t.correlation.push_back(r.correlation);
      t.external_id.push_back(-1);
      t.detail.push_back(r.detail.empty() ? 0 : t.strings.intern(r.detail));
    }
    return t;
  }

 private:
  struct Row {
    bool gpu;
    int process, device, context, track;
    EventKind kind;
    Nanos start, duration;
    std::string name;
    std::int64_t correlation;
    std::string detail;
    std::int64_t sequence;
    [[nodiscard]] std::tuple<bool, int, int, int, int> place() const {
      return {gpu, process, device, context, track};
    }
  };
  std::vector<Row> rows_;
};

inline NodeId find(const graph::Graph& g, std::string_view name, NodeKind kind,
                   std::size_t nth = 0) {
  for (NodeId n = 0; n < g.size(); ++n) {
    if (g.name(n) == name && g.kind(n) == kind && nth-- == 0) return n;
  }
  ADD_FAILURE() << "no node " << name;
  return 0;
}

/// The edges of one rule as "from -> to (known)", sorted.
inline std::vector<std::string> edges_of(const graph::Graph& g, Rule rule) {
  std::vector<std::string> found;
  for (NodeId n = 0; n < g.size(); ++n) {
    for (std::size_t i = 0; i < g.edge_count(n); ++i) {
      const graph::Edge e = g.edge(n, i);
      if (e.rule != rule) continue;
      found.push_back(std::string(g.name(e.from)) + " -> " + std::string(g.name(n)) + " (" +
                      graph::to_string(e.known) + ")");
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}
using Names = std::vector<std::string>;

/// The rule that decides when a node starts.
inline Rule decides(const graph::Graph& g, NodeId n) {
  const auto edge = graph::binding_edge(g, n);
  EXPECT_TRUE(edge) << g.name(n);
  return edge ? g.edge(n, *edge).rule : Rule::kThreadOrder;
}

/// By how much `moved` starts later when `longer` takes `by` more.
inline Nanos moves(const graph::Graph& g, NodeId longer, Nanos by, NodeId moved) {
  graph::Retimer r(g);
  r.durations()[longer] += by;
  r.run();
  return r.starts()[moved] - g.start(moved);
}

inline graph::Graph built(const trace::EventTable& table, const graph::BuildOptions& options = {}) {
  auto g = graph::build(table, options);
  EXPECT_TRUE(g);
  EXPECT_EQ(graph::check_replay(*g).max_difference_ns, 0);
  return std::move(*g);
}

}  // namespace ergon::graph_test
