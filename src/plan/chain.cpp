// The chain solver: one GPU, linear or repeating.
#include "chain.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "chain_dual.hpp"
#include "chain_search.hpp"
#include "clock_chain.hpp"
#include "evaluate.hpp"
#include "infeasible.hpp"
#include "numbers.hpp"
#include "price_dp.hpp"

namespace ergon::plan {
namespace {

// Partial plans one label search may keep for effort 1: about 0.2 CPU seconds.
constexpr std::size_t kChainLabels = 4'000'000;
// Whatever gap was asked for: below so many options a proof of optimality costs little, and below
// so many a gap of one in a million less than half a CPU second.
constexpr std::size_t kSmall = 2000;
constexpr std::size_t kMedium = 200'000;
constexpr double kMediumGap = 1e-6;

// The chain with all idle power put into packs and changes: energy is then a plain sum.
ClockChain with_idle_power(const Problem& problem, std::uint32_t gpu) {
  ClockChain c = make_clock_chain(problem, gpu);
  double beside_w = 0;
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g) {
    if (g != gpu) beside_w += problem.gpus[g].idle_power_w;
  }
  for (std::size_t s = 0; s < c.slots(); ++s) c.energy_j[s] += beside_w * c.time_s[s];
  c.switching.energy_j += (beside_w + problem.gpus[gpu].idle_power_w) * c.switching.time_s;
  return c;
}

class ChainSolver {
 public:
  ChainSolver(const ClockChain& chain, double limit_s, const SolveOptions& options)
      : chain_(chain), limits_{.limit_s = limit_s} {
    limits_.target_gap = options.target_gap;
    limits_.labels = kChainLabels * static_cast<std::size_t>(std::max(1, options.effort));
    best_.spent.energy_j = kInfinity;
    if (options.quick) return;
    if (chain_.slots() <= kMedium) limits_.target_gap = std::min(options.target_gap, kMediumGap);
    if (chain_.slots() <= kSmall) limits_.target_gap = 0;
  }

  // False where no plan ends in time; fastest_s() is then the shortest time there is.
  bool solve() {
    try_one_clock();
    return chain_.repeats && chain_.size() > 1 ? solve_repeating() : solve_linear();
  }
  [[nodiscard]] const SpanPlan& best() const { return best_; }
  [[nodiscard]] double bound() const { return std::min(bound_, best_.spent.energy_j); }
  [[nodiscard]] double fastest_s() const { return fastest_s_; }

 private:
  // One way to cross the cut of a repeating chain, as a span of the chain begun there.
  struct Branch {
    Span span;
    std::uint32_t first_slot = kNoIndex;  // of the run that crosses the cut, if one does
    std::uint32_t last_slot = kNoIndex;
    double bound = -kInfinity;
  };

  void try_one_clock();
  bool solve_linear();
  bool solve_repeating();
  std::vector<Branch> branches(const ClockChain& cut_chain) const;
  void search(Branch& branch, double price, std::uint32_t cut);
  [[nodiscard]] std::uint32_t quiet_position(const std::vector<std::uint32_t>& slots) const;
  void take(const SpanPlan& plan) {
    if (plan.spent.energy_j < best_.spent.energy_j) best_ = plan;
  }
  [[nodiscard]] double good_enough() const {
    return best_.spent.energy_j * (1 - std::max(limits_.target_gap, kRounding));
  }

