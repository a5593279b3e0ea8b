// Fills the answer of `graph` from critical path, slack, idle gaps, replay and what-if.
#include "graph_answer.hpp"

#include <algorithm>
#include <numeric>

#include "ergon/report/page.hpp"
#include "page_data.hpp"
#include "planning.hpp"

namespace ergon::cli {
namespace {

using graph::Graph;
using graph::NodeId;

double seconds(Nanos ns) { return to_seconds(ns).si(); }

Value counts_value(const graph::Counts& c, std::size_t steps) {
  Value v = Value::object();
  v.set("host_ops", c.host_ops)
      .set("api_calls", c.api_calls)
      .set("kernels", c.kernels)
      .set("copies", c.copies);
  v.set("memsets", c.memsets)
      .set("collectives", c.collectives)
      .set("gpus", c.gpus)
      .set("processes", c.processes);
  v.set("streams", c.streams).set("steps", std::uint64_t{steps});
  return v;
}

// The largest `top` shares, and the rest as one, so that the list still sums to the span.
Value shares(const std::vector<graph::Share>& list, const char* key, std::size_t top) {
  Value v = Value::array();
  Nanos rest = 0;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i < top) {
      v.push(Value::object().set(key, list[i].name).set("time_s", seconds(list[i].time_ns)));
    } else {
      rest += list[i].time_ns;
      ++left_out;
    }
  }
  if (left_out > 0) {
    v.push(Value::object()
               .set(key, "(" + std::to_string(left_out) + " others)")
               .set("time_s", seconds(rest)));
  }
  return v;
}

// For tables: the middle of a long name is left out. The JSON has it all.
std::string shortened(std::string_view name) {
  constexpr std::size_t kMost = 90;
  if (name.size() <= kMost) return std::string(name);
  return std::string(name.substr(0, 60)) + "..." + std::string(name.substr(name.size() - 27));
}

Table share_table(std::string title, const char* what, const std::vector<graph::Share>& list,
                  Nanos span, std::size_t top) {
  Table t{.title = std::move(title),
          .columns = {{.title = what, .numeric = false},
                      {.title = "time", .unit = "ms"},
                      {.title = "share", .unit = "%", .significant = 3}},
          .rows = {}};
  for (std::size_t i = 0; i < std::min(list.size(), top); ++i) {
    t.rows.push_back(
        {shortened(list[i].name), 1e3 * seconds(list[i].time_ns),
         span > 0 ? Value(100.0 * static_cast<double>(list[i].time_ns) / static_cast<double>(span))
                  : Value()});
  }
  if (list.size() > top) t.note = std::to_string(list.size() - top) + " more; --top shows them";
  return t;
}

struct EdgeTotals {
  std::uint64_t recorded = 0, inferred = 0, assumed = 0;
};

Value edges_value(const std::vector<graph::RuleCount>& rules, EdgeTotals& totals) {
  Value list = Value::array();
  for (const auto& r : rules) {
    totals.recorded += r.recorded;
    totals.inferred += r.inferred;
    totals.assumed += r.assumed;
    list.push(Value::object()
                  .set("rule", to_string(r.rule))
                  .set("recorded", r.recorded)
                  .set("inferred", r.inferred)
                  .set("assumed", r.assumed)
                  .set("binding", r.binding));
  }
  return list;
}

Value optional_gpu(const Graph& graph, NodeId n) {
  const std::int32_t gpu = graph.gpu(n);
  return gpu < 0 ? Value() : Value(std::int64_t{gpu});
}

