// Bound by prices, plan by rounding (no switch cost) or annealing (switch cost).
#include "coupled.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "evaluate.hpp"
#include "infeasible.hpp"
#include "network.hpp"
#include "network_simplex.hpp"
#include "numbers.hpp"
#include "prices.hpp"
#include "prices_search.hpp"
#include "repair.hpp"
#include "repair_anneal.hpp"

namespace ergon::plan {
namespace {

// Bound and plan that agree to this are one figure.
constexpr double kSame = 1e-9;
// Without switch cost plans are cheap to improve: to this gap, whatever the target.
constexpr double kCheapGap = 1e-6;
// Gaps from which annealing with a price follows, and from which it takes longer.
constexpr double kPricedFrom = 3e-3;
constexpr double kLongFrom = 1e-2;
// The bound of pairs of GPUs is dear: from this gap on, and with so many steps of its sums; then,
// in the ranges of gaps below, with more points in time, and as many steps again.
constexpr double kPairsFrom = 2e-3;
constexpr double kPairWork = 5e9;
struct FinePairs {
  std::uint32_t fineness;
  double from, to;  // gap; above, it is the plan that is far off
};
constexpr FinePairs kFinePairs[] = {{2, 1.25e-2, 1e-1}, {4, 1.9e-2, 5e-2}};

Choice fastest_choice(const Problem& problem) {
  Choice out;
  for (const Pack& pack : problem.packs) {
    const auto less = [](const Option& a, const Option& b) {
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.energy_j < b.energy_j;
    };
    out.push_back(static_cast<std::uint32_t>(std::ranges::min_element(pack.options, less) -
                                             pack.options.begin()));
  }
  return out;
}

}  // namespace

struct CoupledSolver::Parts {
  const Problem& problem;
  Network net;
  Hulls hulls;
  NetworkSimplex simplex;
  PricedBound bound;
  SlackFiller filler;
  bool changes_cost;
  std::optional<Blocks> blocks;
  std::optional<PriceSearch> search;
  std::optional<Anneal> anneal;
  Choice fastest;
  // Of the deadline before, where there are many.
  std::vector<double> last_prices;
  Choice last_choice;

  explicit Parts(const Problem& p)
      : problem(p),
        net(make_network(p)),
        hulls(make_hulls(p, net)),
        simplex(net, hulls),
        bound(p, net),
        filler(p),
        changes_cost(p.switching.time_s > 0 || p.switching.energy_j > 0 ||
                     p.switching.min_run_s > 0),
        blocks(changes_cost ? std::nullopt : Blocks::find(p)),
        fastest(fastest_choice(p)) {}

