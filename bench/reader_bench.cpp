// Reads traces and prints what it took: CPU time, peak memory, bytes per event. Raw figures, one
// line a file; --summary adds what was found.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "ergon/trace.hpp"

namespace {

using ergon::trace::EventKind;
using ergon::trace::EventTable;

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

// Peak resident memory of the process (VmHWM), bytes.
double peak_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

void print_summary(const EventTable& table) {
  std::map<EventKind, std::uint64_t> kinds;
  for (ergon::trace::EventId e = 0; e < table.size(); ++e) ++kinds[table.kind[e]];
  std::printf(
      "  kernels %llu copies %llu memsets %llu api %llu host %llu annotations %llu python "
      "%llu sync %llu other %llu; tracks %zu strings %zu gpus %zu rank %lld of %lld%s\n",
      static_cast<unsigned long long>(kinds[EventKind::kKernel]),
      static_cast<unsigned long long>(kinds[EventKind::kCopy]),
      static_cast<unsigned long long>(kinds[EventKind::kMemset]),
      static_cast<unsigned long long>(kinds[EventKind::kApi]),
      static_cast<unsigned long long>(kinds[EventKind::kHostOp]),
      static_cast<unsigned long long>(kinds[EventKind::kAnnotation]),
      static_cast<unsigned long long>(kinds[EventKind::kPython]),
      static_cast<unsigned long long>(kinds[EventKind::kSyncRecord]),
      static_cast<unsigned long long>(kinds[EventKind::kOther]), table.tracks.size(),
      table.strings.size(), table.gpus.size(), static_cast<long long>(table.distributed.rank),
      static_cast<long long>(table.distributed.world_size), table.generated ? ", generated" : "");
  for (const auto& s : table.skipped) {
    std::printf("  skipped %s %llu, first at %llu%s\n", s.reason.c_str(),
                static_cast<unsigned long long>(s.count),
                static_cast<unsigned long long>(s.first_offset), s.damage ? "" : " (sound)");
  }
}

}  // namespace

int main(int argc, char** argv) {
  ergon::trace::ReadOptions options;
  bool summary = false;
  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--summary") {
      summary = true;
    } else if (word.starts_with("--window=")) {
      options.window_bytes = std::strtoull(word.c_str() + 9, nullptr, 10);
    } else if (word.starts_with("--threads=")) {
      options.threads = std::atoi(word.c_str() + 10);
    } else {
      auto source = ergon::io::open_source(word);
      if (!source) {
        std::printf("%s: %s\n", word.c_str(), source.error().message.c_str());
        ++failures;
        continue;
      }
      const double before = cpu_seconds();
      const double constant = peak_bytes();
      ergon::trace::ReadTimings timings;
      const auto tables = ergon::trace::read_traces(**source, options, &timings);
      const double cpu = cpu_seconds() - before;
      if (!tables) {
        std::printf("%s: %s (hint: %s)\n", word.c_str(), tables.error().message.c_str(),
                    tables.error().hint.c_str());
        ++failures;
        continue;
      }
      std::size_t events = 0;
      for (const EventTable& table : *tables) events += table.size();
      const auto bytes = static_cast<double>(timings.uncompressed_bytes);
      std::printf(
          "%s: bytes %.0f events %zu cpu_s %.3f (decompress and read %.3f parse %.3f "
          "normalise %.3f) GB_per_cpu_s %.3f peak_MB %.1f bytes_per_event %.1f\n",
          word.c_str(), bytes, events, cpu, timings.decompress_s, timings.parse_s,
          timings.normalise_s, bytes / cpu * 1e-9, peak_bytes() * 1e-6,
          (peak_bytes() - constant) / static_cast<double>(events));
      if (summary) {
        for (const EventTable& table : *tables) print_summary(table);
      }
    }
  }
  return failures == 0 ? 0 : 3;
}
