// GPUs that a log names twice, or not at all.
#include <algorithm>
#include <cmath>

#include "logs/builder.hpp"

namespace ergon::meter::logs {
namespace {

constexpr Nanos kWholeSecond = 1'000'000'000;
// One call of nvidia-smi prints its GPUs within this time.
constexpr double kOneTickNs = 60e6;
constexpr std::size_t kMostLanes = 16;
constexpr std::size_t kHead = 2048;

// Whether so many rows a tick are out of the question after a few ticks of a long log.
bool hopeless(const std::vector<Nanos>& ns, std::size_t g) {
  std::size_t inside = 0;
  std::size_t near = 0;
  for (std::size_t i = 1; i < kHead; ++i) {
    if (i % g == 0) continue;
    ++inside;
    near += static_cast<double>(ns[i] - ns[i - 1]) < kOneTickNs ? 1 : 0;
  }
  std::vector<double> steps;
  for (std::size_t i = g; i < kHead; i += g) {
    steps.push_back(static_cast<double>(ns[i] - ns[i - 1]));
  }
  const double typical = median_of(std::move(steps));
  std::size_t far = 0;
  for (std::size_t i = 1; i < kHead; ++i) {
    if (i % g != 0) far += static_cast<double>(ns[i] - ns[i - 1]) >= typical / 4 ? 1 : 0;
  }
  return near * 10 < inside * 9 || far * 5 > inside;
}

// How much nearer a row's readings are to those of the row g before it than to its neighbour's in
// the tick: well below 1 for several GPUs, above for one that moves slowly. nullopt: nothing moves.
std::optional<double> likeness(const std::vector<LogColumn>& columns, std::size_t rows,
                               std::size_t g) {
  std::optional<double> least;
  for (const LogColumn& c : columns) {
    if (c.text || c.name.find("utilization") != std::string::npos) continue;
    double across = 0;
    double within = 0;
    std::size_t pairs = 0;
    std::size_t neighbours = 0;
    for (std::size_t i = 1; i < rows; ++i) {
      const double one = std::abs(c.numbers[i] - c.numbers[i - 1]);
      if (i % g != 0 && !is_missing(one)) {
        within += one;
        ++neighbours;
      }
      const double other = i >= g ? std::abs(c.numbers[i] - c.numbers[i - g]) : kMissing;
      if (!is_missing(other)) {
        across += other;
        ++pairs;
      }
    }
    if (pairs == 0 || neighbours == 0 || (within == 0 && across == 0)) continue;
    const double mean = within / static_cast<double>(neighbours);
    const double ratio = mean > 0 ? across / static_cast<double>(pairs) / mean : 10;
    if (!least || ratio < *least) least = ratio;
  }
  return least;
}

}  // namespace

// Parts of one log that name GPUs by index and by bus id name the same ones: indexes are in the
// order of the bus.
void Builder::same_gpus() {
  std::vector<std::pair<std::string, std::uint32_t>> by_bus;
  std::vector<std::pair<long, std::uint32_t>> by_index;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const std::string& id = gpus_[i];
    const auto place = static_cast<std::uint32_t>(i);
    if (std::ranges::count(id, ':') == 2) {
      by_bus.emplace_back(lower(id), place);
    } else if (const auto index = parse_number<long>(id); index && *index >= 0 && id.size() <= 2) {
      by_index.emplace_back(*index, place);
    }
  }
  if (by_bus.empty() || by_bus.size() != by_index.size() ||
      by_bus.size() + by_index.size() != gpus_.size()) {
    return;
  }
  std::ranges::sort(by_bus);
  std::ranges::sort(by_index);
  std::vector<std::string> names;
  std::vector<std::uint32_t> now(gpus_.size());
  for (std::size_t k = 0; k < by_index.size(); ++k) {
    now[by_bus[k].second] = static_cast<std::uint32_t>(k);
    now[by_index[k].second] = static_cast<std::uint32_t>(k);
    names.push_back(gpus_[by_index[k].second]);
  }
  for (std::uint32_t& g : gpu_) g = g == 0 ? 0 : now[g - 1] + 1;
  gpus_ = std::move(names);
}

