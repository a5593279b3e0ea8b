// Beam search over the clocks of all GPUs in the order of time.
#include "repair_beam.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evaluate.hpp"

namespace ergon::plan {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNever = ~std::uint32_t{0};
}  // namespace

Beam::Beam(const Problem& problem, const Network& net) : problem_(problem), net_(net) {
  const auto gpus = static_cast<std::uint32_t>(problem.gpus.size());
  for (std::uint32_t g = 0; g < gpus; ++g) chains_.push_back(make_clock_chain(problem, g));
  for (auto* v : {&cost_, &free_, &begin_, &run_cost_, &change_}) v->resize(gpus);
  ranked_.resize(gpus);
  for (std::uint32_t g = 0; g < gpus; ++g) {
    for (auto* v : {&cost_, &free_, &begin_, &run_cost_}) (*v)[g].resize(chains_[g].slots());
    ranked_[g].resize(chains_[g].slots());
    change_[g].resize(chains_[g].size());
    for (std::uint32_t i = net.row_begin[g]; i < net.row_begin[g + 1]; ++i) gpu_of_.push_back(g);
  }
}

// Exact costs to go of one GPU: free_ after a pack whose run is long enough, begin_ of a run that begins here.
void Beam::value_chain(std::uint32_t gpu, std::span<const double> prices) {
  const ClockChain& chain = chains_[gpu];
  const std::uint32_t row = net_.row_begin[gpu];
  const double idle = problem_.gpus[gpu].idle_power_w;
  std::vector<double>& cost = cost_[gpu];
  std::vector<double>& free = free_[gpu];
  std::vector<double>& begin = begin_[gpu];
  std::vector<double>& run = run_cost_[gpu];
  for (std::uint32_t i = 0; i < chain.size(); ++i) {
    const double price = prices[net_.pack_arc[row + i]] - idle;
    for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) {
      cost[s] = chain.energy_j[s] + price * chain.time_s[s];
      run[s] = cost[s] + (chain.before[s] == kNoIndex ? 0.0 : run[chain.before[s]]);
    }
    change_[gpu][i] = chain.switching.energy_j + prices[net_.switch_arc[row + i]] * chain.switching.time_s;
  }
  const bool runs = chain.switching.min_run_s > 0;
  double hub = kInfinity;
  for (auto i = static_cast<std::uint32_t>(chain.size()); i-- > 0;) {
    const bool last = i + 1 == chain.size();
    double least = kInfinity;
    for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) {
      const std::uint32_t a = chain.after[s];
      free[s] = last ? 0.0 : std::min(a == kNoIndex ? kInfinity : cost[a] + free[a], change_[gpu][i + 1] + hub);
      const std::uint32_t e = runs ? chain.run_end[s] : s;
      begin[s] = e == kNoIndex ? kInfinity : run[e] - run[s] + cost[s] + free[e];
      least = std::min(least, begin[s]);
    }
    if (i == 0 && runs) {
      // One clock throughout needs no least length.
      for (std::uint32_t s = chain.first[0]; s < chain.first[1]; ++s) {
        std::uint32_t e = s;
        while (chain.after[e] != kNoIndex) e = chain.after[e];
        if (chain.position[e] + 1 == chain.size()) begin[s] = std::min(begin[s], run[e]);
      }
    }
    hub = least;
    const auto from = ranked_[gpu].begin() + chain.first[i];
    const auto to = ranked_[gpu].begin() + chain.first[i + 1];
    std::iota(from, to, chain.first[i]);
    std::sort(from, to, [&](std::uint32_t a, std::uint32_t b) { return begin[a] != begin[b] ? begin[a] < begin[b] : a < b; });
  }
}

