// Label search over (pack, clock): partial plans apart by time and energy.
#include "chain_labels.hpp"

#include <algorithm>

#include "numbers.hpp"

namespace ergon::plan {
namespace {}  // namespace

LabelSearch::LabelSearch(const SpanPricer& pricer, const std::vector<Pass>& ends,
                         std::size_t reference, double limit_s)
    : pricer_(pricer),
      ends_(ends),
      reference_(ends[reference]),
      limit_(limit_s),
      at_(pricer.chain().slots()) {
  pricer_.forward(reference_.prices, ahead_);
}

// No end of such a label costs less: at each price, the cheapest end less what its time is worth.
double LabelSearch::bound(double time_s, double energy_j, std::uint32_t slot) const {
  const double left = limit_ - time_s;
  double most = -kInfinity;
  for (const Pass& end : ends_) most = std::max(most, end.value[slot] - end.prices.price * left);
  return energy_j + most;
}

bool LabelSearch::survives(double time_s, double energy_j, std::uint32_t slot, std::uint32_t run) {
  const double left = limit_ - time_s;
  if (energy_j + reference_.value[slot] - reference_.prices.price * left >= threshold_)
    return false;
  double most = -kInfinity;
  double least = incumbent_ - energy_j;
  std::size_t chosen = ends_.size();
  for (std::size_t g = 0; g < ends_.size(); ++g) {
    const Pass& end = ends_[g];
    const double value = end.value[slot];
    most = std::max(most, value - end.prices.price * left);
    const double energy = value - end.prices.price * end.time_s[slot];
    if (energy < least && end.time_s[slot] <= left) {
      least = energy;
      chosen = g;
    }
  }
  if (chosen != ends_.size()) {
    incumbent_ = energy_j + least;
    threshold_ = incumbent_ * (1 - target_gap_);
    found_ = {.slot = slot, .run = run, .end = chosen};
  }
  return energy_j + most < threshold_;
}

void LabelSearch::merge_into(Labels& into, const Labels& from) {
  if (from.empty()) return;
  merged_.clear();
  double least = kInfinity;
  std::size_t a = 0;
  std::size_t b = 0;
  const auto earlier = [](const Label& x, const Label& y) {
    return x.time_s < y.time_s || (x.time_s == y.time_s && x.energy_j <= y.energy_j);
  };
  while (a < into.size() || b < from.size()) {
    const bool left = b == from.size() || (a < into.size() && earlier(into[a], from[b]));
    const Label& next = left ? into[a++] : from[b++];
    if (next.energy_j < least) {
      least = next.energy_j;
      merged_.push_back(next);
    }
  }
  into.swap(merged_);
}

void LabelSearch::begin_runs(std::uint32_t i) {
  const ClockChain& c = pricer_.chain();
  const Span& span = pricer_.span();
  const bool begin = i == span.first;
  const bool with_minimum = c.switching.min_run_s > 0;
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    const std::uint32_t e = c.run_end[s];
    if (e == kNoIndex || c.position[e] > span.last) continue;
    // The cheapest plan through this run, at the reference price.
    const double entry = begin ? 0.0 : ahead_.hub_value[i - 1] + ahead_.change_cost;
    const double through = entry + (with_minimum ? ahead_.run_cost[s] : ahead_.cost[s]) +
                           reference_.value[e] - reference_.prices.price * limit_;
    if (!begin && through >= threshold_) continue;
    Spent run = pricer_.run(s);
    if (begin) {
      run.time_s += span.before.time_s;
      run.energy_j += span.before.energy_j;
    } else {
      run.time_s += c.switching.time_s;
      run.energy_j += c.switching.energy_j;
    }
    moved_.clear();
    static const Labels origin = {{0, 0, kNoIndex}};
    for (const Label& l : begin ? origin : hub_) {
      const Label next{l.time_s + run.time_s, l.energy_j + run.energy_j,
                       static_cast<std::uint32_t>(runs_.size())};
      // The run is written down first: a better plan may end through it.
      runs_.push_back({.start = s, .previous = l.run});
      if (survives(next.time_s, next.energy_j, e, next.run)) {
        moved_.push_back(next);
      } else if (found_.run != next.run) {
        runs_.pop_back();
      }
    }
    merge_into(at_[e], moved_);
  }
}

void LabelSearch::continue_runs(std::uint32_t i) {
  const ClockChain& c = pricer_.chain();
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    const std::uint32_t b = c.before[s];
    if (b == kNoIndex || at_[b].empty()) continue;
    moved_.clear();
    for (const Label& l : at_[b]) {
      const Label next{l.time_s + c.time_s[s], l.energy_j + c.energy_j[s], l.run};
      if (survives(next.time_s, next.energy_j, s, next.run)) moved_.push_back(next);
    }
    merge_into(at_[s], moved_);
  }
  for (std::uint32_t s = c.first[i - 1]; s < c.first[i]; ++s) Labels().swap(at_[s]);
}

// Drops the labels with the highest bounds; the least of those bounds is remembered.
void LabelSearch::make_room(std::uint32_t i, std::size_t width) {
  const ClockChain& c = pricer_.chain();
  std::size_t count = 0;
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) count += at_[s].size();
  if (count <= width) return;
  bounds_.clear();
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    for (const Label& l : at_[s]) bounds_.push_back(bound(l.time_s, l.energy_j, s));
  }
  std::vector<double> sorted = bounds_;
  const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(width);
  std::nth_element(sorted.begin(), nth, sorted.end());
  const double worst = *nth;
  std::size_t k = 0;
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    Labels& labels = at_[s];
    std::size_t kept = 0;
    for (const Label& l : labels) {
      if (bounds_[k] < worst) {
        labels[kept++] = l;
      } else {
        dropped_ = std::min(dropped_, bounds_[k]);
      }
      ++k;
    }
    labels.resize(kept);
  }
}

void LabelSearch::gather(std::uint32_t i) {
  const ClockChain& c = pricer_.chain();
  hub_.clear();
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) merge_into(hub_, at_[s]);
}

void LabelSearch::run(double incumbent_j, double target_gap, std::size_t width) {
  const Span& span = pricer_.span();
  incumbent_ = incumbent_j;
  target_gap_ = target_gap;
  threshold_ = incumbent_ * (1 - target_gap_);
  dropped_ = kInfinity;
  found_ = {};
  runs_.clear();
  for (Labels& labels : at_) labels.clear();
  std::uint32_t i = span.first;
  if (span.source != kNoIndex) {
    runs_.push_back({.start = span.source, .previous = kNoIndex});
    if (survives(span.before.time_s, span.before.energy_j, span.source, 0))
      at_[span.source].push_back({span.before.time_s, span.before.energy_j, 0});
    gather(i++);
  }
  for (; i <= span.last; ++i) {
    begin_runs(i);
    if (i > span.first) continue_runs(i);
    make_room(i, width);
    if (i < span.last) gather(i);
  }
}

void LabelSearch::write_plan(std::vector<std::uint32_t>& slots) const {
  const ClockChain& c = pricer_.chain();
  pricer_.trace_backward(ends_[found_.end], found_.slot, slots);
  // Each run from its start up to where the next one begins.
  std::uint32_t next = c.position[found_.slot] + 1;
  for (std::uint32_t r = found_.run; r != kNoIndex; r = runs_[r].previous) {
    for (std::uint32_t s = runs_[r].start; s != kNoIndex && c.position[s] < next; s = c.after[s])
      slots[c.position[s]] = s;
    next = c.position[runs_[r].start];
  }
}

}  // namespace ergon::plan
