// Rows from raw events.
#include "builder.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "number.hpp"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name that xxhash.h reads
#include <xxhash.h>

namespace ergon::trace::kineto {

namespace {

constexpr std::size_t kRecentTracks = 64;
constexpr std::size_t kRecentNames = 1024;
constexpr std::size_t kCachedDetails = 1024;
// Longer raw text is not cached: the cache has a bound.
constexpr std::size_t kLongestCached = 1024;
constexpr Nanos kLatest = kTimeLimit;
constexpr std::uint32_t kNoTrack = 0xffffffffU;

std::size_t mix(std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  std::uint64_t h = u(a) * 0x9e3779b97f4a7c15U ^ u(b) * 0xc2b2ae3d27d4eb4fU ^ u(c);
  h ^= h >> 29U;
  return h * 0x165667b19e3779f9U >> 20U;
}

// The members of a detail text: compact, keys without escapes, in the order of kDetails.
void split_members(std::string_view text, std::array<std::string_view, kDetails.size()>& values) {
  std::size_t at = 1;
  for (std::size_t i = 0; i < kDetails.size() && at + 1 < text.size(); ++i) {
    const std::string_view key = kDetails[i].key;
    if (text.substr(at + 1, key.size()) != key || text[at + 1 + key.size()] != '"') continue;
    at += key.size() + 3;  // "key":
    const std::size_t from = at;
    int depth = 0;
    bool quoted = false;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (quoted) {
        at += c == '\\' ? 1U : 0U;
        quoted = c != '"';
      } else if (c == '"') {
        quoted = true;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if (c == ']' || c == '}') {
        if (depth-- == 0) break;
      } else if (c == ',' && depth == 0) {
        break;
      }
    }
    values[i] = text.substr(from, at - from);
    ++at;
  }
}

// What a picture shows, but no graph takes as work, under the word it is counted as.
std::string_view word_of_no_work(CategoryId category) {
  switch (kCategories[category].kind) {
    case EventKind::kPython:
      return "python_function";
    case EventKind::kGpuAnnotation:
      return "gpu_user_annotation";
    case EventKind::kOverhead:
      return "overhead";
    default:
      return kCategories[category].word == "Trace" ? "profiler_span" : "other_category";
  }
}
constexpr bool is_work(EventKind kind) {
  return kind != EventKind::kPython && kind != EventKind::kGpuAnnotation &&
         kind != EventKind::kOverhead && kind != EventKind::kOther;
}

}  // namespace

std::size_t Builder::TrackKeyHash::operator()(const TrackKey& key) const {
  return mix(key.group, key.line, key.context * 2 + (key.gpu ? 1 : 0));
}

Builder::Builder(EventTable& table)
    : table_(table),
      recent_(kRecentTracks, {TrackKey{}, kNoTrack}),
      names_(kRecentNames),
      details_(kCachedDetails) {}

void Builder::skip(std::string_view reason, std::uint64_t offset, bool damage,
                   std::uint64_t count) {
  ++damages_;
  const auto it = std::ranges::find(table_.skipped, reason, &Skipped::reason);
  if (it == table_.skipped.end()) {
    table_.skipped.push_back({std::string(reason), count, offset, damage});
  } else {
    it->count += count;
    it->first_offset = std::min(it->first_offset, offset);
  }
}

void Builder::count_repairs(const Repairs& repairs, const Place& offset) {
  if (repairs.bad_utf8) skip("bad_utf8", offset);
  if (repairs.control) skip("control_character", offset);
  if (repairs.bad_escape) skip("bad_escape", offset);
}

StringId Builder::text_of(const RawText& text, const Place& offset) {
  if (text.plain) return table_.strings.intern(text.text);
  scratch_.clear();
  count_repairs(append_clean(scratch_, text.text), offset);
  return table_.strings.intern(scratch_);
}

StringId Builder::name_of(const RawEvent& event, const Place& offset) {
  if (!event.name.plain) return text_of(event.name, offset);
  StringId& recent = names_[event.name_hash % kRecentNames];
  if (table_.strings.view(recent) != event.name.text) recent = text_of(event.name, offset);
  return recent;
}

StringId Builder::detail_text(const RawEvent& event, Family family, const Place& offset) {
  std::array<std::string_view, kDetails.size()> values{};
  for (std::size_t i = 0; i < event.details; ++i) {
    values[event.detail[i].index] = event.detail[i].text;
  }
  Repairs repairs;
  scratch_.assign(1, '{');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty() || (kDetails[i].families & bit(family)) == 0) continue;
    const std::size_t before = scratch_.size();
    if (before > 1) scratch_.push_back(',');
    scratch_.push_back('"');
    scratch_ += kDetails[i].key;  // needs no escapes
    scratch_ += "\":";
    if (!append_compact(scratch_, values[i], repairs)) {
      scratch_.resize(before);
      skip("bad_argument", offset);
    }
  }
  count_repairs(repairs, offset);
  scratch_.push_back('}');
  return scratch_.size() > 2 ? table_.strings.intern(scratch_) : 0;
}

