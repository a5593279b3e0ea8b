// Units and missing figures, by evidence: energy is power times time.
#include <algorithm>
#include <array>
#include <cmath>

#include "judging.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

struct Slip {
  double factor;
  std::string_view words;
};
// How energy may be off from power times time.
constexpr std::array<Slip, 7> kSlips = {{{1000, "1000 (milli)"},
                                         {1e-3, "1/1000 (kilo)"},
                                         {1.0 / 3600, "1/3600 (Wh for J)"},
                                         {3600, "3600 (seconds for hours)"},
                                         {1e6, "1,000,000 (micro)"},
                                         {1e-6, "1/1,000,000 (mega)"},
                                         {1.0 / 3.6e6, "1/3,600,000 (kWh for J)"}}};

const Slip* slip_near(double ratio) {
  for (const auto& slip : kSlips) {
    if (std::abs(ratio / slip.factor - 1) < 0.08) return &slip;
  }
  return nullptr;
}

// Of a GPU at work, where nothing else is known of it.
bool plausible_power(double watts, Maybe limit) {
  if (limit) return watts <= *limit * 1.15 && watts >= *limit * 0.3;
  return watts >= 8 && watts <= 1500;
}
// What no GPU draws: only this speaks against units that the data gives.
bool impossible_power(double watts, Maybe limit) {
  return watts < (limit ? 0.02 * *limit : 2) || watts > (limit ? 1.5 * *limit : 2000);
}

class Settler {
 public:
  Settler(const Reading& reading, std::span<Sample> samples) : r_(reading), samples_(samples) {}

  void run(bool time_known, bool energy_known) {
    for (Sample& s : samples_) {
      if (!s.time && s.rate) s.time = 1 / *s.rate;
      if (!s.time && !s.energy && s.check) s.energy = 1 / *s.check;
    }
    const double ratio = median_ratio();
    bool units_known = time_known;
    if (ratio > 0) {
      judge_ratio(ratio, time_known, energy_known, units_known);
    } else {
      judge_power(time_known, energy_known, units_known);
    }
    bool unknown_time = false;
    for (Sample& s : samples_) {
      if (!s.energy && s.power_w && s.time) {
        s.energy = *s.power_w * *s.time;
        s.energy_derived = true;
      } else if (!s.power_w && s.energy && s.time && units_known) {
        s.power_w = *s.energy / *s.time;
      }
      const bool only_energy = !s.time && s.energy;
      s.units_known = only_energy ? energy_known : units_known;
      s.energy_unit_known = energy_known || !only_energy;
      // Half of a measurement: its other half may settle the unit.
      if (only_energy && !energy_known) continue;
      unknown_time = unknown_time || !s.units_known;
    }
    if (unknown_time) {
      r_.note("unit_unknown",
              "the unit of time (or of work) is not given: only ratios are stated; name it with "
              "--map 'time=COLUMN:ms'");
    }
  }

 private:
  [[nodiscard]] double median_ratio() const {
    std::vector<double> ratios;
    for (const Sample& s : samples_) {
      if (s.energy && s.power_w && s.time) ratios.push_back(*s.energy / (*s.power_w * *s.time));
    }
    return median_of(std::move(ratios));
  }

  // Energy, power and time are all there.
  void judge_ratio(double ratio, bool time_known, bool energy_known, bool& units_known) {
    const bool agrees = std::abs(ratio - 1) < 0.08;
    const Slip* slip = agrees ? nullptr : slip_near(ratio);
    if (agrees) {
      if (energy_known && !time_known) {
        units_known = true;
        r_.note("unit_by_evidence", "time is in seconds: power times it is the energy in joules");
      } else if (!energy_known && time_known) {
        r_.note("unit_by_evidence", "energy is in joules: it is power times time in seconds");
      }
      return;
    }
    if (slip == nullptr) return;  // findings name the rows
    if (time_known && energy_known) {
      r_.finding("unit_slip", r_.source.path,
                 "energy is " + figure_text(ratio) +
                     " times power times time in the middle row: "
                     "its unit is off by " +
                     std::string(slip->words) + "; power times time is used");
      for (Sample& s : samples_) {
        if (s.energy) *s.energy /= slip->factor;
      }
      return;
    }
    if (!energy_known) {
      for (Sample& s : samples_) {
        if (s.energy) *s.energy /= slip->factor;
      }
      r_.note("unit_by_evidence", "energy is brought to joules by E = P t: its figures are " +
                                      std::string(slip->words) + " of power times time");
      return;
    }
    for (Sample& s : samples_) {
      if (s.time) *s.time *= slip->factor;
    }
    units_known = true;
    r_.note("unit_by_evidence",
            "time is brought to seconds by E = P t: power times its figures "
            "is off from the energy by " +
                std::string(slip->words));
  }

  // Energy and time alone imply a power, which must be one a GPU can draw.
  void judge_power(bool time_known, bool energy_known, bool& units_known) {
    std::vector<double> watts;
    std::vector<double> limits;
    for (const Sample& s : samples_) {
      if (!s.energy || !s.time || s.power_w) continue;
      watts.push_back(*s.energy / *s.time);
      if (s.setting.power_limit_w) limits.push_back(*s.setting.power_limit_w * s.gpus);
    }
    if (watts.empty()) return;
    const double middle = median_of(watts);
    const Maybe limit = limits.size() == watts.size() ? Maybe(median_of(limits)) : Maybe{};
    const bool relative = std::ranges::any_of(
        samples_, [](const Sample& s) { return s.check.has_value() && !s.power_w; });
    if (relative) return;
    if (time_known && energy_known && !impossible_power(middle, limit)) return;
    std::vector<const Slip*> fitting;
    for (const auto& slip : kSlips) {
      if (plausible_power(middle / slip.factor, limit)) fitting.push_back(&slip);
    }
    const std::string implied =
        "energy over time is " + figure_text(middle) + " W in the middle row" +
        (limit ? ", under a limit of " + figure_text(*limit) + " W" : std::string());
    if (plausible_power(middle, limit)) {
      r_.note("unit_by_evidence", "joules and seconds are assumed: " + implied);
      units_known = true;
      return;
    }
    if (fitting.size() > 1 && time_known && energy_known) {
      std::string factors;
      for (const Slip* slip : fitting)
        factors += (factors.empty() ? "" : " or ") + std::string(slip->words);
      r_.finding("unit_slip", r_.source.path,
                 implied + ", which no GPU draws; a factor of " + factors +
                     " would explain it: none is applied, name the units with --map");
    }
    if (fitting.size() != 1) return;
    for (Sample& s : samples_) {
      if (s.energy) *s.energy /= fitting.front()->factor;
    }
    const std::string what =
        implied + "; only a factor of " + std::string(fitting.front()->words) +
        " gives a power that a GPU draws: " + figure_text(middle / fitting.front()->factor) + " W";
    if (time_known && energy_known) {
      r_.finding("unit_slip", r_.source.path, what);
    } else {
      r_.finding("unit_by_evidence", r_.source.path, what);
      units_known = true;
    }
  }

  const Reading& r_;
  std::span<Sample> samples_;
};

}  // namespace

void settle_units(const Reading& reading, std::size_t first_sample, bool time_unit_known,
                  bool energy_unit_known) {
  Settler(reading, std::span(reading.data.samples).subspan(first_sample))
      .run(time_unit_known, energy_unit_known);
}

}  // namespace ergon::study