  [[nodiscard]] bool meets(const Evaluation& value, double deadline_s) const {
    return value.runs_long_enough && value.time_s <= latest_end(deadline_s);
  }
  [[nodiscard]] std::vector<double> lp_prices() const {
    std::vector<double> out(net.arcs.size());
    for (std::uint32_t a = 0; a < net.arcs.size(); ++a) out[a] = simplex.price(a);
    return out;
  }
  Choice rounded() const;
  Choice dived(double deadline_s);
  Solution solve_free(double deadline_s, double target_gap, bool alone);
  std::optional<Solution> solve_changes(double deadline_s, const SolveOptions& options, bool alone);
  void join(Solution& best, const Choice& early, const Choice& late, double deadline_s) const;
  void consider(Solution& best, const Choice& choice, double deadline_s) const;
  Choice one_clock_each() const;
  void raise_by_pairs(Solution& best, std::span<const double> prices, double deadline_s);
  Error infeasible(double deadline_s, const SolveOptions& options, bool alone);
};

// Every pack at its corner of the linear program, the faster one where it lies between two.
Choice CoupledSolver::Parts::rounded() const {
  Choice out(problem.packs.size(), 0);
  std::vector<std::uint32_t> taken(net.row.size(), 0);
  for (std::uint32_t a = 0; a < net.arcs.size(); ++a) {
    const Network::Arc& arc = net.arcs[a];
    if (arc.first == arc.last) continue;
    const NetworkSimplex::Cut cut = simplex.cut(a);
    const auto steps = simplex.steps(a);
    const std::uint32_t full = cut.steps + (cut.share > 0 ? 1 : 0);
    for (std::uint32_t s = 0; s < full; ++s) ++taken[steps[s]];
    for (std::uint32_t i = arc.first; i < arc.last; ++i) {
      std::uint32_t corner = hulls.begin[i] + taken[i];
      if (simplex.fixed(i) >= 0) {
        corner = hulls.begin[i];
        while (hulls.corners[corner].time_s != simplex.fixed(i)) ++corner;
      }
      out[net.row[i]] = hulls.corners[corner].option;
    }
  }
  return out;
}

// Packs between two corners are settled at the nearer one, a few at a time; the program is solved
// again for the others. The program is left for another deadline or a new solve.
Choice CoupledSolver::Parts::dived(double deadline_s) {
  struct Between {
    std::uint32_t row = 0;
    std::uint32_t slower = 0;  // corner
    double share = 0;          // of the step to the next one
  };
  // A share as small as this may come from times rounded to whole units.
  constexpr double kNothing = 1e-6;
  // Pivots for each pack; then the rest is rounded.
  constexpr std::uint64_t kPivots = 8;
  const std::uint64_t last = simplex.pivots() + kPivots * problem.packs.size();
  std::vector<Between> between;
  while (simplex.pivots() < last) {
    between.clear();
    for (std::uint32_t a = 0; a < net.arcs.size(); ++a) {
      if (net.arcs[a].first == net.arcs[a].last) continue;
      const NetworkSimplex::Cut cut = simplex.cut(a);
      if (!(cut.share > 0)) continue;
      const auto steps = simplex.steps(a);
      const std::uint32_t row = steps[cut.steps];
      const auto taken = std::count(steps.begin(), steps.begin() + cut.steps, row);
      between.push_back({row, hulls.begin[row] + static_cast<std::uint32_t>(taken), cut.share});
    }
    if (between.empty()) break;
    std::ranges::sort(between, [](const Between& a, const Between& b) {
      const double left = std::min(a.share, 1 - a.share);
      const double right = std::min(b.share, 1 - b.share);
      return left != right ? left < right : a.row < b.row;
    });
    std::size_t few = std::max<std::size_t>(1, between.size() / 3);
    while (few < between.size() && between[few].share < kNothing) ++few;
    const auto settle = [&](std::size_t from, std::size_t to, double least_share) {
      for (std::size_t k = from; k < to; ++k) {
        const Between& b = between[k];
        simplex.fix(b.row, hulls.corners[b.slower + (b.share > least_share ? 1 : 0)].time_s);
      }
      return simplex.solve(deadline_s);
    };
    if (!settle(0, few, 0.5) && !settle(0, few, 0)) break;
  }
  Choice out = rounded();
  simplex.unfix();
  return out;
}

void CoupledSolver::Parts::consider(Solution& best, const Choice& choice, double deadline_s) const {
  const Evaluation value = evaluate(problem, choice);
  if (!meets(value, deadline_s)) return;
  if (!best.choice.empty() && value.energy_j >= best.value.energy_j) return;
  best.choice = choice;
  best.value = value;
}

// The linear program has been solved for the deadline.
Solution CoupledSolver::Parts::solve_free(double deadline_s, double target_gap, bool alone) {
  Solution best;
  const std::vector<double> prices = lp_prices();
  best.lower_bound_j = bound.bound(prices, deadline_s);
  // Where the deadline has no price of its own the makespan of the program is the one to keep.
  const double until = std::min(deadline_s, latest_end(simplex.node_time(Network::kEnd)));
  std::vector<double> pack_price(problem.packs.size());
  for (std::uint32_t i = 0; i < net.row.size(); ++i)
    pack_price[net.row[i]] = prices[net.pack_arc[i]];
  consider(best, fastest, deadline_s);
  // What the sweeps look at is an estimate of a plan's value; consider() has the last word.
  SlackFiller::Ways best_ways = filler.ways_of(best.choice);
  double least = filler.value_of(best_ways).energy_j;
  const double latest = latest_end(deadline_s);
  const auto offer = [&](const SlackFiller::Ways& ways) {
    const SlackFiller::Value value = filler.value_of(ways);
    if (value.time_s > latest || value.energy_j >= least) return;
    least = value.energy_j;
    best_ways = ways;
  };
  std::vector<SlackFiller::Priced> falling;  // from nearly the full price to none
  for (const double scale : {0.9, 0.75, 0.5, 0.25, 0.0})
    falling.push_back(filler.priced(pack_price, scale));
  const auto fill = [&](SlackFiller::Ways& ways, std::size_t every) {
    for (std::size_t k = 0; k < falling.size(); k += every) {
      filler.sweep(ways, falling[k], until, true, k > 0);
      filler.sweep(ways, falling[k], until, false, true);
    }
    offer(ways);
  };
  SlackFiller::Ways ways = filler.ways_of(rounded());
  offer(ways);
  fill(ways, 1);
  if (alone && least > best.lower_bound_j * (1 + target_gap)) {
    ways = filler.ways_of(dived(deadline_s));
    offer(ways);
    fill(ways, 1);
  }
  // One pack a step faster, and what that frees given to all others anew.
  const std::uint64_t budget = alone ? 262144 : 16384;
  const std::uint64_t packs = problem.packs.size();
  const std::uint64_t tries = std::clamp<std::uint64_t>(budget / packs, 8, alone ? 1024 : 64);
  std::uint64_t state = 1;
  for (std::uint64_t k = 0; k < tries; ++k) {
    if (least <= best.lower_bound_j * (1 + std::min(target_gap, kCheapGap))) break;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    ways = best_ways;
    if (!filler.quicken(ways, static_cast<std::uint32_t>((state >> 33U) % packs))) continue;
    fill(ways, 2);
  }
  // One pack slower for another one faster.
  std::uint64_t visits = alone ? 1U << 24U : 1U << 16U;
  ways = best_ways;
  std::uint64_t since = 0;
  for (std::uint32_t i = 0; since < packs && visits > 0; i = i + 1 < packs ? i + 1 : 0, ++since) {
    while (visits > 0 && filler.exchange(ways, i, until, visits)) since = 0;
  }
  offer(ways);
  consider(best, filler.choice_of(best_ways), deadline_s);
  return best;
}

// The top clock that all packs of a GPU list, where there is one.
Choice CoupledSolver::Parts::one_clock_each() const {
  Choice out = fastest;
  for (std::size_t g = 0; g < problem.gpus.size(); ++g) {
    const std::uint32_t first = net.row_begin[g];
    const std::uint32_t last = net.row_begin[g + 1];
    if (first == last) continue;
    double best_time = kInfinity;
    std::vector<std::uint32_t> trial(last - first);
    for (const Option& o : problem.packs[net.row[first]].options) {
      double time = 0;
      bool all = true;
      for (std::uint32_t i = first; i < last && all; ++i) {
        const auto& options = problem.packs[net.row[i]].options;
        const auto it = std::ranges::find(options, o.clock_hz, &Option::clock_hz);
        all = it != options.end();
        if (!all) break;
        trial[i - first] = static_cast<std::uint32_t>(it - options.begin());
        time += it->time_s;
      }
      if (!all || time >= best_time) continue;
      best_time = time;
      for (std::uint32_t i = first; i < last; ++i) out[net.row[i]] = trial[i - first];
    }
  }
  return out;
}

// The beginning of one plan and the end of the other, as much of the late one as the deadline lets.
void CoupledSolver::Parts::join(Solution& best, const Choice& early, const Choice& late,
                                double deadline_s) const {
  for (const bool late_first : {true, false}) {
    const auto joined = [&](std::size_t packs) {
      Choice out(late_first ? late : early);
      const Choice& rest = late_first ? early : late;
      const std::size_t cut = late_first ? packs : out.size() - packs;
      std::copy(rest.begin() + static_cast<std::ptrdiff_t>(cut), rest.end(),
                out.begin() + static_cast<std::ptrdiff_t>(cut));
      return out;
    };
    std::size_t good = 0;
    std::size_t bad = early.size();
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      const Choice choice = joined(middle);
      consider(best, choice, deadline_s);
      (meets(evaluate(problem, choice), deadline_s) ? good : bad) = middle;
    }
  }
}

