// Turns slack into energy: plans without switch cost, improved by sweeps over the graph.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ergon/plan.hpp"

namespace ergon::plan {

/// Packs with the waits that matter, for repeated timing.
class SlackFiller {
 public:
  /// Keeps a reference to the problem, whose switch cost is not looked at.
  explicit SlackFiller(const Problem& problem);

  /// One pass over all packs, forwards or backwards: each takes the option that is cheapest at
  /// `price` (W, by pack) within the time that the others leave it until the deadline. A choice
  /// within the deadline stays within it.
  void sweep(Choice& choice, std::span<const double> price, double scale, double deadline_s,
             bool forwards);

  /// The next faster option of a pack that no other beats; false where there is none.
  bool quicken(Choice& choice, std::uint32_t pack) const;

  /// Energy of options less idle power x time, the part that a choice decides at a given makespan.
  [[nodiscard]] double own_energy(std::span<const std::uint32_t> choice) const;

 private:
  struct Wait {
    std::uint32_t pack = 0;
    double lag_s = 0;
  };
  struct Way {  // an option that no other beats in both
    double time_s = 0;
    double energy_j = 0;
    std::uint32_t option = 0;
  };
  [[nodiscard]] std::uint32_t best_way(std::uint32_t pack, double price, double window_s,
                                       std::uint32_t option) const;

  const Problem& problem_;
  std::vector<std::uint32_t> in_begin_, out_begin_, way_begin_;
  std::vector<Wait> in_, out_;
  std::vector<Way> ways_;  // of each pack, fastest first
  std::vector<double> early_, late_;
};

}  // namespace ergon::plan
