// Branch and bound over the packs in the order of the file.
#include "exact_search.hpp"

#include <algorithm>
#include <numeric>

#include "evaluate.hpp"
#include "numbers.hpp"

namespace ergon::plan {
namespace {

// Labels that each one is compared with; more would only cost time.
constexpr std::size_t kCompared = 4000;
constexpr std::size_t kCompleted = 6;

}  // namespace

ExactSearch::ExactSearch(const ExactModel& model, const std::vector<FlowPrices>& prices)
    : m_(model),
      prices_(prices),
      gpus_(model.chains.size()),
      shortest_(shortest_run(model.problem->switching.min_run_s)),
      runs_(model.problem->switching.min_run_s > 0) {
  make_shapes();
}

// Which ends must be remembered after each pack; each live end has a fixed place while it lives.
void ExactSearch::make_shapes() {
  const auto n = static_cast<std::uint32_t>(m_.problem->packs.size());
  std::vector<std::uint32_t> last_use(n, 0);
  for (std::uint32_t p = 0; p < n; ++p) {
    for (const std::uint32_t w : m_.after[p]) last_use[m_.waits[w].from] = p;
  }
  live_slot_.assign(n, kNoIndex);
  std::vector<std::uint32_t> holder;  // by place: the pack that has it
  shapes_.resize(n + 1);
  for (std::uint32_t k = 0; k <= n; ++k) {
    Shape& shape = shapes_[k];
    if (k > 0 && last_use[k - 1] >= k) {
      std::uint32_t place = 0;
      while (place < holder.size() && last_use[holder[place]] >= k) ++place;
      if (place == holder.size()) holder.push_back(k - 1);
      holder[place] = k - 1;
      live_slot_[k - 1] = place;
    }
    for (std::uint32_t p = k; p < n; ++p) {
      for (const std::uint32_t w : m_.after[p]) {
        if (m_.waits[w].from >= k) continue;
        shape.cut.push_back(w);
        shape.cut_live.push_back(live_slot_[m_.waits[w].from]);
      }
    }
    for (const std::uint32_t place : shape.cut_live) {
      if (std::find(shape.live.begin(), shape.live.end(), place) == shape.live.end())
        shape.live.push_back(place);
    }
    for (const FlowPrices& f : prices_) {
      double sum = -f.deadline_w * m_.limit_s;
      for (std::uint32_t p = k; p < n; ++p) {
        for (const std::uint32_t w : m_.after[p]) sum += f.flow_w[w] * m_.waits[w].lag_s;
      }
      shape.lags.push_back(sum);
    }
  }
  run_at_ = live_at(holder.size());
  stride_ = run_at_ + (runs_ ? 2 * gpus_ : 0);
  marks_ = 3 * gpus_;
}

double ExactSearch::bound(std::uint32_t placed, const double* figures,
                          const std::uint32_t* marks) const {
  const Shape& shape = shapes_[placed];
  double most = -kInfinity;
  for (std::size_t v = 0; v < prices_.size(); ++v) {
    const FlowPrices& f = prices_[v];
    double sum = figures[0] + shape.lags[v];
    for (std::size_t g = 0; g < gpus_; ++g) {
      const ClockChain& c = m_.chains[g];
      if (c.size() == 0) continue;
      const std::uint32_t last = marks[g];
      if (last == kNoIndex) {
        sum += f.path_cost[g];
        continue;
      }
      const std::uint32_t p = c.packs[c.position[last]];
      sum += f.flow_w[m_.step_from[p]] * figures[1 + g];
      if (c.position[last] + 1 == c.size()) continue;
      sum += f.tails[g][c.repeats ? marks[gpus_ + g] - c.first[0] : 0][last];
    }
    for (std::size_t k = 0; k < shape.cut.size(); ++k)
      sum += f.flow_w[shape.cut[k]] * figures[live_at(shape.cut_live[k])];
    most = std::max(most, sum);
  }
  return most;
}

// Puts `slot` behind the label in `from`; the outcome is next_ and next_marks_. False where the
// plan breaks the minimum run or the limit.
bool ExactSearch::extend(std::uint32_t pack, const double* from, const std::uint32_t* marks,
                         std::uint32_t slot) {
  const std::uint32_t g = m_.problem->packs[pack].gpu;
  const ClockChain& c = m_.chains[g];
  const double seconds = c.time_s[slot];
  next_.assign(from, from + stride_);
  next_marks_.assign(marks, marks + marks_);
  const std::uint32_t last = marks[g];
  double start = 0;
  double* run = runs_ ? next_.data() + run_at_ + g : nullptr;
  double* first_run = runs_ ? run + gpus_ : nullptr;
  std::uint32_t& changed = next_marks_[2 * gpus_ + g];
  next_[0] += c.energy_j[slot] - m_.problem->gpus[g].idle_power_w * seconds;
  if (last == kNoIndex) {
    if (c.repeats) next_marks_[gpus_ + g] = slot;
  } else {
    start = from[1 + g];
    if (c.before[slot] != last) {
      start += c.switching.time_s;
      next_[0] += c.switching.energy_j;
      if (runs_) {
        const bool is_first = changed == 0;
        if (*run < shortest_ && !(is_first && c.repeats)) return false;
        if (is_first) *first_run = *run;
        *run = 0;
        changed = 1;
      }
    }
  }
  for (const std::uint32_t w : m_.after[pack])
    start = std::max(start, from[live_at(live_slot_[m_.waits[w].from])] + m_.waits[w].lag_s);
  double end = start + seconds;
  if (end + m_.least_rest_s[pack] > m_.limit_s) return false;
  if (runs_) *run = std::min(*run + seconds, shortest_);
  next_marks_[g] = slot;
  if (live_slot_[pack] != kNoIndex) next_[live_at(live_slot_[pack])] = end;
  if (c.position[slot] + 1 == c.size()) {
    const bool around = c.repeats && c.clock_hz[slot] != c.clock_hz[next_marks_[gpus_ + g]];
    if (around) {
      end += c.switching.time_s;
      next_[0] += c.switching.energy_j;
    }
    if (runs_ && changed != 0) {
      const bool joined = c.repeats && !around;
      const bool good =
          joined ? *run + *first_run >= shortest_ : *run >= shortest_ && *first_run >= shortest_;
      if (!good) return false;
    }
    if (end > m_.limit_s) return false;
  }
  next_[1 + g] = end;
  return true;
}

void ExactSearch::expand(std::uint32_t pack) {
  const Layer& from = layers_[pack];
  Layer& to = layers_[pack + 1];
  const std::uint32_t g = m_.problem->packs[pack].gpu;
  const ClockChain& c = m_.chains[g];
  const std::uint32_t i = m_.position[pack];
  for (std::uint32_t l = 0; l < from.count; ++l) {
    for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
      if (!extend(pack, from.figures.data() + l * stride_, from.marks.data() + l * marks_, s))
        continue;
      const double least = bound(pack + 1, next_.data(), next_marks_.data());
      if (least >= incumbent_ * (1 - kRounding)) continue;
      to.figures.insert(to.figures.end(), next_.begin(), next_.end());
      to.marks.insert(to.marks.end(), next_marks_.begin(), next_marks_.end());
      to.parent.push_back(l);
      to.option.push_back(c.option[s]);
      to.bound.push_back(least);
      ++to.count;
    }
  }
}