// Where waits hold in every plan time is dearer: prices are raised as long as that helps.
void CoupledSolver::Parts::raise_by_pairs(Solution& best, std::span<const double> prices,
                                          double deadline_s) {
  if (problem.switching.min_run_s > 0) return;
  const double work = std::max(PairBound(problem, net).work(), 1.0);
  const double passes = std::floor(kPairWork / work);
  std::vector<double> raised(prices.size());
  const auto try_scale = [&](double scale, std::uint32_t fineness) {
    for (std::size_t a = 0; a < raised.size(); ++a) raised[a] = scale * prices[a];
    const double value = bound.bound_of_pairs(raised, deadline_s, fineness);
    best.lower_bound_j = std::max(best.lower_bound_j, value);
    return value;
  };
  const double alone_j = best.lower_bound_j;
  double last = -kInfinity;
  double good_scale = 1;
  double scale = 1;
  for (int pass = 0; pass < std::min(passes, 4.0); ++pass, scale += 0.025) {
    const double value = try_scale(scale, 1);
    if (value <= last) break;
    if (!(value > alone_j)) break;
    last = value;
    good_scale = scale;
  }
  double left = kPairWork;
  for (const FinePairs& finer : kFinePairs) {
    left -= finer.fineness * work;
    const double gap = (best.value.energy_j - best.lower_bound_j) / best.lower_bound_j;
    if (best.choice.empty() || !(gap > finer.from && gap <= finer.to) || left < 0) break;
    try_scale(good_scale, finer.fineness);
    if (!(best.lower_bound_j > alone_j)) break;
  }
}

