// Rules that hold host threads, one small trace each.
#include "rows_test.hpp"

namespace {

using namespace ergon;
using namespace ergon::graph_test;

TEST(ThreadOrder, OneThingAfterAnotherAndTheGapsBetweenStay) {
  Rows r;
  r.op(1, 0, 10'000, "a");
  r.op(1, 25'000, 10'000, "b");
  r.op(2, 25'000, 10'000, "elsewhere");
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  const NodeId a = find(g, "a", NodeKind::kHost);
  const NodeId b = find(g, "b", NodeKind::kHost);
  EXPECT_EQ(edges_of(g, Rule::kThreadOrder), (Names{"a -> b (recorded)"}));
  EXPECT_EQ(g.residual(b), 15'000);
  EXPECT_EQ(moves(g, a, 4'000, b), 4'000);
  EXPECT_EQ(moves(g, a, 4'000, find(g, "elsewhere", NodeKind::kHost)), 0);
}

// A kernel of 100 us on stream 7, one of 200 us on stream 20, then a call that returns at `back`.
Rows waiting(const char* call, Nanos back) {
  Rows r;
  r.launched(1, 0, 20, 10'000, 200'000, "long", 1);
  r.launched(1, 5'000, 7, 12'000, 100'000, "short", 2);
  r.call(1, 9'000, 1'000, "cudaEventRecord", 3);
  r.call(1, 20'000, back - 20'000, call, 4);
  return r;
}

TEST(EventSync, ReturnsAfterTheRecordedWork) {
  for (const bool recorded : {true, false}) {
    Rows r = waiting("cudaEventSynchronize", 115'000);
    if (recorded) {
      r.gpu(7, EventKind::kSyncRecord, 20'000, 95'000, "Event Sync", 4,
            R"({"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 3, "stream": 7})");
    }
    const trace::EventTable t = r.table();
    const graph::Graph g = built(t);
    const std::string known = recorded ? "(recorded)" : "(inferred)";
    EXPECT_EQ(edges_of(g, Rule::kEventSync), (Names{"short -> cudaEventSynchronize " + known}));
    const NodeId back = find(g, "cudaEventSynchronize", NodeKind::kSync);
    EXPECT_EQ(moves(g, find(g, "short", NodeKind::kKernel), 30'000, back), 30'000);
    EXPECT_EQ(moves(g, find(g, "long", NodeKind::kKernel), 30'000, back), 0);
  }
}

TEST(StreamSync, ReturnsAfterTheStreamsWork) {
  for (const bool recorded : {true, false}) {
    Rows r = waiting("cudaStreamSynchronize", 115'000);
    if (recorded) {
      r.gpu(7, EventKind::kSyncRecord, 20'000, 95'000, "Stream Sync", 4, R"({"stream": 7})");
    }
    const trace::EventTable t = r.table();
    const graph::Graph g = built(t);
    const std::string known = recorded ? "(recorded)" : "(inferred)";
    EXPECT_EQ(edges_of(g, Rule::kStreamSync), (Names{"short -> cudaStreamSynchronize " + known}));
    const NodeId back = find(g, "cudaStreamSynchronize", NodeKind::kSync);
    EXPECT_EQ(decides(g, back), Rule::kStreamSync);
    EXPECT_EQ(moves(g, find(g, "short", NodeKind::kKernel), 30'000, back), 30'000);
    // a call that only waits takes no time of its own
    EXPECT_EQ(moves(g, find(g, "short", NodeKind::kKernel), -90'000, back), -90'000);
  }
}

TEST(DeviceSync, ReturnsAfterAllStreams) {
  for (const char* call : {"cudaDeviceSynchronize", "cudaFree", "hipDeviceSynchronize"}) {
    Rows r = waiting(call, 215'000);
    const trace::EventTable t = r.table();
    const graph::Graph g = built(t);
    EXPECT_EQ(edges_of(g, Rule::kDeviceSync),
              (Names{std::string("long -> ") + call + " (inferred)",
                     std::string("short -> ") + call + " (inferred)"}));
    const NodeId back = find(g, call, NodeKind::kSync);
    EXPECT_EQ(moves(g, find(g, "long", NodeKind::kKernel), 30'000, back), 30'000);
  }
}

TEST(DeviceSync, OnlyItsOwnGpu) {
  Rows r;
  r.launched(1, 0, 7, 10'000, 100'000, "here", 1);
  r.device = 1;
  r.launched(2, 0, 7, 10'000, 100'000, "there", 2);
  r.device = 0;
  r.call(1, 20'000, 95'000, "cudaDeviceSynchronize", 4);
  const trace::EventTable t = r.table();
  EXPECT_EQ(edges_of(built(t), Rule::kDeviceSync),
            (Names{"here -> cudaDeviceSynchronize (inferred)"}));
}

TEST(EventQuery, NeverWaits) {
  Rows r = waiting("cudaEventQuery", 115'000);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kEventSync), Names{});
}

graph::Graph copying(trace::EventTable& t, const char* name, Nanos start, Nanos duration,
                     const char* call = "cudaMemcpyAsync") {
  Rows r;
  r.call(1, 0, 60'000, call, 1);
  r.gpu(7, EventKind::kCopy, start, duration, name, 1);
  t = r.table();
  return built(t);
}

TEST(BlockingCopy, PageableMemoryHoldsTheCall) {
  trace::EventTable t;
  const graph::Graph g = copying(t, "Memcpy DtoH (Device -> Pageable)", 10'000, 48'000);
  EXPECT_EQ(edges_of(g, Rule::kBlockingCopy),
            (Names{"Memcpy DtoH (Device -> Pageable) -> cudaMemcpyAsync (inferred)"}));
  EXPECT_EQ(moves(g, find(g, "Memcpy DtoH (Device -> Pageable)", NodeKind::kCopy), 30'000,
                  find(g, "cudaMemcpyAsync", NodeKind::kSync)),
            30'000);
}

TEST(BlockingCopy, SynchronousCallsWaitWhateverTheMemory) {
  trace::EventTable t;
  const graph::Graph g = copying(t, "Memcpy DtoH (Device -> Pinned)", 10'000, 48'000, "cudaMemcpy");
  EXPECT_EQ(edges_of(g, Rule::kBlockingCopy).size(), 1U);
}

TEST(BlockingCopy, PinnedMemoryAndCopiesAfterTheReturnDoNot) {
  trace::EventTable t;
  EXPECT_EQ(
      edges_of(copying(t, "Memcpy DtoH (Device -> Pinned)", 10'000, 48'000), Rule::kBlockingCopy),
      Names{});
  const graph::Graph late = copying(t, "Memcpy HtoD (Pageable -> Device)", 61'000, 500);
  EXPECT_EQ(edges_of(late, Rule::kBlockingCopy), Names{});
  EXPECT_TRUE(late.notes().empty());
}

// `queued` launches run far ahead of the GPU; then one takes 400 us, until a kernel has started.
graph::Graph stalled(trace::EventTable& t, Nanos queued) {
  Rows r;
  for (Nanos i = 0; i < queued; ++i)
    r.launched(1, i * 3'000, 7, 10'000 + i * 100'000, 99'000, "k" + std::to_string(i), i);
  const Nanos called = queued * 3'000;
  const Nanos room = 10'000 + (called / 100'000 + 4) * 100'000;  // the start of a kernel
  r.call(1, called, room + 5'000 - called, "cudaLaunchKernel", 9'999);
  r.kernel(7, 10'000 + queued * 100'000, 99'000, "last", 9'999);
  t = r.table();
  return built(t);
}

TEST(QueueFull, ALaunchWaitsForAnOperationToStart) {
  trace::EventTable t;
  const graph::Graph g = stalled(t, 600);
  const Names edges = edges_of(g, Rule::kQueueFull);
  ASSERT_EQ(edges, (Names{"k22 -> cudaLaunchKernel (inferred)"}));
  // twice as long kernels: the host is held longer
  EXPECT_EQ(moves(g, find(g, "k3", NodeKind::kKernel), 100'000,
                  find(g, "cudaLaunchKernel", NodeKind::kSync)),
            100'000);
}

TEST(QueueFull, NotWithFewOperationsQueued) {
  trace::EventTable t;
  EXPECT_EQ(edges_of(stalled(t, 200), Rule::kQueueFull), Names{});
}

TEST(ThreadHandOff, BackwardThreadAndItsCaller) {
  Rows r;
  r.op(1, 0, 1'000'000, "forward");
  r.op(2, 1'050'000, 4'000'000, "backward");  // wakes when the caller has gone idle
  r.op(1, 5'080'000, 500'000, "step");        // and the caller when it is done
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(edges_of(g, Rule::kThreadHandOff),
            (Names{"backward -> step (inferred)", "forward -> backward (inferred)"}));
  EXPECT_EQ(
      moves(g, find(g, "backward", NodeKind::kHost), 100'000, find(g, "step", NodeKind::kHost)),
      100'000);
}

TEST(ThreadHandOff, NotBetweenThreadsThatWorkAtTheSameTime) {
  Rows r;
  for (Nanos i = 0; i < 50; ++i) {
    r.op(1, i * 100'000, 95'000, "a" + std::to_string(i));
    r.op(2, 40'000 + i * 100'000, 95'000, "b" + std::to_string(i));
  }
  const trace::EventTable t = r.table();
  EXPECT_EQ(edges_of(built(t), Rule::kThreadHandOff), Names{});
}

}  // namespace
