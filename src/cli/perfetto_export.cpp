// Chrome JSON of a graph for Perfetto: every node as it ran, the critical path on a track of its
// own, slack of GPU work as arguments and as a counter.
#include "perfetto_export.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_map>

#include "ergon/io.hpp"
#include "graph_parts.hpp"

namespace ergon::cli {
namespace {

using graph::Graph;
using graph::NodeId;

constexpr int kOtherProcess = 900001;
constexpr int kPathProcess = 900000;  // above the pids that Linux gives by default

std::string micros(Nanos ns) {
  char text[32];
  const char* sign = ns < 0 ? "-" : "";
  const auto whole = static_cast<unsigned long long>(ns < 0 ? -ns : ns);
  std::snprintf(text, sizeof text, "%s%llu.%03llu", sign, whole / 1000, whole % 1000);
  return text;
}

class Writer {
 public:
  void event(const std::string& fields) {
    out_ += first_ ? "\n{" : ",\n{";
    first_ = false;
    out_ += fields;
    out_ += '}';
  }
  void name_track(std::int64_t pid, std::int64_t tid, const char* kind, const std::string& name) {
    event("\"ph\":\"M\",\"name\":\"" + std::string(kind) + "\",\"pid\":" + std::to_string(pid) +
          ",\"tid\":" + std::to_string(tid) + ",\"args\":{\"name\":" + io::to_json(Value(name), 0) +
          "}");
  }
  void counter(const std::string& name, const char* series, Nanos at, const std::string& value) {
    event("\"ph\":\"C\",\"name\":\"" + name + "\",\"pid\":" + std::to_string(kPathProcess) +
          ",\"ts\":" + micros(at) + ",\"args\":{\"" + series + "\":" + value + "}");
  }
  void slice(std::int64_t pid, std::int64_t tid, std::string_view name, const char* category,
             Nanos start, Nanos duration, const std::string& args) {
    event("\"ph\":\"X\",\"cat\":\"" + std::string(category) +
          "\",\"name\":" + io::to_json(Value(name), 0) + ",\"pid\":" + std::to_string(pid) +
          ",\"tid\":" + std::to_string(tid) + ",\"ts\":" + micros(start) + ",\"dur\":" +
          micros(duration) + (args.empty() ? std::string() : ",\"args\":{" + args + "}"));
  }
  std::string finish() && { return std::move(out_) + "\n]}\n"; }

