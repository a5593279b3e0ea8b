// Assembles the packs of a window: clocks on offer, segments, prices, coupling, the cost of a
// change.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "coupling.hpp"
#include "cut.hpp"
#include "price.hpp"
#include "window_retimer.hpp"

namespace ergon::plan {
namespace {

using graph::NodeId;

struct OfferedClocks {
  std::vector<std::size_t> clocks;  // indices into the table, ascending
  std::uint64_t below_break = 0;
};

// Clocks up to the trace's: of higher ones the trace says nothing. None below the regime break.
OfferedClocks offered_clocks(const model::ClockTable& table, const TraceOptions& options) {
  OfferedClocks offer;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i <= table.reference_index; ++i) {
    if (table.below_break[i]) {
      ++offer.below_break;
      continue;
    }
    const bool measured =
        std::all_of(options.curves.begin(), options.curves.end(),
                    [&](const Curve& c) { return std::isfinite(c.time_ratio[i]); });
    const bool low = options.lowest_clock && table.clocks[i] < *options.lowest_clock;
    if (measured && !low) all.push_back(i);
  }
  if (all.empty() || all.back() != table.reference_index) all.push_back(table.reference_index);
  const std::size_t most = std::max<std::size_t>(2, options.max_clocks);
  if (all.size() <= most) {
    offer.clocks = std::move(all);
    return offer;
  }
  for (std::size_t k = 0; k < most; ++k) {
    offer.clocks.push_back(all[k * (all.size() - 1) / (most - 1)]);
  }
  return offer;
}

// Operations of each GPU of the window in order of start.
std::vector<std::vector<NodeId>> operations_by_gpu(const graph::Graph& graph, const Window& window,
                                                   const NodeModels& models) {
  std::vector<std::vector<NodeId>> operations(graph.gpus().size());
  models.each_operation([&](std::size_t i) {
    const NodeId n = window.first + static_cast<NodeId>(i);
    const std::int32_t gpu = graph.gpu(n);
    if (gpu >= 0) operations[static_cast<std::size_t>(gpu)].push_back(n);
  });
  for (auto& list : operations) {
    const auto earlier = [&](NodeId a, NodeId b) {
      return graph.start(a) != graph.start(b) ? graph.start(a) < graph.start(b) : a < b;
    };
    if (!std::is_sorted(list.begin(), list.end(), earlier))
      std::sort(list.begin(), list.end(), earlier);
  }
  return operations;
}

void add_fine_groups(const graph::Graph& graph, const Window& window, const NodeModels& models,
                     std::span<const NodeId> operations, std::uint32_t gpu,
                     std::vector<FineGroup>& out) {
  out.reserve(out.size() + operations.size());
  Nanos until = window.begin_ns;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const NodeId n = operations[i];
    const Nanos start = graph.start(n);
    const Nanos begin = i == 0 ? window.begin_ns : start;
    const Nanos next = i + 1 < operations.size() ? graph.start(operations[i + 1]) : window.end_ns;
    const Nanos end = start + graph.duration(n);
    const NodeModel& m = models[n - window.first];
    FineGroup group;
    group.gpu = gpu;
    group.length_s = to_seconds(std::max<Nanos>(0, next - begin)).si();
    group.overlap_s = to_seconds(std::max<Nanos>(0, end - next)).si();
    group.busy_s =
        to_seconds(std::max<Nanos>(0, std::min(end, next) - std::max(start, until))).si();
    until = std::max(until, end);
    group.observed_s = to_seconds(end - start).si();
    group.core = m.core;
    group.memory = m.memory;
    group.core_j = m.core_j;
    group.memory_j = m.memory_j;
    group.fixed = m.known == model::Known::kUnknown && (m.core > 0 || m.memory > 0);
    out.push_back(group);
  }
}

// A count for each name. Names of one table are told apart by their number in it.
class NameCounts {
 public:
  explicit NameCounts(const graph::Graph& graph) : graph_(graph) {}
  std::int64_t& of(NodeId n) {
    const std::uint32_t table = graph_.table(n);
    const trace::StringId name = graph_.table_of(n).name[graph_.event(n)];
    if (table >= of_table_.size()) of_table_.resize(table + 1);
    std::vector<std::int64_t*>& counts = of_table_[table];
    if (name >= counts.size()) counts.resize(name + 1, nullptr);
    if (counts[name] == nullptr) counts[name] = &by_name_[graph_.name(n)];
    return *counts[name];
  }

