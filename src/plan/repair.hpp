// Turns slack into energy: plans without switch cost, improved by sweeps over the graph.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ergon/plan.hpp"

namespace ergon::plan {

/// Packs with the waits that matter, for repeated timing. A *way* is an option that no other of its
/// pack beats in both time and energy; a plan here names the way of each pack.
class SlackFiller {
 public:
  using Ways = std::vector<std::uint32_t>;

  /// Keeps a reference to the problem, whose switch cost is not looked at.
  explicit SlackFiller(const Problem& problem);

  /// The ways that are nowhere slower and nowhere dearer than the choice.
  [[nodiscard]] Ways ways_of(std::span<const std::uint32_t> choice) const;
  [[nodiscard]] Choice choice_of(const Ways& ways) const;

  /// A price of time (W) and the cheapest way at it, by pack.
  struct Priced {
    std::vector<double> price;
    Ways cheapest;
  };
  /// `price` (W, by pack) scaled; none is needed where `scale` is 0.
  [[nodiscard]] Priced priced(std::span<const double> price, double scale) const;

  /// One pass over all packs, forwards or backwards: each takes the way that is cheapest at its
  /// price within the time that the others leave it until the deadline. A plan within the deadline
  /// stays within it; of one that is not, packs on late paths become faster. `goes_on`: the call
  /// before was a sweep of the same ways and deadline the other way round.
  void sweep(Ways& ways, const Priced& priced, double deadline_s, bool forwards,
             bool goes_on = false);

  /// The next faster way of a pack; false where there is none.
  bool quicken(Ways& ways, std::uint32_t pack) const;

  /// One pack a way slower, where that is too late another so much faster that it is in time again,
  /// and what that frees given to all others: the exchange that saves most, if any does. Takes
  /// the packs it looks at from `visits` and ends when none are left.
  bool exchange(Ways& ways, std::uint32_t slower, double deadline_s, std::uint64_t& visits);

  struct Value {
    double time_s = 0;
    double energy_j = 0;  ///< with idle power, without changes of clock
  };
  [[nodiscard]] Value value_of(const Ways& ways);

 private:
  struct Wait {
    std::uint32_t pack = 0;
    double lag_s = 0;
  };
  [[nodiscard]] double start_of(std::uint32_t pack) const {
    double start = 0;
    for (std::uint32_t e = in_begin_[pack]; e < in_begin_[pack + 1]; ++e)
      start = std::max(start, early_[in_[e].pack] + in_[e].lag_s);
    return start;
  }
  [[nodiscard]] double end_of(std::uint32_t pack, double deadline_s) const {
    double end = deadline_s;
    for (std::uint32_t e = out_begin_[pack]; e < out_begin_[pack + 1]; ++e)
      end = std::min(end, late_[out_[e].pack] - out_[e].lag_s);
    return end;
  }
  [[nodiscard]] std::uint32_t best_way(std::uint32_t pack, const Priced& priced, double window_s,
                                       std::uint32_t way) const;

  std::uint32_t packs_ = 0;
  double idle_w_ = 0;
  std::vector<std::uint32_t> in_begin_, out_begin_, way_begin_;
  std::vector<Wait> in_, out_;
  // By way, the fastest of each pack first.
  std::vector<double> time_, own_;  // own_: energy less idle power x time
  std::vector<std::uint32_t> option_;
  std::vector<std::vector<std::uint32_t>> way_of_;  // by pack and option
  std::vector<double> early_, late_;                // earliest end, latest start
  Priced free_;                                     // at no price
};

}  // namespace ergon::plan
