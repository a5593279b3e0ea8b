// ergon pack: one trace to its packs and their options, the map step of many ranks.
#include <algorithm>

#include "planning.hpp"
#include "registry.hpp"

namespace ergon::cli {
namespace {

Answer pack_answer(const TraceJob& job) {
  const plan::TracePacks& packs = job.packs;
  Answer answer{.command = "pack", .headline = {}};
  const std::string part = packs.window.step.empty() ? "the whole trace" : packs.window.step;
  answer.headline = std::to_string(packs.packs.size()) + " packs of " +
                    std::to_string(packs.operations) + " GPU operations, " +
                    std::to_string(packs.clocks.size()) + " clocks each (" + part + ", " +
                    time_text(to_seconds(packs.window.end_ns - packs.window.begin_ns).si()) +
                    ", modelled for " + job.device.device.name + ").";
  answer.data.set("packs", std::uint64_t{packs.packs.size()});
  answer.data.set("gpus", std::uint64_t{packs.problem.gpus.size()});
  answer.data.set("clocks", std::uint64_t{packs.clocks.size()});
  answer.data.set("operations", packs.operations);
  answer.data.set("device", job.device.device.id);
  answer.data.set("span_s", to_seconds(packs.window.end_ns - packs.window.begin_ns).si());
  answer.data.set("repeats", packs.problem.repeats);
  answer.data.set("switch", Value::object()
                                .set("latency_s", packs.switch_latency.si())
                                .set("time_s", packs.problem.switching.time_s)
                                .set("energy_j", packs.problem.switching.energy_j)
                                .set("min_run_s", packs.problem.switching.min_run_s));
  answer.data.set("coverage", coverage_value(packs.known_s));
  Table table{.title = "Longest packs",
              .columns = {{.title = "pack", .numeric = false},
                          {.title = "operations"},
                          {.title = "time", .unit = "ms"},
                          {.title = "busy", .unit = "ms"},
                          {.title = "follows the clock", .unit = "%", .significant = 3},
                          {.title = "begins with", .numeric = false}},
              .rows = {}};
  std::vector<std::size_t> order(packs.packs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto length = [&](std::size_t i) {
    return packs.packs[i].end_ns - packs.packs[i].start_ns;
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return length(a) != length(b) ? length(a) > length(b) : a < b;
  });
  constexpr std::size_t kShown = 12;
  for (std::size_t k = 0; k < std::min(kShown, order.size()); ++k) {
    const plan::PackInfo& info = packs.packs[order[k]];
    const double work = info.response.observed_s();
    table.rows.push_back({packs.problem.packs[order[k]].id, info.operations,
                          1e3 * to_seconds(length(order[k])).si(), 1e3 * info.busy_s,
                          work > 0 ? Value(100 * info.response.core_s / work) : Value(),
                          info.first_operation});
  }
  if (order.size() > kShown)
    table.note = std::to_string(order.size() - kShown) + " more packs in the pack file (-o)";
  answer.tables.push_back(std::move(table));
  return answer;
}

Result<int> pack_run(Context& context) {
  ERGON_TRY(auto files, input_files(context.operands()));
  ERGON_TRY(const auto job, load_trace_job(context, files));
  plan::calibrate_delays(*job->graph, job->packs);
  context.origin_share("modelled", 1);
  ERGON_TRY_STATUS(context.write_artefact(pack_file_text(*job)));
  ERGON_TRY_STATUS(context.emit(pack_answer(*job)));
  return 0;
}

}  // namespace

const Command& pack_command() {
  static const Command command = {
      .name = "pack",
      .group = "Act",
      .summary = "one trace -> its packs (the map step of many ranks)",
      .description =
          "Cuts the trace of one rank into packs (time windows that get one clock) and prices each "
          "pack at "
          "every clock of the device. Run it where the trace lies; 'ergon plan' reads the small "
          "pack files.",
      .operands = {{.name = "TRACE", .help = "the trace of one rank; '-' is stdin", .path = true}},
      .flags =
          {
              {.name = "device",
               .kind = Kind::kText,
               .value = "NAME",
               .help = "the GPU that the trace was recorded on",
               .example = "h100",
               .suggestions = model::device_ids()},
              {.name = "switch-latency",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "how long a change of the clock takes, instead of the device file's",
               .example = "25ms"},
              {.name = "switch-energy",
               .kind = Kind::kEnergy,
               .value = "ENERGY",
               .help = "what a change of the clock costs",
               .example = "0.5J"},
              {.name = "min-run",
               .kind = Kind::kDuration,
               .value = "TIME",
               .help = "shortest time between two changes of a GPU's clock",
               .example = "250ms"},
              {.name = "steps",
               .kind = Kind::kChoice,
               .value = "STEPS",
               .help = "what is planned: the repeating step, or the whole trace",
               .default_text = "auto",
               .choices = {"auto", "all"}},
              {.name = "trace-clock",
               .kind = Kind::kClock,
               .value = "CLOCK",
               .help = "the clock that the trace was recorded at",
               .example = "1410MHz"},
          },
      .examples = {{"ergon pack rank0.json.gz --device h100 -o rank0.packs.json",
                    "packs of one rank"},
                   {"ergon pack trace.json --device a100 --trace-clock 1410MHz -o job.packs.json",
                    "the clock of the recording is known"},
                   {"ergon pack trace.json --device h100 -o - --switch-latency 1ms",
                    "the pack file on stdout"}},
      .artefact = "the pack file (ergon.packs/1)",
      .run = pack_run,
  };
  return command;
}

}  // namespace ergon::cli
