// The time-energy frontier of a trace: plans that the re-timed graph confirms, single clocks among
// them.
#include <algorithm>
#include <iterator>
#include <limits>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

// The contract's: feasible is time <= deadline (1 + 1e-9).
constexpr double kSameTime = 1e-9;

// Whether a single clock, re-timed, needs less than the packs' bound says: the packs count more of
// the delays than that clock has.
bool beats(const std::vector<Uniform>& single, const std::vector<FrontierPoint>& line) {
  return std::ranges::any_of(line, [&](const FrontierPoint& p) {
    return std::ranges::any_of(single, [&](const Uniform& u) {
      return u.value.time_s <= p.deadline_s * (1 + kSameTime) &&
             u.value.energy_j < p.solution.lower_bound_j * (1 - 1e-9);
    });
  });
}

// Lower bounds at the deadlines of `line` with as few of the delays as any single clock shows.
Result<std::vector<double>> least_delays(const graph::Graph& graph, const TracePacks& packs,
                                         const std::vector<FrontierPoint>& line,
                                         SolveOptions options) {
  TracePacks fewest;
  fewest.offer() = packs.offer();
  fewest.table = packs.table;
  offer_kept_back(fewest);
  const double observed = evaluate(fewest.problem, default_choice(fewest.problem)).time_s;
  const std::vector<double> times = window_times(graph, packs);
  double share = packs.delay_share;
  for (std::size_t k = 0; k < times.size(); ++k) {
    const Choice choice(fewest.problem.packs.size(), static_cast<std::uint32_t>(k));
    const double planned = evaluate(fewest.problem, choice).time_s - observed;
    if (planned <= 0) continue;
    constexpr double kLeastShare = 1e-6;
    share =
        std::min(share, packs.delay_share * std::max((times[k] - observed) / planned, kLeastShare));
  }
  set_delay_share(fewest, share);
  options.quick = true;
  std::vector<double> deadlines;
  deadlines.reserve(line.size());
  for (const FrontierPoint& p : line) deadlines.push_back(p.deadline_s);
  ERGON_TRY(const auto found, frontier_at(fewest.problem, deadlines, options));
  std::vector<double> bounds;
  bounds.reserve(found.size());
  for (const FrontierPoint& p : found) bounds.push_back(p.solution.lower_bound_j);
  return bounds;
}

// The frontier of the packs, by deadline, from the default clock's time on and as far as the single
// clock of least energy; packs of several GPUs may be a little faster than their re-timed graph.
Result<std::vector<FrontierPoint>> packs_frontier(const TracePacks& packs,
                                                  const std::vector<Uniform>& single,
                                                  std::size_t points, const SolveOptions& options) {
  ERGON_TRY(std::vector<FrontierPoint> line, frontier(packs.problem, points, options));
  std::ranges::sort(line, {}, &FrontierPoint::deadline_s);
  if (line.empty() || single.empty()) return line;
  const double first = single.back().value.time_s;
  const auto energy = [](const Uniform& u) { return u.value.energy_j; };
  const double last = std::max(
      {line.back().deadline_s, first, std::ranges::min_element(single, {}, energy)->value.time_s});
  std::erase_if(line,
                [&](const FrontierPoint& p) { return p.deadline_s < first * (1 - kSameTime); });
  std::vector<double> missing;
  if (line.empty()) {
    const double steps = static_cast<double>(std::max<std::size_t>(points, 2) - 1);
    for (double k = 0; k <= steps; ++k) missing.push_back(first + (last - first) * k / steps);
  } else if (line.back().deadline_s < last * (1 - kSameTime)) {
    missing.push_back(last);
  }
  if (missing.empty()) return line;
  ERGON_TRY(auto more, frontier_at(packs.problem, missing, options));
  std::ranges::move(more, std::back_inserter(line));
  std::ranges::sort(line, {}, &FrontierPoint::deadline_s);
  return line;
}

