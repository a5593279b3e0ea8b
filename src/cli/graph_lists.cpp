// The lists of the answer of `graph`: slack, idle gaps, replay, what-if.
#include <algorithm>
#include <cmath>
#include <map>

#include "graph_parts.hpp"
#include "planning.hpp"

namespace ergon::cli {
namespace {

using graph::Graph;
using graph::NodeId;

// The longest total slack first: that is what may run slower. GPU operations before those of the
// host.
std::vector<NodeId> by_slack(const Graph& graph, const graph::Timing& timed,
                             const graph::Slack& slack, std::size_t most) {
  std::vector<NodeId> order;
  for (NodeId n = 0; n < graph.size(); ++n) {
    if (graph.duration(n) > 0 || graph::on_gpu(graph.kind(n))) order.push_back(n);
  }
  const auto before = [&](NodeId a, NodeId b) {
    const bool ga = graph::on_gpu(graph.kind(a));
    const bool gb = graph::on_gpu(graph.kind(b));
    if (ga != gb) return ga;
    if (slack.total_ns[a] != slack.total_ns[b]) return slack.total_ns[a] > slack.total_ns[b];
    if (timed.duration(a) != timed.duration(b)) return timed.duration(a) > timed.duration(b);
    return a < b;
  };
  const std::size_t shown = std::min(order.size(), most);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    before);
  return order;
}

// "-82.31 ms (-17.7 %)"
std::string change_text(Nanos change, Nanos of) {
  std::string text = change == 0 ? "no change" : (change > 0 ? "+" : "-");
  if (change == 0) return text;
  text += time_text(std::abs(seconds(change)));
  if (of > 0)
    text += std::string(" (") + (change > 0 ? "+" : "-") +
            percent_text(std::abs(seconds(change)) / seconds(of)) + ")";
  return text;
}

// Durations that add up to more than 64 bits of ns hold have no answer.
Status refuse_too_long(std::span<const Nanos> durations) {
  constexpr double kLongest = 1e18;
  double all = 0;
  for (const Nanos d : durations) all += static_cast<double>(d);
  if (all <= kLongest) return {};
  return fail(Errc::kInvalidArgument,
              "with the rules of --what-if the operations last " + time_text(all / 1e9) +
                  " together; the longest time that can be told is " + time_text(kLongest / 1e9),
              "give smaller factors, or less time to add");
}

Value rules_value(const GraphRequest& request, const std::vector<std::uint64_t>& matched) {
  Value list = Value::array();
  for (std::size_t i = 0; i < matched.size(); ++i)
    list.push(Value::object().set("rule", request.what_if_texts[i]).set("matched", matched[i]));
  return list;
}

}  // namespace

Value gpu_number(const Graph& graph, std::int32_t gpu) {
  if (gpu < 0) return {};
  return std::int64_t{graph.gpus()[static_cast<std::size_t>(gpu)].number};
}

std::string gpu_words(const graph::Gpu& gpu) {
  std::string text = std::to_string(gpu.number) + " is ";
  text += gpu.device < 0 ? "a device" : "device " + std::to_string(gpu.device);
  if (gpu.rank >= 0) text += " of rank " + std::to_string(gpu.rank);
  return text + (gpu.rank >= 0 ? " (" + gpu.trace + ")" : " of " + gpu.trace);
}

Value gpus_value(const Graph& graph) {
  Value list = Value::array();
  for (const graph::Gpu& gpu : graph.gpus()) {
    list.push(Value::object()
                  .set("gpu", std::int64_t{gpu.number})
                  .set("rank", gpu.rank < 0 ? Value() : Value(gpu.rank))
                  .set("device", gpu.device < 0 ? Value() : Value(std::int64_t{gpu.device}))
                  .set("name", gpu.name.empty() ? Value() : Value(gpu.name))
                  .set("trace", gpu.trace));
  }
  return list;
}

