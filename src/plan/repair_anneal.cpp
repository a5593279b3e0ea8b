// Simulated annealing over runs of one clock. Most moves are turned down by what they cost and by
// the time of the packs they touch alone; only the rest times the whole graph.
#include "repair_anneal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "evaluate.hpp"
#include "numbers.hpp"

namespace ergon::plan {
Anneal::Anneal(const Problem& problem, const Network& net) : problem_(problem), net_(net) {
  const auto n = static_cast<std::uint32_t>(net.row.size());
  clocks_.resize(problem.gpus.size());
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g) {
    std::vector<double>& clocks = clocks_[g];
    for (std::uint32_t i = net.row_begin[g]; i < net.row_begin[g + 1]; ++i) {
      gpu_of_.push_back(g);
      for (const Option& o : problem.packs[net.row[i]].options) clocks.push_back(o.clock_hz);
      if (clocks.size() > 4096) {
        std::ranges::sort(clocks);
        clocks.erase(std::ranges::unique(clocks).begin(), clocks.end());
      }
    }
    std::ranges::sort(clocks);
    clocks.erase(std::ranges::unique(clocks).begin(), clocks.end());
  }
  std::size_t size = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    table_.push_back(size);
    size += clocks_[gpu_of_[i]].size();
  }
  time_.assign(size, -1);
  own_.assign(size, kInfinity);
  option_.assign(size, 0);
  sum_own_.assign(size, 0);
  sum_priced_.assign(size, 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    const Pack& pack = problem.packs[net.row[i]];
    const std::vector<double>& clocks = clocks_[gpu_of_[i]];
    for (std::uint32_t k = 0; k < pack.options.size(); ++k) {
      const Option& o = pack.options[k];
      const auto c =
          static_cast<std::size_t>(std::ranges::lower_bound(clocks, o.clock_hz) - clocks.begin());
      time_[table_[i] + c] = o.time_s;
      own_[table_[i] + c] = o.energy_j - problem.gpus[gpu_of_[i]].idle_power_w * o.time_s;
      option_[table_[i] + c] = k;
    }
  }
  order_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) order_[net.row[i]] = i;
  in_.begin.assign(n + 1, 0);
  out_.begin.assign(n + 1, 0);
  for (const Network::Wait& w : net.waits) {
    ++in_.begin[w.to + 1];
    ++out_.begin[w.from + 1];
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    in_.begin[i + 1] += in_.begin[i];
    out_.begin[i + 1] += out_.begin[i];
  }
  in_.waits.resize(net.waits.size());
  out_.waits.resize(net.waits.size());
  std::vector<std::uint32_t> in_at(in_.begin);
  std::vector<std::uint32_t> out_at(out_.begin);
  for (const Network::Wait& w : net.waits) {
    in_.waits[in_at[w.to]++] = {w.from, net.arcs[w.arc].lag_s};
    out_.waits[out_at[w.from]++] = {w.to, net.arcs[w.arc].lag_s};
  }
  find_meetings(in_, false);
  find_meetings(out_, true);
  at_.resize(n);
  now_s_.resize(n);
  end_.resize(n);
  tail_.resize(n);
  way_.resize(n);
  part_of_.assign(n, kNoIndex);
  trial_.resize(n);
  dirty_.assign(n / 64 + 1, 0);
}