// Every plan as re-timing says. One that is late is planned anew for an earlier end, else what
// makes it late is held back; where nothing helps, the point goes to the plan of the deadline
// before, or is left out.
void confirm(const graph::Graph& graph, const TracePacks& packs, std::vector<FrontierPoint>& line,
             SolveOptions options) {
  options.quick = true;
  constexpr int kMostTrials = 3;
  std::vector<FrontierPoint> confirmed;
  for (FrontierPoint& point : line) {
    const double limit = point.deadline_s * (1 + kSameTime);
    const Solution planned = point.solution;
    double tighter = point.deadline_s;
    double time = retimed_time(graph, packs, point.solution);
    for (int i = 0; time > limit && i < kMostTrials; ++i) {
      tighter -= 1.05 * (time - point.deadline_s);
      auto again = solve(packs.problem, tighter, options);
      if (!again) break;
      again->lower_bound_j = point.solution.lower_bound_j;
      again->optimal = false;
      point.solution = *std::move(again);
      time = retimed_time(graph, packs, point.solution);
    }
    if (time > limit) {
      if (auto rest = hold_back(graph, packs, planned, limit)) {
        point.solution = *std::move(rest);
        time = retimed_time(graph, packs, point.solution);
      }
    }
    if (time <= limit) {
      count_late_end(packs.problem, time, point.solution);
    } else {
      if (confirmed.empty()) continue;
      const double bound = point.solution.lower_bound_j;
      point.solution = confirmed.back().solution;
      point.solution.lower_bound_j = bound;
      point.solution.optimal = false;
    }
    confirmed.push_back(std::move(point));
  }
  line = std::move(confirmed);
}

}  // namespace

Result<std::vector<FrontierPoint>> frontier_trace(const graph::Graph& graph,
                                                  const TracePacks& packs, std::size_t points,
                                                  const SolveOptions& options) {
  std::vector<Uniform> single = uniform_clocks(graph, packs);
  ERGON_TRY(std::vector<FrontierPoint> line, packs_frontier(packs, single, points, options));
  confirm(graph, packs, line, options);
  std::ranges::sort(single, {}, [](const Uniform& u) { return u.value.time_s; });
  if (beats(single, line)) {
    ERGON_TRY(const auto least, least_delays(graph, packs, line, options));
    for (std::size_t i = 0; i < line.size(); ++i)
      line[i].solution.lower_bound_j =
          std::min(line[i].solution.lower_bound_j, std::max(0.0, least[i]));
  }
  // A bound within a long deadline holds within a shorter one.
  double bound = -std::numeric_limits<double>::infinity();
  for (auto p = line.rbegin(); p != line.rend(); ++p) {
    bound = std::max(bound, p->solution.lower_bound_j);
    p->solution.lower_bound_j = bound;
  }
  // Single clocks are points of their own where nothing else is as good within their time; within a
  // longer deadline there is always the plan of a shorter one.
  std::vector<FrontierPoint> out;
  auto next = single.begin();
  const auto take_best = [&](FrontierPoint point) {
    if (!out.empty() && out.back().solution.value.energy_j < point.solution.value.energy_j) {
      const double below = point.solution.lower_bound_j;
      point.solution = out.back().solution;
      point.solution.lower_bound_j = below;
      point.solution.optimal = false;
    }
    out.push_back(std::move(point));
  };
  for (FrontierPoint& point : line) {
    const double limit = point.deadline_s * (1 + kSameTime);
    for (; next != single.end() && next->value.time_s <= limit; ++next) {
      FrontierPoint alone{.deadline_s = std::min(next->value.time_s, point.deadline_s),
                          .solution = {.choice = next->choice, .value = next->value}};
      alone.solution.lower_bound_j = point.solution.lower_bound_j;
      const bool same = !out.empty() && alone.deadline_s <= out.back().deadline_s * (1 + kSameTime);
      if (!out.empty() && out.back().solution.value.energy_j <= next->value.energy_j) continue;
      if (same) {
        alone.deadline_s = out.back().deadline_s;
        out.pop_back();
      }
      out.push_back(std::move(alone));
    }
    // The deadline of the last single clock is this one: one point for both.
    if (!out.empty() && out.back().deadline_s * (1 + kSameTime) >= point.deadline_s) {
      if (point.solution.value.energy_j < out.back().solution.value.energy_j)
        out.back().solution = std::move(point.solution);
      continue;
    }
    take_best(std::move(point));
  }
  for (FrontierPoint& p : out)
    p.solution.lower_bound_j = std::min(p.solution.lower_bound_j, p.solution.value.energy_j);
  return out;
}

}  // namespace ergon::plan
