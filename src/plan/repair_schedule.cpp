// Forward and backward timing of a choice.
#include "repair_schedule.hpp"

#include <algorithm>

namespace ergon::plan {

Schedule::Schedule(const Problem& problem, const Network& net) : problem_(problem), net_(net) {
  const auto n = static_cast<std::uint32_t>(net.row.size());
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g)
    for (std::uint32_t i = net.row_begin[g]; i < net.row_begin[g + 1]; ++i) gpu_of_.push_back(g);
  order_.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) order_[net.row[i]] = i;
  in_begin_.assign(n + 1, 0);
  out_begin_.assign(n + 1, 0);
  for (const Network::Wait& w : net.waits) {
    ++in_begin_[w.to + 1];
    ++out_begin_[w.from + 1];
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    in_begin_[i + 1] += in_begin_[i];
    out_begin_[i + 1] += out_begin_[i];
  }
  in_.resize(net.waits.size());
  out_.resize(net.waits.size());
  std::vector<std::uint32_t> in_at(in_begin_);
  std::vector<std::uint32_t> out_at(out_begin_);
  for (std::uint32_t w = 0; w < net.waits.size(); ++w) {
    in_[in_at[net.waits[w].to]++] = w;
    out_[out_at[net.waits[w].from]++] = w;
  }
  times_.resize(n);
}

void Schedule::update(std::span<const std::uint32_t> choice, double deadline_s) {
  const double tau = problem_.switching.time_s;
  const auto n = static_cast<std::uint32_t>(order_.size());
  const auto option = [&](std::uint32_t i) -> const Option& {
    return problem_.packs[net_.row[i]].options[choice[net_.row[i]]];
  };
  time_s_ = 0;
  for (std::uint32_t p = 0; p < n; ++p) {
    const std::uint32_t i = order_[p];
    const std::uint32_t first = net_.row_begin[gpu_of_[i]];
    const std::uint32_t last = net_.row_begin[gpu_of_[i] + 1] - 1;
    Times& t = times_[i];
    t.early_start_s = 0;
    if (i > first) {
      t.changes = option(i).clock_hz != option(i - 1).clock_hz;
      t.early_start_s = times_[i - 1].early_end_s + (t.changes ? tau : 0.0);
    } else {
      t.changes = problem_.repeats && option(i).clock_hz != option(last).clock_hz;
    }
    for (const std::uint32_t e : into(i)) {
      const Network::Wait& w = net_.waits[e];
      t.early_start_s = std::max(t.early_start_s, times_[w.from].early_end_s + net_.arcs[w.arc].lag_s);
    }
    t.early_end_s = t.early_start_s + option(i).time_s;
    time_s_ = std::max(time_s_, t.early_end_s + (i == last && times_[first].changes ? tau : 0.0));
  }
  for (std::uint32_t p = n; p-- > 0;) {
    const std::uint32_t i = order_[p];
    const std::uint32_t first = net_.row_begin[gpu_of_[i]];
    Times& t = times_[i];
    t.late_end_s = deadline_s;
    if (i + 1 < net_.row_begin[gpu_of_[i] + 1]) {
      t.late_end_s = times_[i + 1].late_start_s - (times_[i + 1].changes ? tau : 0.0);
    } else if (times_[first].changes) {
      t.late_end_s -= tau;
    }
    for (const std::uint32_t e : out_of(i)) {
      const Network::Wait& w = net_.waits[e];
      t.late_end_s = std::min(t.late_end_s, times_[w.to].late_start_s - net_.arcs[w.arc].lag_s);
    }
    t.late_start_s = t.late_end_s - option(i).time_s;
  }
}

}  // namespace ergon::plan
