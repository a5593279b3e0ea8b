// Timeline and kernel rows of the HTML page, from a graph; the plan's page on top of them.
#include "page_data.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "graph_parts.hpp"
#include "plan_parts.hpp"

namespace ergon::cli {

using graph::Graph;
using graph::NodeId;

namespace {

// Names of slices, each once.
class Names {
 public:
  explicit Names(report::Timeline& timeline) : timeline_(timeline) {
    for (std::size_t i = 0; i < timeline.names.size(); ++i)
      index_.emplace(timeline.names[i].text, static_cast<std::uint32_t>(i));
  }
  std::uint32_t of(const Graph& graph, NodeId n) {
    const auto [at, fresh] = index_.emplace(std::string(graph.name(n)),
                                            static_cast<std::uint32_t>(timeline_.names.size()));
    if (fresh) timeline_.names.push_back({std::string(graph.name(n)), to_string(graph.kind(n))});
    return at->second;
  }

 private:
  report::Timeline& timeline_;
  std::unordered_map<std::string, std::uint32_t> index_;
};

}  // namespace

report::Timeline graph_timeline(const Graph& graph) {
  report::Timeline timeline;
  Names names(timeline);
  std::map<std::pair<std::size_t, std::pair<std::int64_t, std::uint32_t>>, std::size_t> lanes;
  timeline.span = {graph.span_begin(), graph.span_end()};
  for (const auto& gpu : graph.gpus()) {
    std::string name = gpu.name;
    if (gpu.number != gpu.device) {
      name += name.empty() ? "" : ", ";
      name += "device " + std::to_string(gpu.device);
      if (gpu.rank >= 0) name += " of rank " + std::to_string(gpu.rank);
    }
    timeline.gpus.push_back(
        {.id = std::to_string(gpu.number), .name = std::move(name), .lanes = {}});
  }
  for (NodeId n = 0; n < graph.size(); ++n) {
    if (!graph::on_gpu(graph.kind(n)) || graph.gpu(n) < 0) continue;
    const auto g = static_cast<std::size_t>(graph.gpu(n));
    const trace::Track& track = graph.track(n);
    const auto [lane, fresh] = lanes.emplace(std::pair(g, std::pair(track.stream, graph.table(n))),
                                             timeline.gpus[g].lanes.size());
    if (fresh)
      timeline.gpus[g].lanes.push_back(
          {.name = "stream " + std::to_string(track.stream), .slices = {}});
    timeline.gpus[g].lanes[lane->second].slices.push_back(
        {graph.start(n), graph.duration(n), names.of(graph, n)});
  }
  return timeline;
}

void add_path_lane(const Graph& graph, const graph::CriticalPath& path,
                   report::Timeline& timeline) {
  Names names(timeline);
  report::Lane lane{.name = "longest chain", .slices = {}};
  for (std::size_t i = 0; i < path.nodes.size(); ++i) {
    const NodeId n = path.nodes[i];
    Nanos duration = graph.duration(n);
    if (i + 1 < path.nodes.size())
      duration = std::min(duration, graph.start(path.nodes[i + 1]) - graph.start(n));
    if (duration <= 0) continue;
    lane.slices.push_back({graph.start(n), duration, names.of(graph, n)});
  }
  timeline.gpus.insert(timeline.gpus.begin(), {.id = {}, .name = "critical path", .lanes = {lane}});
}

std::vector<report::KernelRow> kernel_rows(const Graph& graph, NodeId first, NodeId last) {
  const graph::Slack slack = graph::slack(graph::Timing(graph));
  std::map<std::string, report::KernelRow> rows;
  last = std::min(last, static_cast<NodeId>(graph.size()));
  for (NodeId n = first; n < last; ++n) {
    if (!graph::on_gpu(graph.kind(n))) continue;
    auto& row = rows[std::string(graph.name(n))];
    if (row.count == 0) {
      row.name = graph.name(n);
      row.kind = to_string(graph.kind(n));
    }
    ++row.count;
    row.time_s += to_seconds(graph.duration(n)).si();
    const double mine = to_seconds(slack.total_ns[n]).si();
    row.slack_s = row.slack_s ? std::min(*row.slack_s, mine) : mine;
  }
  std::vector<report::KernelRow> list;
  list.reserve(rows.size());
  for (auto& [name, row] : rows) list.push_back(std::move(row));
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.time_s != b.time_s ? a.time_s > b.time_s : a.name < b.name;
  });
  return list;
}

