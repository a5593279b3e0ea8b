// Numbers drawn from the machine's seed, and the names made of them.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "ergon/sim/board.hpp"

namespace ergon::sim {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

double draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t count) {
  const std::uint64_t bits = mix(mix(mix(seed) ^ stream) ^ count);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

double draw_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t count) {
  // Twelve uniforms have variance 1; their sum is close to normal within 3.5 deviations.
  double sum = -6;
  for (std::uint64_t k = 0; k < 12; ++k) sum += draw(seed, stream * 16 + k, count);
  return std::clamp(sum, -3.5, 3.5);
}

std::string board_uuid(const Model& model, const BoardConfig& config, int mig_instance) {
  std::uint64_t words[2] = {0, 0};
  const std::uint64_t which = config.index * 8ULL + static_cast<std::uint64_t>(mig_instance + 1);
  for (std::uint64_t k = 0; k < 2; ++k) {
    const std::uint64_t stream =
        5000 + k + static_cast<std::uint64_t>(model.identity.pci_device) * 16;
    words[k] = static_cast<std::uint64_t>(draw(config.seed, stream, which) * 0x1p53) << 11U;
    words[k] ^= words[k] >> 23U;
  }
  char text[64];
  std::snprintf(text, sizeof text,
                "%s-%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                mig_instance < 0 ? "GPU" : "MIG", words[0] >> 32U, (words[0] >> 16U) & 0xffffU,
                words[0] & 0xffffU, words[1] >> 48U, words[1] & std::uint64_t{0xffffffffffff});
  return text;
}

}  // namespace ergon::sim