  const ClockChain& chain_;
  SearchLimits limits_;
  SpanPlan best_;
  double bound_ = -kInfinity;
  double fastest_s_ = kInfinity;
};

// A GPU that keeps one clock owes no minimum run and no change around the end.
void ChainSolver::try_one_clock() {
  const auto n = static_cast<std::uint32_t>(chain_.size());
  for (std::uint32_t head = chain_.first[0]; head < chain_.first[1]; ++head) {
    SpanPlan plan;
    for (std::uint32_t s = head; s != kNoIndex; s = chain_.after[s]) {
      plan.slots.push_back(s);
      plan.spent.time_s += chain_.time_s[s];
      plan.spent.energy_j += chain_.energy_j[s];
    }
    if (plan.slots.size() < n) continue;
    fastest_s_ = std::min(fastest_s_, plan.spent.time_s);
    if (plan.spent.time_s <= limits_.limit_s) take(plan);
  }
}

bool ChainSolver::solve_linear() {
  const Span span{
      .chain = &chain_, .first = 0, .last = static_cast<std::uint32_t>(chain_.size() - 1)};
  SpanSearch search(span, limits_);
  const bool some = search.price(0);
  fastest_s_ = std::min(fastest_s_, search.fastest_s());
  if (some) {
    take(search.plan());
    if (!search.closed(best_.spent.energy_j)) search.join();
    take(search.plan());
    if (!search.closed(best_.spent.energy_j)) search.search_labels(best_.spent.energy_j);
    take(search.plan());
  }
  bound_ = search.bound();  // infinite without plans of several runs: those of one are known
  return best_.spent.energy_j < kInfinity;
}

// Middle of the run with the most time: there the plans worth a look differ least.
std::uint32_t ChainSolver::quiet_position(const std::vector<std::uint32_t>& slots) const {
  const auto n = static_cast<std::uint32_t>(slots.size());
  const auto changes = [&](std::uint32_t i) {
    return chain_.clock_hz[slots[i]] != chain_.clock_hz[slots[i == 0 ? n - 1 : i - 1]];
  };
  std::uint32_t start = 0;
  while (start < n && !changes(start)) ++start;
  if (start == n) return 0;
  double most = -1;
  std::uint32_t middle = 0;
  for (std::uint32_t k = 0; k < n;) {
    std::uint32_t length = 0;
    double seconds = 0;
    do {
      seconds += chain_.time_s[slots[(start + k + length) % n]];
      ++length;
    } while (k + length < n && !changes((start + k + length) % n));
    if (seconds > most) {
      most = seconds;
      middle = (start + k + (length + 1) / 2) % n;
    }
    k += length;
  }
  return middle;
}

bool ChainSolver::solve_repeating() {
  const std::size_t n = chain_.size();
  ClockChain only_time = chain_;
  std::fill(only_time.energy_j.begin(), only_time.energy_j.end(), 0.0);
  only_time.switching.energy_j = 0;
  PriceDp fastest(only_time);
  PriceDp dp(chain_);
  const auto cheapest = [&](Prices prices) -> std::optional<Priced> {
    const PricedPath& path =
        prices.energy_weight == 0 ? fastest.solve(prices.price) : dp.solve(prices.price);
    if (path.slots.empty()) return std::nullopt;
    SpanPlan plan{.spent = {}, .slots = path.slots};
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t s = path.slots[i];
      plan.spent.time_s += chain_.time_s[s];
      plan.spent.energy_j += chain_.energy_j[s];
      if (chain_.clock_hz[s] != chain_.clock_hz[path.slots[i == 0 ? n - 1 : i - 1]]) {
        plan.spent.time_s += chain_.switching.time_s;
        plan.spent.energy_j += chain_.switching.energy_j;
      }
    }
    if (plan.spent.time_s <= limits_.limit_s) take(plan);
    return Priced{.value = path.cost_j, .spent = plan.spent};
  };
  const Dual dual = maximise_dual(cheapest, limits_.limit_s, 0);
  fastest_s_ = dual.fastest_s;
  if (!dual.feasible) return false;
  bound_ = dual.bound_j;
  if (bound_ >= good_enough()) return true;

  const std::uint32_t cut = quiet_position(best_.slots);
  const ClockChain cut_chain = rotated(chain_, cut);
  std::vector<Branch> all = branches(cut_chain);
  // One pass bounds all branches of each clock; most need no pass of their own.
  const std::vector<double> through = PriceDp(cut_chain).bounds_through_end(dual.price);
  Pass pass;
  for (Branch& b : all) {
    if (b.first_slot != kNoIndex) {
      b.bound = through[b.first_slot] - dual.price * limits_.limit_s;
      if (b.bound >= good_enough()) continue;
    }
    const SpanPricer pricer(b.span);
    pricer.forward({.price = dual.price}, pass);
    const std::uint32_t end = pricer.best_end(pass);
    b.bound =
        end == kNoIndex ? kInfinity : pricer.end_value(pass, end) - dual.price * limits_.limit_s;
  }
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return all[a].bound < all[b].bound || (all[a].bound == all[b].bound && a < b);
  });
  double least = kInfinity;
  for (const std::size_t k : order) {
    Branch& b = all[k];
    if (b.bound < good_enough()) search(b, dual.price, cut);
    least = std::min(least, b.bound);
  }
  bound_ = std::max(bound_, least);
  return true;
}

