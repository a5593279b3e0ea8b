// Joint dynamic programming of two GPUs, from the end to the beginning.
#include "pair_bound.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "numbers.hpp"

namespace ergon::plan {
namespace {

// More states than this a grid point are left to the prices.
constexpr std::size_t kMostClockPairs = 4096;
// Up to so many GPUs all ways to pair them are compared; above, the dearest pairs are taken first.
constexpr std::size_t kAllPairings = 12;
// Steps of the grid on each side of zero, for each unit of fineness.
constexpr double kReachSteps = 120;

double fastest_s(const ClockChain& chain, std::uint32_t i) {
  double least = kInfinity;
  for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s)
    least = std::min(least, chain.time_s[s]);
  return least;
}

}  // namespace

// A wait that is kept: GPU a is to start its pack at position `a`, b its pack at position `b`.
struct PairBound::Item {
  std::uint32_t a = 0, b = 0;
  bool a_waits = false, b_waits = false;
  double lag_a_s = 0, lag_b_s = 0;
  double price_a_w = 0, price_b_w = 0;
};

// One or both GPUs start the next pack.
struct PairBound::Step {
  bool a = false, b = false;
  Item item;  // positions, and the waits if any
};

PairBound::PairBound(const Problem& problem, const Network& net, std::uint32_t fineness)
    : problem_(problem),
      net_(net),
      reach_steps_(kReachSteps * fineness),
      gpu_of_(net.row.size()),
      into_(net.row.size()) {
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g) {
    chains_.push_back(make_clock_chain(problem, g));
    for (std::uint32_t i = net.row_begin[g]; i < net.row_begin[g + 1]; ++i) gpu_of_[i] = g;
  }
  for (const Network::Wait& w : net.waits) into_[w.to].push_back(w);
}

// The waits between a and b that one sweep over both can watch: in each the other GPU has just
// ended what is waited for. Of those that exclude each other, the dearest sequence.
std::vector<PairBound::Item> PairBound::meetings(std::uint32_t a, std::uint32_t b,
                                                 std::span<const double> prices) const {
  std::vector<Item> all;
  const std::uint32_t first_a = net_.row_begin[a];
  const std::uint32_t first_b = net_.row_begin[b];
  for (const Network::Wait& w : net_.waits) {
    const double lag = net_.arcs[w.arc].lag_s;
    const double price = std::max(prices[w.arc], 0.0);
    if (gpu_of_[w.to] == a && gpu_of_[w.from] == b)
      all.push_back({w.to - first_a, w.from - first_b + 1, true, false, lag, 0, price, 0});
    if (gpu_of_[w.to] == b && gpu_of_[w.from] == a)
      all.push_back({w.from - first_a + 1, w.to - first_b, false, true, 0, lag, 0, price});
  }
  std::ranges::sort(all, [](const Item& x, const Item& y) {
    if (x.a != y.a) return x.a < y.a;
    if (x.b != y.b) return x.b < y.b;
    return x.a_waits && !y.a_waits;
  });
  std::vector<Item> items;
  for (const Item& item : all) {
    if (!items.empty() && items.back().a == item.a && items.back().b == item.b &&
        items.back().a_waits && item.b_waits) {
      items.back().b_waits = true;
      items.back().lag_b_s = item.lag_b_s;
      items.back().price_b_w = item.price_b_w;
    } else {
      items.push_back(item);
    }
  }
  constexpr std::uint32_t kBack = 64;
  std::vector<double> worth(items.size());
  std::vector<std::uint32_t> before(items.size(), kNoIndex);
  for (std::uint32_t k = 0; k < items.size(); ++k) {
    double most = 0;
    for (std::uint32_t j = k > kBack ? k - kBack : 0U; j < k; ++j) {
      const Item& x = items[j];
      if (x.a + (x.a_waits ? 1 : 0) > items[k].a || x.b + (x.b_waits ? 1 : 0) > items[k].b)
        continue;
      if (worth[j] > most) {
        most = worth[j];
        before[k] = j;
      }
    }
    worth[k] = most + items[k].price_a_w + items[k].price_b_w + 1e-9;
  }
  std::vector<Item> out;
  if (items.empty()) return out;
  auto k = static_cast<std::uint32_t>(std::ranges::max_element(worth) - worth.begin());
  for (; k != kNoIndex; k = before[k]) out.push_back(items[k]);
  std::ranges::reverse(out);
  return out;
}