void add_slack(Answer& answer, const Graph& graph, const graph::Timing& timed,
               const GraphRequest& request) {
  const graph::Slack slack = graph::slack(timed, request.slack_end);
  std::vector<NodeId> order;
  for (NodeId n = 0; n < graph.size(); ++n) {
    if (graph.duration(n) > 0 || graph::on_gpu(graph.kind(n))) order.push_back(n);
  }
  // The longest first: that is where slack is worth most.
  const std::size_t shown = std::min(order.size(), request.top);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](NodeId a, NodeId b) {
                      const bool ga = graph::on_gpu(graph.kind(a));
                      const bool gb = graph::on_gpu(graph.kind(b));
                      if (ga != gb) return ga;
                      if (graph.duration(a) != graph.duration(b))
                        return graph.duration(a) > graph.duration(b);
                      return a < b;
                    });
  Value list = Value::array();
  Table table{.title = "Slack",
              .columns = {{.title = "node"},
                          {.title = "name", .numeric = false},
                          {.title = "gpu"},
                          {.title = "duration", .unit = "us"},
                          {.title = "total slack", .unit = "us"},
                          {.title = "free slack", .unit = "us"}},
              .rows = {}};
  for (std::size_t i = 0; i < shown; ++i) {
    const NodeId n = order[i];
    const bool gpu = graph::on_gpu(graph.kind(n));
    const std::int64_t stream = gpu ? graph.track(n).stream : -1;
    list.push(Value::object()
                  .set("id", std::uint64_t{n})
                  .set("name", graph.name(n))
                  .set("gpu", optional_gpu(graph, n))
                  .set("stream", stream < 0 ? Value() : Value(stream))
                  .set("start_ns", timed.start(n))
                  .set("duration_ns", timed.duration(n))
                  .set("total_slack_ns", slack.total_ns[n])
                  .set("free_slack_ns", slack.free_ns[n]));
    table.rows.push_back({std::uint64_t{n}, shortened(graph.name(n)), optional_gpu(graph, n),
                          1e6 * seconds(timed.duration(n)), 1e6 * seconds(slack.total_ns[n]),
                          1e6 * seconds(slack.free_ns[n])});
  }
  if (order.size() > shown)
    table.note = std::to_string(order.size() - shown) + " more nodes; --top shows them";
  answer.data.set("slack", std::move(list));
  answer.tables.push_back(std::move(table));
}

void add_idle(Answer& answer, const graph::Timing& timed) {
  Value list = Value::array();
  Table table{.title = "Idle GPU time, by what it waited for",
              .columns = {{.title = "gpu"},
                          {.title = "cause", .numeric = false},
                          {.title = "time", .unit = "ms"},
                          {.title = "gaps"}},
              .rows = {}};
  for (const auto& gap : graph::idle_gaps(timed)) {
    list.push(Value::object()
                  .set("gpu", std::int64_t{gap.gpu})
                  .set("cause", gap.cause)
                  .set("time_s", seconds(gap.time_ns))
                  .set("count", gap.count));
    table.rows.push_back({std::int64_t{gap.gpu}, gap.cause, 1e3 * seconds(gap.time_ns), gap.count});
  }
  answer.data.set("idle", std::move(list));
  answer.tables.push_back(std::move(table));
}

bool add_replay(Answer& answer, const Graph& graph) {
  const graph::Replay replay = graph::check_replay(graph);
  answer.data.set("replay",
                  Value::object()
                      .set("max_difference_ns", replay.max_difference_ns)
                      .set("nodes", replay.nodes)
                      .set("unexplained_share", replay.unexplained_share)
                      .set("residual_ns_total", replay.residual_ns_total)
                      .set("response", replay.response ? Value(*replay.response) : Value())
                      .set("gpu_busy_s", seconds(replay.gpu_busy_ns)));
  std::string line = "Replay: " + std::to_string(replay.max_difference_ns) +
                     " ns largest difference over " + std::to_string(replay.nodes) + " nodes; " +
                     percent_text(replay.unexplained_share) +
                     " of the kernels start without a rule that explains it";
  if (replay.response)
    line += "; kernels twice as long lengthen the span by " + percent_text(*replay.response) +
            " of the GPU-busy time";
  answer.lines.push_back(line + ".");
  return replay.max_difference_ns == 0;
}

std::uint64_t add_what_if(Answer& answer, const Graph& graph, const GraphRequest& request,
                          Nanos span) {
  graph::Retimer timed(graph);
  std::uint64_t matches = 0;
  for (const auto& rule : request.what_if) matches += rule.apply(graph, timed.durations());
  const Nanos changed = timed.run();
  answer.data.set("what_if", Value::object()
                                 .set("span_s", seconds(changed))
                                 .set("change_s", seconds(changed - span))
                                 .set("matched", matches));
  answer.lines.push_back("What if: the span becomes " + time_text(seconds(changed)) + " (" +
                         (changed >= span ? "+" : "-") +
                         time_text(std::abs(seconds(changed - span))) + "); " +
                         std::to_string(matches) + " nodes changed.");
  return matches;
}

}  // namespace

