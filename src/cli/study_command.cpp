// ergon study: any DVFS data set -> baselines, optima, factor tables, findings.
#include <algorithm>
#include <set>

#include "context.hpp"
#include "registry.hpp"
#include "study_parts.hpp"

namespace ergon::cli {
namespace {

Result<std::vector<study::Source>> read_sources(Context& context,
                                                std::vector<io::InputRecord>& records) {
  std::vector<study::Source> sources;
  for (const auto& path : context.operands()) {
    ERGON_TRY(const auto source, io::open_source(path));
    ERGON_TRY(std::string text, io::read_all(*source));
    records.push_back(source->record());
    sources.push_back({path, std::move(text)});
  }
  return sources;
}

Result<study::Mapping> mapping_of(Context& context) {
  const auto text = context.text("map");
  if (!text) return study::Mapping{};
  if (text->find('=') != std::string::npos) return study::parse_mapping(*text);
  ERGON_TRY(const auto source, io::open_source(*text));
  ERGON_TRY(const std::string descriptor, io::read_all(*source));
  auto mapping = study::parse_mapping(descriptor);
  if (!mapping) mapping.error().message = *text + ": " + mapping.error().message;
  return mapping;
}

std::vector<std::string> words_at_commas(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

Result<study::Options> options_of(Context& context) {
  study::Options options;
  if (const auto text = context.text("baseline")) {
    ERGON_TRY(options.baseline, study::parse_baseline(*text));
  }
  const std::string metric = context.text("metric").value_or("energy");
  // Work is the same at every point, so most work per joule is least energy.
  options.metric = metric == "edp"    ? study::Metric::kEdp
                   : metric == "ed2p" ? study::Metric::kEd2p
                                      : study::Metric::kEnergy;
  options.max_slowdown = context.number("max-slowdown");
  if (options.max_slowdown &&
      std::ranges::find(options.budgets, *options.max_slowdown) == options.budgets.end()) {
    options.budgets.push_back(*options.max_slowdown);
    std::ranges::sort(options.budgets);
  }
  options.clock_tolerance_hz = context.number("clock-tolerance").value_or(15e6);
  for (const auto& by : context.texts("by")) options.by.push_back(words_at_commas(by));
  if (const auto text = context.text("fit-clocks")) {
    for (const auto& word : words_at_commas(*text)) {
      ERGON_TRY(const double hz, parse_quantity(Kind::kClock, word));
      options.fit_clocks_hz.push_back(hz);
    }
    if (options.fit_clocks_hz.size() < 2) {
      return fail(Errc::kInvalidArgument, "--fit-clocks needs two clocks or more",
                  "--fit-clocks 757MHz,1140MHz,1530MHz");
    }
  }
  options.seed = context.seed();
  return options;
}

Result<int> study_run(Context& context) {
  ERGON_TRY(const study::Options options, options_of(context));
  ERGON_TRY(const study::Mapping mapping, mapping_of(context));
  std::vector<study::Filter> filters;
  for (const auto& text : context.texts("where")) {
    ERGON_TRY(auto filter, study::parse_filter(text));
    filters.push_back(std::move(filter));
  }
  context.stage("reading");
  std::vector<io::InputRecord> records;
  ERGON_TRY(const auto sources, read_sources(context, records));
  ERGON_TRY(const study::Dataset data, study::read(sources, mapping, filters));
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].format = data.formats[i];
    context.add_input(records[i]);
  }
  for (const auto& note : data.notes) context.warn(note.code, note.message, note.count);
  for (const auto& [reason, count] : data.skipped) context.skipped(reason, count);
  context.stage("judging");
  const study::Study result = study::analyse(data, options);
  std::set<std::string> factors = {"gpu", "workload"};
  for (const auto& w : result.workloads) {
    for (const auto& [name, level] : w.factors) factors.insert(name);
  }
  for (const auto& by : options.by) {
    for (const auto& name : by) {
      if (factors.contains(name)) continue;
      std::string known;
      for (const auto& f : factors) known += (known.empty() ? "" : ", ") + f;
      return fail(Errc::kInvalidArgument, "--by: there is no factor '" + name + "' in the data",
                  "these are: " + known);
    }
  }
  if (options.baseline && !result.workloads.empty() &&
      std::ranges::none_of(result.workloads,
                           [](const auto& w) { return w.baseline.has_value(); })) {
    context.warn("baseline_not_in_grid", "no workload was measured at the baseline asked for");
  }
  const bool claims_only = data.samples.empty();
  context.origin_share(claims_only ? "published" : data.simulated ? "simulated" : "measured", 1);
  const StudyView view{.data = data,
                       .study = result,
                       .options = options,
                       .top = static_cast<std::size_t>(context.integer("top").value_or(40)),
                       .with_points = context.enabled("points")};
  ERGON_TRY_STATUS(context.emit(study_answer(view, context.wants("html"))));
  const bool answered = claims_only || std::ranges::any_of(result.workloads, [](const auto& w) {
                          return w.baseline.has_value();
                        });
  return answered ? 0 : 1;
}

}  // namespace

