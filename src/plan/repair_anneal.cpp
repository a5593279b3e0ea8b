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
  dirty_.assign(n / 64 + 1, 0);
}

// Packs whose waits are the same. `next`: what they lead to. Without lags the neighbour on the
// pack's own GPU may count as one of them, as it comes no earlier than that anyway.
void Anneal::find_meetings(Side& side, bool next) {
  constexpr std::size_t kFew = 2;
  const auto n = static_cast<std::uint32_t>(net_.row.size());
  side.meeting.assign(n, kNoIndex);
  std::map<std::vector<Wait>, std::vector<std::uint32_t>> packs;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::span<const Wait> own = side.of(i);
    if (own.size() <= kFew) continue;
    std::vector<Wait> waits(own.begin(), own.end());
    if (std::ranges::all_of(waits, [](const Wait& w) { return w.lag_s == 0; })) {
      const std::uint32_t g = gpu_of_[i];
      if (next && i + 1 < net_.row_begin[g + 1]) waits.push_back({i + 1, 0});
      if (!next && i > net_.row_begin[g]) waits.push_back({i - 1, 0});
    }
    std::ranges::sort(waits);
    packs[std::move(waits)].push_back(i);
  }
  for (const auto& [waits, alike] : packs) {
    if (alike.size() <= kFew) continue;
    for (const std::uint32_t i : alike)
      side.meeting[i] = static_cast<std::uint32_t>(side.meetings.size());
    side.meetings.push_back({.waits = waits});
  }
}

