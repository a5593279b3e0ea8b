// Packs that say what the re-timed graph says at single clocks.
#include <algorithm>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

constexpr double kLongest = 0.3;  // of single clocks that calibrate: more time than the trace's

}  // namespace

void calibrate_delays(const graph::Graph& graph, TracePacks& packs) {
  set_delay_share(packs, 1);
  Problem all = packs.problem;
  for (std::size_t i = 0; i < all.packs.size(); ++i) {
    if (!packs.kept_back[i].empty()) all.packs[i].options = packs.kept_back[i];
  }
  const std::vector<double> times = window_times(graph, packs);
  const double observed = evaluate(all, default_choice(all)).time_s;
  double share = 0;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const double real = times[k] - observed;
    if (real <= 0 || real > kLongest * observed) continue;
    const Choice choice(all.packs.size(), static_cast<std::uint32_t>(k));
    const double planned = evaluate(all, choice).time_s - observed;
    if (planned > 0) share = std::max(share, real / planned);
  }
  if (share > 0) set_delay_share(packs, share);
}

}  // namespace ergon::plan
