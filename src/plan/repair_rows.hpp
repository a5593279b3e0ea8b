// Repairs and improves plans with switch cost one GPU at a time, the others held where they are.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "clock_chain.hpp"
#include "network.hpp"
#include "repair_schedule.hpp"

namespace ergon::plan {

/// Label-setting dynamic program over (pack, clock, time) of one GPU between releases and due times.
class RowRefit {
 public:
  /// Keeps references to both.
  RowRefit(const Problem& problem, const Network& net);

  /// Prices of time (W, by arc) for all further calls; they guide, they do not bind.
  void set_prices(std::span<const double> prices);

  struct Effort {
    double price_scale = 0;    ///< share of the price that time costs, 0 to 1
    double spread = 0;         ///< where slack goes: 0 to the end of the step, 1 to its beginning, between: in proportion
    std::uint32_t labels = 24; ///< per pack and clock
    double reach_j = 10;       ///< how much worse than the best a label may look
  };
  /// Refits each GPU once. A choice within the deadline stays within it and never costs more at the
  /// scaled prices but for what `labels` cuts off; returns whether anything changed.
  bool sweep(Choice& choice, double deadline_s, const Effort& effort);

 private:
  struct Label {
    double end_s = 0;
    double cost_j = 0;
    std::uint32_t before = 0;  // index into labels_
    std::uint32_t slot = 0;
  };
  bool refit(std::uint32_t gpu, Choice& choice, double deadline_s, const Effort& effort);
  void windows(std::uint32_t gpu, double deadline_s, const Effort& effort);
  void thin(std::vector<Label>& labels, std::uint32_t most);

  const Problem& problem_;
  const Network& net_;
  std::vector<ClockChain> chains_;
  Schedule schedule_;
  std::vector<std::vector<double>> cost_, free_, hub_;  // by gpu, by slot / by slot / by position
  std::vector<double> pack_price_, switch_price_;       // by index into row
  std::vector<double> release_, due_;
  std::vector<Label> labels_, hub_labels_, fresh_;
  std::vector<std::vector<Label>> at_, next_at_;  // by rank of slot
};

}  // namespace ergon::plan
