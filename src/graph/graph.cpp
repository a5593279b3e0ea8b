// Accessors and names.
#include "ergon/graph.hpp"

#include <algorithm>

#include "impl.hpp"

namespace ergon::graph {

const char* to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::kKernel:
      return "kernel";
    case NodeKind::kCopy:
      return "copy";
    case NodeKind::kMemset:
      return "memset";
    case NodeKind::kCollective:
      return "collective";
    case NodeKind::kApi:
      return "api";
    case NodeKind::kHost:
      return "host";
    case NodeKind::kSync:
      return "sync";
  }
  return "host";
}

const char* to_string(Rule rule) {
  switch (rule) {
    case Rule::kThreadOrder:
      return "thread_order";
    case Rule::kLaunch:
      return "launch";
    case Rule::kGraphLaunch:
      return "graph_launch";
    case Rule::kStreamOrder:
      return "stream_order";
    case Rule::kStreamOverlap:
      return "stream_overlap";
    case Rule::kDefaultStream:
      return "default_stream";
    case Rule::kEventWait:
      return "event_wait";
    case Rule::kEventSync:
      return "event_sync";
    case Rule::kStreamSync:
      return "stream_sync";
    case Rule::kDeviceSync:
      return "device_sync";
    case Rule::kBlockingCopy:
      return "blocking_copy";
    case Rule::kQueueFull:
      return "queue_full";
    case Rule::kSharedGpu:
      return "shared_gpu";
    case Rule::kThreadHandOff:
      return "thread_hand_off";
    case Rule::kCollective:
      return "collective";
  }
  return "thread_order";
}

const char* to_string(Known known) {
  switch (known) {
    case Known::kRecorded:
      return "recorded";
    case Known::kInferred:
      return "inferred";
    case Known::kAssumed:
      return "assumed";
  }
  return "assumed";
}

Graph::Graph() : impl_(std::make_unique<Impl>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

std::size_t Graph::size() const { return impl_->size(); }
NodeKind Graph::kind(NodeId n) const { return impl_->kind[n]; }
std::uint32_t Graph::table(NodeId n) const { return impl_->table_of(impl_->event[n]); }
trace::EventId Graph::event(NodeId n) const { return impl_->event[n] - impl_->base[table(n)]; }
const trace::EventTable& Graph::table_of(NodeId n) const { return *impl_->tables[table(n)]; }
std::string_view Graph::name(NodeId n) const { return table_of(n).name_of(event(n)); }
std::int32_t Graph::gpu(NodeId n) const {
  return on_gpu(impl_->kind[n]) ? static_cast<std::int32_t>(impl_->gpu(n)) : -1;
}
const trace::Track& Graph::track(NodeId n) const {
  const trace::EventTable& t = table_of(n);
  return t.tracks[t.track[event(n)]];
}
Nanos Graph::start(NodeId n) const { return impl_->start[n]; }
Nanos Graph::duration(NodeId n) const { return impl_->duration[n]; }
Nanos Graph::residual(NodeId n) const { return impl_->residual[n]; }
bool Graph::is_anchor(NodeId n) const { return impl_->offset[n] == impl_->offset[n + 1]; }
std::size_t Graph::edge_count(NodeId n) const { return impl_->offset[n + 1] - impl_->offset[n]; }
Edge Graph::edge(NodeId n, std::size_t i) const {
  const std::size_t e = impl_->offset[n] + i;
  const std::uint8_t flags = impl_->flags[e];
  return {impl_->from[e], impl_->lag[e], edge_rule(flags), edge_known(flags),
          edge_from_start(flags)};
}
std::size_t Graph::edges() const { return impl_->from.size(); }

NodeId Graph::arrival(NodeId n) const { return impl_->arrival(n); }
NodeId Graph::transfer(NodeId n) const { return impl_->transfer(n); }

NodeId Graph::launch(NodeId n) const { return impl_->launch(n); }

const std::vector<Gpu>& Graph::gpus() const { return impl_->gpus; }
const std::vector<BuildNote>& Graph::notes() const { return impl_->notes; }
Counts Graph::counts() const { return impl_->counts; }
Nanos Graph::span_begin() const { return impl_->span_begin; }
Nanos Graph::span_end() const { return impl_->span_end; }

NodeId node_at(const Graph& graph, Nanos t) {
  NodeId low = 0;
  auto high = static_cast<NodeId>(graph.size());
  while (low < high) {
    const NodeId middle = low + (high - low) / 2;
    if (graph.start(middle) < t) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace ergon::graph
