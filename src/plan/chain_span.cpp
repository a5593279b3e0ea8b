// Forward and backward dynamic programs over (pack, clock) at one price, with the time of the best.
#include "chain_span.hpp"

#include "numbers.hpp"
#include "wide.hpp"

namespace ergon::plan {
SpanPricer::SpanPricer(const Span& span) : span_(span), runs_(span.chain->switching.min_run_s > 0) {
  const ClockChain& c = *span_.chain;
  if (!runs_) return;
  // Of each slot's clock, from the first pack in a row with it.
  std::vector<Spent> sum(c.slots());
  for (std::uint32_t s = 0; s < c.slots(); ++s) {
    sum[s] = {c.time_s[s], c.energy_j[s]};
    if (const std::uint32_t b = c.before[s]; b != kNoIndex) {
      sum[s].time_s += sum[b].time_s;
      sum[s].energy_j += sum[b].energy_j;
    }
  }
  run_bar_.assign(c.slots(), kInfinity);
  run_time_s_ = c.time_s;
  run_energy_j_ = c.energy_j;
  for (std::uint32_t s = 0; s < c.slots(); ++s) {
    const std::uint32_t end = c.run_end[s];
    if (end == kNoIndex) continue;
    if (c.position[end] <= span_.last) run_bar_[s] = 0;
    if (end == s) continue;
    run_time_s_[s] = sum[end].time_s - sum[s].time_s + c.time_s[s];
    run_energy_j_[s] = sum[end].energy_j - sum[s].energy_j + c.energy_j[s];
  }
}

Spent SpanPricer::run(std::uint32_t slot) const {
  const ClockChain& c = *span_.chain;
  if (!runs_) return {c.time_s[slot], c.energy_j[slot]};
  return {run_time_s_[slot], run_energy_j_[slot]};
}

void SpanPricer::price_slots(Prices prices, Pass& out) const {
  const ClockChain& c = *span_.chain;
  out.prices = prices;
  out.change_cost = priced(prices, {c.switching.time_s, c.switching.energy_j});
  out.cost.resize(c.slots());
  const std::uint32_t from = c.first[span_.first];
  const std::uint32_t to = c.first[span_.last + 1];
  for (std::uint32_t s = from; s < to; ++s)
    out.cost[s] = priced(prices, {c.time_s[s], c.energy_j[s]});
  out.value.assign(c.slots(), kInfinity);
  out.time_s.assign(c.slots(), 0.0);
  out.hub_value.assign(c.size(), kInfinity);
  out.hub_time_s.assign(c.size(), 0.0);
  if (!runs_) return;
  out.start.assign(c.slots(), kNoIndex);
  out.run_cost.assign(c.slots(), kInfinity);
  for (std::uint32_t s = from; s < to; ++s) {
    out.run_cost[s] = priced(prices, {run_time_s_[s], run_energy_j_[s]}) + run_bar_[s];
  }
}

void SpanPricer::forward(Prices prices, Pass& out) const {
  const ClockChain& c = *span_.chain;
  price_slots(prices, out);
  std::uint32_t i = span_.first;
  if (span_.source != kNoIndex) {
    out.value[span_.source] = priced(prices, span_.before);
    out.time_s[span_.source] = span_.before.time_s;
    if (runs_) out.start[span_.source] = span_.source;
    out.hub_value[i] = out.value[span_.source];
    out.hub_time_s[i] = span_.before.time_s;
    ++i;
  }
  for (; i <= span_.last; ++i) {
    if (c.aligned && !runs_ && i > span_.first) {
      forward_step_aligned(i, out);
    } else {
      forward_step(i, out);
    }
    for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
      if (out.value[s] < out.hub_value[i]) {
        out.hub_value[i] = out.value[s];
        out.hub_time_s[i] = out.time_s[s];
      }
    }
  }
}

