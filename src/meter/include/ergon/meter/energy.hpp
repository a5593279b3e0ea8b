// The energy of a window by two estimators, with what is not known about it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/meter/sensor.hpp"
#include "ergon/meter/series.hpp"

namespace ergon::meter {

/// One part of an interval: half of its 95 % width.
struct Doubt {
  std::string what;  ///< "edges", "unseen between samples", "gaps", "resolution"
  double half_width_j = 0;
};

/// One estimator's answer.
struct EnergyEstimate {
  std::optional<Estimate> energy_j;  ///< with its 95 % interval; nullopt: refused
  std::string refused;               ///< why there is none
  double coverage = 0;               ///< share of the window's time that readings account for
  std::vector<Doubt> doubts;         ///< what the interval is made of
  std::vector<std::string> notes;    ///< "the counter was reset once", ...
  /// Of power samples: the share of the time that lies in the sensor's averaging windows; nullopt:
  /// the window is not known, or covers all.
  std::optional<double> seen_share = std::nullopt;
  /// The energy if the load repeats in step with the sensor, so that the time between its windows
  /// ran at another power: at least the least that was read (0 where the board was never seen
  /// without work), at most the power limit. nullopt where all is seen, or where the readings prove
  /// that load and sensor are out of step.
  std::optional<Estimate> in_step_j = std::nullopt;
};

struct EnergyOptions {
  /// Power above this, or a counter that rises faster, is garbage. Twice the power limit where the
  /// series knows one.
  double most_power_w = 3000;
  /// A gap between readings longer than this many refresh periods is not bridged silently.
  double gap_periods = 3;
  /// Windows shorter than this many periods (or averaging windows) cannot be known.
  double least_periods = 3;
  /// Joules at which the counter wraps (RAPL's max_energy_range_uj); nullopt: powers of two are
  /// tried.
  std::optional<double> counter_range_j = std::nullopt;
  /// Without a counter to check the samples, the interval holds what the power between the sensor's
  /// averaging windows may have been (EnergyEstimate::in_step_j).
  bool holds_unseen = false;
};

/// (a) The counter, aligned to its ticks: exact between them; at each edge the tick that holds it
/// is divided by the step of power that its energy tells of. Handles resets and wraps; refuses a
/// counter that is absent, frozen, or garbage.
EnergyEstimate counter_energy(const Series& series, const SensorModel& sensor, Window window,
                              const EnergyOptions& options = {});
/// (b) The trapezoid over the renewals of the power value, each at its own time less half the
/// averaging window, clipped to the window with interpolated edges.
EnergyEstimate trapezoid_energy(const Series& series, const SensorModel& sensor, Window window,
                                const EnergyOptions& options = {});

/// Both, and what follows.
struct EnergyReading {
  /// The counter, unless its interval is over twice as wide as that of the samples; where they
  /// contradict each other the interval spans both. As the
  /// sensor sees it: the board's gain is apart. nullopt: cannot be known, see why_unknown.
  std::optional<Estimate> energy_j;
  std::string why_unknown;               ///< "cannot be known from this sensor: ..."
  std::optional<Seconds> window_needed;  ///< the shortest window that this sensor can tell
  EnergyEstimate counter;
  EnergyEstimate trapezoid;
  const char* chosen = "";  ///< "counter", "trapezoid" or "both"
  double coverage = 0;
  std::optional<double> disagreement;  ///< |a - b| over their mean
  bool contradict = false;             ///< the intervals do not meet
  /// Of the time, where power samples alone tell: what lies between the sensor's averaging windows.
  std::optional<double> unseen_share;
  /// The same energy at the board's supply, with the published spread of sensor gains.
  std::optional<Estimate> supply_energy_j;
};
EnergyReading measure_energy(const Series& series, const SensorModel& sensor, Window window,
                             const EnergyOptions& options = {});

/// Energy above idle: total less idle power times time. The interval holds both doubts.
/// nullopt where either is unknown.
std::optional<Estimate> above_idle(const std::optional<Estimate>& energy_j, Seconds length,
                                   const std::optional<Estimate>& idle_power_w);
/// Mean power of a window with its interval, from its energy.
std::optional<Estimate> mean_power(const EnergyReading& reading, Window window);

/// Time-weighted mean of a column over the window (hold until the next reading); nullopt without a
/// reading that holds for some of it. Missing cells count for nothing.
std::optional<double> mean_over(const Series& series, const std::vector<double>& column,
                                Window window);
/// Joules between two reads of a counter that may have wrapped once at `range_j` (RAPL). nullopt:
/// the range is unknown and the counter went down, so nothing can be said.
std::optional<double> counter_difference(double before_j, double after_j,
                                         std::optional<double> range_j);

/// 95 % half-width of the gain (2.1 times the rms error) of NVML's power sensors over boards,
/// relative; from the steady-state errors of 19 boards published with Yang, Adamek and Armour,
/// SC'24 (doi 10.1109/SC41406.2024.00028).
inline constexpr double kBoardGain95 = 0.092;

}  // namespace ergon::meter
