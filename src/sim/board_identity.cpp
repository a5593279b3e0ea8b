// Names of boards: drawn from the machine's seed.
#include <cinttypes>
#include <cstdio>

#include "ergon/sim/board.hpp"

namespace ergon::sim {

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
