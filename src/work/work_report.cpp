// Development aid: what is known of the GPU work of traces, and from what.
//   ergon_work_report [--pieces N] [--device NAME] TRACE...
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include "ergon/io.hpp"
#include "ergon/work.hpp"

namespace ergon {
namespace {

struct Options {
  std::size_t pieces = 0;
  const char* device = nullptr;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

bool report(const char* path, const Options& options) {
  auto source = io::open_source(path);
  if (!source) return std::fprintf(stderr, "%s\n", source.error().message.c_str()), false;
  const auto table = trace::read_trace(**source);
  if (!table) return std::fprintf(stderr, "%s: %s\n", path, table.error().message.c_str()), false;
  const double begin = cpu_seconds();
  const auto events = work::gpu_events_of(*table);
  const auto operators = work::operators_of(*table, events);
  const double found = cpu_seconds();
  const auto c = work::classify(*table, events, operators);
  const double end = cpu_seconds();
  std::printf(
      "%s\n  events %zu  pieces %zu  shapes %.4f  class %.4f  unknown %.4f  operators %.3f s  "
      "classify %.3f s\n",
      path, events.size(), c.pieces.size(), c.shares[1], c.shares[2], c.shares[3], found - begin,
      end - found);
  std::string gpu = table->gpus.empty() ? "" : table->gpus.front().name;
  const auto device = options.device != nullptr ? model::find_device(options.device)
                                                : model::find_device_of_trace(gpu);
  std::vector<double> time(c.pieces.size());
  std::vector<double> core(c.pieces.size());
  std::vector<double> joules(c.pieces.size());
  std::vector<std::uint64_t> count(c.pieces.size());
  double total = 0;
  double capped_time = 0;
  for (std::size_t i = 0; i < events.size(); ++i)
    total += static_cast<double>(table->duration_ns[events[i]]);
  if (device) {
    const auto clocks = model::clock_table(device->device, device->device.default_clock);
    const double started = cpu_seconds();
    model::Response all;
    double impossible = 0;
    double counted = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto& p = c.of(i);
      bool capped = false;
      const auto r = model::respond(
          device->device, clocks,
          {to_seconds(table->duration_ns[events[i]]), p.work ? &*p.work : nullptr, p.kind, p.known},
          &capped);
      all += r;
      const std::size_t k = c.piece[i];
      core[k] += r.core_s;
      joules[k] += r.core_j + r.memory_j;
      if (capped) capped_time += r.observed_s();
      if (p.work && p.known == model::Known::kShapes) {
        counted += r.observed_s();
        for (std::size_t u = 0; u < model::kUnits; ++u) {
          const auto& ops = p.work->ops[u];
          const auto& peak = device->device.peak_flops[u];
          const double scale = device->device.max_clock() / device->device.peak_clock;
          if (ops && (!peak || ops->si() > 1.02 * peak->estimate.high * scale * r.observed_s())) {
            impossible += r.observed_s();
            if (options.pieces > 0) {
              std::printf("  above the peak of %s: %.3g FLOP in %.3g s: %s | %s\n",
                          model::to_string(static_cast<model::Unit>(u)), ops->si(), r.observed_s(),
                          p.how.c_str(),
                          std::string(table->name_of(events[i])).substr(0, 60).c_str());
            }
          }
        }
      }
    }
    const auto& d = device->device;
    std::printf("  counted work above a unit's peak: %.4f of the time known from shapes\n",
                counted > 0 ? impossible / counted : 0);
    std::printf(
        "  device %s  core share %.3f [%.3f, %.3f]  dynamic %.1f W [%.1f, %.1f] while busy  capped "
        "%.3f of time  respond %.3f s\n",
        d.id.c_str(), all.core_s / all.observed_s(), all.core_low_s / all.observed_s(),
        all.core_high_s / all.observed_s(), (all.core_j + all.memory_j) / all.observed_s(),
        all.dynamic_low_j / all.observed_s(), all.dynamic_high_j / all.observed_s(),
        capped_time / all.observed_s(), cpu_seconds() - started);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    time[c.piece[i]] += static_cast<double>(table->duration_ns[events[i]]);
    ++count[c.piece[i]];
  }
  std::vector<std::size_t> order(c.pieces.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return time[a] > time[b]; });
  std::vector<std::string> name(c.pieces.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (name[c.piece[i]].empty())
      name[c.piece[i]] = std::string(table->name_of(events[i])).substr(0, 70);
  }
  for (std::size_t i = 0; i < std::min(options.pieces, order.size()); ++i) {
    const auto k = order[i];
    const auto& p = c.pieces[k];
    std::printf("  %5.2f%% n=%-5llu %-8s %-11s core %.2f %4.0f W  %s | %s\n", 100 * time[k] / total,
                static_cast<unsigned long long>(count[k]), model::to_string(p.known),
                model::to_string(p.kind), time[k] > 0 ? core[k] / (time[k] * 1e-9) : 0,
                time[k] > 0 ? joules[k] / (time[k] * 1e-9) : 0, p.how.c_str(), name[k].c_str());
  }
  return true;
}

}  // namespace
}  // namespace ergon

int main(int argc, char** argv) {
  ergon::Options options;
  bool ok = true;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--pieces") == 0 && i + 1 < argc) {
      options.pieces = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
      options.device = argv[++i];
    } else {
      ok = ergon::report(argv[i], options) && ok;
    }
  }
  return ok ? 0 : 1;
}
