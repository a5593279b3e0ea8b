// Plans from prices, and better plans from plans: a beam search through all GPUs in the order of time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "clock_chain.hpp"
#include "network.hpp"
#include "repair_schedule.hpp"

namespace ergon::plan {

/// Keeps the `width` most promising beginnings of a plan. A beginning is judged by the Lagrangian
/// bound on all its completions: the reduced cost of its clocks (exact dynamic program backwards)
/// and the price of the time its packs have waited. Beginnings that go on alike are one.
class Beam {
 public:
  /// Keeps references to both.
  Beam(const Problem& problem, const Network& net);

  /// Prices (W, by arc) that form a flow; they guide the search.
  void set_prices(std::span<const double> prices, double deadline_s);

  struct Guide {
    std::span<const double> start_s, end_s;  ///< expected times by index into row, in the order of waits
    double bend = 0;  ///< J/s^2 that being late on the whole costs beyond its price
    double each = 0;  ///< J/s^2 that one GPU's being early or late costs
  };
  /// A plan from nothing. It may end after the deadline.
  Choice build(const Guide& guide, std::uint32_t width);

  struct Window {
    double from_s = 0;
    double to_s = 0;
    double price_scale = 0;   ///< share of its price that time gained is worth
    std::uint32_t width = 200;
  };
  /// Searches anew for the clocks of all packs that start within the window, everything else held.
  /// `schedule` is that of `choice`. True if `choice` has become better (at the scaled price); the
  /// deadline of the schedule is kept.
  bool improve(Choice& choice, const Schedule& schedule, const Window& window);

 private:
  struct In {
    double lag_s = 0;
    double price = 0;
    double end_s = 0;            // of a pack outside the window
    std::uint32_t from = 0;      // index into row
    bool inside = false;
  };
  struct Node {
    std::uint32_t before = 0;
    std::uint32_t slot = 0;
  };
  struct Candidate {
    double rank = 0;
    double value = 0;
    double late = 0;
    double spread = 0;
    double end_s = 0;
    std::uint32_t state = 0;
    std::uint32_t slot = 0;
    bool changes = false;
  };
  struct State {
    double value = 0;   // Lagrangian cost beyond the bound
    double late = 0;    // watts x seconds behind the guide
    double spread = 0;  // sum of squares of the GPUs' distances from the guide
    double exits = 0;   // price x time of what leaves the window
    std::uint32_t node = 0;
  };
  struct Layer {
    std::vector<State> states;
    std::vector<double> ends;           // by state and column
    std::vector<std::uint32_t> slots;   // by state and gpu
    std::vector<std::uint32_t> commit;  // by state and gpu: position up to which the clock is held
  };
  struct Range {  // of one GPU in the window
    std::uint32_t from = 0, to = 0;     // positions
    std::uint32_t next_slot = kNoIndex; // of the first pack after it
    std::uint32_t next_run_end = 0;     // last position of the run that begins there
    bool next_long_enough = true;       // that run, without the packs before
    std::uint32_t slot = kNoIndex;      // of the pack before it
    std::uint32_t commit = 0;
    double end_s = 0;
    double due_next_s = 0;              // latest start of the first pack after it
  };

  void value_range(std::uint32_t gpu, const Range& range);
  void assign_columns();
  void search(std::uint32_t width);
  void expand(std::uint32_t step, std::uint32_t width);
  void select(std::uint32_t step, std::uint32_t width);
  void list_ins(const Schedule* schedule);
  void limit_ends(const Schedule& schedule);
  void write(std::uint32_t node, Choice& choice) const;
  [[nodiscard]] std::uint32_t slot_of(const Choice& choice, std::uint32_t i) const;

  const Problem& problem_;
  const Network& net_;
  std::vector<ClockChain> chains_;
  std::vector<std::uint32_t> gpu_of_, step_of_;         // by index into row
  std::vector<std::vector<double>> cost_, free_, begin_, run_cost_;  // by gpu, by slot
  std::vector<std::vector<std::uint32_t>> ranked_;      // by gpu: slots of a position by begin_
  std::vector<std::vector<double>> change_;             // by gpu, by position
  std::vector<double> chain_price_, pack_price_, wait_price_;
  std::vector<double> least_time_;                      // by index into row
  double deadline_s_ = 0;

  // Of the search under way.
  std::vector<Range> ranges_;
  std::vector<std::uint32_t> order_;                    // indices into row
  std::vector<std::uint32_t> in_begin_;                 // by step
  std::vector<In> in_;
  std::vector<double> exit_price_;                      // by step
  std::vector<double> latest_;                          // by step: latest end
  std::vector<double> due_, weight_sum_, progress_;     // by step
  double bend_ = 0, each_ = 0, quantum_s_ = 1e-3;
  std::vector<std::uint32_t> column_;                   // by index into row
  std::vector<std::vector<std::uint32_t>> live_;        // by step: columns in use after it
  std::uint32_t columns_ = 0;
  std::vector<std::uint32_t> incumbent_;                // by step: slot, or none
  std::uint32_t incumbent_state_ = 0;
  std::vector<Node> nodes_;
  Layer now_, next_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint64_t> table_;
};

}  // namespace ergon::plan
