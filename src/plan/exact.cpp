// Proven optimum of small problems.
#include "exact.hpp"

#include <algorithm>

#include "evaluate.hpp"
#include "exact_search.hpp"
#include "infeasible.hpp"
#include "numbers.hpp"

namespace ergon::plan {
namespace {

struct Outcome {
  Choice choice;  // empty where there is no plan in time
  double bound_j = -kInfinity;
  bool complete = false;
};

// Changes the clock of one stretch of packs of a GPU at a time, as long as that helps.
void improve(const Problem& problem, double limit_s, Choice& choice, double& energy_j) {
  std::vector<std::vector<std::uint32_t>> on_gpu(problem.gpus.size());
  for (std::uint32_t p = 0; p < problem.packs.size(); ++p)
    on_gpu[problem.packs[p].gpu].push_back(p);
  const auto at_clock = [&](std::uint32_t p, double clock_hz) {
    const auto& options = problem.packs[p].options;
    std::uint32_t k = 0;
    while (k < options.size() && options[k].clock_hz != clock_hz) ++k;
    return k < options.size() ? k : ~std::uint32_t{0};
  };
  for (bool better = true; better;) {
    better = false;
    for (const auto& packs : on_gpu) {
      for (std::size_t from = 0; from < packs.size(); ++from) {
        for (const Option& o : problem.packs[packs[from]].options) {
          Choice next = choice;
          for (std::size_t to = from; to < packs.size(); ++to) {
            const std::uint32_t k = at_clock(packs[to], o.clock_hz);
            if (k == ~std::uint32_t{0}) break;
            next[packs[to]] = k;
            const Evaluation e = evaluate(problem, next);
            if (e.runs_long_enough && e.time_s <= limit_s && e.energy_j < energy_j) {
              energy_j = e.energy_j;
              choice = next;
              better = true;
            }
          }
        }
      }
    }
  }
}

Outcome search(const Problem& problem, double limit_s, std::size_t labels) {
  const ExactModel model = make_exact_model(problem, limit_s);
  const std::vector<FlowPrices> prices = find_flow_prices(model);
  Outcome out;
  double best = kInfinity;
  const auto offer = [&](const Choice& choice) {
    const Evaluation e = evaluate(problem, choice);
    if (!e.runs_long_enough || e.time_s > limit_s || e.energy_j >= best) return;
    best = e.energy_j;
    out.choice = choice;
  };
  for (const FlowPrices& f : prices) {
    out.bound_j = std::max(out.bound_j, f.bound_j);
    if (f.bound_j == kInfinity) break;
    Choice choice(problem.packs.size());
    for (std::uint32_t p = 0; p < choice.size(); ++p) {
      const std::uint32_t g = problem.packs[p].gpu;
      choice[p] = model.chains[g].option[f.paths[g][model.position[p]]];
    }
    offer(choice);
  }
  out.complete = true;
  if (out.bound_j == kInfinity) return out;
  offer(default_choice(problem));
  if (!out.choice.empty()) improve(problem, limit_s, out.choice, best);
  ExactSearch exact(model, prices);
  // A narrow search first: a better plan makes the wide one cheaper.
  for (const std::size_t width : {std::size_t{500}, labels}) {
    exact.run(best, width);
    if (exact.improved()) {
      out.choice = exact.best();
      best = exact.incumbent_j();
    }
    out.complete = exact.bound_of_dropped() >= best * (1 - kRounding);
    if (out.complete) break;
  }
  out.bound_j = std::max(out.bound_j, std::min(best, exact.bound_of_dropped()));
  return out;
}

// No plan takes longer.
double longest_time(const Problem& problem) {
  double sum = problem.switching.time_s * static_cast<double>(problem.packs.size() + 1);
  for (const Pack& p : problem.packs) {
    double most = 0;
    for (const Option& o : p.options) most = std::max(most, o.time_s);
    for (const After& a : p.after) most += a.lag_s;
    sum += most;
  }
  return sum * (1 + kTimeTolerance);
}

// The same packs, where the energy of a plan is its makespan: one watt of idle power, and each pack
// of that GPU spends what it would idle.
Problem only_time(const Problem& problem) {
  Problem p = problem;
  p.switching.energy_j = 0;
  for (std::size_t g = 0; g < p.gpus.size(); ++g) p.gpus[g].idle_power_w = g == 0 ? 1 : 0;
  for (Pack& pack : p.packs) {
    for (Option& o : pack.options) o.energy_j = pack.gpu == 0 ? o.time_s : 0;
  }
  return p;
}

}  // namespace

Result<Solution> solve_exact(const Problem& problem, double deadline_s, std::size_t labels) {
  Solution out;
  if (problem.packs.empty()) {
    out.optimal = true;
    return out;
  }
  // A limit that no plan can exceed says nothing, but would spoil the scale of the prices.
  const double limit = std::min(latest_end(deadline_s), longest_time(problem));
  const Outcome found = search(problem, limit, labels);
  if (found.choice.empty() && !found.complete) return out;
  if (found.choice.empty()) {
    const Outcome fastest = search(only_time(problem), longest_time(problem), labels);
    if (fastest.choice.empty()) return fail(no_plan_at_all());
    const double least_s = evaluate(problem, fastest.choice).time_s;
    const Outcome nearest = search(problem, latest_end(least_s), labels);
    const Choice& choice = nearest.choice.empty() ? fastest.choice : nearest.choice;
    return fail(too_early(deadline_s, evaluate(problem, choice)));
  }
  out.choice = found.choice;
  out.value = evaluate(problem, found.choice);
  out.lower_bound_j = std::min(found.bound_j, out.value.energy_j) * (1 - kRounding);
  out.optimal = found.complete;
  return out;
}

}  // namespace ergon::plan
