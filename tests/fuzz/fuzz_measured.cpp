// Any bytes as measured options: refused with a line, or a chain that can be written as a pack
// file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ergon/plan.hpp"

// libFuzzer gives the name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ergon::plan;
  const auto rows = read_measured({reinterpret_cast<const char*>(data), size});
  if (!rows) {
    ERGON_CHECK(!rows.error().message.empty(), "a refusal says why");
    return 0;
  }
  const auto chain = measured_chain(*rows);
  ERGON_CHECK(chain.has_value(), "rows make a chain");
  evaluate(*chain, default_choice(*chain));
  return 0;
}
