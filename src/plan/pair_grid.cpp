// A straight line between grid points may lie above a bend; both ends of such a cell are lowered by
// as much.
#include "pair_grid.hpp"

#include <algorithm>
#include <cmath>

namespace ergon::plan {

void GridShift::apply(std::span<const double> in, double by_s, double cost, std::span<double> out) {
  const auto size = static_cast<std::ptrdiff_t>(grid_.size());
  const double place = by_s / grid_.step_s;
  const double whole = std::floor(place);
  const double share = place - whole;
  // From here on both tails are flat, so a longer shift changes nothing.
  const auto n = static_cast<std::ptrdiff_t>(
      std::clamp(whole, -static_cast<double>(size), static_cast<double>(size)));
  // in(k + n) for k = -1 ... size + 1, flat beyond the ends.
  double* shifted = scratch_.data();
  const std::ptrdiff_t begin = std::clamp<std::ptrdiff_t>(-n, -1, size + 2);
  const std::ptrdiff_t end = std::clamp<std::ptrdiff_t>(size - n, -1, size + 2);
  std::fill(shifted, shifted + begin + 1, in.front());
  if (end > begin) std::copy(in.begin() + begin + n, in.begin() + end + n, shifted + begin + 1);
  std::fill(shifted + std::max(begin, end) + 1, shifted + size + 3, in.back());
  double low = in.front();
  double high = in.back();
  if (by_s > 0)
    for (std::ptrdiff_t k = 0; k < std::min(n + 2, size); ++k)
      low = std::min(low, in[static_cast<std::size_t>(k)]);
  if (by_s < 0)
    for (std::ptrdiff_t k = std::max<std::ptrdiff_t>(size - 1 + n, 0); k < size; ++k)
      high = std::min(high, in[static_cast<std::size_t>(k)]);
  const double bend = share * (1 - share);
  double* bends = scratch_.data() + size + 4;  // by cell, from the one before the first point
  for (std::ptrdiff_t k = 0; k <= size; ++k)
    bends[k] = std::max(0.0, bend * (shifted[k] - 2 * shifted[k + 1] + shifted[k + 2]));
  for (std::ptrdiff_t k = 0; k < size; ++k)
    out[static_cast<std::size_t>(k)] = cost + (1 - share) * shifted[k + 1] +
                                       share * shifted[k + 2] - std::max(bends[k], bends[k + 1]);
  out.front() = std::min(out.front(), cost + low);
  out.back() = std::min(out.back(), cost + high);
}

double GridMeeting::after(double d) const {
  const PairMeeting& m = meeting_;
  const double own_a = d + m.change_a_s;
  const double a = m.a_waits ? std::max(own_a, m.lag_a_s) : own_a;
  const double b = m.b_waits ? std::max(m.change_b_s, d + m.lag_b_s) : m.change_b_s;
  return a - b;
}

double GridMeeting::price(double d) const {
  const PairMeeting& m = meeting_;
  double sum = 0;
  if (m.a_waits) {
    const double early = m.lag_a_s - (d + m.change_a_s);
    sum += early > 0 ? m.own_a_w * early : -m.other_a_w * early;
  }
  if (m.b_waits) {
    const double early = d + m.lag_b_s - m.change_b_s;
    sum += early > 0 ? m.own_b_w * early : -m.other_b_w * early;
  }
  return sum;
}

double GridMeeting::place(double d) const { return after(d) / grid_.step_s + grid_.half; }

GridMeeting::Sample GridMeeting::sample(double d) const {
  const double p = std::clamp(place(d), 0.0, 2.0 * grid_.half);
  const double whole = std::min(std::floor(p), 2.0 * grid_.half - 1);
  return {static_cast<std::uint32_t>(whole), p - whole, price(d)};
}

void GridMeeting::break_at(std::uint32_t cell, double d) {
  const double share = std::clamp((d - grid_.at(cell)) / grid_.step_s, 0.0, 1.0);
  breaks_.push_back({cell, share, sample(d)});
}

GridMeeting::GridMeeting(const PairGrid& grid, const PairMeeting& meeting)
    : grid_(grid), meeting_(meeting), lower_(grid.size() + 1) {
  const PairMeeting& m = meeting_;
  for (std::uint32_t k = 0; k < grid.size(); ++k) samples_.push_back(sample(grid.at(k)));
  std::vector<double> bends;
  if (m.a_waits) bends.push_back(m.lag_a_s - m.change_a_s);
  if (m.b_waits) bends.push_back(m.change_b_s - m.lag_b_s);
  std::ranges::sort(bends);
  std::vector<double> parts;
  for (std::uint32_t k = 0; k + 1 < grid.size(); ++k) {
    const double left = grid.at(k);
    const double right = grid.at(k + 1);
    parts.assign(1, left);
    for (const double bend : bends)
      if (bend > left && bend < right) {
        parts.push_back(bend);
        break_at(k, bend);
      }
    parts.push_back(right);
    // Grid points of `in` that lie within the images of the parts.
    for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
      const double from = place(parts[p]);
      const double to = place(parts[p + 1]);
      const double first = std::max(std::floor(std::min(from, to)) + 1, 0.0);
      const double end = std::min(std::max(from, to), 2.0 * grid.half + 0.5);
      for (double g = first; g < end; ++g)
        break_at(k, parts[p] + (parts[p + 1] - parts[p]) * (g - from) / (to - from));
    }
  }
}

void GridMeeting::apply(std::span<const double> in, std::span<double> out) {
  const auto value = [&](const Sample& s) {
    return (1 - s.share) * in[s.index] + s.share * in[s.index + 1] + s.price;
  };
  const std::uint32_t size = grid_.size();
  for (std::uint32_t k = 0; k < size; ++k) out[k] = value(samples_[k]);
  // The tails: where nobody waits the difference goes on beyond the end.
  double low = out[0];
  double high = out[size - 1];
  if (!meeting_.a_waits)
    for (std::uint32_t k = 0; k <= std::min(samples_.front().index + 1, size - 1); ++k)
      low = std::min(low, in[k] + samples_.front().price);
  if (!meeting_.b_waits)
    for (std::uint32_t k = samples_.back().index; k < size; ++k)
      high = std::min(high, in[k] + samples_.back().price);
  std::ranges::fill(lower_, 0.0);  // lower_[k + 1]: of the cell that begins at k
  for (const Break& b : breaks_) {
    const double line = (1 - b.share) * out[b.cell] + b.share * out[b.cell + 1];
    lower_[b.cell + 1] = std::max(lower_[b.cell + 1], line - value(b.sample));
  }
  for (std::uint32_t k = 0; k < size; ++k) out[k] -= std::max(lower_[k], lower_[k + 1]);
  out[0] = std::min(out[0], low);
  out[size - 1] = std::min(out[size - 1], high);
}

}  // namespace ergon::plan
