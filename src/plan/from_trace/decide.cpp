// A plan of a trace's packs that the re-timed graph confirms.
#include <algorithm>
#include <cmath>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

constexpr double kTimeTolerance = 1e-9;  // the contract's: feasible is time <= deadline (1 + 1e-9)
constexpr int kMostTrials = 6;

struct Trial {
  double share = 1;
  Solution solution;
  double retimed_s = 0;
};

Result<Trial> try_share(const graph::Graph& graph, TracePacks& packs, double share,
                        double deadline_s, const SolveOptions& options) {
  set_delay_share(packs, share);
  Trial trial{.share = share, .solution = {}, .retimed_s = 0};
  ERGON_TRY(trial.solution, solve(packs.problem, deadline_s, options));
  trial.retimed_s = retime_choice(graph, packs, trial.solution.choice);
  return trial;
}

}  // namespace

void set_delay_share(TracePacks& packs, double share) {
  const double change = share / packs.delay_share;
  for (std::size_t i = 0; i < packs.packs.size(); ++i) {
    Pack& pack = packs.problem.packs[i];
    const double length = to_seconds(packs.packs[i].end_ns - packs.packs[i].start_ns).si();
    for (std::size_t k = 0; k < pack.options.size(); ++k) {
      Option& option = pack.options[k];
      const double delay = option.time_s - length;
      if (delay <= 0) continue;
      const std::size_t clock = packs.clocks[packs.clocks.size() - pack.options.size() + k];
      const double time = length + delay * change;
      option.energy_j =
          std::max(0.0, option.energy_j + packs.table.idle_w[clock] * (time - option.time_s));
      option.time_s = time;
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

  // With all delays counted the plan is nearly always on the safe side.
  ERGON_TRY(Trial best, try_share(graph, packs, 1, out.deadline_s, options));
  double tighter = out.deadline_s;
  while (best.retimed_s > limit && out.repairs < kMostTrials) {
    ++out.repairs;
    tighter -= 1.05 * (best.retimed_s - out.deadline_s);
    auto again = try_share(graph, packs, 1, tighter, options);
    if (!again) break;
    best = *std::move(again);
  }
  // Then as few of them as the re-timed graph allows.
  if (out.repairs == 0) {
    double low = 0;   // share too small: the plan misses the deadline
    double high = 1;  // share of `best`
    for (int i = 0; i < kMostTrials; ++i) {
      const double planned = best.solution.value.time_s - out.default_value.time_s;
      const double real = best.retimed_s - out.default_value.time_s;
      const double unused = out.deadline_s - best.retimed_s;
      if (planned <= 0 || unused < 0.02 * (out.deadline_s - out.default_value.time_s)) break;
      double share =
          std::clamp(high * std::max(real, 0.1 * planned) / planned, 0.25 * high, 0.98 * high);
      share = std::max(share, low + 0.5 * (high - low) * 0.5);
      if (share >= 0.99 * high) break;
      auto trial = try_share(graph, packs, share, out.deadline_s, options);
      if (trial && trial->retimed_s <= limit) {
        best = *std::move(trial);
        high = share;
      } else {
        low = share;
        if (high - low < 0.02) break;
        // Between the two.
        auto middle = try_share(graph, packs, 0.5 * (low + high), out.deadline_s, options);
        if (middle && middle->retimed_s <= limit) {
          high = middle->share;
          best = *std::move(middle);
        } else {
          low = 0.5 * (low + high);
        }
      }
    }
    set_delay_share(packs, best.share);
  }
  out.plan = std::move(best.solution);
  out.retimed_s = best.retimed_s;

  for (Uniform& uniform : uniform_clocks(graph, packs)) {
    if (uniform.value.time_s > limit) continue;
    if (!out.uniform || uniform.value.energy_j < out.uniform->value.energy_j)
      out.uniform = std::move(uniform);
  }
  if (out.uniform && out.uniform->value.energy_j < out.plan.value.energy_j) {
    out.plan.choice = out.uniform->choice;
    out.plan.value = out.uniform->value;
    out.plan.lower_bound_j = std::min(out.plan.lower_bound_j, out.plan.value.energy_j);
    out.retimed_s = out.uniform->value.time_s;
  }
  out.uniform_is_best =
      out.uniform && out.uniform->value.energy_j <= out.plan.value.energy_j * (1 + 1e-9);
  return out;
}

}  // namespace ergon::plan