void Anneal::set_prices(std::span<const double> prices, double deadline_s) {
  deadline_s_ = latest_end(deadline_s);
  double value = 0;
  for (std::size_t a = 0; a < net_.arcs.size(); ++a)
    if (net_.arcs[a].tail == Network::kBegin) value += prices[a];
  penalty_w_ = 1.5 * value;
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

void Anneal::time_forward() {
  const double tau = problem_.switching.time_s;
  ++pass_;
  for (const std::uint32_t i : order_) {
    const std::uint32_t g = gpu_of_[i];
    double start = 0;
    if (i > net_.row_begin[g]) start = end_[i - 1] + (at_[i] != at_[i - 1] ? tau : 0.0);
    start = latest(in_, i, start, [&](const Wait& w) { return end_[w.pack] + w.lag_s; });
    end_[i] = start + now_s_[i];
  }
  take_makespan();
}

double Anneal::tail_of(std::uint32_t i) {
  const double tau = problem_.switching.time_s;
  const std::uint32_t first = net_.row_begin[gpu_of_[i]];
  double tail = 0;
  if (i + 1 < net_.row_begin[gpu_of_[i] + 1]) {
    tail = way_[i + 1] + (at_[i] != at_[i + 1] ? tau : 0.0);
  } else if (problem_.repeats && at_[i] != at_[first]) {
    tail = tau;
  }
  return latest(out_, i, tail, [&](const Wait& w) { return way_[w.pack] + w.lag_s; });
}

void Anneal::time_backward() {
  ++pass_;
  for (std::size_t p = order_.size(); p-- > 0;) {
    const std::uint32_t i = order_[p];
    tail_[i] = tail_of(i);
    way_[i] = tail_[i] + now_s_[i];
  }
}

// A good clock for a stretch at its prices, leaning to faster or slower at random.
std::uint32_t Anneal::suggest(std::uint32_t gpu, std::uint32_t from, std::uint32_t to) {
  const double lean = 0.6 + 0.9 * random_.uniform();
  const std::size_t last = table_[to - 1];
  const bool whole = from == net_.row_begin[gpu];
  const std::size_t before = whole ? 0 : table_[from - 1];
  std::uint32_t best = 0;
  double least = kInfinity;
  for (std::uint32_t c = 0; c < clocks_[gpu].size(); ++c) {
    double cost = sum_own_[last + c] + lean * sum_priced_[last + c];
    if (!whole) cost -= sum_own_[before + c] + lean * sum_priced_[before + c];
    if (cost < least) {
      least = cost;
      best = c;
    }
  }
  return best;
}

bool Anneal::propose(Move& move) {
  const auto n = static_cast<std::uint32_t>(order_.size());
  const std::uint32_t i = random_.below(n);
  const std::uint32_t g = gpu_of_[i];
  const std::uint32_t low = net_.row_begin[g];
  const std::uint32_t high = net_.row_begin[g + 1];
  const auto clocks = static_cast<std::uint32_t>(clocks_[g].size());
  const auto near = [&](std::uint32_t c, std::uint32_t most) {
    const std::uint32_t step = 1 + random_.below(most);
    if ((random_.next() >> 63U) != 0) return std::min(c + step, clocks - 1);
    return c >= step ? c - step : 0;
  };
  std::uint32_t from = i;
  std::uint32_t to = i + 1;
  const auto whole_run = [&] {
    while (from > low && at_[from - 1] == at_[i]) --from;
    while (to < high && at_[to] == at_[i]) ++to;
  };
  std::uint32_t clock = at_[i];
  const std::uint32_t kind = random_.below(16);
  if (kind < 4) {  // a run gets a clock near its own
    whole_run();
    clock = kind < 3 ? near(clock, 3) : suggest(g, from, to);
  } else if (kind < 9) {  // the end of a run moves
    const std::uint32_t length = 1 + random_.below(4);
    while (from > low && at_[from - 1] == at_[i]) --from;
    if (from == low) return false;
    if ((random_.next() >> 63U) != 0) {
      clock = at_[from - 1];
      to = std::min(from + length, high);
    } else {
      clock = at_[from];
      to = from;
      from = from >= low + length ? from - length : low;
    }
  } else if (kind < 11) {  // a run joins a neighbour
    whole_run();
    const bool left = to == high || (from > low && (random_.next() >> 63U) != 0);
    if (left && from == low) return false;
    clock = left ? at_[from - 1] : at_[to];
  } else {  // a stretch gets a clock of its own
    to = std::min(high, i + 1 + random_.below(12));
    clock = kind < 14 ? suggest(g, from, to) : near(clock, 6);
  }
  bool differs = false;
  for (std::uint32_t r = from; r < to; ++r) {
    if (!listed(r, clock)) return false;
    differs = differs || at_[r] != clock;
  }
  move = {g, from, to, clock};
  return differs;
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

// Takes the move if it makes the cost grow by less than `bar`.
bool Anneal::consider(const Move& move, double bar) {
  ++counts_.tried;
  const double tau = problem_.switching.time_s;
  const std::uint32_t low = net_.row_begin[move.gpu];
  const std::uint32_t high = net_.row_begin[move.gpu + 1];
  const std::uint32_t c = move.clock;
  int changes = 0;
  double energy = 0;
  if (move.from > low)
    changes += (at_[move.from - 1] != c) - (at_[move.from - 1] != at_[move.from]);
  if (move.to < high) changes += (at_[move.to] != c) - (at_[move.to] != at_[move.to - 1]);
  for (std::uint32_t r = move.from; r < move.to; ++r) {
    energy += own_[table_[r] + c] - own_[table_[r] + at_[r]];
    if (r > move.from && at_[r] != at_[r - 1]) --changes;
  }
  if (problem_.repeats && (move.from == low || move.to == high)) {
    const std::uint32_t first = move.from == low ? c : at_[low];
    const std::uint32_t last = move.to == high ? c : at_[high - 1];
    changes += (first != last) - (at_[low] != at_[high - 1]);
  }
  energy += changes * problem_.switching.energy_j;
  const double late = std::max(makespan_s_ - deadline_s_, 0.0);
  // The best that can happen: all lateness goes and the makespan shrinks by what the packs gain.
  double gain = 0;
  if (late > 0 || net_.idle_w > 0) {
    bool critical = false;
    for (std::uint32_t r = move.from; r < move.to; ++r) {
      gain += now_s_[r] - slot_time(r, c);
      critical = critical || end_[r] + tail_[r] >= makespan_s_ * (1 - 1e-9);
    }
    gain = critical ? std::max(gain - changes * tau, 0.0) : 0.0;
  }
  if (energy - penalty_w_ * std::min(late, gain) - net_.idle_w * gain > bar) return false;

  double previous = move.from > low ? end_[move.from - 1] : 0.0;
  double makespan = 0;
  for (std::uint32_t r = move.from; r < move.to; ++r) {
    double start = previous;
    if (r == move.from && r > low && at_[r - 1] != c) start += tau;
    for (const Wait& w : in_.of(r)) start = std::max(start, end_[w.pack] + w.lag_s);
    previous = start + slot_time(r, c);
    for (const Wait& w : out_.of(r))
      makespan = std::max(makespan, previous + w.lag_s + now_s_[w.pack] + tail_[w.pack]);
  }
  if (move.to < high)
    makespan = std::max(
        makespan, previous + (at_[move.to] != c ? tau : 0.0) + now_s_[move.to] + tail_[move.to]);
  else
    makespan = std::max(makespan, previous);
  const auto cost_of = [&](double span) {
    return penalty_w_ * std::max(span - deadline_s_, 0.0) + net_.idle_w * span;
  };
  const double now = cost_of(makespan_s_);
  if (energy + cost_of(std::max(makespan, makespan_s_ - gain)) - now > bar) return false;

  ++counts_.timed;
  saved_.assign(at_.begin() + move.from, at_.begin() + move.to);
  std::fill(at_.begin() + move.from, at_.begin() + move.to, c);
  for (std::uint32_t r = move.from; r < move.to; ++r) now_s_[r] = slot_time(r, c);
  const double before = makespan_s_;
  bool good = problem_.switching.min_run_s <= 0 || runs_long_enough(move.gpu);
  undo_.clear();
  if (good) {
    time_changed(move);
    good = energy + cost_of(makespan_s_) - now <= bar;
  }
  if (!good) {
    for (const auto& [i, end] : undo_) end_[i] = end;
    std::copy(saved_.begin(), saved_.end(), at_.begin() + move.from);
    for (std::uint32_t r = move.from; r < move.to; ++r) now_s_[r] = slot_time(r, at_[r]);
    makespan_s_ = before;
    return false;
  }
  energy_j_ += energy;
  tail_changed(move);
  ++counts_.taken;
  return true;
}

// Ends of the packs of a move and of all that follow, as far as they change.
void Anneal::time_changed(const Move& move) {
  const double tau = problem_.switching.time_s;
  const std::uint32_t high = net_.row_begin[move.gpu + 1];
  ++pass_;
  std::uint32_t first_word = static_cast<std::uint32_t>(dirty_.size());
  const auto mark = [&](std::uint32_t i) {
    const std::uint32_t p = net_.row[i];
    dirty_[p / 64] |= std::uint64_t{1} << (p % 64);
    first_word = std::min(first_word, p / 64);
  };
  for (std::uint32_t r = move.from; r < std::min(move.to + 1, high); ++r) mark(r);
  for (std::uint32_t word = first_word; word < dirty_.size(); ++word) {
    while (dirty_[word] != 0) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(dirty_[word]));
      dirty_[word] &= dirty_[word] - 1;
      const std::uint32_t i = order_[word * 64 + bit];
      const std::uint32_t g = gpu_of_[i];
      double start = 0;
      if (i > net_.row_begin[g]) start = end_[i - 1] + (at_[i] != at_[i - 1] ? tau : 0.0);
      start = latest(in_, i, start, [&](const Wait& w) { return end_[w.pack] + w.lag_s; });
      const double end = start + now_s_[i];
      if (end == end_[i]) continue;
      undo_.emplace_back(i, end_[i]);
      end_[i] = end;
      if (i + 1 < net_.row_begin[g + 1]) mark(i + 1);
      mark_all(out_, i, mark);
    }
  }
  take_makespan();
}

