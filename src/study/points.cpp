// Samples grouped to workloads and points, and the judgement on each.
#include <algorithm>
#include <map>
#include <set>

#include "judging.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

constexpr double kIdleShare = 0.5;     // below it most of the window was idle
constexpr double kContaminated = 1.2;  // time over that at the next lower clock
constexpr double kMemoryDrift = 0.01;

constexpr double kDisagree = 1.5;       // energy of a repeat over that of the others
constexpr double kAsFastAsClock = 0.9;  // time at the next clock up over what 1/f allows

Maybe mean_over(const Dataset& data, const std::vector<std::size_t>& samples,
                Maybe Sample::* field) {
  double sum = 0;
  std::size_t n = 0;
  for (const auto i : samples) {
    if (const Maybe v = data.samples[i].*field) {
      sum += *v;
      ++n;
    }
  }
  return n == 0 ? Maybe{} : Maybe(sum / static_cast<double>(n));
}

Maybe median_over(const Dataset& data, const std::vector<std::size_t>& samples,
                  Maybe Sample::* field) {
  std::vector<double> values;
  for (const auto i : samples) {
    if (const Maybe v = data.samples[i].*field) values.push_back(*v);
  }
  return values.empty() ? Maybe{} : Maybe(median_of(std::move(values)));
}

// Why a sample is no proof of what its setting does; empty: it is.
std::string fault_of(const Sample& s, const Options& options) {
  if (s.good == false) return s.why_bad.empty() ? "marked invalid" : s.why_bad;
  const Setting& set = s.setting;
  if (set.clock_hz && !set.clock_is_offset && s.achieved_hz &&
      std::abs(*s.achieved_hz - *set.clock_hz) > options.clock_tolerance_hz) {
    return "ran at " + clock_words(*s.achieved_hz) + ", not at " + clock_words(*set.clock_hz);
  }
  if (s.memory_low_hz && s.memory_high_hz &&
      *s.memory_high_hz - *s.memory_low_hz > kMemoryDrift * *s.memory_high_hz) {
    return "the memory clock drifted from " + clock_words(*s.memory_low_hz) + " to " +
           clock_words(*s.memory_high_hz);
  }
  if (set.memory_clock_hz && !set.memory_is_offset && s.memory_hz &&
      std::abs(*s.memory_hz - *set.memory_clock_hz) >
          std::max(options.clock_tolerance_hz, kMemoryDrift * *set.memory_clock_hz)) {
    return "the memory ran at " + clock_words(*s.memory_hz) + ", not at " +
           clock_words(*set.memory_clock_hz);
  }
  if (s.utilization && *s.utilization < kIdleShare) {
    return "the GPU was busy for " + percent_words(*s.utilization) + " of the window only";
  }
  return {};
}

// Of two measurements that disagree none counts. Where three or more do, of at most four times as
// many measured twice, two workloads share a name, and their mean is as good as each.
void mark_pairs(Workload& w, const Dataset& data) {
  std::vector<std::size_t> pairs;
  std::size_t twice = 0;
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    if (w.points[i].used.size() != 2) continue;
    ++twice;
    if (repeats_disagree(data, w.points[i])) pairs.push_back(i);
  }
  if (pairs.size() >= 3 && 4 * pairs.size() > twice) return;
  for (const auto i : pairs) {
    w.points[i].invalid.emplace_back(
        "its two measurements disagree, and none is known to be right");
  }
}

// The next clock up from (down from) a point at its memory clock and limit.
std::optional<std::size_t> next_clock(const Workload& w, std::size_t from, bool up) {
  const Setting& mine = w.points[from].setting;
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < w.points.size(); ++k) {
    const Setting& s = w.points[k].setting;
    if (!w.points[k].time || w.points[k].unusable || !s.clock_hz ||
        s.clock_is_offset != mine.clock_is_offset || s.memory_clock_hz != mine.memory_clock_hz ||
        s.power_limit_w != mine.power_limit_w)
      continue;
    if (up ? !(*s.clock_hz > *mine.clock_hz) : !(*s.clock_hz < *mine.clock_hz)) continue;
    const bool nearer = !found || (up ? *s.clock_hz < *w.points[*found].setting.clock_hz
                                      : *s.clock_hz > *w.points[*found].setting.clock_hz);
    if (nearer) found = k;
  }
  return found;
}

