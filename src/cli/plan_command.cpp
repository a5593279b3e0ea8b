// ergon plan: traces or packs to a clock policy under a bound, with a certified gap.
#include <algorithm>
#include <map>

#include "ergon/plan/merge.hpp"
#include "perfetto_export.hpp"
#include "planning.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

struct Input {
  std::unique_ptr<TraceJob> job;  // of traces
  plan::Problem problem;          // of pack files and measurements
  bool measured = false;
  std::vector<plan::RankPacks> ranks;  // of pack files: where they come from; without the packs
  std::string vendor;                  // of the GPU, where the input says which it is
  std::vector<std::string> sources;    // "path digest", for the policy
};

Result<plan::Problem> read_pack_files(Context& context, std::vector<InputFile>& files,
                                      Input& input) {
  std::vector<plan::RankPacks> ranks;
  for (auto& file : files) {
    const std::string& path = file.path();
    ERGON_TRY(io::ByteSource* const source, file.open());
    ERGON_TRY(const std::string text, io::read_all(*source));
    io::InputRecord record = source->record();
    file.close();
    record.format = "packs";
    input.sources.push_back(record.path + " " + record.digest);
    context.add_input(std::move(record));
    auto rank = plan::read_rank_packs(text, path);
    if (!rank) {
      rank.error().message = path + ": " + rank.error().message;
      return fail(std::move(rank).error());
    }
    ranks.push_back(*std::move(rank));
    plan::RankPacks origin = ranks.back();
    origin.problem = {};
    origin.links.clear();
    input.ranks.push_back(std::move(origin));
  }
  ERGON_TRY(auto merged, plan::merge_ranks(std::move(ranks)));
  if (merged.uncoupled > 0) {
    context.warn(
        "uncoupled_collectives",
        "collectives whose other ranks are not among the pack files: their times stay as observed",
        merged.uncoupled);
  }
  const double together = evaluate(merged.problem, plan::default_choice(merged.problem)).time_s;
  if (together < 0.95 * merged.longest_rank_s) {
    context.warn("skew_between_ranks",
                 "at default clocks the ranks together take " + time_text(together) +
                     ", the longest of them took " + time_text(merged.longest_rank_s) +
                     " alone: ranks that did not start together waited for one another longer than "
                     "these packs explain, and that time is left out");
  }
  return std::move(merged.problem);
}

void override_switching(const Context& context, plan::SwitchCost& cost) {
  if (const auto v = context.number("switch-latency")) cost.time_s = *v;
  if (const auto v = context.number("switch-energy")) cost.energy_j = *v;
  if (const auto v = context.number("min-run")) cost.min_run_s = *v;
}

Result<std::vector<plan::MeasuredRow>> read_measurements(Context& context, Input& input) {
  const auto path = context.text("measured");
  if (!path) return std::vector<plan::MeasuredRow>{};
  ERGON_TRY(const auto source, io::open_source(*path));
  ERGON_TRY(const std::string text, io::read_all(*source));
  io::InputRecord record = source->record();
  record.format = "measured";
  input.sources.push_back(record.path + " " + record.digest);
  context.add_input(std::move(record));
  input.measured = true;
  auto rows = plan::read_measured(text);
  if (!rows) {
    rows.error().message = *path + ": " + rows.error().message;
    return fail(std::move(rows).error());
  }
  return rows;
}

// Packs whose id was measured get the measured options.
Status replace_options(plan::Problem& problem, const std::vector<plan::MeasuredRow>& rows) {
  std::map<std::string, std::vector<plan::Option>> by_id;
  for (const auto& row : rows) by_id[row.pack].push_back(row.option);
  for (auto& pack : problem.packs) {
    const auto at = by_id.find(pack.id);
    if (at == by_id.end()) {
      return fail(Errc::kInvalidArgument, "pack '" + pack.id + "' was not measured",
                  "the column 'pack' of --measured needs every pack id of the pack files");
    }
    pack.options = at->second;
  }
  return {};
}

// What pack files say of their traces, and flags that belong to `ergon pack`.
void warn_of_sources(Context& context, const Input& input) {
  const auto wanted = context.text("device");
  std::uint64_t generated = 0;
  std::uint64_t assumed = 0;
  std::uint64_t others = 0;
  for (const plan::RankPacks& rank : input.ranks) {
    generated += rank.generated ? 1 : 0;
    assumed += rank.trace_clock_assumed ? 1 : 0;
    const auto device = wanted ? model::find_device(*wanted) : model::find_device(rank.device);
    others += wanted && device && device->device.id != rank.device ? 1 : 0;
  }
  if (generated > 0)
    context.warn("generated", "pack files of traces that a generator wrote", generated);
  if (assumed > 0)
    context.warn("trace_clock_assumed",
                 "the clock of the traces is assumed (ergon pack --trace-clock)", assumed);
  if (others > 0)
    context.warn("wrong_device",
                 "pack files are priced for the device that `ergon pack` was given, "
                 "not for --device",
                 others);
  for (const char* flag : {"trace-clock", "steps"}) {
    if (context.given(flag))
      context.warn("no_effect", "--" + std::string(flag) +
                                    " has no effect on pack files: give it to ergon pack");
  }
}

