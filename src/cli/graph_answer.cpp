// Fills the answer of `graph` from critical path, slack, idle gaps, replay and what-if.
#include "graph_answer.hpp"

#include <algorithm>
#include <numeric>

#include "ergon/report/page.hpp"
#include "graph_parts.hpp"
#include "page_data.hpp"
#include "planning.hpp"

namespace ergon::cli {
namespace {

using graph::Graph;
using graph::NodeId;

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

Table share_table(std::string title, const char* what, const std::vector<graph::Share>& list,
                  Nanos span, std::size_t top) {
  Table t{.title = std::move(title),
          .columns = {{.title = what, .numeric = false},
                      {.title = "time", .unit = "ms"},
                      {.title = "share", .unit = "%", .significant = 3}},
          .rows = {}};
  for (std::size_t i = 0; i < std::min(list.size(), top); ++i) {
    t.rows.push_back({list[i].name, ms(list[i].time_ns), percent_of(list[i].time_ns, span)});
  }
  say_left_out(t, list.size(), top);
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

std::string counts_text(const graph::Counts& c) {
  return counted(c.kernels, "kernel") + ", " + counted(c.copies, "copy", "copies") + ", " +
         counted(c.memsets, "memset") + ", " + counted(c.api_calls, "API call") + " and " +
         counted(c.host_ops, "host operation") + " on " + counted(c.gpus, "GPU") + ", " +
         counted(c.streams, "stream");
}

std::string steps_text(const GraphRequest& request) {
  const std::string found = counted(request.steps, "step") + " found";
  if (!request.step_name.empty()) return found + ", " + request.step_name + " shown.";
  if (request.part) return counted(request.steps, "step") + " in the time range, whole or in part.";
  if (request.steps < 2) return found + ".";
  return found + ", all shown ('plan' takes one of them: --steps auto).";
}

report::Page page_of(const Graph& graph, const graph::CriticalPath& path,
                     const EdgeTotals& totals) {
  report::Page page;
  page.figures = {
      {"span", ms(path.span_ns), "ms", "first start to last end"},
      {"work on the critical path", ms(path.work_ns), "ms", "operations run"},
      {"latency", ms(path.latency_ns), "ms", "launch and return"},
      {"host gaps", ms(path.host_gap_ns), "ms", "the host runs no operation and no call"},
      {"unexplained", ms(path.unexplained_ns), "ms", "delay that no edge explains"}};
  page.timeline = graph_timeline(graph);
  add_path_lane(graph, path, *page.timeline);
  page.coverage.push_back({"Dependency edges",
                           "edges of the graph",
                           {{"recorded", static_cast<double>(totals.recorded)},
                            {"inferred", static_cast<double>(totals.inferred)},
                            {"assumed", static_cast<double>(totals.assumed)}}});
  page.kernels = kernel_rows(graph);
  return page;
}

}  // namespace

Result<GraphResult> graph_answer(const Graph& graph, const GraphRequest& request) {
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
  answer.lines.push_back(counts_text(counts) + "; " + steps_text(request));

  answer.data.set("counts", counts_value(counts, request.steps));
  answer.data.set("gpus", gpus_value(graph));
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
  if (std::string numbers = numbers_text(graph); !numbers.empty())
    answer.lines.push_back(std::move(numbers));
  answer.lines.push_back(counted(totals.recorded, "edge") + " recorded, " +
                         std::to_string(totals.inferred) + " inferred, " +
                         std::to_string(totals.assumed) + " assumed; " +
                         counted(anchors, "anchor") + ".");
  answer.lines.emplace_back(
      "Words: 'ergon explain critical-path' (work, latency, host gap, unexplained), 'idle', "
      "'anchor', 'coverage', 'slack'.");

  // The path tables are as recorded, also where --what-if changes it.
  const std::size_t rows = request.top_given ? request.top : 12;
  const std::string of = request.what_if.empty() ? "Critical path" : "Critical path as recorded,";
  if (!request.what_if.empty()) {
    ERGON_TRY(result.what_if_matches, add_what_if(answer, graph, request, path));
  }
  answer.tables.push_back(share_table(of + " by kind", "kind", path.by_kind, path.span_ns, rows));
  answer.tables.push_back(
      share_table(of + " by kernel", "kernel", path.by_kernel, path.span_ns, rows));
  answer.tables.push_back(
      share_table(of + " by operator", "operator", path.by_operator, path.span_ns, rows));
  add_idle(answer, timed, path.span_ns);
  if (request.slack) add_slack(answer, graph, timed, request);
  if (request.check_replay) result.replay_exact = add_replay(answer, graph);
  if (request.with_page) answer.page = report::to_value(page_of(graph, path, totals));
  return result;
}

}  // namespace ergon::cli
