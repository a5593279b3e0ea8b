// What a choice costs, straight from the contract's text. Every plan is checked with it.
#include "evaluate.hpp"

#include <algorithm>
#include <vector>

#include "ergon/plan.hpp"
#include "numbers.hpp"

namespace ergon::plan {
namespace {

// What is known of one gpu while its packs go by in order.
struct Track {
  std::uint32_t first = kNone;  // its first pack
  std::uint32_t last = kNone;   // its latest pack
  double busy_s = 0;            // time of its packs
  double run_s = 0;             // time of the packs of the current run
  double first_run_s = 0;       // of its first run, once that has ended
  std::uint32_t changes = 0;    // within the step
  bool long_enough = true;      // of all runs that ended, the first one excepted
};

}  // namespace

Evaluation evaluate(const Problem& problem, std::span<const std::uint32_t> choice) {
  ERGON_CHECK(choice.size() == problem.packs.size(), "a choice names one option for each pack");
  const SwitchCost& sw = problem.switching;
  const double shortest = shortest_run(sw.min_run_s);
  std::vector<Track> tracks(problem.gpus.size());
  std::vector<double> end(problem.packs.size());
  Evaluation out;
  const auto clock = [&](std::uint32_t i) { return problem.packs[i].options[choice[i]].clock_hz; };

  for (std::uint32_t i = 0; i < problem.packs.size(); ++i) {
    const Pack& pack = problem.packs[i];
    ERGON_CHECK(choice[i] < pack.options.size(), "a choice names an option that the pack has");
    const Option& option = pack.options[choice[i]];
    Track& track = tracks[pack.gpu];
    double start = 0;
    if (track.last == kNone) {
      track.first = i;
    } else {
      start = end[track.last];
      if (clock(track.last) != option.clock_hz) {
        // The change begins when the pack before has ended: it may overlap with waiting.
        start += sw.time_s;
        out.energy_j += sw.energy_j;
        ++out.switches;
        if (track.changes++ == 0) {
          track.first_run_s = track.run_s;
        } else if (track.run_s < shortest) {
          track.long_enough = false;
        }
        track.run_s = 0;
      }
    }
    for (const After& a : pack.after) start = std::max(start, end[a.pack] + a.lag_s);
    end[i] = start + option.time_s;
    out.time_s = std::max(out.time_s, end[i]);
    out.energy_j += option.energy_j;
    track.busy_s += option.time_s;
    track.run_s += option.time_s;
    track.last = i;
  }

  for (const Track& track : tracks) {
    if (track.changes == 0) continue;  // one run, also around the end of a repeating step
    if (problem.repeats && clock(track.last) == clock(track.first)) {
      if (track.first_run_s + track.run_s < shortest) out.runs_long_enough = false;
    } else {
      if (track.first_run_s < shortest || track.run_s < shortest) out.runs_long_enough = false;
      if (problem.repeats) {
        out.energy_j += sw.energy_j;
        ++out.switches;
        out.time_s = std::max(out.time_s, end[track.last] + sw.time_s);
      }
    }
    out.runs_long_enough = out.runs_long_enough && track.long_enough;
  }
  for (std::size_t g = 0; g < tracks.size(); ++g)
    out.energy_j += problem.gpus[g].idle_power_w * (out.time_s - tracks[g].busy_s);
  return out;
}

}  // namespace ergon::plan
