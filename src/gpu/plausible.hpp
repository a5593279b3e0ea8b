// Answers that cannot be true, although the driver called them a success.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "ergon/base.hpp"

namespace ergon::gpu {

/// The largest board draws 1.4 kW, a module with its CPU twice that: more than 5 kW, or more than
/// three times the limit of the board, is garbage.
inline bool plausible_power(double watts, std::optional<double> maximum_limit_w) {
  const double most = maximum_limit_w && *maximum_limit_w > 0 ? 3 * *maximum_limit_w : 5000;
  return watts >= 0 && watts <= (most < 5000 ? most : 5000);
}
/// 1e12 J is 30 years at a kilowatt.
inline bool plausible_energy(double joules) { return joules >= 0 && joules <= 1e12; }
inline bool plausible_clock(double hertz) { return hertz >= 0 && hertz <= 40e9; }
inline bool plausible_temperature(double celsius) { return celsius > -60 && celsius < 200; }

inline tl::unexpected<Error> implausible(const std::string& gpu, const std::string& what,
                                         const std::string& value) {
  return fail(
      Errc::kDevice,
      "GPU " + gpu + ": the driver answers " + value + " for " + what + " and calls it a success",
      "such a value cannot be true and is not used; a newer driver, or the 64-bit library, "
      "may answer rightly");
}

/// Asks again, within 300 ms, while the driver answers nonsense: what a board can measure is found
/// out once, and one bad answer must not decide it.
template <class Read>
auto insist(Read read) {
  constexpr int kTries = 7;
  auto answer = read();
  for (int i = 1; i < kTries && !answer && answer.error().code == Errc::kDevice; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    answer = read();
  }
  return answer;
}

}  // namespace ergon::gpu
