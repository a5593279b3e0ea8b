// Anomalies: what in the data contradicts itself, physics, or its own labels.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cells.hpp"
#include "ergon/model.hpp"
#include "judging.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

constexpr double kRising = 0.05;    // time at a higher clock over that at a lower one
constexpr double kProduct = 0.05;   // energy against power times time
constexpr double kColumn = 0.02;    // a stated ratio against the one of its parts
constexpr double kFirstRun = 0.10;  // first repeat against the others
constexpr double kLowPower = 0.28;  // of the board's limit, at the most a workload draws
constexpr double kAboveLimit = 1.05;

// Published power limits in W (vendors' product pages), for boards that the device files don't
// hold.
constexpr std::array<std::pair<std::string_view, double>, 16> kBoards = {{
    {"GTX 980", 165},
    {"Titan X", 250},
    {"Titan Xp", 250},
    {"GTX 1080 Ti", 250},
    {"RTX 2070 Super", 215},
    {"RTX 2080 Ti", 250},
    {"RTX 8000", 260},
    {"RTX 6000", 260},
    {"RTX 3060", 170},
    {"P100", 250},
    {"Titan V", 250},
    {"T4", 70},
    {"K40m", 235},
    {"A40", 300},
    {"RTX PRO 6000", 600},
    {"RX 480", 150},
}};

class Finder {
 public:
  Finder(const Dataset& data, const Options& options, Study& study)
      : data_(data), options_(options), study_(study) {}

  void run() {
    study_.findings = data_.findings;
    for (const Claim& c : data_.claims) claim(c);
    for (const Workload& w : study_.workloads) {
      rising_time(w);
      products(w);
      clocks(w);
      idle(w);
      cold_start(w);
      limits(w);
      duplicates(w);
      contradictions(w);
      baseline(w);
      edge(w);
      temperature(w);
    }
    merge();
  }

 private:
  void add(std::string kind, std::string subject, std::string evidence) {
    study_.findings.push_back({std::move(kind), std::move(subject), std::move(evidence)});
  }

  void claim(const Claim& c) {
    const std::string subject = c.workload + (c.gpu.empty() ? "" : " on " + c.gpu);
    add("results_only", subject,
        "a published optimum (" + clock_words(c.clock_hz) + " against " +
            clock_words(c.top_clock_hz) + ", " + percent_words(c.energy_saved) +
            " saved) without the measurements behind it: it can't be checked, and is not believed");
    if (c.slowdown < -0.005) {
      add("time_rises_with_clock", subject,
          clock_words(c.clock_hz) + " is said to be " + percent_words(-c.slowdown) +
              " faster than " + clock_words(c.top_clock_hz));
    }
    if (c.slowdown < -kRising) {
      add("cold_start", subject,
          "no GPU is " + percent_words(-c.slowdown) +
              " slower at a higher clock: the highest clock was most likely measured cold, or "
              "first");
    }
  }

  // Pairs of neighbouring clocks at one memory clock and limit.
  template <class Visit>
  static void neighbours(const Workload& w, Visit visit) {
    std::map<std::tuple<Maybe, Maybe, bool>, std::vector<const Point*>> lines;
    for (const Point& p : w.points) {
      if (!p.setting.clock_hz || !p.time || p.setting.default_clocks || is_outlier(p)) continue;
      lines[{p.setting.memory_clock_hz, p.setting.power_limit_w, p.setting.clock_is_offset}]
          .push_back(&p);
    }
    for (const auto& [key, line] : lines) {
      for (std::size_t i = 0; i + 1 < line.size(); ++i) visit(*line[i], *line[i + 1]);
    }
  }

