// graph_bench NODES: re-times a graph of about so many nodes, made from events that are generated
// here: host operations with a launch inside, kernels on two streams. Prints one line of CSV under
// its header: CPU seconds, and memory as resident bytes of the process.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "ergon/graph.hpp"

namespace {

using namespace ergon;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// A line of /proc/self/status, MB; 0 where there is none.
double status_mb(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(key)) return std::strtod(line.c_str() + key.size() + 1, nullptr) / 1000;
  }
  return 0;
}

void add(trace::EventTable& t, trace::EventKind kind, std::uint32_t track, Nanos start,
         Nanos duration, std::string_view name, std::int64_t correlation) {
  t.start_ns.push_back(start);
  t.duration_ns.push_back(duration);
  t.name.push_back(t.strings.intern(name));
  t.kind.push_back(kind);
  t.track.push_back(track);
  t.correlation.push_back(correlation);
  t.external_id.push_back(-1);
  t.detail.push_back(0);
}

// Four nodes a kernel: the operation before its launch, the launch, the rest of it, the kernel.
// Durations vary by a fixed sequence.
trace::EventTable table_of(std::int64_t kernels) {
  constexpr Nanos kPeriod = 10'000;
  const auto vary = [](std::int64_t i, std::uint64_t salt) {
    return static_cast<Nanos>((static_cast<std::uint64_t>(i) + salt) * 0x9e3779b97f4a7c15U >> 51U);
  };
  trace::EventTable t;
  trace::Track host;
  host.process = host.thread = 1;
  t.tracks.push_back(host);
  for (const std::int64_t stream : {7, 20}) {
    trace::Track track;
    track.gpu = true;
    track.process = 1;
    track.device = 0;
    track.context = 1;
    track.stream = stream;
    t.tracks.push_back(track);
  }
  for (std::int64_t i = 0; i < kernels; ++i) {
    const Nanos start = i * kPeriod;
    add(t, trace::EventKind::kHostOp, 0, start, kPeriod - 100 - vary(i, 1) / 8, "aten::mm", -1);
    add(t, trace::EventKind::kApi, 0, start + 2000, 3000 + vary(i, 2) / 8, "cudaLaunchKernel", i);
  }
  for (std::int64_t stream = 0; stream < 2; ++stream) {
    Nanos free = 0;
    for (std::int64_t i = stream; i < kernels; i += 2) {
      const Nanos start = std::max(free, i * kPeriod + 8000);
      const Nanos duration = 12'000 + vary(i, 3);
      add(t, trace::EventKind::kKernel, static_cast<std::uint32_t>(1 + stream), start, duration,
          "gemm", i);
      free = start + duration + 1000;
    }
  }
  return t;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t nodes = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 10'000'000;
  const double base_mb = status_mb("VmRSS:");
  const trace::EventTable table = table_of(nodes / 4);
  const double table_mb = status_mb("VmRSS:") - base_mb;
  const double built = cpu_seconds();
  auto graph = graph::build(table);
  if (!graph) {
    std::fprintf(stderr, "%s\n", graph.error().message.c_str());
    return 1;
  }
  const double build_s = cpu_seconds() - built;
  const double graph_mb = status_mb("VmRSS:") - base_mb - table_mb;
  // Makes VmHWM start again from what is resident now.
  std::ofstream("/proc/self/clear_refs") << "5";
  const double begin = cpu_seconds();
  graph::Retimer retimer(*graph);
  const double construct_s = cpu_seconds() - begin;
  const Nanos span = retimer.run();
  const double first_s = cpu_seconds() - begin - construct_s;
  for (Nanos& d : retimer.durations()) d += d / 8;
  const double again = cpu_seconds();
  const Nanos longer = retimer.run();
  const double run_s = cpu_seconds() - again;
  if (span != graph->span_end() - graph->span_begin() || longer <= span) {
    std::fprintf(stderr, "re-timing gives a span of %lld ns, then %lld ns\n",
                 static_cast<long long>(span), static_cast<long long>(longer));
    return 1;
  }
  std::puts(
      "nodes,edges,build_cpu_s,retimer_cpu_s,first_run_cpu_s,run_cpu_s,table_mb,graph_mb,"
      "retime_peak_mb");
  std::printf("%zu,%zu,%.3f,%.3f,%.3f,%.3f,%.0f,%.0f,%.0f\n", graph->size(), graph->edges(),
              build_s, construct_s, first_s, run_s, table_mb, graph_mb, status_mb("VmHWM:"));
  return 0;
}
