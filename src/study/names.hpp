// What stands in names: GPUs, networks, batches, convolution algorithms, settings in file names.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "ergon/study/data.hpp"

namespace ergon::study {

/// "V100", "GTX 1080 Ti", ... where a word of the path says so; else empty.
std::string gpu_in(std::string_view path);
/// Adds network, batch and algorithm to `factors` where `text` names them and they aren't there.
void add_factors_in(std::string_view text, std::map<std::string, std::string>& factors);
/// A short name for an argument list: the model and its batch where they can be told.
std::string short_argument(std::string_view text);

/// Settings in a file name: `core1400_mem2000`, `f795`, `clk1005`, `energy-1005-150`.
struct NamedSetting {
  Setting setting;
  std::string stamp;  ///< "20260419063615" where a date and a time stand in it
  std::string run;    ///< of "r1"
  std::string label;  ///< the name without them, and without words for what is measured
  [[nodiscard]] bool any() const {
    return setting.clock_hz || setting.memory_clock_hz || setting.power_limit_w;
  }
};
NamedSetting setting_in(std::string_view stem);
/// The power limit or clock in a text like "__GlobalPowerLimitOptimizer_300".
NamedSetting setting_in_text(std::string_view text);

}  // namespace ergon::study
