// Prints what the execution graph says of given traces, one table a mode: replay, response,
// predict, infer, golden.
#include "graph_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace {

using namespace ergon;
using namespace ergon::graph_oracle;
using graph::NodeId;

// ---- replay: anchors, unexplained share, host-gap share, response, and the largest delay on a GPU
// with its cause

int replay(const std::string& path) {
  auto l = load(path);
  auto g = l ? graph::build(l->views) : tl::unexpected(l.error());
  if (!g) return fmt::print("{} | not read: {}\n", base(path), g.error().message), 0;
  if (g->counts().kernels == 0) return 0;
  const graph::Replay r = graph::check_replay(*g);
  const graph::Operators operators(*g);
  const graph::CriticalPath path_of = graph::critical_path(*g, operators);
  std::uint64_t anchors = 0;
  NodeId worst = graph::kNoNode;
  for (NodeId n = 0; n < g->size(); ++n) {
    anchors += g->is_anchor(n) ? 1 : 0;
    if (graph::on_gpu(g->kind(n)) &&
        g->residual(n) > (worst == graph::kNoNode ? 0 : g->residual(worst)))
      worst = n;
  }
  const auto share = [&](Nanos t) {
    return path_of.span_ns > 0 ? static_cast<double>(t) / static_cast<double>(path_of.span_ns) : 0;
  };
  fmt::print("{:<46} | {:>7} | {:>2} | {:>7} | {:6.4f} | {:6.3f} | {:6.3f} | {:6.3f} | {}",
             base(path), r.nodes, r.max_difference_ns, anchors, r.unexplained_share,
             share(path_of.host_gap_ns), share(path_of.unexplained_ns),
             static_cast<double>(r.gpu_busy_ns) / static_cast<double>(path_of.span_ns),
             r.response ? fmt::format("{:6.3f}", *r.response) : "  null");
  if (worst != graph::kNoNode)
    fmt::print(" | {:.3f} ms before {} at {:.3f} ms", ms(g->residual(worst)),
               g->name(worst).substr(0, 40), ms(g->start(worst) - g->span_begin()));
  fmt::print("\n");
  return r.max_difference_ns == 0 ? 0 : 1;
}

// ---- predict: the durations of step j on the graph and leftover delays of step i

struct Prediction {
  double sum = 0, sum_kernels = 0;
  int pairs = 0;
};
Nanos makespan(const graph::Retimer& t, const std::vector<NodeId>& nodes) {
  Nanos first = t.starts()[nodes.front()];
  Nanos last = first;
  for (const NodeId n : nodes) {
    first = std::min(first, t.starts()[n]);
    last = std::max(last, t.starts()[n] + t.durations()[n]);
  }
  return last - first;
}
double predict_pair(const graph::Graph& g, const graph::Step& i, const graph::Step& j,
                    const std::vector<NodeId>& nodes, bool host) {
  graph::Retimer t(g);
  graph::exchange_durations(g, i, j, host, t.durations());
  for (const NodeId n : nodes) t.run_range(n, n + 1);
  return static_cast<double>(makespan(t, nodes));
}
void predict(const std::string& path, std::vector<std::pair<double, double>>& means) {
  auto l = load(path);
  auto g = l ? graph::build(l->views) : tl::unexpected(l.error());
  if (!g || g->counts().kernels == 0) return;
  const std::vector<graph::Step> steps = graph::find_steps(*g);
  constexpr std::size_t kAllPairs = 12;
  Prediction p;
  const graph::Retimer observed(*g);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<NodeId> nodes = graph::nodes_of(*g, steps[i]);
    for (std::size_t j = 0; j < steps.size(); ++j) {
      if (i == j || steps[i].table != steps[j].table || (steps.size() > kAllPairs && j != i + 1))
        continue;
      if (steps[i].alike < 0.9 || steps[j].alike < 0.9) continue;
      const auto actual = static_cast<double>(makespan(observed, graph::nodes_of(*g, steps[j])));
      const double all = predict_pair(*g, steps[i], steps[j], nodes, true) / actual - 1;
      const double kernels = predict_pair(*g, steps[i], steps[j], nodes, false) / actual - 1;
      const double none = static_cast<double>(makespan(observed, nodes)) / actual - 1;
      fmt::print("{:<46} | {:>2} -> {:<2} | {:9.3f} ms | {:+7.2f} % | {:+7.2f} % | {:+7.2f} %\n",
                 base(path), i, j, actual * 1e-6, all * 100, kernels * 100, none * 100);
      p.sum += std::abs(all);
      p.sum_kernels += std::abs(kernels);
      ++p.pairs;
    }
  }
  if (p.pairs == 0) return;
  means.emplace_back(p.sum / p.pairs, p.sum_kernels / p.pairs);
  fmt::print("{:<46} | mean of {:>3} pairs | {:.2f} % | kernels alone {:.2f} %\n", base(path),
             p.pairs, means.back().first * 100, means.back().second * 100);
}

