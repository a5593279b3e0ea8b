// Power sensors by architecture, as published.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "ergon/meter/sensor.hpp"

namespace ergon::meter {
namespace {

struct Entry {
  std::string_view part;  ///< of the product's name, in lower case
  PublishedSensor instant;
  double averaged_window_s;  ///< of the averaged reading; 0: there is none
};

constexpr PublishedSensor kHopper = {"Hopper (H100 class)", Seconds(0.1), Seconds(0.025)};
constexpr PublishedSensor kGrace = {"Grace Hopper", Seconds(0.1), Seconds(0.02)};
constexpr PublishedSensor kGa100 = {"GA100 (A100 class)", Seconds(0.1), Seconds(0.025)};
constexpr PublishedSensor kAmpere = {"Ampere and Ada but GA100", Seconds(0.1), Seconds(0.1)};
constexpr PublishedSensor kTuring = {"Turing", Seconds(0.1), Seconds(0.1)};
constexpr PublishedSensor kVolta = {"Volta", Seconds(0.02), Seconds(0.01)};
constexpr PublishedSensor kPascal = {"Pascal", Seconds(0.02), Seconds(0.01)};

// The first part that is found decides: longer names stand before those they hold.
constexpr std::array kEntries = {
    Entry{"gh200", kGrace, 1},   Entry{"h100", kHopper, 1},   Entry{"h200", kHopper, 1},
    Entry{"h800", kHopper, 1},   Entry{"a100", kGa100, 0},    Entry{"a800", kGa100, 0},
    Entry{"a30", kGa100, 0},     Entry{"rtx 30", kAmpere, 1}, Entry{"rtx 40", kAmpere, 1},
    Entry{"rtx a", kAmpere, 1},  Entry{"a40", kAmpere, 1},    Entry{"a10", kAmpere, 1},
    Entry{"l40", kAmpere, 1},    Entry{"l4", kAmpere, 1},     Entry{"rtx 20", kTuring, 0},
    Entry{"gtx 16", kTuring, 0}, Entry{"t4", kTuring, 0},     Entry{"quadro rtx", kTuring, 0},
    Entry{"v100", kVolta, 0},    Entry{"titan v", kVolta, 0}, Entry{"p100", kPascal, 0},
    Entry{"p40", kPascal, 0},    Entry{"gtx 10", kPascal, 0}, Entry{"titan xp", kPascal, 0}};

}  // namespace

std::optional<PublishedSensor> published_sensor(std::string_view gpu_name, bool averaged) {
  std::string name(gpu_name);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Entry& entry : kEntries) {
    const std::size_t at = name.find(entry.part);
    if (at == std::string::npos) continue;
    // "l4" is no part of "xl4000".
    if (at > 0 && std::isalnum(static_cast<unsigned char>(name[at - 1])) != 0) continue;
    PublishedSensor found = entry.instant;
    if (averaged && entry.averaged_window_s <= 0) return std::nullopt;
    if (averaged) found.averaging_window = Seconds(entry.averaged_window_s);
    return found;
  }
  return std::nullopt;
}

}  // namespace ergon::meter
