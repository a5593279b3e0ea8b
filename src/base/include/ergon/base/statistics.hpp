// What several modules count with.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ergon {

/// The middle value, or the mean of the two middle ones; 0 for none.
double median_of(std::vector<double> values);

/// Student's t, two-sided 95 %, by degrees of freedom; that of the normal distribution above 30, 0
/// for none.
double student95(std::size_t freedom);

/// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): the same numbers everywhere for a seed, which the
/// standard distributions and std::shuffle do not promise.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// In [0, bound); bound above 0.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

 private:
  std::uint64_t state_;
};

}  // namespace ergon