void Anneal::set_prices(std::span<const double> prices, double deadline_s) {
  deadline_s_ = latest_end(deadline_s);
  double value = 0;
  for (std::size_t a = 0; a < net_.arcs.size(); ++a)
    if (net_.arcs[a].tail == Network::kBegin) value += prices[a];
  makespan_w_ = value;
  for (std::uint32_t g = 0; g < clocks_.size(); ++g) {
    for (std::uint32_t i = net_.row_begin[g]; i < net_.row_begin[g + 1]; ++i) {
      const double price = prices[net_.pack_arc[i]];
      for (std::size_t c = 0; c < clocks_[g].size(); ++c) {
        const bool known = listed(i, static_cast<std::uint32_t>(c));
        const double own = known ? own_[table_[i] + c] : 1e9;
        const double priced = known ? price * time_[table_[i] + c] : 0.0;
        const bool first = i == net_.row_begin[g];
        sum_own_[table_[i] + c] = own + (first ? 0.0 : sum_own_[table_[i - 1] + c]);
        sum_priced_[table_[i] + c] = priced + (first ? 0.0 : sum_priced_[table_[i - 1] + c]);
      }
    }
  }
}
bool Anneal::runs_long_enough(std::uint32_t gpu) const {
  const double shortest = shortest_run(problem_.switching.min_run_s);
  const std::uint32_t low = net_.row_begin[gpu];
  const std::uint32_t high = net_.row_begin[gpu + 1];
  double first_run = -1;
  double run = 0;
  bool good = true;
  for (std::uint32_t i = low; i < high; ++i) {
    if (i > low && at_[i] != at_[i - 1]) {
      if (first_run < 0)
        first_run = run;
      else
        good = good && run >= shortest;
      run = 0;
    }
    run += now_s_[i];
  }
  if (first_run < 0) return true;
  if (problem_.repeats && at_[low] == at_[high - 1]) return good && first_run + run >= shortest;
  return good && first_run >= shortest && run >= shortest;
}

// Energy of the packs of a part and of its changes of clock, less what they take now.
double Anneal::own_energy(const Part& part, int& changes) const {
  const std::uint32_t low = net_.row_begin[part.gpu];
  const std::uint32_t high = net_.row_begin[part.gpu + 1];
  const std::uint32_t c = part.clock;
  double energy = 0;
  if (part.from > low)
    changes += (at_[part.from - 1] != c) - (at_[part.from - 1] != at_[part.from]);
  if (part.to < high) changes += (at_[part.to] != c) - (at_[part.to] != at_[part.to - 1]);
  for (std::uint32_t r = part.from; r < part.to; ++r) {
    energy += own_[table_[r] + c] - own_[table_[r] + at_[r]];
    if (r > part.from && at_[r] != at_[r - 1]) --changes;
  }
  if (problem_.repeats && (part.from == low || part.to == high)) {
    const std::uint32_t first = part.from == low ? c : at_[low];
    const std::uint32_t last = part.to == high ? c : at_[high - 1];
    changes += (first != last) - (at_[low] != at_[high - 1]);
  }
  return energy + changes * problem_.switching.energy_j;
}

// The most that the makespan can shrink by.
double Anneal::gain_of(const Part& part, int changes) const {
  bool critical = false;
  double gain = 0;
  for (std::uint32_t r = part.from; r < part.to; ++r) {
    gain += now_s_[r] - slot_time(r, part.clock);
    critical = critical || end_[r] + tail_[r] >= makespan_s_ * (1 - 1e-9);
  }
  return critical ? std::max(gain - changes * problem_.switching.time_s, 0.0) : 0.0;
}

// Whether the clock changes right before a pack of a part once it is taken.
bool Anneal::change_before(const Part& part, std::uint32_t r) const {
  return r == part.from && r > net_.row_begin[part.gpu] && at_[r - 1] != part.clock;
}

// What a pack of a part and the change before it take less than now.
double Anneal::won_at(const Part& part, std::uint32_t r) const {
  const bool changed = r > net_.row_begin[part.gpu] && at_[r] != at_[r - 1];
  const bool gone = changed && !change_before(part, r);
  return std::max(now_s_[r] - slot_time(r, part.clock), 0.0) +
         (gone ? problem_.switching.time_s : 0.0);
}

