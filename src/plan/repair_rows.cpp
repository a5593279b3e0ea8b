// One GPU refitted between the times of the others.
#include "repair_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluate.hpp"

namespace ergon::plan {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNone = ~std::uint32_t{0};
}  // namespace

RowRefit::RowRefit(const Problem& problem, const Network& net)
    : problem_(problem), net_(net), schedule_(problem, net) {
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g) chains_.push_back(make_clock_chain(problem, g));
  for (auto* v : {&release_, &due_, &pack_price_, &switch_price_}) v->assign(net.row.size(), 0.0);
  cost_.resize(chains_.size());
  free_.resize(chains_.size());
  hub_.resize(chains_.size());
}

void RowRefit::set_prices(std::span<const double> prices) {
  for (std::uint32_t i = 0; i < net_.row.size(); ++i) {
    pack_price_[i] = prices[net_.pack_arc[i]];
    switch_price_[i] = prices[net_.switch_arc[i]];
  }
  for (std::uint32_t g = 0; g < chains_.size(); ++g) {
    const ClockChain& chain = chains_[g];
    const std::uint32_t row = net_.row_begin[g];
    cost_[g].resize(chain.slots());
    free_[g].resize(chain.slots());
    hub_[g].assign(chain.size() + 1, 0.0);
    for (auto i = static_cast<std::uint32_t>(chain.size()); i-- > 0;) {
      double least = kInfinity;
      for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) {
        cost_[g][s] = chain.energy_j[s] + (pack_price_[row + i] - problem_.gpus[g].idle_power_w) * chain.time_s[s];
        const std::uint32_t a = chain.after[s];
        free_[g][s] = i + 1 == chain.size() ? 0.0
                                            : std::min(a == kNoIndex ? kInfinity : cost_[g][a] + free_[g][a], hub_[g][i + 1]);
        least = std::min(least, cost_[g][s] + free_[g][s]);
      }
      hub_[g][i] = least + chain.switching.energy_j + switch_price_[row + i] * chain.switching.time_s;
    }
  }
}

// The others run somewhere between their earliest and latest times; later in the step closer to the latest, so that the
// order between them holds.
void RowRefit::windows(std::uint32_t gpu, double deadline_s, const Effort& effort) {
  const auto shift = [&](double early) {
    const double x = std::clamp(early / deadline_s, 0.0, 1.0);
    // spread 0.5 is in proportion to time; 0 keeps all early, 1 all late.
    const double k = effort.spread;
    return k <= 0 ? 0.0 : k >= 1 ? 1.0 : std::pow(x, (1 - k) / k);
  };
  const double latest = latest_end(deadline_s);
  for (std::uint32_t i = net_.row_begin[gpu]; i < net_.row_begin[gpu + 1]; ++i) {
    double release = 0;
    double due = latest;
    for (const std::uint32_t e : schedule_.into(i)) {
      const Network::Wait& w = net_.waits[e];
      const Schedule::Times& t = schedule_[w.from];
      const double end = t.early_end_s + shift(t.early_start_s) * std::max(t.late_end_s - t.early_end_s, 0.0);
      release = std::max(release, end + net_.arcs[w.arc].lag_s);
    }
    for (const std::uint32_t e : schedule_.out_of(i)) {
      const Network::Wait& w = net_.waits[e];
      const Schedule::Times& t = schedule_[w.to];
      const double start = t.early_start_s + shift(t.early_start_s) * std::max(t.late_start_s - t.early_start_s, 0.0);
      due = std::min(due, start - net_.arcs[w.arc].lag_s);
    }
    release_[i] = release;
    due_[i] = due;
  }
}

// Sorts by time, drops what is beaten, then the labels whose loss costs least until `most` are left.
void RowRefit::thin(std::vector<Label>& labels, std::uint32_t most) {
  std::ranges::sort(labels, [](const Label& a, const Label& b) {
    return a.end_s != b.end_s ? a.end_s < b.end_s : a.cost_j < b.cost_j;
  });
  std::size_t kept = 0;
  for (const Label& l : labels) {
    if (kept > 0 && l.cost_j >= labels[kept - 1].cost_j - 1e-12) continue;
    labels[kept++] = l;
  }
  labels.resize(kept);
  if (kept <= most) return;
  // The first and the last stay; of the others one a stretch of time.
  const double from = labels.front().end_s;
  const double step = (labels.back().end_s - from) / (most - 1);
  std::size_t out = 1;
  double limit = from + step;
  for (std::size_t k = 1; k < kept; ++k) {
    const bool last = k + 1 == kept;
    if (last || labels[k + 1].end_s > limit) {
      labels[out++] = labels[k];
      while (labels[k].end_s > limit) limit += step;
      limit += step;
    }
  }
  labels.resize(out);
}

