// Least-energy times of a network without switch cost: the dual, a min-cost flow with convex
// piecewise linear costs.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "network.hpp"

namespace ergon::plan {

/// One corner of the lower convex hull of a pack's (time, energy) options.
struct Corner {
  std::uint32_t option = 0;
  double time_s = 0;
  double energy_j = 0;  ///< less idle power x time
};

/// Per pack (by index into Network::row) the decreasing part of the lower convex hull, slowest
/// corner first: what is optimal at some price of time >= 0, with rising prices.
struct Hulls {
  std::vector<Corner> corners;
  std::vector<std::uint32_t> begin;  ///< by index into row, and one more
};
Hulls make_hulls(const Problem& problem, const Network& net);

/// Network simplex on the flow of prices, warm-started from one deadline, or one set of changed
/// times, to the next. Times and prices are scaled to integers, so that pivots are exact, ties are
/// broken by strongly feasible trees and the walk ends; what is certified is computed from the
/// prices in double precision elsewhere.
class NetworkSimplex {
 public:
  NetworkSimplex(const Network& net, const Hulls& hulls);

  /// Optimal prices and event times; false where even the fastest options are too slow.
  [[nodiscard]] bool solve(double deadline_s);

  /// W, at least 0; a flow from kBegin to kEnd but for rounding, whose value is at least idle_w.
  [[nodiscard]] double price(std::uint32_t arc) const;
  /// Latest times consistent with the deadline are not promised; consistent times are.
  [[nodiscard]] double node_time(std::uint32_t node) const;
  /// Number of hull steps of segment `arc` that are taken in full (from slow to fast, cheapest
  /// first), and whether the next one is taken in part.
  struct Cut {
    std::uint32_t steps = 0;
    double share = 0;  ///< of the next step
  };
  [[nodiscard]] Cut cut(std::uint32_t arc) const;
  /// The hull steps of a segment in the order in which they are taken: index into row.
  [[nodiscard]] std::span<const std::uint32_t> steps(std::uint32_t arc) const;

  /// From now on the pack at `row_index` takes `time_s`, whatever the price.
  void fix(std::uint32_t row_index, double time_s);
  /// Takes back all calls of fix().
  void unfix();
  /// The time given to fix(), negative where there is none.
  [[nodiscard]] double fixed(std::uint32_t row_index) const { return fixed_time_[row_index]; }
  [[nodiscard]] std::uint64_t pivots() const { return pivots_; }

 private:
  using Int = std::int64_t;
  static constexpr Int kMuch = Int{1} << 60;

  void build_tree(std::uint32_t nodes);
  void load_piece(std::uint32_t arc);
  [[nodiscard]] bool find_entering();
  [[nodiscard]] bool pivot();
  void shift(std::uint32_t node, Int by);
  void link(std::uint32_t node, std::uint32_t parent);
  void unlink(std::uint32_t node);
  void retime_tree();
  void settle_times(std::uint32_t arc);

  // Pieces of all arcs: piece q of an arc takes time_[q] at flows from brk_[q] to brk_[q + 1].
  std::vector<Int> time_, base_time_, brk_;
  std::vector<std::uint32_t> piece_begin_;  // by arc, and one more
  std::vector<std::uint32_t> step_pack_;    // by piece but the first of an arc: index into row

  // By arc.
  std::vector<std::uint32_t> tail_, head_, piece_, first_, last_;
  std::vector<Int> flow_, lags_;
  std::vector<Int> fast_, slow_;  // least and most window that agree with the flow
  std::vector<char> in_tree_;

  // By node: a spanning tree hung up at kEnd.
  std::vector<Int> when_;
  std::vector<std::uint32_t> parent_, tree_arc_, child_, next_, prev_, mark_;

  // By index into row.
  std::vector<std::uint32_t> pack_arc_;
  std::vector<Int> slow_time_;
  std::vector<double> fixed_time_;  // negative when free
  std::vector<std::uint32_t> fixed_;

  std::uint32_t return_arc_ = 0, arcs_ = 0;
  std::uint32_t block_ = 0, scan_ = 0;
  std::uint32_t entering_ = 0, stamp_ = 0;
  bool rising_ = true;
  double time_unit_ = 1, price_unit_ = 1;
  std::uint64_t pivots_ = 0;
  std::vector<std::uint32_t> stack_;
};

}  // namespace ergon::plan
