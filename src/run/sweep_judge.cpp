// Whether a run at a setting counts.
#include <algorithm>
#include <cmath>

#include "ergon/run/sweep.hpp"

namespace ergon::run {
namespace {

std::string in_megahertz(double hertz) {
  return std::to_string(std::lround(hertz * 1e-6)) + " MHz";
}

std::string rounded(double value, double step) {
  const double nearest = std::round(value / step) * step;
  std::string text = std::to_string(nearest);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The readings of a column inside the window; only those while the GPU worked, where its
// utilization is told and it worked at all.
std::vector<double> inside(const meter::Series& series, const std::vector<double>& column,
                           meter::Window window, bool busy_only) {
  std::vector<double> all;
  std::vector<double> busy;
  if (!series.has(column)) return all;
  const bool told = series.has(series.utilization);
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series.time_ns[i] < window.start_ns || series.time_ns[i] > window.end_ns) continue;
    if (meter::is_missing(column[i])) continue;
    all.push_back(column[i]);
    if (told && series.utilization[i] >= 0.5) busy.push_back(column[i]);
  }
  return busy_only && busy.size() >= 3 ? busy : all;
}

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  return median_of(std::move(values));
}

double tolerance(double asked, const Requirements& requirements) {
  return std::max(asked * requirements.clock_tolerance, requirements.clock_slack.si());
}

}  // namespace

PointEvidence evidence_of(const meter::Series& series, const GpuResult& result,
                          meter::Window window) {
  PointEvidence evidence;
  evidence.clock_hz = median(inside(series, series.clock_hz, window, true));
  if (!evidence.clock_hz) evidence.clock_hz = result.clock_hz;
  auto memory = inside(series, series.memory_clock_hz, window, true);
  evidence.memory_clock_hz = median(memory);
  if (!memory.empty()) {
    // A reading or two may still tell of the change of clocks before the run.
    std::ranges::sort(memory);
    const std::size_t rare = memory.size() / 20;
    evidence.memory_clock_least_hz = memory[rare];
    evidence.memory_clock_most_hz = memory[memory.size() - 1 - rare];
  }
  const auto temperatures = inside(series, series.temperature_c, window, false);
  if (!temperatures.empty()) {
    evidence.temperature_low_c = std::ranges::min(temperatures);
    evidence.temperature_high_c = std::ranges::max(temperatures);
  }
  evidence.power_limit_w = median(inside(series, series.power_limit_w, window, false));
  evidence.throttled_share = result.throttled_share;
  evidence.throttle_bits = result.throttle_bits;
  evidence.periods = result.periods;
  evidence.energy_known = result.energy.energy_j.has_value();
  evidence.why_unknown = result.energy.why_unknown;
  return evidence;
}

std::vector<std::string> objections(const Setting& setting, const PointEvidence& evidence,
                                    const Requirements& requirements) {
  std::vector<std::string> found;
  if (!evidence.energy_known) {
    found.push_back(evidence.why_unknown.empty() ? "the energy is not known"
                                                 : evidence.why_unknown);
  }
  if (setting.core && !evidence.clock_hz) {
    found.emplace_back("the achieved core clock cannot be read");
  } else if (setting.core) {
    const double asked = setting.core->si();
    if (std::abs(*evidence.clock_hz - asked) > tolerance(asked, requirements)) {
      found.push_back("the core ran at " + in_megahertz(*evidence.clock_hz) + ", asked " +
                      in_megahertz(asked));
    }
  }
  if (setting.memory && !evidence.memory_clock_hz) {
    found.emplace_back("the achieved memory clock cannot be read");
  } else if (setting.memory) {
    const double asked = setting.memory->si();
    if (std::abs(*evidence.memory_clock_hz - asked) > tolerance(asked, requirements)) {
      found.push_back("the memory ran at " + in_megahertz(*evidence.memory_clock_hz) + ", asked " +
                      in_megahertz(asked));
    }
  }
  if (evidence.memory_clock_hz && evidence.memory_clock_least_hz &&
      *evidence.memory_clock_most_hz - *evidence.memory_clock_least_hz >
          2 * tolerance(*evidence.memory_clock_hz, requirements)) {
    found.push_back(
        "the memory clock did not hold: " + in_megahertz(*evidence.memory_clock_least_hz) + " to " +
        in_megahertz(*evidence.memory_clock_most_hz));
  }
  if (setting.limit && evidence.power_limit_w &&
      std::abs(*evidence.power_limit_w - setting.limit->si()) > 1) {
    found.push_back("the power limit is " + rounded(*evidence.power_limit_w, 1) + " W, asked " +
                    rounded(setting.limit->si(), 1) + " W");
  }
  // At a limit that was asked for, and where the driver chooses the clock, the power cap does what
  // it should.
  std::uint64_t bits = gpu::Throttle{evidence.throttle_bits}.holding_back();
  if (setting.limit || !setting.core) bits &= ~gpu::reason::kPowerCap;
  if (bits != 0 && evidence.throttled_share.value_or(1) > requirements.most_throttled_share)
    found.push_back("throttled: " + gpu::Throttle{bits}.names());
  if (evidence.temperature_low_c && *evidence.temperature_high_c - *evidence.temperature_low_c >
                                        requirements.temperature_band_c) {
    found.push_back("the temperature moved from " + rounded(*evidence.temperature_low_c, 1) +
                    " to " + rounded(*evidence.temperature_high_c, 1) + " \u00b0C");
  }
  if (evidence.periods < requirements.least_periods) {
    found.push_back("the run spans " + rounded(evidence.periods, 0.1) +
                    " refresh periods of the sensor, " + rounded(requirements.least_periods, 0.1) +
                    " are needed");
  }
  return found;
}

}  // namespace ergon::run