void SpanPricer::forward_step_aligned(std::uint32_t i, Pass& out) const {
  const ClockChain& c = *span_.chain;
  const std::uint32_t width = c.first[1];
  const double entry = out.hub_value[i - 1] + out.change_cost;
  const double entry_s = out.hub_time_s[i - 1] + c.switching.time_s;
  const double* from = out.value.data() + c.first[i - 1];
  const double* from_s = out.time_s.data() + c.first[i - 1];
  const double* cost = out.cost.data() + c.first[i];
  const double* seconds = c.time_s.data() + c.first[i];
  double* to = out.value.data() + c.first[i];
  double* to_s = out.time_s.data() + c.first[i];
  wide::for_lanes(width, [&](auto lanes, std::size_t k) {
    using Part = typename decltype(lanes)::type;
    const auto kept = wide::load<Part>(from + k);
    const auto stay = kept <= entry;
    const Part value = (stay ? kept : Part{} + entry) + wide::load<Part>(cost + k);
    const Part time =
        (stay ? wide::load<Part>(from_s + k) : Part{} + entry_s) + wide::load<Part>(seconds + k);
    wide::store(to + k, value);
    wide::store(to_s + k, time);
  });
}

void SpanPricer::forward_step(std::uint32_t i, Pass& out) const {
  const ClockChain& c = *span_.chain;
  if (runs_) return forward_step_runs(i, out);
  const bool begin = i == span_.first;
  const double entry =
      begin ? priced(out.prices, span_.before) : out.hub_value[i - 1] + out.change_cost;
  const double entry_s = begin ? span_.before.time_s : out.hub_time_s[i - 1] + c.switching.time_s;
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    const std::uint32_t b = c.before[s];
    const bool stay = !begin && b != kNoIndex && out.value[b] <= entry;
    out.value[s] = (stay ? out.value[b] : entry) + out.cost[s];
    out.time_s[s] = (stay ? out.time_s[b] : entry_s) + c.time_s[s];
  }
}

void SpanPricer::forward_step_runs(std::uint32_t i, Pass& out) const {
  const ClockChain& c = *span_.chain;
  const bool begin = i == span_.first;
  const double entry =
      begin ? priced(out.prices, span_.before) : out.hub_value[i - 1] + out.change_cost;
  const double entry_s = begin ? span_.before.time_s : out.hub_time_s[i - 1] + c.switching.time_s;
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    if (!ends_inside(s)) continue;
    const std::uint32_t e = c.run_end[s];
    const double v = entry + out.run_cost[s];
    if (v < out.value[e]) {
      out.value[e] = v;
      out.time_s[e] = entry_s + run_time_s_[s];
      out.start[e] = s;
    }
  }
  if (begin) return;
  if (c.aligned) return stay_aligned(i, out);
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    const std::uint32_t b = c.before[s];
    if (b == kNoIndex) continue;
    const double v = out.value[b] + out.cost[s];
    if (v <= out.value[s] && v < kInfinity) {
      out.value[s] = v;
      out.time_s[s] = out.time_s[b] + c.time_s[s];
      out.start[s] = kNoIndex;
    }
  }
}

// Runs go on where that is no dearer than to begin one.
void SpanPricer::stay_aligned(std::uint32_t i, Pass& out) const {
  const ClockChain& c = *span_.chain;
  const std::uint32_t width = c.first[1];
  const double* from = out.value.data() + c.first[i - 1];
  const double* from_s = out.time_s.data() + c.first[i - 1];
  const double* cost = out.cost.data() + c.first[i];
  const double* seconds = c.time_s.data() + c.first[i];
  double* to = out.value.data() + c.first[i];
  double* to_s = out.time_s.data() + c.first[i];
  std::uint32_t* start = out.start.data() + c.first[i];
  for (std::uint32_t k = 0; k < width; ++k) {
    const double v = from[k] + cost[k];
    if (v <= to[k] && v < kInfinity) start[k] = kNoIndex;
  }
  wide::for_lanes(width, [&](auto lanes, std::size_t k) {
    using Part = typename decltype(lanes)::type;
    const Part v = wide::load<Part>(from + k) + wide::load<Part>(cost + k);
    const Part t = wide::load<Part>(from_s + k) + wide::load<Part>(seconds + k);
    const auto begun = wide::load<Part>(to + k);
    // Where neither is possible both are infinite, and the time says nothing.
    const auto stay = v <= begun;
    const Part value = stay ? v : begun;
    const Part time = stay ? t : wide::load<Part>(to_s + k);
    wide::store(to + k, value);
    wide::store(to_s + k, time);
  });
}

