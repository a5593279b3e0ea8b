// GPUs that all wait for each other again and again: between two such meetings the packs are a
// problem of their own, so the whole is a chain of blocks.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "ergon/plan.hpp"

namespace ergon::plan {

/// Where no change of clock costs anything, a block is one pack of a chain: its options are all
/// (time, least energy) that no other beats, so nothing is lost. The chain solver then proves what
/// prices of time alone cannot: they mix the options of each pack freely.
class Blocks {
 public:
  /// Nothing where the GPUs do not all meet, where packs of one block wait for each other, or where
  /// the options of a block are too many. Keeps a reference to the problem, which has no switch
  /// cost.
  static std::optional<Blocks> find(const Problem& problem);

  /// As plan::solve().
  Result<Solution> solve(double deadline_s, const SolveOptions& options) const;

 private:
  struct Point {
    double time_s = 0;
    double own_j = 0;          // energy less idle power x time
    std::uint32_t before = 0;  // of the points without the last pack
    std::uint32_t option = 0;  // of the last pack
  };
  struct Run {  // packs of one GPU in one block
    std::vector<std::uint32_t> packs;
    std::vector<std::vector<Point>> points;  // after 0, 1, ... packs; fastest first
  };
  struct Block {
    double lag_s = 0;       // between the meeting before it and its begin
    std::vector<Run> runs;  // by GPU
  };

  explicit Blocks(const Problem& problem) : problem_(problem) {}
  bool cut();
  bool fill(Block& block) const;
  [[nodiscard]] Pack pack_of(const Block& block) const;
  [[nodiscard]] Choice choice_of(const Choice& blocks) const;

  const Problem& problem_;
  std::vector<Block> blocks_;
  Problem chain_;
};

}  // namespace ergon::plan
