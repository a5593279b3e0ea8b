// Reads trace files and says what was read and what was left out.
#include "trace_input.hpp"

#include <algorithm>
#include <iterator>

#include "planning.hpp"

namespace ergon::cli {
namespace {

// Kinds of trace entries that hold no time of their own: leaving them out loses nothing.
bool not_needed(std::string_view reason) {
  return reason == "flow" || reason == "instant" || reason == "counter" || reason == "metadata";
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
      std::uint64_t lost = 0;
      const trace::Skipped* first_lost = nullptr;
      for (const auto& skip : table.skipped) {
        context.skipped(skip.reason, skip.count);
        if (not_needed(skip.reason)) continue;
        lost += skip.count;
        if (first_lost == nullptr) first_lost = &skip;
      }
      if (first_lost != nullptr) {
        context.warn("damaged_input",
                     path + ": " + counted(lost, "part is", "parts are") +
                         " damaged: left out, or mended; the first (" + first_lost->reason +
                         ") at byte " + std::to_string(first_lost->first_offset),
                     lost);
      }
      if (table.generated)
        context.warn("generated", path + " was written by a generator, not recorded");
      tables.push_back(std::move(table));
    }
  }
  return tables;
}

}  // namespace ergon::cli
