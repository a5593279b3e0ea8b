// Prints what the execution graph says of given traces: replay, unexplained share, response.
#include <fmt/format.h>

#include "ergon/graph.hpp"
#include "ergon/io.hpp"
#include "ergon/trace.hpp"

namespace {
using namespace ergon;

void replay_row(const std::string& path) {
  auto source = io::open_source(path);
  if (!source) return fmt::print("{} | {}\n", path, source.error().message);
  auto tables = trace::read_traces(**source);
  if (!tables) return fmt::print("{} | {}\n", path, tables.error().message);
  std::vector<const trace::EventTable*> all;
  for (const trace::EventTable& t : *tables) all.push_back(&t);
  auto g = graph::build(all);
  if (!g) return fmt::print("{} | {}\n", path, g.error().message);
  const graph::Replay r = graph::check_replay(*g);
  std::uint64_t anchors = 0;
  Nanos worst = 0;
  graph::NodeId worst_node = 0;
  for (graph::NodeId n = 0; n < g->size(); ++n) {
    anchors += g->is_anchor(n) ? 1 : 0;
    if (graph::on_gpu(g->kind(n)) && g->residual(n) > worst) worst = g->residual(n), worst_node = n;
  }
  const graph::Counts c = g->counts();
  fmt::print(
      "{} | {} nodes {} edges | {} kernels | diff {} ns | anchors {} | unexplained {:.4f} | "
      "response {:.3f} | busy {:.3f} of {:.3f} ms",
      path.substr(path.rfind('/') + 1), g->size(), g->edges(), c.kernels, r.max_difference_ns,
      anchors, r.unexplained_share, r.response.value_or(-1),
      static_cast<double>(r.gpu_busy_ns) * 1e-6,
      static_cast<double>(g->span_end() - g->span_begin()) * 1e-6);
  if (worst > 0)
    fmt::print(" | worst gpu {:.1f} us {} at {:.1f} us", static_cast<double>(worst) * 1e-3,
               g->name(worst_node).substr(0, 40), static_cast<double>(g->start(worst_node)) * 1e-3);
  fmt::print("\n");
  for (const auto& n : g->notes()) fmt::print("    {} {}\n", n.code, n.count);
}
}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) replay_row(argv[i]);
  return 0;
}
