// Beam search over the clocks of all GPUs in the order of time.
#include "repair_beam.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>

#include "evaluate.hpp"

namespace ergon::plan {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNone = ~std::uint32_t{0};
constexpr std::uint32_t kTargets = 8;  // clocks that a change may lead to
constexpr double kSlip = 1e-12;        // of the deadline: rounding between two ways of adding times
}  // namespace

Beam::Beam(const Problem& problem, const Network& net) : problem_(problem), net_(net) {
  const auto gpus = static_cast<std::uint32_t>(problem.gpus.size());
  for (auto* v : {&cost_, &free_, &begin_, &run_cost_, &change_}) v->resize(gpus);
  ranked_.resize(gpus);
  ranges_.resize(gpus);
  double sum = 0;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    chains_.push_back(make_clock_chain(problem, g));
    const ClockChain& chain = chains_.back();
    for (auto* v : {&cost_, &free_, &begin_, &run_cost_}) (*v)[g].resize(chain.slots());
    ranked_[g].resize(chain.slots());
    change_[g].resize(chain.size());
    for (std::uint32_t i = 0; i < chain.size(); ++i) {
      gpu_of_.push_back(g);
      double least = kInfinity;
      for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) least = std::min(least, chain.time_s[s]);
      least_time_.push_back(least);
      sum += least;
    }
  }
  const std::size_t n = net.row.size();
  step_of_.assign(n, kNone);
  column_.assign(n, 0);
  for (auto* v : {&chain_price_, &pack_price_}) v->assign(n, 0.0);
  wait_price_.assign(net.waits.size(), 0.0);
  quantum_s_ = std::max(0.02 * sum / static_cast<double>(std::max<std::size_t>(n, 1)), 1e-12);
}

void Beam::set_prices(std::span<const double> prices, double deadline_s) {
  deadline_s_ = deadline_s;
  for (std::uint32_t w = 0; w < net_.waits.size(); ++w) wait_price_[w] = prices[net_.waits[w].arc];
  for (std::uint32_t g = 0; g < chains_.size(); ++g) {
    const ClockChain& chain = chains_[g];
    const std::uint32_t row = net_.row_begin[g];
    const double idle = problem_.gpus[g].idle_power_w;
    for (std::uint32_t i = 0; i < chain.size(); ++i) {
      pack_price_[row + i] = prices[net_.pack_arc[row + i]];
      chain_price_[row + i] = prices[net_.switch_arc[row + i]];
      for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) {
        cost_[g][s] = chain.energy_j[s] + (pack_price_[row + i] - idle) * chain.time_s[s];
        run_cost_[g][s] = cost_[g][s] + (chain.before[s] == kNoIndex ? 0.0 : run_cost_[g][chain.before[s]]);
      }
      change_[g][i] = chain.switching.energy_j + chain_price_[row + i] * chain.switching.time_s;
    }
  }
}

