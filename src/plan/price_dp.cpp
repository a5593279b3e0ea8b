// Cheapest clocks of one GPU at linear prices. A run either is long enough already (a state) or is
// begun with all the packs that make it long enough (one step), so states stay (pack, clock).
#include "price_dp.hpp"

#include <algorithm>

#include "evaluate.hpp"
#include "numbers.hpp"

namespace ergon::plan {
namespace {}  // namespace

// What the first and the last run must be. `held` is the slot of the first pack whose clock runs
// through the end of a repeating chain into its beginning; kNoIndex where both ends are free.
struct PriceDp::Ends {
  std::uint32_t held = kNoIndex;
  std::uint32_t held_last = kNoIndex;  // slot of that clock in the last pack
  std::uint32_t prefix = 1;            // packs that the held clock keeps at the beginning, at least
  double suffix_s = 0;                 // shortest last run, at the held clock
  bool any_held = false;               // any clock may be the held one: only a bound
};

struct PriceDp::Candidate {
  double bound;
  Ends ends;
};

PriceDp::PriceDp(const ClockChain& chain)
    : chain_(chain),
      cost_(chain.slots()),
      change_(chain.size()),
      value_(chain.slots()),
      hub_(chain.size()),
      run_cost_(chain.slots()),
      start_(chain.slots()) {}

const PricedPath& PriceDp::solve(double price) {
  pack_prices_.assign(chain_.size(), price);
  switch_prices_.assign(chain_.size(), price);
  return solve(pack_prices_, switch_prices_);
}

const PricedPath& PriceDp::solve(std::span<const double> pack_price,
                                 std::span<const double> switch_price) {
  ERGON_CHECK(pack_price.size() == chain_.size() && switch_price.size() == chain_.size(),
              "one price for each pack");
  best_.cost_j = kInfinity;
  best_.slots.clear();
  if (chain_.size() == 0) {
    best_.cost_j = 0;
    return best_;
  }
  set_costs(pack_price, switch_price);
  if (chain_.repeats || chain_.switching.min_run_s > 0) try_one_clock();
  if (forward(Ends{}) < kInfinity) {
    trace_back(Ends{});
    keep_if_better();
  }
  if (chain_.repeats) try_around_the_end();
  return best_;
}

void PriceDp::set_costs(std::span<const double> pack_price, std::span<const double> switch_price) {
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    const double price = pack_price[i];
    for (std::uint32_t s = chain_.first[i]; s < chain_.first[i + 1]; ++s)
      cost_[s] = chain_.energy_j[s] + price * chain_.time_s[s];
    change_[i] = chain_.switching.energy_j + switch_price[i] * chain_.switching.time_s;
  }
  if (chain_.repeats || chain_.switching.min_run_s > 0) {
    // Of use to runs and to plans of one clock only.
    for (std::uint32_t s = 0; s < chain_.slots(); ++s) {
      const std::uint32_t b = chain_.before[s];
      run_cost_[s] = cost_[s] + (b == kNoIndex ? 0.0 : run_cost_[b]);
    }
  }
}

// Cheapest path under `ends` (kInfinity if there is none); trace_back() then writes it to path_.
double PriceDp::forward(const Ends& ends) {
  if (chain_.switching.min_run_s > 0) {
    forward_runs(ends);
  } else {
    forward_plain(ends);
  }
  if (ends.held != kNoIndex) return end_at(ends);
  const auto n = static_cast<std::uint32_t>(chain_.size());
  last_slot_ = kNoIndex;
  last_run_ = kNoIndex;
  double best = kInfinity;
  for (std::uint32_t s = chain_.first[n - 1]; s < chain_.first[n]; ++s) {
    if (value_[s] < best) {
      best = value_[s];
      last_slot_ = s;
    }
  }
  return best;
}

// Cheapest path of the last pass whose last run has the held clock: long enough alone, or (from
// suffix_s on) together with the first.
double PriceDp::end_at(const Ends& ends) {
  last_run_ = kNoIndex;
  last_slot_ = ends.held_last;
  double best = value_[ends.held_last];
  if (!(chain_.switching.min_run_s > 0)) return best;
  double seconds = 0;
  for (std::uint32_t s = ends.held_last; chain_.position[s] > 0; s = chain_.before[s]) {
    seconds += chain_.time_s[s];
    if (seconds >= ends.suffix_s) {
      const std::uint32_t i = chain_.position[s];
      const double v =
          hub_[i - 1] + change_[i] + (run_cost_[ends.held_last] - run_cost_[s] + cost_[s]);
      if (v < best) {
        best = v;
        last_run_ = s;
      }
    }
    if (chain_.before[s] == kNoIndex || chain_.run_end[s] != kNoIndex) break;
  }
  return best;
}