// Faster than both neighbours by more than a clock can make it, while they agree with each other:
// the point is wrong, not the neighbour above that takes longer than it.
void mark_outliers(Workload& w) {
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& p = w.points[i];
    if (!p.time || p.unusable || !p.setting.clock_hz || p.setting.clock_is_offset) continue;
    const auto below = next_clock(w, i, false);
    const auto above = next_clock(w, i, true);
    if (!below || !above) continue;
    const Point& low = w.points[*below];
    const Point& high = w.points[*above];
    const double allowed = *low.time * *low.setting.clock_hz / *p.setting.clock_hz;
    const double allowed_above = *low.time * *low.setting.clock_hz / *high.setting.clock_hz;
    if (*high.time <= kContaminated * *p.time || *p.time >= kAsFastAsClock * allowed) continue;
    if (*high.time < kAsFastAsClock * allowed_above || *high.time > kContaminated * *low.time)
      continue;
    w.points[i].invalid.push_back("outlier: " + percent_words(1 - *p.time / *low.time) +
                                  " less time than at " + clock_words(*low.setting.clock_hz) +
                                  ", more than the clock can give, and less than at " +
                                  clock_words(*high.setting.clock_hz));
  }
}

// A higher clock that takes much longer than a lower one was not measured as the others were.
void mark_contaminated(Workload& w) {
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& low = w.points[i];
    if (!low.time || !low.setting.clock_hz || low.unusable || is_outlier(low)) continue;
    std::size_t above = w.points.size();
    for (std::size_t k = 0; k < w.points.size(); ++k) {
      const Setting& s = w.points[k].setting;
      if (!w.points[k].time || w.points[k].unusable || !s.clock_hz ||
          !(*s.clock_hz > *low.setting.clock_hz) ||
          s.memory_clock_hz != low.setting.memory_clock_hz ||
          s.power_limit_w != low.setting.power_limit_w)
        continue;
      if (above == w.points.size() || *s.clock_hz < *w.points[above].setting.clock_hz) above = k;
    }
    if (above == w.points.size()) continue;
    if (*w.points[above].time > kContaminated * *low.time) {
      w.points[above].invalid.push_back(
          "takes " + percent_words(*w.points[above].time / *low.time - 1) + " longer than " +
          clock_words(*low.setting.clock_hz) + " did");
    }
  }
}

// Without a memory clock that was asked for, the usual one counts.
void mark_memory_drift(Workload& w, const Dataset& data) {
  std::vector<double> clocks;
  for (const Point& p : w.points) {
    for (const auto i : p.samples) {
      if (data.samples[i].memory_hz && !p.setting.memory_clock_hz)
        clocks.push_back(*data.samples[i].memory_hz);
    }
  }
  if (clocks.size() < 3) return;
  const double usual = median_of(clocks);
  for (Point& p : w.points) {
    for (const auto i : p.used) {
      const Maybe m = data.samples[i].memory_hz;
      if (m && !p.setting.memory_clock_hz && std::abs(*m / usual - 1) > kMemoryDrift) {
        p.invalid.push_back("the memory ran at " + clock_words(*m) + ", " + clock_words(usual) +
                            " elsewhere");
        break;
      }
    }
  }
}