// Exact costs to go within the window: free_ after a pack whose run is long enough, begin_ of a run that begins here.
void Beam::value_range(std::uint32_t gpu, const Range& range) {
  const ClockChain& chain = chains_[gpu];
  const std::vector<double>& cost = cost_[gpu];
  const std::vector<double>& run = run_cost_[gpu];
  std::vector<double>& free = free_[gpu];
  std::vector<double>& begin = begin_[gpu];
  const bool runs = chain.switching.min_run_s > 0;
  double hub = kInfinity;
  for (std::uint32_t i = range.to; i-- > range.from;) {
    double least = kInfinity;
    for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) {
      const std::uint32_t a = chain.after[s];
      if (i + 1 < range.to) {
        free[s] = std::min(a == kNoIndex ? kInfinity : cost[a] + free[a], change_[gpu][i + 1] + hub);
      } else if (range.next_slot == kNoIndex || a == range.next_slot) {
        free[s] = 0;
      } else {
        free[s] = range.next_long_enough ? change_[gpu][i + 1] : kInfinity;
      }
      begin[s] = cost[s] + free[s];
      if (!runs) {
        least = std::min(least, begin[s]);
        continue;
      }
      begin[s] = kInfinity;
      const std::uint32_t e = chain.run_end[s];
      if (e != kNoIndex && chain.position[e] < range.to) {
        begin[s] = run[e] - run[s] + cost[s] + free[e];
      } else {
        // The run goes on beyond the window, at the clock that is there; or is all there is.
        std::uint32_t end = s;
        while (chain.after[end] != kNoIndex && chain.position[end] + 1 < range.to) end = chain.after[end];
        if (chain.position[end] + 1 == range.to) {
          const bool joins = range.next_slot != kNoIndex && chain.after[end] == range.next_slot;
          const bool reaches = e != kNoIndex && chain.position[e] <= range.next_run_end;
          const bool alone = i == 0 && (range.next_slot == kNoIndex || (joins && range.next_run_end + 1 == chain.size()));
          if ((joins && reaches) || alone) begin[s] = run[end] - run[s] + cost[s];
        }
      }
      least = std::min(least, begin[s]);
    }
    hub = least;
    const auto from = ranked_[gpu].begin() + chain.first[i];
    const auto to = ranked_[gpu].begin() + chain.first[i + 1];
    std::iota(from, to, chain.first[i]);
    const auto few = std::min<std::ptrdiff_t>(to - from, kTargets + 4);
    std::partial_sort(from, from + few, to, [&](std::uint32_t a, std::uint32_t b) {
      return begin[a] != begin[b] ? begin[a] < begin[b] : a < b;
    });
  }
}

// The end of a pack stays known as long as a pack to come in the window waits for it.
void Beam::assign_columns() {
  const auto n = static_cast<std::uint32_t>(order_.size());
  std::vector<std::uint32_t> last_use(n, 0);  // by step
  for (std::uint32_t step = 0; step < n; ++step) {
    const std::uint32_t i = order_[step];
    const Range& range = ranges_[gpu_of_[i]];
    const std::uint32_t at = i - net_.row_begin[gpu_of_[i]];
    last_use[step] = at + 1 < range.to ? step_of_[i + 1] : n;
    for (std::uint32_t e = in_begin_[step]; e < in_begin_[step + 1]; ++e)
      if (in_[e].inside) last_use[step_of_[in_[e].from]] = std::max(last_use[step_of_[in_[e].from]], step);
  }
  live_.assign(n, {});
  columns_ = 0;
  std::vector<std::uint32_t> spare;
  std::vector<std::uint32_t> living;  // steps
  for (std::uint32_t step = 0; step < n; ++step) {
    std::erase_if(living, [&](std::uint32_t s) {
      if (last_use[s] > step) return false;
      spare.push_back(column_[order_[s]]);  // may be overwritten by this step: it reads from the layer before
      return true;
    });
    if (spare.empty()) spare.push_back(columns_++);
    column_[order_[step]] = spare.back();
    spare.pop_back();
    living.push_back(step);
    for (const std::uint32_t s : living) live_[step].push_back(column_[order_[s]]);
  }
}

// What each step of the window waits for, and what time is worth to the packs behind it.
void Beam::list_ins(const Schedule* schedule) {
  const auto n = static_cast<std::uint32_t>(order_.size());
  in_begin_.assign(1, 0);
  in_.clear();
  exit_price_.assign(n, 0.0);
  for (std::uint32_t step = 0; step < n; ++step) step_of_[order_[step]] = step;
  // Waits are in ascending order of their pack, so those of a pack lie together.
  for (const std::uint32_t i : order_) {
    auto w = std::ranges::lower_bound(net_.waits, i, {}, &Network::Wait::to);
    for (; w != net_.waits.end() && w->to == i; ++w) {
      const bool inside = step_of_[w->from] != kNone;
      in_.push_back({net_.arcs[w->arc].lag_s, wait_price_[static_cast<std::size_t>(w - net_.waits.begin())],
                     inside || schedule == nullptr ? 0.0 : (*schedule)[w->from].early_end_s, w->from, inside});
    }
    in_begin_.push_back(static_cast<std::uint32_t>(in_.size()));
  }
  for (std::uint32_t step = 0; step < n; ++step) {
    const std::uint32_t i = order_[step];
    const std::uint32_t g = gpu_of_[i];
    const std::uint32_t at = i - net_.row_begin[g];
    if (at + 1 == ranges_[g].to)
      exit_price_[step] += chain_price_[at + 1 == chains_[g].size() ? net_.row_begin[g] : i + 1];
    if (schedule == nullptr) continue;
    for (const std::uint32_t w : schedule->out_of(i))
      if (step_of_[net_.waits[w].to] == kNone) exit_price_[step] += wait_price_[w];
  }
}