const Command& study_command() {
  static const Command command = {
      .name = "study",
      .group = "Measure",
      .summary = "analyse any DVFS data set: optima, factors, anomalies",
      .description =
          "Reads measurements of time, power or energy over clocks, power limits or batches, "
          "whatever their "
          "shape: long tables, wide matrices, blocks without a header, JSON, in any unit. Several "
          "files are joined where they hold parts of the same measurements. Each point must prove "
          "itself; the best ones are compared with the baseline, and what contradicts itself in "
          "the data is named. The exit status is 1 where the baseline asked for was not measured.",
      .operands = {{.name = "FILE",
                    .help = "tables or JSON of measurements, run files of measure and sweep, power "
                            "logs of one run each; "
                            "plain, .gz or .zst; '-' is stdin",
                    .many = true,
                    .path = true}},
      .flags =
          {
              {.name = "baseline",
               .kind = Kind::kText,
               .value = "SETTING",
               .help = "core clock[,memory clock][,power limit] that is compared with",
               .group = "Question",
               .example = "1800MHz,5000MHz"},
              {.name = "metric",
               .kind = Kind::kChoice,
               .value = "METRIC",
               .help = "what the best point has the least of (perf-per-watt: the most)",
               .default_text = "energy",
               .group = "Question",
               .choices = {"energy", "edp", "ed2p", "perf-per-watt"}},
              {.name = "max-slowdown",
               .kind = Kind::kPercent,
               .value = "PERCENT",
               .help = "largest slowdown of the best point, against the baseline",
               .group = "Question",
               .example = "5%"},
              {.name = "by",
               .kind = Kind::kText,
               .value = "FACTORS",
               .help = "a table by these: gpu, network, batch, algorithm, workload, or a column of "
                       "--map",
               .group = "Question",
               .example = "gpu,algorithm",
               .repeatable = true,
               .suggestions = {"gpu", "network", "batch", "algorithm", "workload"}},
              {.name = "fit-clocks",
               .kind = Kind::kText,
               .value = "CLOCKS",
               .help = "fit each workload from these clocks, and predict it at the others",
               .group = "Question",
               .example = "757MHz,1140MHz,1530MHz"},
              {.name = "map",
               .kind = Kind::kText,
               .value = "MAP",
               .help = "which column is what: clock=NAME:MHz,time=NAME:ms, or a JSON file",
               .group = "Input",
               .example = "clock=sm_mhz:MHz,time=t:ms"},
              {.name = "where",
               .kind = Kind::kText,
               .value = "COLUMN=VALUE",
               .help = "only these rows; COLUMN=~PART for a part of the text",
               .group = "Input",
               .example = "run=1",
               .repeatable = true},
              {.name = "clock-tolerance",
               .kind = Kind::kClock,
               .value = "CLOCK",
               .help = "how far the clock that ran may be from the one asked for",
               .default_text = "15MHz",
               .group = "Input"},
              {.name = "points", .help = "list every point and every finding", .group = "Other"},
              {.name = "top",
               .kind = Kind::kInteger,
               .value = "N",
               .help = "rows of each table",
               .default_text = "40",
               .group = "Other",
               .minimum = 1},
          },
      .examples = {{"ergon study sweep.sqlite --max-slowdown 5%",
                    "of a sweep, the best clocks within 5 %"},
                   {"ergon study runs.csv", "what somebody else measured"},
                   {"ergon study power.csv performance.csv --metric perf-per-watt",
                    "two matrices of one campaign"},
                   {"ergon study runs.csv --baseline 1800MHz,5000MHz --by gpu,algorithm",
                    "against the defaults that the authors name"},
                   {"ergon study odd.csv --map 'clock=f:GHz,time=t:ms,energy=e:mJ'",
                    "columns that cannot be recognised"},
                   {"ergon study runs.csv --export html:study.html", "with figures"}},
      .run = study_run,
  };
  return command;
}

}  // namespace ergon::cli