void PriceDp::forward_plain(const Ends& ends) {
  const auto n = static_cast<std::uint32_t>(chain_.size());
  const bool free = ends.held == kNoIndex;
  for (std::uint32_t s = chain_.first[0]; s < chain_.first[1]; ++s)
    value_[s] = free || s == ends.held ? cost_[s] : kInfinity;
  hub_[0] = *std::min_element(value_.begin(), value_.begin() + chain_.first[1]);
  for (std::uint32_t i = 1; i < n; ++i) {
    const double entry = hub_[i - 1] + change_[i];
    double least = kInfinity;
    if (chain_.aligned) {
      const std::uint32_t width = chain_.first[1];
      const double* from = value_.data() + chain_.first[i - 1];
      const double* cost = cost_.data() + chain_.first[i];
      double* to = value_.data() + chain_.first[i];
      for (std::uint32_t k = 0; k < width; ++k) {
        const double v = (from[k] < entry ? from[k] : entry) + cost[k];
        to[k] = v;
        least = v < least ? v : least;
      }
    } else {
      for (std::uint32_t s = chain_.first[i]; s < chain_.first[i + 1]; ++s) {
        const std::uint32_t b = chain_.before[s];
        const double stay = b == kNoIndex ? kInfinity : value_[b];
        value_[s] = (stay < entry ? stay : entry) + cost_[s];
        least = std::min(least, value_[s]);
      }
    }
    hub_[i] = least;
  }
}

void PriceDp::forward_runs(const Ends& ends) {
  const auto n = static_cast<std::uint32_t>(chain_.size());
  std::fill(value_.begin(), value_.end(), kInfinity);
  std::fill(start_.begin(), start_.end(), kNoIndex);
  if (ends.held != kNoIndex) {
    std::uint32_t s = ends.held;
    while (chain_.position[s] + 1 < ends.prefix) s = chain_.after[s];
    value_[s] = run_cost_[s];
    start_[s] = ends.held;
  }
  if (ends.any_held) {
    for (std::uint32_t s = chain_.first[0]; s < chain_.first[1]; ++s) value_[s] = cost_[s];
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    const bool held = (ends.held != kNoIndex || ends.any_held) && i < ends.prefix;
    if (!held) {
      const double entry = i == 0 ? 0.0 : hub_[i - 1] + change_[i];
      for (std::uint32_t s = chain_.first[i]; s < chain_.first[i + 1]; ++s) {
        const std::uint32_t e = chain_.run_end[s];
        if (e == kNoIndex) continue;
        const double v = entry + (run_cost_[e] - run_cost_[s] + cost_[s]);
        if (v < value_[e]) {
          value_[e] = v;
          start_[e] = s;
        }
      }
      if (i > 0) {
        for (std::uint32_t s = chain_.first[i]; s < chain_.first[i + 1]; ++s) {
          const std::uint32_t b = chain_.before[s];
          if (b == kNoIndex) continue;
          const double v = value_[b] + cost_[s];
          if (v <= value_[s]) {
            value_[s] = v;
            start_[s] = kNoIndex;
          }
        }
      }
    }
    hub_[i] = kInfinity;
    for (std::uint32_t s = chain_.first[i]; s < chain_.first[i + 1]; ++s)
      hub_[i] = std::min(hub_[i], value_[s]);
  }
}

void PriceDp::trace_back(const Ends& ends) {
  const bool runs = chain_.switching.min_run_s > 0;
  path_.slots.assign(chain_.size(), kNoIndex);
  const auto cheapest_before = [&](std::uint32_t i) {
    std::uint32_t s = chain_.first[i - 1];
    while (value_[s] != hub_[i - 1]) ++s;
    return s;
  };
  // Fills a run from slot `e` back to slot `b` and steps to the slot before it.
  const auto fill = [&](std::uint32_t b, std::uint32_t e) {
    for (std::uint32_t s = e;; s = chain_.before[s]) {
      path_.slots[chain_.position[s]] = s;
      if (s == b) break;
    }
    return chain_.position[b] == 0 ? kNoIndex : cheapest_before(chain_.position[b]);
  };
  std::uint32_t s = last_run_ == kNoIndex ? last_slot_ : fill(last_run_, ends.held_last);
  while (s != kNoIndex) {
    const std::uint32_t i = chain_.position[s];
    if (runs) {
      if (start_[s] != kNoIndex) {
        s = fill(start_[s], s);
        continue;
      }
      path_.slots[i] = s;
      s = chain_.before[s];
      continue;
    }
    path_.slots[i] = s;
    if (i == 0) break;
    const std::uint32_t b = chain_.before[s];
    const bool stay = b != kNoIndex && value_[b] < hub_[i - 1] + change_[i];
    s = stay ? b : cheapest_before(i);
  }
  path_.cost_j = path_cost();
}

