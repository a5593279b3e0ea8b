// The best prices on the waits: Dantzig-Wolfe column generation. The master program mixes plans of
// each GPU and places their packs in time; its dual values are the prices.
#include <algorithm>
#include <cmath>
#include <coin/ClpSimplex.hpp>

#include "exact_model.hpp"
#include "numbers.hpp"

// What LAPACK calls when it is given a bad argument. Its own version writes, for which it needs the
// run-time library of Fortran.
// NOLINTNEXTLINE(readability-identifier-naming): the name that LAPACK calls
extern "C" void xerbla_(const char* /*routine*/, const int* /*argument*/) {
  ERGON_CHECK(false, "LAPACK was given a bad argument");
}

namespace ergon::plan {
namespace {

constexpr int kMaxRounds = 80;
constexpr std::size_t kKept = 3;

class Master {
 public:
  explicit Master(const ExactModel& m) : m_(m) {
    const auto packs = static_cast<int>(m.problem->packs.size());
    const auto rows = static_cast<int>(m.waits.size() + m.chains.size());
    lp_.setLogLevel(0);
    lp_.resize(rows, 0);
    for (int w = 0; w < static_cast<int>(m.waits.size()); ++w)
      lp_.setRowBounds(w, m.waits[index(w)].lag_s, COIN_DBL_MAX);
    for (int g = 0; g < static_cast<int>(m.chains.size()); ++g) {
      const double weight = m.chains[index(g)].size() > 0 ? 1 : 0;
      lp_.setRowBounds(plans_row(g), weight, weight);
    }
    // One column for the end of each pack, then the makespan, then time past the limit: so dear
    // that it is used only where nothing else is left.
    double energy = 0;
    double seconds = m.limit_s;
    for (const ClockChain& c : m.chains) {
      for (const double e : c.energy_j) energy += e;
      for (const double t : c.time_s) seconds += t;
    }
    std::vector<std::vector<int>> places(index(packs) + 1);
    std::vector<std::vector<double>> signs(index(packs) + 1);
    for (int w = 0; w < static_cast<int>(m.waits.size()); ++w) {
      const Wait& wait = m.waits[index(w)];
      const std::size_t to = wait.to == kNoIndex ? index(packs) : wait.to;
      places[to].push_back(w);
      signs[to].push_back(1);
      if (wait.from == kNoIndex) continue;
      places[wait.from].push_back(w);
      signs[wait.from].push_back(-1);
    }
    const auto add = [&](std::size_t column, double upper, double cost) {
      lp_.addColumn(static_cast<int>(places[column].size()), places[column].data(),
                    signs[column].data(), 0, upper, cost);
    };
    for (std::size_t p = 0; p < index(packs); ++p) add(p, COIN_DBL_MAX, 0);
    add(index(packs), m.limit_s, m.idle_w);
    add(index(packs), COIN_DBL_MAX, m.idle_w + 1000 * (energy + 1) / std::max(seconds, 1e-9));
  }

  void add_plan(int gpu, const std::vector<std::uint32_t>& slots) {
    const ClockChain& c = m_.chains[index(gpu)];
    const Problem& problem = *m_.problem;
    const double idle_w = problem.gpus[index(gpu)].idle_power_w;
    const double change_s = c.switching.time_s;
    std::vector<int> rows = {plans_row(gpu)};
    std::vector<double> values = {1};
    double energy = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const std::uint32_t s = slots[i];
      const bool changes = i > 0 && c.before[s] != slots[i - 1];
      energy += c.energy_j[s] - idle_w * c.time_s[s] + (changes ? c.switching.energy_j : 0);
      const std::uint32_t p = c.packs[i];
      rows.push_back(static_cast<int>(m_.step_to[p]));
      values.push_back(-c.time_s[s] - (changes ? change_s : 0));
      for (const std::uint32_t w : m_.after[p]) {
        rows.push_back(static_cast<int>(w));
        values.push_back(-c.time_s[s]);
      }
    }
    if (c.repeats && c.clock_hz[slots.front()] != c.clock_hz[slots.back()]) {
      energy += c.switching.energy_j;
      rows.push_back(static_cast<int>(m_.step_end[index(gpu)]));
      values.push_back(-change_s);
    }
    lp_.addColumn(static_cast<int>(rows.size()), rows.data(), values.data(), 0, COIN_DBL_MAX,
                  energy);
  }

  // False where the solver gives up.
  bool solve() {
    if (first_) {
      lp_.initialSolve();
      first_ = false;
    } else {
      lp_.primal(1);
    }
    return lp_.isProvenOptimal();
  }
  [[nodiscard]] double value() const { return lp_.objectiveValue(); }
  [[nodiscard]] std::vector<double> prices() const {
    const double* duals = lp_.dualRowSolution();
    return {duals, duals + m_.waits.size()};
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int plans_row(int gpu) const { return static_cast<int>(m_.waits.size()) + gpu; }

  const ExactModel& m_;
  ClpSimplex lp_;
  bool first_ = true;
};

}  // namespace

std::vector<FlowPrices> find_flow_prices(const ExactModel& m) {
  Master master(m);
  std::vector<FlowPrices> found;
  // The first plans: cheapest at no price and at a high one.
  double high = 1;
  for (const ClockChain& c : m.chains) {
    for (std::size_t s = 0; s < c.slots(); ++s)
      high = std::max(high, 100 * c.energy_j[s] / std::max(c.time_s[s], 1e-9));
  }
  for (const double each : {0.0, high}) {
    std::vector<double> flow(m.waits.size(), 0.0);
    for (std::size_t w = 0; w < m.waits.size(); ++w) {
      if (m.waits[w].same_gpu || m.waits[w].from == kNoIndex) flow[w] = each;
    }
    found.push_back(price_flow(m, std::move(flow)));
    if (!(found.back().bound_j < kInfinity)) return found;  // no plan at all
  }
  std::size_t added = 0;
  for (int round = 0; round < kMaxRounds; ++round) {
    for (; added < found.size(); ++added) {
      for (std::size_t g = 0; g < m.chains.size(); ++g) {
        if (m.chains[g].size() > 0) master.add_plan(static_cast<int>(g), found[added].paths[g]);
      }
    }
    if (!master.solve()) break;
    found.push_back(price_flow(m, master.prices()));
    double best = -kInfinity;
    for (const FlowPrices& f : found) best = std::max(best, f.bound_j);
    if (master.value() - best <= 1e-7 * std::abs(master.value())) break;
  }
  // The best first; of equals the earlier one.
  for (std::size_t k = 0; k < std::min(kKept, found.size()); ++k) {
    std::size_t best = k;
    for (std::size_t other = k + 1; other < found.size(); ++other) {
      if (found[other].bound_j > found[best].bound_j) best = other;
    }
    std::swap(found[k], found[best]);
  }
  if (found.size() > kKept) found.resize(kKept);
  // What is left to do after a slow or a fast beginning has other prices than the whole.
  for (const double factor : {0.0, 0.5, 0.75, 0.9, 1.1, 1.3, 2.0, 10.0}) {
    std::vector<double> flow = found.front().flow_w;
    for (double& f : flow) f *= factor;
    found.push_back(price_flow(m, std::move(flow)));
  }
  return found;
}

}  // namespace ergon::plan
