// Finds the meetings of all GPUs, and what each block between them can do.
#include "blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "chain.hpp"
#include "evaluate.hpp"
#include "numbers.hpp"

namespace ergon::plan {
namespace {

// Points of one GPU in one block, and options of all blocks.
constexpr std::size_t kPoints = 4096;
constexpr std::size_t kOptions = 1'000'000;

// By GPU: how many of its packs come before.
using Cut = std::vector<std::uint32_t>;

struct Rows {
  std::vector<std::vector<std::uint32_t>> packs;  // by GPU in order
  std::vector<std::uint32_t> place;               // by pack: index on its GPU
};

Rows rows_of(const Problem& problem) {
  Rows rows{.packs = std::vector<std::vector<std::uint32_t>>(problem.gpus.size()), .place = {}};
  for (std::uint32_t p = 0; p < problem.packs.size(); ++p) {
    auto& row = rows.packs[problem.packs[p].gpu];
    rows.place.push_back(static_cast<std::uint32_t>(row.size()));
    row.push_back(p);
  }
  return rows;
}

// By pack: how many packs of each GPU have ended whenever it starts.
std::vector<Cut> ended_before(const Problem& problem, const Rows& rows) {
  std::vector<Cut> out(problem.packs.size(), Cut(problem.gpus.size(), 0));
  for (std::uint32_t p = 0; p < problem.packs.size(); ++p) {
    const auto follows = [&](std::uint32_t q) {
      for (std::size_t g = 0; g < out[p].size(); ++g) out[p][g] = std::max(out[p][g], out[q][g]);
      std::uint32_t& own = out[p][problem.packs[q].gpu];
      own = std::max(own, rows.place[q] + 1);
    };
    const auto& row = rows.packs[problem.packs[p].gpu];
    if (rows.place[p] > 0) follows(row[rows.place[p] - 1]);
    for (const After& a : problem.packs[p].after) follows(a.pack);
  }
  return out;
}

// The lag that every pack right after the cut keeps to every pack right before it.
double least_lag(const Problem& problem, const Rows& rows, const Cut& cut) {
  double least = kInfinity;
  for (std::size_t g = 0; g < cut.size(); ++g) {
    if (cut[g] == rows.packs[g].size()) continue;
    const Pack& pack = problem.packs[rows.packs[g][cut[g]]];
    for (std::size_t h = 0; h < cut.size(); ++h) {
      if (cut[h] == 0) continue;
      double lag = 0;
      for (const After& a : pack.after)
        if (a.pack == rows.packs[h][cut[h] - 1]) lag = std::max(lag, a.lag_s);
      least = std::min(least, lag);
    }
  }
  return least == kInfinity ? 0 : least;
}

struct LockstepMeeting {
  Cut cut;
  double lag_s = 0;
};

std::vector<LockstepMeeting> find_meetings(const Problem& problem, const Rows& rows) {
  const std::vector<Cut> ended = ended_before(problem, rows);
  std::vector<LockstepMeeting> out;
  const auto at_least = [](const Cut& a, const Cut& b) {
    for (std::size_t g = 0; g < a.size(); ++g)
      if (a[g] < b[g]) return false;
    return true;
  };
  for (const Cut& cut : ended) {
    if (!out.empty() && at_least(out.back().cut, cut)) continue;
    bool meets = out.empty() || at_least(cut, out.back().cut);
    bool before = false;
    for (std::size_t g = 0; g < cut.size() && meets; ++g) {
      before = before || cut[g] > 0;
      meets = cut[g] == rows.packs[g].size() || at_least(ended[rows.packs[g][cut[g]]], cut);
    }
    if (meets && before) out.push_back({cut, least_lag(problem, rows, cut)});
  }
  // A longer lag across a meeting would tie its two sides together.
  std::vector<char> good(out.size(), 1);
  for (std::uint32_t p = 0; p < problem.packs.size(); ++p) {
    for (const After& a : problem.packs[p].after) {
      const auto after_cut = [&](std::uint32_t q, const LockstepMeeting& m) {
        return rows.place[q] >= m.cut[problem.packs[q].gpu];
      };
      const auto first = std::partition_point(
          out.begin(), out.end(), [&](const LockstepMeeting& m) { return after_cut(a.pack, m); });
      for (auto m = first; m != out.end() && after_cut(p, *m); ++m)
        if (a.lag_s > m->lag_s) good[static_cast<std::size_t>(m - out.begin())] = 0;
    }
  }
  std::size_t kept = 0;
  for (std::size_t m = 0; m < out.size(); ++m)
    if (good[m] != 0) std::swap(out[kept++], out[m]);
  out.resize(kept);
  return out;
}

}  // namespace

std::optional<Blocks> Blocks::find(const Problem& problem) {
  Blocks out(problem);
  if (problem.gpus.size() < 2 || !out.cut()) return std::nullopt;
  std::size_t options = 0;
  out.chain_.gpus = {{.id = "all", .idle_power_w = 0}};
  for (Block& block : out.blocks_) {
    if (!out.fill(block)) return std::nullopt;
    out.chain_.packs.push_back(out.pack_of(block));
    options += out.chain_.packs.back().options.size();
    if (options > kOptions) return std::nullopt;
  }
  return out;
}

// Whether the packs fall into blocks without waits within them.
bool Blocks::cut() {
  const Rows rows = rows_of(problem_);
  std::vector<LockstepMeeting> meetings = find_meetings(problem_, rows);
  if (meetings.empty()) return false;
  Cut all;
  for (const auto& row : rows.packs) all.push_back(static_cast<std::uint32_t>(row.size()));
  meetings.push_back({all, 0});
  Cut from(all.size(), 0);
  double lag_s = 0;
  std::vector<std::uint32_t> block_of(problem_.packs.size(), 0);
  for (const LockstepMeeting& m : meetings) {
    Block block{.lag_s = lag_s, .runs = std::vector<Run>(all.size())};
    for (std::size_t g = 0; g < all.size(); ++g) {
      for (std::uint32_t i = from[g]; i < m.cut[g]; ++i) {
        block.runs[g].packs.push_back(rows.packs[g][i]);
        block_of[rows.packs[g][i]] = static_cast<std::uint32_t>(blocks_.size());
      }
    }
    blocks_.push_back(std::move(block));
    from = m.cut;
    lag_s = m.lag_s;
  }
  for (std::uint32_t p = 0; p < problem_.packs.size(); ++p) {
    for (const After& a : problem_.packs[p].after) {
      const bool own = problem_.packs[a.pack].gpu == problem_.packs[p].gpu && !(a.lag_s > 0);
      if (block_of[a.pack] == block_of[p] && !own) return false;
    }
  }
  return true;
}

// All times and energies of each run that no other beats; false where they are too many.
bool Blocks::fill(Block& block) const {
  for (std::size_t g = 0; g < block.runs.size(); ++g) {
    Run& run = block.runs[g];
    const double idle_w = problem_.gpus[g].idle_power_w;
    run.points.assign(1, {Point{}});
    std::vector<Point> all;
    for (const std::uint32_t p : run.packs) {
      const auto& options = problem_.packs[p].options;
      const std::vector<Point>& before = run.points.back();
      all.clear();
      for (std::uint32_t b = 0; b < before.size(); ++b) {
        for (std::uint32_t k = 0; k < options.size(); ++k)
          all.push_back({before[b].time_s + options[k].time_s,
                         before[b].own_j + options[k].energy_j - idle_w * options[k].time_s, b, k});
      }
      std::ranges::sort(all, [](const Point& a, const Point& b) {
        return a.time_s != b.time_s ? a.time_s < b.time_s : a.own_j < b.own_j;
      });
      std::vector<Point> kept;
      for (const Point& point : all)
        if (kept.empty() || point.own_j < kept.back().own_j) kept.push_back(point);
      if (kept.size() > kPoints) return false;
      run.points.push_back(std::move(kept));
    }
  }
  return true;
}

// The block as a pack: at each time the least energy of every run within it. The clock of an option
// is its number, from 1.
Pack Blocks::pack_of(const Block& block) const {
  Pack pack;
  pack.id = "block";
  std::vector<double> times;
  double idle_w = 0;
  double fastest = 0;
  for (std::size_t g = 0; g < block.runs.size(); ++g) {
    idle_w += problem_.gpus[g].idle_power_w;
    const std::vector<Point>& points = block.runs[g].points.back();
    fastest = std::max(fastest, points.front().time_s);
    for (const Point& point : points) times.push_back(point.time_s);
  }
  std::ranges::sort(times);
  std::vector<std::size_t> at(block.runs.size(), 0);
  for (std::size_t k = 0; k < times.size(); ++k) {
    if (times[k] < fastest || (k > 0 && times[k] == times[k - 1])) continue;
    double energy = idle_w * (block.lag_s + times[k]);
    for (std::size_t g = 0; g < at.size(); ++g) {
      const std::vector<Point>& points = block.runs[g].points.back();
      while (at[g] + 1 < points.size() && points[at[g] + 1].time_s <= times[k]) ++at[g];
      energy += points[at[g]].own_j;
    }
    energy = std::max(energy, 0.0);
    if (!pack.options.empty() && energy >= pack.options.back().energy_j) continue;
    pack.options.push_back({.clock_hz = static_cast<double>(pack.options.size() + 1),
                            .time_s = block.lag_s + times[k],
                            .energy_j = energy});
  }
  return pack;
}

Choice Blocks::choice_of(const Choice& blocks) const {
  Choice out(problem_.packs.size(), 0);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const double until = chain_.packs[b].options[blocks[b]].time_s - blocks_[b].lag_s;
    for (const Run& run : blocks_[b].runs) {
      // The last point within the time, by the same figures that gave the time.
      const auto later =
          std::ranges::upper_bound(run.points.back(), until * (1 + kRounding), {}, &Point::time_s);
      auto at = static_cast<std::size_t>(later - run.points.back().begin());
      at = at > 0 ? at - 1 : 0;
      for (std::size_t i = run.packs.size(); i > 0; --i) {
        const Point& point = run.points[i][at];
        out[run.packs[i - 1]] = point.option;
        at = point.before;
      }
    }
  }
  return out;
}

Result<Solution> Blocks::solve(double deadline_s, const SolveOptions& options) const {
  // A little more time for the bound; less for the plan only where rounding would make it late.
  ERGON_TRY(const Solution wide, solve_chain(chain_, deadline_s * (1 + kRounding), options));
  Solution out;
  const auto take = [&](const Choice& blocks) {
    out.choice = choice_of(blocks);
    out.value = evaluate(problem_, out.choice);
    return out.value.time_s <= latest_end(deadline_s);
  };
  if (!take(wide.choice)) {
    ERGON_TRY(const Solution tight, solve_chain(chain_, deadline_s * (1 - 2 * kRounding), options));
    ERGON_CHECK(take(tight.choice), "blocks add up to the whole");
  }
  out.lower_bound_j = std::min(wide.lower_bound_j, out.value.energy_j) * (1 - kRounding);
  out.optimal = out.value.energy_j - out.lower_bound_j <= 1e-9 * out.value.energy_j;
  return out;
}

}  // namespace ergon::plan
