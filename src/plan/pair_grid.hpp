// Functions of a time difference on a grid, kept below the true ones in every step.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace ergon::plan {

/// Grid points -half*step ... half*step. A function is known by a value a point; between two points
/// the straight line is a lower bound of the true function, beyond the ends the end's value is.
struct PairGrid {
  double step_s = 0;
  std::uint32_t half = 0;

  [[nodiscard]] std::uint32_t size() const { return 2 * half + 1; }
  [[nodiscard]] double at(std::uint32_t k) const {
    return (static_cast<double>(k) - static_cast<double>(half)) * step_s;
  }
};

/// out(d) <= cost + in(d + by_s). `in` and `out` may be the same.
class GridShift {
 public:
  explicit GridShift(const PairGrid& grid) : grid_(grid), scratch_(3 * grid.size() + 8) {}
  void apply(std::span<const double> in, double by_s, double cost, std::span<double> out);

 private:
  PairGrid grid_;
  std::vector<double> scratch_;
};

/// What happens to the difference d = (end on a) - (end on b) where both GPUs go on, and what
/// waiting costs there: the new difference is start_a - start_b with
///   start_a = max(d + change_a_s, lag_a_s), start_b = max(change_b_s, d + lag_b_s),
/// a maximum only where that GPU waits for the other.
struct PairMeeting {
  bool a_waits = false, b_waits = false;
  double lag_a_s = 0, lag_b_s = 0;
  double own_a_w = 0, own_b_w = 0;      ///< price of idling after the own pack before
  double other_a_w = 0, other_b_w = 0;  ///< price of starting later than the other GPU demands
  double change_a_s = 0, change_b_s = 0;
};

/// out(d) <= in(new difference) + price of the waiting.
class GridMeeting {
 public:
  GridMeeting(const PairGrid& grid, const PairMeeting& meeting);
  void apply(std::span<const double> in, std::span<double> out);

 private:
  struct Sample {
    std::uint32_t index = 0;
    double share = 0;  // of the value at index + 1
    double price = 0;
  };
  struct Break {
    std::uint32_t cell = 0;
    double share = 0;
    Sample sample;
  };
  [[nodiscard]] double after(double d) const;
  [[nodiscard]] double price(double d) const;
  [[nodiscard]] double place(double d) const;
  [[nodiscard]] Sample sample(double d) const;
  void break_at(std::uint32_t cell, double d);

  PairGrid grid_;
  PairMeeting meeting_;
  std::vector<Sample> samples_;  // by grid point
  std::vector<Break> breaks_;    // bends between grid points
  std::vector<double> lower_;    // scratch, by cell
};

}  // namespace ergon::plan
