// Threads, streams, GPUs and processes of the tables; GPU operations numbered stream by stream.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "draft.hpp"

namespace ergon::graph {
namespace {

std::uint8_t flags_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  std::uint8_t flags = 0;
  if (name.starts_with("nccl") || name.starts_with("rccl") || has("ncclKernel") ||
      has("ncclDevKernel") || has("mscclKernel")) {
    flags |= kNameCollective;
  }
  if (name.starts_with("nccl:")) flags = kNameCommScope;
  if (name.starts_with("ProfilerStep#")) flags |= kNameStep;
  if (has("DtoH") || has("DeviceToHost") || has("Device -> Host")) flags |= kNameToHost;
  if ((has("HtoD") || has("DtoH") || has("HostToDevice") || has("DeviceToHost")) &&
      !has("Pinned")) {
    flags |= kNamePageable;
  }
  return flags;
}

bool is_operation(trace::EventKind kind) {
  return kind == trace::EventKind::kKernel || kind == trace::EventKind::kCopy ||
         kind == trace::EventKind::kMemset;
}

std::string gpu_name(const trace::EventTable& table, std::int32_t device) {
  for (const trace::GpuProperties& p : table.gpus) {
    if (p.device == device) return p.name;
  }
  return {};
}

}  // namespace

void Draft::note(std::string code, std::string message, std::uint64_t count) {
  if (count == 0) return;
  for (BuildNote& n : notes) {
    if (n.code == code) {
      n.count += count;
      return;
    }
  }
  notes.push_back({std::move(code), std::move(message), count});
}

OpClass Draft::op_class(Op k) const {
  if (op_call[k] != kNone && api(op_call[k]) == ApiClass::kGraphLaunch) return OpClass::kGraph;
  switch (kind(op_event[k])) {
    case trace::EventKind::kCopy:
      return OpClass::kCopy;
    case trace::EventKind::kMemset:
      return OpClass::kMemset;
    default:
      return OpClass::kKernel;
  }
}

namespace {

// Only strings that are names: details are long, and many.
void classify_names(Draft& draft, const trace::EventTable& table) {
  auto& classes = draft.api_class.emplace_back(table.strings.size());
  auto& flags = draft.name_flags.emplace_back(table.strings.size());
  std::vector<bool> known(table.strings.size());
  for (trace::EventId e = 0; e < table.size(); ++e) {
    const trace::StringId s = table.name[e];
    if (known[s]) continue;
    known[s] = true;
    classes[s] = classify_api(table.strings.view(s));
    flags[s] = flags_of(table.strings.view(s));
  }
}

}  // namespace

std::vector<Gpu> gpus_of(std::span<const trace::EventTable* const> tables) {
  std::vector<Gpu> gpus;
  std::set<std::int32_t> devices;
  bool distinct = true;
  for (std::uint32_t t = 0; t < tables.size(); ++t) {
    const trace::EventTable& table = *tables[t];
    std::vector<bool> works(table.tracks.size(), false);
    std::vector<std::uint32_t> order;  // tracks as their events lie
    for (trace::EventId e = 0; e < table.size(); ++e) {
      const std::uint32_t track = table.track[e];
      if (works[track] || !table.tracks[track].gpu || !is_operation(table.kind[e])) continue;
      works[track] = true;
      order.push_back(track);
    }
    const std::size_t first = gpus.size();
    for (const std::uint32_t track : order) {
      const std::int32_t device = table.tracks[track].device;
      const auto known = [&](const Gpu& gpu) { return gpu.device == device; };
      if (std::any_of(gpus.begin() + static_cast<std::ptrdiff_t>(first), gpus.end(), known))
        continue;
      distinct = distinct && device >= 0 && devices.insert(device).second;
      gpus.push_back({.table = t,
                      .device = device,
                      .name = gpu_name(table, device),
                      .number = static_cast<std::int32_t>(gpus.size()),
                      .rank = table.distributed.rank,
                      .trace = table.input.path});
    }
  }
  for (Gpu& gpu : gpus) {
    if (distinct) gpu.number = gpu.device;
  }
  return gpus;
}