void SpanPricer::backward(Prices prices, Pass& out) const {
  const ClockChain& c = *span_.chain;
  price_slots(prices, out);
  for (std::uint32_t s = c.first[span_.last]; s < c.first[span_.last + 1]; ++s) {
    if (span_.sink != kNoIndex && s != span_.sink) continue;
    out.value[s] = priced(prices, span_.after);
    out.time_s[s] = span_.after.time_s;
  }
  for (std::uint32_t i = span_.last; i-- > span_.first;) {
    if (c.aligned && !runs_) {
      backward_step_aligned(i, out);
    } else {
      backward_step(i, out);
    }
  }
}

void SpanPricer::backward_step_aligned(std::uint32_t i, Pass& out) const {
  const ClockChain& c = *span_.chain;
  const std::uint32_t width = c.first[1];
  const double* from = out.value.data() + c.first[i + 1];
  const double* from_s = out.time_s.data() + c.first[i + 1];
  const double* cost = out.cost.data() + c.first[i + 1];
  const double* seconds = c.time_s.data() + c.first[i + 1];
  double* to = out.value.data() + c.first[i];
  double* to_s = out.time_s.data() + c.first[i];
  double least = kInfinity;
  std::uint32_t chosen = 0;
  for (std::uint32_t k = 0; k < width; ++k) {
    to[k] = from[k] + cost[k];
    to_s[k] = from_s[k] + seconds[k];
  }
  for (std::uint32_t k = 0; k < width; ++k) {
    if (to[k] < least) {
      least = to[k];
      chosen = k;
    }
  }
  const double hub = least + out.change_cost;
  const double hub_s = to_s[chosen] + c.switching.time_s;
  out.hub_value[i] = hub;
  out.hub_time_s[i] = hub_s;
  for (std::uint32_t k = 0; k < width; ++k) {
    const bool stay = to[k] <= hub;
    to[k] = stay ? to[k] : hub;
    to_s[k] = stay ? to_s[k] : hub_s;
  }
}

// Slot in which to begin a run after a change behind position i, or kNoIndex.
std::uint32_t SpanPricer::best_start(const Pass& backward, std::uint32_t i) const {
  const ClockChain& c = *span_.chain;
  const std::vector<double>& cost = runs_ ? backward.run_cost : backward.cost;
  double least = kInfinity;
  std::uint32_t chosen = kNoIndex;
  for (std::uint32_t s = c.first[i + 1]; s < c.first[i + 2]; ++s) {
    if (!ends_inside(s)) continue;
    const double v = backward.value[c.run_end[s]] + cost[s];
    if (v < least) {
      least = v;
      chosen = s;
    }
  }
  return chosen;
}

void SpanPricer::backward_step(std::uint32_t i, Pass& out) const {
  const ClockChain& c = *span_.chain;
  if (const std::uint32_t s = best_start(out, i); s != kNoIndex) {
    const std::uint32_t e = c.run_end[s];
    out.hub_value[i] = out.value[e] + (runs_ ? out.run_cost[s] : out.cost[s]) + out.change_cost;
    out.hub_time_s[i] = out.time_s[e] + (runs_ ? run(s).time_s : c.time_s[s]) + c.switching.time_s;
  }
  for (std::uint32_t s = c.first[i]; s < c.first[i + 1]; ++s) {
    out.value[s] = out.hub_value[i];
    out.time_s[s] = out.hub_time_s[i];
    const std::uint32_t a = c.after[s];
    if (a == kNoIndex) continue;
    const double v = out.value[a] + out.cost[a];
    if (v <= out.value[s] && v < kInfinity) {
      out.value[s] = v;
      out.time_s[s] = out.time_s[a] + c.time_s[a];
    }
  }
}

