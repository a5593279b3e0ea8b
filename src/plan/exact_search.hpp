// Joint partial plans of all GPUs, pruned by dominance and by bounds from flow prices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exact_model.hpp"

namespace ergon::plan {

/// Searches for plans that cost less than an incumbent. Every plan in time that does is an
/// extension of a label kept or dropped for room.
class ExactSearch {
 public:
  ExactSearch(const ExactModel& model, const std::vector<FlowPrices>& prices);

  /// Keeps at most `width` labels a pack. `incumbent_j` may be infinite.
  void run(double incumbent_j, std::size_t width);

  [[nodiscard]] bool improved() const { return !best_.empty(); }
  [[nodiscard]] const Choice& best() const { return best_; }
  [[nodiscard]] double incumbent_j() const { return incumbent_; }
  [[nodiscard]] double bound_of_dropped() const { return dropped_; }

 private:
  // The labels after some pack. Figures of a label: energy (less idle power in packs), end of each
  // GPU, ends of packs that later ones wait for, then (with a minimum run) the time of each GPU's
  // run and of its first run, both at most the minimum. Marks: each GPU's last slot, its first slot
  // (where it repeats) and whether it has changed its clock.
  struct Layer {
    std::size_t count = 0;
    std::vector<double> figures;
    std::vector<std::uint32_t> marks;
    std::vector<std::uint32_t> parent;
    std::vector<std::uint32_t> option;
    std::vector<double> bound;
  };
  // Shape of the labels after pack k - 1.
  struct Shape {
    std::vector<std::uint32_t> live;  // packs that later ones wait for
    std::vector<double> lags;         // by prices: flow * lag of waits not yet over, less deadline
    std::vector<std::uint32_t> cut;   // `after` waits from placed packs to later ones
    std::vector<std::uint32_t> cut_live;  // by cut: which live pack it leaves
  };

  void make_shapes();
  void expand(std::uint32_t pack);
  bool extend(std::uint32_t pack, const double* from, const std::uint32_t* marks,
              std::uint32_t slot);
  [[nodiscard]] double bound(std::uint32_t placed, const double* figures,
                             const std::uint32_t* marks) const;
  void drop_dominated(Layer& layer) const;
  void make_room(Layer& layer, std::size_t width);
  void compact(Layer& layer, const std::vector<std::uint32_t>& keep) const;
  void complete_some(std::uint32_t placed);
  void offer(const Choice& choice);
  [[nodiscard]] std::size_t figures() const;
  [[nodiscard]] std::size_t live_at(std::size_t k) const { return 1 + gpus_ + k; }

  const ExactModel& m_;
  const std::vector<FlowPrices>& prices_;
  std::size_t gpus_;
  double shortest_;
  bool runs_;
  std::size_t stride_ = 0;  // figures of a label, the most that any shape needs
  std::size_t run_at_ = 0;  // where the times of runs begin
  std::size_t marks_ = 0;
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> live_slot_;  // by pack: where its end is kept while it is live
  std::vector<Layer> layers_;
  std::vector<double> next_;  // scratch: one label
  std::vector<std::uint32_t> next_marks_;
  double incumbent_ = 0;
  double dropped_ = 0;
  Choice best_;
};

}  // namespace ergon::plan
