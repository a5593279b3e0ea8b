// Anomalies of rows: figures against each other, against their labels and against the board.
#include <algorithm>

#include "ergon/model.hpp"
#include "findings.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

constexpr double kProduct = 0.05;   // energy against power times time
constexpr double kColumn = 0.02;    // a stated ratio against the one of its parts
constexpr double kFirstRun = 0.10;  // first repeat against the others
constexpr double kLowPower = 0.28;  // of the board's limit, at the most a workload draws
constexpr double kAboveLimit = 1.05;

Maybe idle_of(const std::string& gpu) {
  // A fifth below the interval: idle at a low clock and a cool board.
  const auto found = model::find_device_of_trace(gpu);
  return found ? Maybe(0.8 * found->device.idle_w.estimate.low) : Maybe{};
}

}  // namespace

void Finder::products(const Workload& w) {
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
double Finder::usual_product(const Workload& w) const {
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

void Finder::clocks(const Workload& w) {
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

void Finder::idle(const Workload& w) {
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

void Finder::cold_start(const Workload& w) {
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

void Finder::limits(const Workload& w) {
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

}  // namespace ergon::study
