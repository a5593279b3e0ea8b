// Exact replay is earned: no observed start but those of anchors is an input, and every edge, lag
// and leftover delay matters.
#include <limits>
#include <random>

#include "impl.hpp"
#include "rows_test.hpp"
#include "traces.hpp"

namespace {

using namespace ergon;
using namespace ergon::graph_test;
using Impl = graph::Graph::Impl;

Nanos bound(const graph::Graph& g, std::size_t e) {
  const Impl& i = g.impl();
  return Impl::bound(i.start[i.from[e]], i.duration[i.from[e]], i.lag[e], i.flags[e]);
}

graph::PackedNanos with(const graph::PackedNanos& values, std::size_t count, NodeId n, Nanos v) {
  graph::PackedNanos changed;
  for (NodeId m = 0; m < count; ++m) changed.push_back(m == n ? v : values[m]);
  changed.finish();
  return changed;
}

// Observed starts are forgotten, those of anchors kept: the same times come out.
void expect_starts_are_no_inputs(graph::Graph& g) {
  Impl& i = g.impl();
  const graph::PackedNanos observed = i.start;
  graph::PackedNanos forgotten;
  for (NodeId n = 0; n < g.size(); ++n)
    forgotten.push_back(g.is_anchor(n) ? observed[n] : Nanos{n} * 7);
  forgotten.finish();
  i.start = forgotten;
  graph::Retimer r(g);
  r.run();
  NodeId wrong = 0;
  for (NodeId n = 0; n < g.size(); ++n) wrong += r.starts()[n] != observed[n] ? 1 : 0;
  EXPECT_EQ(wrong, 0U);
  i.start = observed;
}

// At most one a host thread, and one a stream none of whose operations before has a launch.
void expect_few_anchors(const graph::Graph& g) {
  std::vector<std::pair<std::uint32_t, const trace::Track*>> tracks;
  for (NodeId n = 0; n < g.size(); ++n) {
    if (!g.is_anchor(n)) continue;
    EXPECT_EQ(g.launch(n), graph::kNoNode);
    tracks.emplace_back(g.table(n), &g.track(n));
  }
  std::sort(tracks.begin(), tracks.end());
  EXPECT_EQ(std::adjacent_find(tracks.begin(), tracks.end()), tracks.end());
}

// Every edge of every node (or of some): raised above what binds, or taken away where it binds
// alone, it moves the node; so does any shift of the delay that is left over.
void expect_every_edge_matters(graph::Graph& g, std::size_t stride) {
  Impl& i = g.impl();
  graph::Retimer r(g);
  const auto again = [&](NodeId n) {
    r.run_range(n, n + 1);
    const Nanos t = r.starts()[n];
    return t;
  };
  for (NodeId n = 0; n < g.size(); ++n) {
    const Nanos start = i.start[n];
    const std::size_t first = i.offset[n];
    const std::size_t last = i.offset[n + 1];
    if (first == last || n % stride != 0) continue;
    const Nanos binding = start - i.residual[n];
    ASSERT_EQ(again(n), start);
    std::size_t binders = 0;
    for (std::size_t e = first; e < last; ++e) binders += bound(g, e) == binding ? 1 : 0;
    ASSERT_GE(binders, 1U);
    for (std::size_t e = first; e < last; ++e) {
      const std::int32_t lag = i.lag[e];
      const std::uint8_t flags = i.flags[e];
      // An edge that allowed an earlier start binds once its lag is longer by that much.
      const NodeId from = i.from[e];
      const Nanos needed =
          binding + 1 - i.start[from] - (graph::edge_from_start(flags) ? 0 : i.duration[from]);
      if (needed <= std::numeric_limits<std::int32_t>::max()) {
        i.lag[e] = static_cast<std::int32_t>(needed);
        ASSERT_EQ(again(n), start + 1);
        i.lag[e] = lag;
      }
      if (bound(g, e) == binding && binders == 1) {
        i.flags[e] = flags | 0x40U;  // from the start of the other, by seconds before it: no edge
        i.lag[e] = std::numeric_limits<std::int32_t>::min();
        ASSERT_LT(again(n), start);
        i.flags[e] = flags;
        i.lag[e] = lag;
      }
    }
    again(n);
  }
}

// The whole replay fails with any one of them changed.
void expect_replay_fails_with_any_change(graph::Graph& g) {
  Impl& i = g.impl();
  ASSERT_EQ(graph::check_replay(g).max_difference_ns, 0);
  for (NodeId n = 0; n < g.size(); ++n) {
    if (g.is_anchor(n)) continue;
    const graph::PackedNanos residual = i.residual;
    for (const Nanos by : {-1, 1}) {
      i.residual = with(residual, g.size(), n, residual[n] + by);
      ASSERT_GT(graph::check_replay(g).max_difference_ns, 0);
    }
    i.residual = residual;
    const Nanos binding = i.start[n] - residual[n];
    for (std::size_t e = i.offset[n]; e < i.offset[n + 1]; ++e) {
      const std::int32_t lag = i.lag[e];
      const Nanos slack = binding - bound(g, e);
      if (slack > 1'000'000'000 ||
          (i.duration[i.from[e]] + lag < 0 && !graph::edge_from_start(i.flags[e])))
        continue;
      i.lag[e] = lag + static_cast<std::int32_t>(slack) + 1;
      ASSERT_GT(graph::check_replay(g).max_difference_ns, 0);
      i.lag[e] = lag;
    }
  }
  ASSERT_EQ(graph::check_replay(g).max_difference_ns, 0);
}

// What random programs of several GPUs leave in a trace.
trace::EventTable random_trace(unsigned seed) {
  std::mt19937 rng(seed);
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  const char* const apis[] = {
      "cudaLaunchKernel",    "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaDeviceSynchronize",
      "cudaStreamWaitEvent", "cudaEventRecord", "cudaEventSynchronize",  "cudaGraphLaunch"};
  Rows r;
  for (int i = 0; i < 60; ++i) {
    const Nanos start = Nanos{500} * pick(200);
    r.host(pick(3), pick(3) == 0 ? EventKind::kHostOp : EventKind::kApi, start,
           Nanos{500} * pick(40), apis[pick(8)], pick(30));
    r.device = pick(2);
    r.gpu(pick(3), pick(4) == 0 ? EventKind::kCopy : EventKind::kKernel,
          start + Nanos{500} * pick(30), Nanos{500} * pick(30),
          pick(4) == 0 ? "ncclDevKernel_AllReduce" : "k", pick(30));
    r.device = 0;
  }
  return r.table();
}

TEST(GraphExact, RandomTraces) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const trace::EventTable t = random_trace(seed);
    auto g = graph::build(t);
    ASSERT_TRUE(g);
    ASSERT_EQ(graph::check_replay(*g).max_difference_ns, 0) << seed;
    expect_starts_are_no_inputs(*g);
    expect_every_edge_matters(*g, 1);
    if (seed < 20) expect_replay_fails_with_any_change(*g);
    for (NodeId n = 0; n < g->size(); ++n) {
      for (std::size_t e = 0; e < g->edge_count(n); ++e) ASSERT_LT(g->edge(n, e).from, n);
    }
  }
}

void expect_exact(const std::vector<std::string>& files) {
  std::size_t graphs = 0;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const auto text = text_of(file);
    if (!text) continue;
    const auto t = read(*text);
    if (!t) continue;  // no trace at all: the reader's tests
    auto g = graph::build(*t);
    if (!g) continue;
    ++graphs;
    EXPECT_EQ(graph::check_replay(*g).max_difference_ns, 0);
    expect_starts_are_no_inputs(*g);
    expect_few_anchors(*g);
    expect_every_edge_matters(*g, 1);
  }
  EXPECT_GT(graphs, 2U);
}

TEST(GraphExact, BundledTraces) { expect_exact(bundled_traces()); }

TEST(GraphExact, SharedTraces) {
  const std::vector<std::string> files = shared_traces();
  if (files.empty()) GTEST_SKIP() << "the folder of public traces is not there";
  expect_exact(files);
}

}  // namespace
