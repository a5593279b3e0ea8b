// Kineto files of every era, small and by hand.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "ergon/trace.hpp"
#include "testing.hpp"

namespace ergon::trace {
namespace {

EventTable read(const std::string& text, const ReadOptions& options = {}) {
  const auto source = io::memory_source(text);
  auto table = read_trace(*source, options);
  EXPECT_TRUE(table.has_value()) << table.error().message;
  return table ? *std::move(table) : EventTable{};
}

Error refused(const std::string& text) {
  const auto source = io::memory_source(text);
  const auto table = read_trace(*source);
  EXPECT_FALSE(table.has_value());
  return table ? Error{} : table.error();
}

std::uint64_t skipped(const EventTable& table, const std::string& reason) {
  for (const auto& s : table.skipped) {
    if (s.reason == reason) return s.count;
  }
  return 0;
}

TEST(Kineto, KeepsNanosecondsOfLongTimes) {
  const EventTable t = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 1727000000000123.456,
     "dur": 0.001, "args": {"stream": 7, "device": 0, "context": 1, "correlation": 5}},
    {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 1727000000000123.457,
     "dur": 1.5e3, "args": {"stream": 7, "device": 0, "context": 1, "correlation": 6}}]})json");
  ASSERT_EQ(t.size(), 2U);
  EXPECT_EQ(t.base_ns, 1727000000000123456);
  EXPECT_EQ(t.start_ns[0], 0);
  EXPECT_EQ(t.duration_ns[0], 1);
  EXPECT_EQ(t.start_ns[1], 1);
  EXPECT_EQ(t.duration_ns[1], 1500000);
  EXPECT_EQ(t.correlation[1], 6);
  EXPECT_TRUE(t.on_gpu(0));
  EXPECT_EQ(t.tracks[0].stream, 7);
}

TEST(Kineto, TopLevelArrayOf2020) {
  const EventTable t = read(R"json([
  {
    "ph": "X", "cat": "Operator",
    "name": "aten::empty", "pid": 67844, "tid": "4093687616",
    "ts": 1606910596297023, "dur": 13,
    "args": {
       "Input dims": [[2, 3], []], "Input type": [], "Device": 0, "External id": 2
    }
  },
  {
    "ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7",
    "ts": 1606910596297030, "dur": 2,
    "args": {"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 9,
             "external id": 2, "grid": [64, 1, 1], "block": [128, 1, 1]}
  },
  {"name": "thread_name", "ph": "M", "ts": 1, "pid": 67844, "tid": "4093687616",
   "args": {"name": "thread 0 (python)"}
}
])json");
  ASSERT_EQ(t.size(), 2U);
  EXPECT_EQ(t.kind[0], EventKind::kHostOp);
  EXPECT_EQ(t.detail_of(0), R"json({"Input Dims":[[2,3],[]],"Input type":[]})json");
  EXPECT_EQ(t.tracks[0].thread, 4093687616);
  EXPECT_EQ(t.strings.view(t.tracks[0].name), "thread 0 (python)");
  EXPECT_EQ(t.kind[1], EventKind::kKernel);
  EXPECT_EQ(t.external_id[1], 2);
  EXPECT_EQ(t.detail_of(1), R"json({"grid":[64,1,1],"block":[128,1,1]})json");
}

TEST(Kineto, NumbersAsText) {
  const EventTable t = read(R"json({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k",
    "pid": "0", "tid": "7", "ts": "12.5", "dur": "3.25",
    "args": {"stream": "7", "device": "0", "correlation": "11"}}]})json");
  ASSERT_EQ(t.size(), 1U);
  EXPECT_EQ(t.base_ns, 12500);
  EXPECT_EQ(t.duration_ns[0], 3250);
  EXPECT_EQ(t.correlation[0], 11);
  EXPECT_EQ(t.tracks[0].stream, 7);
}