bool RowRefit::refit(std::uint32_t gpu, Choice& choice, double deadline_s, const Effort& effort) {
  const ClockChain& chain = chains_[gpu];
  const auto n = static_cast<std::uint32_t>(chain.size());
  if (n == 0) return false;
  const std::uint32_t row = net_.row_begin[gpu];
  const double tau = chain.switching.time_s;
  const double idle = problem_.gpus[gpu].idle_power_w;
  const double theta = effort.price_scale;
  windows(gpu, deadline_s, effort);
  labels_.clear();
  // A tiny slip of the windows against the choice itself, from rounding, is allowed for.
  const double slip = 1e-12 * deadline_s;
  std::uint32_t width = 0;
  for (std::uint32_t i = 0; i < n; ++i) width = std::max(width, chain.first[i + 1] - chain.first[i]);
  at_.resize(width);
  next_at_.resize(width);
  hub_labels_.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t r = row + i;
    const double price = theta * pack_price_[r] - idle;
    const double change = chain.switching.energy_j + theta * switch_price_[r] * tau;
    double best = kInfinity;
    const auto look = [&](const Label& l) { return l.cost_j + (1 - theta) * pack_price_[r] * l.end_s + free_[gpu][l.slot]; };
    for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) {
      std::vector<Label>& list = next_at_[s - chain.first[i]];
      list.clear();
      const double cost = chain.energy_j[s] + price * chain.time_s[s];
      const auto push = [&](double start, double before_cost, std::uint32_t before) {
        const double end = std::max(start, release_[r]) + chain.time_s[s];
        if (end <= due_[r] + slip) list.push_back({end, before_cost + cost, before, s});
      };
      if (i == 0) {
        push(0, 0, kNone);
      } else {
        const std::uint32_t b = chain.before[s];
        if (b != kNoIndex)
          for (const Label& l : at_[b - chain.first[i - 1]]) push(l.end_s, l.cost_j, l.before);
        for (const Label& l : hub_labels_) push(l.end_s + tau, l.cost_j + change, l.before);
      }
      thin(list, effort.labels);
      for (const Label& l : list) best = std::min(best, look(l));
    }
    if (best == kInfinity) return false;
    hub_labels_.clear();
    for (std::uint32_t s = chain.first[i]; s < chain.first[i + 1]; ++s) {
      std::vector<Label>& list = next_at_[s - chain.first[i]];
      std::erase_if(list, [&](const Label& l) { return look(l) > best + effort.reach_j; });
      for (Label& l : list) {
        labels_.push_back(l);
        l.before = static_cast<std::uint32_t>(labels_.size() - 1);
        hub_labels_.push_back(l);
      }
    }
    thin(hub_labels_, effort.labels * 2);
    at_.swap(next_at_);
  }
  const Label* best = nullptr;
  for (std::uint32_t s = chain.first[n - 1]; s < chain.first[n]; ++s)
    for (const Label& l : at_[s - chain.first[n - 1]])
      if (best == nullptr || l.cost_j < best->cost_j) best = &l;
  if (best == nullptr) return false;
  // What the choice costs now.
  double old_cost = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const Option& o = problem_.packs[net_.row[row + i]].options[choice[net_.row[row + i]]];
    old_cost += o.energy_j + (theta * pack_price_[row + i] - idle) * o.time_s;
    if (i > 0 && schedule_[row + i].changes) old_cost += chain.switching.energy_j + theta * switch_price_[row + i] * tau;
  }
  if (best->cost_j >= old_cost - 1e-9) return false;
  std::uint32_t label = best->before;
  for (std::uint32_t i = n; i-- > 0;) {
    choice[net_.row[row + i]] = chain.option[labels_[label].slot];
    label = labels_[label].before;
  }
  return true;
}

bool RowRefit::sweep(Choice& choice, double deadline_s, const Effort& effort) {
  bool any = false;
  for (std::uint32_t g = 0; g < chains_.size(); ++g) {
    schedule_.update(choice, deadline_s);
    any = refit(g, choice, deadline_s, effort) || any;
  }
  return any;
}

}  // namespace ergon::plan
