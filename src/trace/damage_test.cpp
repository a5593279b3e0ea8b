// Damage at every place of a trace: no crash, no hang, and what is sound elsewhere is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "ergon/trace.hpp"
#include "testing.hpp"

namespace ergon::trace {
namespace {

const std::string file_head = R"json({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 1, "numSms": 108}],
  "traceEvents": [)json";

std::string event(int i) {
  const std::string n = std::to_string(i);
  return R"json(
  {
    "ph": "X", "cat": "cpu_op", "name": "op)json" +
         n + R"json(", "pid": 1, "tid": 2,
    "ts": 10)json" +
         n + R"json(.250, "dur": 5.125,
    "args": {
      "External id": )json" +
         n + R"json(, "Input Dims": [[2, 3], []], "Ev Idx": )json" + n + R"json(
    }
  })json";
}

std::string trace(int events) {
  std::string out = file_head;
  for (int i = 0; i < events; ++i) out += (i == 0 ? "" : ",") + event(i);
  return out + R"json(
  ], "distributedInfo": {"rank": 5, "world_size": 8}, "baseTimeNanoseconds": 77
})json";
}

Result<EventTable> read_damaged(const std::string& text, std::size_t window = 1 << 20) {
  const auto source = io::memory_source(text);
  return read_trace(*source, {.window_bytes = window, .threads = 1});
}

std::uint64_t damage(const EventTable& table) {
  std::uint64_t count = 0;
  for (const Skipped& s : table.skipped) count += s.damage ? s.count : 0;
  return count;
}

TEST(Damage, TruncatedAnywhereKeepsTheEventsBefore) {
  const std::string whole = trace(4);
  const std::size_t second = file_head.size() + event(0).size() + 1 + event(1).size();
  for (std::size_t length = 0; length < whole.size() - 1; ++length) {
    const auto table = read_damaged(whole.substr(0, length));
    if (length < file_head.size() + event(0).size()) {
      EXPECT_FALSE(table.has_value()) << length;
      if (!table) {
        EXPECT_EQ(table.error().code, Errc::kMalformedInput);
        EXPECT_TRUE(table.error().offset.has_value());
        EXPECT_FALSE(table.error().hint.empty());
      }
      continue;
    }
    ASSERT_TRUE(table.has_value()) << length;
    EXPECT_GE(damage(*table), 1U) << length;
    EXPECT_GE(table->size(), length >= second ? 2U : 1U) << length;
    EXPECT_EQ(table->name_of(0), "op0");
  }
}

// As /dev/zero.
class Endless final : public io::ByteSource {
 public:
  Result<std::size_t> read(std::span<char> out) override {
    std::ranges::fill(out, '\0');
    position_ += out.size();
    EXPECT_LE(position_, std::uint64_t{1} << 24U);
    if (position_ > std::uint64_t{1} << 24U) return fail(Errc::kIo, "read on and on", "");
    return out.size();
  }
  [[nodiscard]] std::uint64_t position() const override { return position_; }
  [[nodiscard]] io::InputRecord record() const override {
    return {.path = "zeros", .bytes = position_, .format = {}, .digest = {}};
  }

 private:
  std::uint64_t position_ = 0;
};

TEST(Damage, WhatIsNoJsonIsNotReadToItsEnd) {
  for (const int threads : {1, 2}) {
    Endless source;
    const auto table = read_trace(source, {.threads = threads});
    ASSERT_FALSE(table.has_value());
    EXPECT_EQ(table.error().code, Errc::kMalformedInput);
    EXPECT_EQ(table.error().message.find("zeros: this looks like binary data"), 0U)
        << table.error().message;
  }
}

TEST(Damage, AMessageNamesItsFileOnce) {
  // The magic number of zstd and nothing behind it.
  const auto source = io::memory_source("\x28\xb5\x2f\xfd", "short.zst");
  const auto table = read_trace(*source, {.threads = 1});
  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error().message, "short.zst: the zstd data end too early");
}

std::string reasons(const EventTable& table) {
  std::string text;
  for (const auto& skip : table.skipped)
    text += skip.reason + " " + std::to_string(skip.count) + " ";
  return text;
}

TEST(Damage, AnotherDocumentOfErgonsIsNamed) {
  for (const char* text : {R"({"schema": "ergon.policy/1", "packs": []})",
                           R"({"packs": [], "schema": "ergon.policy/1"})"}) {
    const auto table = read_damaged(text);
    ASSERT_FALSE(table.has_value());
    EXPECT_NE(table.error().message.find("schema \"ergon.policy/1\""), std::string::npos)
        << table.error().message;
    EXPECT_EQ(table.error().message.find("pack file"), std::string::npos);
  }
}

