// Kineto files of every era, small and by hand.
#include <gtest/gtest.h>

#include <string>

#include "ergon/trace.hpp"

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
