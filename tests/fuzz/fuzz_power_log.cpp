// Any bytes as a power log: refused with a reason, or a table that keeps its promises.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ergon/meter.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ergon;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto source = io::memory_source(bytes);
  const auto log = meter::read_log(*source);
  if (!log) {
    ERGON_CHECK(!log.error().message.empty(), "a refusal says why");
    return 0;
  }
  ERGON_CHECK(log->rows() > 0, "a log holds samples");
  ERGON_CHECK(log->time_ns.empty() || log->time_ns.size() == log->rows(), "a time each row");
  ERGON_CHECK(log->gpus.empty() == log->gpu.empty(), "a GPU each row, or none");
  for (const auto g : log->gpu) ERGON_CHECK(g < log->gpus.size(), "GPUs are known");
  for (const auto& c : log->columns) {
    ERGON_CHECK(c.text ? c.words.size() == log->rows() : c.numbers.size() == log->rows(),
                "columns are full");
    for (const auto w : c.words) ERGON_CHECK(w < c.dictionary.size(), "words are known");
    for (const double v : c.numbers) ERGON_CHECK(!std::isinf(v), "numbers are finite");
  }
  for (const auto& d : log->defects) ERGON_CHECK(!d.kind.empty(), "a defect has a kind");
  const std::string csv = meter::to_csv(*log);
  ERGON_CHECK(io::valid_utf8_prefix(csv) == csv.size(), "the table is UTF-8");
  const auto both = meter::join_logs({*log, *log}, {"a", "b"});
  ERGON_CHECK(both && both->rows() == 2 * log->rows(), "two logs are as long as both");
  auto timed = *log;
  const bool without = log->time_ns.empty();
  ERGON_CHECK(static_cast<bool>(meter::give_times(timed, Seconds(0.1))) == without,
              "times are given to a log without");
  for (const auto& s : meter::to_series(timed)) {
    const auto model = meter::estimate_sensor(s);
    const auto r = meter::measure_energy(s, model, {s.time_ns.front(), s.time_ns.back()});
    if (r.energy_j) {
      ERGON_CHECK(r.energy_j->low <= r.energy_j->value && r.energy_j->value <= r.energy_j->high,
                  "the interval holds the value");
    } else {
      ERGON_CHECK(!r.why_unknown.empty(), "what is not known has a reason");
    }
  }
  return 0;
}