std::vector<std::string> labels_of(std::span<const trace::EventTable* const> tables) {
  std::vector<std::string> labels(tables.size());
  if (tables.size() < 2) return labels;
  std::set<std::int64_t> ranks;
  for (const trace::EventTable* table : tables) ranks.insert(table->distributed.rank);
  const bool known = ranks.size() == tables.size() && *ranks.begin() >= 0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    labels[t] = known ? "rank " + std::to_string(tables[t]->distributed.rank)
                      : "trace " + std::to_string(t);
  }
  return labels;
}

void index_tracks(Draft& draft) {
  const std::vector<Gpu> all = gpus_of(draft.tables);
  const auto gpu_at = [&](std::uint32_t t, std::int32_t device) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Gpu& gpu) { return gpu.table == t && gpu.device == device; });
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> process_index;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::int32_t> gpu_index;
  std::uint64_t total = 0;
  for (std::uint32_t t = 0; t < draft.tables.size(); ++t) {
    const trace::EventTable& table = *draft.tables[t];
    draft.base.push_back(static_cast<std::uint32_t>(total));
    draft.track_base.push_back(static_cast<std::uint32_t>(draft.place_of_track.size()));
    draft.place_of_track.resize(draft.place_of_track.size() + table.tracks.size(), kNone);
    draft.gpu_of_track.resize(draft.place_of_track.size(), -1);
    classify_names(draft, table);

    for (std::uint32_t e = 0; e < table.size();) {
      const std::uint32_t track = table.track[e];
      std::uint32_t end = e;
      while (end < table.size() && table.track[end] == track) ++end;
      const trace::Track& at = table.tracks[track];
      const std::uint32_t slot = draft.track_base[t] + track;
      const auto first = static_cast<std::uint32_t>(total + e);
      const auto last = static_cast<std::uint32_t>(total + end);
      const auto process_of = [&](std::int64_t pid) {
        const auto [it, fresh] =
            process_index.try_emplace({t, pid}, static_cast<std::uint32_t>(draft.processes.size()));
        if (fresh) draft.processes.push_back({t, pid, {}});
        return it->second;
      };
      if (at.gpu) {
        const auto gpu = gpu_at(t, at.device);
        const bool wanted =
            gpu != all.end() && (!draft.options.gpu || *draft.options.gpu == gpu->number);
        Stream stream;
        stream.table = t;
        if (at.process >= 0) stream.process = process_of(at.process);
        stream.context = at.context;
        stream.stream = at.stream;
        stream.begin = first;
        stream.end = last;
        stream.first = static_cast<Op>(draft.op_event.size());
        const auto place = static_cast<std::uint32_t>(draft.streams.size());
        for (std::uint32_t k = e; k < end && wanted; ++k) {
          if (!is_operation(table.kind[k])) continue;
          draft.op_event.push_back(static_cast<std::uint32_t>(total + k));
          draft.op_stream.push_back(place);
        }
        stream.last = static_cast<Op>(draft.op_event.size());
        if (stream.last > stream.first) {
          const auto [it, fresh] =
              gpu_index.try_emplace({t, at.device}, static_cast<std::int32_t>(draft.gpus.size()));
          if (fresh) draft.gpus.push_back(*gpu);
          stream.gpu = it->second;
          draft.gpu_of_track[slot] = stream.gpu;
        }
        draft.place_of_track[slot] = place;
        draft.streams.push_back(std::move(stream));
      } else {
        draft.place_of_track[slot] = static_cast<std::uint32_t>(draft.threads.size());
        draft.threads.push_back({t, process_of(at.process), first, last});
      }
      e = end;
    }
    total += table.size();
  }
  draft.base.push_back(static_cast<std::uint32_t>(total));
}

}  // namespace ergon::graph
