// Damaged traces: never a failure, every repair counted, and the replay still exact.
#include <cstdint>

#include "ergon/io.hpp"
#include "rows_test.hpp"

namespace {

using namespace ergon;
using namespace ergon::graph_test;

std::uint64_t noted(const graph::Graph& g, std::string_view code) {
  for (const graph::BuildNote& n : g.notes()) {
    if (n.code == code) return n.count;
  }
  return 0;
}

TEST(BadInput, AKernelBeforeItsLaunch) {
  Rows r;
  r.launched(1, 0, 7, 10'000, 20'000, "sound", 1);
  r.launched(1, 100'000, 7, 50'000, 20'000, "early", 2);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(noted(g, "operation_before_launch"), 1U);
  EXPECT_EQ(g.launch(find(g, "early", NodeKind::kKernel)), graph::kNoNode);
  EXPECT_NE(g.launch(find(g, "sound", NodeKind::kKernel)), graph::kNoNode);
}

TEST(BadInput, OneCorrelationIdForManyCalls) {
  Rows r;
  for (Nanos i = 0; i < 200; ++i)
    r.launched(1, i * 50'000, 7, i * 50'000 + 6'000, 10'000, "k", i < 100 ? 5 : i);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  // a hundred calls of one id name nothing; the others keep theirs
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(g.launch(find(g, "k", NodeKind::kKernel, i)) != graph::kNoNode, i >= 100);
  }
}

TEST(BadInput, TwoCallsOfOneIdTheLatestBeforeTheKernelCounts) {
  Rows r;
  r.call(1, 0, 2'000, "cudaLaunchKernel", 1);
  r.call(1, 100'000, 2'000, "cudaLaunchKernel", 1);
  r.call(1, 200'000, 2'000, "cudaLaunchKernel", 1);
  r.kernel(7, 110'000, 20'000, "k", 1);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(g.start(g.launch(find(g, "k", NodeKind::kKernel))), 100'000);
}

TEST(BadInput, SameIdsInTwoProcesses) {
  Rows r;
  r.launched(1, 0, 7, 10'000, 20'000, "mine", 1);
  r.process = 2;
  r.context = 2;
  r.launched(1, 3'000, 7, 15'000, 20'000, "other", 1);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(g.start(g.launch(find(g, "mine", NodeKind::kKernel))), 0);
  EXPECT_EQ(g.start(g.launch(find(g, "other", NodeKind::kKernel))), 3'000);
}

// Two processes that run the same program with the same ids, one GPU each, in one file, where a GPU
// row names no process. `late`: how far the second is behind.
struct TwoRanks {
  trace::EventTable table;
  std::uint64_t unclear = 0;
  std::uint64_t right = 0, wrong = 0;
  std::uint64_t streams = 0;
};
TwoRanks two_ranks(Nanos late, bool one_gpu = false, std::int64_t other_ids = 0) {
  Rows r;
  for (const int rank : {0, 1}) {
    for (Nanos i = 0; i < 20; ++i) {
      const Nanos called = i * 100'000 + rank * late;
      const std::string name = rank == 0 ? "first" : "second";
      r.process = rank + 1;
      r.call(1, called, 2'000, "cudaLaunchKernel", i + rank * other_ids);
      r.call(1, called + 3'000, 60'000, "cudaDeviceSynchronize", 100 + i);
      r.process = -1;
      r.device = one_gpu ? 0 : rank;
      r.kernel(7, called + 6'000 + i * 10, 40'000, name, i + rank * other_ids);
    }
  }
  TwoRanks out{r.table()};
  const graph::Graph g = built(out.table);
  out.unclear = noted(g, "process_unclear");
  out.streams = g.counts().streams;
  for (NodeId n = 0; n < g.size(); ++n) {
    if (g.kind(n) != NodeKind::kKernel || g.launch(n) == graph::kNoNode) continue;
    const auto process = g.track(g.launch(n)).process;
    ++((process == 1) == (g.name(n) == "first") ? out.right : out.wrong);
  }
  return out;
}

TEST(BadInput, SameIdsInTwoProcessesThatTheGpuRowsDoNotName) {
  for (const Nanos late : {37'000, -37'000, 1'000'000, -3'000'000}) {
    const TwoRanks found = two_ranks(late);
    EXPECT_EQ(found.right, 40U) << late;
    EXPECT_EQ(found.unclear, 0U) << late;
  }
  // Nothing tells them apart, but each has a GPU of its own.
  for (const Nanos late : {0, 1'000}) {
    const TwoRanks found = two_ranks(late);
    EXPECT_EQ(found.right, 40U) << late;
    EXPECT_EQ(found.unclear, 40U) << late;
  }
}

TEST(BadInput, TwoProcessesOnOneStream) {
  const TwoRanks ids = two_ranks(50'000, true, 1'000);
  EXPECT_EQ(ids.right, 40U);
  EXPECT_EQ(ids.unclear, 0U);
  EXPECT_EQ(ids.streams, 2U);
  // The latest call before an operation is its likeliest; those of the second could be the first's.
  const TwoRanks same = two_ranks(50'000, true);
  EXPECT_EQ(same.right, 40U);
  EXPECT_EQ(same.unclear, 20U);
}

// Eight ranks of one program, GPU-bound: each row's work fits the calls of all, and the row of the
// last rank is not in the file. No row is torn apart for it.
TEST(BadInput, ARowOfOneOfManyRanksIsLeftOut) {
  Rows r;
  constexpr int kRanks = 8;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (Nanos i = 0; i < 20; ++i) {
      const Nanos called = i * 10'000 + (Nanos{rank} * 370 + i * 910) % 4'000;
      r.process = rank + 1;
      r.call(1, called, 2'000, "cudaLaunchKernel", i);
      if (i == 19) r.call(1, called + 3'000, 700'000, "cudaDeviceSynchronize", 100);
      r.process = -1;
      r.device = rank;
      if (rank + 1 < kRanks) r.kernel(7, 5'000 + i * 40'000 + Nanos{rank} * 50, 40'000, "k", i);
    }
  }
  const trace::EventTable t = r.table();
  EXPECT_EQ(built(t).counts().streams, static_cast<std::uint64_t>(kRanks - 1));
}

TEST(BadInput, NoKernelHasALaunch) {
  Rows r;
  for (Nanos i = 0; i < 3; ++i) r.launched(1, i * 50'000, 7, i * 50'000 + 6'000, 10'000, "k", -1);
  const trace::EventTable t = r.table();
  EXPECT_EQ(noted(built(t), "no_launches"), 3U);
}

TEST(BadInput, SynchronisationRecordsOfNoCall) {
  Rows r;
  r.launched(1, 0, 7, 10'000, 20'000, "k", 1);
  r.gpu(7, EventKind::kSyncRecord, 10'000, 100, "Stream Sync", 77, R"({"stream": 7})");
  const trace::EventTable t = r.table();
  EXPECT_EQ(noted(built(t), "sync_record_without_call"), 1U);
}

TEST(BadInput, RecordsThatTheTimesContradict) {
  Rows r;
  r.launched(1, 0, 7, 10'000, 900'000, "k", 1);
  r.call(1, 20'000, 5'000, "cudaStreamSynchronize", 2);  // returns long before
  r.gpu(7, EventKind::kSyncRecord, 20'000, 100, "Stream Sync", 2, R"({"stream": 7})");
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_EQ(noted(g, "sync_contradicted"), 1U);
  EXPECT_EQ(edges_of(g, Rule::kStreamSync), Names{});
}

TEST(BadInput, HostEventsThatOverlapWithoutNesting) {
  Rows r;
  r.op(1, 0, 10'000, "a");
  r.op(1, 5'000, 10'000, "b");
  r.call(1, 7'000, 20'000, "cudaLaunchKernel", 1);
  r.call(1, 9'000, 50'000, "cudaDeviceSynchronize", 2);
  r.kernel(7, 12'000, 40'000, "k", 1);
  const trace::EventTable t = r.table();
  built(t);
}

TEST(BadInput, OperationsOfNoDurationAtOneMoment) {
  Rows r;
  for (Nanos i = 0; i < 20; ++i) {
    r.call(1, 1'000, 0, "cudaLaunchKernel", i);
    r.kernel(7, 1'000, 0, "k", i);
    r.call(1, 1'000, 0, "cudaDeviceSynchronize", 100 + i);
  }
  const trace::EventTable t = r.table();
  built(t);
}

TEST(BadInput, TimesAtTheEndsOfTheirRange) {
  Rows r;
  r.launched(1, INT64_MIN / 8, 7, INT64_MAX / 8, INT64_MAX / 8, "k", 1);
  const trace::EventTable t = r.table();
  built(t);
}

TEST(BadInput, GpuWorkWithoutAnyHost) {
  Rows r;
  r.kernel(7, 0, 10'000, "a", 1);
  r.kernel(7, 11'000, 10'000, "b", 2);
  const trace::EventTable t = r.table();
  const graph::Graph g = built(t);
  EXPECT_TRUE(g.is_anchor(find(g, "a", NodeKind::kKernel)));
  EXPECT_EQ(decides(g, find(g, "b", NodeKind::kKernel)), Rule::kStreamOrder);
}

// Through the reader: one sound kernel, and one event as given.
Result<graph::Graph> read_with(const char* event, trace::EventTable& table) {
  const std::string text = std::string(R"({"traceEvents": [
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10,
     "dur": 5, "args": {"correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "sound", "pid": 0, "tid": 7, "ts": 20, "dur": 30,
     "args": {"correlation": 1, "device": 0, "context": 1, "stream": 7}}, )") +
                           event + "]}";
  ERGON_TRY(table, trace::read_trace(*io::memory_source(text)));
  return graph::build(table);
}

TEST(BadInput, EventsThatTheReaderMendsOrLeavesOut) {
  for (const char* event :
       {R"({"ph": "X", "cat": "kernel", "name": "negative", "pid": 0, "tid": 7, "ts": 60, "dur": -5,
            "args": {"correlation": 2, "device": 0, "context": 1, "stream": 7}})",
        R"({"ph": "X", "cat": "kernel", "name": "nan", "pid": 0, "tid": 7, "ts": NaN, "dur": 5,
            "args": {"correlation": 2, "device": 0, "context": 1, "stream": 7}})",
        R"({"ph": "X", "cat": "kernel", "name": "no time", "pid": 0, "tid": 7, "dur": 5,
            "args": {"correlation": 2, "device": 0, "context": 1, "stream": 7}})",
        R"({"ph": "X", "cat": "kernel", "name": "early", "pid": 0, "tid": 7, "ts": 1, "dur": 5,
            "args": {"correlation": 1, "device": 0, "context": 1, "stream": 7}})",
        R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
            "ts": 12, "dur": -9, "args": {"correlation": 1}})"}) {
    trace::EventTable table;
    const auto g = read_with(event, table);
    ASSERT_TRUE(g) << event;
    EXPECT_EQ(graph::check_replay(*g).max_difference_ns, 0) << event;
    EXPECT_TRUE(!table.skipped.empty() || !g->notes().empty()) << "not counted: " << event;
    EXPECT_NE(g->launch(find(*g, "sound", NodeKind::kKernel)), graph::kNoNode) << event;
  }
}

TEST(BadInput, NothingToBuildFrom) {
  const trace::EventTable empty;
  const auto g = graph::build(empty);
  ASSERT_FALSE(g);
  EXPECT_EQ(g.error().code, Errc::kMalformedInput);
  EXPECT_FALSE(g.error().hint.empty());
}

}  // namespace
