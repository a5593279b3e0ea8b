// The plan of a sweep, and what it would take.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "figures.hpp"
#include "planning.hpp"
#include "sweep_parts.hpp"

namespace ergon::cli {
namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

std::string about_seconds(double seconds) {
  if (seconds < 100) return std::to_string(std::lround(seconds)) + " s";
  return std::to_string(std::lround(seconds / 60)) + " min";
}

// One run of one combination of parameters at the driver's own clocks.
struct Pilot {
  double seconds = 0;
  std::optional<double> joules;
  double periods = 0;  ///< of the slowest sensor; 0: not known
};

class DryRun {
 public:
  DryRun(Context& context, const OpenedGpus& opened, const SweepAnswer& sweep,
         run::Signals& signals)
      : context_(context), opened_(opened), sweep_(sweep), signals_(signals) {}

  Result<int> run() {
    ERGON_TRY_STATUS(find_pilots());
    warn_of_short_points();
    return tell();
  }

 private:
  Status find_pilots() {
    const auto given = context_.number("run-time");
    if (!given) context_.answer_to_stderr();
    for (const SweepRow& row : sweep_.rows) {
      if (pilots_.contains(row.setting.parameters)) continue;
      Pilot pilot;
      if (given) {
        pilot.seconds = *given;
        pilot.periods = periods_of(*given);
      } else {
        context_.stage("running the program once" +
                       (row.setting.parameters.empty()
                            ? ""
                            : " with " + sweep_parameters_text(row.setting.parameters)));
        run::Setting setting;
        setting.parameters = row.setting.parameters;
        ERGON_TRY(pilot, run_once(setting));
        context_.end_stage();
      }
      pilots_.emplace(row.setting.parameters, pilot);
    }
    return {};
  }

  // Of the slowest sensor that is published for these boards.
  double periods_of(double seconds) const {
    double slowest = 0;
    for (gpu::Gpu* gpu : opened_.gpus()) {
      const auto source = gpu->power_source();
      const auto sensor = run::sensor_of(meter::Series{}, gpu->identity(),
                                         source ? std::optional(*source) : std::nullopt);
      if (sensor.update_period_s) slowest = std::max(slowest, sensor.update_period_s->value);
    }
    return slowest > 0 ? seconds / slowest : 0;
  }

  Result<Pilot> run_once(const run::Setting& setting) {
    Pilot pilot;
    const auto gpus = opened_.gpus();
    run::ObserveOptions observe;
    observe.align = !context_.enabled("no-align");
    run::Program program;
    program.words = run::substitute(context_.program(), setting);
    program.environment = child_environment(context_.surroundings(), opened_.environment);
    run::Observation observation(gpus, observe);
    observation.open();
    auto record = observation.run(program, &signals_);
    const auto readings = observation.close();
    ERGON_TRY(const auto run_record, std::move(record));
    context_.program_runs();
    if (run_record.ending && run_record.ending->status != 0) {
      return fail(Errc::kInvalidArgument,
                  "the program ended with status " + std::to_string(run_record.ending->status),
                  "a sweep needs a program that succeeds");
    }
    std::vector<std::optional<Estimate>> parts;
    pilot.periods = std::numeric_limits<double>::infinity();
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      const auto source = gpus[g]->power_source();
      const auto sensor = run::sensor_of(readings.series[g], gpus[g]->identity(),
                                         source ? std::optional(*source) : std::nullopt);
      const auto result =
          run::result_of(readings.series[g], sensor, run_record.window, std::nullopt, 0);
      parts.push_back(result.energy.energy_j);
      pilot.periods = std::min(pilot.periods, result.periods);
    }
    const auto total = run::sum_of(parts);
    pilot.seconds = run_record.window.length().si();
    if (total) pilot.joules = total->value;
    return pilot;
  }

  // Every setting by itself: a slow clock makes a run longer, other parameters shorter.
  void warn_of_short_points() {
    const auto needed = static_cast<double>(*context_.integer("least-periods"));
    std::size_t never = 0;
    std::size_t perhaps = 0;
    const SweepRow* shortest = nullptr;
    double fewest = std::numeric_limits<double>::infinity();
    for (const SweepRow& row : sweep_.rows) {
      const double periods = pilots_.at(row.setting.parameters).periods;
      if (!(periods > 0) || periods >= needed) continue;
      // With the driver's own clocks there is nothing that would make it longer.
      const bool surely = periods * reach_.most_slowdown(row.setting) < needed;
      (surely ? never : perhaps) += 1;
      if (periods < fewest) {
        fewest = periods;
        shortest = &row;
      }
    }
    if (shortest == nullptr) return;
    const std::string parameters = sweep_parameters_text(shortest->setting.parameters);
    std::string text = "one run" + (parameters.empty() ? "" : " with " + parameters) +
                       " at the driver's own clocks spans " + std::to_string(std::lround(fewest)) +
                       " refresh periods of the sensor, " + std::to_string(std::lround(needed)) +
                       " are needed: ";
    if (never > 0) text += counted(never, "point") + " will not count";
    if (never > 0 && perhaps > 0) text += " and ";
    if (perhaps > 0) text += counted(perhaps, "point") + " may not";
    context_.warn("too_short", text + "; make the program run longer");
  }