std::uint32_t SpanPricer::best_end(const Pass& forward) const {
  const ClockChain& c = *span_.chain;
  if (span_.sink != kNoIndex) return forward.value[span_.sink] < kInfinity ? span_.sink : kNoIndex;
  if (!(forward.hub_value[span_.last] < kInfinity)) return kNoIndex;
  std::uint32_t s = c.first[span_.last];
  while (forward.value[s] != forward.hub_value[span_.last]) ++s;
  return s;
}

double SpanPricer::end_value(const Pass& forward, std::uint32_t slot) const {
  return forward.value[slot] + priced(forward.prices, span_.after);
}

double SpanPricer::end_time(const Pass& forward, std::uint32_t slot) const {
  return forward.time_s[slot] + span_.after.time_s;
}

std::uint32_t SpanPricer::hub_slot(const Pass& forward, std::uint32_t i) const {
  std::uint32_t s = span_.chain->first[i];
  while (forward.value[s] != forward.hub_value[i]) ++s;
  return s;
}

void SpanPricer::trace_forward(const Pass& forward, std::uint32_t slot,
                               std::vector<std::uint32_t>& slots) const {
  const ClockChain& c = *span_.chain;
  std::uint32_t s = slot;
  for (;;) {
    std::uint32_t i = c.position[s];
    bool stay = false;
    if (runs_) {
      const std::uint32_t begin = forward.start[s];
      stay = begin == kNoIndex;
      if (!stay) {
        for (; s != begin; s = c.before[s]) slots[c.position[s]] = s;
        i = c.position[s];
      }
    } else if (i > span_.first) {
      const std::uint32_t b = c.before[s];
      stay = b != kNoIndex && forward.value[b] <= forward.hub_value[i - 1] + forward.change_cost;
    }
    slots[i] = s;
    if (i == span_.first) return;
    s = stay ? c.before[s] : hub_slot(forward, i - 1);
  }
}

void SpanPricer::trace_backward(const Pass& backward, std::uint32_t slot,
                                std::vector<std::uint32_t>& slots) const {
  const ClockChain& c = *span_.chain;
  std::uint32_t s = slot;
  slots[c.position[s]] = s;
  while (c.position[s] < span_.last) {
    const std::uint32_t i = c.position[s];
    const std::uint32_t a = c.after[s];
    if (a != kNoIndex && backward.value[a] + backward.cost[a] <= backward.hub_value[i]) {
      s = a;
    } else {
      s = fill_run_after(backward, i, slots);
    }
    slots[c.position[s]] = s;
  }
}

void SpanPricer::trace_backward_change(const Pass& backward, std::uint32_t i,
                                       std::vector<std::uint32_t>& slots) const {
  trace_backward(backward, fill_run_after(backward, i, slots), slots);
}

// Writes the best run after a change behind position i, up to where it is long enough.
std::uint32_t SpanPricer::fill_run_after(const Pass& backward, std::uint32_t i,
                                         std::vector<std::uint32_t>& slots) const {
  const ClockChain& c = *span_.chain;
  const std::uint32_t begin = best_start(backward, i);
  ERGON_CHECK(begin != kNoIndex, "a traced change of clock has a target");
  const std::uint32_t end = c.run_end[begin];
  for (std::uint32_t s = begin; s != end; s = c.after[s]) slots[c.position[s]] = s;
  return end;
}

}  // namespace ergon::plan