TEST(Kineto, BeginAndEndMakeOneEvent) {
  const EventTable t = read(R"json([
    {"ph": "B", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 10},
    {"ph": "B", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 11},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 12},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 20},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 30}])json");
  ASSERT_EQ(t.size(), 2U);
  EXPECT_EQ(t.name_of(0), "outer");
  EXPECT_EQ(t.duration_ns[0], 10000);
  EXPECT_EQ(t.duration_ns[1], 1000);
  EXPECT_EQ(skipped(t, "unmatched_end"), 1U);
}

// GPU work lies on the row of its arguments, which only the begin has; pairs are of the file's own
// process and thread.
TEST(Kineto, BeginAndEndOfGpuWork) {
  const std::string whole = R"json({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
    "ts": 20, "dur": 10, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 1,
    "External id": 5, "grid": [2, 1, 1], "Collective name": "a\"b", "Seq": 3}})json";
  const std::string halves = R"json({"ph": "B", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
    "ts": 20, "args": {"device": 0, "context": 1, "stream": 7, "External id": 9,
    "grid": [2, 1, 1], "Seq": 3}},
    {"ph": "B", "cat": "kernel", "name": "open", "pid": 0, "tid": 7, "ts": 21},
    {"ph": "E", "name": "k", "pid": 0, "tid": 7, "ts": 30, "args": {"correlation": 1,
    "Collective name": "a\"b", "External id": 5}})json";
  const EventTable one = read("[" + whole + "]");
  const EventTable two = read("[" + halves + "]");
  EXPECT_EQ(skipped(two, "unmatched_begin"), 1U);
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two.name_of(0), "k");
  EXPECT_EQ(two.kind[0], EventKind::kKernel);
  EXPECT_EQ(two.duration_ns[0], 10000);
  EXPECT_EQ(two.correlation[0], 1);
  EXPECT_EQ(two.external_id[0], 5);
  EXPECT_EQ(two.detail_of(0), one.detail_of(0));
  EXPECT_EQ(two.collective_seq.get(0), 3);
  const Track& track = two.tracks[two.track[0]];
  EXPECT_EQ(std::tuple(track.gpu, track.device, track.context, track.stream),
            std::tuple(true, 0, 1, 7));
}

// Without a duration, and the end first, as a writer may order what is of one time.
TEST(Kineto, BeginBehindItsEnd) {
  const EventTable t = read(R"json([
    {"ph": "B", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 10},
    {"ph": "E", "name": "b", "pid": 1, "tid": 1, "ts": 12},
    {"ph": "B", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 12},
    {"ph": "E", "name": "a", "pid": 1, "tid": 1, "ts": 15},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 20},
    {"ph": "B", "cat": "cpu_op", "name": "c", "pid": 1, "tid": 1, "ts": 20}])json");
  std::string found;
  for (EventId e = 0; e < t.size(); ++e)
    found += std::string(t.name_of(e)) + " " + std::to_string(t.duration_ns[e]) + ", ";
  EXPECT_EQ(found, "a 5000, b 0, c 0, ");
  EXPECT_TRUE(t.skipped.empty());
}

// A call, a kernel, a copy, and the arrows between them.
std::string with_arrows(const std::string& call_args, const std::string& work_args) {
  return R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "s", "cat": "fwdbwd", "id": 12, "pid": 1, "tid": 1, "ts": 10, "name": "fwdbwd"},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10,
     "dur": 5, "args": {)json" +
         call_args + R"json(}},
    {"ph": "s", "cat": "ac2g", "id": 4, "pid": 1, "tid": 1, "ts": 10, "name": "ac2g"},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20, "dur": 5,
     "args": {"device": 0, "context": 1, "stream": 7)json" +
         work_args + R"json(}},
    {"ph": "f", "cat": "ac2g", "id": 4, "pid": 0, "tid": 7, "ts": 20, "name": "ac2g", "bp": "e"},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": 30,
     "dur": 5, "args": {}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "c", "pid": 0, "tid": 7, "ts": 40, "dur": 5,
     "args": {"device": 0, "context": 1, "stream": 7}},
    {"ph": "s", "cat": "ac2g", "id": 5, "pid": 1, "tid": 1, "ts": 31.5, "name": "ac2g"},
    {"ph": "f", "cat": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 40, "name": "ac2g", "bp": "e"}
  ]})json";
}