  Result<int> tell() {
    const auto repeats = static_cast<double>(*context_.integer("runs"));
    const double beside = *context_.number("settle") + (context_.enabled("no-align") ? 0 : 0.6);
    double least = 0;
    double most = 0;
    double run_time = 0;
    double joules = 0;
    bool joules_known = true;
    for (const SweepRow& row : sweep_.rows) {
      const Pilot& pilot = pilots_.at(row.setting.parameters);
      double slower = reach_.most_slowdown(row.setting);
      // How far a limit takes the clock down nobody knows: what the clocks alone can do.
      if (row.setting.limit || !std::isfinite(slower)) {
        run::Setting clocks = row.setting;
        clocks.limit.reset();
        slower = reach_.most_slowdown(clocks);
        if (!std::isfinite(slower)) slower = 1;
      }
      least += beside + repeats * pilot.seconds;
      most += beside + repeats * pilot.seconds * slower;
      run_time = std::max(run_time, pilot.seconds);
      joules += repeats * pilot.joules.value_or(0);
      joules_known = joules_known && pilot.joules.has_value();
    }
    Answer answer{
        .command = "sweep",
        .headline = counted(sweep_.rows.size(), "point") + ", about " + about_seconds(least) +
                    " to " + about_seconds(most) +
                    (joules_known ? " and " + std::to_string(std::lround(joules)) + " J" : "") +
                    ". Nothing was changed."};
    answer.lines.emplace_back(
        "Time: between every run taking as long as at the driver's own clocks, and time growing as "
        "1/clock; warm-up runs come on top. Energy: as if every run cost what the first with these "
        "parameters did.");
    Table table{.title = "Plan",
                .columns = {{.title = "order"},
                            {.title = "setting", .numeric = false, .whole = true},
                            {.title = "baseline", .numeric = false}},
                .rows = {},
                .width = kTextWidth};
    for (std::size_t i = 0; i < sweep_.rows.size(); ++i) {
      const SweepRow& row = sweep_.rows[i];
      table.rows.push_back(
          {std::uint64_t{i + 1}, run::to_string(row.setting), row.baseline ? "yes" : ""});
    }
    answer.tables.push_back(std::move(table));
    const Answer whole = sweep_answer(sweep_);
    answer.data = whole.data;
    answer.data.set("estimate", Value::object()
                                    .set("origin", "assumed")
                                    .set("run_time_s", run_time)
                                    .set("time_low_s", least)
                                    .set("time_high_s", most)
                                    .set("energy_j", joules_known ? Value(joules) : Value()));
    context_.origin_share("assumed", 1);
    ERGON_TRY_STATUS(context_.emit(answer));
    return 0;
  }

  Context& context_;
  const OpenedGpus& opened_;
  const SweepAnswer& sweep_;
  run::Signals& signals_;
  SweepReach reach_ = sweep_reach(*opened_.gpus().front());
  std::map<Parameters, Pilot> pilots_;
};

}  // namespace

double SweepReach::most_slowdown(const run::Setting& setting) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  double slower = 1;
  if (setting.limit) {
    if (!(lowest_core_hz > 0)) return kUnknown;
    slower = highest_core_hz / lowest_core_hz;
  } else if (setting.core) {
    if (!(highest_core_hz > 0)) return kUnknown;
    slower = std::max(1.0, highest_core_hz / setting.core->si());
  }
  if (setting.memory) {
    if (!(highest_memory_hz > 0)) return kUnknown;
    slower *= std::max(1.0, highest_memory_hz / setting.memory->si());
  }
  return slower;
}

SweepReach sweep_reach(gpu::Gpu& gpu) {
  SweepReach reach;
  if (const auto clocks = gpu.supported_clocks(gpu::Domain::kCore); clocks && !clocks->empty()) {
    reach.lowest_core_hz = clocks->front().si();
    reach.highest_core_hz = clocks->back().si();
  }
  if (const auto top = gpu.maximum_clock(gpu::Domain::kCore))
    reach.highest_core_hz = std::max(reach.highest_core_hz, top->si());
  if (const auto clocks = gpu.supported_clocks(gpu::Domain::kMemory); clocks && !clocks->empty())
    reach.highest_memory_hz = clocks->back().si();
  if (const auto top = gpu.maximum_clock(gpu::Domain::kMemory))
    reach.highest_memory_hz = std::max(reach.highest_memory_hz, top->si());
  return reach;
}

Result<int> sweep_dry_run(Context& context, const OpenedGpus& opened, const SweepAnswer& sweep,
                          run::Signals& signals) {
  return DryRun(context, opened, sweep, signals).run();
}

}  // namespace ergon::cli