void Beam::prepare(std::span<const double> prices, std::span<const double> start_s, std::span<const double> end_s, double deadline_s, double bend) {
  deadline_s_ = deadline_s;
  bend_ = bend;
  due_.assign(end_s.begin(), end_s.end());
  begin_s_.assign(start_s.begin(), start_s.end());
  weight_.resize(net_.row.size());
  for (std::size_t i = 0; i < weight_.size(); ++i) weight_[i] = prices[net_.pack_arc[i]];
  for (std::uint32_t g = 0; g < chains_.size(); ++g) value_chain(g, prices);
  const auto n = static_cast<std::uint32_t>(net_.row.size());
  chain_price_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) chain_price_[i] = prices[net_.switch_arc[i]];
  in_begin_.assign(n + 1, 0);
  in_.clear();
  std::size_t w = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    for (; w < net_.waits.size() && net_.waits[w].to == i; ++w) {
      const Network::Wait& wait = net_.waits[w];
      in_.push_back({wait.from, 0, net_.arcs[wait.arc].lag_s, prices[wait.arc]});
    }
    in_begin_[i + 1] = static_cast<std::uint32_t>(in_.size());
  }
  end_price_ = -net_.idle_w;
  for (std::uint32_t a = 0; a < net_.arcs.size(); ++a)
    if (net_.arcs[a].head == Network::kEnd) end_price_ += prices[a];
  last_price_.assign(chains_.size(), 0.0);
  for (std::uint32_t g = 0; g < chains_.size(); ++g)
    if (chains_[g].size() > 0) last_price_[g] = prices[net_.switch_arc[net_.row_begin[g]]];

  order_.resize(n);
  std::iota(order_.begin(), order_.end(), 0U);
  std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    return start_s[a] != start_s[b] ? start_s[a] < start_s[b] : net_.row[a] < net_.row[b];
  });
  assign_columns();
  // Sum of the weights of the latest packs of all GPUs after each step.
  total_.resize(n);
  std::vector<double> last(chains_.size(), 0.0);
  for (std::uint32_t step = 0; step < n; ++step) {
    last[gpu_of_[order_[step]]] = weight_[order_[step]];
    total_[step] = std::accumulate(last.begin(), last.end(), 0.0);
  }
}

// The end of a pack stays known as long as a pack to come waits for it.
void Beam::assign_columns() {
  const auto n = static_cast<std::uint32_t>(order_.size());
  std::vector<std::uint32_t> step_of(n);
  for (std::uint32_t step = 0; step < n; ++step) step_of[order_[step]] = step;
  last_use_.assign(n, 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t g = gpu_of_[i];
    last_use_[i] = i + 1 < net_.row_begin[g + 1] ? step_of[i + 1] : n;
  }
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t e = in_begin_[i]; e < in_begin_[i + 1]; ++e)
      last_use_[in_[e].from] = std::max(last_use_[in_[e].from], step_of[i]);
  column_.assign(n, 0);
  live_.assign(n, {});
  columns_ = 0;
  std::vector<std::uint32_t> spare;
  std::vector<std::uint32_t> living;  // indices into row
  for (std::uint32_t step = 0; step < n; ++step) {
    const std::uint32_t i = order_[step];
    std::erase_if(living, [&](std::uint32_t j) {
      if (last_use_[j] > step) return false;
      freed_.push_back(column_[j]);
      return true;
    });
    // A column freed by this step may be overwritten by it: reads come first.
    spare.insert(spare.end(), freed_.begin(), freed_.end());
    freed_.clear();
    if (spare.empty()) spare.push_back(columns_++);
    column_[i] = spare.back();
    spare.pop_back();
    living.push_back(i);
    for (const std::uint32_t j : living) live_[step].push_back(column_[j]);
  }
  for (In& in : in_) in.column = column_[in.from];
}