 private:
  const graph::Graph& graph_;
  std::unordered_map<std::string_view, std::int64_t> by_name_;
  std::vector<std::vector<std::int64_t*>> of_table_;
};

double total(const std::array<double, model::kKnownKinds>& known_s) {
  double sum = 0;
  for (const double s : known_s) sum += s;
  return sum;
}
double unknown(const std::array<double, model::kKnownKinds>& known_s) {
  return known_s[static_cast<std::size_t>(model::Known::kUnknown)];
}

// Packs most of whose time is of unknown response stay at the trace's clock. Where all unknown work
// together is below this share of the GPU time it may run slower, priced as 1/f.
constexpr double kNegligible = 0.005;
bool keep_default(const SegmentPrice& price, double unknown_share) {
  return unknown_share > kNegligible && unknown(price.known_s) > 0.5 * total(price.known_s);
}

// The lowest clock that is cheapest for any pack: below it each option costs more time and more
// energy than the same change of clock would at that one.
std::size_t lowest_useful(const std::vector<SegmentPrice>& prices) {
  std::size_t lowest = prices.empty() ? 0 : prices.front().options.size() - 1;
  for (const SegmentPrice& p : prices) {
    std::size_t best = p.options.size() - 1;
    for (std::size_t i = p.options.size(); i-- > 0;) {
      if (p.options[i].energy_j < p.options[best].energy_j) best = i;
    }
    lowest = std::min(lowest, best);
  }
  return lowest;
}

// The longest typical change among the clocks on offer, unless the user says.
Seconds switch_latency(const model::Device& device, const TracePacks& packs,
                       const TraceOptions& options, Origin& origin) {
  origin = Origin::kAssumed;
  if (options.switch_latency) return *options.switch_latency;
  Seconds latency{};
  for (const std::size_t c : packs.clocks) {
    const auto change = model::switch_time(device, packs.table.clocks[c]);
    if (change.typical_s.value <= latency.si()) continue;
    latency = Seconds(change.typical_s.value);
    origin = change.typical_s.origin;
  }
  return latency;
}

// Packs much shorter than a change of clock only cost planning time: runs are longer than several.
std::size_t most_packs(const Window& window, Seconds latency, const TraceOptions& options,
                       std::size_t gpus) {
  constexpr double kPacksALatency = 8;
  std::size_t most = options.max_packs;
  if (gpus > 1) most = std::max<std::size_t>(20, options.max_packs / (2 * gpus));
  if (latency.si() > 0) {
    const double length = to_seconds(window.end_ns - window.begin_ns).si();
    const double useful = std::max(20.0, kPacksALatency * length / latency.si());
    if (useful < static_cast<double>(most)) most = static_cast<std::size_t>(useful);
  }
  return most;
}

}  // namespace