void Anneal::take_makespan() {
  const double tau = problem_.switching.time_s;
  makespan_s_ = 0;
  for (std::uint32_t g = 0; g < clocks_.size(); ++g) {
    const std::uint32_t first = net_.row_begin[g];
    const std::uint32_t last = net_.row_begin[g + 1];
    if (first == last) continue;
    const bool wraps = problem_.repeats && at_[first] != at_[last - 1];
    makespan_s_ = std::max(makespan_s_, end_[last - 1] + (wraps ? tau : 0.0));
  }
}

// The same backwards for tails.
void Anneal::tail_changed(const Move& move) {
  const std::uint32_t low = net_.row_begin[move.gpu];
  const std::uint32_t high = net_.row_begin[move.gpu + 1];
  ++pass_;
  for (std::uint32_t r = move.from; r < move.to; ++r) way_[r] = tail_[r] + now_s_[r];
  std::uint32_t words = 0;
  const auto mark = [&](std::uint32_t i) {
    const std::uint32_t p = net_.row[i];
    dirty_[p / 64] |= std::uint64_t{1} << (p % 64);
    words = std::max(words, p / 64 + 1);
  };
  // The packs of the move, all that wait for them, and the last one, whose change may lead around
  // the end.
  for (std::uint32_t r = move.from > low ? move.from - 1 : low; r < move.to; ++r) {
    mark(r);
    for (const Wait& w : in_.of(r)) mark(w.pack);
  }
  if (problem_.repeats && move.from == low) mark(high - 1);
  for (std::uint32_t word = words; word-- > 0;) {
    while (dirty_[word] != 0) {
      const auto bit = 63U - static_cast<std::uint32_t>(std::countl_zero(dirty_[word]));
      dirty_[word] ^= std::uint64_t{1} << bit;
      const std::uint32_t i = order_[word * 64 + bit];
      const double tail = tail_of(i);
      if (tail == tail_[i]) continue;
      tail_[i] = tail;
      way_[i] = tail + now_s_[i];
      if (i > net_.row_begin[gpu_of_[i]]) mark(i - 1);
      mark_all(in_, i, mark);
    }
  }
}

Choice Anneal::run(const Choice& choice, const Cooling& cooling) {
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
  Move move;
  for (std::uint64_t m = 0; m < cooling.moves; ++m) {
    if (!propose(move)) continue;
    const double heat = cooling.from_j * std::exp(ratio * static_cast<double>(m) /
                                                  static_cast<double>(cooling.moves));
    const double bar = -heat * std::log(1 - random_.uniform());
    if (!consider(move, bar)) continue;
    if (makespan_s_ <= deadline_s_ && cost() < best_cost - 1e-9) {
      best_cost = cost();
      best = at_;
    }
  }
  if (best_cost == kInfinity) return choice;
  Choice out(choice);
  for (std::uint32_t i = 0; i < n; ++i) out[net_.row[i]] = option_[table_[i] + best[i]];
  return out;
}

}  // namespace ergon::plan