// Each row to the GPU of its place in the tick. Where a tick is short, nothing says whose row is
// missing: its readings are left out.
void Builder::set_lanes(std::size_t g, double tick_ns) {
  for (std::size_t lane = 0; lane < g; ++lane) {
    gpus_.push_back(std::to_string(lane));
    gpu_ids_.emplace(gpus_.back(), static_cast<std::uint32_t>(gpus_.size()));
  }
  note("the log names no GPU: rows of " + std::to_string(g) +
       " GPUs are told apart by their order");
  const std::size_t n = lines_.size();
  std::size_t begin = 0;
  while (begin < n) {
    std::size_t end = begin + 1;
    while (end < n && end - begin < g &&
           (tick_ns <= 0 || static_cast<double>(times_.ns[end] - times_.ns[end - 1]) < tick_ns)) {
      ++end;
    }
    const bool short_tick = end - begin < g && end < n;
    for (std::size_t i = begin; i < end; ++i) {
      gpu_[i] = static_cast<std::uint32_t>(i - begin) + 1;
      if (!short_tick) continue;
      for (LogColumn& c : columns_) {
        if (!c.text) c.numbers[i] = kMissing;
      }
    }
    if (short_tick) {
      defect(lines_[begin], "short_tick",
             std::to_string(end - begin) + " rows where " + std::to_string(g) +
                 " are usual: whose is missing cannot be told, so their readings are left out");
    }
    begin = end;
  }
}

// Rows of several GPUs in turn, without an index: the distances in time show how many belong to one
// tick.
void Builder::lanes() {
  const std::size_t n = lines_.size();
  if (!may_interleave_ || !gpus_.empty() || n < 2) return;
  // A column without a name that counts 0, 1, ... again and again is the index.
  for (LogColumn& c : columns_) {
    if (c.text || !c.name.starts_with("column_")) continue;
    const double most = *std::ranges::max_element(c.numbers);
    if (!(most >= 1 && most < kMostLanes) || static_cast<double>(n) < 2 * (most + 1)) continue;
    const auto g = static_cast<std::size_t>(most) + 1;
    bool counts = true;
    for (std::size_t i = 0; counts && i < n; ++i)
      counts = c.numbers[i] == static_cast<double>(i % g);
    if (!counts) continue;
    set_lanes(g, 0);
    notes_.back() = "a column without a name counts the GPUs: it is taken as their index";
    by_name_.erase(c.name);
    return;
  }
  const bool timed =
      times_.kind && std::ranges::all_of(times_.ns, [](Nanos t) { return t != kNoTime; });
  const auto& ns = times_.ns;
  const bool whole =
      timed && std::ranges::all_of(ns, [](Nanos t) { return t % kWholeSecond == 0; });
  // One tick: what has the same millisecond is one call's.
  if (timed && !whole && n <= kMostLanes && ns.front() == ns.back() &&
      std::ranges::all_of(ns, [&](Nanos t) { return t == ns.front(); })) {
    return set_lanes(n, 0);
  }
  // A name or a size that differs between the rows of a tick, always in the same order.
  const auto periodic = [&](std::size_t g) {
    return std::ranges::any_of(columns_, [&](const LogColumn& c) {
      bool differs = false;
      for (std::size_t i = 0; i < n; ++i) {
        if (c.text) {
          if (i >= g && c.words[i] != c.words[i - g]) return false;
          differs = differs || (i > 0 && i < g && c.words[i] != c.words[i - 1]);
        } else {
          if (c.name.find("total") == std::string::npos &&
              c.name.find("limit") == std::string::npos)
            return false;
          if (i >= g && c.numbers[i] != c.numbers[i - g]) return false;
          differs = differs || (i > 0 && i < g && c.numbers[i] != c.numbers[i - 1]);
        }
      }
      return differs;
    });
  };
  for (std::size_t g = 2; g <= kMostLanes && 2 * g <= n; ++g) {
    if (!timed) {
      if (n % g == 0 && periodic(g)) return set_lanes(g, 0);
      continue;
    }
    if (n > kHead && hopeless(ns, g)) continue;
    std::vector<double> between;
    for (std::size_t i = g; i < n; i += g) {
      between.push_back(static_cast<double>(ns[i] - ns[i - 1]));
    }
    const double typical = median_of(between);
    if (typical <= 0) continue;
    const double inside = std::min(typical / 4, kOneTickNs);
    std::size_t good = 0;
    for (std::size_t i = 1; i < n; ++i) {
      const auto d = static_cast<double>(ns[i] - ns[i - 1]);
      good += i % g == 0 ? d > typical / 2 : d < inside;
    }
    if (!whole) {
      if (good >= (n - 1) * 95 / 100) return set_lanes(g, inside);
      continue;
    }
    // Stamps of whole seconds repeat with one GPU as well: every tick must show it, and the
    // readings must not speak against it.
    if (good < n - 1) continue;
    constexpr double kClearly = 0.6;
    constexpr std::size_t kManyTicks = 5;
    const auto like = likeness(columns_, n, g);
    if (periodic(g) || (like && *like < kClearly)) return set_lanes(g, inside);
    const bool against = like && *like > 1 / kClearly;
    if (n >= kManyTicks * g && !against) return set_lanes(g, inside);
    if (n < kManyTicks * g && !against) unclear_lanes_ = g;
    return;
  }
}

}  // namespace ergon::meter::logs