  void rising_time(const Workload& w) {
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

  void products(const Workload& w) {
    double worst = 0;
    std::size_t count = 0;
    std::size_t all = 0;
    std::string where;
    double check_scale = 0;
    const double usual = w.units_known ? 1 : usual_product(w);
    double worst_check = 0;
    for (const Point& p : w.points) {
      for (const auto i : p.samples) {
        const Sample& s = data_.samples[i];
        if (s.energy && s.power_w && s.time && !s.energy_derived) {
          ++all;
          const double off = *s.energy / (*s.power_w * *s.time) / usual - 1;
          if (std::abs(off) > kProduct) {
            ++count;
            if (std::abs(off) > std::abs(worst)) {
              worst = off;
              where = setting_words(p.setting);
            }
          }
        }
        if (s.check && s.rate && s.power_w) {
          const double ratio = *s.check / (*s.rate / *s.power_w);
          if (check_scale == 0) check_scale = ratio;
          worst_check = std::max(worst_check, std::abs(ratio / check_scale - 1));
        }
      }
    }
    if (count > 0) {
      add("energy_is_not_power_times_time", subject_of(w),
          "in " + std::to_string(count) + " of " + std::to_string(all) + " rows, most at " + where +
              ": " + (worst > 0 ? "+" : "") + figure_text(100 * worst, 3) + " %");
    }
    if (worst_check > kColumn) {
      add("column_disagrees", subject_of(w),
          "the stated efficiency is off by up to " + percent_words(worst_check) +
              " from performance over power");
    }
  }

  // Where units are not known energy is power times time up to one factor.
  [[nodiscard]] double usual_product(const Workload& w) const {
    std::vector<double> ratios;
    for (const Point& p : w.points) {
      for (const auto i : p.samples) {
        const Sample& s = data_.samples[i];
        if (s.energy && s.power_w && s.time) ratios.push_back(*s.energy / (*s.power_w * *s.time));
      }
    }
    const double middle = median_of(std::move(ratios));
    return middle > 0 ? middle : 1;
  }

  void clocks(const Workload& w) {
    std::size_t below = 0;
    std::size_t above = 0;
    std::size_t drifted = 0;
    std::size_t throttled = 0;
    std::size_t all = 0;
    std::string worst_below;
    std::string worst_above;
    double miss_below = 0;
    double miss_above = 0;
    std::string drift;
    for (const Point& p : w.points) {
      for (const auto i : p.samples) {
        const Sample& s = data_.samples[i];
        ++all;
        if (s.why_bad.find("throttled") != std::string::npos) ++throttled;
        if (s.setting.clock_hz && s.achieved_hz && !s.setting.clock_is_offset) {
          const double miss = *s.achieved_hz - *s.setting.clock_hz;
          const std::string words =
              clock_words(*s.setting.clock_hz) + " asked, " + clock_words(*s.achieved_hz) + " got";
          if (miss < -options_.clock_tolerance_hz) {
            ++below;
            if (-miss > miss_below) {
              miss_below = -miss;
              worst_below = words;
            }
          } else if (miss > options_.clock_tolerance_hz) {
            ++above;
            if (miss > miss_above) {
              miss_above = miss;
              worst_above = words;
            }
          }
        }
        const bool spread =
            s.memory_low_hz && s.memory_high_hz && *s.memory_high_hz > 1.01 * *s.memory_low_hz;
        if (spread) {
          ++drifted;
          drift = clock_words(*s.memory_low_hz) + " to " + clock_words(*s.memory_high_hz);
        }
      }
      for (const auto& why : p.invalid) {
        if (why.starts_with("the memory ran at")) {
          ++drifted;
          drift = why;
        }
      }
    }
    const std::string of = " of " + std::to_string(all) + " rows: ";
    if (below > 0) add("clock_not_held", subject_of(w), std::to_string(below) + of + worst_below);
    if (above > 0)
      add("wrong_label", subject_of(w),
          std::to_string(above) + of + worst_above + ": the label is not what ran");
    if (drifted > 0) add("memory_clock_drift", subject_of(w), std::to_string(drifted) + of + drift);
    if (throttled > 0)
      add("throttled", subject_of(w), std::to_string(throttled) + of + "the data says so");
  }

  void idle(const Workload& w) {
    double least = 1;
    std::size_t count = 0;
    std::size_t all = 0;
    for (const Point& p : w.points) {
      for (const auto i : p.samples) {
        if (!data_.samples[i].utilization) continue;
        ++all;
        if (*data_.samples[i].utilization >= 0.5) continue;
        ++count;
        least = std::min(least, *data_.samples[i].utilization);
      }
    }
    if (count > 0) {
      add("idle_contamination", subject_of(w),
          "in " + std::to_string(count) + " of " + std::to_string(all) +
              " rows the GPU was busy for less than half of the window in which its power was "
              "averaged (down to " +
              percent_words(least) + "): power and energy are not those of the work");
    }
  }

  void cold_start(const Workload& w) {
    for (const Point& p : w.points) {
      // The first repeat against the others of its setting.
      if (p.samples.size() >= 3) {
        const Maybe first = data_.samples[p.samples.front()].time;
        std::vector<double> others;
        for (std::size_t k = 1; k < p.samples.size(); ++k) {
          if (const Maybe t = data_.samples[p.samples[k]].time) others.push_back(*t);
        }
        if (first && others.size() >= 2 && *first > (1 + kFirstRun) * median_of(others)) {
          add("cold_start", subject_of(w),
              "at " + setting_words(p.setting) + " the first repeat takes " +
                  percent_words(*first / median_of(others) - 1) + " longer than the others");
        }
      }
      for (const auto& why : p.invalid) {
        if (why.starts_with("takes ")) {
          add("cold_start", subject_of(w),
              setting_words(p.setting) + " " + why +
                  ": it was most likely measured cold, or first, and doesn't count");
        }
      }
    }
  }

  void limits(const Workload& w) {
    std::size_t above = 0;
    std::string worst;
    double ratio = 1;
    double most = 0;
    double least = 0;
    const Maybe board = board_limit_w(w.gpu);
    for (const Point& p : w.points) {
      if (!p.power_w) continue;
      most = std::max(most, *p.power_w);
      least = least == 0 ? *p.power_w : std::min(least, *p.power_w);
      const double gpus = data_.samples[p.samples.front()].gpus;
      Maybe limit = p.setting.power_limit_w ? p.setting.power_limit_w : board;
      if (limit) *limit *= gpus;
      if (limit && *p.power_w > kAboveLimit * *limit) {
        ++above;
        if (*p.power_w / *limit > ratio) {
          ratio = *p.power_w / *limit;
          worst = figure_text(*p.power_w) + " W under a limit of " + figure_text(*limit) + " W";
        }
      }
    }
    if (above > 0) {
      add("power_above_limit", subject_of(w), counted_text(above, "point") + ", most: " + worst);
    }
    if (board && most > 0 && most < kLowPower * *board) {
      add("power_implausibly_low", subject_of(w),
          "at most " + figure_text(most) + " W on a board of " + figure_text(*board) +
              " W: the GPU idled for most of the window, or nearly so");
    }
    const auto device = w.gpu.empty() ? std::nullopt : idle_of(w.gpu);
    if (device && least > 0 && least < *device) {
      add("power_below_idle", subject_of(w),
          figure_text(least) + " W is less than the board draws idle (" + figure_text(*device) +
              " W)");
    }
  }

  static Maybe idle_of(const std::string& gpu) {
    // A fifth below the interval: idle at a low clock and a cool board.
    const auto found = model::find_device_of_trace(gpu);
    return found ? Maybe(0.8 * found->device.idle_w.estimate.low) : Maybe{};
  }

  // Limits that don't bind give one point several times.
  void duplicates(const Workload& w) {
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
                " W gives the same time, and energy that differs by " +
                percent_words(high / low - 1);
      }
    }
    if (clocks > 0) {
      add("duplicate_points", subject_of(w),
          std::to_string(points) + " points at " + counted_text(clocks, "clock") +
              " are one point each, for the limit doesn't bind: " + where);
    }
  }

  // Repeats against each other, and a point against those around it.
  void contradictions(const Workload& w) {
    std::size_t count = 0;
    std::size_t several = 0;
    double most = 0;
    std::string where;
    for (const Point& p : w.points) {
      several += p.used.size() > 1 ? 1 : 0;
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

  void baseline(const Workload& w) {
    if (!w.baseline) {
      const bool any =
          std::ranges::any_of(w.points, [](const Point& p) { return p.energy.has_value(); });
      if (!any) {
        add("energy_unknown", subject_of(w), "no point has a power or an energy");
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
    if (!w.points[*w.baseline].invalid.empty()) {
      add("baseline_not_valid", subject_of(w),
          "the baseline, " + setting_words(w.points[*w.baseline].setting) + ", " +
              w.points[*w.baseline].invalid.front());
    }
  }

  void edge(const Workload& w) {
    if (!w.optimum || w.optimum->edge == Edge::kNone) return;
    if (w.optimum->point == w.baseline) return;  // nothing is better, and nothing is promised
    const bool low = w.optimum->edge == Edge::kLow;
    std::string axis = w.optimum->edge_of;
    std::ranges::replace(axis, '_', ' ');
    if (axis == "parameter") axis = data_.parameter_name;
    add("edge_of_grid", subject_of(w),
        "the best point, " + setting_words(w.points[w.optimum->point].setting) + ", has the " +
            (low ? "lowest " : "highest ") + axis + " sampled: a better one may lie beyond");
  }

  void temperature(const Workload& w) {
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

  // One line a kind and subject; reading and judging may name the same.
  void merge() {
    std::set<std::tuple<std::string, std::string, std::string>> seen;
    std::erase_if(study_.findings, [&](const Finding& f) {
      return !seen.emplace(f.kind, f.subject, f.evidence).second;
    });
  }

  const Dataset& data_;
  const Options& options_;
  Study& study_;
};

}  // namespace

Maybe board_limit_w(std::string_view gpu) {
  for (const auto& [name, watts] : kBoards) {
    if (name == gpu) return watts;
  }
  const auto found = model::find_device_of_trace(gpu);
  return found ? Maybe(found->device.power_limit_w.value()) : Maybe{};
}

void find_anomalies(const Dataset& data, const Options& options, Study& study) {
  Finder(data, options, study).run();
}

std::span<const std::pair<std::string_view, std::string_view>> finding_kinds() {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 25> kKinds = {{
      {"time_rises_with_clock", "a higher clock takes clearly longer than a lower one"},
      {"energy_is_not_power_times_time", "energy, power and time of a row contradict each other"},
      {"unit_slip", "energy is off by 1000, 3600 or the like"},
      {"unit_by_evidence", "a unit that isn't given was found by what a GPU can draw"},
      {"offsets_not_clocks", "a column of clocks holds offsets from a default"},
      {"wrong_label", "what ran is not what the label says"},
      {"clock_not_held", "the GPU ran below the clock that was asked for"},
      {"memory_clock_drift", "the memory clock moved, or differs from the other points"},
      {"throttled", "the data says that the GPU throttled"},
      {"idle_contamination", "power was averaged over a mostly idle window"},
      {"power_implausibly_low", "power is far below what the board draws at work"},
      {"power_below_idle", "power is below that of the idle board"},
      {"power_above_limit", "power is above its limit"},
      {"cold_start", "a run was measured cold, or first, and took much longer"},
      {"time_zone_shift", "a log's clock and the run list differ by whole quarters of an hour"},
      {"log_window", "a power log is much longer or shorter than the run it is of"},
      {"duplicate_points", "limits that don't bind give one point several times"},
      {"repeats_disagree", "repeats of one setting contradict each other"},
      {"outlier_point", "a point is faster than the clocks around it allow"},
      {"edge_of_grid", "the best point is the last one sampled"},
      {"baseline_not_in_grid", "the baseline was not measured"},
      {"baseline_not_valid", "the baseline did not prove itself"},
      {"results_only", "a result without the measurements behind it"},
      {"column_disagrees", "a stated ratio is not that of its parts"},
      {"temperature_band", "points were measured at very different temperatures"},
  }};
  return kKinds;
}

}  // namespace ergon::study