// Latest ends that leave what follows enough time, what follows in the window being as fast as can be.
void Beam::limit_ends(const Schedule& schedule) {
  latest_.assign(order_.size(), 0.0);
  for (auto step = static_cast<std::uint32_t>(order_.size()); step-- > 0;) {
    const std::uint32_t i = order_[step];
    const std::uint32_t g = gpu_of_[i];
    const std::uint32_t at = i - net_.row_begin[g];
    double latest = ranges_[g].due_next_s;
    if (at + 1 < ranges_[g].to) latest = latest_[step_of_[i + 1]] - least_time_[i + 1];
    for (const std::uint32_t w : schedule.out_of(i)) {
      const std::uint32_t to = net_.waits[w].to;
      const double start = step_of_[to] == kNone ? schedule[to].late_start_s : latest_[step_of_[to]] - least_time_[to];
      latest = std::min(latest, start - net_.arcs[net_.waits[w].arc].lag_s);
    }
    latest_[step] = latest;
  }
}

void Beam::expand(std::uint32_t step, std::uint32_t width) {
  const std::uint32_t i = order_[step];
  const std::uint32_t g = gpu_of_[i];
  const ClockChain& chain = chains_[g];
  const Range& range = ranges_[g];
  const std::uint32_t at = i - net_.row_begin[g];
  const auto gpus = static_cast<std::uint32_t>(chains_.size());
  const std::uint32_t* ranked = ranked_[g].data() + chain.first[at];
  const std::uint32_t options = chain.first[at + 1] - chain.first[at];
  const double tau = chain.switching.time_s;
  const bool opens = at == range.from;
  const double latest = latest_[step] + kSlip * deadline_s_;
  const bool ends_window = at + 1 == range.to && range.next_slot != kNoIndex;
  candidates_.clear();
  const double left = std::max(1 - progress_[step], 0.02);
  const double steep = bend_ > 0 ? 0.5 * bend_ / left / std::max(weight_sum_[step] * weight_sum_[step], 1e-300) : 0;
  const double due = due_[step];
  const double due_before = opens ? 0.0 : due_[step_of_[i - 1]];
  const std::uint32_t incumbent = incumbent_[step];
  const auto add = [&](std::uint32_t w, std::uint32_t slot, double value, double start, double own, bool changes) {
    const State& state = now_.states[w];
    const double end = start + chain.time_s[slot];
    const bool keep = w == incumbent_state_ && slot == incumbent;
    if (!keep) {
      if (end > latest || value == kInfinity) return;
      if (ends_window && chain.after[slot] != range.next_slot && end + tau > latest) return;
    }
    Candidate c{value, value, state.late, state.spread, end, w, slot, changes};
    if (bend_ > 0 || each_ > 0) {
      c.late += pack_price_[i] * (end - due);
      c.spread += (end - due) * (end - due);
      if (!opens) {
        c.late -= pack_price_[i - 1] * (own - due_before);
        c.spread -= (own - due_before) * (own - due_before);
      }
      c.rank += steep * c.late * c.late + 0.5 * each_ * c.spread;
    }
    if (keep) c.rank = -kInfinity;
    candidates_.push_back(c);
  };
  double weight = at > 0 ? chain_price_[i] : 0.0;
  for (std::uint32_t e = in_begin_[step]; e < in_begin_[step + 1]; ++e) weight += in_[e].price;
  for (std::uint32_t w = 0; w < now_.states.size(); ++w) {
    const double* ends = now_.ends.data() + std::size_t{w} * columns_;
    const double value = now_.states[w].value;
    double others = 0;
    double paid = 0;
    for (std::uint32_t e = in_begin_[step]; e < in_begin_[step + 1]; ++e) {
      const double end = (in_[e].inside ? ends[column_[in_[e].from]] : in_[e].end_s) + in_[e].lag_s;
      others = std::max(others, end);
      paid += in_[e].price * end;
    }
    const bool may_keep = w == incumbent_state_ && incumbent != kNone;
    if (at == 0) {
      const double base = value + others * weight - paid - begin_[g][ranked[0]];
      bool kept = false;
      for (std::uint32_t k = 0; k < std::min(options, kTargets + 4); ++k) {
        add(w, ranked[k], base + begin_[g][ranked[k]], others, 0, false);
        kept = kept || ranked[k] == incumbent;
      }
      if (may_keep && !kept) add(w, incumbent, base + begin_[g][incumbent], others, 0, false);
      continue;
    }
    const double own = opens ? range.end_s : ends[column_[i - 1]];
    const std::uint32_t slot = now_.slots[std::size_t{w} * gpus + g];
    const std::uint32_t same = chain.after[slot];
    const std::uint32_t commit = now_.commit[std::size_t{w} * gpus + g];
    // What the state was thought to cost from here; at the opening the same for all states.
    const double to_go = opens ? 0.0 : free_[g][slot];
    if (same != kNoIndex) {
      const double start = std::max(own, others);
      const double cost = opens || at > commit ? cost_[g][same] + free_[g][same] - to_go : 0.0;
      add(w, same, value + start * weight - paid - chain_price_[i] * own + cost, start, own, false);
    }
    const bool held = at <= commit;
    if (held && !may_keep) continue;
    const double start = std::max(own + tau, others);
    const double base = value + start * weight - paid - chain_price_[i] * (own + tau) + change_[g][at] - to_go;
    bool kept = same == incumbent;
    for (std::uint32_t k = 0, taken = 0; k < std::min(options, kTargets + 4) && taken < kTargets && !held; ++k) {
      if (ranked[k] == same) continue;
      add(w, ranked[k], base + begin_[g][ranked[k]], start, own, true);
      kept = kept || ranked[k] == incumbent;
      ++taken;
    }
    if (may_keep && !kept) add(w, incumbent, base + begin_[g][incumbent], start, own, true);
  }
  const auto less = [](const Candidate& a, const Candidate& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    return a.state != b.state ? a.state < b.state : a.slot < b.slot;
  };
  const std::size_t keep = std::min<std::size_t>(candidates_.size(), std::size_t{width} * 3);
  if (keep < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(keep), candidates_.end(), less);
    candidates_.resize(keep);
  }
  std::ranges::sort(candidates_, less);
}

