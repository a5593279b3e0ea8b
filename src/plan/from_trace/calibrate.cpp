// Packs that say what the re-timed graph says at single clocks, and the frontier beside them.
#include <algorithm>
#include <limits>

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

Result<std::vector<FrontierPoint>> frontier_trace(const graph::Graph& graph,
                                                  const TracePacks& packs, std::size_t points,
                                                  const SolveOptions& options) {
  ERGON_TRY(std::vector<FrontierPoint> line, frontier(packs.problem, points, options));
  std::sort(line.begin(), line.end(), [](const FrontierPoint& a, const FrontierPoint& b) {
    return a.deadline_s < b.deadline_s;
  });
  // A bound within a long deadline holds within a shorter one.
  double bound = -std::numeric_limits<double>::infinity();
  for (auto p = line.rbegin(); p != line.rend(); ++p) {
    bound = std::max(bound, p->solution.lower_bound_j);
    p->solution.lower_bound_j = bound;
  }
  // Single clocks are points of their own where nothing else is as good.
  const double longest = line.empty() ? 0 : line.back().deadline_s;
  for (Uniform& uniform : uniform_clocks(graph, packs)) {
    if (uniform.value.time_s > longest) continue;
    const auto at =
        std::lower_bound(line.begin(), line.end(), uniform.value.time_s,
                         [](const FrontierPoint& p, double t) { return p.deadline_s < t; });
    FrontierPoint point{.deadline_s = uniform.value.time_s,
                        .solution = {.choice = std::move(uniform.choice), .value = uniform.value}};
    point.solution.lower_bound_j = at->solution.lower_bound_j;
    line.insert(at, std::move(point));
  }
  // Within a long deadline there is always the plan of a shorter one.
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i - 1].solution.value.energy_j < line[i].solution.value.energy_j) {
      const double below = line[i].solution.lower_bound_j;
      line[i].solution = line[i - 1].solution;
      line[i].solution.lower_bound_j = below;
    }
  }
  for (FrontierPoint& p : line)
    p.solution.lower_bound_j = std::min(p.solution.lower_bound_j, p.solution.value.energy_j);
  return line;
}

}  // namespace ergon::plan
