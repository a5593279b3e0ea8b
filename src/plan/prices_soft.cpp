// Forward and backward sums over (pack, clock). A change of clock costs the same from any clock to
// any other, so one sum over all clocks (the hub) carries all changes and a position takes time
// linear in its clocks.
#include "prices_soft.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ergon::plan {
namespace {

// exp(x) for x <= 0 in a form that compilers turn into vector code; relative error below 1e-13, 0
// below -700.
inline double exp_of(double x) {
  constexpr double kShift = 0x1.8p52;
  const double clamped = std::max(x, -700.0);
  const double k = clamped * 1.4426950408889634 + kShift;
  const double rounded = k - kShift;
  const double r =
      (clamped - rounded * 6.93147180369123816490e-01) - rounded * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const auto bits = std::bit_cast<std::uint64_t>(k) << 52U;  // the low bits of k are the exponent
  const double scaled = std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + bits);
  return x < -700.0 ? 0.0 : scaled;
}

}  // namespace

SoftChain::SoftChain(const ClockChain& chain)
    : chain_(chain),
      straight_(chain.size(), 0),
      weight_(chain.slots()),
      least_(chain.size()),
      ahead_(chain.slots()),
      share_(chain.slots()),
      keep_(chain.size()),
      leap_(chain.size()),
      scale_(chain.size()),
      mean_(chain.size()),
      variance_(chain.size()),
      change_(chain.size()) {
  std::size_t widest = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const std::uint32_t first = chain.first[i];
    const std::uint32_t width = chain.first[i + 1] - first;
    widest = std::max<std::size_t>(widest, width);
    bool straight = i > 0 && chain.first[i] - chain.first[i - 1] == width;
    for (std::uint32_t k = 0; straight && k < width; ++k)
      straight = chain.before[first + k] == chain.first[i - 1] + k;
    straight_[i] = straight ? 1 : 0;
  }
  after_.resize(widest);
  reach_.resize(widest);
}

double SoftChain::solve(std::span<const double> pack_price, std::span<const double> switch_price,
                        double temperature_j) {
  if (chain_.size() == 0) return 0;
  weigh(pack_price, temperature_j);
  const double value = forward(switch_price, temperature_j);
  backward();
  return value;
}

void SoftChain::weigh(std::span<const double> pack_price, double temperature_j) {
  const double inverse = 1 / temperature_j;
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    const std::uint32_t first = chain_.first[i];
    const std::uint32_t width = chain_.first[i + 1] - first;
    const double* energy = chain_.energy_j.data() + first;
    const double* time = chain_.time_s.data() + first;
    double* weight = weight_.data() + first;
    const double price = pack_price[i];
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t k = 0; k < width; ++k) {
      weight[k] = energy[k] + price * time[k];
      least = std::min(least, weight[k]);
    }
    for (std::uint32_t k = 0; k < width; ++k) weight[k] = exp_of((least - weight[k]) * inverse);
    least_[i] = least;
  }
}

double SoftChain::forward(std::span<const double> switch_price, double temperature_j) {
  double value = 0;
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    const std::uint32_t first = chain_.first[i];
    const std::uint32_t width = chain_.first[i + 1] - first;
    const double* weight = weight_.data() + first;
    double* ahead = ahead_.data() + first;
    if (i == 0) {
      keep_[i] = 0;
      leap_[i] = 1;
      std::copy_n(weight, width, ahead);
    } else {
      const double cost = chain_.switching.energy_j + switch_price[i] * chain_.switching.time_s;
      // A floor keeps far states reachable in floating point; it only tints the search.
      const double leap = std::max(exp_of(-std::max(cost, 0.0) / temperature_j), 1e-290);
      keep_[i] = 1 - leap;
      leap_[i] = leap;
      if (straight_[i] != 0) {
        const double* before = ahead_.data() + chain_.first[i - 1];
        for (std::uint32_t k = 0; k < width; ++k)
          ahead[k] = weight[k] * (keep_[i] * before[k] + leap);
      } else {
        for (std::uint32_t k = 0; k < width; ++k) {
          const std::uint32_t b = chain_.before[first + k];
          ahead[k] = weight[k] * ((b == kNoIndex ? 0.0 : keep_[i] * ahead_[b]) + leap);
        }
      }
    }
    double sum = 0;
    for (std::uint32_t k = 0; k < width; ++k) sum += ahead[k];
    scale_[i] = 1 / sum;
    for (std::uint32_t k = 0; k < width; ++k) ahead[k] *= scale_[i];
    value += least_[i] - temperature_j * std::log(sum);
  }
  return value;
}

void SoftChain::backward() {
  // after_[k]: weight of all ends that follow slot k, relative, so that ahead x after is a chance.
  std::size_t i = chain_.size() - 1;
  std::fill(after_.begin(), after_.end(), 1.0);
  while (true) {
    const std::uint32_t first = chain_.first[i];
    const std::uint32_t width = chain_.first[i + 1] - first;
    const double* ahead = ahead_.data() + first;
    const double* weight = weight_.data() + first;
    const double* time = chain_.time_s.data() + first;
    double* share = share_.data() + first;
    double mean = 0;
    double square = 0;
    for (std::uint32_t k = 0; k < width; ++k) {
      share[k] = ahead[k] * after_[k];
      mean += share[k] * time[k];
      square += share[k] * time[k] * time[k];
    }
    mean_[i] = mean;
    variance_[i] = std::max(square - mean * mean, 0.0);
    if (i == 0) break;
    double hub = 0;
    for (std::uint32_t k = 0; k < width; ++k) {
      reach_[k] = weight[k] * after_[k] * scale_[i];
      hub += reach_[k];
    }
    const std::uint32_t before_first = chain_.first[i - 1];
    const std::uint32_t before_width = first - before_first;
    const double* before = ahead_.data() + before_first;
    double stay = 0;
    const double keep = keep_[i];
    const double leap = leap_[i] * hub;
    if (straight_[i] != 0) {
      for (std::uint32_t k = 0; k < width; ++k) {
        stay += before[k] * reach_[k];
        after_[k] = keep * reach_[k] + leap;
      }
    } else {
      for (std::uint32_t k = 0; k < before_width; ++k) {
        const std::uint32_t a = chain_.after[before_first + k];
        const double reach = a == kNoIndex ? 0.0 : reach_[a - first];
        stay += before[k] * reach;
        after_[k] = keep * reach + leap;
      }
    }
    change_[i] = std::clamp(1 - stay, 0.0, 1.0);
    --i;
  }
  change_[0] = 0;
}

}  // namespace ergon::plan
