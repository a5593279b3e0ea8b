// The packs of one GPU in order, flattened for dynamic programming over (pack, clock).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ergon/plan.hpp"

namespace ergon::plan {

inline constexpr std::uint32_t kNoIndex = ~std::uint32_t{0};

/// All options of the packs of one GPU. A *slot* is an index into the arrays of options; the slots
/// of the pack at position i are first[i] to first[i + 1] - 1, in ascending order of clock.
struct ClockChain {
  std::vector<std::uint32_t> packs;  ///< by position: index into Problem::packs
  std::vector<std::uint32_t> first;  ///< by position, and one more
  std::vector<double> clock_hz;      ///< by slot, as all that follow
  std::vector<double> time_s;
  std::vector<double> energy_j;
  std::vector<std::uint32_t> option;  ///< index into Pack::options
  std::vector<std::uint32_t> before;  ///< slot of this clock in the pack before, or kNoIndex
  std::vector<std::uint32_t> after;   ///< slot of this clock in the pack after, or kNoIndex
  /// Slot (of the same clock) with which a run that starts here is first as long as min_run_s, or
  /// kNoIndex where it never is. Itself without min_run_s.
  std::vector<std::uint32_t> run_end;
  std::vector<std::uint32_t> position;  ///< position of the pack of the slot
  SwitchCost switching;
  bool repeats = false;
  bool aligned = false;  ///< every pack lists the same clocks

  [[nodiscard]] std::size_t size() const { return packs.size(); }
  [[nodiscard]] std::size_t slots() const { return clock_hz.size(); }
};

ClockChain make_clock_chain(const Problem& problem, std::uint32_t gpu);

/// The same packs beginning with the one at position `cut`; nothing runs around its ends.
ClockChain rotated(const ClockChain& chain, std::uint32_t cut);

}  // namespace ergon::plan
