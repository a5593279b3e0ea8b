// Seeded random problems for tests and benchmarks: the same on every machine.
#pragma once
#include <cstdint>

#include "ergon/plan.hpp"

namespace ergon::plan::testing {

/// xorshift64*: the standard distributions differ between libraries, this does not.
class Random {
 public:
  explicit Random(std::uint64_t seed)
      : state_(seed * 0x9e3779b97f4a7c15ULL + 0x853c49e6748fea9bULL) {
    for (int i = 0; i < 4; ++i) next();
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dULL;
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// In [0, n).
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t state_;
};

struct SmallShape {
  std::uint32_t max_gpus = 2;
  std::uint32_t max_packs = 6;
  std::uint32_t max_clocks = 4;
};
/// A small problem with any feature of the pack file: waits with and without lag, switch cost,
/// minimum run, repetition, idle power, packs that lack a clock, round figures that tie.
Problem random_small(std::uint64_t seed, const SmallShape& shape = {});

struct ChainShape {
  std::uint32_t packs = 1000;
  std::uint32_t clocks = 40;
  SwitchCost switching;
  bool repeats = false;
};
/// One GPU: pack times of 2 to 50 ms at the top clock; each pack has its own sensitivity to the
/// clock (0 to 1) and power (static part, and a part that grows as f V^2 with a knee in V).
Problem random_chain(std::uint64_t seed, const ChainShape& shape);

/// Calls `visit` with every choice of the problem.
template <class Visit>
void for_each_choice(const Problem& problem, Visit&& visit) {
  Choice choice(problem.packs.size(), 0);
  for (;;) {
    visit(choice);
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == problem.packs[i].options.size()) choice[i++] = 0;
    if (i == choice.size()) return;
  }
}

}  // namespace ergon::plan::testing
