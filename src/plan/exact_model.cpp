// The graph of waits, and what a flow of prices on it says.
#include "exact_model.hpp"

#include <algorithm>

#include "numbers.hpp"
#include "price_dp.hpp"

namespace ergon::plan {
namespace {

// Scales what leaves each pack to what enters it, in the order of the file (waits point forward).
void conserve(const ExactModel& m, std::vector<double>& flow) {
  std::vector<std::vector<std::uint32_t>> leaving(m.problem->packs.size());
  std::vector<double> entering(m.problem->packs.size(), 0.0);
  for (std::uint32_t w = 0; w < m.waits.size(); ++w) {
    flow[w] = std::max(0.0, flow[w]);
    if (m.waits[w].from != kNoIndex) leaving[m.waits[w].from].push_back(w);
  }
  const auto arrive = [&](std::uint32_t w) {
    if (m.waits[w].to != kNoIndex) entering[m.waits[w].to] += flow[w];
  };
  for (std::uint32_t w = 0; w < m.waits.size(); ++w) {
    if (m.waits[w].from == kNoIndex) arrive(w);
  }
  for (std::uint32_t p = 0; p < leaving.size(); ++p) {
    double sum = 0;
    for (const std::uint32_t w : leaving[p]) sum += flow[w];
    for (const std::uint32_t w : leaving[p]) {
      if (sum > 0) {
        flow[w] *= entering[p] / sum;
      } else {
        flow[w] = w == m.step_from[p] ? entering[p] : 0.0;
      }
      arrive(w);
    }
  }
}

struct ChainPrices {
  std::vector<double> pack;
  std::vector<double> change;
};

ChainPrices prices_of(const ExactModel& m, std::uint32_t gpu, const std::vector<double>& flow) {
  const ClockChain& c = m.chains[gpu];
  ChainPrices out{.pack = std::vector<double>(c.size(), -m.problem->gpus[gpu].idle_power_w),
                  .change = std::vector<double>(c.size(), 0.0)};
  for (std::size_t i = 0; i < c.size(); ++i) {
    const std::uint32_t p = c.packs[i];
    out.pack[i] += flow[m.step_to[p]];
    for (const std::uint32_t w : m.after[p]) out.pack[i] += flow[w];
    out.change[i] = i == 0 ? flow[m.step_end[gpu]] : flow[m.step_to[p]];
  }
  return out;
}

// Cheapest way on after each slot. `head`: the slot of the first pack, where the chain repeats. A
// run not yet long enough is taken for long enough: that only lowers the tail.
Tail make_tail(const ClockChain& c, const ChainPrices& prices, std::uint32_t head) {
  const bool runs = c.switching.min_run_s > 0;
  const auto n = static_cast<std::uint32_t>(c.size());
  const auto change = [&](std::uint32_t i) {
    return c.switching.energy_j + prices.change[i] * c.switching.time_s;
  };
  const auto cost = [&](std::uint32_t s) {
    return c.energy_j[s] + prices.pack[c.position[s]] * c.time_s[s];
  };
  Tail tail(c.slots(), kInfinity);
  for (std::uint32_t s = c.first[n - 1]; s < c.first[n]; ++s)
    tail[s] = head == kNoIndex || c.clock_hz[s] == c.clock_hz[head] ? 0 : change(0);
  for (std::uint32_t i = n - 1; i-- > 0;) {
    double hub = kInfinity;
    for (std::uint32_t s = c.first[i + 1]; s < c.first[i + 2]; ++s) {
      double sum = 0;
      std::uint32_t e = s;
      const std::uint32_t end = runs ? c.run_end[s] : s;
      while (e != end && c.after[e] != kNoIndex) {
        sum += cost(e);
        e = c.after[e];
      }
      // A last run may be too short alone where it goes on in the first.
      const bool joins_first =
          head != kNoIndex && c.position[e] == n - 1 && c.clock_hz[e] == c.clock_hz[head];
      if (e == end || joins_first) hub = std::min(hub, change(i + 1) + sum + cost(e) + tail[e]);
    }
    for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
      const std::uint32_t a = c.after[s];
      tail[s] = a == kNoIndex ? hub : std::min(hub, cost(a) + tail[a]);
    }
  }
  return tail;
}

}  // namespace