// The path's cost summed from its parts, in order: no digits lost in differences of prefix sums.
double PriceDp::path_cost() const {
  double sum = 0;
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    sum += cost_[path_.slots[i]];
    if (i > 0 && chain_.before[path_.slots[i]] != path_.slots[i - 1]) sum += change_[i];
  }
  if (chain_.repeats && chain_.clock_hz[path_.slots.front()] != chain_.clock_hz[path_.slots.back()])
    sum += change_[0];
  return sum;
}

void PriceDp::keep_if_better() {
  if (path_.cost_j < best_.cost_j) std::swap(path_, best_);
}

// A GPU that never changes its clock owes no minimum run.
void PriceDp::try_one_clock() {
  std::uint32_t chosen = kNoIndex;
  double least = kInfinity;
  const auto n = chain_.size();
  for (std::uint32_t s = chain_.first[n - 1]; s < chain_.first[n]; ++s) {
    std::uint32_t b = s;
    while (chain_.before[b] != kNoIndex) b = chain_.before[b];
    if (chain_.position[b] == 0 && run_cost_[s] < least) {
      least = run_cost_[s];
      chosen = s;
    }
  }
  if (chosen == kNoIndex) return;
  path_.slots.assign(n, kNoIndex);
  for (std::uint32_t s = chosen; s != kNoIndex; s = chain_.before[s])
    path_.slots[chain_.position[s]] = s;
  path_.cost_j = path_cost();
  keep_if_better();
}

// For each clock of the first pack, a bound on the plans with that clock through the end: what the
// first run must be is left open. One pass for all.
std::vector<PriceDp::Candidate> PriceDp::around_the_end() {
  const auto n = static_cast<std::uint32_t>(chain_.size());
  const Ends any{.any_held = true};
  forward(any);
  std::vector<Candidate> candidates;
  std::uint32_t last = chain_.first[n - 1];
  for (std::uint32_t s = chain_.first[0]; s < chain_.first[1]; ++s) {
    while (last < chain_.first[n] && chain_.clock_hz[last] < chain_.clock_hz[s]) ++last;
    if (last == chain_.first[n]) break;
    if (chain_.clock_hz[last] != chain_.clock_hz[s]) continue;
    const Ends ends{.held = s, .held_last = last};
    candidates.push_back({.bound = end_at(ends), .ends = ends});
  }
  return candidates;
}

// Plans whose last and first run are one.
void PriceDp::try_around_the_end() {
  const auto n = static_cast<std::uint32_t>(chain_.size());
  std::vector<Candidate> candidates = around_the_end();
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.bound < b.bound || (a.bound == b.bound && a.ends.held < b.ends.held);
  });
  std::vector<Candidate> relaxed;  // those whose run around the end came out too short
  for (const Candidate& c : candidates) {
    if (c.bound >= best_.cost_j) continue;
    const double v = forward(c.ends);
    if (v >= best_.cost_j) continue;
    trace_back(c.ends);
    if (end_run_long_enough()) {
      keep_if_better();
    } else {
      relaxed.push_back({v, c.ends});
    }
  }
  const double shortest = shortest_run(chain_.switching.min_run_s);
  for (const Candidate& c : relaxed) {
    double prefix_s = 0;
    std::uint32_t s = c.ends.held;
    for (std::uint32_t packs = 1; packs < n && c.bound < best_.cost_j; ++packs) {
      prefix_s += chain_.time_s[s];
      const bool enough = prefix_s >= shortest;
      Ends ends = c.ends;
      ends.prefix = packs;
      ends.suffix_s = enough ? 0 : shortest - prefix_s;
      if (forward(ends) < best_.cost_j) {
        trace_back(ends);
        keep_if_better();
      }
      s = chain_.after[s];
      if (enough || s == kNoIndex) break;
    }
  }
}

std::vector<double> PriceDp::bounds_through_end(double price) {
  pack_prices_.assign(chain_.size(), price);
  switch_prices_.assign(chain_.size(), price);
  set_costs(pack_prices_, switch_prices_);
  std::vector<double> bounds(chain_.first[1], kInfinity);
  for (const Candidate& c : around_the_end()) bounds[c.ends.held] = c.bound;
  return bounds;
}

bool PriceDp::end_run_long_enough() const {
  const std::size_t n = chain_.size();
  const double shortest = shortest_run(chain_.switching.min_run_s);
  double seconds = chain_.time_s[path_.slots[0]];
  std::size_t i = 1;
  for (; i < n && chain_.before[path_.slots[i]] == path_.slots[i - 1]; ++i)
    seconds += chain_.time_s[path_.slots[i]];
  if (i == n) return true;  // one clock throughout
  for (std::size_t k = n; k-- > 1;) {
    seconds += chain_.time_s[path_.slots[k]];
    if (chain_.before[path_.slots[k]] != path_.slots[k - 1]) break;
  }
  return seconds >= shortest;
}

}  // namespace ergon::plan
