// The growth of the span when every kernel takes twice as long, split by what the GPUs ran.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "graph_oracle.hpp"

namespace ergon::graph_oracle {
namespace {

using graph::NodeId;
using graph::NodeKind;

// What runs at one moment, over all GPUs: a bit a class.
constexpr unsigned kCompute = 1;
constexpr unsigned kCommunication = 2;
constexpr unsigned kCopies = 4;
constexpr std::array<const char*, 8> kMixes{
    "nothing", "kernels",         "collectives",         "kernels, collectives",
    "copies",  "kernels, copies", "collectives, copies", "kernels, collectives, copies"};

unsigned class_of(NodeKind kind) {
  if (kind == NodeKind::kKernel) return kCompute;
  return kind == NodeKind::kCollective ? kCommunication : kCopies;
}

std::array<Nanos, 8> time_by_mix(const graph::Retimer& timed) {
  struct Change {
    Nanos at;
    unsigned what;
    int by;
  };
  const graph::Graph& g = timed.graph();
  std::vector<Change> changes;
  Nanos begin = timed.starts()[0];
  Nanos end = begin;
  for (NodeId n = 0; n < g.size(); ++n) {
    const Nanos start = timed.starts()[n];
    const NodeId last = g.transfer(n);
    const Nanos stop = timed.starts()[last] + timed.durations()[last];
    begin = std::min(begin, start);
    end = std::max(end, stop);
    if (!graph::on_gpu(g.kind(n))) continue;
    changes.push_back({start, class_of(g.kind(n)), 1});
    changes.push_back({stop, class_of(g.kind(n)), -1});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  std::array<Nanos, 8> times{};
  std::array<int, 8> running{};
  const auto mix = [&] {
    return (running[kCompute] > 0 ? kCompute : 0U) |
           (running[kCommunication] > 0 ? kCommunication : 0U) |
           (running[kCopies] > 0 ? kCopies : 0U);
  };
  Nanos at = begin;
  for (const Change& c : changes) {
    times[mix()] += c.at - at;
    at = c.at;
    running[c.what] += c.by;
  }
  times[0] += end - at;
  return times;
}

std::map<std::string, Nanos> idle_by_cause(const graph::Retimer& timed) {
  std::map<std::string, Nanos> idle;
  for (const graph::IdleCause& c : graph::idle_gaps(timed)) idle[c.cause] += c.time_ns;
  return idle;
}

void row(std::string_view name, Nanos once, Nanos expected, Nanos twice) {
  fmt::print("{:<30} | {:9.3f} | {:9.3f} | {:9.3f} | {:+9.3f}\n", name, ms(once), ms(expected),
             ms(twice), ms(twice - expected));
}

// The trace's own experiment: of two neighbours in a stream that both start when their launch
// comes, the first takes longer in one step than in another. Does the second start later, or is the
// gap before it shorter by as much? Slopes over all such pairs whose launches keep their distance.
void late_launches(const graph::Graph& g) {
  constexpr Nanos kLonger = 2'000;
  constexpr Nanos kSameDistance = 5'000;
  std::vector<NodeId> before(g.size(), graph::kNoNode);
  std::map<std::pair<std::int32_t, std::int64_t>, NodeId> last;
  for (NodeId n = 0; n < g.size(); ++n) {
    if (!graph::on_gpu(g.kind(n))) continue;
    auto [it, fresh] = last.try_emplace({g.gpu(n), g.track(n).stream}, n);
    if (!fresh) before[n] = std::exchange(it->second, n);
  }
  const auto by_launch = [&](NodeId n) {
    const auto edge = n == graph::kNoNode ? std::nullopt : graph::binding_edge(g, n);
    return edge && g.edge(n, *edge).rule == graph::Rule::kLaunch;
  };
  const auto gap = [&](NodeId n) {
    return g.start(n) - g.start(before[n]) - g.duration(before[n]);
  };
  const auto distance = [&](NodeId n) {
    return g.start(g.launch(n)) - g.start(g.launch(before[n]));
  };
  double squares = 0;
  double gaps = 0;
  double distances = 0;
  std::size_t pairs = 0;
  const std::vector<graph::Step> steps = graph::find_steps(g);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t j = i + 1; j < steps.size(); ++j) {
      for (const auto& [a, b] : graph::match_nodes(g, steps[i], steps[j])) {
        if (!graph::on_gpu(g.kind(a)) || !by_launch(a) || !by_launch(b) || !by_launch(before[a]) ||
            !by_launch(before[b]) || g.name(before[a]) != g.name(before[b])) {
          continue;
        }
        const Nanos longer = g.duration(before[b]) - g.duration(before[a]);
        const Nanos apart = distance(b) - distance(a);
        if (std::abs(longer) < kLonger || std::abs(apart) > kSameDistance) continue;
        const auto x = static_cast<double>(longer);
        squares += x * x;
        gaps += x * static_cast<double>(gap(b) - gap(a));
        distances += x * static_cast<double>(apart);
        ++pairs;
      }
    }
  }
  if (pairs < 20) return;
  fmt::print(
      "late launches: where the kernel before takes longer in another step, the gap changes by "
      "{:+.2f} of that, the distance of the launches by {:+.2f} ({} pairs)\n",
      gaps / squares, distances / squares, pairs);
}

}  // namespace

int response(const std::string& path) {
  auto l = load(path);
  auto g = l ? graph::build(l->views) : tl::unexpected(l.error());
  if (!g) return fmt::print("{} | not read: {}\n", base(path), g.error().message), 0;
  graph::Retimer timed(*g);
  const Nanos span = timed.run();
  const std::array<Nanos, 8> once = time_by_mix(timed);
  const auto idle_once = idle_by_cause(timed);
  for (NodeId n = 0; n < g->size(); ++n) {
    if (g->kind(n) == NodeKind::kKernel || g->kind(n) == NodeKind::kCollective)
      timed.durations()[n] *= 2;
  }
  const Nanos longer = timed.run();
  const std::array<Nanos, 8> twice = time_by_mix(timed);
  const auto idle_twice = idle_by_cause(timed);

  fmt::print("{}\n{:<30} | {:>9} | {:>9} | {:>9} | {:>9}\n", base(path), "on the GPUs", "ms",
             "if kept", "twice", "short");
  Nanos busy = 0;
  Nanos sum = 0;
  Nanos sum_twice = 0;
  Nanos kept = 0;
  for (unsigned m = 0; m < kMixes.size(); ++m) {
    // kept as they are beside each other, kernels take all of their time twice, and the rest once
    const Nanos expected = (m & (kCompute | kCommunication)) != 0 ? 2 * once[m] : once[m];
    if (m > 0) busy += once[m];
    sum += once[m];
    sum_twice += twice[m];
    kept += expected;
    if (once[m] != 0 || twice[m] != 0) row(kMixes[m], once[m], expected, twice[m]);
  }
  row("span", sum, kept, sum_twice);
  for (const auto& [cause, time] : idle_once) {
    const auto it = idle_twice.find(cause);
    row("  idle: " + cause, time, time, it == idle_twice.end() ? 0 : it->second);
  }
  if (busy > 0) {
    fmt::print("response {:.3f}; {:.3f} if everything kept its place\n",
               static_cast<double>(longer - span) / static_cast<double>(busy),
               static_cast<double>(kept - sum) / static_cast<double>(busy));
  }
  late_launches(*g);
  return sum == span && sum_twice == longer ? 0 : 1;
}

}  // namespace ergon::graph_oracle