// At least the longest way through the packs of a part. What they wait for may come earlier by all
// that was won before.
double Anneal::least_makespan(const Part& part) const {
  const double tau = problem_.switching.time_s;
  const std::uint32_t low = net_.row_begin[part.gpu];
  const std::uint32_t high = net_.row_begin[part.gpu + 1];
  double previous = part.from > low ? end_[part.from - 1] : 0.0;
  double makespan = 0;
  double won = 0;
  for (std::uint32_t r = part.from; r < part.to; ++r) {
    double start = previous;
    if (change_before(part, r)) start += tau;
    for (const Wait& w : in_.of(r)) start = std::max(start, end_[w.pack] + w.lag_s - won);
    previous = start + slot_time(r, part.clock);
    won += won_at(part, r);
    for (const Wait& w : out_.of(r))
      makespan = std::max(makespan, previous + w.lag_s + now_s_[w.pack] + tail_[w.pack]);
  }
  if (part.to == high) return std::max(makespan, previous);
  return std::max(makespan, previous + (at_[part.to] != part.clock ? tau : 0.0) + now_s_[part.to] +
                                tail_[part.to]);
}

// The same for several parts; what they wait for among themselves is worked out anew.
double Anneal::least_makespan(const Move& move) {
  const double tau = problem_.switching.time_s;
  touched_.clear();
  for (std::uint32_t p = 0; p < move.size(); ++p)
    for (std::uint32_t r = move[p].from; r < move[p].to; ++r) {
      touched_.push_back(net_.row[r]);
      part_of_[r] = p;
    }
  std::ranges::sort(touched_);
  double makespan = 0;
  double won = 0;
  for (const std::uint32_t pack : touched_) {
    const std::uint32_t r = order_[pack];
    const Part& part = move[part_of_[r]];
    const auto end = [&](std::uint32_t i) {
      return part_of_[i] == kNoIndex ? end_[i] - won : trial_[i];
    };
    double start = 0;
    if (r > net_.row_begin[part.gpu])
      start = (r == part.from ? end_[r - 1] : trial_[r - 1]) + (change_before(part, r) ? tau : 0.0);
    for (const Wait& w : in_.of(r)) start = std::max(start, end(w.pack) + w.lag_s);
    trial_[r] = start + slot_time(r, part.clock);
    makespan = std::max(makespan, trial_[r]);
    won += won_at(part, r);
    for (const Wait& w : out_.of(r))
      if (part_of_[w.pack] == kNoIndex)
        makespan = std::max(makespan, trial_[r] + w.lag_s + way_[w.pack]);
    if (r + 1 == part.to && part.to < net_.row_begin[part.gpu + 1])
      makespan =
          std::max(makespan, trial_[r] + (at_[part.to] != part.clock ? tau : 0.0) + way_[part.to]);
  }
  for (const std::uint32_t pack : touched_) part_of_[order_[pack]] = kNoIndex;
  return makespan;
}

// Takes the move if it makes the cost grow by less than `bar`.
bool Anneal::consider(const Move& move, double bar) {
  ++counts_.tried;
  double energy = 0;
  double gain = 0;
  const double late = std::max(makespan_s_ - deadline_s_, 0.0);
  const double per_s = net_.idle_w + price_w_;
  for (const Part& part : move) {
    int changes = 0;
    energy += own_energy(part, changes);
    if (late > 0 || per_s > 0) gain += gain_of(part, changes);
  }
  // The best that can happen: all lateness goes and the makespan shrinks by what the packs gain.
  if (energy - penalty_w_ * std::min(late, gain) - per_s * gain > bar) return false;
  const double now = cost_of(makespan_s_);
  const double least = move.size() == 1 ? least_makespan(move.front()) : least_makespan(move);
  if (energy + cost_of(std::max(least, makespan_s_ - gain)) - now > bar) return false;

  ++counts_.timed;
  saved_.clear();
  for (const Part& part : move) {
    for (std::uint32_t r = part.from; r < part.to; ++r) {
      saved_.push_back(at_[r]);
      at_[r] = part.clock;
      now_s_[r] = slot_time(r, part.clock);
    }
  }
  const double before = makespan_s_;
  bool good = problem_.switching.min_run_s <= 0 ||
              std::ranges::all_of(move, [&](const Part& p) { return runs_long_enough(p.gpu); });
  undo_.clear();
  if (good) {
    time_changed(move);
    good = energy + cost_of(makespan_s_) - now <= bar;
  }
  if (!good) {
    for (const auto& [i, end] : undo_) end_[i] = end;
    auto saved = saved_.begin();
    for (const Part& part : move) {
      for (std::uint32_t r = part.from; r < part.to; ++r) {
        at_[r] = *saved++;
        now_s_[r] = slot_time(r, at_[r]);
      }
    }
    makespan_s_ = before;
    return false;
  }
  energy_j_ += energy;
  tail_changed(move);
  ++counts_.taken;
  return true;
}

