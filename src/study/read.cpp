// Files in, one data set out: kinds are told by content, parts of one measurement are joined.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "ergon/meter.hpp"
#include "names.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

Status read_by_shape(const Reading& reading) {
  const std::string& text = reading.source.text;
  auto& format = reading.data.formats[reading.file];
  std::string_view head = trimmed(std::string_view(text).substr(0, 4096));
  while (!head.empty() && (head.front() == '\n' || head.front() == ' ')) head.remove_prefix(1);
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  if (head.empty())
    return fail(Errc::kMalformedInput, reading.source.path + " is empty", "name a file with data");
  if (meter::RunFile::looks_like(text)) {
    format = "run file";
    return read_run_file(reading);
  }
  if (text.find('\0') != std::string::npos) {
    return fail(Errc::kMalformedInput, reading.source.path + " is a binary file",
                "study reads tables and JSON");
  }
  if (head.front() == '{' || (head.front() == '[' && head.find_first_of("{]") != head.npos &&
                              head.find('=') == head.npos)) {
    format = "json";
    return read_json(reading);
  }
  if (is_blocks(text)) {
    format = "blocks without header";
    return read_blocks(reading);
  }
  RawTable table = parse_table(text);
  if (reading.mapping.empty() && is_power_log(reading.source, table)) {
    format = "power log";
    return read_power_log(reading);
  }
  reading.skip("other_number_of_fields", table.ragged);
  if (table.truncated) reading.skip("truncated_last_line", 1);
  if (table.open_end) {
    reading.note("no_final_newline", "the last line has no end: its last figure may have been cut");
  }
  if (table.thousands > 0) {
    reading.note("thousands_separator", "commas between thousands are taken out: \"1,410\" is 1410",
                 table.thousands);
  }
  if (table.rows.empty()) {
    return fail(Errc::kMalformedInput, reading.source.path + " is no table",
                "expected rows of equally many cells below a line of names; a log of samples is "
                "read by 'ergon import FILE'");
  }
  if (reading.mapping.header.empty() && table.header.empty()) {
    format = "numbers without header";
    return read_numbers(reading, table);
  }
  if (!table.header.empty() && is_matrix(table)) {
    format = "matrix";
    return read_matrix(reading, table);
  }
  format = "long table";
  return read_long_table(reading, std::move(table));
}

// What the shape of a table refuses may be a log of samples of another kind.
Status read_one(const Reading& reading) {
  Dataset& data = reading.data;
  const std::size_t samples = data.samples.size();
  const auto notes = data.notes;
  const auto skipped = data.skipped;
  const auto findings = data.findings;
  Status done = read_by_shape(reading);
  if (done || done.error().code != Errc::kMalformedInput || !reading.mapping.empty() ||
      data.formats[reading.file] == "power log")
    return done;
  data.samples.resize(samples);
  data.notes = notes;
  data.skipped = skipped;
  data.findings = findings;
  if (read_as_log(reading, done)) data.formats[reading.file] = "power log";
  return done;
}

struct KeyLess {
  bool operator()(const Sample* a, const Sample* b) const {
    return std::tie(a->workload, a->gpu, a->setting, a->run) <
           std::tie(b->workload, b->gpu, b->setting, b->run);
  }
};

void fill(Maybe& into, Maybe from) {
  if (!into) into = from;
}

bool whole(const Sample& s) {
  return (s.time || s.rate) && (s.power_w || s.energy) && !s.energy_derived;
}

bool overlap(const Sample& a, const Sample& b) {
  return (a.time && b.time) || (a.power_w && b.power_w) || (a.energy && b.energy) ||
         (a.rate && b.rate);
}

// Files of one row each ("energy-1005-150", "results-1005-150") are told to belong together by what
// their names have in common.
void name_halves(Dataset& data, std::span<const Source> sources) {
  std::vector<std::vector<std::size_t>> of_file(sources.size());
  for (std::size_t i = 0; i < data.samples.size(); ++i) of_file[data.samples[i].file].push_back(i);
  std::map<std::pair<std::string, Setting>, std::vector<std::size_t>> groups;
  for (std::size_t f = 0; f < sources.size(); ++f) {
    if (of_file[f].size() != 1 || whole(data.samples[of_file[f].front()])) continue;
    const NamedSetting named = setting_in(stem_of(sources[f].path));
    if (named.any()) groups[{named.label, named.setting}].push_back(of_file[f].front());
  }
  for (const auto& [key, members] : groups) {
    if (members.size() != 2 || overlap(data.samples[members[0]], data.samples[members[1]]))
      continue;
    for (const auto i : members) data.samples[i].workload = key.first;
  }
}