TEST(Damage, TheBaseTimeMayBeText) {
  const std::string events =
      R"("traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1}]})";
  const auto number = read_damaged(R"({"baseTimeNanoseconds": 1700000000000000000, )" + events);
  const auto text = read_damaged(R"({"baseTimeNanoseconds": "1700000000000000000", )" + events);
  ASSERT_TRUE(number.has_value() && text.has_value());
  EXPECT_EQ(text->base_ns, number->base_ns);
  EXPECT_GE(text->base_ns, Nanos{1700000000000000000});
  EXPECT_TRUE(text->skipped.empty());
  for (const char* spelling : {"1711964646000000001.0", "1.711964646000000001E18 "}) {
    const auto read =
        read_damaged(std::string(R"({"baseTimeNanoseconds": )") + spelling + ", " + events);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(reasons(*read), "") << spelling;
    EXPECT_EQ(read->base_ns, Nanos{1711964646000000001} + 1000) << spelling;
  }
  for (const char* spelling : {"1711964646000000001.5", "1e40", "true", "-1"}) {
    const auto read =
        read_damaged(std::string(R"({"baseTimeNanoseconds": )") + spelling + ", " + events);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(reasons(*read), "bad_metadata 1 ") << spelling;
  }
  const auto word = read_damaged(R"({"baseTimeNanoseconds": "noon", )" + events);
  ASSERT_TRUE(word.has_value());
  EXPECT_EQ(reasons(*word), "bad_metadata 1 ");
}

TEST(Damage, APlaceThatIsNoWholeNumberIsCounted) {
  for (const char* argument :
       {R"("device": "x")", R"("stream": 1.5)", R"("context": "x")", R"("correlation": "x")"}) {
    const auto table = read_damaged(
        R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1, "args": {)" +
        std::string(argument) + "}}]}");
    ASSERT_TRUE(table.has_value()) << argument;
    EXPECT_EQ(reasons(*table), "bad_argument 1 ") << argument;
  }
}

TEST(Damage, APackFileIsTakenForOne) {
  for (const char* text : {R"({"packs": []})", R"({"schema": "ergon.packs/1", "packs": []})"}) {
    const auto table = read_damaged(text);
    ASSERT_FALSE(table.has_value());
    EXPECT_NE(table.error().message.find("looks like a pack file"), std::string::npos)
        << table.error().message;
    EXPECT_NE(table.error().hint.find("ergon plan FILE"), std::string::npos);
  }
}

// Sanitized builds are fifty times slower: they take every seventh damage, which is another one at
// each byte; all are taken without them.
#ifdef ERGON_SANITIZED
constexpr std::size_t kDamageStep = 7;
#else
constexpr std::size_t kDamageStep = 1;
#endif

// One byte changed, dropped or added costs at most the event it is in, and its neighbour where it
// tears the two apart.
TEST(Damage, OneByteCostsAtMostTwoEvents) {
  const int events = 5;
  const std::string whole = trace(events);
  const std::size_t begin = file_head.size();
  std::size_t end = begin;
  for (int i = 0; i < events; ++i) end += event(i).size() + 1;
  const std::string bytes("\"\\{}[],:0x \n\x01\xff\0", 15);
  for (std::size_t at = begin; at < end - 1; ++at) {
    for (std::size_t k = at % kDamageStep; k <= 2 * bytes.size(); k += kDamageStep) {
      std::string text = whole;
      if (k < bytes.size()) {
        text[at] = bytes[k];
      } else if (k < 2 * bytes.size()) {
        text.insert(at, 1, bytes[k - bytes.size()]);
      } else {
        text.erase(at, 1);
      }
      const auto table = read_damaged(text);
      ASSERT_TRUE(table.has_value()) << at << " " << k << " " << table.error().message;
      EXPECT_GE(table->size(), static_cast<std::size_t>(events - 2)) << at << " " << k << "\n"
                                                                     << text;
      EXPECT_EQ(testing::dump(*read_damaged(text, 64)), testing::dump(*table)) << at << " " << k;
    }
  }
}

// Metadata behind the events survives damage in the last event.
TEST(Damage, MembersBehindDamagedEventsAreRead) {
  std::string text = trace(3);
  text.insert(text.find("\"op2\"") + 2, "\"");
  const auto table = read_damaged(text);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->size(), 2U);
  EXPECT_EQ(table->distributed.rank, 5);
  EXPECT_EQ(table->base_ns, 77 + 100250);
}

TEST(Damage, DamageInMetadataDoesNotHideTheEvents) {
  for (const char* bad : {"\"name\": \"NVID\"IA\"", "NaN,,", "}", "]", "\"", "\\"}) {
    std::string text = trace(3);
    text.insert(text.find("\"name\": \"NVIDIA"), bad);
    const auto table = read_damaged(text);
    ASSERT_TRUE(table.has_value()) << bad << table.error().message;
    EXPECT_GE(table->size(), 2U) << bad;
    EXPECT_GE(damage(*table), 1U) << bad;
  }
}

std::uint64_t count(const EventTable& table, const std::string& reason) {
  for (const Skipped& s : table.skipped) {
    if (s.reason == reason) return s.count;
  }
  return 0;
}

