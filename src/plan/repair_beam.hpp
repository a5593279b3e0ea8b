// Plans from prices: a beam search through all GPUs in the order of time.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "clock_chain.hpp"
#include "network.hpp"

namespace ergon::plan {

/// Keeps the `width` most promising beginnings of a plan. A beginning is judged by the Lagrangian
/// bound on all its completions: the reduced cost of its clocks (exact dynamic program backwards)
/// and the price of the time its packs have waited. Beginnings that would go on alike are one.
class Beam {
 public:
  /// Keeps references to both.
  Beam(const Problem& problem, const Network& net);

  /// `prices` as for PricedBound; `start_s` by index into row, ascending along every wait.
  void prepare(std::span<const double> prices, std::span<const double> start_s, std::span<const double> end_s, double deadline_s, double bend);

  struct Found {
    Choice choice;
    double time_s = 0;
    double energy_j = 0;
    bool any = false;
  };
  /// The least energy among the complete plans of the beam that meet the deadline, and the fastest
  /// plan (for information) if none does.
  Found run(std::uint32_t width, double quantum_s);

 private:
  struct In {
    std::uint32_t from = 0;  // index into row
    std::uint32_t column = 0;
    double lag_s = 0;
    double price = 0;
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
    std::uint32_t state = 0;
    std::uint32_t slot = 0;
    bool changes = false;
  };
  struct Layer {  // states of one step, struct of arrays by row of `columns`
    std::vector<double> ends;
    std::vector<std::uint32_t> slots;   // by state and gpu
    std::vector<std::uint32_t> commit;  // by state and gpu: position up to which the clock is held
    std::vector<double> value;
    std::vector<double> spread;
    std::vector<double> late;           // watts x seconds behind the expected times
    std::vector<std::uint32_t> node;
  };

  void value_chain(std::uint32_t gpu, std::span<const double> prices);
  void assign_columns();
  void expand(std::uint32_t step, std::uint32_t width);
  void select(std::uint32_t step, std::uint32_t width, double quantum_s);
  Found finish();

  const Problem& problem_;
  const Network& net_;
  std::vector<ClockChain> chains_;
  std::vector<std::vector<double>> cost_, free_, begin_, run_cost_;  // by gpu, by slot
  std::vector<std::vector<std::uint32_t>> ranked_;                   // by gpu: slots of a position by begin_
  std::vector<std::vector<double>> change_;                          // by gpu, by position
  std::vector<std::uint32_t> order_;                                 // indices into row
  std::vector<std::uint32_t> gpu_of_;                                // by index into row
  std::vector<double> chain_price_;                                  // by index into row
  std::vector<std::uint32_t> in_begin_;
  std::vector<In> in_;
  std::vector<std::uint32_t> column_, last_use_;                     // by index into row
  std::vector<std::vector<std::uint32_t>> live_;                     // by step: columns in use after it
  std::uint32_t columns_ = 0;
  double deadline_s_ = 0;
  double bend_ = 0;
 public: double each_ = 0; private:
  std::vector<double> weight_, due_, total_, begin_s_;  // by index into row
  double end_price_ = 0;  // of a makespan below the deadline
  std::vector<double> last_price_;  // by gpu: of the time from its end to the makespan
  std::vector<Node> nodes_;
  Layer now_, next_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint64_t> table_;
  std::vector<std::uint32_t> freed_;
};

}  // namespace ergon::plan
