// The bound for one pack an operation without switch cost: a Lagrangian over the makespan.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "ergon/plan/trace_packs.hpp"
#include "wide.hpp"

namespace ergon::plan {
namespace {

// Operations are taken so many at a time, one a lane.
constexpr std::size_t kLanesOfBlock = 8;
using Eight = Wide<kLanesOfBlock>;
constexpr std::size_t kParts = Eight::kParts;

struct Block {
  Eight length_s, room_s, busy_share, core_s, memory_s, fixed_s, core_j, memory_j;
  Eight kept;  // what an operation that is kept at the trace's clock pays for any other: too much
};

// Missing operations at the end of the last block count nothing.
Block block_of(std::span<const FineGroup> groups) {
  Block b = {};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const FineGroup& g = groups[i];
    const double t = g.observed_s;
    b.length_s.set(i, g.length_s);
    b.room_s.set(i, g.overlap_s + g.length_s);
    b.busy_share.set(i, t > 0 ? g.busy_s / t : 0);
    b.core_s.set(i, t * double{g.core});
    b.memory_s.set(i, t * double{g.memory});
    b.fixed_s.set(i, t * (1 - double{g.core} - double{g.memory}));
    b.core_j.set(i, double{g.core_j});
    b.memory_j.set(i, double{g.memory_j});
    b.kept.set(i, g.fixed ? 1e300 : 0);
  }
  return b;
}

template <class Visit>
void for_blocks(std::span<const FineGroup> groups, Visit&& visit) {
  for (std::size_t first = 0; first < groups.size(); first += kLanesOfBlock) {
    const std::size_t count = std::min(kLanesOfBlock, groups.size() - first);
    visit(first, count, block_of(groups.subspan(first, count)));
  }
}

// Of all overruns of one clock only what the re-timed window shows moves its end: later gaps and
// parallel streams take up the rest. One share an offered clock.
std::vector<double> counted_shares(const graph::Graph& graph, const TracePacks& packs) {
  const std::vector<double> lengths = window_times(graph, packs);
  const std::size_t count = packs.clocks.size();
  std::vector<Eight> overruns(count);
  for_blocks(packs.fine, [&](std::size_t, std::size_t, const Block& b) {
    for (std::size_t k = 0; k < count; ++k) {
      const double core = packs.table.core[packs.clocks[k]];
      const double memory = packs.table.memory[packs.clocks[k]];
      Eight& sum = overruns[k];
      for (std::size_t p = 0; p < kParts; ++p) {
        const auto late = b.core_s.part[p] * core + b.memory_s.part[p] * memory +
                          b.fixed_s.part[p] - b.room_s.part[p];
        sum.part[p] += late > 0 ? late : Eight::Part{};
      }
    }
  });
  std::vector<double> shares(count, 1);
  const double base = to_seconds(packs.window.end_ns - packs.window.begin_ns).si();
  for (std::size_t k = 0; k < count; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < kLanesOfBlock; ++i) sum += overruns[k][i];
    if (sum > 0) shares[k] = std::clamp((lengths[k] - base) / sum, 0.0, 1.0);
  }
  return shares;
}

// An offered clock.
struct Clock {
  double core, memory, voltage2, active_w, idle_w, share;
};

std::vector<Clock> clocks_of(const TracePacks& packs, std::span<const double> shares) {
  std::vector<Clock> out;
  for (std::size_t k = 0; k < packs.clocks.size(); ++k) {
    const std::size_t clock = packs.clocks[k];
    out.push_back({packs.table.core[clock], packs.table.memory[clock], packs.table.voltage2[clock],
                   packs.table.active_w[clock], packs.table.idle_w[clock], shares[k]});
  }
  return out;
}

struct Sum {
  double energy_j = 0;
  double time_s = 0;
};

// The operations of a GPU, each at its cheapest clock for a price of time.
struct Cheapest {
  double price = 0;
  Sum sum;
  std::vector<std::uint16_t> clock;  // of each operation
};

