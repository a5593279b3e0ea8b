// The numbers of a graph do not depend on the order of the events in the file, on the reader's
// window or on its threads.
#include <fmt/format.h>

#include <random>

#include "ergon/graph.hpp"
#include "traces.hpp"

namespace {

using namespace ergon;
using namespace ergon::graph_test;
using graph::NodeId;

// Everything that `ergon graph` says, and every time of every node, as text.
std::string numbers(const trace::EventTable& table) {
  const auto g = graph::build(table);
  if (!g) return "no graph: " + g.error().message;
  std::string text;
  const auto line = [&](auto&&... values) {
    ((text += fmt::format("{} ", values)), ...);
    text += '\n';
  };
  const graph::Counts c = g->counts();
  line(g->size(), g->edges(), g->span_begin(), g->span_end());
  line(c.host_ops, c.api_calls, c.kernels, c.copies, c.memsets, c.collectives, c.gpus, c.processes,
       c.streams);
  for (const graph::BuildNote& n : g->notes()) line(n.code, n.count);
  const graph::Replay r = graph::check_replay(*g);
  line(r.max_difference_ns, r.residual_ns_total, r.unexplained_share, r.response.value_or(-1),
       r.gpu_busy_ns);
  const graph::CriticalPath p = graph::critical_path(*g, graph::Operators(*g));
  line(p.span_ns, p.work_ns, p.latency_ns, p.host_gap_ns, p.unexplained_ns, p.anchor_ns);
  for (const auto* list : {&p.by_kind, &p.by_kernel, &p.by_operator, &p.by_thread}) {
    for (const graph::Share& s : *list) line(s.name, s.time_ns);
  }
  for (const NodeId n : p.nodes) line(n, g->name(n));
  for (const graph::IdleCause& i : graph::idle_gaps(*g)) line(i.gpu, i.cause, i.time_ns, i.count);
  for (const graph::RuleCount& e : graph::edges_by_rule(*g))
    line(graph::to_string(e.rule), e.recorded, e.inferred, e.assumed, e.binding);
  for (const graph::Step& s : graph::find_steps(*g))
    line(s.name, s.host.begin, s.host.end, s.alike);
  const graph::Slack s = graph::slack(*g);
  for (NodeId n = 0; n < g->size(); ++n)
    line(g->name(n), g->start(n), g->duration(n), g->residual(n), s.total_ns[n], s.free_ns[n]);
  return text;
}

// The objects of "traceEvents" in another order. Empty where the text is not whole.
std::string shuffled(const std::string& text, unsigned seed) {
  const std::size_t key = text.find("\"traceEvents\"");
  const std::size_t open = text.find('[', key == std::string::npos ? 0 : key);
  if (open == std::string::npos) return {};
  std::vector<std::string_view> events;
  std::size_t at = open + 1;
  std::size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (depth++ == 0) begin = at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) break;  // of traceEvents itself
      if (--depth == 0) events.push_back(std::string_view(text).substr(begin, at + 1 - begin));
    }
  }
  if (at >= text.size() || text[at] != ']') return {};
  std::mt19937 rng(seed);
  for (std::size_t i = events.size(); i > 1; --i) std::swap(events[i - 1], events[rng() % i]);
  std::string result = text.substr(0, open + 1);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i > 0) result += ",\n";
    result += events[i];
  }
  result += text.substr(at);
  return result;
}

// The first line that differs.
std::string difference(const std::string& a, const std::string& b) {
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto line = [&](const std::string& text) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  return a == b ? std::string() : line(a) + " | " + line(b);
}

void expect_same_numbers(const std::vector<std::string>& files) {
  std::size_t compared = 0;
  std::size_t reordered = 0;
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const auto text = text_of(file);
    if (!text) continue;
    const auto table = read(*text);
    if (!table) continue;
    const std::string expected = numbers(*table);
    ++compared;
    for (const std::size_t window : {std::size_t{64}, std::size_t{16} << 20}) {
      for (const int threads : {1, 2}) {
        const auto other = read(*text, {.window_bytes = window, .threads = threads});
        ASSERT_TRUE(other);
        EXPECT_EQ(difference(expected, numbers(*other)), "")
            << "window " << window << ", threads " << threads;
      }
    }
    const std::string mixed = shuffled(*text, 7);
    if (mixed.empty()) continue;  // damaged
    ++reordered;
    for (const int threads : {1, 2}) {
      const auto other = read(mixed, {.threads = threads});
      ASSERT_TRUE(other);
      EXPECT_EQ(difference(expected, numbers(*other)), "") << "shuffled, threads " << threads;
    }
  }
  EXPECT_GT(compared, 2U);
  EXPECT_GT(reordered, 2U);
}

TEST(GraphSameNumbers, BundledTraces) { expect_same_numbers(bundled_traces()); }

TEST(GraphSameNumbers, SharedTraces) {
  const std::vector<std::string> files = shared_traces();
  if (files.empty()) GTEST_SKIP() << "the folder of public traces is not there";
  expect_same_numbers(files);
}

}  // namespace