void ExactSearch::compact(Layer& layer, const std::vector<std::uint32_t>& keep) const {
  Layer out;
  out.count = keep.size();
  for (const std::uint32_t l : keep) {
    const auto figures = layer.figures.begin() + static_cast<std::ptrdiff_t>(l * stride_);
    const auto marks = layer.marks.begin() + static_cast<std::ptrdiff_t>(l * marks_);
    out.figures.insert(out.figures.end(), figures, figures + static_cast<std::ptrdiff_t>(stride_));
    out.marks.insert(out.marks.end(), marks, marks + static_cast<std::ptrdiff_t>(marks_));
    out.parent.push_back(layer.parent[l]);
    out.option.push_back(layer.option[l]);
    out.bound.push_back(layer.bound[l]);
  }
  layer = std::move(out);
}

// A label dominates one with the same marks if it has spent no more, all its ends are no later and
// its runs no shorter.
void ExactSearch::drop_dominated(Layer& layer) const {
  std::vector<std::uint32_t> order(layer.count);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  const auto marks = [&](std::uint32_t l) { return layer.marks.data() + l * marks_; };
  const auto figures = [&](std::uint32_t l) { return layer.figures.data() + l * stride_; };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int c = std::lexicographical_compare_three_way(marks(a), marks(a) + marks_, marks(b),
                                                         marks(b) + marks_) < 0
                      ? -1
                      : (std::equal(marks(a), marks(a) + marks_, marks(b)) ? 0 : 1);
    if (c != 0) return c < 0;
    return figures(a)[0] < figures(b)[0] || (figures(a)[0] == figures(b)[0] && a < b);
  });
  std::vector<std::uint32_t> keep;
  std::size_t group = 0;  // where the labels with the current marks begin in `keep`
  for (const std::uint32_t l : order) {
    if (keep.size() > group && !std::equal(marks(l), marks(l) + marks_, marks(keep[group])))
      group = keep.size();
    bool dominated = false;
    const std::size_t end = std::min(keep.size(), group + kCompared);
    for (std::size_t k = group; k < end && !dominated; ++k) {
      const double* a = figures(keep[k]);
      const double* b = figures(l);
      dominated = true;
      for (std::size_t x = 1; x < run_at_ && dominated; ++x) dominated = a[x] <= b[x];
      for (std::size_t x = run_at_; x < stride_ && dominated; ++x) dominated = a[x] >= b[x];
    }
    if (!dominated) keep.push_back(l);
  }
  compact(layer, keep);
}