std::string numbers_text(const Graph& graph) {
  const auto& gpus = graph.gpus();
  if (std::ranges::all_of(gpus, [](const auto& gpu) { return gpu.number == gpu.device; }))
    return {};
  constexpr std::size_t kMost = 8;
  std::string text = "GPUs are numbered over all traces:";
  for (std::size_t g = 0; g < std::min(gpus.size(), kMost); ++g)
    text += (g == 0 ? " " : ", ") + gpu_words(gpus[g]);
  if (gpus.size() > kMost) text += ", and " + std::to_string(gpus.size() - kMost) + " more";
  return text + ".";
}

void say_left_out(Table& table, std::size_t all, std::size_t shown) {
  if (all <= shown) return;
  table.note = std::to_string(all - shown) + " more";
  table.hint = "--top " + std::to_string(all) + " shows them";
}

void add_slack(Answer& answer, const Graph& graph, const graph::Timing& timed,
               const GraphRequest& request) {
  const graph::Slack slack = graph::slack(timed, request.slack_end);
  const std::vector<NodeId> order = by_slack(graph, timed, slack, request.top);
  Value list = Value::array();
  Table table{.title = "Slack, the longest first",
              .columns = {{.title = "node"},
                          {.title = "name", .numeric = false},
                          {.title = "gpu"},
                          {.title = "duration", .unit = "us"},
                          {.title = "total slack", .unit = "us"},
                          {.title = "free slack", .unit = "us"}},
              .rows = {}};
  for (std::size_t i = 0; i < std::min(order.size(), request.top); ++i) {
    const NodeId n = order[i];
    const bool on_gpu = graph::on_gpu(graph.kind(n));
    const std::int64_t stream = on_gpu ? graph.track(n).stream : -1;
    const Value gpu = gpu_number(graph, graph.gpu(n));
    list.push(Value::object()
                  .set("id", std::uint64_t{n})
                  .set("name", graph.name(n))
                  .set("gpu", gpu)
                  .set("stream", stream < 0 ? Value() : Value(stream))
                  .set("start_ns", timed.start(n))
                  .set("duration_ns", timed.duration(n))
                  .set("total_slack_ns", slack.total_ns[n])
                  .set("free_slack_ns", slack.free_ns[n]));
    table.rows.push_back({std::uint64_t{n}, graph.name(n), gpu, us(timed.duration(n)),
                          us(slack.total_ns[n]), us(slack.free_ns[n])});
  }
  say_left_out(table, order.size(), request.top);
  answer.data.set("slack", std::move(list));
  answer.tables.push_back(std::move(table));
}

void add_idle(Answer& answer, const graph::Timing& timed, Nanos span) {
  const Graph& graph = timed.graph();
  Value list = Value::array();
  Table table{.title = "Idle GPU time, by what it waited for",
              .columns = {{.title = "gpu"},
                          {.title = "cause", .numeric = false},
                          {.title = "time", .unit = "ms"},
                          {.title = "of the span", .unit = "%", .significant = 3},
                          {.title = "gaps"}},
              .rows = {}};
  std::map<std::int32_t, graph::IdleCause> totals;
  for (std::size_t g = 0; g < graph.gpus().size(); ++g)
    totals[static_cast<std::int32_t>(g)].cause = "all";
  const auto gaps = graph::idle_gaps(timed);
  const auto row = [&](std::int32_t gpu, const graph::IdleCause& gap) {
    table.rows.push_back({gpu_number(graph, gpu), gap.cause, ms(gap.time_ns),
                          percent_of(gap.time_ns, span), gap.count});
  };
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto& gap = gaps[i];
    list.push(Value::object()
                  .set("gpu", gpu_number(graph, gap.gpu))
                  .set("cause", gap.cause)
                  .set("time_s", seconds(gap.time_ns))
                  .set("count", gap.count));
    row(gap.gpu, gap);
    graph::IdleCause& total = totals[gap.gpu];
    total.time_ns += gap.time_ns;
    total.count += gap.count;
    if (i + 1 == gaps.size() || gaps[i + 1].gpu != gap.gpu) row(gap.gpu, total);
  }
  Value whole = Value::array();
  for (const auto& [gpu, total] : totals) {
    whole.push(Value::object()
                   .set("gpu", gpu_number(graph, gpu))
                   .set("time_s", seconds(total.time_ns))
                   .set("share", span > 0 ? Value(seconds(total.time_ns) / seconds(span)) : Value())
                   .set("count", total.count));
  }
  answer.data.set("idle", std::move(list)).set("idle_total", std::move(whole));
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
  std::string line = percent_text(replay.unexplained_share) +
                     " of the kernels start without a rule that explains it";
  if (replay.response)
    line += "; kernels twice as long lengthen the span by " + percent_text(*replay.response) +
            " of the GPU-busy time";
  // The verdict comes first, what is else known after it.
  answer.lines.insert(answer.lines.begin(), {line + ".", answer.headline});
  const bool exact = replay.max_difference_ns == 0;
  answer.headline =
      exact ? "Yes: re-timing gives all " + std::to_string(replay.nodes) + " nodes back (0 ns)."
            : "No: re-timing moves a node by up to " + std::to_string(replay.max_difference_ns) +
                  " ns (of " + counted(replay.nodes, "node") + ").";
  return exact;
}

