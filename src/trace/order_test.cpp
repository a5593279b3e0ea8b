// The same events in any order, layout, window and thread count give the same table.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ergon/trace.hpp"
#include "kineto/document.hpp"
#include "testing.hpp"

namespace ergon::trace {
namespace {

using Random = std::mt19937_64;

// One event as members and arguments in JSON text, so that it can be written in any layout.
struct Member {
  std::string key;
  std::string value;
};
struct Event {
  std::vector<Member> members;
  std::vector<Member> arguments;
};

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string decimal(std::uint64_t ns) {
  return std::to_string(ns / 1000) + "." + std::to_string(1000 + ns % 1000).substr(1);
}

Event random_event(Random& random, std::uint64_t id) {
  static const char* const names[] = {"aten::mm",          "aten::linear",    "a\\\"b\\u00e4",
                                      "void gemm<4>(int)", "nccl:all_reduce", "\xc3\xa4ther"};
  const auto pick = [&random](auto n) { return random() % static_cast<std::uint64_t>(n); };
  Event e;
  const auto add = [&e](std::string key, std::string value) {
    e.members.push_back({std::move(key), std::move(value)});
  };
  const auto argument = [&e](std::string key, std::string value) {
    e.arguments.push_back({std::move(key), std::move(value)});
  };
  // Few distinct times, so that ties are common.
  const std::string start = decimal(1727000000000000123 + pick(40) * 500);
  const std::string duration = decimal(pick(4) * 250);
  const auto kind = pick(8);
  add("ph", quoted(kind == 7 ? "s" : "X"));
  add("name", quoted(names[pick(6)]));
  add("ts", pick(9) == 0 ? quoted(start) : start);
  if (kind < 2) {
    add("cat", quoted("kernel"));
    add("pid", std::to_string(pick(2)));
    add("tid", pick(5) == 0 ? quoted("stream 7") : std::to_string(7 + pick(2)));
    add("dur", duration);
    argument("device", e.members[4].key == "tid" ? "0" : std::to_string(pick(2)));
    argument("context", "1");
    argument("stream", std::to_string(7 + pick(3)));
    argument("correlation", std::to_string(pick(30)));
    argument("grid", "[" + std::to_string(1 + pick(3)) + ", 1, 1]");
    argument("block", "[128, 1, 1]");
    argument("blocks per SM", "7.5" + std::to_string(pick(3)));
    if (pick(4) == 0) argument("Seq", std::to_string(pick(5)));
  } else if (kind < 5) {
    add("cat", quoted(pick(5) == 0 ? "user_annotation" : "cpu_op"));
    add("pid", "4711");
    add("tid", std::to_string(4711 + pick(3)));
    add("dur", duration);
    argument("External id", std::to_string(id));
    if (pick(2) == 0) argument("Input Dims", "[[" + std::to_string(pick(3)) + ", 2], []]");
    if (pick(2) == 0) argument("Concrete Inputs", "[\"\", \"[1, 2]\", \"x y\"]");
    if (pick(3) == 0) argument("Sequence number", std::to_string(pick(6)));
    if (pick(3) == 0) argument("Fwd thread id", std::to_string(pick(2)));
    argument("Ev Idx", std::to_string(id));
  } else if (kind < 7) {
    add("cat", quoted("cuda_runtime"));
    add("pid", "4711");
    add("tid", "4711");
    add("dur", duration);
    argument("cbid", "211");
    argument("correlation", std::to_string(pick(30)));
  } else {
    add("cat", quoted("ac2g"));
    add("id", std::to_string(id));
    add("pid", "4711");
    add("tid", "4711");
  }
  return e;
}

std::string write(const std::vector<Event>& events, Random& random) {
  const std::string space = std::string(random() % 3, ' ');
  const std::string line = random() % 2 == 0 ? "\n" + std::string(random() % 5, ' ') : " ";
  const auto members = [&](const std::vector<Member>& list) {
    std::string out;
    for (const Member& m : list) {
      if (!out.empty()) out += "," + line;
      out += quoted(m.key) + ":" + space + m.value;
    }
    return out;
  };
  std::string out =
      "{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 1000," + line + "\"traceEvents\": [";
  bool first = true;
  for (const Event& e : events) {
    out += first ? "" : ",";
    first = false;
    out += line + "{" + members(e.members);
    if (!e.arguments.empty())
      out += "," + line + "\"args\": {" + line + members(e.arguments) + line + "}";
    out += "}";
  }
  return out + line + R"(], "distributedInfo": {"rank": 1, "world_size": 2}})";
}

std::string dump_of(const std::string& text, const ReadOptions& options, bool offsets) {
  const auto source = io::memory_source(text);
  const auto table = read_trace(*source, options);
  return table ? testing::dump(*table, offsets) : "refused: " + table.error().message;
}

TEST(Order, NeitherOrderNorLayoutNorWindowNorThreadsShow) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    std::vector<Event> events;
    const std::size_t count = 2 + random() % 120;
    events.reserve(count);
    for (std::size_t i = 0; i < count; ++i) events.push_back(random_event(random, i));
    const std::string text = write(events, random);
    const std::string expected = dump_of(text, {}, false);
    for (int round = 0; round < 4; ++round) {
      std::ranges::shuffle(events, random);
      for (Event& e : events) {
        // Kineto never changes the order of members; other writers sort them.
        if (round >= 2) std::ranges::shuffle(e.members, random);
        if (round == 3) std::ranges::shuffle(e.arguments, random);
      }
      EXPECT_EQ(dump_of(write(events, random), {}, false), expected) << "seed " << seed;
    }
    const std::string whole = dump_of(text, {}, true);
    for (const std::size_t window : {64U, 100U, 4096U, 1U << 24U}) {
      for (const int threads : {1, 2}) {
        EXPECT_EQ(dump_of(text, {.window_bytes = window, .threads = threads}, true), whole)
            << "seed " << seed << " window " << window << " threads " << threads;
      }
    }
  }
}