Cheapest cheapest(std::span<const FineGroup> groups, std::span<const Clock> clocks, double price) {
  Cheapest out{price, {}, std::vector<std::uint16_t>(groups.size())};
  Eight energy = {};
  Eight time = {};
  for_blocks(groups, [&](std::size_t first, std::size_t count, const Block& b) {
    Eight least;
    Eight least_time = {};
    Eight at = {};
    least.fill(std::numeric_limits<double>::infinity());
    for (std::size_t k = 0; k < clocks.size(); ++k) {
      const Clock c = clocks[k];
      const Eight::Part index = Eight::Part{} + static_cast<double>(k);
      const double other = k + 1 < clocks.size() ? 1 : 0;
      for (std::size_t p = 0; p < kParts; ++p) {
        const auto slow =
            b.core_s.part[p] * c.core + b.memory_s.part[p] * c.memory + b.fixed_s.part[p];
        const auto late = slow > b.room_s.part[p] ? slow - b.room_s.part[p] : Eight::Part{};
        const auto t = b.length_s.part[p] + c.share * late;
        const auto busy = b.busy_share.part[p] * slow;
        const auto cost = b.core_j.part[p] * c.voltage2 + b.memory_j.part[p] +
                          c.active_w * (busy < t ? busy : t) + (c.idle_w + price) * t +
                          b.kept.part[p] * other;
        const auto less = cost < least.part[p];
        least_time.part[p] = less ? t : least_time.part[p];
        at.part[p] = less ? index : at.part[p];
        least.part[p] = less ? cost : least.part[p];
      }
    }
    for (std::size_t p = 0; p < kParts; ++p)
      energy.part[p] += least.part[p] - price * least_time.part[p];
    time += least_time;
    for (std::size_t i = 0; i < count; ++i)
      out.clock[first + i] = static_cast<std::uint16_t>(at[i]);
  });
  for (std::size_t i = 0; i < kLanesOfBlock; ++i) {
    out.sum.energy_j += energy[i];
    out.sum.time_s += time[i];
  }
  return out;
}

// The largest over all prices of energy + price x (time - deadline), by meeting lines: the plans on
// either side of the deadline are lines over the price; no plan lies below the point where they
// meet, or the one that does takes the place of one of them.
class Dual {
 public:
  Dual(std::span<const FineGroup> groups, std::span<const Clock> clocks, double deadline_s)
      : groups_(groups), clocks_(clocks), deadline_s_(deadline_s) {}

  // `guess`: a price that is near the best one; 0: not known.
  double best(double guess) {
    if (guess <= 0 || !close_in(guess)) {
      if (!from_scratch()) return best_;
    }
    constexpr int kMostSteps = 60;
    for (int step = 0; step < kMostSteps && late_.sum.time_s > early_.sum.time_s; ++step) {
      const double price =
          (early_.sum.energy_j - late_.sum.energy_j) / (late_.sum.time_s - early_.sum.time_s);
      const double meet = value(late_.sum, price);
      if (meet - best_ <= kEnough * std::abs(meet)) break;
      drop_the_settled();
      Cheapest next = at(price);
      if (meet - value(next.sum, price) <= kEnough * std::abs(meet)) break;
      (next.sum.time_s > deadline_s_ ? late_ : early_) = std::move(next);
    }
    return best_;
  }
  [[nodiscard]] double price() const { return best_price_; }

 private:
  static constexpr double kEnough = 1e-8;

  [[nodiscard]] double value(const Sum& s, double price) const {
    return s.energy_j + price * (s.time_s - deadline_s_);
  }
  Cheapest at(double price) {
    Cheapest c = cheapest(groups_, clocks_, price);
    c.sum.energy_j += settled_.energy_j;
    c.sum.time_s += settled_.time_s;
    if (value(c.sum, price) > best_) {
      best_ = value(c.sum, price);
      best_price_ = price;
    }
    return c;
  }

