// Any bytes as a device file: refused with a message, or read, written back alike, checked and
// used.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ergon/model.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ergon;
  using namespace ergon::model;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(find_device(
      text.substr(0, 256).find('/') == std::string_view::npos ? text.substr(0, 256) : "a100"));
  const auto device = read_device(text);
  if (!device) {
    ERGON_CHECK(!device.error().message.empty() && device.error().code == Errc::kMalformedInput,
                "a refusal says why");
    return 0;
  }
  const std::string written = write_device(*device);
  const auto again = read_device(written);
  ERGON_CHECK(again && write_device(*again) == written, "what is written reads back alike");
  check_device(*device);
  switch_time(*device, device->default_clock);
  const ClockTable table = clock_table(*device, device->default_clock);
  Work work;
  work.ops[index(Unit::kVectorFp32)] = Flops(1e9);
  work.bytes[index(Level::kHbm)] = Bytes(1e7);
  const Response r =
      respond(*device, table, {Seconds(1e-3), &work, WorkClass::kGemm, Known::kShapes});
  ERGON_CHECK(at(table, r, table.reference_index).time_s == r.observed_s(),
              "the observed time comes back");
  for (std::size_t i = 0; i < table.clocks.size(); ++i) {
    const ResponsePoint p = at(table, r, i);
    ERGON_CHECK(p.time_low_s <= p.time_s && p.time_s <= p.time_high_s,
                "the interval holds the value");
  }
  const auto p = price(work, *device, {device->default_clock});
  if (p) ERGON_CHECK(p->energy_j.low <= p->energy_j.value, "the interval holds the value");
  return 0;
}
