// ergon graph: the execution graph of traces: critical path, slack, idle gaps, what-if.
#include <algorithm>
#include <limits>
#include <set>

#include "context.hpp"
#include "graph_answer.hpp"
#include "perfetto_export.hpp"
#include "planning.hpp"
#include "registry.hpp"
#include "trace_input.hpp"

namespace ergon::cli {
namespace {

std::vector<const trace::EventTable*> pointers_to(const std::vector<trace::EventTable>& tables) {
  std::vector<const trace::EventTable*> pointers;
  pointers.reserve(tables.size());
  for (const auto& table : tables) pointers.push_back(&table);
  return pointers;
}

// Of the steps of all ranks those of one ordinal: the range from the first start to the last end.
Result<graph::TimeRange> range_of_step(const std::vector<graph::Step>& steps,
                                       const std::vector<std::string>& names, std::size_t wanted,
                                       std::string& name) {
  if (wanted >= names.size()) {
    return fail(Errc::kInvalidArgument, "the trace has no step " + std::to_string(wanted),
                names.empty() ? "no repeating step was found; leave --steps out"
                              : "steps 0 to " + std::to_string(names.size() - 1) + " were found");
  }
  name = names[wanted];
  std::optional<graph::TimeRange> range;
  for (const auto& step : steps) {
    if (step.name != name) continue;
    if (!range) range = step.host;
    range->begin = std::min(range->begin, step.host.begin);
    range->end = std::max(range->end, step.host.end);
  }
  return *range;
}

// The device of that number, if any GPU work of the traces is on it.
Result<std::int32_t> known_device(const std::vector<trace::EventTable>& tables,
                                  std::int64_t wanted) {
  std::set<std::int32_t> devices;
  for (const auto& table : tables) {
    std::vector<bool> used(table.tracks.size(), false);
    for (trace::EventId e = 0; e < table.size(); ++e) used[table.track[e]] = true;
    for (std::size_t t = 0; t < used.size(); ++t) {
      if (used[t] && table.tracks[t].gpu) devices.insert(table.tracks[t].device);
    }
  }
  if (wanted <= std::numeric_limits<std::int32_t>::max() &&
      devices.contains(static_cast<std::int32_t>(wanted)))
    return static_cast<std::int32_t>(wanted);
  std::string known;
  for (const auto device : devices) known += (known.empty() ? "" : ", ") + std::to_string(device);
  return fail(Errc::kInvalidArgument, "no work of GPU " + std::to_string(wanted) + " in the trace",
              known.empty() ? "the trace has no GPU work" : "--gpu takes one of: " + known);
}

// Ranks of one job run at the same time: traces far apart are of different runs, and the path
// between them is all waiting.
void warn_of_gaps(Context& context, const std::vector<trace::EventTable>& tables) {
  std::vector<std::pair<Nanos, Nanos>> spans;
  for (const auto& table : tables) {
    if (table.size() == 0) continue;
    Nanos begin = std::numeric_limits<Nanos>::max();
    Nanos end = std::numeric_limits<Nanos>::min();
    for (trace::EventId e = 0; e < table.size(); ++e) {
      begin = std::min(begin, table.start_ns[e]);
      end = std::max(end, table.start_ns[e] + table.duration_ns[e]);
    }
    spans.emplace_back(table.base_ns + begin, table.base_ns + end);
  }
  std::sort(spans.begin(), spans.end());
  std::uint64_t apart = 0;
  Nanos until = spans.empty() ? 0 : spans.front().second;
  Nanos widest = 0;
  for (const auto& [begin, end] : spans) {
    if (begin > until) {
      ++apart;
      widest = std::max(widest, begin - until);
    }
    until = std::max(until, end);
  }
  if (apart == 0) return;
  context.warn("clocks_do_not_overlap",
               "the traces do not overlap in time (up to " + time_text(to_seconds(widest).si()) +
                   " between them): they are of different runs, or their clocks differ; the path "
                   "between them is unexplained",
               apart);
}

// Where the work is that a time range holds nothing of; nullopt where there is none at all.
std::optional<Error> work_elsewhere(const std::vector<const trace::EventTable*>& tables,
                                    graph::BuildOptions options) {
  options.range.reset();
  const auto all = graph::build(tables, options);
  if (!all) return std::nullopt;
  Nanos begin = std::numeric_limits<Nanos>::max();
  Nanos end = 0;
  for (graph::NodeId n = 0; n < all->size(); ++n) {
    if (graph::on_gpu(all->kind(n))) continue;  // the range is one of host starts
    begin = std::min(begin, all->start(n));
    end = std::max(end, all->start(n));
  }
  if (begin > end) return std::nullopt;
  return Error{.code = Errc::kInvalidArgument,
               .message = "the host starts nothing within the time range",
               .hint = "it starts work from " + time_text(to_seconds(begin).si()) + " to " +
                       time_text(to_seconds(end).si()) + " after the first event"};
}

Result<int> graph_run(Context& context) {
  const double begin = cpu_seconds();
  trace::ReadTimings reading;
  ERGON_TRY(auto files, input_files(context.operands()));
  ERGON_TRY(const auto tables, read_tables(context, files, &reading));
  const double read_s = cpu_seconds() - begin;
  const auto pointers = pointers_to(tables);
  if (tables.size() > 1) warn_of_gaps(context, tables);

  GraphRequest request{.slack = context.enabled("slack"),
                       .check_replay = context.enabled("check-replay"),
                       .what_if = {},
                       .top = static_cast<std::size_t>(context.integer("top").value_or(50)),
                       .top_given = context.given("top"),
                       .with_page = context.wants("html")};
  for (const auto& rule : context.texts("what-if")) {
    ERGON_TRY(auto parsed, graph::WhatIf::parse(rule));
    request.what_if.push_back(std::move(parsed));
    request.what_if_host = request.what_if_host || rule.starts_with("host");
  }
  context.stage("building the graph");
  graph::BuildOptions options;
  if (const auto gpu = context.integer("gpu")) {
    ERGON_TRY(options.device, known_device(tables, *gpu));
  }
  if (const auto range = context.time_range("time-range")) {
    options.range = graph::TimeRange{range->begin.value_or(0),
                                     range->end.value_or(std::numeric_limits<Nanos>::max())};
  }
  auto built = graph::build(pointers, options);
  if (!built && options.range) {
    if (auto elsewhere = work_elsewhere(pointers, options)) return fail(*std::move(elsewhere));
  }
  if (!built) return fail(std::move(built).error());
  graph::Graph graph = *std::move(built);

  const auto steps = graph::find_steps(graph);
  std::vector<std::string> names;
  for (const auto& step : steps) {
    if (std::find(names.begin(), names.end(), step.name) == names.end()) names.push_back(step.name);
  }
  request.steps = names.size();
  const auto number = context.integer("steps");
  const bool typical = context.text("steps") == "auto" && !names.empty();
  if (number || typical) {
    const std::size_t wanted = number ? static_cast<std::size_t>(*number) : names.size() / 2;
    ERGON_TRY(options.range, range_of_step(steps, names, wanted, request.step_name));
    ERGON_TRY(graph, graph::build(pointers, options));
  }
  const double build_s = cpu_seconds() - begin - read_s;
  for (const auto& note : graph.notes()) context.warn(note.code, note.message, note.count);

  context.stage("re-timing");
  GraphResult result = graph_answer(graph, request);
  if (!request.what_if.empty() && result.what_if_matches == 0) {
    context.warn("what_if_matches_nothing", "no node matches the rules of --what-if");
  }
  if (context.enabled("timings")) {
    const double analyse_s = cpu_seconds() - begin - read_s - build_s;
    Value timings = Value::object();
    timings.set("read_cpu_s", read_s)
        .set("decompress_cpu_s", reading.decompress_s)
        .set("parse_cpu_s", reading.parse_s)
        .set("normalise_cpu_s", reading.normalise_s)
        .set("build_cpu_s", build_s)
        .set("analyse_cpu_s", analyse_s)
        .set("uncompressed_bytes", reading.uncompressed_bytes)
        .set("events", std::uint64_t{[&] {
               std::uint64_t events = 0;
               for (const auto& table : tables) events += table.size();
               return events;
             }()});
    result.answer.data.set("timings", std::move(timings));
    const auto rate = [&](double s) {
      return s > 0 ? std::to_string(static_cast<double>(reading.uncompressed_bytes) / s / 1e9)
                         .substr(0, 5)
                   : std::string("-");
    };
    result.answer.lines.push_back("CPU time: reading " + std::to_string(read_s) + " s (" +
                                  rate(read_s) + " GB/s), building " + std::to_string(build_s) +
                                  " s, analysing " + std::to_string(analyse_s) + " s; " +
                                  rate(read_s + build_s + analyse_s) + " GB/s in all.");
  }
  for (const auto& path : context.export_paths("perfetto")) {
    ERGON_TRY_STATUS(io::write_file(path, perfetto_text(graph)));
  }
  ERGON_TRY_STATUS(context.emit(result.answer));
  return result.replay_exact ? 0 : 1;
}

}  // namespace

const Command& graph_command() {
  static const Command command = {
      .name = "graph",
      .group = "Understand",
      .summary = "execution graph of a trace: critical path, slack, what-if",
      .description =
          "Builds the dependency graph of one or more trace files (the ranks of one job), re-times "
          "it, and says where the time goes. Each edge is recorded, inferred or assumed, and the "
          "answer counts them. Without --steps it covers the whole trace, while 'ergon plan' "
          "takes one repeating step. GPUs have the trace's device numbers where one trace is "
          "given, else numbers of their own over all ranks. With --check-replay the exit status "
          "is 1 where re-timing with all factors 1 does not give the trace back to the "
          "nanosecond.",
      .operands = {{.name = "FILE",
                    .help = "traces of one job, one or more ranks (Kineto JSON, plain, .gz, .zst, "
                            "or .tar.gz of ranks); '-' is stdin",
                    .many = true,
                    .path = true}},
      .flags =
          {
              {.name = "slack", .help = "list how much later each node could end"},
              {.name = "top",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "rows of each list (tables of the path show 12 without it)",
               .default_text = "50",
               .minimum = 1},
              {.name = "what-if",
               .kind = Kind::kText,
               .value = "RULE",
               .help = "re-time with kernel=~, copy=~ or host=~REGEX, then :xFACTOR, :+10us or "
                       ":-1ms",
               .example = "kernel=~gemm:x0.5",
               .repeatable = true},
              {.name = "check-replay",
               .help = "prove that re-timing gives the trace back; exit 1 if not"},
              {.name = "steps",
               .kind = Kind::kChoiceOrInteger,
               .value = "STEPS",
               .help = "the repeating step to look at",
               .default_text = "all",
               .group = "Selection",
               .choices = {"auto", "all"},
               .minimum = 0},
              {.name = "gpu",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "only GPU work of this device of the trace",
               .group = "Selection",
               .example = "0",
               .minimum = 0},
              {.name = "time-range",
               .kind = Kind::kTimeRange,
               .value = "A:B",
               .help = "only what the host starts from A to B after the first event",
               .group = "Selection",
               .example = "10ms:25ms"},
              {.name = "timings",
               .help = "say how long reading, building and re-timing took",
               .group = "Other"},
          },
      .examples = {{"ergon graph trace.json.gz", "summary: counts, critical path, idle gaps"},
                   {"ergon graph trace.json.gz --slack --top 20",
                    "what could run slower at no cost"},
                   {"ergon graph trace.json --what-if 'kernel=~gemm:x0.5'",
                    "if every GEMM took half as long"},
                   {"ergon graph trace.json --what-if 'host=~aten::copy_:-10us'",
                    "each copy operator 10 us less on the host"},
                   {"ergon graph trace.json --check-replay -f json",
                    "0 ns difference, node by node"},
                   {"ergon graph trace.json --export perfetto:path.json",
                    "the trace with critical path and slack, for Perfetto"},
                   {"ergon graph rank0.json rank1.json --gpu 0 --time-range 10ms:25ms",
                    "a part of a job of two ranks"}},
      .exports = {"perfetto"},
      .run = graph_run,
  };
  return command;
}

}  // namespace ergon::cli