// Two halves of one measurement lie in two files: power here, performance there.
void join(Dataset& data, std::span<const Source> sources) {
  if (sources.size() < 2) return;
  name_halves(data, sources);
  std::map<const Sample*, std::vector<std::size_t>, KeyLess> groups;
  for (std::size_t i = 0; i < data.samples.size(); ++i) groups[&data.samples[i]].push_back(i);
  std::set<std::size_t> gone;
  std::set<std::size_t> joined;
  for (const auto& [key, members] : groups) {
    if (members.size() < 2 || members.size() > sources.size()) continue;
    std::set<std::size_t> origins;
    for (const auto i : members) origins.insert(data.samples[i].file);
    if (origins.size() != members.size()) continue;
    if (std::ranges::any_of(members, [&](auto i) { return whole(data.samples[i]); })) continue;
    Sample& into = data.samples[members.front()];
    for (std::size_t k = 1; k < members.size(); ++k) {
      const Sample& from = data.samples[members[k]];
      if (overlap(into, from)) continue;
      fill(into.time, from.time);
      fill(into.power_w, from.power_w);
      if (!into.energy) into.energy_error = from.energy_error;
      fill(into.energy, from.energy);
      fill(into.rate, from.rate);
      fill(into.check, from.check);
      into.energy_unit_known = into.energy_unit_known && from.energy_unit_known;
      into.units_known = into.time ? (into.units_known || from.units_known) : into.units_known;
      gone.insert(members[k]);
      joined.insert(members.front());
    }
  }
  if (gone.empty()) return;
  data.notes.push_back({"joined", "measurements put together from several files", gone.size()});
  std::vector<Sample> kept;
  std::vector<Sample> unsettled;
  for (std::size_t i = 0; i < data.samples.size(); ++i) {
    if (gone.contains(i)) continue;
    const Sample& s = data.samples[i];
    const bool open = joined.contains(i) && !s.energy_unit_known && s.time && s.energy;
    (open ? unsettled : kept).push_back(std::move(data.samples[i]));
  }
  data.samples = std::move(kept);
  if (unsettled.empty()) return;
  const std::size_t first = data.samples.size();
  const bool time_known =
      std::ranges::all_of(unsettled, [](const Sample& s) { return s.units_known; });
  data.samples.insert(data.samples.end(), unsettled.begin(), unsettled.end());
  const Mapping none;
  settle_units({.source = sources[unsettled.front().file],
                .file = unsettled.front().file,
                .mapping = none,
                .filters = {},
                .data = data},
               first, time_known, false);
}

bool same_measurement(const Sample& a, const Sample& b) {
  return a.workload == b.workload && a.gpu == b.gpu && a.setting == b.setting && a.run == b.run &&
         a.time == b.time && a.power_w == b.power_w && a.energy == b.energy && a.rate == b.rate &&
         a.check == b.check && a.temperature_c == b.temperature_c && a.start_s == b.start_s;
}

// A file whose every row stands in an earlier one, in its order, is a copy and no repeat. A single
// row may be as another by chance: then the bytes decide.
void drop_copies(Dataset& data, std::span<const Source> sources) {
  std::vector<std::vector<const Sample*>> rows(sources.size());
  for (const Sample& s : data.samples) rows[s.file].push_back(&s);
  std::set<std::size_t> copies;
  for (std::size_t b = 1; b < sources.size(); ++b) {
    for (std::size_t a = 0; a < b && !rows[b].empty(); ++a) {
      const bool equal = std::ranges::equal(rows[a], rows[b], [](const Sample* x, const Sample* y) {
        return same_measurement(*x, *y);
      });
      if (!equal || (rows[b].size() < 2 && sources[a].text != sources[b].text)) continue;
      copies.insert(b);
      data.notes.push_back({"same_data_twice",
                            sources[b].path + " holds the same measurements as " + sources[a].path +
                                ": they count once",
                            1});
      break;
    }
  }
  std::erase_if(data.samples, [&](const Sample& s) { return copies.contains(s.file); });
}

// What joins left open: performance becomes time, and power times time energy.
void complete(Dataset& data) {
  bool relative = false;
  for (Sample& s : data.samples) {
    const bool partial = !s.energy && s.power_w;
    if (!s.time && s.rate) s.time = 1 / *s.rate;
    if (!s.energy && s.power_w && s.time) {
      s.energy = *s.power_w * *s.time;
      s.energy_derived = true;
    }
    if (!s.energy && !s.power_w && s.check) {
      s.energy = 1 / *s.check;
      s.units_known = false;
    }
    relative = relative || (partial && !s.units_known);
  }
  if (relative) {
    data.notes.push_back({"relative_figures",
                          "performance is stated as a ratio: time and energy are per work of the "
                          "baseline, and only their ratios are stated",
                          1});
  }
}