  // A plan on either side of the deadline, starting from prices near the guess.
  bool close_in(double guess) {
    Cheapest first = at(guess);
    const bool is_late = first.sum.time_s > deadline_s_;
    (is_late ? late_ : early_) = std::move(first);
    double price = guess;
    for (double step = 1.01; step < 2; step *= step * step) {
      price = is_late ? price * step : price / step;
      Cheapest next = at(price);
      if ((next.sum.time_s > deadline_s_) != is_late) {
        (is_late ? early_ : late_) = std::move(next);
        return true;
      }
      (is_late ? late_ : early_) = std::move(next);
    }
    return false;
  }

  // The same from no price at all; false where one plan alone says it all.
  bool from_scratch() {
    late_ = at(0);
    if (late_.sum.time_s <= deadline_s_) return false;
    for (double price = 16;; price *= 16) {
      if (price > 1e9) return false;  // no price brings the sum within the deadline
      early_ = at(price);
      if (early_.sum.time_s <= deadline_s_) return true;
      std::swap(late_, early_);
    }
  }

  // Operations that are cheapest at one clock for both prices are so for all prices between.
  void drop_the_settled() {
    std::vector<FineGroup> open;
    std::vector<std::uint16_t> late;
    std::vector<std::uint16_t> early;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (late_.clock[i] == early_.clock[i]) continue;
      open.push_back(groups_[i]);
      late.push_back(late_.clock[i]);
      early.push_back(early_.clock[i]);
    }
    if (2 * open.size() > groups_.size()) return;
    const Cheapest rest = cheapest(open, clocks_, late_.price);
    settled_.energy_j = late_.sum.energy_j - rest.sum.energy_j;
    settled_.time_s = late_.sum.time_s - rest.sum.time_s;
    open_ = std::move(open);
    groups_ = open_;
    late_.clock = std::move(late);
    early_.clock = std::move(early);
  }

  std::span<const FineGroup> groups_;
  std::span<const Clock> clocks_;
  double deadline_s_;
  std::vector<FineGroup> open_;
  Sum settled_;
  Cheapest late_, early_;
  double best_ = -std::numeric_limits<double>::infinity();
  double best_price_ = 0;
};

// Of many operations some tell which price to begin with. Any price gives a bound.
double price_of_some(std::span<const FineGroup> groups, std::span<const Clock> clocks,
                     double deadline_s) {
  constexpr std::size_t kSome = 8192;
  const std::size_t stride = groups.size() / kSome;
  if (stride < 8) return 0;
  std::vector<FineGroup> some;
  double all_s = 0;
  double some_s = 0;
  std::uint32_t turn = 1;
  for (std::size_t first = 0; first + stride <= groups.size(); first += stride) {
    turn = turn * 1664525U + 1013904223U;  // not in step with what repeats
    some.push_back(groups[first + (turn >> 8U) % stride]);
    some_s += some.back().length_s;
  }
  for (const FineGroup& g : groups) all_s += g.length_s;
  if (!(all_s > 0) || !(some_s > 0)) return 0;
  Dual dual(some, clocks, deadline_s * some_s / all_s);
  dual.best(0);
  return dual.price();
}

}  // namespace

double finest_bound(const graph::Graph& graph, const TracePacks& packs, double deadline_s) {
  const std::vector<Clock> clocks = clocks_of(packs, counted_shares(graph, packs));
  // GPUs are relaxed from one another: each alone has the whole deadline. Groups lie GPU by GPU.
  double bound = 0;
  for (std::size_t first = 0; first < packs.fine.size();) {
    std::size_t last = first;
    while (last < packs.fine.size() && packs.fine[last].gpu == packs.fine[first].gpu) ++last;
    const auto groups = std::span(packs.fine).subspan(first, last - first);
    bound += Dual(groups, clocks, deadline_s).best(price_of_some(groups, clocks, deadline_s));
    first = last;
  }
  // The sums above are rounded; a bound must not exceed what it bounds.
  return bound * (1 - 1e-12);
}

}  // namespace ergon::plan