void Beam::select(std::uint32_t step, std::uint32_t width) {
  const std::uint32_t i = order_[step];
  const std::uint32_t g = gpu_of_[i];
  const ClockChain& chain = chains_[g];
  const std::uint32_t at = i - net_.row_begin[g];
  const auto gpus = static_cast<std::uint32_t>(chains_.size());
  next_.states.clear();
  next_.ends.resize(std::size_t{width} * columns_);
  next_.slots.resize(std::size_t{width} * gpus);
  next_.commit.resize(std::size_t{width} * gpus);
  std::size_t places = 64;
  while (places < std::size_t{width} * 4) places *= 2;
  table_.assign(places, 0);
  const std::uint32_t old_incumbent = incumbent_state_;
  incumbent_state_ = kNone;
  const double inverse = 1 / quantum_s_;
  for (const Candidate& c : candidates_) {
    if (next_.states.size() == width) break;
    const auto w = static_cast<std::uint32_t>(next_.states.size());
    double* ends = next_.ends.data() + std::size_t{w} * columns_;
    std::copy_n(now_.ends.data() + std::size_t{c.state} * columns_, columns_, ends);
    ends[column_[i]] = c.end_s;
    std::uint32_t* slots = next_.slots.data() + std::size_t{w} * gpus;
    std::uint32_t* commit = next_.commit.data() + std::size_t{w} * gpus;
    std::copy_n(now_.slots.data() + std::size_t{c.state} * gpus, gpus, slots);
    std::copy_n(now_.commit.data() + std::size_t{c.state} * gpus, gpus, commit);
    slots[g] = c.slot;
    if (at == 0 || c.changes) {
      const std::uint32_t e = chain.switching.min_run_s > 0 ? chain.run_end[c.slot] : c.slot;
      commit[g] = e == kNoIndex ? kNone - 1 : chain.position[e];
    }
    std::uint64_t key = 0x9E3779B97F4A7C15ULL;
    const auto mix = [&](std::uint64_t x) {
      key = (key ^ x) * 0xBF58476D1CE4E5B9ULL;
      key ^= key >> 29U;
    };
    for (std::uint32_t h = 0; h < gpus; ++h) mix(slots[h] + (std::uint64_t{commit[h]} << 32U));
    for (const std::uint32_t column : live_[step]) mix(static_cast<std::uint64_t>(ends[column] * inverse));
    key |= 1U;
    std::size_t place = (key >> 1U) & (places - 1);
    while (table_[place] != 0 && table_[place] != key) place = (place + 1) & (places - 1);
    if (table_[place] == key) continue;
    table_[place] = key;
    if (c.state == old_incumbent && c.slot == incumbent_[step]) incumbent_state_ = w;
    next_.states.push_back({c.value, c.late, c.spread, now_.states[c.state].exits + exit_price_[step] * c.end_s,
                            static_cast<std::uint32_t>(nodes_.size())});
    nodes_.push_back({now_.states[c.state].node, c.slot});
  }
  std::swap(now_, next_);
}