StringId Builder::detail_of(const RawEvent& event, Family family, const Place& offset) {
  if (event.details == 0 || family == Family::kOther) return 0;
  DetailMemo* const memo = event.memo_details == event.details ? event.memo : nullptr;
  if (memo != nullptr && memo->known && memo->family == family) return memo->id;
  const std::uint64_t damages = damages_;
  const StringId id = cached_detail(event, family, offset);
  // Damage is counted each time it is seen.
  if (memo != nullptr && damages_ == damages) *memo = {id, family, true};
  return id;
}

StringId Builder::cached_detail(const RawEvent& event, Family family, const Place& offset) {
  // The raw text from the first to the last of the arguments tells one detail from another, as long
  // as its first argument is the same; what stands between them only costs misses.
  const RawDetail& first = event.detail[0];
  const RawDetail& last = event.detail[event.details - 1U];
  const auto size =
      static_cast<std::size_t>(last.text.data() + last.text.size() - first.text.data());
  if (size > kLongestCached) return detail_text(event, family, offset);
  const std::string_view raw(first.text.data(), size);
  const auto id =
      static_cast<std::uint16_t>(unsigned{first.index} << 8U | static_cast<unsigned>(family));
  const std::uint64_t hash = XXH3_64bits_withSeed(raw.data(), raw.size(), id);
  CachedDetail& cached = details_[hash % kCachedDetails];
  if (cached.hash == hash && cached.first == id && cached.raw == raw) return cached.id;
  const std::uint64_t damages = damages_;
  const StringId text = detail_text(event, family, offset);
  // Damage is counted each time it is seen.
  if (damages_ == damages) {
    cached.hash = hash;
    cached.first = id;
    cached.raw = raw;
    cached.id = text;
  }
  return text;
}

// Both are texts of Family::kAny.
StringId Builder::detail_of_both(StringId begin, StringId end, Family family) {
  if ((begin == 0 && end == 0) || family == Family::kOther) return 0;
  std::array<std::string_view, kDetails.size()> values{};
  for (const StringId id : {begin, end}) split_members(table_.strings.view(id), values);
  scratch_.assign(1, '{');
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty() || (kDetails[i].families & bit(family)) == 0) continue;
    if (scratch_.size() > 1) scratch_.push_back(',');
    scratch_.push_back('"');
    scratch_ += kDetails[i].key;
    scratch_ += "\":";
    scratch_ += values[i];
  }
  scratch_.push_back('}');
  return scratch_.size() > 2 ? table_.strings.intern(scratch_) : 0;
}

std::int64_t Builder::id_of(const RawEvent& event, Field field, const Place& offset) {
  if (!event.usable(field)) return -1;
  const std::string_view raw = field == Field::kProcess ? event.process_text : event.thread_text;
  if (raw.empty()) return event[field];
  std::string text;
  count_repairs(append_clean(text, raw), offset);
  // Text stands for a negative number that no real id has.
  const auto number = -static_cast<std::int64_t>(XXH3_64bits(text.data(), text.size()) >> 2U) -
                      (std::int64_t{1} << 32U);
  text_ids_.emplace(number, std::move(text));
  return number;
}

