// The graph as a whole: names of calls, exact replay, critical path, slack, what-if.
#include <random>

#include "api_names.hpp"
#include "packed_nanos.hpp"
#include "rows_test.hpp"

namespace {

using namespace ergon;
using namespace ergon::graph_test;

// Two kernels from one thread; the second waits for the first; a synchronisation waits for both.
trace::EventTable small() {
  Rows r;
  r.host(1, EventKind::kHostOp, 0, 30'000, "aten::mm");
  r.host(1, EventKind::kApi, 2'000, 6'000, "cudaLaunchKernel", 1);
  r.host(1, EventKind::kApi, 12'000, 6'000, "cudaLaunchKernel", 2);
  r.host(1, EventKind::kApi, 40'000, 70'000, "cudaDeviceSynchronize", 3);
  r.gpu(7, EventKind::kKernel, 9'000, 50'000, "gemm", 1);
  r.gpu(7, EventKind::kKernel, 60'000, 45'000, "relu", 2);
  return r.table();
}

TEST(ApiNames, VersionsAndVendors) {
  EXPECT_EQ(graph::classify_api("cudaLaunchKernelExC_v11060"), graph::ApiClass::kLaunch);
  EXPECT_EQ(graph::classify_api("hipExtModuleLaunchKernel"), graph::ApiClass::kLaunch);
  EXPECT_EQ(graph::classify_api("cuStreamSynchronize_ptsz"), graph::ApiClass::kStreamSync);
  EXPECT_EQ(graph::classify_api("hipGraphLaunch"), graph::ApiClass::kGraphLaunch);
  EXPECT_EQ(graph::classify_api("cudaLaunchHostFunc"), graph::ApiClass::kOther);
  EXPECT_EQ(graph::classify_api("cudaMemcpyAsync"), graph::ApiClass::kCopyAsync);
  EXPECT_EQ(graph::classify_api("hipMemcpyWithStream"), graph::ApiClass::kCopy);
}

TEST(PackedNanos, WideBlocksKeepTheirValues) {
  graph::PackedNanos p;
  std::vector<Nanos> values;
  values.reserve(1000);
  std::mt19937_64 rng(3);
  for (int i = 0; i < 1000; ++i)
    values.push_back(static_cast<Nanos>(rng() % (i % 200 < 100 ? 1000U : 1ULL << 40U)));
  for (const Nanos v : values) p.push_back(v);
  p.finish();
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(p[i], values[i]);
}

TEST(Graph, ReplaysAndWaitsForTheGpu) {
  const trace::EventTable t = small();
  const auto g = graph::build(t);
  ASSERT_TRUE(g);
  EXPECT_EQ(graph::check_replay(*g).max_difference_ns, 0);
  EXPECT_EQ(g->counts().kernels, 2U);
  const NodeId back = find(*g, "cudaDeviceSynchronize", graph::NodeKind::kSync);
  ASSERT_NE(back, graph::kNoNode);
  const auto binding = graph::binding_edge(*g, back);
  ASSERT_TRUE(binding);
  EXPECT_EQ(g->edge(back, *binding).rule, graph::Rule::kDeviceSync);
  EXPECT_EQ(g->edge(back, *binding).known, graph::Known::kInferred);
  // twice the kernels: the host waits that much longer
  graph::Retimer r(*g);
  const Nanos before = r.run();
  const auto rule = graph::WhatIf::parse("kernel=~.*:x2");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->apply(*g, r.durations()), 2U);
  EXPECT_EQ(r.run() - before, 95'000);
}

TEST(Graph, CriticalPathSumsToTheSpan) {
  const trace::EventTable t = small();
  const auto g = graph::build(t);
  ASSERT_TRUE(g);
  const graph::CriticalPath p = graph::critical_path(*g, graph::Operators(*g));
  EXPECT_EQ(p.span_ns, 110'000);
  EXPECT_EQ(p.work_ns + p.latency_ns + p.host_gap_ns + p.unexplained_ns, p.span_ns);
  for (const auto* list : {&p.by_kind, &p.by_kernel, &p.by_operator, &p.by_thread}) {
    Nanos sum = 0;
    for (const graph::Share& s : *list) sum += s.time_ns;
    EXPECT_EQ(sum, p.span_ns);
  }
}

TEST(Graph, AnyEdgeOrDelayThatIsShiftedIsSeen) {
  const trace::EventTable t = small();
  const auto whole = graph::build(t);
  ASSERT_TRUE(whole);
  // what binds must matter: take away each kernel's or call's time and the replay differs
  for (NodeId n = 0; n < whole->size(); ++n) {
    if (whole->duration(n) == 0) continue;
    graph::Retimer r(*whole);
    r.durations()[n] += 1'000'000;
    r.run();
    bool moved = false;
    for (NodeId m = 0; m < whole->size(); ++m) moved = moved || r.starts()[m] != whole->start(m);
    const bool last = whole->start(n) + whole->duration(n) == whole->span_end();
    EXPECT_TRUE(moved || last) << whole->name(n);
  }
}

TEST(Graph, SlackIsWhatANodeCanTakeLonger) {
  const trace::EventTable t = small();
  const auto g = graph::build(t);
  ASSERT_TRUE(g);
  const graph::Slack s = graph::slack(*g);
  for (NodeId n = 0; n < g->size(); ++n) {
    graph::Retimer r(*g);
    const Nanos span = r.run();
    r.durations()[n] += s.total_ns[n];
    EXPECT_EQ(r.run(), span) << g->name(n);
    r.durations()[n] += 1;
    EXPECT_EQ(r.run(), span + 1) << g->name(n);
    r.reset_durations();
    r.durations()[n] += s.free_ns[n];
    r.run();
    for (NodeId m = 0; m < g->size(); ++m) EXPECT_EQ(r.starts()[m], g->start(m));
  }
}

TEST(Graph, StreamOverlapStillFollowsThePredecessor) {
  Rows r;
  r.host(1, EventKind::kApi, 0, 5'000, "cudaLaunchKernel", 1);
  r.host(1, EventKind::kApi, 6'000, 5'000, "cudaLaunchKernel", 2);
  r.gpu(7, EventKind::kKernel, 8'000, 50'000, "first", 1);
  r.gpu(7, EventKind::kKernel, 56'500, 20'000, "second", 2);  // 1.5 us before the first has ended
  const trace::EventTable t = r.table();
  const auto g = graph::build(t);
  ASSERT_TRUE(g);
  EXPECT_EQ(graph::check_replay(*g).max_difference_ns, 0);
  graph::Retimer timed(*g);
  timed.durations()[find(*g, "first", graph::NodeKind::kKernel)] *= 2;
  timed.run();
  EXPECT_EQ(timed.starts()[find(*g, "second", graph::NodeKind::kKernel)], 106'500);
}

TEST(Graph, OneLaunchOfManyKernels) {
  Rows r;
  r.host(1, EventKind::kApi, 0, 5'000, "cudaGraphLaunch", 9);
  for (int i = 0; i < 5; ++i) r.gpu(7, EventKind::kKernel, 10'000 + i * 3'000, 2'500, "k", 9);
  const trace::EventTable t = r.table();
  const auto g = graph::build(t);
  ASSERT_TRUE(g);
  const graph::Replay replay = graph::check_replay(*g);
  EXPECT_EQ(replay.max_difference_ns, 0);
  EXPECT_EQ(replay.unexplained_share, 0);
}

TEST(WhatIf, NodesOfSeveralRulesAreTouchedOnce) {
  const trace::EventTable t = small();
  const auto g = graph::build(t);
  ASSERT_TRUE(g);
  graph::Retimer r(*g);
  std::vector<bool> touched(g->size(), false);
  for (const auto* text : {"kernel=~gemm:x2", "kernel=~.*:+10us"}) {
    const auto rule = graph::WhatIf::parse(text);
    ASSERT_TRUE(rule);
    EXPECT_GT(rule->apply(*g, r.durations(), touched), 0U);
  }
  EXPECT_EQ(std::count(touched.begin(), touched.end(), true), 2);
}

// Two GPUs of one trace or of two: by device where that tells them apart, selected or not.
TEST(Graph, GpusAreNumberedByDeviceWhereThatIsClear) {
  const auto of = [](int device, std::int64_t rank) {
    Rows r;
    r.device = device;
    r.host(1, EventKind::kApi, 2'000, 6'000, "cudaLaunchKernel", 1);
    r.gpu(7, EventKind::kKernel, 9'000, 50'000, "gemm", 1);
    trace::EventTable table = r.table();
    table.distributed.rank = rank;
    return table;
  };
  const trace::EventTable five = of(5, 5);
  const trace::EventTable two = of(2, 2);
  const trace::EventTable other_five = of(5, 13);
  const auto numbers = [](const std::vector<const trace::EventTable*>& tables,
                          std::optional<std::int32_t> only) {
    const auto g = graph::build(tables, {.gpu = only});
    std::vector<std::int32_t> list;
    for (const auto& gpu : g->gpus()) list.push_back(gpu.number);
    return list;
  };
  using List = std::vector<std::int32_t>;
  EXPECT_EQ(numbers({&five}, {}), List{5});
  EXPECT_EQ(numbers({&five, &two}, {}), (List{5, 2}));
  EXPECT_EQ(numbers({&five, &two}, 2), List{2});
  EXPECT_EQ(numbers({&five, &other_five}, {}), (List{0, 1}));
  EXPECT_EQ(numbers({&five, &other_five}, 1), List{1});
  const std::vector<const trace::EventTable*> tables{&five, &other_five};
  EXPECT_EQ(graph::gpus_of(tables)[1].rank, 13);
  EXPECT_EQ(graph::labels_of(tables), (std::vector<std::string>{"rank 5", "rank 13"}));
}

TEST(WhatIf, RefusesWhatItCannotRead) {
  for (const char* text : {"kernel", "gpu=~x:x2", "kernel=~x", "kernel=~(:x2", "kernel=~x:2",
                           "kernel=~x:+5", "kernel=~x:xnan"}) {
    const auto rule = graph::WhatIf::parse(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_EQ(rule.error().code, Errc::kInvalidArgument);
  }
  EXPECT_TRUE(graph::WhatIf::parse("host=~aten::mm:-5us"));
}

// Random traces: whatever they hold, the graph replays them, and its order is topological.
TEST(Graph, RandomTracesReplay) {
  std::mt19937 rng(11);
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  const char* const apis[] = {
      "cudaLaunchKernel",    "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaDeviceSynchronize",
      "cudaStreamWaitEvent", "cudaEventRecord", "cudaEventSynchronize",  "cudaGraphLaunch"};
  for (int round = 0; round < 200; ++round) {
    Rows r;
    for (int i = 0; i < 60; ++i) {
      const Nanos start = Nanos{500} * pick(200);
      r.host(pick(3), pick(3) == 0 ? EventKind::kHostOp : EventKind::kApi, start,
             Nanos{500} * pick(40), apis[pick(8)], pick(30));
      r.gpu(pick(3), pick(4) == 0 ? EventKind::kCopy : EventKind::kKernel,
            start + Nanos{500} * pick(30), Nanos{500} * pick(30), "k", pick(30));
    }
    const trace::EventTable t = r.table();
    const auto g = graph::build(t);
    ASSERT_TRUE(g);
    EXPECT_EQ(graph::check_replay(*g).max_difference_ns, 0);
    for (NodeId n = 0; n < g->size(); ++n) {
      for (std::size_t e = 0; e < g->edge_count(n); ++e) EXPECT_LT(g->edge(n, e).from, n);
    }
  }
}

}  // namespace