Result<std::vector<std::uint64_t>> add_what_if(Answer& answer, const Graph& graph,
                                               const GraphRequest& request,
                                               const graph::CriticalPath& recorded) {
  graph::Retimer timed(graph);
  std::vector<bool> touched(graph.size(), false);
  std::vector<std::uint64_t> matched;
  matched.reserve(request.what_if.size());
  for (const auto& rule : request.what_if)
    matched.push_back(rule.apply(graph, timed.durations(), touched));
  const auto matches = static_cast<std::uint64_t>(std::ranges::count(touched, true));
  ERGON_TRY_STATUS(refuse_too_long(timed.durations()));
  timed.run();
  const graph::CriticalPath path =
      graph::critical_path(graph::Timing(timed), graph::Operators(graph));
  const Nanos change = path.span_ns - recorded.span_ns;
  answer.data.set("what_if", Value::object()
                                 .set("span_s", seconds(path.span_ns))
                                 .set("change_s", seconds(change))
                                 .set("matched", matches)
                                 .set("rules", rules_value(request, matched))
                                 .set("work_s", seconds(path.work_ns))
                                 .set("latency_s", seconds(path.latency_ns))
                                 .set("host_gap_s", seconds(path.host_gap_ns))
                                 .set("unexplained_s", seconds(path.unexplained_ns)));
  Table table{.title = "What if: the critical path before and after",
              .columns = {{.title = "", .numeric = false},
                          {.title = "before", .unit = "ms"},
                          {.title = "after", .unit = "ms"},
                          {.title = "change", .unit = "ms"},
                          {.title = "change", .unit = "%", .significant = 3}},
              .rows = {}};
  const auto row = [&](const char* name, Nanos before, Nanos after) {
    table.rows.push_back(
        {name, ms(before), ms(after), ms(after - before), percent_of(after - before, before)});
  };
  row("span", recorded.span_ns, path.span_ns);
  row("work", recorded.work_ns, path.work_ns);
  row("latency", recorded.latency_ns, path.latency_ns);
  row("host gaps", recorded.host_gap_ns, path.host_gap_ns);
  row("unexplained", recorded.unexplained_ns, path.unexplained_ns);
  answer.tables.push_back(std::move(table));
  answer.lines.insert(answer.lines.begin(), "As recorded: " + answer.headline);
  answer.headline = "What if: the span goes from " + time_text(seconds(recorded.span_ns)) + " to " +
                    time_text(seconds(path.span_ns)) + ", " +
                    change_text(change, recorded.span_ns) + "; " + counted(matches, "node") +
                    " changed.";
  if (request.what_if_host && path.host_gap_ns * 20 > path.span_ns) {
    answer.lines.push_back(
        "Of the path " + percent_text(seconds(path.host_gap_ns) / seconds(path.span_ns)) +
        " are host gaps: time in which the host runs no operation and no call that the trace "
        "records (Python frames are not taken as work). Rules of host=~ do not change them.");
  }
  return matched;
}

}  // namespace ergon::cli