std::optional<Solution> CoupledSolver::Parts::solve_changes(double deadline_s,
                                                            const SolveOptions& options,
                                                            bool alone) {
  if (!search) search.emplace(problem, net);
  if (!anneal) anneal.emplace(problem, net);
  Solution best;
  best.lower_bound_j = -kInfinity;
  std::vector<double> prices = lp_prices();
  const auto try_prices = [&](std::span<const double> trial) {
    const double value = bound.bound(trial, deadline_s);
    if (value <= best.lower_bound_j) return;
    best.lower_bound_j = value;
    if (trial.data() != prices.data()) prices.assign(trial.begin(), trial.end());
  };
  try_prices(prices);
  // Temperatures in proportion to what a pack costs.
  double sum = problem.switching.energy_j;
  for (std::uint32_t i = 0; i < fastest.size(); ++i)
    sum += problem.packs[i].options[fastest[i]].energy_j;
  const double unit =
      std::max(sum / static_cast<double>(std::max<std::size_t>(fastest.size(), 1)), 1e-9);
  // The prices of a deadline close by need no walk from far.
  const bool warm = !alone && !last_prices.empty();
  if (warm) try_prices(last_prices);
  search->start(warm ? last_prices : std::vector<double>(prices), deadline_s);
  double temperature = 0.05 * unit;
  for (int level = 0; level < 10; ++level, temperature *= 0.7) {
    if (warm && level < 5) continue;
    search->walk({temperature, temperature * (level < 7 ? 0.1 : 0.03)}, 30);
    try_prices(search->prices());
  }

  // The cheapest plan at raised prices that meets the deadline is where annealing starts.
  consider(best, fastest, deadline_s);
  consider(best, one_clock_each(), deadline_s);
  if (const auto uniform = best_uniform(problem, deadline_s))
    consider(best, uniform->choice, deadline_s);
  std::vector<double> raised(prices);
  Choice start;
  std::vector<Choice> late;
  for (double scale = 1; scale < 100; scale *= 1.2) {
    for (std::size_t a = 0; a < raised.size(); ++a) raised[a] = scale * prices[a];
    bound.bound(raised, deadline_s);
    if (start.empty()) start = bound.cheapest();
    const Choice& choice = bound.cheapest();
    if (!meets(evaluate(problem, choice), deadline_s)) {
      late.push_back(choice);
      continue;
    }
    consider(best, choice, deadline_s);
    for (const Choice& other : late) join(best, Choice(choice), other, deadline_s);
    break;
  }
  if (warm && !best.choice.empty() && last_choice.size() == best.choice.size()) {
    consider(best, last_choice, deadline_s);
    join(best, Choice(best.choice), last_choice, deadline_s);
  }
  const auto gap = [&] {
    return best.choice.empty()
               ? kInfinity
               : (best.value.energy_j - best.lower_bound_j) / std::max(best.lower_bound_j, 1e-300);
  };
  anneal->set_prices(prices, deadline_s);
  const auto effort = static_cast<std::uint64_t>(std::max(options.effort, 1));
  const std::uint64_t moves = 500 * problem.packs.size() * effort;
  const auto improve = [&](std::uint64_t longer, std::uint64_t seed, bool priced) {
    const Choice& from = best.choice.empty() ? start : best.choice;
    if (from.empty()) return;
    const Anneal::Cooling cooling{.from_j = 0.06 * unit,
                                  .to_j = 0.002 * unit,
                                  .moves = moves * longer,
                                  .seed = seed,
                                  .priced = priced};
    consider(best, anneal->run(from, cooling), deadline_s);
  };
  // A short run shows how much is left; what a price finds takes a longer one.
  if (gap() > options.target_gap) improve(1, 1, false);
  if (!warm && gap() > std::max(options.target_gap, kPricedFrom))
    improve(alone && gap() > kLongFrom ? 8 : 4, 2, true);
  if (alone && gap() > std::max(options.target_gap, kPairsFrom))
    raise_by_pairs(best, prices, deadline_s);
  if (best.choice.empty()) return std::nullopt;
  last_prices = prices;
  last_choice = best.choice;
  return best;
}

