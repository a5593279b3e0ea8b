// How a power sensor behaves, found from its own readings.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/meter/series.hpp"

namespace ergon::meter {

/// What a sensor does between the board and the reader. nullopt is unknown.
struct SensorModel {
  std::optional<Estimate> update_period_s;  ///< how often the power value is renewed
  std::optional<Estimate>
      averaging_window_s;                 ///< the span before a renewal that the value averages
  std::optional<Estimate> energy_tick_s;  ///< how often the energy counter moves
  double noise_w = 0;        ///< scatter of the value about its neighbours (standard deviation)
  double power_step_w = 0;   ///< resolution of the value; 0 unknown
  double energy_step_j = 0;  ///< resolution of the counter; 0 unknown
  Seconds read_interval{};   ///< median time between reads
  /// The power column was read too seldom to see its refresh: update_period_s is an upper bound.
  bool period_hidden = false;
  /// The power value is the same in at least 20 readings over at least 5 s: the sensor may be
  /// stuck. A value of whole watts may as well be too coarse to show a change.
  bool never_renewed = false;
  /// The same over at least five readings and 2 s (whole watts: 20 and 5 s): not enough to call it
  /// stuck, too much to trust.
  bool same_throughout = false;
};

/// Period, tick, noise and resolution of a series. The period is the median time between changes of
/// the value after leaving out renewals that gave the same value again; it needs eight of them.
SensorModel estimate_sensor(const Series& series);

/// The typical time between renewals of a column: a robust median over single periods.
/// nullopt with fewer than eight changes.
struct Period {
  Estimate period_s;
  std::size_t changes = 0;
  bool hidden = false;  ///< nearly every read changed: the true period may be shorter
};
std::optional<Period> refresh_period(const std::vector<Nanos>& time_ns,
                                     const std::vector<double>& column);

/// What was published about the power sensor of an architecture: Yang, Adamek and Armour, SC'24
/// (doi 10.1109/SC41406.2024.00028), table of update period and averaging window.
struct PublishedSensor {
  const char* architecture;  ///< "A100, H100 (instantaneous)", ...
  Seconds update_period;
  Seconds averaging_window;
};
/// By the product's name ("NVIDIA A100-SXM4-80GB"), for the instantaneous reading or, with
/// `averaged`, for NVML's average. nullopt where nothing is published.
std::optional<PublishedSensor> published_sensor(std::string_view gpu_name, bool averaged = false);

/// Power by an external meter on the same clock as the series.
struct Reference {
  std::vector<Nanos> time_ns;
  std::vector<double> power_w;
};

/// How the averaging window was found: the boxcar of the reference, ending `lag_s` before each
/// renewal, that a straight line maps best to the sensor's values.
struct WindowFit {
  Seconds window;
  Seconds low;  ///< windows whose error is within a tenth of the best
  Seconds high;
  Seconds lag;      ///< from the end of the window to the renewal
  double gain = 0;  ///< sensor = gain * reference + offset_w
  double offset_w = 0;
  double rms_w = 0;     ///< what the fit leaves
  Seconds clock_shift;  ///< added to the series' times to lie over the reference
  std::size_t renewals = 0;
};
/// kMalformedInput where the two do not overlap by 16 renewals or the reference never changes.
/// `clock_shift` of whole hours and fractions of a second are searched for: logs are in local time.
Result<WindowFit> fit_window(const Series& series, const Reference& reference);

/// The averaging window as the board's own energy counter shows it.
struct OwnWindow {
  Estimate window_s;
  Seconds lag;            ///< from the end of the window to the renewal
  std::size_t steps = 0;  ///< of the load, that it was found from
};
/// Without another meter: where the load is level for two ticks of the counter before and after a
/// change, the energy of the tick between says when it stepped; the boxcar over the power so known
/// that a straight line maps best to the readings beside such steps (least squares, as in Yang,
/// Adamek, Armour, SC'24, doi 10.1109/SC41406.2024.00028, there against a meter) is the window, its
/// interval from a bootstrap over the steps. kUnsupported with the reason where it cannot be told:
/// no counter, nothing ran, fewer than six such steps, readings too seldom.
Result<OwnWindow> fit_own_window(const Series& series);

}  // namespace ergon::meter
