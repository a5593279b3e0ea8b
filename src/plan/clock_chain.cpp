// Flattens the packs of one GPU.
#include "clock_chain.hpp"

#include <algorithm>
#include <numeric>

#include "evaluate.hpp"

namespace ergon::plan {
namespace {

void link_equal_clocks(ClockChain& c) {
  c.aligned = true;
  c.before.assign(c.slots(), kNoIndex);
  c.after.assign(c.slots(), kNoIndex);
  for (std::size_t i = 1; i < c.size(); ++i) {
    std::uint32_t a = c.first[i - 1];
    std::uint32_t b = c.first[i];
    c.aligned = c.aligned && c.first[i] - a == c.first[i + 1] - b;
    while (a < c.first[i] && b < c.first[i + 1]) {
      if (c.clock_hz[a] < c.clock_hz[b]) {
        ++a;
      } else if (c.clock_hz[b] < c.clock_hz[a]) {
        ++b;
      } else {
        c.before[b] = a;
        c.after[a] = b;
        ++a;
        ++b;
      }
    }
    for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s)
      c.aligned = c.aligned && c.before[s] != kNoIndex;
  }
}

// Two pointers along each chain of equal clocks: the end never moves back.
void find_run_ends(ClockChain& c) {
  c.run_end.assign(c.slots(), kNoIndex);
  const double shortest = shortest_run(c.switching.min_run_s);
  for (std::uint32_t head = 0; head < c.slots(); ++head) {
    if (c.before[head] != kNoIndex) continue;
    std::vector<std::uint32_t> chain;
    for (std::uint32_t s = head; s != kNoIndex; s = c.after[s]) chain.push_back(s);
    // Prefix sums would lose digits over long chains; a window sum is refreshed from its parts.
    std::vector<double> prefix(chain.size() + 1, 0.0);
    for (std::size_t k = 0; k < chain.size(); ++k) prefix[k + 1] = prefix[k] + c.time_s[chain[k]];
    std::size_t end = 0;
    for (std::size_t k = 0; k < chain.size(); ++k) {
      end = std::max(end, k);
      while (end < chain.size() && prefix[end + 1] - prefix[k] < shortest) ++end;
      if (end == chain.size()) break;
      c.run_end[chain[k]] = chain[end];
    }
  }
}

}  // namespace

ClockChain make_clock_chain(const Problem& problem, std::uint32_t gpu) {
  ClockChain c;
  c.switching = problem.switching;
  c.repeats = problem.repeats;
  c.first.push_back(0);
  for (std::uint32_t p = 0; p < problem.packs.size(); ++p) {
    const Pack& pack = problem.packs[p];
    if (pack.gpu != gpu) continue;
    std::vector<std::uint32_t> order(pack.options.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return pack.options[a].clock_hz < pack.options[b].clock_hz;
    });
    for (const std::uint32_t o : order) {
      c.clock_hz.push_back(pack.options[o].clock_hz);
      c.time_s.push_back(pack.options[o].time_s);
      c.energy_j.push_back(pack.options[o].energy_j);
      c.option.push_back(o);
      c.position.push_back(static_cast<std::uint32_t>(c.packs.size()));
    }
    c.packs.push_back(p);
    c.first.push_back(static_cast<std::uint32_t>(c.clock_hz.size()));
  }
  link_equal_clocks(c);
  find_run_ends(c);
  return c;
}

ClockChain rotated(const ClockChain& chain, std::uint32_t cut) {
  ClockChain c;
  c.switching = chain.switching;
  c.first.push_back(0);
  const auto n = static_cast<std::uint32_t>(chain.size());
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t from = i + cut < n ? i + cut : i + cut - n;
    for (std::uint32_t s = chain.first[from]; s < chain.first[from + 1]; ++s) {
      c.clock_hz.push_back(chain.clock_hz[s]);
      c.time_s.push_back(chain.time_s[s]);
      c.energy_j.push_back(chain.energy_j[s]);
      c.option.push_back(chain.option[s]);
      c.position.push_back(i);
    }
    c.packs.push_back(chain.packs[from]);
    c.first.push_back(static_cast<std::uint32_t>(c.clock_hz.size()));
  }
  link_equal_clocks(c);
  find_run_ends(c);
  return c;
}

}  // namespace ergon::plan
