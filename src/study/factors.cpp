// Factor tables: geometric means over the configurations that every level has.
#include <algorithm>
#include <map>
#include <set>

#include "cells.hpp"
#include "judging.hpp"

namespace ergon::study {
namespace {

std::string factor_of(const Workload& w, const std::string& name) {
  if (name == "gpu") return w.gpu;
  const auto at = w.factors.find(name);
  return at == w.factors.end() ? std::string() : at->second;
}

// A workload without the factors of the table: what must be common.
std::string configuration_of(const Workload& w, const std::vector<std::string>& factors) {
  std::string out;
  const auto varied = [&](const std::string& f) {
    return std::ranges::find(factors, f) != factors.end();
  };
  if (!varied("gpu")) out += "gpu=" + w.gpu + ";";
  for (const auto& [name, value] : w.factors) {
    if (name != "gpu" && !varied(name)) out += name + "=" + value + ";";
  }
  // Words of the name that no factor accounts for.
  for (const auto& word : words_of(w.name)) {
    const bool accounted =
        std::ranges::any_of(
            w.factors,
            [&](const auto& f) {
              const std::string value = squeezed(f.second);
              return value == word ||
                     (f.first != "batch" && value.find(word) != std::string::npos) ||
                     (value.size() > 2 && word.find(value) != std::string::npos) ||
                     (f.first == "batch" && (word == "b" + value || word == "bs" + value ||
                                             word == "batch" || word == "batch" + value));
            }) ||
        squeezed(w.gpu).find(word) != std::string::npos;
    if (!accounted) out += word + " ";
  }
  return out;
}

// Numbers in order of size, words after them.
bool level_less(const std::string& a, const std::string& b) {
  const Maybe x = number_of(a);
  const Maybe y = number_of(b);
  if (x && y && *x != *y) return *x < *y;
  if (x.has_value() != y.has_value()) return x.has_value();
  return a < b;
}
struct LevelLess {
  bool operator()(const std::vector<std::string>& a, const std::vector<std::string>& b) const {
    return std::ranges::lexicographical_compare(a, b, level_less);
  }
};

std::optional<FactorTable> table_of(const Study& study, const std::vector<std::string>& factors,
                                    const Options& options) {
  std::map<std::vector<std::string>, std::map<std::string, const Workload*>, LevelLess> levels;
  std::set<std::string> all;
  std::map<std::string, std::size_t> in_levels;
  std::map<std::vector<std::string>, std::size_t, LevelLess> counts;
  for (const Workload& w : study.workloads) {
    if (!w.optimum || !w.baseline) continue;
    std::vector<std::string> level;
    level.reserve(factors.size());
    for (const auto& f : factors) level.push_back(factor_of(w, f));
    if (std::ranges::any_of(level, [](const auto& l) { return l.empty(); })) continue;
    const std::string configuration = configuration_of(w, factors);
    ++counts[level];
    if (levels[level].emplace(configuration, &w).second) ++in_levels[configuration];
    all.insert(configuration);
  }
  if (levels.size() < 2) return {};
  FactorTable table{.factors = factors, .total = all.size(), .levels = {}};
  std::vector<std::string> common;
  for (const auto& [configuration, n] : in_levels) {
    if (n == levels.size()) common.push_back(configuration);
  }
  table.common = common.size();
  const auto& reference = levels.begin()->second;
  for (const auto& [level, workloads] : levels) {
    FactorLevel out{.level = level, .workloads = counts[level]};
    std::vector<double> energy;
    std::vector<double> time;
    std::vector<double> clocks;
    std::vector<double> base_energy;
    std::vector<double> base_time;
    for (const auto& configuration : common) {
      const Workload& w = *workloads.at(configuration);
      const Workload& r = *reference.at(configuration);
      const Point& base = w.points[*w.baseline];
      const Point& first = r.points[*r.baseline];
      energy.push_back(1 - w.optimum->energy_saved);
      if (!std::isnan(w.optimum->slowdown)) time.push_back(1 + w.optimum->slowdown);
      const Setting& s = w.points[w.optimum->point].setting;
      if (s.clock_hz && !s.clock_is_offset) clocks.push_back(*s.clock_hz);
      const bool comparable = w.units_known && r.units_known && w.unit_of_work == r.unit_of_work;
      if (comparable) base_energy.push_back(*base.energy / *first.energy);
      if (comparable && base.time && first.time) base_time.push_back(*base.time / *first.time);
    }
    out.energy_ratio = geometric_mean(energy);
    out.time_ratio = geometric_mean(time);
    if (clocks.size() == common.size() && !clocks.empty())
      out.optimum_clock_hz = geometric_mean(clocks);
    if (base_energy.size() == common.size() && !base_energy.empty())
      out.baseline_energy = geometric_mean(base_energy);
    if (base_time.size() == common.size() && !base_time.empty())
      out.baseline_time = geometric_mean(base_time);
    if (energy.size() >= 3) {
      SplitMix random(options.seed ^ hash_of(level.front()));
      std::vector<double> means;
      std::vector<double> drawn(energy.size());
      for (std::size_t i = 0; i < options.resamples; ++i) {
        for (double& d : drawn) d = energy[random.below(energy.size())];
        means.push_back(geometric_mean(drawn));
      }
      out.energy_ratio_ci95 = quantiles95(std::move(means));
    }
    table.levels.push_back(std::move(out));
  }
  return table;
}

}  // namespace

std::vector<FactorTable> factor_tables(const Study& study, const Options& options) {
  std::vector<std::vector<std::string>> wanted = options.by;
  if (wanted.empty()) {
    for (const char* f :
         {"gpu", "network", "batch", "algorithm", "mode", "precision", "optimizer", "dataset"})
      wanted.push_back({f});
  }
  std::vector<FactorTable> tables;
  for (const auto& factors : wanted) {
    auto table = table_of(study, factors, options);
    // Without being asked only what has something in common is shown.
    if (table && (!options.by.empty() || table->common > 0)) tables.push_back(*std::move(table));
  }
  return tables;
}

}  // namespace ergon::study
