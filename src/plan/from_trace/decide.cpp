// A plan of a trace's packs that the re-timed graph confirms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

constexpr double kTimeTolerance = 1e-9;  // the contract's: feasible is time <= deadline (1 + 1e-9)
constexpr int kMostTrials = 4;

struct Trial {
  double share = 1;
  Solution solution;
  double retimed_s = 0;  // changes of clock included
};

Result<Trial> try_share(const graph::Graph& graph, TracePacks& packs, double share,
                        double deadline_s, const SolveOptions& options) {
  set_delay_share(packs, share);
  Trial trial{.share = share, .solution = {}, .retimed_s = 0};
  ERGON_TRY(trial.solution, solve(packs.problem, deadline_s, options));
  trial.retimed_s = retimed_time(graph, packs, trial.solution);
  return trial;
}

// The share of delays with which the packs say what re-timing says of a plan; of one GPU, whose
// time is linear in the share. The plan's own where nothing is delayed.
double true_share(const TracePacks& packs, const Trial& trial, double default_time_s) {
  const double changes_s = switching_s(packs.problem, trial.solution);
  const double planned = trial.solution.value.time_s - changes_s - default_time_s;
  const double real = trial.retimed_s - changes_s - default_time_s;
  return planned > 0 && real > 0 ? trial.share * real / planned : trial.share;
}

// Where re-timing says more than the packs, delays are counted as far as it says: time, energy and
// bound are then those of packs that tell the truth about this plan. One GPU: its time is linear in
// the share.
Trial confirmed(const graph::Graph& graph, TracePacks& packs, Trial best, double default_time_s,
                double deadline_s, const SolveOptions& options) {
  const double share = true_share(packs, best, default_time_s);
  if (!(share > best.share * (1 + 1e-6))) return best;
  const double limit = deadline_s * (1 + kTimeTolerance);
  auto again = try_share(graph, packs, share, deadline_s, options);
  Evaluation same = evaluate(packs.problem, best.solution.choice);
  same.time_s = best.retimed_s;
  if (again && again->retimed_s <= std::min(limit, again->solution.value.time_s * (1 + 1e-6)) &&
      again->solution.value.energy_j <= same.energy_j) {
    return *std::move(again);
  }
  best.share = share;
  best.solution.value = same;
  // No bound of the packs with larger delays is below the one with smaller delays.
  if (again) {
    best.solution.lower_bound_j = std::min(
        same.energy_j, std::max(best.solution.lower_bound_j, again->solution.lower_bound_j));
  }
  best.solution.optimal = false;
  return best;
}

// How many of the lowest clocks to leave out: a narrower range makes changes cheaper, a wider one
// offers more. A few ranges are tried.
std::size_t best_range(const TracePacks& packs, double deadline_s) {
  if (packs.switch_latency.si() <= 0 || packs.switch_energy_j || packs.problem.gpus.size() > 1)
    return 0;
  const double top = packs.table.clocks[packs.clocks.back()].si();
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const double share : {0.0, 0.6, 0.75, 0.88}) {
    std::size_t drop = 0;
    while (drop + 2 < packs.clocks.size() &&
           packs.table.clocks[packs.clocks[drop]].si() < share * top)
      ++drop;
    TracePacks narrow;
    narrow.offer() = packs.offer();
    narrow.table = packs.table;
    narrow.switch_latency = packs.switch_latency;
    narrow.change_energy_j = packs.change_energy_j;
    drop_lowest_clocks(narrow, drop);
    const auto solution = solve(narrow.problem, deadline_s, {.target_gap = 5e-3, .quick = true});
    if (!solution || !(solution->value.energy_j < least * (1 - 1e-4))) continue;
    least = solution->value.energy_j;
    best = drop;
  }
  return best;
}

// The best single clock against packs whose delays are counted as far as re-timing at that clock
// says, so that they can do what it does; over every clock on offer. With the bound of these packs
// the single clock is the plan, unless they find a better one that re-timing confirms.
Trial single_clock_plan(const graph::Graph& graph, TracePacks& packs, const Uniform& uniform,
                        double deadline_s, const SolveOptions& options) {
  const bool unknown =
      std::ranges::any_of(packs.kept_back, [](const auto& o) { return !o.empty(); });
  offer_kept_back(packs);  // one clock for all is one for work of unknown response too
  const double default_s = evaluate(packs.problem, default_choice(packs.problem)).time_s;
  const double planned = evaluate(packs.problem, uniform.choice).time_s - default_s;
  const double real = uniform.value.time_s - default_s;
  // Where the step takes no longer at that clock, delays hardly count.
  constexpr double kLeastShare = 1e-6;
  const double share = planned > 0 ? std::max(real / planned, kLeastShare) : 1;
  Trial single{.share = share,
               .solution = {.choice = uniform.choice, .value = uniform.value},
               .retimed_s = uniform.value.time_s};
  const double limit = deadline_s * (1 + kTimeTolerance);
  for (int i = 0; i < kMostTrials; ++i) {
    auto wide = try_share(graph, packs, single.share, deadline_s, options);
    if (!wide) return single;
    single.solution.lower_bound_j = std::min(wide->solution.lower_bound_j, uniform.value.energy_j);
    if (wide->retimed_s <= limit) {
      if (unknown || wide->solution.value.energy_j >= uniform.value.energy_j * (1 - 1e-9)) break;
      Trial better = confirmed(graph, packs, *wide, default_s, deadline_s, options);
      if (better.retimed_s <= limit &&
          better.solution.value.energy_j < uniform.value.energy_j * (1 - 1e-9))
        return better;
      set_delay_share(packs, single.share);
      break;
    }
    // Re-timing refuses what these packs allow: their delays are counted further, as long as they
    // still allow the single clock.
    const double next = true_share(packs, *wide, default_s);
    set_delay_share(packs, next);
    if (!(next > single.share) || evaluate(packs.problem, uniform.choice).time_s > limit) {
      set_delay_share(packs, single.share);
      break;
    }
    single.share = next;
  }
  return single;
}

