// ergon graph: the execution graph of traces: critical path, slack, idle gaps, what-if.
#include <algorithm>
#include <limits>

#include "context.hpp"
#include "graph_answer.hpp"
#include "graph_parts.hpp"
#include "perfetto_export.hpp"
#include "planning.hpp"
#include "registry.hpp"
#include "step_choice.hpp"
#include "trace_input.hpp"

namespace ergon::cli {
namespace {

std::vector<const trace::EventTable*> pointers_to(const std::vector<trace::EventTable>& tables) {
  std::vector<const trace::EventTable*> pointers;
  pointers.reserve(tables.size());
  for (const auto& table : tables) pointers.push_back(&table);
  return pointers;
}

// The GPU of that number, if the traces have work of it.
Result<std::int32_t> known_gpu(const std::vector<const trace::EventTable*>& tables,
                               std::int64_t wanted) {
  const auto gpus = graph::gpus_of(tables);
  const bool devices =
      std::ranges::all_of(gpus, [](const auto& gpu) { return gpu.number == gpu.device; });
  std::string known;
  for (const graph::Gpu& gpu : gpus) {
    if (gpu.number == wanted) return gpu.number;
    known += known.empty() ? "" : ", ";
    known += devices ? std::to_string(gpu.number) : gpu_words(gpu);
  }
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

// A rule that matches nothing is likely a slip of the pen, whatever the others match.
void warn_of_idle_rules(Context& context, const GraphRequest& request,
                        const std::vector<std::uint64_t>& matches) {
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] == 0)
      context.warn("what_if_matches_nothing",
                   "no node matches the rule " + request.what_if_texts[i] + " of --what-if");
  }
}

Result<int> graph_run(Context& context) {
  const double begin = cpu_seconds();
  const auto step = context.integer("steps");
  if (context.given("time-range") && (step || context.text("steps") == "auto")) {
    return fail(Errc::kInvalidArgument,
                "--steps and --time-range both say which part of the trace is meant",
                "give one of them; --slack lists the times of a step (start_ns)");
  }
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
    request.what_if_texts.push_back(rule);
    request.what_if_host = request.what_if_host || rule.starts_with("host");
  }
  context.stage("building the graph");
  graph::BuildOptions options;
  if (const auto gpu = context.integer("gpu")) {
    ERGON_TRY(options.gpu, known_gpu(pointers, *gpu));
  }
  if (const auto range = context.time_range("time-range")) {
    options.range = graph::TimeRange{range->begin.value_or(0),
                                     range->end.value_or(std::numeric_limits<Nanos>::max())};
    request.part = true;
  }
  auto built = graph::build(pointers, options);
  if (!built && options.range) {
    if (auto elsewhere = work_elsewhere(pointers, options)) return fail(*std::move(elsewhere));
  }
  if (!built) return fail(std::move(built).error());
  graph::Graph graph = *std::move(built);

  auto steps = graph::find_steps(graph);
  if (options.range) {
    std::erase_if(steps, [&](const graph::Step& found) {
      return found.host.end <= options.range->begin || found.host.begin >= options.range->end;
    });
  }
  const std::vector<std::string> names = names_of(steps);
  request.steps = names.size();
  if (step || (context.text("steps") == "auto" && !names.empty())) {
    if (step) {
      ERGON_TRY(request.step_name, step_of(names, *step));
    } else {
      // The one that `plan` takes.
      const auto window = plan::choose_window(graph, false);
      request.step_name = window && !window->step.empty() ? window->step : names[names.size() / 2];
    }
    options.range = range_of_step(steps, request.step_name);
    ERGON_TRY(graph, graph::build(pointers, options));
  }
  const double build_s = cpu_seconds() - begin - read_s;
  for (const auto& note : graph.notes()) context.warn(note.code, note.message, note.count);

  context.stage("re-timing");
  ERGON_TRY(GraphResult result, graph_answer(graph, request));
  warn_of_idle_rules(context, request, result.what_if_matches);
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
          "takes one repeating step. GPUs have the traces' device numbers; where two have the "
          "same one, numbers of their own over all traces ('gpus' in the answer says which is "
          "which). With --check-replay the exit status is 1 where re-timing with all factors 1 "
          "does not give the trace back to the "
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
               .help = "the repeating step to look at; N is its own number (10: ProfilerStep#10)",
               .default_text = "all",
               .group = "Selection",
               .choices = {"auto", "all"},
               .minimum = 0},
              {.name = "gpu",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "only GPU work of this GPU, by the number that the answer gives it",
               .group = "Selection",
               .example = "0",
               .minimum = 0},
              {.name = "time-range",
               .kind = Kind::kTimeRange,
               .value = "A:B",
               .help = "only what the host starts from A to B after its trace's first event; not "
                       "with a step",
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