// Between two meetings the GPU that is behind goes first, so that differences stay small.
std::vector<PairBound::Step> PairBound::steps_of(std::uint32_t a, std::uint32_t b,
                                                 std::span<const double> prices) const {
  std::vector<Step> steps;
  std::uint32_t i = 0;
  std::uint32_t j = 0;
  double time_a = 0;
  double time_b = 0;
  const auto go_to = [&](std::uint32_t to_a, std::uint32_t to_b) {
    while (i < to_a || j < to_b) {
      const double after_a = i < to_a ? time_a + fastest_s(chains_[a], i) : kInfinity;
      const double after_b = j < to_b ? time_b + fastest_s(chains_[b], j) : kInfinity;
      const bool turn_a = after_a <= after_b;
      steps.push_back({turn_a, !turn_a, {.a = i, .b = j}});
      (turn_a ? time_a : time_b) = turn_a ? after_a : after_b;
      ++(turn_a ? i : j);
    }
  };
  for (const Item& item : meetings(a, b, prices)) {
    go_to(item.a, item.b);
    steps.push_back({item.a_waits, item.b_waits, item});
    const double start_a = item.a_waits ? std::max(time_a, time_b + item.lag_a_s) : time_a;
    const double start_b = item.b_waits ? std::max(time_b, time_a + item.lag_b_s) : time_b;
    time_a = item.a_waits ? start_a + fastest_s(chains_[a], i++) : start_a;
    time_b = item.b_waits ? start_b + fastest_s(chains_[b], j++) : start_b;
  }
  go_to(static_cast<std::uint32_t>(chains_[a].size()),
        static_cast<std::uint32_t>(chains_[b].size()));
  return steps;
}

// Disjoint pairs with the dearest waits between them.
std::vector<std::pair<std::uint32_t, std::uint32_t>> PairBound::pairs(
    std::span<const double> prices) const {
  struct Candidate {
    double worth = 0;
    std::uint32_t a = 0, b = 0;
  };
  std::vector<Candidate> all;
  for (std::uint32_t a = 0; a < chains_.size(); ++a)
    for (std::uint32_t b = a + 1; b < chains_.size(); ++b) {
      const bool fits = chains_[a].aligned && chains_[b].aligned && chains_[a].size() > 0 &&
                        chains_[b].size() > 0 &&
                        std::size_t{chains_[a].first[1]} * chains_[b].first[1] <= kMostClockPairs;
      if (!fits) continue;
      Candidate c{0, a, b};
      for (const Item& item : meetings(a, b, prices)) c.worth += item.price_a_w + item.price_b_w;
      if (c.worth > 0) all.push_back(c);
    }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  std::vector<char> taken(chains_.size(), 0);
  const auto take = [&](const Candidate& c) {
    taken[c.a] = taken[c.b] = 1;
    out.emplace_back(c.a, c.b);
  };
  if (chains_.size() <= kAllPairings) {
    // most[set]: the most that pairs within a set of GPUs are worth, and its last pair.
    std::vector<double> most(std::size_t{1} << chains_.size(), 0.0);
    std::vector<const Candidate*> last(most.size(), nullptr);
    for (std::size_t set = 1; set < most.size(); ++set)
      for (const Candidate& c : all) {
        const std::size_t two = (std::size_t{1} << c.a) | (std::size_t{1} << c.b);
        if ((set & two) != two || most[set ^ two] + c.worth <= most[set]) continue;
        most[set] = most[set ^ two] + c.worth;
        last[set] = &c;
      }
    std::size_t set = most.size() - 1;
    while (last[set] != nullptr) {
      take(*last[set]);
      set ^= (std::size_t{1} << last[set]->a) | (std::size_t{1} << last[set]->b);
    }
    return out;
  }
  std::ranges::sort(all, [](const Candidate& x, const Candidate& y) {
    if (x.worth != y.worth) return x.worth > y.worth;
    return x.a != y.a ? x.a < y.a : x.b < y.b;
  });
  for (const Candidate& c : all) {
    if (taken[c.a] != 0 || taken[c.b] != 0) continue;
    take(c);
  }
  return out;
}

PairGrid PairBound::grid_for(std::uint32_t a, std::uint32_t b) const {
  double sum = 0;
  double packs = 0;
  for (const std::uint32_t g : {a, b})
    for (std::uint32_t i = 0; i < chains_[g].size(); ++i, ++packs) sum += fastest_s(chains_[g], i);
  double lag = 0;
  for (const Network::Wait& w : net_.waits) {
    const bool inside = (gpu_of_[w.to] == a && gpu_of_[w.from] == b) ||
                        (gpu_of_[w.to] == b && gpu_of_[w.from] == a);
    if (inside) lag = std::max(lag, net_.arcs[w.arc].lag_s);
  }
  const double change = problem_.switching.time_s;
  const double reach = std::max(3 * sum / std::max(packs, 1.0), 2 * (change + lag));
  double step = reach / reach_steps_;
  if (change >= step) step = change / std::ceil(change / step);
  const auto half = static_cast<std::uint32_t>(std::min(std::ceil(reach / step), 4096.0));
  return {step, std::max(half, 4U)};
}

