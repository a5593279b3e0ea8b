// Anomalies of points against each other, of the baseline and of the optimum.
#include <algorithm>
#include <map>
#include <set>

#include "findings.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

// Pairs of neighbouring clocks at one memory clock and limit.
template <class Visit>
void neighbours(const Workload& w, Visit visit) {
  std::map<std::tuple<Maybe, Maybe, bool>, std::vector<const Point*>> lines;
  for (const Point& p : w.points) {
    if (!p.setting.clock_hz || !p.time || p.setting.default_clocks || p.unusable || is_outlier(p))
      continue;
    lines[{p.setting.memory_clock_hz, p.setting.power_limit_w, p.setting.clock_is_offset}]
        .push_back(&p);
  }
  for (const auto& [key, line] : lines) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) visit(*line[i], *line[i + 1]);
  }
}

}  // namespace

void Finder::rising_time(const Workload& w) {
  double worst = 0;
  std::string where;
  std::size_t count = 0;
  neighbours(w, [&](const Point& low, const Point& high) {
    const double rise = *high.time / *low.time - 1;
    if (rise <= kRising) return;
    ++count;
    if (rise <= worst) return;
    worst = rise;
    where = setting_words(high.setting) + " takes " + percent_words(rise) + " longer than " +
            setting_words(low.setting);
  });
  if (count > 0) {
    add("time_rises_with_clock", subject_of(w),
        where + (count > 1 ? ", and " + std::to_string(count - 1) + " more such pairs" : ""));
  }
}

// Limits that don't bind give one point several times.
void Finder::duplicates(const Workload& w) {
  std::map<std::pair<Maybe, Maybe>, std::vector<const Point*>> groups;
  for (const Point& p : w.points) {
    if (p.setting.clock_hz && p.setting.power_limit_w && p.time && p.energy)
      groups[{p.setting.clock_hz, p.setting.memory_clock_hz}].push_back(&p);
  }
  std::size_t clocks = 0;
  std::size_t points = 0;
  std::string where;
  for (const auto& [key, line] : groups) {
    // From the highest limit down as long as nothing changes.
    const Point& top = *line.back();
    std::size_t same = 1;
    double low = *top.energy;
    double high = *top.energy;
    const Point* last = &top;
    for (std::size_t k = line.size() - 1; k-- > 0;) {
      if (std::abs(*line[k]->time / *top.time - 1) > 0.01 ||
          std::abs(*line[k]->energy / *top.energy - 1) > 0.05)
        break;
      ++same;
      low = std::min(low, *line[k]->energy);
      high = std::max(high, *line[k]->energy);
      last = line[k];
    }
    if (same < 2) continue;
    ++clocks;
    points += same;
    if (where.empty()) {
      where = "at " + clock_words(*key.first) + " every limit from " +
              figure_text(*last->setting.power_limit_w) + " to " +
              figure_text(*top.setting.power_limit_w) +
              " W gives the same time, and energy that differs by " + percent_words(high / low - 1);
    }
  }
  if (clocks > 0) {
    add("duplicate_points", subject_of(w),
        std::to_string(points) + " points at " + counted_text(clocks, "clock") +
            " are one point each, for the limit doesn't bind: " + where);
  }
}

// Repeats against each other, and a point against those around it.
void Finder::contradictions(const Workload& w) {
  std::size_t count = 0;
  std::size_t several = 0;
  double most = 0;
  std::string where;
  for (const Point& p : w.points) {
    several += p.used.size() > 1 ? 1 : 0;
    for (const auto& why : p.invalid) {
      if (is_unit_slip(why)) add("unit_slip", subject_of(w), setting_words(p.setting) + ", " + why);
    }
    if (is_outlier(p))
      add("outlier_point", subject_of(w), setting_words(p.setting) + ", " + p.invalid.front());
    if (!repeats_disagree(data_, p)) continue;
    ++count;
    std::vector<double> energy;
    for (const auto i : p.used) {
      if (data_.samples[i].energy) energy.push_back(*data_.samples[i].energy);
    }
    const auto [low, high] = std::ranges::minmax(energy);
    if (high / low <= most) continue;
    most = high / low;
    where = std::to_string(energy.size()) + " measurements at " + setting_words(p.setting) +
            " give energies from " + figure_text(low) + " to " + figure_text(high) +
            (w.units_known ? " J" : "");
  }
  if (count == 0) return;
  if (4 * count > several && count >= 3) {
    where += ", and so do those at " + std::to_string(count - 1) + " more of " +
             std::to_string(several) + " settings: two workloads may share a name";
  } else if (count > 1) {
    where += ", and " + std::to_string(count - 1) + " more settings likewise";
  }
  add("repeats_disagree", subject_of(w), where);
}

void Finder::baseline(const Workload& w) {
  if (!w.baseline) {
    const bool any =
        std::ranges::any_of(w.points, [](const Point& p) { return p.energy.has_value(); });
    if (!any) {
      const bool power =
          std::ranges::any_of(w.points, [](const Point& p) { return p.power_w.has_value(); });
      add("energy_unknown", subject_of(w),
          power ? "there is power, but neither time nor throughput"
                : "no point has a power or an energy");
      return;
    }
    std::string grid;
    std::set<std::string> seen;
    for (auto it = w.points.rbegin(); it != w.points.rend(); ++it) {
      if (seen.size() < 6 && seen.insert(setting_words(it->setting)).second)
        grid += (grid.empty() ? "" : "; ") + setting_words(it->setting);
    }
    add("baseline_not_in_grid", subject_of(w),
        "the baseline that was asked for was not measured; the grid holds " + grid +
            (w.points.size() > 6 ? " and more" : ""));
    return;
  }
  if (!w.baseline_moved.empty()) add("baseline_not_valid", subject_of(w), w.baseline_moved);
  if (!w.points[*w.baseline].invalid.empty()) {
    add("baseline_not_valid", subject_of(w),
        "the baseline, " + setting_words(w.points[*w.baseline].setting) + ", " +
            w.points[*w.baseline].invalid.front());
  }
}

void Finder::edge(const Workload& w) {
  if (!w.optimum || w.optimum->edge == Edge::kNone) return;
  if (w.optimum->point == w.baseline) return;  // nothing is better, and nothing is promised
  add("edge_of_grid", subject_of(w),
      "the best point, " + setting_words(w.points[w.optimum->point].setting) + ", is at the " +
          edge_words(*w.optimum, data_.parameter_name) + " sampled: a better one may lie beyond");
}

void Finder::temperature(const Workload& w) {
  Maybe low;
  Maybe high;
  for (const Point& p : w.points) {
    if (!p.temperature_c || !p.invalid.empty()) continue;
    low = low ? std::min(*low, *p.temperature_c) : *p.temperature_c;
    high = high ? std::max(*high, *p.temperature_c) : *p.temperature_c;
  }
  if (low && high && *high - *low > options_.temperature_band_c) {
    add("temperature_band", subject_of(w),
        "valid points ran from " + figure_text(*low, 3) + " to " + figure_text(*high, 3) +
            " C: part of the energy is leakage");
  }
}

}  // namespace ergon::study