Result<TracePacks> cut_packs(const graph::Graph& graph, const Window& window, NodeModels nodes,
                             const model::Device& device, const TraceOptions& options) {
  ERGON_CHECK(nodes.size() == window.last - window.first, "one model a node of the window");
  const Hertz clock = options.trace_clock.value_or(device.default_clock);
  if (!device.supports(clock)) return fail(clock_not_supported(device, clock));
  TracePacks packs;
  packs.table = model::clock_table(device, clock);
  packs.trace_clock_assumed = !options.trace_clock.has_value();
  packs.window = window;
  packs.nodes = std::move(nodes);
  packs.curves = options.curves;
  OfferedClocks offer = offered_clocks(packs.table, options);
  packs.clocks = std::move(offer.clocks);
  packs.below_break = offer.below_break;

  const auto operations = operations_by_gpu(graph, window, packs.nodes);
  std::size_t used = 0;
  for (const auto& list : operations) used += list.empty() ? 0 : 1;
  if (used == 0) {
    return fail(Errc::kMalformedInput, "no GPU work in the part of the trace that is to be planned",
                "plan the whole trace with --steps all");
  }
  packs.switch_latency = switch_latency(device, packs, options, packs.switch_origin);
  const CutOptions cut{.max_packs = most_packs(window, packs.switch_latency, options, used),
                       .limit_w = packs.table.power_limit_w};
  const NodeTimes times(graph, window, packs.nodes, packs.table, options.curves);
  const Coupling coupling = find_coupling(graph, window, operations);
  // Of one GPU alone, whose operations get no shorter, all packs are re-timed in one pass.
  const bool one_pass = graph.gpus().size() == 1 && packs.curves.empty() &&
                        window.next == graph::kNoNode && window.tails.empty();
  const WindowRetimer* retimer = one_pass ? &retimer_of(graph, packs) : nullptr;

  std::vector<SegmentPrice> prices;
  std::vector<SegmentRef> refs;
  for (std::size_t g = 0; g < operations.size(); ++g) {
    if (operations[g].empty()) continue;
    const auto gpu = static_cast<std::uint32_t>(packs.problem.gpus.size());
    packs.problem.gpus.push_back(
        {std::to_string(graph.gpus()[g].number), packs.table.idle_w[packs.table.reference_index]});
    const auto segments =
        cut_segments(graph, window, packs.nodes, operations[g], coupling.hard_cuts[g], cut);
    auto priced = price_segments(graph, window, times, packs.nodes, packs.table, packs.clocks,
                                 operations[g], segments, retimer);
    NameCounts seen(graph);
    std::size_t at = 0;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Nanos end = s + 1 < segments.size() ? segments[s + 1].start_ns : window.end_ns;
      PackInfo info{.start_ns = segments[s].start_ns,
                    .end_ns = end,
                    .busy_s = priced[s].busy_s,
                    .operations = segments[s].end - segments[s].begin,
                    .first_operation = {},
                    .occurrence = 0,
                    .response = priced[s].response,
                    .known_s = priced[s].known_s};
      for (; at < segments[s].begin; ++at) ++seen.of(operations[g][at]);
      info.first_operation = graph.name(operations[g][segments[s].begin]);
      info.occurrence = seen.of(operations[g][segments[s].begin]);
      packs.packs.push_back(std::move(info));
      refs.push_back({gpu, g, segments[s], end});
    }
    for (auto& p : priced) prices.push_back(std::move(p));
    add_fine_groups(graph, window, packs.nodes, operations[g], gpu, packs.fine);
    packs.operations += operations[g].size();
  }

  const std::size_t lowest = lowest_useful(prices);
  packs.clocks.erase(packs.clocks.begin(),
                     packs.clocks.begin() + static_cast<std::ptrdiff_t>(lowest));
  for (const SegmentPrice& price : prices) {
    for (std::size_t k = 0; k < model::kKnownKinds; ++k) packs.known_s[k] += price.known_s[k];
  }
  const double all_s = total(packs.known_s);
  const double unknown_share = all_s > 0 ? unknown(packs.known_s) / all_s : 0;
  packs.kept_back.resize(prices.size());
  std::vector<std::size_t> next_id(packs.problem.gpus.size(), 0);
  for (std::size_t i = 0; i < prices.size(); ++i) {
    auto& from = prices[i].options;
    Pack pack;
    pack.id = packs.problem.gpus[refs[i].gpu].id + ":" + std::to_string(next_id[refs[i].gpu]++);
    pack.gpu = refs[i].gpu;
    if (keep_default(prices[i], unknown_share)) {
      pack.options.assign(from.end() - 1, from.end());
      packs.kept_back[i].assign(from.begin() + static_cast<std::ptrdiff_t>(lowest), from.end());
    } else {
      pack.options.assign(from.begin() + static_cast<std::ptrdiff_t>(lowest), from.end());
    }
    const auto& own = prices[i].own_time_s;
    if (!own.empty()) {
      packs.packs[i].own_time_s.assign(own.end() - static_cast<std::ptrdiff_t>(pack.options.size()),
                                       own.end());
    }
    packs.problem.packs.push_back(std::move(pack));
  }
  packs.problem.repeats = window.repeats;
  name_collectives(graph, coupling, refs, packs);
  couple(graph, coupling, refs, packs);

  packs.change_energy_j = device.switch_energy_j.value();
  if (options.switch_energy) packs.switch_energy_j = options.switch_energy->si();
  packs.problem.switching.min_run_s =
      options.min_run ? options.min_run->si() : kMinRunLatencies * packs.switch_latency.si();
  price_switching(packs);
  return packs;
}

}  // namespace ergon::plan
