// The interval of a plan's time and energy, from the intervals of its packs' responses.
#include <algorithm>
#include <initializer_list>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

enum class End { kLow, kValue, kHigh };

double of(End end, double low, double value, double high) {
  return end == End::kLow ? low : end == End::kHigh ? high : value;
}

// Sums over the packs of a choice with power and clock response at one end each.
struct Sums {
  double growth_s = 0;  // beyond the observed time of all operations
  double active_j = 0;
  double dynamic_j = 0;
};

Sums sums_of(const TracePacks& packs, std::span<const std::size_t> clocks, End power,
             End response) {
  const model::ClockTable& table = packs.table;
  Sums sums;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const PackInfo& pack = packs.packs[i];
    const double observed = pack.response.observed_s();
    if (!(observed > 0)) continue;
    const model::ResponsePoint point = model::at(table, pack.response, clocks[i]);
    const double time = of(response, point.time_low_s, point.time_s, point.time_high_s);
    sums.growth_s += time - observed;
    sums.active_j += table.active_w[clocks[i]] * pack.busy_s * time / observed;
    sums.dynamic_j += of(power, point.dynamic_low_j, point.dynamic_j, point.dynamic_high_j);
  }
  sums.active_j *= of(power, table.active_low, 1, table.active_high);
  return sums;
}

// A choice, and its figures as they would be at the ends.
struct Priced {
  const TracePacks& packs;
  std::vector<std::size_t> clocks;
  Evaluation value;
  double default_time_s = 0;

  [[nodiscard]] Evaluation at(End idle, End power, End response) const {
    const Sums base = sums_of(packs, clocks, End::kValue, End::kValue);
    const Sums moved = sums_of(packs, clocks, power, response);
    const double growth = value.time_s - default_time_s;
    Evaluation e = value;
    if (base.growth_s > 0) e.time_s = default_time_s + growth * moved.growth_s / base.growth_s;
    const double idle_j = std::max(0.0, value.energy_j - base.active_j - base.dynamic_j);
    const double idle_share = of(idle, packs.table.idle_low, 1, packs.table.idle_high);
    const double stretch = value.time_s > 0 ? e.time_s / value.time_s : 1;
    e.energy_j = idle_j * idle_share * stretch + moved.active_j + moved.dynamic_j;
    return e;
  }
};

std::size_t index_of(const model::ClockTable& table, double clock_hz) {
  for (std::size_t c = 0; c < table.clocks.size(); ++c) {
    if (table.clocks[c].si() == clock_hz) return c;
  }
  return table.reference_index;
}

}  // namespace

std::optional<Spread> spread_of(const TracePacks& packs, std::span<const double> clocks_hz,
                                const Evaluation& value, const Evaluation& default_value) {
  if (!packs.curves.empty()) return std::nullopt;
  Priced plan{packs, {}, value, default_value.time_s};
  for (const double hz : clocks_hz) plan.clocks.push_back(index_of(packs.table, hz));
  const Priced before{packs, std::vector(clocks_hz.size(), packs.table.reference_index),
                      default_value, default_value.time_s};
  const double saved = default_value.energy_j > 0 ? 1 - value.energy_j / default_value.energy_j : 0;
  Spread s{value.time_s, value.time_s, value.energy_j, value.energy_j, saved, saved};
  for (int corner = 0; corner < 8; ++corner) {
    const auto end = [corner](int bit) {
      return (corner >> bit & 1) == 0 ? End::kLow : End::kHigh;
    };
    const Evaluation moved = plan.at(end(0), end(1), end(2));
    const Evaluation base = before.at(end(0), end(1), end(2));
    s.time_low_s = std::min(s.time_low_s, moved.time_s);
    s.time_high_s = std::max(s.time_high_s, moved.time_s);
    s.energy_low_j = std::min(s.energy_low_j, moved.energy_j);
    s.energy_high_j = std::max(s.energy_high_j, moved.energy_j);
    if (!(base.energy_j > 0)) continue;
    s.saved_low = std::min(s.saved_low, 1 - moved.energy_j / base.energy_j);
    s.saved_high = std::max(s.saved_high, 1 - moved.energy_j / base.energy_j);
  }
  return s;
}

}  // namespace ergon::plan