std::uint32_t Builder::track_of(const RawEvent& event, const Category& category,
                                const Place& offset) {
  const bool host = !category.gpu && event.usable(Field::kProcess) &&
                    event.usable(Field::kThread) && event.process_text.empty() &&
                    event.thread_text.empty();
  if (host && last_track_ && event[Field::kProcess] == last_process_ &&
      event[Field::kThread] == last_thread_) {
    return *last_track_;
  }
  TrackKey key;
  key.gpu = category.gpu;
  if (key.gpu) {
    key.group = event.usable(Field::kDevice) ? event[Field::kDevice]
                                             : id_of(event, Field::kProcess, offset);
    key.line =
        event.usable(Field::kStream) ? event[Field::kStream] : id_of(event, Field::kThread, offset);
    key.context = event.usable(Field::kContext) ? event[Field::kContext] : -1;
    if (key.line == 0xffffffff) key.line = -1;
  } else {
    key.group = id_of(event, Field::kProcess, offset);
    key.line = id_of(event, Field::kThread, offset);
  }
  auto& [recent_key, recent_track] = recent_[mix(key.group, key.line, key.context) % kRecentTracks];
  if (host) {
    last_process_ = key.group;
    last_thread_ = key.line;
    last_track_.reset();
  }
  if (recent_track != kNoTrack && recent_key == key) {
    if (host) last_track_ = recent_track;
    return recent_track;
  }
  const auto [it, added] = tracks_.try_emplace(key, static_cast<std::uint32_t>(tracks_.size()));
  if (added) {
    Track track;
    track.gpu = key.gpu;
    if (key.gpu) {
      const bool small = key.group >= -1 && key.group <= 0x7fffffff;
      track.process = -1;
      track.device = small ? static_cast<std::int32_t>(key.group) : -1;
      track.context = key.context;
      track.stream = key.line;
    } else {
      track.process = key.group;
      track.thread = key.line;
    }
    table_.tracks.push_back(track);
    calls_api_.push_back(false);
  }
  recent_key = key;
  recent_track = it->second;
  return it->second;
}

bool Builder::start_usable(const RawEvent& event, const Place& offset) {
  if (!event.is(Field::kStart)) {
    skip("no_time", offset);
  } else if ((event.bad & bit(Field::kStart)) != 0) {
    skip("bad_time", offset);
  } else if (event[Field::kStart] < kEarliest || event[Field::kStart] > kLatest) {
    skip("time_out_of_range", offset);
  } else {
    return true;
  }
  return false;
}

Builder::Row Builder::row_of(const RawEvent& event, const Place& offset) {
  const bool categorised = event.category != kNoCategory;
  const CategoryId id = categorised ? event.category : kUnknownCategory;
  const Category& category = kCategories[id];
  if (id != kUnknownCategory) ++known_;
  Row row;
  row.kind = category.kind;
  row.time = event[Field::kStart];
  row.track = track_of(event, category, offset);
  if (row.kind == EventKind::kApi) calls_api_[row.track] = true;
  if (!is_work(row.kind)) count_no_work(id, offset);
  row.name = event.is(Field::kName) ? name_of(event, offset) : 0;
  row.detail = detail_of(event, category.family, offset);
  if (event.usable(Field::kCorrelation) && event[Field::kCorrelation] != 0xffffffff) {
    row.correlation = event[Field::kCorrelation];
    if (flows_wanted_ && can_be_joined(row.kind)) flows_wanted_ = false;
  }
  constexpr std::uint32_t kPlace =
      bit(Field::kDevice) | bit(Field::kStream) | bit(Field::kContext) | bit(Field::kCorrelation);
  if (category.gpu && (event.bad & kPlace) != 0) skip("bad_argument", offset);
  if (event.usable(Field::kExternalId)) row.external_id = event[Field::kExternalId];
  return row;
}

void Builder::append(const Row& row, Nanos duration) {
  if (rows_.count == kRows) flush_rows();
  const std::size_t i = rows_.count++;
  rows_.start[i] = row.time;
  rows_.duration[i] = duration;
  rows_.name[i] = row.name;
  rows_.kind[i] = row.kind;
  rows_.track[i] = row.track;
  rows_.correlation[i] = row.correlation;
  rows_.external_id[i] = row.external_id;
  rows_.detail[i] = row.detail;
}