Result<Input> load_input(Context& context) {
  Input input;
  const auto& paths = context.operands();
  if (const auto name = context.text("device")) {
    ERGON_TRY(const auto found, model::find_device(*name));
    input.vendor = found.device.vendor;
  }
  ERGON_TRY(const auto rows, read_measurements(context, input));
  if (paths.empty()) {
    if (!input.measured) {
      return fail(Errc::kInvalidArgument, "nothing to plan",
                  "name a trace or pack files, or give measurements with --measured CSV");
    }
    ERGON_TRY(input.problem, plan::measured_chain(rows));
    override_switching(context, input.problem.switching);
    return input;
  }
  ERGON_TRY(auto files, input_files(paths));
  std::size_t pack_files = 0;
  for (auto& file : files) {
    ERGON_TRY(const bool packs, file.is_pack_file());
    pack_files += packs ? 1 : 0;
  }
  if (pack_files != 0 && pack_files != files.size()) {
    return fail(Errc::kInvalidArgument, "traces and pack files cannot be planned together",
                "make pack files of the traces first: ergon pack TRACE -o FILE");
  }
  if (pack_files > 0) {
    ERGON_TRY(input.problem, read_pack_files(context, files, input));
    if (input.vendor.empty() && !input.ranks.empty()) {
      if (const auto made_for = model::find_device(input.ranks.front().device))
        input.vendor = made_for->device.vendor;
    }
    warn_of_sources(context, input);
    if (input.measured) ERGON_TRY_STATUS(replace_options(input.problem, rows));
    override_switching(context, input.problem.switching);
    return input;
  }
  ERGON_TRY(input.job, load_trace_job(context, files, rows));
  input.vendor = input.job->device.device.vendor;
  for (const auto& table : input.job->tables) {
    input.sources.push_back(table.input.path + " " + table.input.digest);
  }
  return input;
}

plan::Bound bound_of(const Context& context) {
  plan::Bound bound;
  bound.max_slowdown = context.number("max-slowdown");
  if (const auto v = context.number("deadline")) bound.deadline = Seconds(*v);
  if (!bound.max_slowdown && !bound.deadline)
    bound.max_slowdown = 0.05;  // with --frontier: where the report points
  return bound;
}

// The trace with the plan's clocks as tracks.
Status export_perfetto(Context& context, const Input& input, const plan::Choice& choice) {
  const auto paths = context.export_paths("perfetto");
  if (paths.empty()) return {};
  if (!input.job) {
    return fail(Errc::kInvalidArgument, "there is no trace to draw the clocks on",
                "--export perfetto:FILE needs a trace as input");
  }
  const plan::TracePacks& packs = input.job->packs;
  std::vector<ClockChange> clocks;
  std::map<std::uint32_t, double> latest;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const plan::Pack& pack = packs.problem.packs[i];
    const double hz = pack.options[choice[i]].clock_hz;
    if (const auto [at, fresh] = latest.emplace(pack.gpu, hz); !fresh) {
      if (at->second == hz) continue;
      at->second = hz;
    }
    clocks.push_back({packs.problem.gpus[pack.gpu].id, packs.packs[i].start_ns, hz});
  }
  for (const auto& [gpu, hz] : latest)
    clocks.push_back({packs.problem.gpus[gpu].id, packs.window.end_ns, hz});
  const std::string text = perfetto_text(*input.job->graph, clocks);
  for (const auto& path : paths) ERGON_TRY_STATUS(io::write_file(path, text));
  return {};
}

void add_timings(Answer& answer, const Input& input, double plan_s) {
  const auto known = [&](double TraceJob::* stage) {
    return input.job ? Value(input.job.get()->*stage) : Value(nullptr);
  };
  Value timings = Value::object();
  timings.set("read_cpu_s", known(&TraceJob::read_cpu_s))
      .set("build_cpu_s", known(&TraceJob::build_cpu_s))
      .set("cut_cpu_s", known(&TraceJob::cut_cpu_s))
      .set("plan_cpu_s", plan_s);
  answer.data.set("timings", std::move(timings));
  std::string line = "CPU time: ";
  if (input.job) {
    line += "reading " + time_text(input.job->read_cpu_s) + ", building the graph " +
            time_text(input.job->build_cpu_s) + ", cutting packs " +
            time_text(input.job->cut_cpu_s) + ", ";
  }
  answer.lines.push_back(line + "planning " + time_text(plan_s) + ".");
}

