// How far measured energies may be off, and what that leaves open of figures made from them.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "judging.hpp"

namespace ergon::study {

/// How far repeats lie apart: squares of the logarithms of energies around those of their setting,
/// over all settings measured more than once, those left out of which repeats contradict each
/// other.
struct RepeatSpread {
  double squares = 0;
  std::size_t freedom = 0;
};
RepeatSpread repeat_spread(const Dataset& data, const Workload& workload);
/// Those of all workloads of each GPU.
std::map<std::string, RepeatSpread> repeat_spreads(const Dataset& data,
                                                   std::span<const Workload> workloads);

/// Errors of the energies of one workload's points, as standard deviations of their logarithm.
/// Repeats: pooled over the workload's settings, and where these are fewer than 8 degrees of
/// freedom over all workloads of its GPU (`shared`); without repeats of its own there are none.
/// Where all points have sensor intervals these count as 3 degrees of freedom more (a moderated
/// variance; Smyth, Statistical Applications in Genetics and Molecular Biology 3, 2004).
/// Sensor: half of the interval that the data
/// gives, over 1.96, alike in all repeats of a setting. Errors of two points are taken as
/// independent: what a sensor does the same way at both cancels in a ratio, so that intervals are
/// rather too wide.
class EnergyErrors {
 public:
  EnergyErrors(const Dataset& data, const Workload& workload, const RepeatSpread& shared);

  /// Whether anything is known of the error of each of these points.
  [[nodiscard]] bool known(std::span<const std::size_t> points) const;
  /// kFromRepeats, kFromSensor or kFromBoth.
  [[nodiscard]] std::string_view from(std::span<const std::size_t> points) const;
  /// Energies of `points` as they may have been, one row a resample: a parametric bootstrap (Efron,
  /// Tibshirani 1993, 6.5), Student's t where repeats are few. The same for the same seed.
  [[nodiscard]] std::vector<std::vector<double>> draws(const Options& options,
                                                       std::span<const std::size_t> points) const;

 private:
  const Workload& workload_;
  double repeat_ = 0;  ///< of one measurement
  std::size_t freedom_ = 0;
  std::vector<double> sensor_;  ///< of each point; negative: unknown
};

/// Share of energy that a point saves; nullopt where no error is known.
std::optional<Interval> saved_interval(const Options& options, const Workload& workload,
                                       const EnergyErrors& errors, std::size_t point);

/// 95 % of what `estimate` may be for others of the kind that `resampled` was drawn from: the
/// percentiles, widened for a sample of `size` (a bootstrap's is too narrow by sqrt(n/(n-1)) and
/// Student's t; Hesterberg, The American Statistician 69, 2015).
Interval bootstrap95(double estimate, std::vector<double> resampled, std::size_t size);

/// What both hold.
Interval hull(const Interval& wide, const std::optional<Interval>& other);

}  // namespace ergon::study
