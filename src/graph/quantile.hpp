// Quantiles of many durations in fixed memory.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::graph {

/// Counts durations in buckets of at most 1.6 % width (exact below 128 ns). Order of insertion does
/// not matter.
class DurationHistogram {
 public:
  void add(Nanos v) {
    if (counts_.empty()) counts_.assign(bucket(std::int64_t{1} << 62) + 1, 0);
    ++counts_[bucket(v < 0 ? 0 : v)];
    ++total_;
  }
  [[nodiscard]] std::uint64_t count() const { return total_; }
  /// The lower edge of the bucket that holds the q-quantile: never above the value itself. 0 when
  /// empty.
  [[nodiscard]] Nanos quantile(double q) const {
    if (total_ == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(q * static_cast<double>(total_ - 1));
    std::uint64_t seen = 0;
    for (std::size_t b = 0; b < counts_.size(); ++b) {
      seen += counts_[b];
      if (seen > rank) return lower_edge(b);
    }
    return 0;
  }

 private:
  static constexpr unsigned kBits = 6;  // 64 buckets an octave
  static std::size_t bucket(std::int64_t v) {
    const auto u = static_cast<std::uint64_t>(v);
    if (u < (1U << (kBits + 1))) return static_cast<std::size_t>(u);
    const unsigned shift = static_cast<unsigned>(std::bit_width(u)) - (kBits + 1);
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(u >> shift);
  }
  static Nanos lower_edge(std::size_t b) {
    if (b < (1U << (kBits + 1))) return static_cast<Nanos>(b);
    const std::size_t shift = (b >> kBits) - 1;
    return static_cast<Nanos>((b - (shift << kBits)) << shift);
  }
  std::vector<std::uint32_t> counts_;
  std::uint64_t total_ = 0;
};

}  // namespace ergon::graph
