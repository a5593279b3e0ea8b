// What annealing tries: a stretch of packs of one GPU gets another clock, or stretches of several
// GPUs that run at the same time do.
#include <algorithm>

#include "repair_anneal.hpp"

namespace ergon::plan {

// A good clock for a stretch at its prices; `lean` above 1: a faster one.
std::uint32_t Anneal::suggest(const Part& part, double lean) const {
  const std::size_t last = table_[part.to - 1];
  const bool whole = part.from == net_.row_begin[part.gpu];
  const std::size_t before = whole ? 0 : table_[part.from - 1];
  std::uint32_t best = 0;
  double least = kInfinity;
  for (std::uint32_t c = 0; c < clocks_[part.gpu].size(); ++c) {
    double cost = sum_own_[last + c] + lean * sum_priced_[last + c];
    if (!whole) cost -= sum_own_[before + c] + lean * sum_priced_[before + c];
    if (cost < least) {
      least = cost;
      best = c;
    }
  }
  return best;
}

std::uint32_t Anneal::near(std::uint32_t gpu, std::uint32_t clock, std::uint32_t most) {
  const std::uint32_t step = 1 + random_.below(most);
  const auto clocks = static_cast<std::uint32_t>(clocks_[gpu].size());
  if ((random_.next() >> 63U) != 0) return std::min(clock + step, clocks - 1);
  return clock >= step ? clock - step : 0;
}

void Anneal::whole_run(Part& part) const {
  const std::uint32_t clock = at_[part.from];
  while (part.from > net_.row_begin[part.gpu] && at_[part.from - 1] == clock) --part.from;
  while (part.to < net_.row_begin[part.gpu + 1] && at_[part.to] == clock) ++part.to;
}

// False where a pack does not list the clock; `differs` where one has another now.
bool Anneal::possible(const Part& part, bool& differs) const {
  for (std::uint32_t r = part.from; r < part.to; ++r) {
    if (!listed(r, part.clock)) return false;
    differs = differs || at_[r] != part.clock;
  }
  return true;
}

bool Anneal::propose(Move& move) {
  const std::uint32_t i = random_.below(static_cast<std::uint32_t>(order_.size()));
  Part part{gpu_of_[i], i, i + 1, at_[i]};
  const std::uint32_t low = net_.row_begin[part.gpu];
  const std::uint32_t high = net_.row_begin[part.gpu + 1];
  const std::uint32_t kind = random_.below(16);
  if (kind < 4) {  // a run gets a clock near its own
    whole_run(part);
    part.clock = kind < 3 ? near(part.gpu, part.clock, 3) : suggest(part, lean());
  } else if (kind < 9) {  // the end of a run moves
    const std::uint32_t length = 1 + random_.below(4);
    while (part.from > low && at_[part.from - 1] == at_[i]) --part.from;
    if (part.from == low) return false;
    if ((random_.next() >> 63U) != 0) {
      part.clock = at_[part.from - 1];
      part.to = std::min(part.from + length, high);
    } else {
      part.clock = at_[part.from];
      part.to = part.from;
      part.from = part.from >= low + length ? part.from - length : low;
    }
  } else if (kind < 11) {  // a run joins a neighbour
    whole_run(part);
    const bool left = part.to == high || (part.from > low && (random_.next() >> 63U) != 0);
    if (left && part.from == low) return false;
    part.clock = left ? at_[part.from - 1] : at_[part.to];
  } else {  // a stretch gets a clock of its own
    part.to = std::min(high, i + 1 + random_.below(12));
    part.clock = kind < 14 ? suggest(part, lean()) : near(part.gpu, part.clock, 6);
  }
  bool differs = false;
  if (!possible(part, differs)) return false;
  move.assign(1, part);
  return differs;
}

// The packs of a GPU whose middle lies between two times.
Anneal::Part Anneal::meanwhile(std::uint32_t gpu, double from_s, double to_s) const {
  const auto first_after = [&](double time_s) {
    std::uint32_t low = net_.row_begin[gpu];
    std::uint32_t high = net_.row_begin[gpu + 1];
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (end_[middle] - 0.5 * now_s_[middle] < time_s)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  return {gpu, first_after(from_s), first_after(to_s), 0};
}

// What one GPU does alone may cost time on all: stretches of several GPUs get clocks in one move.
bool Anneal::propose_together(Move& move) {
  const std::uint32_t i = random_.below(static_cast<std::uint32_t>(order_.size()));
  Part own{gpu_of_[i], i, i + 1, at_[i]};
  const std::uint32_t kind = random_.below(4);
  if (kind == 0) {
    whole_run(own);
  } else {
    own.to = std::min(net_.row_begin[own.gpu + 1], i + 1 + random_.below(kind == 1 ? 4 : 16));
  }
  const double from_s = end_[own.from] - now_s_[own.from];
  const double to_s = end_[own.to - 1];
  const std::uint32_t way = random_.below(4);
  const bool up = (random_.next() >> 63U) != 0;
  const std::uint32_t step = 1 + random_.below(4);
  const double same_lean = lean();
  const bool all = (random_.next() >> 63U) != 0;
  move.clear();
  bool differs = false;
  for (std::uint32_t g = 0; g < clocks_.size(); ++g) {
    Part part = own;
    if (g != own.gpu) {
      if (!all && (random_.next() >> 63U) != 0) continue;
      part = meanwhile(g, from_s, to_s);
      if (part.from >= part.to) continue;
    }
    const std::uint32_t now = at_[part.from + (part.to - part.from) / 2];
    if (way == 0) {  // all faster or all slower
      const auto last = static_cast<std::uint32_t>(clocks_[g].size()) - 1;
      part.clock = up ? std::min(now + step, last) : now - std::min(now, step);
    } else if (way == 1) {
      part.clock = suggest(part, same_lean);
    } else if (up) {  // all join what comes before, or what comes after
      if (part.from == net_.row_begin[g]) continue;
      part.clock = at_[part.from - 1];
    } else {
      if (part.to == net_.row_begin[g + 1]) continue;
      part.clock = at_[part.to];
    }
    bool own_differs = false;
    if (!possible(part, own_differs)) return false;
    if (!own_differs) continue;
    differs = true;
    move.push_back(part);
  }
  return differs;
}

}  // namespace ergon::plan
