// Any bytes as a trace: refused with a reason, or a table that keeps its promises, whatever the
// window and whatever the scanner remembers.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ergon/trace.hpp"
#include "kineto/document.hpp"
#include "testing.hpp"

namespace {

using namespace ergon;

void check(const trace::EventTable& t) {
  for (trace::StringId id = 0; id < t.strings.size(); ++id) {
    const std::string_view text = t.strings.view(id);
    ERGON_CHECK(io::valid_utf8_prefix(text) == text.size(), "strings are valid UTF-8");
    for (const char c : text) {
      ERGON_CHECK(static_cast<unsigned char>(c) >= 0x20, "strings hold no control characters");
    }
  }
  for (trace::EventId e = 0; e < t.size(); ++e) {
    ERGON_CHECK(t.start_ns[e] >= 0 && t.duration_ns[e] >= 0, "times are not negative");
    ERGON_CHECK(t.end_ns(e) >= t.start_ns[e], "ends do not overflow");
    ERGON_CHECK(t.track[e] < t.tracks.size(), "every event has a track");
    ERGON_CHECK(t.name[e] < t.strings.size() && t.detail[e] < t.strings.size(), "ids are known");
    if (e > 0 && t.track[e] == t.track[e - 1]) {
      ERGON_CHECK(t.start_ns[e] >= t.start_ns[e - 1], "tracks are in order");
    }
    if (t.detail[e] != 0) {
      const auto value = io::parse_json(t.detail_of(e));
      ERGON_CHECK(value && value->as_object() != nullptr, "a detail is a JSON object");
    }
  }
}

std::string outcome(std::string_view bytes, const trace::ReadOptions& options, bool remember) {
  const auto source = io::memory_source(bytes);
  trace::ReadTimings timings;
  const auto table = trace::kineto::read(*source, options, timings, remember);
  if (table) {
    check(*table);
    return trace::testing::dump(*table);
  }
  ERGON_CHECK(!table.error().message.empty() && !table.error().hint.empty(), "a refusal says why");
  return table.error().message;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = outcome(bytes, {.window_bytes = 1U << 16U, .threads = 1}, true);
  ERGON_CHECK(outcome(bytes, {.window_bytes = 64, .threads = 1}, true) == whole,
              "the window does not show");
  ERGON_CHECK(outcome(bytes, {.window_bytes = 1U << 16U, .threads = 1}, false) == whole,
              "what is remembered does not show");
  // Archives and the way every command takes.
  const auto source = io::memory_source(bytes);
  const auto tables = trace::read_traces(*source);
  if (tables) {
    for (const auto& table : *tables) check(table);
  }
  return 0;
}
