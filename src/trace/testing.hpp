// For tests: a table as text, so that two tables are equal exactly when their texts are.
#pragma once
#include <string>

#include "ergon/trace.hpp"

namespace ergon::trace::testing {

/// Every column, id, track and string; with the offsets of what was skipped where `offsets` is set.
inline std::string dump(const EventTable& t, bool offsets = true) {
  std::string out;
  const auto put = [&out](auto v) {
    out += std::to_string(v);
    out += ' ';
  };
  const auto text = [&out](std::string_view s) {
    out += s;
    out += '|';
  };
  put(t.base_ns);
  put(t.size());
  for (EventId e = 0; e < t.size(); ++e) {
    out += '\n';
    put(t.start_ns[e]);
    put(t.duration_ns[e]);
    put(t.name[e]);
    put(static_cast<int>(t.kind[e]));
    put(t.track[e]);
    put(t.correlation[e]);
    put(t.external_id[e]);
    put(t.detail[e]);
  }
  for (const SparseColumn* column : {&t.sequence, &t.forward_thread, &t.collective_seq}) {
    out += "\nsparse ";
    for (std::size_t i = 0; i < column->size(); ++i) {
      put(column->event(i));
      put(column->value(i));
    }
  }
  out += "\nstrings ";
  for (StringId id = 0; id < t.strings.size(); ++id) text(t.strings.view(id));
  for (const Track& track : t.tracks) {
    out += "\ntrack ";
    put(static_cast<int>(track.gpu));
    put(track.process);
    put(track.thread);
    put(track.device);
    put(track.context);
    put(track.stream);
    put(track.name);
    put(track.process_name);
  }
  for (const GpuProperties& gpu : t.gpus) {
    out += "\ngpu ";
    put(gpu.device);
    text(gpu.name);
    put(gpu.memory_bytes);
    put(gpu.sm_count);
    put(gpu.compute_major);
    put(gpu.compute_minor);
  }
  out += "\ndistributed ";
  put(t.distributed.rank);
  put(t.distributed.world_size);
  text(t.distributed.backend);
  text(t.format);
  text(t.profiler);
  put(static_cast<int>(t.generated));
  for (const Skipped& s : t.skipped) {
    out += "\nskipped ";
    text(s.reason);
    put(s.count);
    put(static_cast<int>(s.damage));
    if (offsets) put(s.first_offset);
  }
  return out;
}

}  // namespace ergon::trace::testing