// `impossible`: faults of samples by themselves; `timed`: other points have time and energy.
void settle_point(const Dataset& data, const Options& options,
                  const std::map<std::size_t, std::string>& impossible, bool timed, Point& p) {
  std::set<std::string> faults;
  std::vector<std::size_t> possible;
  for (const auto i : p.samples) {
    const auto known = impossible.find(i);
    if (known == impossible.end()) possible.push_back(i);
    const std::string fault =
        known == impossible.end() ? fault_of(data.samples[i], options) : known->second;
    if (fault.empty()) {
      p.used.push_back(i);
    } else if (faults.size() < 3) {
      faults.insert(fault);
    }
  }
  if (p.used.empty()) {
    p.unusable = possible.empty();
    p.used = possible.empty() ? p.samples : possible;
    p.invalid.assign(faults.begin(), faults.end());
  }
  // An energy without its time says nothing beside a repeat that has both.
  const auto complete = [&](std::size_t i) {
    return data.samples[i].time && data.samples[i].energy;
  };
  if (std::ranges::any_of(p.used, complete))
    std::erase_if(p.used, [&](std::size_t i) { return !data.samples[i].time; });
  p.baseline =
      std::ranges::any_of(p.samples, [&](std::size_t i) { return data.samples[i].baseline; });
  p.time = mean_over(data, p.used, &Sample::time);
  p.power_w = mean_over(data, p.used, &Sample::power_w);
  p.energy = mean_over(data, p.used, &Sample::energy);
  p.achieved_hz = mean_over(data, p.used, &Sample::achieved_hz);
  p.temperature_c = mean_over(data, p.used, &Sample::temperature_c);
  if (p.used.size() > 2 && repeats_disagree(data, p)) {
    p.time = median_over(data, p.used, &Sample::time);
    p.power_w = median_over(data, p.used, &Sample::power_w);
    p.energy = median_over(data, p.used, &Sample::energy);
  }
  if (!p.energy) p.invalid.emplace_back("energy is not known");
  if (!p.time && timed) p.invalid.emplace_back("its time is not known");
  p.unusable = p.unusable || (!p.time && timed);
}

}  // namespace

bool repeats_disagree(const Dataset& data, const Point& p) {
  std::vector<double> energy;
  for (const auto i : p.used) {
    if (const Maybe e = data.samples[i].energy) energy.push_back(*e);
  }
  if (energy.size() < 2) return false;
  const auto [low, high] = std::ranges::minmax(energy);
  const double middle = median_of(energy);
  if (energy.size() == 2) return high > kDisagree * low;
  // Far from the middle one, and from how far the others are.
  for (double& e : energy) e = std::abs(e - middle);
  const double away = std::max(high / middle, low > 0 ? middle / low : kDisagree + 1);
  const double usual = median_of(energy);
  return away > kDisagree && std::max(high - middle, middle - low) > 6 * 1.4826 * usual;
}

bool is_outlier(const Point& p) {
  return std::ranges::any_of(p.invalid,
                             [](const auto& why) { return why.starts_with("outlier: "); });
}

std::vector<Workload> make_points(const Dataset& data, const Options& options) {
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  std::vector<Workload> workloads;
  std::vector<std::map<Setting, std::vector<std::size_t>>> settings;
  for (std::size_t i = 0; i < data.samples.size(); ++i) {
    const Sample& s = data.samples[i];
    const auto [at, fresh] = index.emplace(std::pair(s.workload, s.gpu), workloads.size());
    if (fresh) {
      workloads.push_back({.name = s.workload,
                           .gpu = s.gpu,
                           .factors = s.factors,
                           .points = {},
                           .unit_of_work = s.unit_of_work});
      settings.emplace_back();
    }
    workloads[at->second].units_known = workloads[at->second].units_known && s.units_known;
    settings[at->second][s.setting].push_back(i);
  }
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    std::vector<std::size_t> all;
    for (const auto& [setting, samples] : settings[w])
      all.insert(all.end(), samples.begin(), samples.end());
    const auto impossible = faults_by_themselves(data, all, workloads[w].units_known);
    const bool timed = std::ranges::any_of(
        all, [&](std::size_t i) { return data.samples[i].time && data.samples[i].energy; });
    for (auto& [setting, samples] : settings[w]) {
      Point p{.setting = setting, .samples = std::move(samples), .used = {}, .invalid = {}};
      settle_point(data, options, impossible, timed, p);
      workloads[w].points.push_back(std::move(p));
    }
    mark_slips(data, workloads[w]);
    mark_memory_drift(workloads[w], data);
    mark_pairs(workloads[w], data);
    mark_outliers(workloads[w]);
    mark_contaminated(workloads[w]);
  }
  return workloads;
}

}  // namespace ergon::study