// Values by (clock of a, clock of b, difference): what follows costs at least that.
class PairBound::Pass {
 public:
  Pass(const PairBound& in, std::uint32_t a, std::uint32_t b, std::span<const double> prices)
      : in_(in),
        side_{Side(in, a, prices), Side(in, b, prices)},
        grid_(in.grid_for(a, b)),
        shift_(grid_),
        size_(grid_.size()),
        wide_(std::size_t{side_[0].width} * side_[1].width),
        value_(wide_ * size_),
        both_(size_),
        scratch_(size_) {
    side_[0].hub.resize(side_[1].width * size_);
    side_[1].hub.resize(side_[0].width * size_);
  }

  double run(std::span<const Step> steps) {
    end();
    for (std::size_t k = steps.size(); k-- > 0;) {
      const Step& step = steps[k];
      if (step.a) pack(0, step.item.a);
      if (step.b) pack(1, step.item.b);
      if (step.a) idle(0, step.item);
      if (step.b) idle(1, step.item);
      if (step.item.a_waits || step.item.b_waits) {
        meet(step.item);
      } else {
        change(step.a ? 0 : 1, step.a ? step.item.a : step.item.b);
      }
    }
    return value_[grid_.half];
  }

 private:
  struct Side {
    const ClockChain& chain;
    std::uint32_t first;  // index into row
    std::uint32_t width;  // clocks
    std::vector<double> pack_w, change_w;
    double last_w = 0;        // price of what lies between the last end and the makespan
    std::vector<double> hub;  // by (clock of the other GPU, difference)
    Side(const PairBound& in, std::uint32_t gpu, std::span<const double> prices)
        : chain(in.chains_[gpu]), first(in.net_.row_begin[gpu]), width(chain.first[1]) {
      for (std::uint32_t i = 0; i < chain.size(); ++i) {
        const double idle = in.problem_.gpus[gpu].idle_power_w;
        const double own = std::max(prices[in.net_.pack_arc[first + i]], 0.0);
        pack_w.push_back(own - idle);
        change_w.push_back(std::max(prices[in.net_.switch_arc[first + i]], 0.0));
      }
      last_w = change_w.front();
    }
    [[nodiscard]] double change_j(std::uint32_t i) const {
      return i == 0 ? 0 : chain.switching.energy_j + change_w[i] * chain.switching.time_s;
    }
    [[nodiscard]] double change_s(std::uint32_t i) const {
      return i == 0 ? 0 : chain.switching.time_s;
    }
    [[nodiscard]] double own_w(std::uint32_t i) const { return i == 0 ? 0 : change_w[i]; }
  };
  std::span<double> at(std::size_t clock_a, std::size_t clock_b) {
    return {value_.data() + (clock_a * side_[1].width + clock_b) * size_, size_};
  }
  std::span<double> hub(std::size_t side, std::size_t clock) {
    return {side_[side].hub.data() + clock * size_, size_};
  }
  static void lower(std::span<double> into, std::span<const double> by, double cost) {
    for (std::size_t k = 0; k < into.size(); ++k) into[k] = std::min(into[k], by[k] + cost);
  }

