// The analysis from end to end, and its statistics.
#include <algorithm>

#include "judging.hpp"
#include "reading.hpp"
#include "uncertainty.hpp"

namespace ergon::study {
namespace {

std::string rule_words(const Dataset& data, const Options& options) {
  if (options.baseline) {
    Setting s;
    s.clock_hz = options.baseline->clock_hz;
    s.memory_clock_hz = options.baseline->memory_clock_hz;
    s.power_limit_w = options.baseline->power_limit_w;
    s.clock_is_offset = s.memory_is_offset = options.baseline->is_offset;
    return setting_words(s) + ", as asked for";
  }
  if (data.samples.empty()) return "none, for nothing here was measured";
  bool clocks = false;
  bool limits = false;
  bool defaults = false;
  bool named = false;
  for (const Sample& s : data.samples) {
    clocks = clocks || s.setting.clock_hz;
    limits = limits || s.setting.power_limit_w;
    defaults = defaults || s.setting.default_clocks;
    named = named || s.baseline;
  }
  if (named) return "what the data calls its baseline (--baseline names another)";
  if (defaults) return "the default clocks where they were measured, else the highest clock";
  if (clocks) return "the highest clock of each workload (the default; --baseline names another)";
  if (limits)
    return "the highest power limit of each workload (the default; --baseline names another)";
  return "the smallest " + (data.parameter_name.empty() ? "setting" : data.parameter_name) +
         " of each workload (the data has no clocks)";
}

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 1469598103934665603ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

Interval quantiles95(std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double q) {
    const double place = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double share = place - static_cast<double>(below);
    return values[below] * (1 - share) + values[above] * share;
  };
  return {at(0.025), at(0.975), {}};
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += std::log(v);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

std::optional<Statistics> statistics(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return {};
  Statistics out;
  out.count = values.size();
  for (const double v : values) out.mean += v;
  out.mean /= static_cast<double>(values.size());
  out.median = median_of(values);
  out.min = *std::ranges::min_element(values);
  out.max = *std::ranges::max_element(values);
  return out;
}

std::string clock_words(double hz) { return figure_text(hz / 1e6, 6) + " MHz"; }

std::string percent_words(double share) { return figure_text(100 * share, 3) + " %"; }

std::string setting_words(const Setting& s) {
  if (s.default_clocks && !s.clock_hz) return "default clocks";
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const auto offset = [](double hz) { return (hz >= 0 ? "+" : "") + clock_words(hz); };
  if (s.clock_hz) add(s.clock_is_offset ? offset(*s.clock_hz) : clock_words(*s.clock_hz));
  if (s.memory_clock_hz) {
    add("memory " +
        (s.memory_is_offset ? offset(*s.memory_clock_hz) : clock_words(*s.memory_clock_hz)));
  }
  if (s.power_limit_w) add(figure_text(*s.power_limit_w) + " W");
  if (s.parameter) add(figure_text(*s.parameter));
  return out.empty() ? "its one setting" : out;
}

std::string edge_words(const Best& best, const std::string& parameter) {
  if (best.edge == Edge::kNone) return "";
  const bool low = best.edge == Edge::kLow;
  if (best.edge_of == "parameter")
    return (low ? "smallest " : "largest ") + (parameter.empty() ? "setting" : parameter);
  std::string axis = best.edge_of;
  std::ranges::replace(axis, '_', ' ');
  return (low ? "lowest " : "highest ") + axis;
}

std::string subject_of(const Workload& w) {
  return w.gpu.empty() ? w.name : w.name + " on " + w.gpu;
}

Study analyse(const Dataset& data, const Options& options) {
  Study study;
  study.baseline_rule = rule_words(data, options);
  study.workloads = make_points(data, options);
  std::vector<double> saved;
  std::vector<double> slower;
  std::vector<double> gain;
  std::vector<double> breaks;
  std::vector<std::vector<double>> within(options.budgets.size());
  const auto spreads = repeat_spreads(data, study.workloads);
  for (Workload& w : study.workloads) {
    find_optima(data, options, spreads.at(w.gpu), w);
    if (w.baseline) fit_response(w);
    if (w.response && w.response->break_hz) breaks.push_back(*w.response->break_hz);
    if (!w.optimum) continue;
    saved.push_back(w.optimum->energy_saved);
    slower.push_back(w.optimum->slowdown);
    gain.push_back(1 / (1 - w.optimum->energy_saved) - 1);
    for (std::size_t i = 0; i < within.size(); ++i) {
      if (w.budgets[i]) within[i].push_back(w.budgets[i]->energy_saved);
    }
  }
  const auto with_interval = [&](std::vector<double> values) {
    auto out = statistics(values);
    std::erase_if(values, [](double v) { return !std::isfinite(v); });
    if (!out || values.size() < 3) return out;
    SplitMix random(options.seed);
    std::vector<double> means;
    means.reserve(options.resamples);
    for (std::size_t i = 0; i < options.resamples; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < values.size(); ++k) sum += values[random.below(values.size())];
      means.push_back(sum / static_cast<double>(values.size()));
    }
    out->mean_ci95 = bootstrap95(out->mean, std::move(means), values.size());
    out->mean_ci95->from = kFromWorkloads;
    return out;
  };
  study.energy_saved = with_interval(std::move(saved));
  study.slowdown = with_interval(std::move(slower));
  study.efficiency_gain = with_interval(std::move(gain));
  for (auto& values : within) study.budgets.push_back(with_interval(std::move(values)));
  if (!breaks.empty()) {
    study.break_workloads = breaks.size();
    study.break_hz = median_of(std::move(breaks));
  }
  const auto moved = std::ranges::count_if(
      study.workloads, [](const Workload& w) { return !w.baseline_moved.empty(); });
  if (moved > 0) {
    study.baseline_rule += ", of " + counted_text(static_cast<std::uint64_t>(moved), "workload") +
                           " the next one that can be used";
  }
  study.factors = factor_tables(data, study, options);
  study.prediction = predict_clocks(study.workloads, options);
  find_anomalies(data, options, study);
  return study;
}

}  // namespace ergon::study
