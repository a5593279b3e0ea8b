// Reads trace files and says what was read and what was left out.
#include "trace_input.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "planning.hpp"

namespace ergon::cli {
namespace {

void warn_of_damage(Context& context, const std::string& path, const trace::EventTable& table) {
  std::uint64_t lost = 0;
  const trace::Skipped* first_lost = nullptr;
  for (const auto& skip : table.skipped) {
    context.skipped(skip.reason, skip.count);
    if (!skip.damage) continue;
    if (skip.reason == "trailing_events") {
      context.warn("trailing_events",
                   path + ": the trace ends at byte " + std::to_string(skip.first_offset) +
                       ", and events follow (a second document?): they are read as part of it",
                   skip.count);
      continue;
    }
    lost += skip.count;
    if (first_lost == nullptr) first_lost = &skip;
  }
  if (first_lost == nullptr) return;
  context.warn("damaged_input",
               path + ": " + counted(lost, "part is", "parts are") +
                   " damaged: left out, or mended; the first (" + first_lost->reason +
                   ") at byte " + std::to_string(first_lost->first_offset),
               lost);
}

// Whether two tables hold the same events at the same times and places, of the same rank.
bool same_events(const trace::EventTable& a, const trace::EventTable& b) {
  if (a.size() != b.size() || a.base_ns != b.base_ns || a.tracks.size() != b.tracks.size() ||
      a.strings.size() != b.strings.size() || a.distributed.rank != b.distributed.rank) {
    return false;
  }
  for (std::size_t t = 0; t < a.tracks.size(); ++t) {
    const auto place = [t](const trace::EventTable& table) {
      const trace::Track& track = table.tracks[t];
      return std::tuple(track.gpu, track.process, track.thread, track.device, track.stream);
    };
    if (place(a) != place(b)) return false;
  }
  for (trace::EventId e = 0; e < a.size(); ++e) {
    if (a.start_ns[e] != b.start_ns[e] || a.duration_ns[e] != b.duration_ns[e] ||
        a.track[e] != b.track[e] || a.name_of(e) != b.name_of(e)) {
      return false;
    }
  }
  return true;
}

// The same file twice is known by its bytes (Context::add_input); the same trace in two wrappings
// by its events.
void warn_of_twins(Context& context, const std::vector<trace::EventTable>& tables) {
  const auto same_file = [](const io::InputRecord& a, const io::InputRecord& b) {
    return a.digest == b.digest && a.bytes == b.bytes;
  };
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const io::InputRecord& later = tables[i].input;
      const io::InputRecord& first = tables[j].input;
      if (!same_events(tables[i], tables[j])) continue;
      if (!same_file(later, first)) {
        context.warn("same_input_twice", later.path + " holds the same trace as " + first.path +
                                             ": its work counts twice");
      }
      break;
    }
  }
}

}  // namespace

Result<std::vector<trace::EventTable>> read_tables(Context& context, std::vector<InputFile>& files,
                                                   trace::ReadTimings* timings) {
  std::vector<trace::EventTable> tables;
  for (auto& file : files) {
    const std::string& path = file.path();
    context.stage("reading " + path);
    ERGON_TRY(io::ByteSource* const source, file.open());
    trace::ReadTimings spent;
    ERGON_TRY(auto read, trace::read_traces(*source, {.threads = context.threads()}, &spent));
    if (timings != nullptr) {
      timings->decompress_s += spent.decompress_s;
      timings->parse_s += spent.parse_s;
      timings->normalise_s += spent.normalise_s;
      timings->uncompressed_bytes += spent.uncompressed_bytes;
    }
    file.close();
    for (auto& table : read) {
      io::InputRecord record = table.input;  // of an archive: the member's
      if (record.format.empty()) record.format = table.format;
      context.add_input(std::move(record));
      warn_of_damage(context, path, table);
      if (table.generated)
        context.warn("generated", path + " was written by a generator, not recorded");
      tables.push_back(std::move(table));
    }
  }
  warn_of_twins(context, tables);
  return tables;
}

}  // namespace ergon::cli
