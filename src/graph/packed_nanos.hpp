// Nanoseconds at about four bytes each: neighbours share a 64-bit base.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::graph {

/// A growing list of times. Blocks of 64 keep 32-bit offsets from their least value; a block that
/// spans more than 2^32 ns (4.3 s) keeps its values whole.
class PackedNanos {
 public:
  static constexpr std::size_t kBlock = 64;

  void reserve(std::size_t n) {
    low_.reserve(n + kBlock);
    blocks_.reserve(n / kBlock + 1);
  }
  void push_back(Nanos v) {
    pending_[fill_++] = v;
    if (fill_ == kBlock) flush();
  }
  /// Must follow the last push_back.
  void finish() {
    if (fill_ > 0) flush();
  }
  [[nodiscard]] Nanos operator[](std::size_t i) const {
    const Block& block = blocks_[i / kBlock];
    if (block.whole != kNone) return whole_[block.whole + i % kBlock];
    return block.base + static_cast<Nanos>(low_[i]);
  }
  [[nodiscard]] std::size_t size() const { return low_.size() + fill_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;
  struct Block {
    Nanos base = 0;
    std::uint32_t whole = kNone;
  };
  void flush() {
    Nanos least = pending_[0];
    Nanos most = pending_[0];
    for (std::size_t i = 1; i < fill_; ++i) {
      least = std::min(least, pending_[i]);
      most = std::max(most, pending_[i]);
    }
    Block block{least, kNone};
    if (static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least) > 0xffffffffULL) {
      block.whole = static_cast<std::uint32_t>(whole_.size());
      whole_.insert(whole_.end(), pending_.begin(),
                    pending_.begin() + static_cast<std::ptrdiff_t>(fill_));
      low_.insert(low_.end(), fill_, 0U);
    } else {
      std::array<std::uint32_t, kBlock> low;
      for (std::size_t i = 0; i < fill_; ++i)
        low[i] = static_cast<std::uint32_t>(pending_[i] - least);
      low_.insert(low_.end(), low.begin(), low.begin() + static_cast<std::ptrdiff_t>(fill_));
    }
    blocks_.push_back(block);
    fill_ = 0;
  }

  std::vector<std::uint32_t> low_;
  std::vector<Block> blocks_;
  std::vector<Nanos> whole_;
  std::array<Nanos, kBlock> pending_{};
  std::size_t fill_ = 0;
};

}  // namespace ergon::graph