void Beam::search(std::uint32_t width) {
  const auto gpus = static_cast<std::uint32_t>(chains_.size());
  assign_columns();
  nodes_.assign(1, {kNone, 0});
  now_.states.assign(1, {});
  now_.ends.assign(columns_, 0.0);
  now_.slots.assign(gpus, kNone);
  now_.commit.assign(gpus, 0);
  for (std::uint32_t g = 0; g < gpus; ++g) {
    now_.slots[g] = ranges_[g].slot;
    now_.commit[g] = ranges_[g].commit;
  }
  incumbent_state_ = 0;
  for (std::uint32_t step = 0; step < order_.size() && !now_.states.empty(); ++step) {
    expand(step, width);
    select(step, width);
  }
}

void Beam::write(std::uint32_t node, Choice& choice) const {
  for (auto step = static_cast<std::uint32_t>(order_.size()); step-- > 0; node = nodes_[node].before) {
    const std::uint32_t i = order_[step];
    choice[net_.row[i]] = chains_[gpu_of_[i]].option[nodes_[node].slot];
  }
}

std::uint32_t Beam::slot_of(const Choice& choice, std::uint32_t i) const {
  const ClockChain& chain = chains_[gpu_of_[i]];
  const std::uint32_t at = i - net_.row_begin[gpu_of_[i]];
  std::uint32_t s = chain.first[at];
  while (chain.option[s] != choice[net_.row[i]]) ++s;
  return s;
}

Choice Beam::build(const Guide& guide, std::uint32_t width) {
  const auto n = static_cast<std::uint32_t>(net_.row.size());
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0U);
  std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    return guide.start_s[a] != guide.start_s[b] ? guide.start_s[a] < guide.start_s[b] : net_.row[a] < net_.row[b];
  });
  for (std::uint32_t g = 0; g < chains_.size(); ++g) {
    ranges_[g] = Range{};
    ranges_[g].to = static_cast<std::uint32_t>(chains_[g].size());
    value_range(g, ranges_[g]);
  }
  list_ins(nullptr);
  latest_.assign(n, kInfinity);
  incumbent_.assign(n, kNone);
  bend_ = guide.bend;
  each_ = guide.each;
  due_.resize(n);
  progress_.resize(n);
  weight_sum_.resize(n);
  std::vector<double> last(chains_.size(), 0.0);
  for (std::uint32_t step = 0; step < n; ++step) {
    const std::uint32_t i = order_[step];
    due_[step] = guide.end_s[i];
    progress_[step] = guide.start_s[i] / deadline_s_;
    last[gpu_of_[i]] = pack_price_[i];
    weight_sum_[step] = std::accumulate(last.begin(), last.end(), 0.0);
  }
  search(width);
  std::ranges::fill(step_of_, kNone);

  Choice best(problem_.packs.size(), 0);
  double best_value = kInfinity;
  double best_late = kInfinity;
  for (const State& state : now_.states) {
    // The makespan of a complete plan, and its cost without what the deadline's price adds.
    const auto w = static_cast<std::size_t>(&state - now_.states.data());
    double time = 0;
    double price = 0;
    for (std::uint32_t g = 0; g < chains_.size(); ++g) {
      if (chains_[g].size() == 0) continue;
      time = std::max(time, now_.ends[w * columns_ + column_[net_.row_begin[g + 1] - 1]]);
      price += chain_price_[net_.row_begin[g]];
    }
    const double late = std::max(time - latest_end(deadline_s_), 0.0);
    const double value = state.value - state.exits + (late > 0 ? price : net_.idle_w) * time;
    if (late > 0 && best_late == 0) continue;
    if ((late == 0 && best_late > 0) || value < best_value) {
      best_value = value;
      best_late = late;
      write(state.node, best);
    }
  }
  return best;
}