TEST(Damage, OddValuesAreCounted) {
  const auto one = [](const std::string& members) {
    const std::string sound =
        R"({"ph": "X", "cat": "cpu_op", "name": "sound", "pid": 1, "tid": 1, "ts": 1, "dur": 1})";
    const auto table =
        read_damaged(R"({"traceEvents": [)" + sound +
                     R"(, {"ph": "X", "cat": "kernel", "name": "k", )" + members + "}]}");
    EXPECT_TRUE(table.has_value()) << members;
    return table
               ? *read_damaged(R"({"traceEvents": [)" + sound +
                               R"(, {"ph": "X", "cat": "kernel", "name": "k", )" + members + "}]}")
               : EventTable{};
  };
  EXPECT_EQ(count(one(R"("ts": NaN, "dur": 1)"), "bad_time"), 1U);
  EXPECT_EQ(count(one(R"("ts": -Infinity, "dur": 1)"), "bad_time"), 1U);
  EXPECT_EQ(count(one(R"("ts": "soon", "dur": 1)"), "bad_time"), 1U);
  EXPECT_EQ(count(one(R"("dur": 1)"), "no_time"), 1U);
  EXPECT_EQ(count(one(R"("ts": null, "dur": 1)"), "no_time"), 1U);
  EXPECT_EQ(count(one(R"("ts": 1)"), "no_duration"), 1U);
  EXPECT_EQ(count(one(R"("ts": 1, "dur": NaN)"), "bad_duration"), 1U);
  EXPECT_EQ(count(one(R"("ts": 1e30, "dur": 1)"), "bad_time"), 1U);
  EXPECT_EQ(count(one(R"("ts": 4000000000000000, "dur": 3000000000000000)"), "time_out_of_range"),
            1U);
  const EventTable negative = one(R"("ts": 1, "dur": -5)");
  EXPECT_EQ(count(negative, "negative_duration"), 1U);
  EXPECT_EQ(negative.size(), 2U);
  EXPECT_EQ(count(one(R"("ts": 1, "dur": 1, "args": {"grid": [1 2]})"), "bad_argument"), 1U);
  // Not damage.
  EXPECT_EQ(count(one(R"("ts": 1, "dur": 1, "args": {"x": NaN, "y": {"z": [1]}, "stream": null})"),
                  "bad_argument"),
            0U);
}

TEST(Damage, NamesBecomeValidUtf8) {
  const auto table = read_damaged(
      "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\xff\x01\\q\",\"ts\":1,\"dur\":1}]");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->name_of(0), "a\xef\xbf\xbd \\q");
  EXPECT_EQ(count(*table, "bad_utf8"), 1U);
  EXPECT_EQ(count(*table, "control_character"), 1U);
  EXPECT_EQ(count(*table, "bad_escape"), 1U);
}

TEST(Damage, DepthAndLengthAreBounded) {
  std::string deep = R"({"traceEvents":[{"args":)";
  deep += std::string(20000, '[') + std::string(20000, ']') + "}]}";
  EXPECT_EQ(read_damaged(deep).error().code, Errc::kMalformedInput);
  std::string objects = R"({"traceEvents":[)";
  for (int i = 0; i < 20000; ++i) objects += R"({"ph":[)";
  EXPECT_FALSE(read_damaged(objects).has_value());
  // An event that never ends is given up after 8 MiB; what follows is read.
  std::string endless = file_head + R"({"ph": "X", "name": ")" + std::string(20U << 20U, 'x');
  EXPECT_FALSE(read_damaged(endless).has_value());
  std::string wide = file_head + event(0) + R"(, {"ph": "X", "args": {"a": [)";
  for (int i = 0; i < 3000000; ++i) wide += "1, ";
  const auto table = read_damaged(wide);
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->size(), 1U);
}

TEST(Damage, RandomBytesOfJsonNeverCrash) {
  std::mt19937 random(17);
  const std::string pieces[] = {"{",
                                "}",
                                "[",
                                "]",
                                ",",
                                ":",
                                "\"",
                                "\"ph\":\"X\"",
                                "\"ts\":1",
                                "\"dur\":2",
                                "\"args\":{",
                                "\"traceEvents\":[",
                                "\"cat\":\"kernel\"",
                                "\"name\":\"n\"",
                                "\\",
                                "1",
                                "-",
                                " ",
                                "\n",
                                "null",
                                "\"stream\":7",
                                "\x01",
                                "\xff"};
  for (int round = 0; round < 30000; ++round) {
    std::string text = round % 2 == 0 ? "{\"traceEvents\":[" : "[";
    for (std::size_t i = random() % 40; i > 0; --i) text += pieces[random() % std::size(pieces)];
    const auto small = read_damaged(text, 64);
    const auto large = read_damaged(text);
    ASSERT_EQ(small.has_value(), large.has_value()) << text;
    if (!small) continue;
    EXPECT_EQ(testing::dump(*small), testing::dump(*large)) << text;
  }
}

}  // namespace
}  // namespace ergon::trace
