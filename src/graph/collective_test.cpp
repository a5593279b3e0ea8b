// Collectives of several GPUs: who belongs together, and what waits for whom.
#include "rows_test.hpp"

namespace {

using namespace ergon;
using namespace ergon::graph_test;

constexpr const char* kName = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)";
constexpr const char* kGroup =
    R"({"Process Group Name": "0", "Process Group Ranks": "[0, 1]", "In msg nelems": 4096})";

// One GPU's part: `before` of computing on stream 7, then a collective on stream 20 that starts at
// `start` and ends at `end`, then a kernel that waits for it.
void rank(Rows& r, int gpu, Nanos from, Nanos start, Nanos end, Nanos first,
          const std::string& detail = {}, std::int64_t sequence = -1) {
  r.process = 1 + gpu;
  r.device = gpu;
  const std::string g = std::to_string(gpu);
  r.launched(1, from, 7, from + 5'000, start - from - 6'000, "compute" + g, first);
  r.call(1, from + 3'000, 500, "cudaEventRecord", first + 1);
  r.call(1, from + 4'000, 500, "cudaStreamWaitEvent", first + 2);
  r.call(1, from + 6'000, 2'000, "cudaLaunchKernel", first + 3);
  r.gpu(20, EventKind::kKernel, start, end - start, kName, first + 3, detail, sequence);
  r.call(1, from + 9'000, 500, "cudaEventRecord", first + 4);
  r.call(1, from + 10'000, 500, "cudaStreamWaitEvent", first + 5);
  r.launched(1, from + 12'000, 7, end + 1'000, 50'000, "use" + g, first + 6);
}

// GPU 0 arrives at 100 us, GPU 1 at 300 us; the transfer takes 50 us.
trace::EventTable two_gpus(const std::string& detail = {}, std::int64_t sequence = -1) {
  Rows r;
  rank(r, 0, 0, 100'000, 350'000, 1, detail, sequence);
  rank(r, 1, 0, 300'000, 350'100, 101, detail, sequence);
  return r.table();
}

TEST(Collective, EachWaitsForTheLast) {
  const trace::EventTable t = two_gpus();
  const graph::Graph g = built(t);
  const std::string n = kName;
  EXPECT_EQ(edges_of(g, Rule::kCollective),
            (Names{n + " -> " + n + " (inferred)", n + " -> " + n + " (inferred)",
                   n + " -> " + n + " (recorded)", n + " -> " + n + " (recorded)"}));
  const NodeId use0 = find(g, "use0", NodeKind::kKernel);
  const NodeId use1 = find(g, "use1", NodeKind::kKernel);
  const NodeId compute0 = find(g, "compute0", NodeKind::kKernel);
  const NodeId compute1 = find(g, "compute1", NodeKind::kKernel);
  // the late GPU holds both; the early one has 200 us to spare
  EXPECT_EQ(moves(g, compute1, 40'000, use0), 40'000);
  EXPECT_EQ(moves(g, compute1, 40'000, use1), 40'000);
  EXPECT_EQ(moves(g, compute0, 199'000, use1), 0);
  EXPECT_EQ(moves(g, compute0, 240'000, use1), 40'000);
  EXPECT_EQ(moves(g, compute1, -40'000, use0), -40'000);
}

TEST(Collective, ArrivalAndTransfer) {
  const trace::EventTable t = two_gpus();
  const graph::Graph g = built(t);
  const NodeId arrival = find(g, kName, NodeKind::kCollective);
  const NodeId transfer = g.transfer(arrival);
  ASSERT_NE(transfer, arrival);
  EXPECT_EQ(g.arrival(transfer), arrival);
  EXPECT_EQ(g.start(arrival), 100'000);
  EXPECT_EQ(g.duration(arrival), 0);
  EXPECT_EQ(g.start(transfer), 300'000);
  EXPECT_EQ(g.duration(transfer), 50'000);
  EXPECT_EQ(g.launch(transfer), g.launch(arrival));
  EXPECT_EQ(g.counts().collectives, 2U);
  // a time added to the collective is added once
  graph::Retimer r(g);
  const auto rule = graph::WhatIf::parse("kernel=~ncclDev:+10us");
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->apply(g, r.durations()), 2U);
  r.run();
  EXPECT_EQ(
      r.starts()[find(g, "use0", NodeKind::kKernel)] - g.start(find(g, "use0", NodeKind::kKernel)),
      10'000);
  // a member that waits is not idle
  for (const graph::IdleCause& c : graph::idle_gaps(g)) EXPECT_LT(c.time_ns, 60'000);
}

TEST(Collective, ByProcessGroupAndSequenceNumber) {
  const trace::EventTable t = two_gpus(kGroup, 7);
  const graph::Graph g = built(t);
  const Names edges = edges_of(g, Rule::kCollective);
  EXPECT_EQ(edges.size(), 4U);
  for (const std::string& e : edges) EXPECT_TRUE(e.ends_with("(recorded)")) << e;
}

TEST(Collective, NotOfOtherGroupsOrSizes) {
  for (const char* other :
       {R"({"Process Group Name": "1", "Process Group Ranks": "[0, 1]", "In msg nelems": 4096})",
        R"({"Process Group Name": "0", "Process Group Ranks": "[1, 2]", "In msg nelems": 4096})",
        R"({"Process Group Name": "0", "Process Group Ranks": "[0, 1]", "In msg nelems": 8192})"}) {
    Rows r;
    rank(r, 0, 0, 100'000, 350'000, 1, kGroup);
    rank(r, 1, 0, 300'000, 350'100, 101, other);
    const trace::EventTable t = r.table();
    EXPECT_EQ(edges_of(built(t), Rule::kCollective), Names{});
  }
}

TEST(Collective, NotThoseThatDoNotEndTogether) {
  Rows r;
  rank(r, 0, 0, 100'000, 350'000, 1, kGroup, 7);
  rank(r, 1, 0, 300'000, 500'000, 101, kGroup, 7);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kCollective), Names{});
  ASSERT_EQ(g.notes().size(), 1U);
  EXPECT_EQ(g.notes().front().code, "collective_not_together");
}

TEST(Collective, TracesThatBeginAtDifferentOnes) {
  Rows r;
  rank(r, 0, 0, 100'000, 150'000, 1);  // GPU 1's profile begins after this one
  for (Nanos i = 1; i < 4; ++i) {
    rank(r, 0, i * 1'000'000, i * 1'000'000 + 100'000, i * 1'000'000 + 350'000, 1 + 10 * i);
    rank(r, 1, i * 1'000'000, i * 1'000'000 + 300'000, i * 1'000'000 + 350'100, 101 + 10 * i);
  }
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kCollective).size(), 12U);
  const NodeId first = find(g, kName, NodeKind::kCollective);
  EXPECT_EQ(g.transfer(first), first);
  ASSERT_EQ(g.notes().size(), 1U);
  EXPECT_EQ(g.notes().front().count, 1U);
}

TEST(Collective, OfSeveralFiles) {
  std::vector<trace::EventTable> tables;
  tables.reserve(20);
  for (Nanos gpu = 0; gpu < 20; ++gpu) {  // many members: one gathers them for all
    Rows r;
    rank(r, static_cast<int>(gpu), 0, 100'000 + gpu * 10'000, 400'000 + gpu * 10, 1);
    tables.push_back(r.table());
    tables.back().base_ns = 1'000'000 - gpu * 1'000;  // each file counts from its own time
  }
  for (Nanos gpu = 0; gpu < 20; ++gpu) {
    for (std::size_t e = 0; e < tables.back().size(); ++e)
      tables[static_cast<std::size_t>(gpu)].start_ns[e] += gpu * 1'000;
  }
  std::vector<const trace::EventTable*> views;
  views.reserve(tables.size());
  for (const trace::EventTable& t : tables) views.push_back(&t);
  const auto g = graph::build(views);
  ASSERT_TRUE(g);
  EXPECT_EQ(graph::check_replay(*g).max_difference_ns, 0);
  EXPECT_EQ(edges_of(*g, Rule::kCollective).size(), 20U + 19U + 19U);
  const NodeId last = find(*g, "compute19", NodeKind::kKernel);
  for (Nanos gpu = 0; gpu < 20; ++gpu) {
    const NodeId use = find(*g, "use" + std::to_string(gpu), NodeKind::kKernel);
    EXPECT_EQ(moves(*g, last, 5'000, use), 5'000);
    EXPECT_EQ(moves(*g, find(*g, "compute3", NodeKind::kKernel), 100'000, use), 0);
  }
}

}  // namespace
