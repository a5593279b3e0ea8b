// Partial plans of a span that differ in time and energy, pruned by bounds on how they can end.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chain_span.hpp"

namespace ergon::plan {

/// One sweep over the positions of a span. Every plan of the span that costs less than
/// `incumbent * (1 - target_gap)` is an extension of a kept label, or of one dropped for room;
/// so min(bound_of_dropped(), incumbent_j() * (1 - target_gap)) is a lower bound afterwards.
class LabelSearch {
 public:
  /// `ends`: backward passes at different prices, `reference` the one at the best price.
  LabelSearch(const SpanPricer& pricer, const std::vector<Pass>& ends, std::size_t reference,
              double limit_s);

  /// Keeps at most `width` labels a position.
  void run(double incumbent_j, double target_gap, std::size_t width);

  [[nodiscard]] double incumbent_j() const { return incumbent_; }
  [[nodiscard]] double bound_of_dropped() const { return dropped_; }
  /// Whether run() found a plan better than the incumbent it was given.
  [[nodiscard]] bool improved() const { return found_.slot != kNoIndex; }
  /// That plan's slots by position.
  void write_plan(std::vector<std::uint32_t>& slots) const;

 private:
  struct Label {
    double time_s;
    double energy_j;
    std::uint32_t run;  // index into runs_: the run it is in
  };
  struct Run {
    std::uint32_t start;     // its first slot
    std::uint32_t previous;  // index into runs_, or kNoIndex
  };
  struct Found {
    std::uint32_t slot = kNoIndex;
    std::uint32_t run = kNoIndex;
    std::size_t end = 0;  // which backward pass completes it
  };
  using Labels = std::vector<Label>;

  bool survives(double time_s, double energy_j, std::uint32_t slot, std::uint32_t run);
  double bound(double time_s, double energy_j, std::uint32_t slot) const;
  void begin_runs(std::uint32_t i);
  void continue_runs(std::uint32_t i);
  void make_room(std::uint32_t i, std::size_t width);
  void gather(std::uint32_t i);
  void merge_into(Labels& into, const Labels& from);

  const SpanPricer& pricer_;
  const std::vector<Pass>& ends_;
  const Pass& reference_;
  Pass ahead_;  // forward pass at the reference price
  double limit_;
  double incumbent_ = 0;
  double threshold_ = 0;  // labels that cannot end below it die
  double target_gap_ = 0;
  double dropped_ = 0;
  Found found_;
  std::vector<Run> runs_;
  std::vector<Labels> at_;  // by slot: ascending time, descending energy
  Labels hub_;              // of the position before, whatever its slot
  Labels moved_, merged_;   // scratch
  std::vector<double> bounds_;
};

}  // namespace ergon::plan
