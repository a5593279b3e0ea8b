// Any bytes as a policy file: refused with a message, or read and written back alike.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ergon/policy.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ergon;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto policy = policy::read_policy(text);
  if (!policy) {
    ERGON_CHECK(!policy.error().message.empty() && policy.error().code == Errc::kMalformedInput,
                "a refusal says why");
    return 0;
  }
  const std::string written = policy::write_policy(*policy);
  const auto again = policy::read_policy(written);
  ERGON_CHECK(again && policy::write_policy(*again) == written, "what is written reads back alike");
  return 0;
}