namespace {

// Energy and clock response of each kernel name in the planned window, at the trace's clock.
void add_responses(const TraceJob& job, std::vector<report::KernelRow>& rows) {
  const Graph& graph = *job.graph;
  const plan::TracePacks& packs = job.packs;
  struct Sum {
    double time = 0, core = 0, dynamic = 0;
    bool shapes = true;
  };
  std::unordered_map<std::string_view, Sum> sums;
  for (NodeId n = packs.window.first; n < packs.window.last; ++n) {
    if (!graph::on_gpu(graph.kind(n))) continue;
    const plan::NodeModel& m = packs.nodes[n - packs.window.first];
    Sum& sum = sums[graph.name(n)];
    const double t = to_seconds(graph.duration(n)).si();
    sum.time += t;
    sum.core += t * double{m.core};
    sum.dynamic += double{m.core_j} + double{m.memory_j};
    sum.shapes = sum.shapes && m.known != model::Known::kUnknown;
  }
  const double active = packs.table.active_w[packs.table.reference_index];
  for (auto& row : rows) {
    const auto at = sums.find(row.name);
    if (at == sums.end() || at->second.time <= 0) continue;
    const Sum& sum = at->second;
    row.sensitivity = sum.core / sum.time;
    row.energy_j =
        (sum.dynamic / sum.time + active + packs.table.idle_w[packs.table.reference_index]) *
        row.time_s;
    row.origin = sum.shapes ? "modelled" : "assumed";
  }
}

report::Frontier frontier_of(const PlanView& view) {
  const plan::Outcome& out = *view.outcome;
  const plan::Problem& problem = *view.problem;
  const auto point = [](std::optional<double> clock, const plan::Evaluation& v) {
    return report::OperatingPoint{clock, v.time_s, v.energy_j};
  };
  report::Frontier frontier;
  for (const auto& p : view.frontier) {
    frontier.points.push_back(
        {p.solution.value.time_s, p.solution.value.energy_j, p.solution.lower_bound_j});
  }
  frontier.default_clocks = point({}, out.default_value);
  if (out.uniform) frontier.best_uniform = point(out.uniform->clock_hz, out.uniform->value);
  frontier.plan = point({}, out.plan.value);
  frontier.deadline_s = out.deadline_s;
  frontier.lower_bound_j = out.plan.lower_bound_j;
  if (view.job != nullptr) {  // re-timed, as the best one is
    for (const auto& uniform : plan::uniform_clocks(*view.job->graph, view.job->packs))
      frontier.uniform.push_back(point(uniform.clock_hz, uniform.value));
    return frontier;
  }
  std::map<double, std::size_t> common;
  for (const auto& pack : problem.packs) {
    for (const auto& o : pack.options) ++common[o.clock_hz];
  }
  for (const auto& [clock, count] : common) {
    if (count != problem.packs.size()) continue;
    plan::Choice choice;
    for (const auto& pack : problem.packs) {
      const auto at = std::find_if(pack.options.begin(), pack.options.end(),
                                   [&](const auto& o) { return o.clock_hz == clock; });
      choice.push_back(static_cast<std::uint32_t>(at - pack.options.begin()));
    }
    frontier.uniform.push_back(point(clock, plan::evaluate(problem, choice)));
  }
  return frontier;
}

}  // namespace