// The figures of the plan as re-timing says; those of a single clock are known.
void take_retimed(const TracePacks& packs, const std::optional<Uniform>& uniform, Trial& best) {
  const auto clock = single_clock(packs.problem, best.solution.choice);
  if (!uniform || clock != uniform->clock_hz) {
    count_late_end(packs.problem, best.retimed_s, best.solution);
    return;
  }
  best.solution.value = uniform->value;
  best.solution.lower_bound_j = std::min(best.solution.lower_bound_j, uniform->value.energy_j);
  best.solution.optimal = false;
}

}  // namespace

void price_switching(TracePacks& packs) {
  const model::ClockTable& table = packs.table;
  double high_j = 0;
  double low_j = 0;
  double high_s = 0;
  double low_s = 0;
  for (const Pack& pack : packs.problem.packs) {
    high_j += pack.options.back().energy_j;
    high_s += pack.options.back().time_s;
    low_j += pack.options.front().energy_j;
    low_s += pack.options.front().time_s;
  }
  SwitchCost& cost = packs.problem.switching;
  const double latency = packs.switch_latency.si();
  cost.time_s = 0;
  cost.energy_j = 0;
  if (latency > 0 && !packs.clocks.empty()) {
    const double power_w = (high_s > 0 ? high_j / high_s : 0) - (low_s > 0 ? low_j / low_s : 0);
    cost.time_s = latency * (1 - 1 / table.core[packs.clocks.front()]);
    cost.energy_j = latency * std::max(0.0, power_w) + packs.change_energy_j;
  }
  if (packs.switch_energy_j) cost.energy_j = *packs.switch_energy_j;
}

void offer_kept_back(TracePacks& packs) {
  for (std::size_t i = 0; i < packs.kept_back.size(); ++i) {
    if (!packs.kept_back[i].empty()) packs.problem.packs[i].options = std::move(packs.kept_back[i]);
    packs.kept_back[i].clear();
  }
}

void drop_lowest_clocks(TracePacks& packs, std::size_t count) {
  packs.clocks.erase(packs.clocks.begin(),
                     packs.clocks.begin() + static_cast<std::ptrdiff_t>(count));
  for (std::size_t i = 0; i < packs.problem.packs.size(); ++i) {
    auto& own = packs.packs[i].own_time_s;
    for (auto* options : {&packs.problem.packs[i].options, &packs.kept_back[i]}) {
      while (options->size() > packs.clocks.size()) options->erase(options->begin());
    }
    while (own.size() > packs.problem.packs[i].options.size()) own.erase(own.begin());
  }
  price_switching(packs);
}

void set_delay_share(TracePacks& packs, double share) {
  const double change = share / packs.delay_share;
  for (std::size_t i = 0; i < packs.packs.size(); ++i) {
    const double length = to_seconds(packs.packs[i].end_ns - packs.packs[i].start_ns).si();
    for (auto* options : {&packs.problem.packs[i].options, &packs.kept_back[i]}) {
      for (std::size_t k = 0; k < options->size(); ++k) {
        Option& option = (*options)[k];
        const double delay = option.time_s - length;
        if (delay <= 0) continue;
        const std::size_t clock = packs.clocks[packs.clocks.size() - options->size() + k];
        const double time = length + delay * change;
        const double idle_j = packs.table.idle_w[clock] * (time - option.time_s);
        option.energy_j = std::max(0.0, option.energy_j + idle_j);
        option.time_s = time;
      }
    }
  }
  packs.delay_share = share;
}

