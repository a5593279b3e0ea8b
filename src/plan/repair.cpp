// Sweeps that hand slack on from pack to pack.
#include "repair.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ergon::plan {

SlackFiller::SlackFiller(const Problem& problem) : problem_(problem) {
  const auto n = static_cast<std::uint32_t>(problem.packs.size());
  std::vector<std::uint32_t> last(problem.gpus.size(), n);
  std::vector<std::uint32_t> outs(n + 1, 0);
  std::vector<Way> sorted;
  in_begin_.push_back(0);
  way_begin_.push_back(0);
  for (std::uint32_t i = 0; i < n; ++i) {
    const Pack& pack = problem.packs[i];
    if (last[pack.gpu] != n) in_.push_back({last[pack.gpu], 0});
    for (const After& a : pack.after)
      if (a.lag_s > 0 || problem.packs[a.pack].gpu != pack.gpu) in_.push_back({a.pack, a.lag_s});
    last[pack.gpu] = i;
    for (std::size_t e = in_begin_.back(); e < in_.size(); ++e) ++outs[in_[e].pack];
    in_begin_.push_back(static_cast<std::uint32_t>(in_.size()));

    sorted.clear();
    for (std::uint32_t k = 0; k < pack.options.size(); ++k) {
      const Option& o = pack.options[k];
      sorted.push_back({o.time_s, o.energy_j - problem.gpus[pack.gpu].idle_power_w * o.time_s, k});
    }
    std::ranges::sort(sorted, [](const Way& a, const Way& b) {
      return a.time_s != b.time_s ? a.time_s < b.time_s : a.energy_j < b.energy_j;
    });
    for (const Way& w : sorted)
      if (ways_.size() == way_begin_.back() || w.energy_j < ways_.back().energy_j)
        ways_.push_back(w);
    way_begin_.push_back(static_cast<std::uint32_t>(ways_.size()));
  }
  out_begin_.assign(n + 1, 0);
  for (std::uint32_t i = 0; i < n; ++i) out_begin_[i + 1] = out_begin_[i] + outs[i];
  out_.resize(in_.size());
  std::vector<std::uint32_t> fill(out_begin_.begin(), out_begin_.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t e = in_begin_[i]; e < in_begin_[i + 1]; ++e)
      out_[fill[in_[e].pack]++] = {i, in_[e].lag_s};
  early_.resize(n);
  late_.resize(n);
}

std::uint32_t SlackFiller::best_way(std::uint32_t pack, double price, double window_s,
                                    std::uint32_t option) const {
  // Ties stay as they are: moving all of them at once would upset the balance.
  const Option& now = problem_.packs[pack].options[option];
  const double own = now.energy_j -
                     problem_.gpus[problem_.packs[pack].gpu].idle_power_w * now.time_s +
                     price * now.time_s;
  double best = now.time_s <= window_s ? own - 1e-12 * std::abs(own)
                                       : std::numeric_limits<double>::infinity();
  for (std::uint32_t w = way_begin_[pack]; w < way_begin_[pack + 1] && ways_[w].time_s <= window_s;
       ++w) {
    const double cost = ways_[w].energy_j + price * ways_[w].time_s;
    if (cost < best) {
      best = cost;
      option = ways_[w].option;
    }
  }
  return option;
}

void SlackFiller::sweep(Choice& choice, std::span<const double> price, double scale,
                        double deadline_s, bool forwards) {
  const auto n = static_cast<std::uint32_t>(problem_.packs.size());
  const auto time = [&](std::uint32_t i) { return problem_.packs[i].options[choice[i]].time_s; };
  const auto start_after = [&](std::uint32_t i) {
    double start = 0;
    for (std::uint32_t e = in_begin_[i]; e < in_begin_[i + 1]; ++e)
      start = std::max(start, early_[in_[e].pack] + in_[e].lag_s);
    return start;
  };
  const auto end_before = [&](std::uint32_t i) {
    double end = deadline_s;
    for (std::uint32_t e = out_begin_[i]; e < out_begin_[i + 1]; ++e)
      end = std::min(end, late_[out_[e].pack] - out_[e].lag_s);
    return end;
  };
  // early_: earliest end; late_: latest start.
  if (forwards) {
    for (std::uint32_t i = n; i-- > 0;) late_[i] = end_before(i) - time(i);
    for (std::uint32_t i = 0; i < n; ++i) {
      const double start = start_after(i);
      choice[i] = best_way(i, scale * price[i], late_[i] + time(i) - start, choice[i]);
      early_[i] = start + time(i);
    }
  } else {
    for (std::uint32_t i = 0; i < n; ++i) early_[i] = start_after(i) + time(i);
    for (std::uint32_t i = n; i-- > 0;) {
      const double end = end_before(i);
      choice[i] = best_way(i, scale * price[i], end - (early_[i] - time(i)), choice[i]);
      late_[i] = end - time(i);
    }
  }
}

bool SlackFiller::quicken(Choice& choice, std::uint32_t pack) const {
  const double now = problem_.packs[pack].options[choice[pack]].time_s;
  for (std::uint32_t w = way_begin_[pack + 1]; w-- > way_begin_[pack];) {
    if (ways_[w].time_s >= now) continue;
    choice[pack] = ways_[w].option;
    return true;
  }
  return false;
}

double SlackFiller::own_energy(std::span<const std::uint32_t> choice) const {
  double sum = 0;
  for (std::uint32_t i = 0; i < choice.size(); ++i) {
    const Pack& pack = problem_.packs[i];
    const Option& o = pack.options[choice[i]];
    sum += o.energy_j - problem_.gpus[pack.gpu].idle_power_w * o.time_s;
  }
  return sum;
}

}  // namespace ergon::plan