GraphResult graph_answer(const Graph& graph, const GraphRequest& request) {
  GraphResult result;
  Answer& answer = result.answer;
  answer.command = "graph";
  const graph::Timing timed(graph);  // as observed
  const graph::CriticalPath path = graph::critical_path(timed, graph::Operators(graph));
  const graph::Counts counts = graph.counts();
  const double span = seconds(path.span_ns);
  const auto part = [&](Nanos ns) {
    return span > 0 ? percent_text(seconds(ns) / span) : std::string("-");
  };
  answer.headline = "The critical path lasts " + time_text(span) + ": " + part(path.work_ns) +
                    " work, " + part(path.latency_ns) + " latency, " + part(path.host_gap_ns) +
                    " host gaps, " + part(path.unexplained_ns) + " unexplained.";
  answer.lines.push_back(
      std::to_string(counts.kernels) + " kernels, " + std::to_string(counts.copies) + " copies, " +
      std::to_string(counts.memsets) + " memsets, " + std::to_string(counts.api_calls) +
      " API calls and " + std::to_string(counts.host_ops) + " host operations on " +
      std::to_string(counts.gpus) + " GPUs, " + std::to_string(counts.streams) + " streams; " +
      std::to_string(request.steps) + " steps found" +
      (request.step_name.empty() ? "." : ", " + request.step_name + " shown."));

  answer.data.set("counts", counts_value(counts, request.steps));
  answer.data.set("step", request.step_name.empty() ? Value() : Value(request.step_name));
  answer.data.set("span_s", span);
  Value critical = Value::object();
  critical.set("work_s", seconds(path.work_ns))
      .set("latency_s", seconds(path.latency_ns))
      .set("host_gap_s", seconds(path.host_gap_ns))
      .set("unexplained_s", seconds(path.unexplained_ns))
      .set("nodes", std::uint64_t{path.nodes.size()})
      .set("by_kind", shares(path.by_kind, "kind", static_cast<std::size_t>(-1)))
      .set("by_kernel", shares(path.by_kernel, "kernel", request.top))
      .set("by_operator", shares(path.by_operator, "operator", request.top))
      .set("by_thread", shares(path.by_thread, "thread", request.top));
  answer.data.set("critical_path", std::move(critical));
  const auto rules = graph::edges_by_rule(timed);
  EdgeTotals totals;
  Value by_rule = edges_value(rules, totals);
  answer.data.set("edges", Value::object()
                               .set("recorded", totals.recorded)
                               .set("inferred", totals.inferred)
                               .set("assumed", totals.assumed));
  answer.data.set("edges_by_rule", std::move(by_rule));
  std::uint64_t anchors = 0;
  for (NodeId n = 0; n < graph.size(); ++n) anchors += graph.is_anchor(n) ? 1 : 0;
  answer.data.set(
      "anchors",
      Value::object().set("nodes", anchors).set("critical_path_s", seconds(path.anchor_ns)));
  answer.lines.push_back(std::to_string(totals.recorded) + " edges recorded, " +
                         std::to_string(totals.inferred) + " inferred, " +
                         std::to_string(totals.assumed) + " assumed; " + std::to_string(anchors) +
                         " anchors.");

  const std::size_t rows = std::min<std::size_t>(request.top, 12);
  answer.tables.push_back(
      share_table("Critical path by kind", "kind", path.by_kind, path.span_ns, rows));
  answer.tables.push_back(
      share_table("Critical path by kernel", "kernel", path.by_kernel, path.span_ns, rows));
  answer.tables.push_back(
      share_table("Critical path by operator", "operator", path.by_operator, path.span_ns, rows));
  add_idle(answer, timed);
  if (request.slack) add_slack(answer, graph, timed, request);
  if (request.check_replay) result.replay_exact = add_replay(answer, graph);
  if (!request.what_if.empty())
    result.what_if_matches = add_what_if(answer, graph, request, path.span_ns);
  if (request.with_page) {
    report::Page page;
    page.figures = {
        {"span", span, "s", "first start to last end"},
        {"work on the critical path", seconds(path.work_ns), "s", ""},
        {"unexplained", seconds(path.unexplained_ns), "s", "delay that no edge explains"}};
    page.timeline = graph_timeline(graph);
    page.coverage.push_back({"Dependency edges",
                             "edges of the graph",
                             {{"recorded", static_cast<double>(totals.recorded)},
                              {"inferred", static_cast<double>(totals.inferred)},
                              {"assumed", static_cast<double>(totals.assumed)}}});
    page.kernels = kernel_rows(graph);
    answer.page = report::to_value(page);
  }
  return result;
}

}  // namespace ergon::cli
