// When packs end and how much follows them, worked out anew only where a move changes it.
#include <algorithm>
#include <bit>
#include <map>

#include "repair_anneal.hpp"

namespace ergon::plan {

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
// Ends of the packs of a move and of all that follow, as far as they change.
void Anneal::time_changed(const Move& move) {
  const double tau = problem_.switching.time_s;
  ++pass_;
  std::uint32_t first_word = static_cast<std::uint32_t>(dirty_.size());
  const auto mark = [&](std::uint32_t i) {
    const std::uint32_t p = net_.row[i];
    dirty_[p / 64] |= std::uint64_t{1} << (p % 64);
    first_word = std::min(first_word, p / 64);
  };
  for (const Part& part : move) {
    const std::uint32_t high = net_.row_begin[part.gpu + 1];
    for (std::uint32_t r = part.from; r < std::min(part.to + 1, high); ++r) mark(r);
  }
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
  ++pass_;
  for (const Part& part : move)
    for (std::uint32_t r = part.from; r < part.to; ++r) way_[r] = tail_[r] + now_s_[r];
  std::uint32_t words = 0;
  const auto mark = [&](std::uint32_t i) {
    const std::uint32_t p = net_.row[i];
    dirty_[p / 64] |= std::uint64_t{1} << (p % 64);
    words = std::max(words, p / 64 + 1);
  };
  // The packs of the move, all that wait for them, and the last one, whose change may lead around
  // the end.
  for (const Part& part : move) {
    const std::uint32_t low = net_.row_begin[part.gpu];
    for (std::uint32_t r = part.from > low ? part.from - 1 : low; r < part.to; ++r) {
      mark(r);
      for (const Wait& w : in_.of(r)) mark(w.pack);
    }
    if (problem_.repeats && part.from == low) mark(net_.row_begin[part.gpu + 1] - 1);
  }
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
}  // namespace ergon::plan