 private:
  std::string out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool first_ = true;
};

// What the table keeps of an event's own arguments.
std::string own_args(const trace::EventTable& table, trace::EventId e) {
  std::string args;
  const auto add = [&args](std::string_view member) {
    if (!args.empty()) args += ',';
    args += member;
  };
  const std::string_view detail = table.strings.view(table.detail[e]);
  if (detail.size() > 2) add(detail.substr(1, detail.size() - 2));  // an object without its braces
  if (table.external_id[e] >= 0) add("\"External id\":" + std::to_string(table.external_id[e]));
  if (table.correlation[e] >= 0) add("\"correlation\":" + std::to_string(table.correlation[e]));
  return args;
}

// Pids and tids of the page: the trace's own for host threads; for GPU streams the device as
// process.
struct Place {
  std::int64_t pid = 0, tid = 0;
  std::string process, thread;
};
Place place_of(const trace::EventTable& table, const trace::Track& track, std::uint32_t rank,
               const std::string& label) {
  const std::string prefix = label.empty() ? std::string() : label + " ";
  const std::int64_t shift = std::int64_t{rank} * 10'000'000;
  if (track.gpu) {
    return {shift + 1'000'000 + track.device, track.stream,
            prefix + "GPU " + std::to_string(track.device),
            "stream " + std::to_string(track.stream)};
  }
  const auto name = table.strings.view(track.name);
  // A pid that was a word ("Spans", "Traces") is a number without sense: the track's own name says
  // more.
  const bool plain = track.process >= 0 && track.process < (std::int64_t{1} << 32);
  const auto filed = table.strings.view(track.process_name);
  std::string process = plain            ? "process " + std::to_string(track.process)
                        : !filed.empty() ? std::string(filed)
                                         : "profiler";
  return {shift + (plain ? track.process : kOtherProcess), track.thread, prefix + process,
          name.empty() ? "thread " + std::to_string(track.thread) : std::string(name)};
}

}  // namespace

std::string perfetto_text(const Graph& graph, const std::vector<ClockChange>& clocks) {
  const graph::Timing timed(graph);
  const graph::CriticalPath path = graph::critical_path(timed, graph::Operators(graph));
  const graph::Slack slack = graph::slack(timed);
  std::vector<bool> critical(graph.size(), false);
  for (const NodeId n : path.nodes) critical[n] = true;

  Writer writer;
  // The tables of the graph, each once, with all events that take time.
  std::vector<const trace::EventTable*> tables;
  std::unordered_map<const trace::EventTable*, std::uint32_t> ranks;
  std::vector<std::unordered_map<trace::EventId, NodeId>> gpu_nodes;
  std::vector<Nanos> shift;  // from the table's clock to the graph's
  for (NodeId n = 0; n < graph.size(); ++n) {
    const auto [at, fresh] =
        ranks.emplace(&graph.table_of(n), static_cast<std::uint32_t>(tables.size()));
    if (fresh) {
      tables.push_back(&graph.table_of(n));
      gpu_nodes.emplace_back();
      shift.push_back(0);
    }
    if (graph::on_gpu(graph.kind(n))) {
      gpu_nodes[at->second].emplace(graph.event(n), n);
    }
    if (fresh)
      shift[at->second] =
          graph.start(n) - std::max(graph.table_of(n).start_ns[graph.event(n)], Nanos{0});
  }
  const std::vector<std::string> labels = graph::labels_of(tables);
  for (std::uint32_t r = 0; r < tables.size(); ++r) {
    const trace::EventTable& table = *tables[r];
    std::vector<Place> places;
    for (const auto& track : table.tracks) {
      places.push_back(place_of(table, track, r, labels[r]));
      writer.name_track(places.back().pid, places.back().tid, "process_name",
                        places.back().process);
      writer.name_track(places.back().pid, places.back().tid, "thread_name", places.back().thread);
    }
    for (trace::EventId e = 0; e < table.size(); ++e) {
      const auto kind = table.kind[e];
      if (kind == trace::EventKind::kOther || kind == trace::EventKind::kSyncRecord) continue;
      const Place& place = places[table.track[e]];
      std::string args = own_args(table, e);
      const char* category = "host";
      if (const auto at = gpu_nodes[r].find(e); at != gpu_nodes[r].end()) {
        category = critical[at->second] ? "gpu,critical" : "gpu";
        if (!args.empty()) args += ',';
        args += "\"total_slack_ns\":" + std::to_string(slack.total_ns[at->second]) +
                ",\"free_slack_ns\":" + std::to_string(slack.free_ns[at->second]) +
                ",\"critical\":" + (critical[at->second] ? "true" : "false");
      }
      writer.slice(place.pid, place.tid, table.name_of(e), category, table.start_ns[e] + shift[r],
                   table.duration_ns[e], args);
    }
  }
  writer.name_track(kPathProcess, 0, "process_name", "Ergon");
  writer.name_track(kPathProcess, 0, "thread_name", "critical path");
  for (std::size_t i = 0; i < path.nodes.size(); ++i) {
    const NodeId n = path.nodes[i];
    Nanos duration = timed.duration(n);
    if (i + 1 < path.nodes.size())
      duration = std::min(duration, timed.start(path.nodes[i + 1]) - timed.start(n));
    writer.slice(kPathProcess, 0, graph.name(n), to_string(graph.kind(n)), timed.start(n),
                 std::max<Nanos>(0, duration), {});
  }
  for (NodeId n = 0; n < graph.size(); ++n) {
    if (!graph::on_gpu(graph.kind(n))) continue;
    writer.counter(
        "total slack of GPU " + std::to_string(*gpu_number(graph, graph.gpu(n)).as_int()) + " (us)",
        "slack", timed.start(n), micros(slack.total_ns[n]));
  }
  for (const ClockChange& change : clocks) {
    writer.counter("planned clock of GPU " + change.gpu + " (MHz)", "clock", change.start_ns,
                   std::to_string(std::llround(change.clock_hz / 1e6)));
  }
  return std::move(writer).finish();
}

}  // namespace ergon::cli