// What the scanner remembers changes its speed alone.
TEST(Order, MemoryOfShapesDoesNotShow) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    Random random(seed);
    std::vector<Event> events;
    events.reserve(400);
    for (std::size_t i = 0; i < 400; ++i) events.push_back(random_event(random, i));
    const std::string text = write(events, random);
    const auto dump = [&text](bool remember) {
      ReadTimings timings;
      const auto source = io::memory_source(text);
      const auto table = kineto::read(*source, {}, timings, remember);
      return table ? testing::dump(*table) : table.error().message;
    };
    EXPECT_EQ(dump(true), dump(false)) << "seed " << seed;
  }
}

// More events on one track than are sorted at once.
TEST(Order, LongTracksAreSorted) {
  Random random(3);
  constexpr std::size_t kEvents = 200'000;
  std::vector<std::size_t> starts(kEvents);
  for (std::size_t i = 0; i < kEvents; ++i) starts[i] = i / 2;  // two of each
  std::ranges::shuffle(starts, random);
  std::string text = "[";
  for (const std::size_t start : starts) {
    text += text.size() > 1 ? "," : "";
    text += R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":)" + std::to_string(start) +
            R"(,"dur":)" + std::to_string(random() % 3) + "}";
  }
  text += "]";
  const auto source = io::memory_source(text);
  const auto table = read_trace(*source);
  ASSERT_TRUE(table.has_value());
  ASSERT_EQ(table->size(), kEvents);
  for (EventId e = 0; e < kEvents; ++e) {
    ASSERT_EQ(table->start_ns[e], static_cast<Nanos>(e / 2) * 1000);
    if (e % 2 == 0) continue;
    ASSERT_LE(table->duration_ns[e], table->duration_ns[e - 1]);
  }
}

}  // namespace
}  // namespace ergon::trace