bool Beam::improve(Choice& choice, const Schedule& schedule, const Window& window) {
  order_.clear();
  for (std::uint32_t g = 0; g < chains_.size(); ++g) {
    const ClockChain& chain = chains_[g];
    const std::uint32_t row = net_.row_begin[g];
    const auto n = static_cast<std::uint32_t>(chain.size());
    Range& r = ranges_[g];
    r = Range{};
    const auto starts = std::views::iota(0U, n);
    const auto start_of = [&](std::uint32_t at) { return schedule[row + at].early_start_s; };
    r.from = static_cast<std::uint32_t>(std::ranges::lower_bound(starts, window.from_s, {}, start_of) - starts.begin());
    r.to = static_cast<std::uint32_t>(std::ranges::lower_bound(starts, window.to_s, {}, start_of) - starts.begin());
    r.due_next_s = latest_end(deadline_s_);
    if (r.from == r.to) continue;
    for (std::uint32_t at = r.from; at < r.to; ++at) order_.push_back(row + at);
    if (r.from > 0) {
      r.slot = slot_of(choice, row + r.from - 1);
      r.end_s = schedule[row + r.from - 1].early_end_s;
      std::uint32_t s = r.slot;
      while (chain.position[s] > 0 && !schedule[row + chain.position[s]].changes) s = chain.before[s];
      const std::uint32_t e = chain.switching.min_run_s > 0 ? chain.run_end[s] : s;
      r.commit = e == kNoIndex ? n : chain.position[e];
    }
    if (r.to < n) {
      r.next_slot = slot_of(choice, row + r.to);
      r.next_run_end = r.to;
      while (r.next_run_end + 1 < n && !schedule[row + r.next_run_end + 1].changes) ++r.next_run_end;
      const std::uint32_t e = chain.switching.min_run_s > 0 ? chain.run_end[r.next_slot] : r.next_slot;
      r.next_long_enough = e != kNoIndex && chain.position[e] <= r.next_run_end;
      r.due_next_s = schedule[row + r.to].late_start_s;
    }
    value_range(g, r);
  }
  if (order_.empty()) return false;
  std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    const double x = schedule[a].early_start_s;
    const double y = schedule[b].early_start_s;
    return x != y ? x < y : net_.row[a] < net_.row[b];
  });
  list_ins(&schedule);
  limit_ends(schedule);
  const std::size_t n = order_.size();
  incumbent_.resize(n);
  for (std::size_t step = 0; step < n; ++step) incumbent_[step] = slot_of(choice, order_[step]);
  bend_ = each_ = 0;
  due_.assign(n, 0.0);
  progress_.assign(n, 0.0);
  weight_sum_.assign(n, 0.0);
  search(window.width);
  for (const std::uint32_t i : order_) step_of_[i] = kNone;

  const State* best = nullptr;
  const auto value = [&](const State& s) { return s.value - (1 - window.price_scale) * s.exits; };
  for (const State& s : now_.states)
    if (best == nullptr || value(s) < value(*best)) best = &s;
  if (best == nullptr || incumbent_state_ == kNone) return false;
  if (value(*best) >= value(now_.states[incumbent_state_]) - 1e-9) return false;
  write(best->node, choice);
  return true;
}

}  // namespace ergon::plan
