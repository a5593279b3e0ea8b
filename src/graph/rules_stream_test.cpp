// Rules between GPU operations, one small trace each.
#include "rows_test.hpp"

namespace {

using namespace ergon;
using namespace ergon::graph_test;

constexpr const char* kBig = R"({"grid": [2000, 1, 1], "block": [256, 1, 1]})";

TEST(Launch, KernelFollowsItsCallByTheLaunchLatency) {
  Rows r;
  for (Nanos i = 0; i < 30; ++i)
    r.launched(1, i * 100'000, 7, i * 100'000 + 6'000 + i * 10, 20'000, "k", i);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kLaunch).size(), 30U);
  const NodeId call = find(g, "cudaLaunchKernel", NodeKind::kApi, 10);
  const NodeId kernel = find(g, "k", NodeKind::kKernel, 10);
  EXPECT_EQ(g.launch(kernel), call);
  EXPECT_EQ(decides(g, kernel), Rule::kLaunch);
  EXPECT_EQ(moves(g, find(g, "cudaLaunchKernel", NodeKind::kApi, 9), 50'000, kernel), 50'000);
  // from the start of the call: a longer call does not delay its own kernel
  EXPECT_EQ(moves(g, call, 50'000, kernel), 0);
}

TEST(Launch, ALongCallLaunchesTowardsItsEnd) {
  Rows r;
  for (Nanos i = 0; i < 30; ++i) r.launched(1, i * 100'000, 7, i * 100'000 + 6'000, 20'000, "k", i);
  r.call(1, 4'000'000, 2'000'000, "cudaLaunchKernel", 99);  // loads a module first
  r.kernel(7, 6'003'000, 20'000, "late", 99);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  const NodeId call = find(g, "cudaLaunchKernel", NodeKind::kApi, 30);
  EXPECT_EQ(moves(g, call, 1'000'000, find(g, "late", NodeKind::kKernel)), 1'000'000);
}

// The wait is the event's, not the launch's: the copies start as soon after their calls as kernels.
TEST(Launch, LatencyIsNotLearntFromWhatWaitedForAnEvent) {
  Rows r;
  for (Nanos i = 0; i < 20; ++i) {
    const Nanos t = i * 300'000;
    r.launched(1, t, 7, t + 10'000, 100'000, "k", 10 * i);
    r.call(1, t + 6'000, 1'000, "cudaEventRecord", 10 * i + 1);
    r.call(1, t + 8'000, 1'000, "cudaStreamWaitEvent", 10 * i + 2);
    r.call(1, t + 10'000, 5'000, "cudaMemcpyAsync", 10 * i + 3);
    r.gpu(20, EventKind::kCopy, t + 112'000, 20'000, "Memcpy DtoH (Device -> Pinned)", 10 * i + 3);
    r.call(1, t + 16'000, 118'000, "cudaDeviceSynchronize", 10 * i + 4);
  }
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kEventWait).size(), 20U);
  const NodeId copy = find(g, "Memcpy DtoH (Device -> Pinned)", NodeKind::kCopy, 5);
  EXPECT_EQ(decides(g, copy), Rule::kEventWait);
  EXPECT_EQ(moves(g, find(g, "k", NodeKind::kKernel, 5), -50'000, copy), -50'000);
}

TEST(GraphLaunch, OneCallStartsTheFirstAndStreamOrderTheRest) {
  Rows r;
  r.call(1, 0, 1'000, "cudaMalloc");
  r.call(1, 5'000, 5'000, "cudaGraphLaunch", 9);
  for (Nanos i = 0; i < 5; ++i) r.kernel(7, 20'000 + i * 3'000, 2'500, "k" + std::to_string(i), 9);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kGraphLaunch).size(), 5U);
  const NodeId last = find(g, "k4", NodeKind::kKernel);
  EXPECT_EQ(decides(g, last), Rule::kStreamOrder);
  EXPECT_EQ(moves(g, find(g, "k0", NodeKind::kKernel), 7'000, last), 7'000);
  EXPECT_EQ(moves(g, find(g, "cudaMalloc", NodeKind::kApi), 7'000, last), 7'000);
}

TEST(GraphLaunch, BranchesDoNotFollowEachOther) {
  Rows r;
  r.call(1, 0, 5'000, "cudaGraphLaunch", 9);
  r.kernel(7, 10'000, 100'000, "left", 9);
  r.kernel(7, 12'000, 100'000, "right", 9);  // nearly all of it beside the other
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  const NodeId right = find(g, "right", NodeKind::kKernel);
  EXPECT_EQ(moves(g, find(g, "left", NodeKind::kKernel), 50'000, right), 0);
}

TEST(StreamOrder, OneQueueForEachProcessDeviceContextAndStream) {
  Rows r;
  const auto pair = [&](const char* first, const char* second, int correlation) {
    r.launched(1, 0, 7, 10'000, 50'000, first, correlation);
    r.launched(1, 3'000, 7, 61'000, 50'000, second, correlation + 1);
  };
  pair("a1", "a2", 1);
  r.context = 2;
  pair("b1", "b2", 11);
  r.device = 1;
  pair("c1", "c2", 21);
  r.process = 2;
  pair("d1", "d2", 31);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kStreamOrder), (Names{"a1 -> a2 (recorded)", "b1 -> b2 (recorded)",
                                                    "c1 -> c2 (recorded)", "d1 -> d2 (recorded)"}));
  const NodeId a2 = find(g, "a2", NodeKind::kKernel);
  EXPECT_EQ(decides(g, a2), Rule::kStreamOrder);
  EXPECT_EQ(moves(g, find(g, "a1", NodeKind::kKernel), 5'000, a2), 5'000);
}

TEST(StreamOverlap, TheHeadOfAKernelUnderTheTailOfTheLast) {
  Rows r;
  r.launched(1, 0, 7, 8'000, 50'000, "first", 1);
  r.launched(1, 6'000, 7, 56'500, 20'000, "second", 2);  // 1.5 us before the first has ended
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kStreamOverlap), (Names{"first -> second (inferred)"}));
  EXPECT_EQ(
      moves(g, find(g, "first", NodeKind::kKernel), 50'000, find(g, "second", NodeKind::kKernel)),
      50'000);
}

// Stream 20 waits for what stream 7 was given before the record.
Rows event_wait(Nanos start = 102'000) {
  Rows r;
  r.launched(1, 0, 7, 10'000, 90'000, "produce", 1);
  r.call(1, 10'000, 1'000, "cudaEventRecordWithFlags", 2);
  r.launched(1, 15'000, 7, 101'000, 90'000, "later", 3);
  r.call(1, 20'000, 1'000, "cudaStreamWaitEvent", 4);
  r.launched(1, 30'000, 20, start, 10'000, "consume", 5);
  return r;
}
constexpr const char* kWaitRecord =
    R"({"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 2, "stream": 20})";

TEST(EventWait, AsRecorded) {
  Rows r = event_wait();
  r.gpu(20, EventKind::kSyncRecord, 21'000, 0, "Stream Wait Event", 4, kWaitRecord);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kEventWait), (Names{"produce -> consume (recorded)"}));
  const NodeId consume = find(g, "consume", NodeKind::kKernel);
  EXPECT_EQ(decides(g, consume), Rule::kEventWait);
  EXPECT_EQ(moves(g, find(g, "produce", NodeKind::kKernel), 30'000, consume), 30'000);
  EXPECT_EQ(moves(g, find(g, "later", NodeKind::kKernel), 30'000, consume), 0);
}

TEST(EventWait, FromTheOrderOfTheCalls) {
  Rows r = event_wait(140'000);  // no coincidence gives it away
  r.gpu(20, EventKind::kSyncRecord, 21'000, 0, "Stream Wait Event", 4, kWaitRecord);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t, {.use_sync_records = false});
  EXPECT_EQ(edges_of(g, Rule::kEventWait), (Names{"produce -> consume (inferred)"}));
}

TEST(EventWait, NotForWorkThatEndedLater) {
  Rows r;
  r.launched(1, 0, 7, 10'000, 900'000, "busy", 1);
  r.call(1, 10'000, 1'000, "cudaEventRecord", 2);
  r.call(1, 20'000, 1'000, "cudaStreamWaitEvent", 4);
  r.launched(1, 30'000, 20, 40'000, 10'000, "free", 5);
  const trace::EventTable t = r.table();
  EXPECT_EQ(edges_of(built(t), Rule::kEventWait), Names{});
}

// The default stream (7) and a blocking one in turn, two kernels each, launched early and held by
// the other.
Rows blocking_streams(const char* api = "cudaLaunchKernel") {
  Rows r;
  Nanos end = 20'000;
  for (Nanos i = 0; i < 16; ++i) {
    const int stream = i / 2 % 2 == 0 ? 7 : 13;
    r.call(1, i * 4'000, 2'000, api, i);
    r.kernel(stream, end + 1'000, 100'000, "k" + std::to_string(i), i);
    end += 101'000;
  }
  return r;
}

TEST(DefaultStream, WhereTheTraceShowsIt) {
  Rows r = blocking_streams();
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  ASSERT_EQ(edges_of(g, Rule::kDefaultStream).size(), 7U);
  EXPECT_EQ(edges_of(g, Rule::kDefaultStream).front(), "k1 -> k2 (inferred)");
  EXPECT_EQ(edges_of(g, Rule::kSharedGpu), Names{});
  const NodeId last = find(g, "k14", NodeKind::kKernel);
  EXPECT_EQ(decides(g, last), Rule::kDefaultStream);
  EXPECT_EQ(moves(g, find(g, "k0", NodeKind::kKernel), 50'000, last), 50'000);
}

TEST(DefaultStream, NotWhereOneOperationRanAgainstIt) {
  Rows r = blocking_streams();
  r.launched(1, 100'000, 7, 2'000'000, 100'000, "long", 50);
  r.launched(1, 110'000, 13, 2'010'000, 10'000, "beside", 51);
  const trace::EventTable t = r.table();
  EXPECT_EQ(edges_of(built(t), Rule::kDefaultStream), Names{});
}

TEST(DefaultStream, NotForPerThreadDefaultStreams) {
  Rows r = blocking_streams("cudaLaunchKernel_ptsz");
  const trace::EventTable t = r.table();
  EXPECT_EQ(edges_of(built(t), Rule::kDefaultStream), Names{});
}

TEST(DefaultStream, NotAfterExplicitWaits) {
  Rows r = blocking_streams();
  for (Nanos i = 1; i < 16; ++i) r.call(1, i * 4'000 - 1'500, 500, "cudaStreamWaitEvent", 100 + i);
  const trace::EventTable t = r.table();
  EXPECT_EQ(edges_of(built(t), Rule::kDefaultStream), Names{});
}

TEST(SharedGpu, ReadyWorkStartsWhenTheGpuHasRoom) {
  for (const char* detail : {kBig, ""}) {
    Rows r;
    r.call(1, 0, 2'000, "cudaLaunchKernel", 1);
    r.kernel(20, 10'000, 500'000, "full", 1, detail);
    r.launched(1, 5'000, 21, 511'000, 10'000, "ready", 2);
    const trace::EventTable t = r.table();
    const graph::Graph g = built(t);
    EXPECT_EQ(edges_of(g, Rule::kSharedGpu),
              (Names{*detail != 0 ? "full -> ready (inferred)" : "full -> ready (assumed)"}));
    EXPECT_EQ(
        moves(g, find(g, "full", NodeKind::kKernel), 50'000, find(g, "ready", NodeKind::kKernel)),
        50'000);
  }
}

}  // namespace