void Beam::expand(std::uint32_t step, std::uint32_t width) {
  const std::uint32_t i = order_[step];
  const std::uint32_t g = gpu_of_[i];
  const ClockChain& chain = chains_[g];
  const std::uint32_t at = i - net_.row_begin[g];
  const auto gpus = static_cast<std::uint32_t>(chains_.size());
  const std::uint32_t* ranked = ranked_[g].data() + chain.first[at];
  const std::uint32_t options = chain.first[at + 1] - chain.first[at];
  const double tau = chain.switching.time_s;
  candidates_.clear();
  const double left = std::max(1 - begin_s_[i] / deadline_s_, 0.02);
  const double steep = 0.5 * bend_ / left / std::max(total_[step] * total_[step], 1e-300);
  const auto add = [&](std::uint32_t w, std::uint32_t slot, double value, double start, bool changes) {
    const double* ends = now_.ends.data() + std::size_t{w} * columns_;
    double late = now_.late[w] + weight_[i] * (start + chain.time_s[slot] - due_[i]);
    if (at > 0) late -= weight_[i - 1] * (ends[column_[i - 1]] - due_[i - 1]);
    const double dev = start + chain.time_s[slot] - due_[i];
    double spread = now_.spread[w] + dev * dev;
    if (at > 0) spread -= (ends[column_[i - 1]] - due_[i - 1]) * (ends[column_[i - 1]] - due_[i - 1]);
    candidates_.push_back({value + steep * late * late + 0.5 * each_ * spread, value, late, spread, w, slot, changes});
  };
  double weight = chain_price_[i];
  for (std::uint32_t e = in_begin_[i]; e < in_begin_[i + 1]; ++e) weight += in_[e].price;
  if (at == 0) weight -= chain_price_[i];
  for (std::uint32_t w = 0; w < now_.value.size(); ++w) {
    const double* ends = now_.ends.data() + std::size_t{w} * columns_;
    double others = 0;
    double paid = 0;
    for (std::uint32_t e = in_begin_[i]; e < in_begin_[i + 1]; ++e) {
      const double end = ends[in_[e].column] + in_[e].lag_s;
      others = std::max(others, end);
      paid += in_[e].price * end;
    }
    if (at == 0) {
      const double base = now_.value[w] + others * weight - paid - begin_[g][ranked[0]];
      for (std::uint32_t k = 0; k < std::min(options, 12U); ++k)
        add(w, ranked[k], base + begin_[g][ranked[k]], others, false);
      continue;
    }
    const double own = ends[column_[i - 1]];
    const std::uint32_t slot = now_.slots[std::size_t{w} * gpus + g];
    const std::uint32_t same = chain.after[slot];
    const std::uint32_t commit = now_.commit[std::size_t{w} * gpus + g];
    const double to_go = free_[g][slot];
    if (same != kNoIndex) {
      const double start = std::max(own, others);
      const double reduced = at <= commit ? 0.0 : cost_[g][same] + free_[g][same] - to_go;
      add(w, same, now_.value[w] + start * weight - paid - chain_price_[i] * own + reduced, start, false);
    }
    if (at <= commit) continue;
    const double start = std::max(own + tau, others);
    const double base = now_.value[w] + start * weight - paid - chain_price_[i] * (own + tau) + change_[g][at] - to_go;
    for (std::uint32_t k = 0, taken = 0; k < options && taken < 8; ++k) {
      if (ranked[k] == same) continue;
      if (begin_[g][ranked[k]] == kInfinity) break;
      add(w, ranked[k], base + begin_[g][ranked[k]], start, true);
      ++taken;
    }
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

void Beam::select(std::uint32_t step, std::uint32_t width, double quantum_s) {
  const std::uint32_t i = order_[step];
  const std::uint32_t g = gpu_of_[i];
  const ClockChain& chain = chains_[g];
  const std::uint32_t at = i - net_.row_begin[g];
  const auto gpus = static_cast<std::uint32_t>(chains_.size());
  const double tau = chain.switching.time_s;
  const std::vector<std::uint32_t>& live = live_[step];
  next_.ends.resize(std::size_t{width} * columns_);
  next_.slots.resize(std::size_t{width} * gpus);
  next_.commit.resize(std::size_t{width} * gpus);
  next_.value.clear();
  next_.late.clear();
  next_.spread.clear();
  next_.node.clear();
  std::size_t slots = 64;
  while (slots < std::size_t{width} * 4) slots *= 2;
  table_.assign(slots, 0);
  for (const Candidate& c : candidates_) {
    if (next_.value.size() == width) break;
    const auto w = static_cast<std::uint32_t>(next_.value.size());
    double* ends = next_.ends.data() + std::size_t{w} * columns_;
    const double* old = now_.ends.data() + std::size_t{c.state} * columns_;
    std::copy_n(old, columns_, ends);
    double start = at == 0 ? 0.0 : old[column_[i - 1]] + (c.changes ? tau : 0.0);
    for (std::uint32_t e = in_begin_[i]; e < in_begin_[i + 1]; ++e)
      start = std::max(start, old[in_[e].column] + in_[e].lag_s);
    ends[column_[i]] = start + chain.time_s[c.slot];
    std::uint32_t* clocks = next_.slots.data() + std::size_t{w} * gpus;
    std::uint32_t* commit = next_.commit.data() + std::size_t{w} * gpus;
    std::copy_n(now_.slots.data() + std::size_t{c.state} * gpus, gpus, clocks);
    std::copy_n(now_.commit.data() + std::size_t{c.state} * gpus, gpus, commit);
    clocks[g] = c.slot;
    if (at == 0 || c.changes) {
      const std::uint32_t e = chain.switching.min_run_s > 0 ? chain.run_end[c.slot] : c.slot;
      commit[g] = e == kNoIndex ? kNever - 1 : chain.position[e];
    }
    std::uint64_t key = 0x9E3779B97F4A7C15ULL;
    const auto mix = [&](std::uint64_t x) {
      key = (key ^ x) * 0xBF58476D1CE4E5B9ULL;
      key ^= key >> 29U;
    };
    for (std::uint32_t h = 0; h < gpus; ++h) mix(clocks[h] + (std::uint64_t{commit[h]} << 32U));
    for (const std::uint32_t column : live) mix(static_cast<std::uint64_t>(ends[column] / quantum_s));
    key |= 1U;
    std::size_t place = key & (slots - 1);
    while (table_[place] != 0 && table_[place] != key) place = (place + 1) & (slots - 1);
    if (table_[place] == key) continue;
    table_[place] = key;
    next_.value.push_back(c.value);
    next_.late.push_back(c.late);
    next_.spread.push_back(c.spread);
    next_.node.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back({now_.node[c.state], c.slot});
  }
  std::swap(now_, next_);
}

Beam::Found Beam::run(std::uint32_t width, double quantum_s) {
  const auto gpus = static_cast<std::uint32_t>(chains_.size());
  nodes_.clear();
  nodes_.push_back({kNever, 0});
  now_.ends.assign(columns_, 0.0);
  now_.slots.assign(gpus, kNever);
  now_.commit.assign(gpus, 0);
  now_.value.assign(1, 0.0);
  now_.late.assign(1, 0.0);
  now_.spread.assign(1, 0.0);
  now_.node.assign(1, 0);
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    expand(step, width);
    select(step, width, quantum_s);
  }
  return finish();
}

Beam::Found Beam::finish() {
  const auto gpus = static_cast<std::uint32_t>(chains_.size());
  std::vector<std::pair<double, std::uint32_t>> good;
  std::pair<double, std::uint32_t> fastest = {kInfinity, 0};
  for (std::uint32_t w = 0; w < now_.value.size(); ++w) {
    const double* ends = now_.ends.data() + std::size_t{w} * columns_;
    double time = 0;
    double value = now_.value[w];
    for (std::uint32_t g = 0; g < gpus; ++g) {
      if (chains_[g].size() == 0) continue;
      const double end = ends[column_[net_.row_begin[g + 1] - 1]];
      time = std::max(time, end);
      value -= last_price_[g] * end;
    }
    value += std::accumulate(last_price_.begin(), last_price_.end(), 0.0) * time + end_price_ * (deadline_s_ - time);
    fastest = std::min(fastest, {time, w});
    if (time <= latest_end(deadline_s_)) good.emplace_back(value, w);
  }
  std::ranges::sort(good);
  Found found;
  const auto take = [&](std::uint32_t w) {
    Choice choice(problem_.packs.size(), 0);
    std::uint32_t node = now_.node[w];
    for (auto step = static_cast<std::uint32_t>(order_.size()); step-- > 0; node = nodes_[node].before) {
      const std::uint32_t i = order_[step];
      choice[net_.row[i]] = chains_[gpu_of_[i]].option[nodes_[node].slot];
    }
    const Evaluation value = evaluate(problem_, choice);
    const bool meets = value.runs_long_enough && value.time_s <= latest_end(deadline_s_);
    if (!found.any || (meets && (found.time_s > latest_end(deadline_s_) || value.energy_j < found.energy_j)))
      found = {std::move(choice), value.time_s, value.energy_j, true};
  };
  if (good.empty()) take(fastest.second);
  for (std::size_t k = 0; k < std::min<std::size_t>(good.size(), 8); ++k) take(good[k].second);
  return found;
}

}  // namespace ergon::plan