  // Both ends are followed by the makespan.
  void end() {
    for (std::size_t s = 0; s < wide_; ++s)
      for (std::uint32_t k = 0; k < grid_.size(); ++k) {
        const double d = grid_.at(k);
        value_[s * size_ + k] = d < 0 ? -d * side_[0].last_w : d * side_[1].last_w;
      }
  }
  void pack(std::size_t side, std::uint32_t i) {
    const Side& g = side_[side];
    for (std::size_t ca = 0; ca < side_[0].width; ++ca)
      for (std::size_t cb = 0; cb < side_[1].width; ++cb) {
        const std::uint32_t slot =
            g.chain.first[i] + static_cast<std::uint32_t>(side == 0 ? ca : cb);
        const double time = g.chain.time_s[slot];
        const std::span<double> v = at(ca, cb);
        shift_.apply(v, side == 0 ? time : -time, g.chain.energy_j[slot] + g.pack_w[i] * time, v);
      }
  }
  // A pack that others delay too may start later than it could; that has the price of its waits.
  void idle(std::size_t side, const Item& item) {
    const Side& g = side_[side];
    const std::uint32_t i = side == 0 ? item.a : item.b;
    const bool waits = side == 0 ? item.a_waits : item.b_waits;
    if (in_.into_[g.first + i].size() <= (waits ? 1U : 0U)) return;
    const double more = (g.own_w(i) + (side == 0 ? item.price_a_w : item.price_b_w)) * grid_.step_s;
    for (std::size_t s = 0; s < wide_; ++s) {
      double* v = value_.data() + s * size_;
      if (side == 0) {
        for (std::size_t k = size_ - 1; k-- > 0;) v[k] = std::min(v[k], v[k + 1] + more);
      } else {
        for (std::size_t k = 1; k < size_; ++k) v[k] = std::min(v[k], v[k - 1] + more);
      }
    }
  }
  // hub(side, c): the cheapest clock of the GPU where the other one has clock c.
  void gather(std::size_t side) {
    std::ranges::fill(side_[side].hub, kInfinity);
    for (std::size_t ca = 0; ca < side_[0].width; ++ca)
      for (std::size_t cb = 0; cb < side_[1].width; ++cb)
        lower(hub(side, side == 0 ? cb : ca), at(ca, cb), 0);
  }
  void change(std::size_t side, std::uint32_t i) {
    gather(side);
    const Side& g = side_[side];
    const std::size_t others = side_[1 - side].width;
    const double by = side == 0 ? g.change_s(i) : -g.change_s(i);
    for (std::size_t c = 0; c < others; ++c)
      shift_.apply(hub(side, c), by, g.change_j(i), hub(side, c));
    for (std::size_t ca = 0; ca < side_[0].width; ++ca)
      for (std::size_t cb = 0; cb < side_[1].width; ++cb)
        lower(at(ca, cb), hub(side, side == 0 ? cb : ca), 0);
  }
  // Of the GPUs that start at the meeting each keeps its clock or changes it.
  void meet(const Item& item) {
    if (item.a_waits) gather(0);
    if (item.b_waits) gather(1);
    if (item.a_waits && item.b_waits) {
      std::ranges::fill(both_, kInfinity);
      for (std::size_t c = 0; c < side_[1].width; ++c) lower(both_, hub(0, c), 0);
      move(item, true, true, both_);
    }
    if (item.a_waits)
      for (std::size_t c = 0; c < side_[1].width; ++c) move(item, true, false, hub(0, c));
    if (item.b_waits)
      for (std::size_t c = 0; c < side_[0].width; ++c) move(item, false, true, hub(1, c));
    GridMeeting stay(grid_, meeting(item, false, false));
    for (std::size_t ca = 0; ca < side_[0].width; ++ca)
      for (std::size_t cb = 0; cb < side_[1].width; ++cb) {
        const std::span<double> v = at(ca, cb);
        stay.apply(v, scratch_);
        std::ranges::copy(scratch_, v.begin());
        if (item.a_waits) lower(v, hub(0, cb), 0);
        if (item.b_waits) lower(v, hub(1, ca), 0);
        if (item.a_waits && item.b_waits) lower(v, both_, 0);
      }
  }
  [[nodiscard]] PairMeeting meeting(const Item& item, bool change_a, bool change_b) const {
    return {.a_waits = item.a_waits,
            .b_waits = item.b_waits,
            .lag_a_s = item.lag_a_s,
            .lag_b_s = item.lag_b_s,
            .own_a_w = side_[0].own_w(item.a_waits ? item.a : 0),
            .own_b_w = side_[1].own_w(item.b_waits ? item.b : 0),
            .other_a_w = item.price_a_w,
            .other_b_w = item.price_b_w,
            .change_a_s = change_a ? side_[0].change_s(item.a) : 0,
            .change_b_s = change_b ? side_[1].change_s(item.b) : 0};
  }
  void move(const Item& item, bool change_a, bool change_b, std::span<double> v) {
    GridMeeting(grid_, meeting(item, change_a, change_b)).apply(v, scratch_);
    const double cost =
        (change_a ? side_[0].change_j(item.a) : 0) + (change_b ? side_[1].change_j(item.b) : 0);
    for (std::size_t k = 0; k < size_; ++k) v[k] = scratch_[k] + cost;
  }

  const PairBound& in_;
  std::array<Side, 2> side_;
  PairGrid grid_;
  GridShift shift_;
  std::size_t size_;
  std::size_t wide_;
  std::vector<double> value_, both_, scratch_;
};

double PairBound::work() const {
  double sum = 0;
  for (const ClockChain& c : chains_) {
    if (c.size() == 0 || !c.aligned) continue;
    sum += static_cast<double>(c.slots()) * c.first[1] * (2 * reach_steps_);
  }
  return sum;
}

std::vector<PairBound::Cost> PairBound::costs(std::span<const double> prices) {
  std::vector<Cost> out;
  for (const auto& [a, b] : pairs(prices)) {
    Pass pass(*this, a, b, prices);
    out.push_back({a, b, pass.run(steps_of(a, b, prices))});
  }
  return out;
}

}  // namespace ergon::plan