void Builder::flush_rows() {
  const auto move = [this](auto& column, const auto& values) {
    column.append(rows_.count, [next = values.begin()]() mutable { return *next++; });
  };
  move(table_.start_ns, rows_.start);
  move(table_.duration_ns, rows_.duration);
  move(table_.name, rows_.name);
  move(table_.kind, rows_.kind);
  move(table_.track, rows_.track);
  move(table_.correlation, rows_.correlation);
  move(table_.external_id, rows_.external_id);
  move(table_.detail, rows_.detail);
  rows_.count = 0;
}

void Builder::add_complete(const RawEvent& event, const Place& offset) {
  if (!start_usable(event, offset)) return;
  if (!event.is(Field::kDuration)) return skip("no_duration", offset);
  if ((event.bad & bit(Field::kDuration)) != 0) return skip("bad_duration", offset);
  Nanos duration = event[Field::kDuration];
  if (duration > kLongest) return skip("time_out_of_range", offset);
  if (duration < 0) {
    // Clocks of two devices against each other; the event itself did happen.
    skip("negative_duration", offset);
    duration = 0;
  }
  ++complete_;
  const auto id = static_cast<EventId>(table_.size() + rows_.count);
  append(row_of(event, offset), duration);
  append_ids(event, id);
}

void Builder::append_ids(const RawEvent& event, EventId id) {
  if (event.usable(Field::kSequence)) table_.sequence.push_back(id, event[Field::kSequence]);
  if (event.usable(Field::kForwardThread) && event[Field::kForwardThread] > 0) {
    table_.forward_thread.push_back(id, event[Field::kForwardThread]);
  }
  if (event.usable(Field::kCollectiveSeq))
    table_.collective_seq.push_back(id, event[Field::kCollectiveSeq]);
}

void Builder::add_half(const RawEvent& event, const Place& offset) {
  if (!start_usable(event, offset)) return;
  Half half;
  half.end = event.phase == 'E';
  half.offset = offset;
  half.time = event[Field::kStart];
  half.process = id_of(event, Field::kProcess, offset);
  half.thread = id_of(event, Field::kThread, offset);
  half.category = event.category;
  half.has = event.has;
  half.bad = event.bad;
  for (std::size_t i = kFirstKept; i <= kLastKept; ++i) {
    half.number[i - kFirstKept] = event[static_cast<Field>(i)];
  }
  half.name = event.is(Field::kName) ? name_of(event, offset) : 0;
  half.detail = detail_of(event, Family::kAny, offset);
  halves_.push_back(half);
}

void Builder::add_flow(const RawEvent& event, const Place& offset) {
  if (!flows_wanted_) {
    flows_ = {};
  } else if (may_join(event)) {
    flows_.push_back({event[Field::kFlowId], id_of(event, Field::kProcess, offset),
                      id_of(event, Field::kThread, offset), event[Field::kStart],
                      event.phase == 'f'});
  }
}

void Builder::add_metadata(const RawEvent& event, const Place& offset) {
  if (!event.is(Field::kMetaName)) return;
  const std::string_view what = event.name.text;
  const bool thread = what == "thread_name";
  if (!event.is(Field::kName) || (!thread && what != "process_name")) return;
  std::string name;
  count_repairs(append_clean(name, event.meta_name.text), offset);
  while (!name.empty() && name.back() == ' ') name.pop_back();
  const std::int64_t pid = id_of(event, Field::kProcess, offset);
  std::string& kept =
      thread ? thread_names_[{pid, id_of(event, Field::kThread, offset)}] : process_names_[pid];
  // Kineto names some threads twice: the longer name says more. The order in the file must not
  // matter.
  if (name.size() != kept.size() ? name.size() > kept.size() : name > kept) kept = std::move(name);
}

void Builder::add(const RawEvent& event, const Place& offset) {
  switch (event.phase) {
    case 'X':
      return add_complete(event, offset);
    case 'B':
    case 'E':
      return add_half(event, offset);
    case 'M':
      return add_metadata(event, offset);
    default:
      break;
  }
  if (event.is(Field::kFlowId)) add_flow(event, offset);
  Count& count = other_phases_[static_cast<unsigned char>(event.phase) & 0x7fU];
  if (count.count++ == 0) count.first_offset = offset;
}

