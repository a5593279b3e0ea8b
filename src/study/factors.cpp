// Factor tables: geometric means over the configurations that every level has.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>

#include "cells.hpp"
#include "uncertainty.hpp"

namespace ergon::study {
namespace {

// From so many configurations on, their spread says more than the errors of each.
constexpr std::size_t kManyConfigurations = 30;
constexpr std::size_t kAllPairs = 12;  // levels up to which every pair is compared

std::string factor_of(const Workload& w, const std::string& name) {
  if (name == "gpu") return w.gpu;
  if (name == "workload") return w.name;
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
  if (varied("workload")) return out;
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

// "gpu=A100;batch=16;train " as people read it: "gpu=A100, batch=16, train".
std::string configuration_words(std::string_view key) {
  std::string out;
  for (std::size_t at = 0; at < key.size();) {
    const std::size_t end = std::min(key.find(';', at), key.size());
    const std::string_view part = trimmed(key.substr(at, end - at));
    if (!part.empty() && !part.ends_with('=')) {
      out += out.empty() ? "" : ", ";
      out += part;
    }
    at = end + 1;
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

// A factor table while it is made: workloads by level and configuration.
class FactorReader {
 public:
  FactorReader(const Dataset& data, const Options& options, std::vector<std::string> factors)
      : data_(data), options_(options), factors_(std::move(factors)) {}

  std::optional<FactorTable> read(const Study& study) {
    spreads_ = repeat_spreads(data_, study.workloads);
    std::set<std::string> all;
    std::map<std::string, std::size_t> in_levels;
    for (const Workload& w : study.workloads) {
      if (!w.optimum || !w.baseline) continue;
      std::vector<std::string> level;
      level.reserve(factors_.size());
      for (const auto& f : factors_) level.push_back(factor_of(w, f));
      if (std::ranges::any_of(level, [](const auto& l) { return l.empty(); })) continue;
      const std::string configuration = configuration_of(w, factors_);
      ++counts_[level];
      if (levels_[level].emplace(configuration, &w).second) ++in_levels[configuration];
      all.insert(configuration);
    }
    if (levels_.size() < 2) return {};
    FactorTable table{.factors = factors_,
                      .total = all.size(),
                      .levels = {},
                      .configurations = {},
                      .differences = {}};
    for (const auto& [configuration, n] : in_levels) {
      if (n == levels_.size()) table.configurations.push_back(configuration);
    }
    table.common = table.configurations.size();
    many_ = table.common >= kManyConfigurations;
    for (const auto& [level, workloads] : levels_) {
      std::vector<Cell> cells;
      cells.reserve(table.configurations.size());
      for (const auto& configuration : table.configurations)
        cells.push_back(cell_of(*workloads.at(configuration)));
      cells_.push_back(std::move(cells));
      names_.push_back(level);
    }
    for (std::size_t l = 0; l < names_.size(); ++l) table.levels.push_back(level_of(l));
    if (table.common > 0) add_differences(table);
    for (auto& c : table.configurations) c = configuration_words(c);
    return table;
  }

 private:
  // What one workload gives, and what it may have been: empty where no error is known.
  struct Cell {
    const Workload* workload = nullptr;
    double ratio = 1;  // energy of the best point over that of the baseline
    std::vector<double> ratios = {};
    std::vector<double> base = {};
    std::string_view from = {};
  };

  [[nodiscard]] Cell cell_of(const Workload& w) const {
    Cell out{.workload = &w, .ratio = 1 - w.optimum->energy_saved};
    if (many_) return out;
    const EnergyErrors errors(data_, w, spreads_.at(w.gpu));
    const std::array<std::size_t, 2> pair = {w.optimum->point, *w.baseline};
    if (!errors.known(pair)) return out;
    out.from = errors.from(pair);
    for (const auto& row : errors.draws(options_, pair)) {
      out.ratios.push_back(pair[0] == pair[1] ? 1.0 : row[0] / row[1]);
      out.base.push_back(row[1]);
    }
    return out;
  }

  static bool comparable(const Cell& a, const Cell& b) {
    return a.workload->units_known && b.workload->units_known &&
           a.workload->unit_of_work == b.workload->unit_of_work;
  }
  static double base_energy(const Cell& c) {
    return *c.workload->points[*c.workload->baseline].energy;
  }

  // What was measured may have been otherwise; nullopt where of one part that is not known.
  // `figure` gets the index of a resample.
  template <class Figure>
  [[nodiscard]] std::optional<Interval> measured(std::initializer_list<std::size_t> levels,
                                                 Figure figure) const {
    std::string_view from;
    for (const auto l : levels) {
      for (const Cell& c : cells_[l]) {
        if (c.ratios.empty()) return {};
        from = from.empty() || from == c.from ? c.from : kFromBoth;
      }
    }
    std::vector<double> values;
    values.reserve(options_.resamples);
    for (std::size_t k = 0; k < options_.resamples; ++k) values.push_back(figure(k));
    Interval out = quantiles95(std::move(values));
    out.from = from;
    return out;
  }

  // Configurations drawn with replacement, the same for all levels (paired); `figure` gets them.
  // From three on; below, and never narrower than, what was measured.
  template <class Figure>
  [[nodiscard]] std::optional<Interval> over_configurations(double estimate, std::uint64_t salt,
                                                            const std::optional<Interval>& measured,
                                                            Figure figure) const {
    const std::size_t n = cells_.front().size();
    if (n < 3) return measured;
    SplitMix random(options_.seed ^ salt);
    std::vector<double> values;
    values.reserve(options_.resamples);
    std::vector<std::size_t> drawn(n);
    for (std::size_t k = 0; k < options_.resamples; ++k) {
      for (auto& d : drawn) d = random.below(n);
      values.push_back(figure(drawn));
    }
    Interval out = bootstrap95(estimate, std::move(values), n);
    out.from = kFromConfigurations;
    return hull(out, measured);
  }

  template <class Part>
  static double mean_log(std::span<const std::size_t> drawn, Part part) {
    double sum = 0;
    for (const auto c : drawn) sum += std::log(part(c));
    return sum / static_cast<double>(drawn.size());
  }
  // Over all configurations.
  template <class Part>
  [[nodiscard]] double mean_log(Part part) const {
    double sum = 0;
    for (std::size_t c = 0; c < cells_.front().size(); ++c) sum += std::log(part(c));
    return sum / static_cast<double>(cells_.front().size());
  }
  // Ratios are widened as logarithms.
  static std::optional<Interval> exponential(const std::optional<Interval>& logs) {
    if (!logs) return {};
    return Interval{std::exp(logs->low), std::exp(logs->high), logs->from};
  }

  [[nodiscard]] bool all_comparable(std::size_t a, std::size_t b) const {
    for (std::size_t c = 0; c < cells_[a].size(); ++c) {
      if (!comparable(cells_[a][c], cells_[b][c])) return false;
    }
    return true;
  }

  // Energy of a level's baselines over another's, with its interval.
  void compare_baselines(std::size_t a, std::size_t b, Maybe& ratio,
                         std::optional<Interval>& interval) const {
    if (!all_comparable(a, b)) return;
    const auto part = [&](std::size_t c) {
      return base_energy(cells_[a][c]) / base_energy(cells_[b][c]);
    };
    const double log_ratio = mean_log(part);
    ratio = std::exp(log_ratio);
    if (a == b) return;
    const auto own = measured({a, b}, [&](std::size_t k) {
      return mean_log([&](std::size_t c) { return cells_[a][c].base[k] / cells_[b][c].base[k]; });
    });
    interval = exponential(
        over_configurations(log_ratio, hash_of(names_[a].front() + "\x1f" + names_[b].front()), own,
                            [&](const auto& drawn) { return mean_log(drawn, part); }));
  }

  [[nodiscard]] FactorLevel level_of(std::size_t l) {
    FactorLevel out{.level = names_[l], .workloads = counts_[names_[l]]};
    const auto& cells = cells_[l];
    if (cells.empty()) return out;
    std::vector<double> time;
    std::vector<double> clocks;
    std::vector<double> base_time;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const Workload& w = *cells[c].workload;
      const Workload& r = *cells_.front()[c].workload;
      const Maybe base = w.points[*w.baseline].time;
      const Maybe first = r.points[*r.baseline].time;
      if (!std::isnan(w.optimum->slowdown)) time.push_back(1 + w.optimum->slowdown);
      const Setting& s = w.points[w.optimum->point].setting;
      if (s.clock_hz && !s.clock_is_offset) clocks.push_back(*s.clock_hz);
      if (comparable(cells[c], cells_.front()[c]) && base && first)
        base_time.push_back(*base / *first);
    }
    const auto ratio = [&](std::size_t c) { return cells[c].ratio; };
    const double log_ratio = mean_log(ratio);
    out.energy_ratio = std::exp(log_ratio);
    out.time_ratio = geometric_mean(time);
    if (clocks.size() == cells.size()) out.optimum_clock_hz = geometric_mean(clocks);
    if (base_time.size() == cells.size()) out.baseline_time = geometric_mean(base_time);
    compare_baselines(l, 0, out.baseline_energy, out.baseline_energy_ci95);
    const auto own = measured({l}, [&](std::size_t k) {
      return mean_log([&](std::size_t c) { return cells[c].ratios[k]; });
    });
    out.energy_ratio_ci95 =
        exponential(over_configurations(log_ratio, hash_of(names_[l].front()), own,
                                        [&](const auto& drawn) { return mean_log(drawn, ratio); }));
    return out;
  }

  [[nodiscard]] LevelDifference difference(std::size_t a, std::size_t b) const {
    LevelDifference out{.level = a, .than = b};
    const auto saved_more = [&](double log_a, double log_b) {
      return std::exp(log_b) - std::exp(log_a);
    };
    const auto of = [&](std::size_t l) {
      return [this, l](std::size_t c) { return cells_[l][c].ratio; };
    };
    out.energy_saved = saved_more(mean_log(of(a)), mean_log(of(b)));
    const auto own = measured({a, b}, [&](std::size_t k) {
      const auto drawn = [&](std::size_t l) {
        return mean_log([&](std::size_t c) { return cells_[l][c].ratios[k]; });
      };
      return saved_more(drawn(a), drawn(b));
    });
    out.measured_ci95 = own;
    out.energy_saved_ci95 = over_configurations(
        out.energy_saved, hash_of(names_[a].front() + "\x1e" + names_[b].front()), own,
        [&](const auto& drawn) {
          return saved_more(mean_log(drawn, of(a)), mean_log(drawn, of(b)));
        });
    compare_baselines(a, b, out.baseline_energy, out.baseline_energy_ci95);
    for (std::size_t c = 0; c < cells_[a].size(); ++c) {
      const Cell& x = cells_[a][c];
      const Cell& y = cells_[b][c];
      LevelDifference::One one{.energy_saved = y.ratio - x.ratio, .energy_saved_ci95 = {}};
      if (!x.ratios.empty() && !y.ratios.empty()) {
        std::vector<double> values;
        values.reserve(x.ratios.size());
        for (std::size_t k = 0; k < x.ratios.size(); ++k)
          values.push_back(y.ratios[k] - x.ratios[k]);
        one.energy_saved_ci95 = quantiles95(std::move(values));
        one.energy_saved_ci95->from = x.from == y.from ? x.from : kFromBoth;
      }
      out.configurations.push_back(one);
    }
    return out;
  }

  // The level that saves more comes first.
  void add_differences(FactorTable& table) const {
    std::vector<std::size_t> order(table.levels.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {},
                             [&](std::size_t l) { return table.levels[l].energy_ratio; });
    const std::size_t firsts = order.size() <= kAllPairs ? order.size() : 1;
    for (std::size_t i = 0; i < firsts; ++i) {
      for (std::size_t k = i + 1; k < order.size(); ++k)
        table.differences.push_back(difference(order[i], order[k]));
    }
  }

  const Dataset& data_;
  const Options& options_;
  bool many_ = false;
  std::map<std::string, RepeatSpread> spreads_;
  std::vector<std::string> factors_;
  std::map<std::vector<std::string>, std::map<std::string, const Workload*>, LevelLess> levels_;
  std::map<std::vector<std::string>, std::size_t, LevelLess> counts_;
  std::vector<std::vector<std::string>> names_;  // of the levels, in order
  std::vector<std::vector<Cell>> cells_;         // by level, by common configuration
};

}  // namespace

std::vector<FactorTable> factor_tables(const Dataset& data, const Study& study,
                                       const Options& options) {
  std::vector<std::vector<std::string>> wanted = options.by;
  if (wanted.empty()) {
    for (const char* f :
         {"gpu", "network", "batch", "algorithm", "mode", "precision", "optimizer", "dataset"})
      wanted.push_back({f});
  }
  std::vector<FactorTable> tables;
  for (const auto& factors : wanted) {
    auto table = FactorReader(data, options, factors).read(study);
    // Without being asked only what has something in common is shown.
    if (table && (!options.by.empty() || table->common > 0)) tables.push_back(*std::move(table));
  }
  if (!tables.empty() || !options.by.empty()) return tables;
  // Workloads that no factor tells apart, where something is known of their errors.
  auto table = FactorReader(data, options, {"workload"}).read(study);
  const bool shown = table && table->common > 0 && table->levels.size() <= kAllPairs &&
                     std::ranges::any_of(table->differences, [](const LevelDifference& d) {
                       return d.energy_saved_ci95.has_value();
                     });
  if (shown) tables.push_back(*std::move(table));
  return tables;
}

}  // namespace ergon::study