ExactModel make_exact_model(const Problem& problem, double limit_s) {
  ExactModel m;
  m.problem = &problem;
  m.limit_s = limit_s;
  const auto n = static_cast<std::uint32_t>(problem.packs.size());
  m.position.resize(n);
  m.step_to.resize(n);
  m.step_from.resize(n);
  m.after.resize(n);
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g) {
    m.idle_w += problem.gpus[g].idle_power_w;
    m.chains.push_back(make_clock_chain(problem, g));
    const ClockChain& c = m.chains.back();
    std::uint32_t before = kNoIndex;
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      m.position[c.packs[i]] = i;
      m.step_to[c.packs[i]] = static_cast<std::uint32_t>(m.waits.size());
      if (before != kNoIndex) m.step_from[before] = static_cast<std::uint32_t>(m.waits.size());
      m.waits.push_back({.from = before, .to = c.packs[i], .lag_s = 0, .same_gpu = i > 0});
      before = c.packs[i];
    }
    m.step_end.push_back(kNoIndex);
    if (before != kNoIndex) {
      m.step_end[g] = m.step_from[before] = static_cast<std::uint32_t>(m.waits.size());
      m.waits.push_back({.from = before, .to = kNoIndex, .lag_s = 0, .same_gpu = true});
    }
  }
  for (std::uint32_t p = 0; p < n; ++p) {
    for (const After& a : problem.packs[p].after) {
      m.after[p].push_back(static_cast<std::uint32_t>(m.waits.size()));
      m.waits.push_back({.from = a.pack, .to = p, .lag_s = a.lag_s, .same_gpu = false});
    }
  }
  m.least_rest_s.assign(n, 0.0);
  for (std::uint32_t p = n; p-- > 0;) {
    double least = kInfinity;
    for (const Option& o : problem.packs[p].options) least = std::min(least, o.time_s);
    const double through = least + m.least_rest_s[p];
    const auto reach = [&](std::uint32_t w) {
      const Wait& wait = m.waits[w];
      if (wait.from == kNoIndex) return;
      m.least_rest_s[wait.from] = std::max(m.least_rest_s[wait.from], wait.lag_s + through);
    };
    reach(m.step_to[p]);
    for (const std::uint32_t w : m.after[p]) reach(w);
  }
  return m;
}

FlowPrices price_flow(const ExactModel& m, std::vector<double> flow_w) {
  FlowPrices out;
  conserve(m, flow_w);
  out.flow_w = std::move(flow_w);
  double into_makespan = 0;
  for (std::size_t w = 0; w < m.waits.size(); ++w) {
    out.bound_j += out.flow_w[w] * m.waits[w].lag_s;
    if (m.waits[w].to == kNoIndex) into_makespan += out.flow_w[w];
  }
  // With less than the idle power flowing in, the makespan counts for nothing: still a bound.
  out.deadline_w = std::max(0.0, into_makespan - m.idle_w);
  out.bound_j -= out.deadline_w * m.limit_s;
  for (std::uint32_t g = 0; g < m.chains.size(); ++g) {
    const ClockChain& c = m.chains[g];
    out.paths.emplace_back();
    out.path_cost.push_back(0);
    out.tails.emplace_back();
    if (c.size() == 0) continue;
    const ChainPrices prices = prices_of(m, g, out.flow_w);
    PriceDp dp(c);
    const PricedPath& path = dp.solve(prices.pack, prices.change);
    out.paths.back() = path.slots;
    out.path_cost.back() = path.cost_j;
    out.bound_j += path.cost_j;
    if (c.repeats) {
      for (std::uint32_t s = c.first[0]; s < c.first[1]; ++s)
        out.tails.back().push_back(make_tail(c, prices, s));
    } else {
      out.tails.back().push_back(make_tail(c, prices, kNoIndex));
    }
  }
  return out;
}

}  // namespace ergon::plan