Result<Outcome> decide_trace(const graph::Graph& graph, TracePacks& packs, const Bound& bound,
                             const SolveOptions& options) {
  Outcome out;
  set_delay_share(packs, 1);
  out.default_choice = default_choice(packs.problem);
  out.default_value = evaluate(packs.problem, out.default_choice);
  out.deadline_s = bound.deadline ? bound.deadline->si()
                                  : out.default_value.time_s * (1 + bound.max_slowdown.value_or(0));
  const double limit = out.deadline_s * (1 + kTimeTolerance);

  // Every single clock on offer, before the range is narrowed for the plan's sake.
  for (Uniform& uniform : uniform_clocks(graph, packs)) {
    if (uniform.value.time_s > limit) continue;
    if (!out.uniform || uniform.value.energy_j < out.uniform->value.energy_j) {
      out.uniform = std::move(uniform);
    }
  }
  const Offer all = packs.offer();
  drop_lowest_clocks(packs, best_range(packs, out.deadline_s));
  out.default_choice = default_choice(packs.problem);

  // Delays are counted as far as single clocks say, and further where re-timing refuses the plan.
  calibrate_delays(graph, packs);
  // Trials need no proof to the last digit; the plan that they lead to gets it.
  SolveOptions trying = options;
  trying.quick = true;
  ERGON_TRY(Trial best, try_share(graph, packs, packs.delay_share, out.deadline_s, trying));
  const double first_bound_j = best.solution.lower_bound_j;
  const Trial first = best;
  while (best.retimed_s > limit && out.repairs < kMostTrials) {
    ++out.repairs;
    // Where the packs say that nothing is delayed, the share says nothing: it grows faster and
    // faster, and the plan leaves more of each slack unused.
    const double more = 1 + 0.01 * std::pow(4, out.repairs - 1);
    const double share =
        std::max(more * best.share, 1.002 * true_share(packs, best, out.default_value.time_s));
    auto again = try_share(graph, packs, share, out.deadline_s, trying);
    if (!again) break;
    best = *std::move(again);
  }
  // Where that does not help, the deadline is tightened. The bound stays that of the deadline.
  const double bound_j = best.solution.lower_bound_j;
  double tighter = out.deadline_s;
  for (int i = 0; best.retimed_s > limit && i < kMostTrials; ++i) {
    ++out.repairs;
    tighter -= 1.05 * (best.retimed_s - out.deadline_s);
    auto again = try_share(graph, packs, best.share, tighter, trying);
    if (!again) break;
    best = *std::move(again);
    best.solution.lower_bound_j = std::min(best.solution.lower_bound_j, bound_j);
    best.solution.optimal = false;
  }
  if (best.retimed_s > limit) {
    set_delay_share(packs, first.share);
    if (auto rest = hold_back(graph, packs, first.solution, limit)) {
      best = {.share = first.share, .solution = *std::move(rest), .retimed_s = 0};
      best.retimed_s = retimed_time(graph, packs, best.solution);
      tighter = 0;  // not the plan of these packs
    }
  }
  // Then as few of them as the re-timed graph allows.
  // (Plans of several GPUs take long: they keep the safe side.)
  if (out.repairs == 0 && packs.problem.gpus.size() == 1) {
    double low = 0;  // share too small: the plan misses the deadline
    double high = best.share;
    for (int i = 0; i < kMostTrials; ++i) {
      const double planned = best.solution.value.time_s - out.default_value.time_s;
      const double real = best.retimed_s - out.default_value.time_s;
      const double unused = out.deadline_s - best.retimed_s;
      if (planned <= 0 || unused < 0.02 * (out.deadline_s - out.default_value.time_s)) break;
      double share =
          std::clamp(high * std::max(real, 0.1 * planned) / planned, 0.25 * high, 0.98 * high);
      share = std::max(share, low + 0.5 * (high - low) * 0.5);
      if (share >= 0.99 * high) break;
      auto trial = try_share(graph, packs, share, out.deadline_s, trying);
      if (trial && trial->retimed_s <= limit) {
        best = *std::move(trial);
        high = share;
      } else {
        low = share;
        if (high - low < 0.02 * high) break;
        // Between the two.
        auto middle = try_share(graph, packs, 0.5 * (low + high), out.deadline_s, trying);
        if (middle && middle->retimed_s <= limit) {
          high = middle->share;
          best = *std::move(middle);
        } else {
          low = 0.5 * (low + high);
        }
      }
    }
  }
  if (tighter == out.deadline_s) {
    auto proven = try_share(graph, packs, best.share, out.deadline_s, options);
    if (proven && proven->retimed_s <= limit) best = *std::move(proven);
  }
  set_delay_share(packs, best.share);
  best =
      confirmed(graph, packs, std::move(best), out.default_value.time_s, out.deadline_s, options);
  // Where delays had to be counted further for the plan that was found, another may do with fewer:
  // the bound stays that of the packs before.
  if (out.repairs > 0 && first_bound_j < best.solution.lower_bound_j) {
    best.solution.lower_bound_j = first_bound_j;
    best.solution.optimal = false;
  }
  take_retimed(packs, out.uniform, best);
  out.plan = std::move(best.solution);
  out.retimed_s = best.retimed_s;

  // A plan that re-timing never confirmed is none.
  const bool late = best.retimed_s > limit;
  if (out.uniform && (late || out.uniform->value.energy_j < out.plan.value.energy_j)) {
    packs.offer() = all;
    Trial wide = single_clock_plan(graph, packs, *out.uniform, out.deadline_s, options);
    out.default_choice = default_choice(packs.problem);
    out.plan = std::move(wide.solution);
    out.retimed_s = wide.retimed_s;
  }
  settle(packs.problem, out);
  return out;
}

}  // namespace ergon::plan
