// What follows from the samples: points, baseline, optima, Pareto front, response, factor tables.
#pragma once
#include <array>

#include "ergon/study/data.hpp"

namespace ergon::study {

enum class Metric : std::uint8_t { kEnergy, kEdp, kEd2p };

/// Part of a setting that picks the baseline. Offsets where `is_offset`.
struct BaselineSpec {
  Maybe clock_hz = {};
  Maybe memory_clock_hz = {};
  Maybe power_limit_w = {};
  bool is_offset = false;
};
/// `1380MHz`, `1800MHz,5000MHz`, `300W`, `+0MHz,+0MHz`.
Result<BaselineSpec> parse_baseline(std::string_view text);

struct Options {
  std::optional<BaselineSpec> baseline =
      {};  ///< none: highest clock, memory clock, then power limit
  Metric metric = Metric::kEnergy;
  Maybe max_slowdown = {};  ///< the optimum stays within it
  std::vector<double> budgets = {0.02, 0.05, 0.10};
  double clock_tolerance_hz = 15e6;
  double temperature_band_c = 20;  ///< spread of temperature that is named
  std::vector<std::vector<std::string>> by =
      {};                                  ///< factor tables; empty: each factor with two levels
  std::vector<double> fit_clocks_hz = {};  ///< fit from these and predict the others
  std::uint64_t seed = 1;
  std::size_t resamples = 2000;
};

/// The samples of one setting.
struct Point {
  Setting setting = {};
  Maybe achieved_hz = {};
  Maybe time = {};  ///< mean over the valid samples (all, where none is valid); with the energy and
                    ///< the power their median where three or more repeats disagree
  Maybe power_w = {};
  Maybe energy = {};
  Maybe temperature_c = {};
  bool baseline = false;                  ///< the data calls it its baseline
  std::vector<std::size_t> samples = {};  ///< into Dataset::samples
  std::vector<std::size_t> used = {};     ///< of them, those that the means are over
  std::vector<std::string> invalid = {};  ///< why it cannot win; empty: valid
  bool unusable = false;  ///< invalid, and its figures cannot be: no baseline by default either
};

enum class Edge : std::uint8_t { kNone, kLow, kHigh };

/// Ends of a 95 % interval, and what it is from: kRepeats and so on.
struct Interval {
  double low = 0;
  double high = 0;
  std::string_view from = {};
};
constexpr std::string_view kFromRepeats = "repeats";  ///< spread of settings measured twice or more
constexpr std::string_view kFromSensor = "sensor";    ///< the intervals that the data gives
constexpr std::string_view kFromBoth = "repeats and sensor";
constexpr std::string_view kFromConfigurations = "configurations";  ///< as a sample of more of them
constexpr std::string_view kFromWorkloads = "workloads";            ///< likewise

/// A chosen point against the baseline.
struct Best {
  std::size_t point = 0;
  double energy_saved = 0;
  double slowdown = 0;
  std::optional<Interval> energy_saved_ci95 = {};  ///< where repeats or the data's intervals tell
  Edge edge = Edge::kNone;                         ///< of the first of the axes that sits at an end
  std::string edge_of = {};                        ///< "clock", "memory_clock" or "power_limit"
};

/// "lowest clock", "highest power limit", "largest batch" (what the parameter is called); empty
/// within the grid.
std::string edge_words(const Best& best, const std::string& parameter);

/// Where a parabola through the best point and its neighbours has its minimum.
struct Interpolated {
  double value = 0;  ///< of the axis
  double low = 0;    ///< the sampled neighbours
  double high = 0;
  double energy_saved = 0;
  std::string axis = {};
  std::optional<Interval> value_ci95 = {};  ///< within the bracket; as Best::energy_saved_ci95
  std::optional<Interval> energy_saved_ci95 = {};
};

/// How time answers to the clock at the baseline's memory clock and limit.
struct ResponseFit {
  std::string form = {};              ///< "quadratic" or "knee"
  double leave_one_out = 0;           ///< root mean square, relative, of time
  Maybe break_hz = {};                ///< below it time grows faster than 1/f and than the fit
  Maybe below_break_elasticity = {};  ///< -d ln t / d ln f there
  Maybe cap_hz = {};                  ///< from here up more clock gives neither speed nor power
  std::size_t clocks = 0;
};

struct Workload {
  std::string name = {};
  std::string gpu = {};
  std::map<std::string, std::string> factors = {};
  std::vector<Point> points = {};  ///< ascending settings
  std::optional<std::size_t> baseline = {};
  std::string baseline_moved = {};  ///< which default baseline cannot be used, why, what is taken
  std::string unit_of_work = {};
  bool units_known = true;
  std::string not_believed = {};     ///< why no optimum is given; empty: believed
  std::optional<Best> optimum = {};  ///< of Options::metric, within Options::max_slowdown
  std::optional<Best> energy = {};
  std::optional<Best> edp = {};
  std::optional<Best> ed2p = {};
  std::vector<std::optional<Best>> budgets = {};  ///< as Options::budgets
  std::optional<Interpolated> interpolated = {};
  std::vector<std::size_t> pareto =
      {};  ///< valid points that none beats in time and energy, by time
  std::optional<ResponseFit> response = {};
};

struct Statistics {
  std::size_t count = 0;
  double mean = 0, median = 0, min = 0, max = 0;
  std::optional<Interval> mean_ci95 = {};  ///< over workloads, by bootstrap
};
std::optional<Statistics> statistics(std::vector<double> values);

struct FactorLevel {
  std::vector<std::string> level = {};
  std::size_t workloads = 0;    ///< with this level
  double energy_ratio = 1;      ///< optimum over baseline, geometric mean over the common ones
  double time_ratio = 1;        ///< likewise
  Maybe optimum_clock_hz = {};  ///< geometric mean
  Maybe baseline_energy = {};   ///< of the baseline against the first level, geometric mean
  Maybe baseline_time = {};
  std::optional<Interval> energy_ratio_ci95 = {};
  std::optional<Interval> baseline_energy_ci95 = {};
};

/// How much one level saves more than another, over the common configurations.
struct LevelDifference {
  std::size_t level = 0;  ///< into FactorTable::levels
  std::size_t than = 0;
  double energy_saved = 0;  ///< share that `level` saves less that which `than` saves
  std::optional<Interval> energy_saved_ci95 = {};  ///< holds 0: they cannot be told apart
  /// Of these configurations and no others: what repeats and sensors leave open.
  std::optional<Interval> measured_ci95 = {};
  Maybe baseline_energy = {};  ///< of `level` over `than`
  std::optional<Interval> baseline_energy_ci95 = {};
  /// Each common configuration by itself, as FactorTable::configurations; their intervals are of
  /// what was measured, never kFromConfigurations.
  struct One {
    double energy_saved = 0;
    std::optional<Interval> energy_saved_ci95 = {};
  };
  std::vector<One> configurations = {};
  [[nodiscard]] std::optional<bool> told_apart() const { return apart(energy_saved_ci95); }
  [[nodiscard]] std::optional<bool> told_apart_here() const { return apart(measured_ci95); }
  /// No figure here is known to less than a hundredth of a percent.
  static std::optional<bool> apart(const std::optional<Interval>& i) {
    if (!i) return {};
    return i->low > 5e-5 || i->high < -5e-5;
  }
};

struct FactorTable {
  std::vector<std::string> factors = {};
  std::size_t common = 0;  ///< configurations that every level has
  std::size_t total = 0;   ///< configurations that any level has
  std::vector<FactorLevel> levels = {};
  std::vector<std::string> configurations = {};  ///< the common ones: "batch=16, gpu=A100"
  /// Every pair of up to 12 levels, else each against the one that saves most; that which saves
  /// more first.
  std::vector<LevelDifference> differences = {};
};

/// Prediction from few clocks at the others.
struct ClockPrediction {
  std::vector<double> clocks_hz = {};
  std::size_t predicted = 0;
  double energy_mean = 0, energy_worst_workload = 0, energy_worst = 0;
  double time_mean = 0, time_worst_workload = 0, time_worst = 0;
};

struct Study {
  std::vector<Workload> workloads = {};
  std::string baseline_rule = {};  ///< in words, for people
  std::optional<Statistics> energy_saved = {};
  std::optional<Statistics> slowdown = {};
  std::optional<Statistics> efficiency_gain = {};
  std::vector<std::optional<Statistics>> budgets = {};  ///< energy saved at each
  std::vector<FactorTable> factors = {};
  std::vector<Finding> findings = {};
  std::optional<ClockPrediction> prediction = {};
  std::optional<double> break_hz = {};  ///< median over the workloads that have one
  std::size_t break_workloads = 0;
};

/// Deterministic for a seed.
Study analyse(const Dataset& data, const Options& options);

/// Names of the anomalies that `analyse` and `read` can find, with one sentence each.
std::span<const std::pair<std::string_view, std::string_view>> finding_kinds();

}  // namespace ergon::study