void Builder::match_halves() {
  const auto event = std::make_unique<RawEvent>();
  const auto paired = [&](const Half& begin, const Half& end) {
    const Place place{"", begin.offset};
    merge(begin, end, *event);
    if ((*event)[Field::kDuration] > kLongest) return skip("time_out_of_range", place);
    Row row = row_of(*event, place);
    row.name = begin.name != 0 ? begin.name : end.name;
    const CategoryId category = event->category == kNoCategory ? kUnknownCategory : event->category;
    row.detail = detail_of_both(begin.detail, end.detail, kCategories[category].family);
    ++complete_;
    const auto id = static_cast<EventId>(table_.size() + rows_.count);
    append(row, (*event)[Field::kDuration]);
    append_ids(*event, id);
  };
  pair_halves(halves_, paired, [this](const Half& half) {
    skip(half.end ? "unmatched_end" : "unmatched_begin", half.offset);
  });
  halves_ = {};
}

void Builder::use_flows() {
  if (!flows_wanted_ || flows_.empty()) return;
  std::uint64_t used = join_by_flows(table_, std::move(flows_));
  flows_ = {};
  for (const char phase : {'s', 'f'}) {
    Count& count = other_phases_[static_cast<unsigned char>(phase)];
    const std::uint64_t some = std::min(used, count.count);
    count.count -= some;
    used -= some;
  }
}

void Builder::count_no_work(CategoryId category, const Place& offset) {
  Count& count = no_work_[category];
  if (count.count++ == 0) count.first_offset = offset;
}

void Builder::complete_tracks() {
  std::map<std::pair<std::int32_t, std::int64_t>, std::vector<std::int64_t>> contexts;
  std::vector<std::int64_t> launching;
  for (std::size_t i = 0; i < table_.tracks.size(); ++i) {
    const Track& track = table_.tracks[i];
    if (track.gpu && track.context != -1) {
      contexts[{track.device, track.stream}].push_back(track.context);
    }
    if (!track.gpu && calls_api_[i]) launching.push_back(track.process);
  }
  std::ranges::sort(launching);
  const auto repeated = std::ranges::unique(launching);
  launching.erase(repeated.begin(), repeated.end());
  const auto name_of = [](const auto& names, const auto& key) {
    const auto it = names.find(key);
    return it == names.end() ? std::string_view{} : std::string_view(it->second);
  };
  for (Track& track : table_.tracks) {
    const std::int64_t pid = track.gpu ? track.device : track.process;
    const std::int64_t tid = track.gpu ? track.stream : track.thread;
    std::string_view name = name_of(thread_names_, std::pair{pid, tid});
    if (name.empty() && !track.gpu) name = name_of(text_ids_, tid);
    track.name = table_.strings.intern(name);
    std::string_view process = name_of(process_names_, pid);
    if (process.empty() && !track.gpu) process = name_of(text_ids_, pid);
    track.process_name = table_.strings.intern(process);
    if (!track.gpu) continue;
    if (launching.size() == 1) track.process = launching.front();
    // Annotations carry no context: they belong to the stream of that number if there is one.
    const auto known = contexts.find({track.device, track.stream});
    if (track.context == -1 && known != contexts.end() && known->second.size() == 1) {
      track.context = known->second.front();
    }
  }
}

void Builder::finish() {
  match_halves();
  flush_rows();
  use_flows();
  complete_tracks();
  const auto report = [this](std::string_view phases, std::string_view reason, bool damage) {
    for (const char phase : phases) {
      Count& c = other_phases_[static_cast<unsigned char>(phase)];
      if (c.count > 0) skip(reason, c.first_offset, damage, c.count);
      c = {};
    }
  };
  report("stf", "flow", false);
  report("iIRn", "instant", false);
  report("C", "counter", false);
  report("beSTpF", "async", false);
  report("NOD(v)VPc", "object", false);
  for (std::size_t id = 0; id < no_work_.size(); ++id) {
    const Count& c = no_work_[id];
    const auto word = word_of_no_work(static_cast<CategoryId>(id));
    if (c.count > 0) skip(word, c.first_offset, false, c.count);
  }
  report(std::string_view("\0", 1), "no_phase", true);
  for (std::size_t phase = 0; phase < other_phases_.size(); ++phase) {
    const Count& c = other_phases_[phase];
    if (c.count > 0) skip("unknown_phase", c.first_offset, true, c.count);
  }
}

}  // namespace ergon::trace::kineto
