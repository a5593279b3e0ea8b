// Figures that cannot be: of a row by itself, and of a point against its neighbours.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "judging.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

constexpr double kNoGpu = 20e3;    // W of one GPU: boards draw up to 1.5 kW
constexpr double kNoGpuBelow = 1;  // W of one at work
constexpr double kLowestClock = 20e6;
constexpr double kHighestClock = 10e9;
constexpr double kContradicts = 0.05;  // energy against power times time
constexpr double kFarOff = 200;        // no sweep of one workload spans that much around its middle

Maybe product_of(const Sample& s) {
  if (!s.energy || !s.power_w || !s.time || s.energy_derived) return {};
  return *s.energy / (*s.power_w * *s.time);
}

// What most rows have for energy over power times time: 1 where units are known and most agree
// with it, else the middle one (a mean power with the idle ends of a run in it).
double usual_of(const Dataset& data, std::span<const std::size_t> samples, bool units_known) {
  std::vector<double> ratios;
  for (const auto i : samples) {
    if (const Maybe r = product_of(data.samples[i])) ratios.push_back(*r);
  }
  if (ratios.empty()) return 1;
  const auto agree =
      std::ranges::count_if(ratios, [](double r) { return std::abs(r - 1) <= kContradicts; });
  if (units_known && 2 * static_cast<std::size_t>(agree) >= ratios.size()) return 1;
  return median_of(std::move(ratios));
}

std::string fault_by_itself(const Sample& s, double usual) {
  const Setting& set = s.setting;
  if (set.clock_hz && !set.clock_is_offset &&
      !(*set.clock_hz >= kLowestClock && *set.clock_hz <= kHighestClock))
    return "a clock of " + clock_words(*set.clock_hz) + ", which no GPU has";
  const bool watts = s.units_known && s.power_w;
  if (watts && (*s.power_w > kNoGpu * s.gpus || *s.power_w < kNoGpuBelow))
    return figure_text(*s.power_w) + " W, which no GPU draws";
  if (const Maybe r = product_of(s); r && std::abs(*r / usual - 1) > kContradicts) {
    return "its energy is " + figure_text(*r / usual, 3) +
           " times its power times time: it contradicts itself";
  }
  return {};
}

struct Factor {
  double factor;
  std::string_view low;
  std::string_view high;
};
constexpr std::array<Factor, 4> kFactors = {{{1000, "1/1000", "1000"},
                                             {3600, "1/3600", "3600"},
                                             {1e6, "1/1,000,000", "1,000,000"},
                                             {3.6e6, "1/3,600,000", "3,600,000"}}};

// Empty where none is near.
std::string factor_words(double ratio) {
  const double far = std::abs(std::log(ratio));
  const auto off = [&](const Factor& f) { return std::abs(far - std::log(f.factor)); };
  const auto* nearest = std::ranges::min_element(kFactors, {}, off);
  if (off(*nearest) > std::log(5.01)) return {};
  return ", near " + std::string(ratio < 1 ? nearest->low : nearest->high);
}

// A figure of each point over the middle of the others', on a scale of ratios.
std::string slip_of(const Workload& w, std::size_t point, Maybe Point::* figure,
                    std::string_view name) {
  const Maybe mine = w.points[point].*figure;
  if (!mine || *mine <= 0) return {};
  std::vector<double> others;
  for (std::size_t k = 0; k < w.points.size(); ++k) {
    const Maybe v = w.points[k].*figure;
    if (k != point && v && *v > 0 && !w.points[k].unusable) others.push_back(std::log(*v));
  }
  if (others.size() < 2) return {};
  const double ratio = *mine / std::exp(median_of(std::move(others)));
  if (ratio < kFarOff && ratio > 1 / kFarOff) return {};
  return "unit slip: its " + std::string(name) + " is off from that of the other points by " +
         figure_text(ratio, 3) + factor_words(ratio);
}

}  // namespace

std::map<std::size_t, std::string> faults_by_themselves(const Dataset& data,
                                                        std::span<const std::size_t> samples,
                                                        bool units_known) {
  const double usual = usual_of(data, samples, units_known);
  std::map<std::size_t, std::string> faults;
  for (const auto i : samples) {
    std::string fault = fault_by_itself(data.samples[i], usual);
    if (!fault.empty()) faults.emplace(i, std::move(fault));
  }
  return faults;
}

bool is_unit_slip(std::string_view why) { return why.find("unit slip: ") != why.npos; }

void mark_slips(const Dataset& data, Workload& w) {
  std::map<std::size_t, std::string> slips;
  for (std::size_t i = 0; i < w.points.size(); ++i) {
    const Point& p = w.points[i];
    if (p.setting.parameter) continue;  // batches span any range
    const bool derived =
        std::ranges::all_of(p.used, [&](std::size_t k) { return data.samples[k].energy_derived; });
    std::string why;
    if (!derived) why = slip_of(w, i, &Point::energy, "energy");
    if (why.empty()) why = slip_of(w, i, &Point::time, "time");
    if (why.empty()) why = slip_of(w, i, &Point::power_w, "power");
    if (why.empty() && derived) why = slip_of(w, i, &Point::energy, "energy");
    if (!why.empty()) slips.emplace(i, std::move(why));
  }
  for (auto& [i, why] : slips) {
    // Of what cannot be anyhow it is the likely cause.
    if (w.points[i].unusable && !w.points[i].invalid.empty()) {
      w.points[i].invalid.front() += "; " + why;
    } else {
      w.points[i].invalid.push_back(std::move(why));
    }
    w.points[i].unusable = true;
  }
}

}  // namespace ergon::study
