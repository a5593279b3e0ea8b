// Sweeps that hand slack on from pack to pack.
#include "repair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evaluate.hpp"

namespace ergon::plan {

SlackFiller::SlackFiller(const Problem& problem)
    : packs_(static_cast<std::uint32_t>(problem.packs.size())) {
  const std::uint32_t n = packs_;
  for (const Gpu& gpu : problem.gpus) idle_w_ += gpu.idle_power_w;
  std::vector<std::uint32_t> last(problem.gpus.size(), n);
  std::vector<std::uint32_t> outs(n + 1, 0);
  std::vector<std::uint32_t> sorted;
  in_begin_.push_back(0);
  way_begin_.push_back(0);
  for (std::uint32_t i = 0; i < n; ++i) {
    const Pack& pack = problem.packs[i];
    if (last[pack.gpu] != n) in_.push_back({last[pack.gpu], 0});
    for (const After& a : pack.after)
      if (a.lag_s > 0 || problem.packs[a.pack].gpu != pack.gpu) in_.push_back({a.pack, a.lag_s});
    last[pack.gpu] = i;
    for (std::size_t e = in_begin_.back(); e < in_.size(); ++e) ++outs[in_[e].pack];
    in_begin_.push_back(static_cast<std::uint32_t>(in_.size()));

    const double idle = problem.gpus[pack.gpu].idle_power_w;
    const auto own = [&](std::uint32_t k) {
      return pack.options[k].energy_j - idle * pack.options[k].time_s;
    };
    sorted.resize(pack.options.size());
    std::iota(sorted.begin(), sorted.end(), 0U);
    std::ranges::sort(sorted, [&](std::uint32_t a, std::uint32_t b) {
      const double left = pack.options[a].time_s;
      const double right = pack.options[b].time_s;
      return left != right ? left < right : own(a) < own(b);
    });
    way_of_.emplace_back(pack.options.size());
    for (const std::uint32_t k : sorted) {
      if (time_.size() == way_begin_.back() || own(k) < own_.back()) {
        time_.push_back(pack.options[k].time_s);
        own_.push_back(own(k));
        option_.push_back(k);
      }
      way_of_[i][k] = static_cast<std::uint32_t>(time_.size() - 1);
    }
    way_begin_.push_back(static_cast<std::uint32_t>(time_.size()));
  }
  out_begin_.assign(n + 1, 0);
  for (std::uint32_t i = 0; i < n; ++i) out_begin_[i + 1] = out_begin_[i] + outs[i];
  out_.resize(in_.size());
  std::vector<std::uint32_t> fill(out_begin_.begin(), out_begin_.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t e = in_begin_[i]; e < in_begin_[i + 1]; ++e)
      out_[fill[in_[e].pack]++] = {i, in_[e].lag_s};
  early_.resize(n);
  late_.resize(n);
  free_ = priced({}, 0);
}

SlackFiller::Ways SlackFiller::ways_of(std::span<const std::uint32_t> choice) const {
  Ways ways(packs_);
  for (std::uint32_t i = 0; i < packs_; ++i) ways[i] = way_of_[i][choice[i]];
  return ways;
}

Choice SlackFiller::choice_of(const Ways& ways) const {
  Choice choice(packs_);
  for (std::uint32_t i = 0; i < packs_; ++i) choice[i] = option_[ways[i]];
  return choice;
}

SlackFiller::Priced SlackFiller::priced(std::span<const double> price, double scale) const {
  Priced out{.price = std::vector<double>(packs_, 0.0), .cheapest = Ways(packs_)};
  for (std::uint32_t i = 0; i < packs_; ++i) {
    if (scale > 0) out.price[i] = scale * price[i];
    std::uint32_t best = way_begin_[i];
    for (std::uint32_t w = best; w < way_begin_[i + 1]; ++w)
      if (own_[w] + out.price[i] * time_[w] < own_[best] + out.price[i] * time_[best]) best = w;
    out.cheapest[i] = best;
  }
  return out;
}

std::uint32_t SlackFiller::best_way(std::uint32_t pack, const Priced& priced, double window_s,
                                    std::uint32_t way) const {
  const std::uint32_t cheapest = priced.cheapest[pack];
  if (way == cheapest && time_[way] <= window_s) return way;
  const double price = priced.price[pack];
  const auto cost = [&](std::uint32_t w) { return own_[w] + price * time_[w]; };
  // Ties stay as they are: moving all of them at once would upset the balance.
  const double now = cost(way);
  double best = time_[way] <= window_s ? now - 1e-12 * std::abs(now)
                                       : std::numeric_limits<double>::infinity();
  if (time_[cheapest] <= window_s) return cost(cheapest) < best ? cheapest : way;
  for (std::uint32_t w = way_begin_[pack]; w < cheapest && time_[w] <= window_s; ++w) {
    if (cost(w) < best) {
      best = cost(w);
      way = w;
    }
  }
  return way;
}

void SlackFiller::sweep(Ways& ways, const Priced& priced, double deadline_s, bool forwards,
                        bool goes_on) {
  // What the sweep before found at its last visit of each pack holds still where it goes on.
  if (forwards) {
    for (std::uint32_t i = goes_on ? 0 : packs_; i-- > 0;)
      late_[i] = end_of(i, deadline_s) - time_[ways[i]];
    for (std::uint32_t i = 0; i < packs_; ++i) {
      const double start = start_of(i);
      ways[i] = best_way(i, priced, late_[i] + time_[ways[i]] - start, ways[i]);
      early_[i] = start + time_[ways[i]];
    }
  } else {
    for (std::uint32_t i = goes_on ? packs_ : 0; i < packs_; ++i)
      early_[i] = start_of(i) + time_[ways[i]];
    for (std::uint32_t i = packs_; i-- > 0;) {
      const double end = end_of(i, deadline_s);
      const double start = early_[i] - time_[ways[i]];
      ways[i] = best_way(i, priced, end - start, ways[i]);
      late_[i] = end - time_[ways[i]];
    }
  }
}

bool SlackFiller::quicken(Ways& ways, std::uint32_t pack) const {
  if (ways[pack] == way_begin_[pack]) return false;
  --ways[pack];
  return true;
}

bool SlackFiller::exchange(Ways& ways, std::uint32_t slower, double deadline_s,
                           std::uint64_t& visits) {
  if (ways[slower] + 1 == way_begin_[slower + 1]) return false;
  const auto visit = [&](std::uint64_t times) { visits -= std::min(visits, times * packs_); };
  const double latest = latest_end(deadline_s);
  const double saved = own_[ways[slower]] - own_[ways[slower] + 1];
  double least = value_of(ways).energy_j * (1 - 1e-12);
  Ways trial(ways);
  ++trial[slower];
  const Value slow = value_of(trial);
  visit(3);
  if (slow.time_s <= latest) {
    if (slow.energy_j >= least) return false;
    ways = trial;
    return true;
  }
  // Packs that would have to start before they can.
  std::vector<std::uint32_t> critical;
  for (std::uint32_t i = packs_; i-- > 0;) {
    late_[i] = end_of(i, latest) - time_[trial[i]];
    if (i != slower && early_[i] - time_[trial[i]] > late_[i]) critical.push_back(i);
  }
  const Ways late(trial);
  bool better = false;
  for (const std::uint32_t i : critical) {
    for (std::uint32_t w = late[i]; w-- > way_begin_[i] && visits > 0;) {
      // What it costs may come back where others get slower for free.
      if (own_[w] - own_[late[i]] > 3 * saved) break;
      if (time_[late[i]] - time_[w] < (slow.time_s - latest) * (1 - 1e-6)) continue;
      trial = late;
      trial[i] = w;
      visit(1);
      if (value_of(trial).time_s > latest) continue;
      sweep(trial, free_, deadline_s, true);
      sweep(trial, free_, deadline_s, false, true);
      visit(5);
      const Value value = value_of(trial);
      if (value.time_s <= latest && value.energy_j < least) {
        least = value.energy_j * (1 - 1e-12);
        ways = trial;
        better = true;
      }
      break;
    }
  }
  return better;
}

SlackFiller::Value SlackFiller::value_of(const Ways& ways) {
  Value value;
  for (std::uint32_t i = 0; i < packs_; ++i) {
    early_[i] = start_of(i) + time_[ways[i]];
    value.time_s = std::max(value.time_s, early_[i]);
    value.energy_j += own_[ways[i]];
  }
  value.energy_j += idle_w_ * value.time_s;
  return value;
}

}  // namespace ergon::plan