Result<int> plan_run(Context& context) {
  ERGON_TRY(Input input, load_input(context));
  const plan::Problem& problem = input.job ? input.job->packs.problem : input.problem;
  PlanView view{.problem = &problem,
                .outcome = nullptr,
                .job = input.job.get(),
                .bound = bound_of(context),
                .frontier = {},
                .frontier_asked = context.enabled("frontier"),
                .measured = input.measured,
                .bound_assumed = !context.given("max-slowdown") && !context.given("deadline"),
                .vendor = input.vendor,
                .ranks = input.ranks};
  context.stage("planning");
  const double begin = cpu_seconds();
  ERGON_TRY(const plan::Outcome outcome,
            decide_or_nearest(input.job.get(), input.problem, view.bound));
  view.outcome = &outcome;
  view.measured_share = input.measured ? measured_share(view) : 0;
  const bool page = context.wants("html");
  if (view.frontier_asked || page) {
    context.stage("walking the frontier");
    constexpr std::size_t kPoints = 24;
    const plan::SolveOptions options{.target_gap = 1e-3};
    ERGON_TRY(view.frontier, input.job ? plan::frontier_trace(*input.job->graph, input.job->packs,
                                                              kPoints, options)
                                       : plan::frontier(problem, kPoints, options));
  }
  if (view.measured_share > 0) context.origin_share("measured", view.measured_share);
  if (view.measured_share < 1) context.origin_share("modelled", 1 - view.measured_share);
  ERGON_TRY_STATUS(context.write_artefact(policy_text(view, input.sources)));
  ERGON_TRY_STATUS(export_perfetto(context, input, outcome.plan.choice));
  const double plan_s = cpu_seconds() - begin;
  Answer answer = plan_answer(view, page);
  if (context.enabled("timings")) add_timings(answer, input, plan_s);
  ERGON_TRY_STATUS(context.emit(answer));
  return 0;
}

}  // namespace

const Command& plan_command() {
  static const Command command = {
      .name = "plan",
      .group = "Act",
      .summary = "traces or packs -> clock policy under a bound",
      .description =
          "Chooses the clock of each pack so that the energy is least and the time stays within "
          "the bound. "
          "Of a trace one repeating step is planned (--steps). The answer holds the default "
          "clocks, the best single clock with the command that locks "
          "it, the "
          "plan, a certified lower bound and the gap between both. An infeasible bound is exit 5 "
          "and names "
          "the nearest feasible one.",
      .operands = {{.name = "INPUT",
                    .help =
                        "traces of one job (.json, .gz, .zst, .tar.gz of ranks), pack files, or "
                        "(with --measured) nothing",
                    .required = false,
                    .many = true,
                    .path = true}},
      .flags =
          {
              {.name = "max-slowdown",
               .kind = Kind::kPercent,
               .value = "PERCENT",
               .help = "longest time, over the time at default clocks",
               .group = "Bound",
               .example = "3%"},
              {.name = "deadline",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "longest time",
               .group = "Bound",
               .example = "12ms"},
              {.name = "frontier",
               .help = "least energy at 20 or more deadlines; without a bound the plan is for 5 %",
               .group = "Bound"},
              {.name = "device",
               .kind = Kind::kText,
               .value = "NAME",
               .help = "the GPU; by default the one that the trace names",
               .group = "Models",
               .example = "h100",
               .suggestions = model::device_ids()},
              {.name = "measured",
               .kind = Kind::kPath,
               .value = "CSV",
               .help = "measured runs: pack,clock_hz,time_s,energy_j; no model is used",
               .group = "Models"},
              {.name = "steps",
               .kind = Kind::kChoice,
               .value = "STEPS",
               .help = "what is planned: the repeating step, or the whole trace",
               .default_text = "auto",
               .group = "Models",
               .choices = {"auto", "all"}},
              {.name = "trace-clock",
               .kind = Kind::kClock,
               .value = "CLOCK",
               .help = "the clock that the trace was recorded at",
               .group = "Models",
               .example = "1410MHz"},
              {.name = "switch-latency",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "how long a change of the clock takes, instead of the device file's",
               .group = "Switching",
               .example = "25ms"},
              {.name = "switch-energy",
               .kind = Kind::kEnergy,
               .value = "ENERGY",
               .help = "what a change of the clock costs",
               .group = "Switching",
               .example = "0.5J"},
              {.name = "min-run",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "shortest time between two changes of a GPU's clock",
               .group = "Switching",
               .example = "250ms"},
              {.name = "timings",
               .help = "say how long reading, building, cutting and planning took",
               .group = "Other"},
          },
      .exclusive = {{.flags = {"max-slowdown", "deadline"},
                     .one_needed = true,
                     .or_these = {"frontier"}}},
      .examples = {{"ergon plan trace.json.gz --max-slowdown 3% -o policy.json",
                    "a slowdown of at most 3 %"},
                   {"ergon plan trace.json.gz --device h100 --deadline 12ms -o policy.json",
                    "within 12 ms a step"},
                   {"ergon plan job.packs.json --frontier --export html:plan.html",
                    "the whole frontier, as a page"},
                   {"ergon plan rank0.packs.json rank1.packs.json --max-slowdown 3% -o policy.json",
                    "the reduce step of many ranks"},
                   {"ergon plan trace.json.gz --max-slowdown 3% --export perfetto:clocks.json",
                    "the planned clocks beside the trace"},
                   {"ergon plan --measured runs.csv --max-slowdown 5% -f json",
                    "from measured runs alone"}},
      .artefact = "the policy file (ergon.policy/1)",
      .exports = {"perfetto"},
      .run = plan_run,
  };
  return command;
}

}  // namespace ergon::cli
