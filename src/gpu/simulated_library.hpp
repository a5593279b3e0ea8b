// What the simulated library, in place of a driver's, tells beyond the driver's own calls.
#pragma once
#include <optional>
#include <string>

#include "library.hpp"

namespace ergon::gpu {

/// Whether it is the simulated one; it then leaves it to us to say what is wrong with its settings.
inline bool is_simulated(const Library& library) {
  if (!library.has("ergon_sim_version")) return false;
  if (auto* hush = library.find<void()>("ergon_sim_hush")) hush();
  return true;
}

/// Why the simulated GPU could not be made of ERGON_SIM and ERGON_SIM_STATE; nullopt: no such
/// reason.
inline std::optional<Error> settings_error(const Library& library) {
  auto* said = library.find<const char*()>("ergon_sim_error");
  const std::string text = said == nullptr ? "" : said();
  if (text.empty()) return std::nullopt;
  const auto end = text.find('\n');
  return Error{Errc::kInvalidArgument, text.substr(0, end),
               end == std::string::npos ? "" : text.substr(end + 1)};
}

}  // namespace ergon::gpu
