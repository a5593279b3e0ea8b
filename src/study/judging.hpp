// Parts of the analysis that its files share.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/study.hpp"

namespace ergon::study {

std::uint64_t hash_of(std::string_view text);
/// 2.5 % and 97.5 % of the values.
Interval quantiles95(std::vector<double> values);
double geometric_mean(std::span<const double> values);

/// Energies of the repeats of a setting contradict each other: one of two is 1.5 times the other,
/// or one of more is that far from the median and 6 scaled median deviations away.
bool repeats_disagree(const Dataset& data, const Point& point);
/// Faster than the clocks around it allow.
bool is_outlier(const Point& point);
/// Why samples of one workload cannot be, each by itself: a power or a clock that no GPU has, an
/// energy that is not its power times its time.
std::map<std::size_t, std::string> faults_by_themselves(const Dataset& data,
                                                        std::span<const std::size_t> samples,
                                                        bool units_known);
/// Points that are off by a factor of units (1000, 3600) from the others become unusable.
void mark_slips(const Dataset& data, Workload& workload);
bool is_unit_slip(std::string_view why);
/// Samples as workloads with points, ascending; each point with what speaks against it.
std::vector<Workload> make_points(const Dataset& data, const Options& options);
/// Baseline, optima, budgets, intervals, Pareto front of one workload.
struct RepeatSpread;
void find_optima(const Dataset& data, const Options& options, const RepeatSpread& shared,
                 Workload& workload);

/// Points with time and energy at the baseline's memory clock and limit, one a clock, ascending.
std::vector<std::size_t> clock_slice(const Workload& workload);
void fit_response(Workload& workload);
std::optional<ClockPrediction> predict_clocks(std::span<const Workload> workloads,
                                              const Options& options);

std::vector<FactorTable> factor_tables(const Dataset& data, const Study& study,
                                       const Options& options);

/// What is wrong with the data, the points and the optima.
void find_anomalies(const Dataset& data, const Options& options, Study& study);
/// Published power limit of a board; nullopt where it isn't known.
Maybe board_limit_w(std::string_view gpu);

std::string clock_words(double hz);
std::string setting_words(const Setting& setting);
std::string percent_words(double share);
/// The workload with its GPU, as findings name it.
std::string subject_of(const Workload& workload);

}  // namespace ergon::study