// Dearer where plans end late, cheaper where they end early.
void Anneal::lead_price(double step) {
  // So far from the deadline the price changes as fast as it may.
  constexpr double kFar = 2e-3;
  const double off = (makespan_s_ - deadline_s_) / std::max(kFar * deadline_s_, 1e-300);
  price_w_ *= std::exp(step * std::clamp(off, -1.0, 1.0));
}

Choice Anneal::run(const Choice& choice, const Cooling& cooling) {
  // How much of a priced run has a price, how often that is set, and how fast it may change.
  constexpr double kPriced = 0.75;
  constexpr std::uint64_t kTimes = 4096;
  constexpr double kFastest = 0.01;
  random_.state = cooling.seed;
  const auto n = static_cast<std::uint32_t>(order_.size());
  energy_j_ = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const Pack& pack = problem_.packs[net_.row[i]];
    const std::vector<double>& clocks = clocks_[gpu_of_[i]];
    at_[i] = static_cast<std::uint32_t>(
        std::ranges::lower_bound(clocks, pack.options[choice[net_.row[i]]].clock_hz) -
        clocks.begin());
    now_s_[i] = slot_time(i, at_[i]);
  }
  time_forward();
  time_backward();
  // energy_j_ is relative to the start.
  double best_cost = kInfinity;
  std::vector<std::uint32_t> best = at_;
  const auto cost = [&] { return energy_j_ + net_.idle_w * makespan_s_; };
  if (makespan_s_ <= deadline_s_) best_cost = cost();
  const double ratio = std::log(cooling.to_j / cooling.from_j);
  const auto priced = static_cast<std::uint64_t>(
      cooling.priced ? kPriced * static_cast<double>(cooling.moves) : 0.0);
  const std::uint64_t every = std::max<std::uint64_t>(cooling.moves / kTimes, 1);
  price_w_ = priced > 0 ? std::max(makespan_w_ - net_.idle_w, 1e-3 * makespan_w_) : 0;
  penalty_w_ = priced > 0 ? 0 : 1.5 * makespan_w_;
  for (std::uint64_t m = 0; m < cooling.moves; ++m) {
    if (m < priced && m % every == 0) lead_price(kFastest);
    if (priced > 0 && m == priced) {
      penalty_w_ = 1.5 * (price_w_ + net_.idle_w);
      price_w_ = 0;
    }
    const bool together = cooling.priced && random_.below(8) == 0;
    if (!(together ? propose_together(move_) : propose(move_))) continue;
    const double heat = cooling.from_j * std::exp(ratio * static_cast<double>(m) /
                                                  static_cast<double>(cooling.moves));
    const double bar = -heat * std::log(1 - random_.uniform());
    if (!consider(move_, bar)) continue;
    if (makespan_s_ <= deadline_s_ && cost() < best_cost - 1e-9) {
      best_cost = cost();
      best = at_;
    }
  }
  price_w_ = 0;
  if (best_cost == kInfinity) return choice;
  Choice out(choice);
  for (std::uint32_t i = 0; i < n; ++i) out[net_.row[i]] = option_[table_[i] + best[i]];
  return out;
}

}  // namespace ergon::plan
