// The build in its order, and what a graph tells of itself.
#include <algorithm>
#include <set>

#include "draft.hpp"

namespace ergon::graph {
namespace {

Counts count(const Draft& d) {
  Counts c;
  std::set<std::pair<std::uint32_t, std::int64_t>> processes;
  std::set<std::uint32_t> with_events;
  for (const HostThread& t : d.threads) {
    const std::uint64_t before = c.api_calls + c.host_ops;
    for (std::uint32_t e = t.begin; e < t.end; ++e) {
      const trace::EventKind kind = d.kind(e);
      if (kind != trace::EventKind::kHostOp && kind != trace::EventKind::kApi) continue;
      if (!d.in_range(e)) continue;
      ++(kind == trace::EventKind::kApi ? c.api_calls : c.host_ops);
    }
    if (c.api_calls + c.host_ops > before) with_events.insert(t.process);
  }
  for (const Stream& s : d.streams) {
    if (s.first == s.last) continue;
    ++c.streams;
    if (s.process != kNone) with_events.insert(s.process);
    for (Op k = s.first; k < s.last; ++k) {
      switch (d.kind(d.op_event[k])) {
        case trace::EventKind::kCopy:
          ++c.copies;
          break;
        case trace::EventKind::kMemset:
          ++c.memsets;
          break;
        default:
          ++c.kernels;
          c.collectives += d.op_named(k, kNameCollective) ? 1 : 0;
      }
    }
  }
  c.gpus = d.gpus.size();
  c.processes = with_events.size();
  return c;
}

}  // namespace

Result<Graph> build(std::span<const trace::EventTable* const> tables, const BuildOptions& options) {
  ERGON_CHECK(!tables.empty(), "a graph needs at least one table");
  std::uint64_t events = 0;
  Nanos first_base = tables.front()->base_ns;
  for (const trace::EventTable* table : tables) {
    events += table->size();
    first_base = std::min(first_base, table->base_ns);
  }
  if (events >= kNone / 4) {
    return fail(
        Errc::kMalformedInput,
        "a graph holds up to 1,073 million events, these traces have " + std::to_string(events),
        "give fewer ranks, or a shorter profile");
  }
  Draft d;
  d.tables.assign(tables.begin(), tables.end());
  d.options = options;
  for (const trace::EventTable* table : tables) d.clock.push_back(table->base_ns - first_base);

  index_tracks(d);
  correlate(d);
  filter_operations(d);
  order_streams(d);
  sequence_calls(d);
  learn_latencies(d);
  find_event_waits(d);
  find_default_stream(d);
  find_coincidences(d);
  find_host_waits(d);
  lay_out_threads(d);
  find_hand_offs(d);
  find_collectives(d);
  place_transfers(d);

  Graph graph;
  graph.impl().counts = count(d);
  assemble(std::move(d), graph.impl());
  if (graph.size() == 0) {
    return fail(
        Errc::kMalformedInput, "no host operation, API call or GPU operation to build a graph from",
        "profile with CPU and CUDA (or HIP) activities; check --steps, --gpu and the time range");
  }
  return graph;
}

Result<Graph> build(const trace::EventTable& table, const BuildOptions& options) {
  const trace::EventTable* one = &table;
  return build(std::span(&one, 1), options);
}

}  // namespace ergon::graph