std::vector<ChainSolver::Branch> ChainSolver::branches(const ClockChain& c) const {
  const auto n = static_cast<std::uint32_t>(c.size());
  std::vector<Branch> out;
  // The clock changes exactly at the cut.
  out.push_back({.span = {.chain = &c,
                          .first = 0,
                          .last = n - 1,
                          .before = {c.switching.time_s, c.switching.energy_j}}});
  std::uint32_t tail = c.first[n - 1];
  for (std::uint32_t head = c.first[0]; head < c.first[1]; ++head) {
    while (tail < c.first[n] && c.clock_hz[tail] < c.clock_hz[head]) ++tail;
    if (tail == c.first[n]) break;
    if (c.clock_hz[tail] != c.clock_hz[head]) continue;
    // A run crosses the cut that is long enough before it.
    out.push_back({.span = {.chain = &c,
                            .first = 0,
                            .last = n - 1,
                            .source = head,
                            .sink = tail,
                            .before = {c.time_s[head], c.energy_j[head]}},
                   .first_slot = head,
                   .last_slot = tail});
    if (!(c.switching.min_run_s > 0)) continue;
    // A run crosses the cut that becomes long enough after it: one branch for each start.
    Spent tail_part;
    for (std::uint32_t s = tail; s != kNoIndex && c.run_end[s] == kNoIndex; s = c.before[s]) {
      tail_part.time_s += c.time_s[s];
      tail_part.energy_j += c.energy_j[s];
      Spent head_part;
      std::uint32_t e = head;
      for (; e != kNoIndex; e = c.after[e]) {
        head_part.time_s += c.time_s[e];
        head_part.energy_j += c.energy_j[e];
        if (tail_part.time_s + head_part.time_s >= shortest_run(c.switching.min_run_s)) break;
      }
      if (e == kNoIndex || c.position[e] + 1 >= c.position[s]) continue;
      out.push_back({.span = {.chain = &c,
                              .first = c.position[e],
                              .last = c.position[s] - 1,
                              .source = e,
                              .before = head_part,
                              .after = {tail_part.time_s + c.switching.time_s,
                                        tail_part.energy_j + c.switching.energy_j}},
                     .first_slot = head,
                     .last_slot = tail});
    }
  }
  return out;
}

// Searches one branch, raises its bound, and takes a better plan over into the uncut chain.
void ChainSolver::search(Branch& branch, double price, std::uint32_t cut) {
  SpanSearch search(branch.span, limits_);
  if (!search.price(price)) {
    branch.bound = kInfinity;
    return;
  }
  const double cutoff = best_.spent.energy_j;
  if (!search.closed(cutoff)) search.join();
  if (!search.closed(cutoff)) search.search_labels(cutoff);
  branch.bound = std::max(branch.bound, search.bound());
  if (search.plan().spent.energy_j >= cutoff) return;
  const ClockChain& c = *branch.span.chain;
  SpanPlan plan = search.plan();
  for (std::uint32_t s = branch.first_slot; s != kNoIndex && c.position[s] < branch.span.first;
       s = c.after[s])
    plan.slots[c.position[s]] = s;
  for (std::uint32_t s = branch.last_slot; s != kNoIndex && c.position[s] > branch.span.last;
       s = c.before[s])
    plan.slots[c.position[s]] = s;
  // Slots of the cut chain to slots of the chain: the same option of the same pack.
  const auto n = static_cast<std::uint32_t>(c.size());
  SpanPlan uncut{.spent = plan.spent, .slots = std::vector<std::uint32_t>(n)};
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t to = i + cut < n ? i + cut : i + cut - n;
    uncut.slots[to] = chain_.first[to] + (plan.slots[i] - c.first[i]);
  }
  take(uncut);
}

Choice choice_of(const Problem& problem, const ClockChain& chain, const SpanPlan& plan) {
  Choice choice(problem.packs.size(), 0);
  for (std::size_t i = 0; i < chain.size(); ++i)
    choice[chain.packs[i]] = chain.option[plan.slots[i]];
  return choice;
}

}  // namespace

bool is_chain(const Problem& problem) {
  if (problem.packs.empty()) return false;
  // Least time from the beginning of the chain to the beginning of each pack.
  std::vector<double> begin(problem.packs.size() + 1, 0.0);
  for (std::size_t i = 0; i < problem.packs.size(); ++i) {
    const Pack& pack = problem.packs[i];
    if (pack.gpu != problem.packs.front().gpu) return false;
    double least = kInfinity;
    for (const Option& o : pack.options) least = std::min(least, o.time_s);
    begin[i + 1] = begin[i] + least;
    for (const After& a : pack.after) {
      if (a.lag_s > begin[i] - begin[a.pack + 1]) return false;
    }
  }
  return true;
}

Result<Solution> solve_chain(const Problem& problem, double deadline_s,
                             const SolveOptions& options) {
  ERGON_CHECK(is_chain(problem), "the chain solver is given a chain");
  const ClockChain chain = with_idle_power(problem, problem.packs.front().gpu);
  ChainSolver solver(chain, latest_end(deadline_s), options);
  if (!solver.solve()) {
    if (solver.fastest_s() == kInfinity) return fail(no_plan_at_all());
    ERGON_TRY(const Solution nearest, solve_chain(problem, solver.fastest_s(), options));
    return fail(too_early(deadline_s, nearest.value));
  }
  Solution out;
  out.choice = choice_of(problem, chain, solver.best());
  out.value = evaluate(problem, out.choice);
  out.lower_bound_j = std::min(solver.bound(), out.value.energy_j) * (1 - kRounding);
  out.optimal = solver.bound() >= out.value.energy_j * (1 - 10 * kRounding);
  return out;
}

}  // namespace ergon::plan