void fill_plan_page(const PlanView& view, Answer& answer) {
  const plan::Outcome& out = *view.outcome;
  report::Page page;
  const double saved =
      out.default_value.energy_j > 0 ? 1 - out.plan.value.energy_j / out.default_value.energy_j : 0;
  const double slower =
      out.default_value.time_s > 0 ? out.plan.value.time_s / out.default_value.time_s - 1 : 0;
  std::string against = "against default clocks";
  std::string within = "bound: " + time_text(out.deadline_s);
  std::string origin = view.measured ? "measured" : "modelled";
  if (const auto spread = spread_of(view, out.plan.choice, out.plan.value)) {
    against += "; " + percent_text(spread->saved_low) + " to " + percent_text(spread->saved_high);
    const double before = out.default_value.time_s;
    within += "; " + percent_text(std::max(0.0, spread->time_low_s / before - 1)) + " to " +
              percent_text(std::max(0.0, spread->time_high_s / before - 1));
    origin += ", " + energy_text(spread->energy_low_j, 3) + " to " +
              energy_text(spread->energy_high_j, 3);
  }
  page.figures = {{"energy saved", 100 * saved, "%", against},
                  {"slowdown", 100 * slower, "%", within},
                  {"energy of the plan", out.plan.value.energy_j, "J", origin},
                  {"lower bound", out.plan.lower_bound_j, "J", "no plan of these packs needs less"},
                  {"changes of clock", static_cast<double>(out.plan.value.switches), "", ""}};
  page.frontier = frontier_of(view);
  if (view.job != nullptr) {
    const TraceJob& job = *view.job;
    page.timeline = graph_timeline(*job.graph);
    for (report::GpuTimeline& gpu : page.timeline->gpus)
      gpu.default_clock_hz = job.packs.table.reference.si();
    const plan::Window& window = job.packs.window;
    page.timeline->window = {window.begin_ns, window.end_ns};
    for (std::size_t i = 0; i < job.packs.packs.size(); ++i) {
      const plan::Pack& pack = view.problem->packs[i];
      const std::string& id = view.problem->gpus[pack.gpu].id;
      const auto gpu = std::ranges::find(page.timeline->gpus, id, &report::GpuTimeline::id);
      ERGON_CHECK(gpu != page.timeline->gpus.end(), "a pack runs on a GPU of its trace");
      const plan::PackInfo& info = job.packs.packs[i];
      gpu->packs.push_back(
          {pack.id, info.start_ns, info.end_ns, pack.options[out.plan.choice[i]].clock_hz});
    }
    page.kernels = kernel_rows(*job.graph, window.first, window.last);
    page.kernels_of =
        "the planned part" + (window.step.empty() ? std::string() : " (" + window.step + ")");
    add_responses(job, page.kernels);
    const auto bar = [&](const char* label, const char* key) {
      report::EnergyBar b{.label = label, .parts = {}};
      if (const Value* components = answer.data.find("energy_components")) {
        if (const Value* parts = components->find(key)) {
          for (const auto& [name, joules] : *parts->as_object())
            b.parts.emplace_back(name.substr(0, name.size() - 2), *joules.as_double());
        }
      }
      return b;
    };
    page.energy = {bar("default clocks", "default"), bar("plan", "plan")};
    report::CoverageBar known{
        .title = "Clock response", .base = "GPU time of the planned part", .parts = {}};
    for (std::size_t k = 0; k < model::kKnownKinds; ++k) {
      known.parts.emplace_back(to_string(static_cast<model::Known>(k)), job.packs.known_s[k]);
    }
    page.coverage.push_back(std::move(known));
    const graph::Timing timed(*job.graph);
    report::CoverageBar edges{.title = "Dependency edges",
                              .base = "edges of the graph",
                              .parts = {{"recorded", 0}, {"inferred", 0}, {"assumed", 0}}};
    for (const auto& r : graph::edges_by_rule(timed)) {
      edges.parts[0].second += static_cast<double>(r.recorded);
      edges.parts[1].second += static_cast<double>(r.inferred);
      edges.parts[2].second += static_cast<double>(r.assumed);
    }
    page.coverage.push_back(std::move(edges));
  }
  answer.page = report::to_value(page);
}

}  // namespace ergon::cli
