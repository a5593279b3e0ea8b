// Which part of the trace is planned: the typical step, or everything.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ergon/plan/trace_packs.hpp"

namespace ergon::plan {
namespace {

using graph::Graph;
using graph::NodeId;

struct GpuSpan {
  NodeId first = graph::kNoNode;
  Nanos begin = 0;
  Nanos end = 0;
};

// First start and last end of the GPU work that the steps of one ordinal launched, over all tables.
GpuSpan gpu_span(const Graph& graph, const std::vector<graph::Step>& steps) {
  GpuSpan span;
  for (const auto& step : steps) {
    for (const NodeId n : graph::nodes_of(graph, step)) {
      if (!graph::on_gpu(graph.kind(n))) continue;
      const Nanos start = graph.start(n);
      if (span.first == graph::kNoNode || start < span.begin) {
        span.begin = start;
        span.first = n;
      }
      span.end = std::max(span.end, start + graph.duration(n));
    }
  }
  return span;
}

Window whole_trace(const Graph& graph) {
  Window w;
  w.first = 0;
  w.last = static_cast<NodeId>(graph.size());
  w.begin_ns = graph.span_begin();
  w.end_ns = graph.span_end();
  return w;
}

// The last host node of each thread among the window's nodes.
std::vector<NodeId> last_of_threads(const Graph& graph, const Window& w) {
  std::map<const trace::Track*, NodeId> last;
  for (NodeId n = w.first; n < w.last; ++n) {
    if (graph::on_gpu(graph.kind(n))) continue;
    const Nanos end = graph.start(n) + graph.duration(n);
    const auto [at, fresh] = last.emplace(&graph.track(n), n);
    if (!fresh && graph.start(at->second) + graph.duration(at->second) <= end) at->second = n;
  }
  std::vector<NodeId> nodes;
  for (const auto& [track, n] : last) {
    if (graph.start(n) + graph.duration(n) <= w.end_ns) nodes.push_back(n);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

bool any_gpu_work(const Graph& graph) {
  const auto counts = graph.counts();
  return counts.kernels + counts.copies + counts.memsets > 0;
}

}  // namespace

Result<Window> choose_window(const graph::Graph& graph, bool whole) {
  if (!any_gpu_work(graph)) {
    return fail(Errc::kMalformedInput, "the trace has no GPU work, so there is nothing to plan",
                "record with the profiler's CUDA (or ROCm) activities switched on");
  }
  // Steps of the same name in several tables (ranks) are one step of the job.
  std::map<std::string, std::size_t> ordinal;
  std::vector<std::vector<graph::Step>> steps;
  for (const auto& step : graph::find_steps(graph)) {
    const auto [at, fresh] = ordinal.emplace(step.name, steps.size());
    if (fresh) steps.emplace_back();
    steps[at->second].push_back(step);
  }
  std::vector<GpuSpan> spans;
  std::vector<std::size_t> used;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const GpuSpan span = gpu_span(graph, steps[i]);
    if (span.first == graph::kNoNode) continue;
    spans.push_back(span);
    used.push_back(i);
  }
  if (whole || spans.empty()) {
    Window w = whole_trace(graph);
    w.steps = spans.size();
    return w;
  }

  // A step lasts until the next one's first operation; the first step is often a warm-up.
  std::vector<std::pair<Nanos, std::size_t>> lengths;
  for (std::size_t i = 0; i + 1 < spans.size(); ++i) {
    const Nanos length = spans[i + 1].begin - spans[i].begin;
    if (length > 0) lengths.emplace_back(length, i);
  }
  if (lengths.size() > 2) lengths.erase(lengths.begin());
  Window w;
  w.repeats = true;
  w.steps = spans.size();
  if (lengths.empty()) {
    // One step: from its first host work to its last end anywhere.
    const auto& step = steps[used.front()].front();
    w.step = step.name;
    w.begin_ns = std::min(step.host.begin, spans.front().begin);
    w.end_ns = std::max(step.host.end, spans.front().end);
    w.first = graph::node_at(graph, w.begin_ns);
    w.last = graph::node_at(graph, w.end_ns);
    w.tails = last_of_threads(graph, w);
    return w;
  }
  std::sort(lengths.begin(), lengths.end());
  const std::size_t typical = lengths[(lengths.size() - 1) / 2].second;
  w.step = steps[used[typical]].front().name;
  w.begin_ns = spans[typical].begin;
  w.end_ns = spans[typical + 1].begin;
  w.next = spans[typical + 1].first;
  w.first = graph::node_at(graph, w.begin_ns);
  w.last = std::min(graph::node_at(graph, w.end_ns), w.next);
  return w;
}

}  // namespace ergon::plan
