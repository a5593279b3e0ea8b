// The Lagrangian bound of a span and the plans joined from passes at neighbouring prices.
#include "chain_search.hpp"

#include <algorithm>
#include <array>

#include "chain_dual.hpp"
#include "chain_labels.hpp"
#include "numbers.hpp"
#include "wide.hpp"

namespace ergon::plan {
namespace {

// Prices of the joined passes relative to the best one: dense around it, wide at the ends, where
// they bound what is left to spend a lot or very little.
constexpr std::array kPriceFactors = {1.0, 0.96, 1.04, 0.9, 1.1, 0.8, 1.25, 0.6, 1.6, 0.0, 50.0};

constexpr std::size_t kManySlots = 1'000'000;
constexpr std::size_t kFewPasses = 3;

// A pass's energies and times, by slot or by position.
struct Columns {
  const double* energy_j;
  const double* time_s;
};

// The least energy of a beginning and an end together within the limit, over indices [from, to).
double least_within(const Columns& a, const Columns& b, double limit_s, std::uint32_t from,
                    std::uint32_t to) {
  Wide<4> four;
  Wide<1> one;
  four.fill(kInfinity);
  one.fill(kInfinity);
  wide::for_lanes(to - from, [&](auto lanes, std::size_t k) {
    using Part = typename decltype(lanes)::type;
    const auto both = [k](const double* x, const double* y) {
      return wide::load<Part>(x + k) + wide::load<Part>(y + k);
    };
    const Part time = both(a.time_s + from, b.time_s + from);
    const Part sum = both(a.energy_j + from, b.energy_j + from);
    const Part energy = time <= limit_s ? sum : Part{} + kInfinity;
    if constexpr (std::is_same_v<Part, double>) {
      one.part[0] = std::min(one.part[0], energy);
    } else {
      four.part[0] = energy < four.part[0] ? energy : four.part[0];
    }
  });
  return std::min({four[0], four[1], four[2], four[3], one[0]});
}

// Energies of what a pass has priced.
void energies_of(double price, const std::vector<double>& value, const std::vector<double>& time_s,
                 std::vector<double>& energy_j) {
  energy_j.resize(value.size());
  for (std::size_t k = 0; k < value.size(); ++k) energy_j[k] = value[k] - price * time_s[k];
}

}  // namespace

SpanSearch::SpanSearch(const Span& span, const SearchLimits& limits)
    : pricer_(span), limits_(limits), bound_(-kInfinity) {
  plan_.spent.energy_j = kInfinity;
}

Spent SpanSearch::measure(const std::vector<std::uint32_t>& slots) const {
  const Span& span = pricer_.span();
  const ClockChain& c = pricer_.chain();
  Spent sum = span.before;
  for (std::uint32_t i = span.first; i <= span.last; ++i) {
    if (i > span.first && c.before[slots[i]] != slots[i - 1]) {
      sum.time_s += c.switching.time_s;
      sum.energy_j += c.switching.energy_j;
    }
    if (i == span.first && span.source != kNoIndex) continue;
    sum.time_s += c.time_s[slots[i]];
    sum.energy_j += c.energy_j[slots[i]];
  }
  return {sum.time_s + span.after.time_s, sum.energy_j + span.after.energy_j};
}

Spent SpanSearch::keep(const std::vector<std::uint32_t>& slots) {
  const Spent spent = measure(slots);
  if (spent.time_s <= limits_.limit_s && spent.energy_j < plan_.spent.energy_j) {
    plan_.spent = spent;
    plan_.slots = slots;
  }
  return spent;
}

bool SpanSearch::closed(double cutoff_j) const {
  const double best = std::min(cutoff_j, plan_.spent.energy_j);
  return bound_ >= best - std::max(limits_.target_gap * std::max(bound_, 0.0), kRounding * best);
}

bool SpanSearch::price(double start) {
  Pass pass;
  std::vector<std::uint32_t> slots(pricer_.chain().size(), kNoIndex);
  const auto cheapest = [&](Prices prices) -> std::optional<Priced> {
    pricer_.forward(prices, pass);
    const std::uint32_t end = pricer_.best_end(pass);
    if (end == kNoIndex) return std::nullopt;
    pricer_.trace_forward(pass, end, slots);
    return Priced{.value = pricer_.end_value(pass, end), .spent = keep(slots)};
  };
  const Dual dual = maximise_dual(cheapest, limits_.limit_s, start);
  bound_ = dual.feasible ? dual.bound_j : kInfinity;
  price_ = dual.price;
  fastest_s_ = dual.fastest_s;
  return dual.feasible;
}

void SpanSearch::join() {
  const Span& span = pricer_.span();
  const ClockChain& c = pricer_.chain();
  const double limit = limits_.limit_s;
  // A very long chain has a small gap anyway, and each pass takes memory for all its slots.
  const std::size_t passes = c.slots() <= kManySlots ? kPriceFactors.size() : kFewPasses;
  ends_.resize(passes);
  std::vector<std::vector<double>> end_j(passes);
  std::vector<std::vector<double>> end_hub_j(passes);
  for (std::size_t g = 0; g < ends_.size(); ++g) {
    const double price = price_ * kPriceFactors[g];
    pricer_.backward({.price = price}, ends_[g]);
    energies_of(price, ends_[g].value, ends_[g].time_s, end_j[g]);
    energies_of(price, ends_[g].hub_value, ends_[g].hub_time_s, end_hub_j[g]);
  }

  struct Join {
    double energy_j = kInfinity;
    double price = 0;
    std::size_t end = 0;
    std::uint32_t at = kNoIndex;  // slot, or position of a change
    bool change = false;
  } best;
  best.energy_j = plan_.spent.energy_j;
  Pass ahead;
  std::vector<double> ahead_j;
  std::vector<double> ahead_hub_j;
  for (std::size_t f = 0; f < passes; ++f) {
    const double price = price_ * kPriceFactors[f];
    pricer_.forward({.price = price}, ahead);
    energies_of(price, ahead.value, ahead.time_s, ahead_j);
    energies_of(price, ahead.hub_value, ahead.hub_time_s, ahead_hub_j);
    for (std::size_t g = 0; g < ends_.size(); ++g) {
      const Pass& end = ends_[g];
      const auto scan = [&](const Columns& x, const Columns& y, std::uint32_t from,
                            std::uint32_t to, bool change) {
        const double least = least_within(x, y, limit, from, to);
        if (!(least < best.energy_j)) return;
        std::uint32_t k = from;
        while (x.energy_j[k] + y.energy_j[k] != least || x.time_s[k] + y.time_s[k] > limit) ++k;
        best = {.energy_j = least, .price = price, .end = g, .at = k, .change = change};
      };
      scan({ahead_j.data(), ahead.time_s.data()}, {end_j[g].data(), end.time_s.data()},
           c.first[span.first], c.first[span.last + 1], false);
      scan({ahead_hub_j.data(), ahead.hub_time_s.data()},
           {end_hub_j[g].data(), end.hub_time_s.data()}, span.first, span.last, true);
    }
  }
  if (best.at == kNoIndex) return;
  std::vector<std::uint32_t> slots(c.size(), kNoIndex);
  pricer_.forward({.price = best.price}, ahead);
  if (best.change) {
    pricer_.trace_forward(ahead, pricer_.hub_slot(ahead, best.at), slots);
    pricer_.trace_backward_change(ends_[best.end], best.at, slots);
  } else {
    pricer_.trace_forward(ahead, best.at, slots);
    pricer_.trace_backward(ends_[best.end], best.at, slots);
  }
  keep(slots);
}

void SpanSearch::search_labels(double cutoff_j) {
  const double incumbent = std::min(cutoff_j, plan_.spent.energy_j);
  const std::size_t positions = pricer_.span().last - pricer_.span().first + 1;
  const std::size_t width = std::max<std::size_t>(64, limits_.labels / positions);
  const double target = std::max(limits_.target_gap, kRounding);
  LabelSearch search(pricer_, ends_, 0, limits_.limit_s);
  double best = incumbent;
  // A narrow sweep first: the better plan it finds makes the wide one cheaper.
  for (const std::size_t w : {width / 8, width}) {
    search.run(best, target, w);
    best = search.incumbent_j();
    if (search.improved()) {
      std::vector<std::uint32_t> slots(pricer_.chain().size(), kNoIndex);
      search.write_plan(slots);
      keep(slots);
    }
    bound_ = std::max(bound_, std::min(search.bound_of_dropped(), best * (1 - target)));
    if (search.bound_of_dropped() >= best * (1 - target)) break;
  }
}

}  // namespace ergon::plan