std::set<std::string> word_set(std::string_view text) {
  std::set<std::string> out;
  for (auto& w : words_of(text)) out.insert(std::move(w));
  return out;
}

// A file measured at default clocks alone belongs to the workload whose name differs from its own
// in one word ("baseline_04_conv2d", "compute_04_conv2d").
void attach_baselines(Dataset& data) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;  // samples, of them default
  for (const Sample& s : data.samples) {
    auto& [all, defaults] = counts[s.workload];
    ++all;
    defaults += s.setting.default_clocks ? 1 : 0;
  }
  const bool any_sweep =
      std::ranges::any_of(counts, [](const auto& c) { return c.second.second != c.second.first; });
  if (!any_sweep) return;
  for (const auto& [name, count] : counts) {
    if (count.second != count.first) continue;
    std::vector<std::string> hosts;
    const auto mine = word_set(name);
    for (const auto& [other, theirs] : counts) {
      if (theirs.second == theirs.first) continue;
      const auto words = word_set(other);
      std::size_t common = 0;
      for (const auto& w : mine) common += words.contains(w) ? 1 : 0;
      if (common + 1 == mine.size() && words.size() <= mine.size() && common > 0)
        hosts.push_back(other);
    }
    if (hosts.size() != 1) {
      data.notes.push_back({"baseline_alone",
                            name + " was measured at default clocks only, and belongs to no (or to "
                                   "more than one) workload of the other files",
                            1});
      continue;
    }
    data.notes.push_back(
        {"baseline_file", name + " holds the default clocks of " + hosts.front(), 1});
    for (Sample& s : data.samples) {
      if (s.workload == name) s.workload = hosts.front();
    }
  }
}

}  // namespace

bool operator<(const Setting& a, const Setting& b) {
  return std::tie(a.default_clocks, a.clock_hz, a.memory_clock_hz, a.power_limit_w, a.parameter,
                  a.clock_is_offset, a.memory_is_offset) <
         std::tie(b.default_clocks, b.clock_hz, b.memory_clock_hz, b.power_limit_w, b.parameter,
                  b.clock_is_offset, b.memory_is_offset);
}

void Reading::note(std::string code, std::string message, std::uint64_t count) const {
  for (auto& n : data.notes) {
    if (n.code == code && n.message == message) {
      n.count += count;
      return;
    }
  }
  data.notes.push_back({std::move(code), std::move(message), count});
}

void Reading::skip(const std::string& reason, std::uint64_t count) const {
  if (count == 0) return;
  for (auto& [known, n] : data.skipped) {
    if (known == reason) {
      n += count;
      return;
    }
  }
  data.skipped.emplace_back(reason, count);
}

void Reading::finding(std::string kind, std::string subject, std::string evidence) const {
  data.findings.push_back({std::move(kind), std::move(subject), std::move(evidence)});
}

std::string counted_text(std::uint64_t n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

std::string figure_text(double value, int significant) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.*g", significant, value);
  return buffer;
}

Result<Dataset> read(std::span<const Source> sources, const Mapping& mapping,
                     std::span<const Filter> filters) {
  Dataset data;
  data.formats.resize(sources.size());
  std::optional<Error> refused;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Reading reading{
        .source = sources[i], .file = i, .mapping = mapping, .filters = filters, .data = data};
    const std::size_t samples = data.samples.size();
    const auto done = read_one(reading);
    if (done) continue;
    // Of several files one that is no data set (a list of clocks, a configuration) is left out, and
    // said; a wrong --map or a single file is an error.
    if (sources.size() == 1 || done.error().code == Errc::kInvalidArgument)
      return fail(done.error());
    if (!refused) refused = done.error();
    data.samples.resize(samples);
    data.formats[i] = "not used";
    data.notes.push_back({"file_refused", done.error().message, 1});
  }
  if (refused && data.samples.empty() && data.claims.empty()) return fail(*refused);
  drop_copies(data, sources);
  join(data, sources);
  complete(data);
  attach_logs(data, sources);
  attach_baselines(data);
  if (!data.samples.empty() && std::ranges::all_of(data.samples, [](const Sample& s) {
        return s.from_log && s.setting.default_clocks;
      })) {
    data.notes.push_back({"logs_without_settings",
                          "a log is one setting, and no name here says which (train_1410MHz.csv "
                          "would): 'ergon import FILE --sensor' says what energy it holds",
                          1});
  }
  if (data.samples.empty() && data.claims.empty()) {
    return fail(
        Errc::kMalformedInput, "no measurement is left",
        filters.empty() ? "the files hold no row with a figure" : "--where leaves out every row");
  }
  return data;
}

}  // namespace ergon::study
