// Earliest and latest times of all packs under a choice.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "clock_chain.hpp"
#include "network.hpp"

namespace ergon::plan {

/// Times by index into Network::row. The same rules as evaluate(), with what a repair looks up.
class Schedule {
 public:
  /// Keeps references to both.
  Schedule(const Problem& problem, const Network& net);

  /// Times of `choice`; the latest ones so that all ends by `deadline_s`.
  void update(std::span<const std::uint32_t> choice, double deadline_s);

  struct Times {
    double early_start_s = 0;
    double early_end_s = 0;
    double late_start_s = 0;
    double late_end_s = 0;
    bool changes = false;  ///< of clock before the pack; of the first of a GPU: at the end of a repeating step
  };
  [[nodiscard]] const Times& operator[](std::uint32_t i) const { return times_[i]; }
  [[nodiscard]] double time_s() const { return time_s_; }

  /// Indices into Network::waits that end or begin at a pack.
  [[nodiscard]] std::span<const std::uint32_t> into(std::uint32_t i) const { return slice(in_, in_begin_, i); }
  [[nodiscard]] std::span<const std::uint32_t> out_of(std::uint32_t i) const { return slice(out_, out_begin_, i); }
  [[nodiscard]] std::uint32_t gpu_of(std::uint32_t i) const { return gpu_of_[i]; }
  /// Indices into row in the order of Problem::packs, which no wait contradicts.
  [[nodiscard]] std::span<const std::uint32_t> order() const { return order_; }

 private:
  static std::span<const std::uint32_t> slice(const std::vector<std::uint32_t>& all,
                                              const std::vector<std::uint32_t>& begin, std::uint32_t i) {
    return std::span(all).subspan(begin[i], begin[i + 1] - begin[i]);
  }

  const Problem& problem_;
  const Network& net_;
  std::vector<std::uint32_t> in_begin_, out_begin_, in_, out_, gpu_of_, order_;
  std::vector<Times> times_;
  double time_s_ = 0;
};

}  // namespace ergon::plan