// The fastest plan known; of a plan that stands alone also the least energy found for its time.
Error CoupledSolver::Parts::infeasible(double deadline_s, const SolveOptions& options, bool alone) {
  Evaluation nearest = evaluate(problem, fastest);
  if (!changes_cost) return too_early(deadline_s, nearest);
  const Evaluation one = evaluate(problem, one_clock_each());
  if (one.runs_long_enough && (!nearest.runs_long_enough || one.time_s < nearest.time_s))
    nearest = one;
  if (!nearest.runs_long_enough) return no_plan_at_all(false);
  // No plan is faster than the fastest options without changes of clock.
  Problem without = problem;
  without.switching = {};
  const bool proven = nearest.time_s <= latest_end(evaluate(without, fastest).time_s);
  if (alone && simplex.solve(nearest.time_s)) {
    const auto cheaper = solve_changes(nearest.time_s, options, alone);
    if (cheaper && cheaper->value.energy_j < nearest.energy_j)
      nearest.energy_j = cheaper->value.energy_j;
  }
  return too_early(deadline_s, nearest, proven);
}

CoupledSolver::CoupledSolver(const Problem& problem) : parts_(std::make_unique<Parts>(problem)) {}
CoupledSolver::~CoupledSolver() = default;

Result<Solution> CoupledSolver::solve(double deadline_s, const SolveOptions& options, bool alone) {
  Parts& p = *parts_;
  if (p.problem.packs.empty()) return Solution{};
  if (p.blocks) return p.blocks->solve(deadline_s, options);
  // Without switch cost the fastest plan is known.
  const Evaluation fastest = evaluate(p.problem, p.fastest);
  std::optional<Solution> found;
  const bool possible = p.simplex.solve(std::max(deadline_s, 0.0));
  if (!p.changes_cost && fastest.time_s <= latest_end(deadline_s)) {
    found = p.solve_free(deadline_s, options.target_gap, alone);
  } else if (p.changes_cost && possible) {
    found = p.solve_changes(deadline_s, options, alone);
  }
  if (!found) return fail(p.infeasible(deadline_s, options, alone));
  // Rounding must not put the bound above a plan.
  found->lower_bound_j = std::min(found->lower_bound_j, found->value.energy_j);
  found->optimal =
      found->value.energy_j - found->lower_bound_j <= kSame * std::abs(found->value.energy_j);
  return *std::move(found);
}

Result<Solution> solve_coupled(const Problem& problem, double deadline_s,
                               const SolveOptions& options) {
  CoupledSolver solver(problem);
  return solver.solve(deadline_s, options, true);
}

}  // namespace ergon::plan
