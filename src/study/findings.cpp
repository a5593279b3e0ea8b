// Anomalies: what in the data contradicts itself, physics, or its own labels.
#include "findings.hpp"

#include <array>
#include <set>
#include <tuple>

#include "ergon/model.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

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

}  // namespace

void Finder::run() {
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

void Finder::claim(const Claim& c) {
  const std::string subject = c.workload + (c.gpu.empty() ? "" : " on " + c.gpu);
  add("results_only", subject,
      "a published optimum (" + clock_words(c.clock_hz) + " against " +
          clock_words(c.top_clock_hz) + ", " + percent_words(c.energy_saved) +
          " saved) without the measurements behind it: it can't be checked, and is not believed");
  if (c.slowdown < -0.005) {
    add("time_rises_with_clock", subject,
        clock_words(c.clock_hz) + " is said to be " + percent_words(-c.slowdown) + " faster than " +
            clock_words(c.top_clock_hz));
  }
  if (c.slowdown < -kRising) {
    add("cold_start", subject,
        "no GPU is " + percent_words(-c.slowdown) +
            " slower at a higher clock: the highest clock was most likely measured cold, or "
            "first");
  }
}

// One line a kind and subject; reading and judging may name the same.
void Finder::merge() {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  std::erase_if(study_.findings, [&](const Finding& f) {
    return !seen.emplace(f.kind, f.subject, f.evidence).second;
  });
}

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