// ---- infer: edges found without the cuda_sync records against those made from them

using Link = std::tuple<std::uint32_t, trace::EventId, std::uint32_t, trace::EventId>;
std::map<Link, graph::Known> sync_edges(const graph::Graph& g) {
  std::map<Link, graph::Known> links;
  for (NodeId n = 0; n < g.size(); ++n) {
    for (std::size_t i = 0; i < g.edge_count(n); ++i) {
      const graph::Edge e = g.edge(n, i);
      switch (e.rule) {
        case graph::Rule::kEventWait:
        case graph::Rule::kEventSync:
        case graph::Rule::kStreamSync:
        case graph::Rule::kDeviceSync:
          links[{g.table(e.from), g.event(e.from), g.table(n), g.event(n)}] = e.known;
          break;
        default:
          break;
      }
    }
  }
  return links;
}
struct Recall {
  std::uint64_t recorded = 0, found = 0, extra = 0;
};
void infer(const std::string& path, Recall& total) {
  auto l = load(path);
  if (!l) return;
  auto with = graph::build(l->views);
  auto without = graph::build(l->views, {.use_sync_records = false});
  if (!with || !without) return;
  const auto truth = sync_edges(*with);
  const auto guess = sync_edges(*without);
  Recall r;
  for (const auto& [link, known] : truth) {
    if (known != graph::Known::kRecorded) continue;
    ++r.recorded;
    if (guess.contains(link)) {
      ++r.found;
    } else {
      fmt::print("    missed: {} after {}\n",
                 l->views[std::get<2>(link)]->name_of(std::get<3>(link)),
                 l->views[std::get<0>(link)]->name_of(std::get<1>(link)).substr(0, 50));
    }
  }
  for (const auto& [link, known] : guess) {
    if (truth.contains(link)) continue;
    ++r.extra;
    fmt::print("    only inferred: {} after {}\n",
               l->views[std::get<2>(link)]->name_of(std::get<3>(link)),
               l->views[std::get<0>(link)]->name_of(std::get<1>(link)).substr(0, 50));
  }
  if (r.recorded == 0) return;
  fmt::print("{:<46} | recorded {:>3} | found {:>3} | recall {:.3f} | precision {:.3f}\n",
             base(path), r.recorded, r.found,
             static_cast<double>(r.found) / static_cast<double>(r.recorded),
             static_cast<double>(r.found) /
                 static_cast<double>(std::max<std::uint64_t>(1, r.found + r.extra)));
  total.recorded += r.recorded;
  total.found += r.found;
  total.extra += r.extra;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const std::vector<std::string> files(argv + std::min(argc, 2), argv + argc);
  int status = 0;
  if (mode == "replay") {
    fmt::print(
        "trace | nodes | difference ns | anchors | unexplained share | host-gap share | "
        "unexplained share of the path | busy | response | largest delay\n");
    for (const std::string& f : files) status |= replay(f);
  } else if (mode == "response") {
    for (const std::string& f : files) status |= response(f);
  } else if (mode == "golden" && files.size() == 2) {
    status = golden(files[0], files[1]);
  } else if (mode == "predict") {
    fmt::print("trace | step i -> j | makespan of j | error | kernels alone | as step i\n");
    std::vector<std::pair<double, double>> means;
    for (const std::string& f : files) predict(f, means);
    double all = 0;
    double kernels = 0;
    for (const auto& [a, k] : means) all += a, kernels += k;
    const double n = std::max<double>(1, static_cast<double>(means.size()));
    fmt::print("mean over {} traces | {:.2f} % | kernels alone {:.2f} %\n", means.size(),
               all / n * 100, kernels / n * 100);
  } else if (mode == "infer") {
    Recall total;
    for (const std::string& f : files) infer(f, total);
    fmt::print("all | recorded {} | found {} | recall {:.3f} | precision {:.3f}\n", total.recorded,
               total.found,
               static_cast<double>(total.found) /
                   static_cast<double>(std::max<std::uint64_t>(1, total.recorded)),
               static_cast<double>(total.found) /
                   static_cast<double>(std::max<std::uint64_t>(1, total.found + total.extra)));
  } else {
    fmt::print(
        "usage: ergon_graph_oracle replay|response|predict|infer TRACE... | golden TRACE "
        "OVERLAY\n");
    return 2;
  }
  return status;
}