TEST(Kineto, ArrowsStandForMissingCorrelations) {
  const EventTable t = read(with_arrows("", ""));
  std::string found;
  for (EventId e = 0; e < t.size(); ++e)
    found += std::string(t.name_of(e)) + " " + std::to_string(t.correlation[e]) + ", ";
  EXPECT_EQ(found, "o -1, cudaLaunchKernel 4, cudaMemcpyAsync 5, k 4, c 5, ");
  EXPECT_EQ(skipped(t, "flow"), 1U);  // the one from forward to backward
  const EventTable small = read(with_arrows("", ""), {.window_bytes = 64, .threads = 1});
  EXPECT_EQ(testing::dump(small), testing::dump(t));
}

TEST(Kineto, ArrowsAreLeftAloneWhereArgumentsSayTheCorrelation) {
  const EventTable t = read(with_arrows(R"("correlation": 9)", R"(, "correlation": 9)"));
  std::string found;
  for (EventId e = 0; e < t.size(); ++e) found += std::to_string(t.correlation[e]) + " ";
  EXPECT_EQ(found, "-1 9 -1 9 -1 ");
  EXPECT_EQ(skipped(t, "flow"), 5U);
}

TEST(Kineto, WhatIsNoWorkIsCounted) {
  const auto event = [](const std::string& category) {
    return R"({"ph": "X", "cat": ")" + category +
           R"(", "name": "e", "pid": 1, "tid": 1, "ts": 1, "dur": 1})";
  };
  std::string text = "[" + event("cpu_op");
  for (const char* category :
       {"python_function", "python_function", "gpu_user_annotation", "overhead", "Trace", "mine"})
    text += ", " + event(category);
  const EventTable t = read(text + "]");
  std::string found;
  for (const Skipped& s : t.skipped) {
    EXPECT_FALSE(s.damage) << s.reason;
    found += s.reason + " " + std::to_string(s.count) + ", ";
  }
  EXPECT_EQ(found,
            "gpu_user_annotation 1, other_category 1, overhead 1, profiler_span 1, "
            "python_function 2, ");
}

TEST(Kineto, ASecondDocumentIsReadAndSaid) {
  const std::string one =
      R"({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "e", "pid": 1, "tid": 1, "ts": 1,
          "dur": 1}]})";
  const EventTable two = read(one + "\n" + one);
  EXPECT_EQ(two.size(), 2U);
  EXPECT_EQ(skipped(two, "trailing_events"), 1U);
  EXPECT_EQ(skipped(two, "trailing_data"), 0U);
  const EventTable rest = read(one + "\nand so on");
  EXPECT_EQ(rest.size(), 1U);
  EXPECT_EQ(skipped(rest, "trailing_data"), 1U);
  EXPECT_EQ(skipped(rest, "trailing_events"), 0U);
}

TEST(Kineto, GoesOnBehindADamagedEvent) {
  const EventTable t = read(R"json({"traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "b"c", "pid": 1, "tid": 1, "ts": 2, "dur": 1},
    {"ph": "X", "cat": "cpu_op", "name": "d", "pid": 1, "tid": 1, "ts": 3, "dur": 1}
    ], "distributedInfo": {"rank": 3, "world_size": 8, "backend": "nccl"}})json");
  ASSERT_EQ(t.size(), 2U);
  EXPECT_EQ(t.name_of(1), "d");
  EXPECT_EQ(skipped(t, "bad_syntax"), 1U);
  EXPECT_EQ(t.distributed.rank, 3);
}

TEST(Kineto, RefusesWhatItIsNot) {
  EXPECT_EQ(refused("").code, Errc::kMalformedInput);
  EXPECT_NE(refused(std::string("SQLite format 3\0 ", 17)).message.find("SQLite"),
            std::string::npos);
  EXPECT_FALSE(refused("{}").hint.empty());
  EXPECT_EQ(refused("hello").offset, 0U);
}

}  // namespace
}  // namespace ergon::trace
