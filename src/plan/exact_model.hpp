// A small problem as a graph of waits, and prices on its waits that bound every plan from below.
#pragma once
#include <cstdint>
#include <vector>

#include "clock_chain.hpp"

namespace ergon::plan {

/// `to` ends no earlier than `lag_s` + its own time after `from` has ended; on a step of one GPU
/// also the time of a change of clock between them. kNoIndex as `from`: the start of everything; as
/// `to`: the makespan, with the change around the end of a repeating GPU.
struct Wait {
  std::uint32_t from = kNoIndex;
  std::uint32_t to = kNoIndex;
  double lag_s = 0;
  bool same_gpu = false;  ///< the step from the pack before on that GPU (or to the makespan)
};

struct ExactModel {
  const Problem* problem = nullptr;
  double limit_s = 0;
  double idle_w = 0;                    ///< of all GPUs
  std::vector<ClockChain> chains;       ///< by GPU
  std::vector<std::uint32_t> position;  ///< by pack: in its GPU's chain
  std::vector<Wait> waits;
  std::vector<std::uint32_t> step_to;  ///< by pack: its wait with same_gpu, or from the start
  std::vector<std::uint32_t>
      step_end;  ///< by GPU: its wait to the makespan, kNoIndex without packs
  std::vector<std::uint32_t> step_from;  ///< by pack: the wait with same_gpu that it begins
  std::vector<std::vector<std::uint32_t>> after;  ///< by pack: waits of its `after`
  std::vector<double> least_rest_s;  ///< by pack: least time from its end to the makespan
};

ExactModel make_exact_model(const Problem& problem, double limit_s);

/// Cheapest way to go on at some prices, by slot of one GPU's chain; see FlowPrices.
using Tail = std::vector<double>;

/// One price for each wait, conserved at every pack (as much flows in as out): the multipliers of
/// the waits in a Lagrangian relaxation. What flows into the makespan is idle_w + deadline_w.
struct FlowPrices {
  std::vector<double> flow_w;                     ///< by wait
  double deadline_w = 0;                          ///< price of the deadline
  double bound_j = 0;                             ///< no plan in time costs less
  std::vector<std::vector<std::uint32_t>> paths;  ///< by GPU: the cheapest slots at these prices
  std::vector<double> path_cost;                  ///< by GPU
  /// By GPU, then by slot of its first pack (one entry where it does not repeat): tails.
  std::vector<std::vector<Tail>> tails;
};

/// Makes `flow_w` conserve, and prices the GPUs' chains with it: bound, paths and tails.
FlowPrices price_flow(const ExactModel& model, std::vector<double> flow_w);

/// Prices that come near the best bound, best first: column generation over the GPUs' plans with a
/// linear program for the waits, and scaled copies of the best.
std::vector<FlowPrices> find_flow_prices(const ExactModel& model);

}  // namespace ergon::plan