void ExactSearch::make_room(Layer& layer, std::size_t width) {
  if (layer.count <= width) return;
  std::vector<std::uint32_t> order(layer.count);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return layer.bound[a] < layer.bound[b] || (layer.bound[a] == layer.bound[b] && a < b);
  });
  dropped_ = std::min(dropped_, layer.bound[order[width]]);
  order.resize(width);
  compact(layer, order);
}

void ExactSearch::offer(const Choice& choice) {
  const Evaluation e = evaluate(*m_.problem, choice);
  if (e.runs_long_enough && e.time_s <= m_.limit_s && e.energy_j < incumbent_) {
    incumbent_ = e.energy_j;
    best_ = choice;
  }
}

// Ends the most promising labels with the cheapest rest of each GPU at each price.
void ExactSearch::complete_some(std::uint32_t placed) {
  const Layer& layer = layers_[placed];
  std::vector<std::uint32_t> order(layer.count);
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  const std::size_t some = std::min(kCompleted, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(some), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) {
                      return layer.bound[a] < layer.bound[b] ||
                             (layer.bound[a] == layer.bound[b] && a < b);
                    });
  Choice choice(m_.problem->packs.size());
  for (std::size_t k = 0; k < some; ++k) {
    std::uint32_t l = order[k];
    for (std::uint32_t p = placed; p-- > 0;) {
      choice[p] = layers_[p + 1].option[l];
      l = layers_[p + 1].parent[l];
    }
    for (const FlowPrices& f : prices_) {
      for (std::uint32_t p = placed; p < choice.size(); ++p) {
        const std::uint32_t g = m_.problem->packs[p].gpu;
        choice[p] = m_.chains[g].option[f.paths[g][m_.position[p]]];
      }
      offer(choice);
    }
  }
}

void ExactSearch::run(double incumbent_j, std::size_t width) {
  const auto n = static_cast<std::uint32_t>(m_.problem->packs.size());
  incumbent_ = incumbent_j;
  dropped_ = kInfinity;
  best_.clear();
  layers_.assign(n + 1, Layer{});
  Layer& origin = layers_[0];
  origin.count = 1;
  origin.figures.assign(stride_, 0.0);
  origin.marks.assign(marks_, kNoIndex);
  std::fill_n(origin.marks.begin() + static_cast<std::ptrdiff_t>(2 * gpus_), gpus_, 0U);
  for (std::uint32_t p = 0; p < n; ++p) {
    expand(p);
    // The figures of ends no longer needed must not tell labels apart.
    Layer& layer = layers_[p + 1];
    const Shape& shape = shapes_[p + 1];
    for (std::size_t place = 0; live_at(place) < run_at_; ++place) {
      if (std::find(shape.live.begin(), shape.live.end(), place) != shape.live.end()) continue;
      for (std::size_t l = 0; l < layer.count; ++l) layer.figures[l * stride_ + live_at(place)] = 0;
    }
    drop_dominated(layer);
    make_room(layer, width);
    if (p + 1 < n) complete_some(p + 1);
  }
  const Layer& last = layers_[n];
  std::uint32_t chosen = kNoIndex;
  double least = incumbent_;
  for (std::uint32_t l = 0; l < last.count; ++l) {
    const double* f = last.figures.data() + l * stride_;
    const double energy = f[0] + m_.idle_w * *std::max_element(f + 1, f + 1 + gpus_);
    if (energy < least) {
      least = energy;
      chosen = l;
    }
  }
  if (chosen == kNoIndex) return;
  Choice choice(n);
  for (std::uint32_t p = n; p-- > 0;) {
    choice[p] = layers_[p + 1].option[chosen];
    chosen = layers_[p + 1].parent[chosen];
  }
  offer(choice);
}

}  // namespace ergon::plan
