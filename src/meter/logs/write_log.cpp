// The canonical CSV, series per GPU, and several logs as one.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "logs/builder.hpp"
#include "logs/timestamps.hpp"
#include "text.hpp"

namespace ergon::meter {
namespace {

using logs::kNoTime;

void put_number(std::string& out, double value) {
  char text[32];
  // Whole numbers without an exponent: 1410000000, not 1.41e+09.
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  const auto [end, error] =
      whole ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value))
            : std::to_chars(text, text + sizeof text, value);
  static_cast<void>(error);
  out.append(text, end);
}

// The text of a number that repeats down a column.
struct Cell {
  double value = kMissing;
  std::string text;
};

// Logs further apart than an hour and ten times their length are no rotated logs of one run.
constexpr Nanos kFarApart = Nanos{3600} * 1'000'000'000;
constexpr Nanos kFarTimes = 10;

void note_once(PowerLog& log, const std::string& note) {
  if (std::ranges::find(log.notes, note) == log.notes.end()) log.notes.push_back(note);
}

// The first word that a GPU has in a column; empty: none.
std::string_view word_of(const PowerLog& log, const char* column, const std::string& id) {
  const LogColumn* c = log.find(column);
  if (c == nullptr || !c->text) return {};
  for (std::size_t i = 0; i < log.rows(); ++i) {
    if (!log.gpu.empty() && log.gpus[log.gpu[i]] != id) continue;
    if (c->words[i] != 0) return c->dictionary[c->words[i]];
  }
  return {};
}

bool other_board(const PowerLog& a, const PowerLog& b, const std::string& id) {
  return std::ranges::any_of(std::array{"name", "uuid", "serial"}, [&](const char* column) {
    const auto one = word_of(a, column, id);
    const auto two = word_of(b, column, id);
    return !one.empty() && !two.empty() && one != two;
  });
}

}  // namespace

const LogColumn* PowerLog::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(columns, [&](const LogColumn& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

std::optional<Seconds> PowerLog::duration() const {
  std::optional<Nanos> low;
  std::optional<Nanos> high;
  for (const Nanos t : time_ns) {
    if (t == kNoTime) continue;
    low = low ? std::min(*low, t) : t;
    high = high ? std::max(*high, t) : t;
  }
  if (!low) return std::nullopt;
  return Seconds(static_cast<double>(*high - *low) / 1e9);  // rounded once
}

std::string to_csv(const PowerLog& log) {
  const bool timed = !log.time_ns.empty();
  std::string out;
  out.reserve(log.rows() * (log.columns.size() + 2) * 8 + 256);
  if (timed) out += "time_s,";
  if (timed && log.utc_ns) out += "time_utc,";
  out += "gpu";
  for (const LogColumn& c : log.columns) {
    out += ',';
    out += io::csv_field(c.name);
  }
  out += '\n';
  std::vector<Cell> cells(log.columns.size());
  std::vector<std::vector<std::string>> words(log.columns.size());
  for (std::size_t k = 0; k < log.columns.size(); ++k) {
    for (const auto& w : log.columns[k].dictionary) words[k].push_back(io::csv_field(w));
  }
  std::vector<std::string> gpus;
  gpus.reserve(log.gpus.size());
  for (const auto& g : log.gpus) gpus.push_back(io::csv_field(g));
  for (std::size_t i = 0; i < log.rows(); ++i) {
    if (timed) {
      const bool known = log.time_ns[i] != kNoTime;
      if (known) logs::put_seconds(out, log.time_ns[i]);
      out += ',';
      if (log.utc_ns) {
        if (known) logs::put_utc(out, *log.utc_ns + log.time_ns[i]);
        out += ',';
      }
    }
    if (!log.gpu.empty()) out += gpus[log.gpu[i]];
    for (std::size_t k = 0; k < log.columns.size(); ++k) {
      out += ',';
      const LogColumn& c = log.columns[k];
      if (c.text) {
        out += words[k][c.words[i]];
        continue;
      }
      const double v = c.numbers[i];
      if (is_missing(v)) continue;
      Cell& cell = cells[k];
      if (v != cell.value) {
        cell.value = v;
        cell.text.clear();
        put_number(cell.text, v);
      }
      out += cell.text;
    }
    out += '\n';
  }
  return out;
}

std::vector<Series> to_series(const PowerLog& log) {
  std::vector<Series> out;
  if (log.time_ns.empty()) return out;
  const std::size_t count = std::max<std::size_t>(log.gpus.size(), 1);
  for (std::size_t g = 0; g < count; ++g) {
    Series s;
    s.gpu = log.gpus.empty() ? std::string() : log.gpus[g];
    s.utc_ns = log.utc_ns;
    std::vector<std::size_t> rows;
    Nanos last = kNoTime;
    for (std::size_t i = 0; i < log.rows(); ++i) {
      if (!log.gpu.empty() && log.gpu[i] != g) continue;
      if (log.time_ns[i] == kNoTime || (last != kNoTime && log.time_ns[i] < last)) continue;
      last = log.time_ns[i];
      rows.push_back(i);
      s.time_ns.push_back(last);
    }
    const auto take = [&](const char* name, std::vector<double>& into) {
      const LogColumn* c = log.find(name);
      if (c == nullptr || c->text) return;
      for (const std::size_t i : rows) into.push_back(c->numbers[i]);
    };
    // The instantaneous draw where a log has both: it is what the sensor refreshes.
    take(log.find("instant_power_w") != nullptr ? "instant_power_w" : "power_w", s.power_w);
    take("average_power_w", s.average_power_w);
    take("energy_j", s.energy_j);
    take("clock_hz", s.clock_hz);
    take("memory_clock_hz", s.memory_clock_hz);
    take("temperature_c", s.temperature_c);
    take("power_limit_w", s.power_limit_w);
    take("utilization", s.utilization);
    if (!s.time_ns.empty()) out.push_back(std::move(s));
  }
  return out;
}

Result<PowerLog> join_logs(std::vector<PowerLog> logs, const std::vector<std::string>& names) {
  ERGON_CHECK(!logs.empty() && logs.size() == names.size(), "one name a log");
  if (logs.size() == 1) return std::move(logs.front());
  PowerLog out;
  // One axis: all in UTC, or all in local time. Else each log keeps its own zero.
  const auto all = [&](auto has) { return std::ranges::all_of(logs, has); };
  const bool utc = all([](const PowerLog& l) { return l.utc_ns.has_value(); });
  const bool local = !utc && all([](const PowerLog& l) { return l.local_ns.has_value(); });
  const bool timed = all([](const PowerLog& l) { return !l.time_ns.empty(); });
  const auto base_of = [&](const PowerLog& l) {
    return utc ? *l.utc_ns : local ? *l.local_ns : Nanos{0};
  };
  Nanos base = base_of(logs.front());
  for (const PowerLog& l : logs) base = std::min(base, base_of(l));
  if (utc) out.utc_ns = base;
  if (local) out.local_ns = base;
  if (timed && !utc && !local) {
    out.notes.emplace_back(
        "the logs have no common clock: the time of each is from its own first sample");
  }
  if (!timed) out.notes.emplace_back("not every log has a time base: the table has none");

  // The same id in two logs is the same GPU only where they do not overlap in time.
  struct Span {
    Nanos low;
    Nanos high;
  };
  const auto span_of = [&](const PowerLog& l) {
    Span s{INT64_MAX, INT64_MIN};
    for (const Nanos t : l.time_ns) {
      if (t == kNoTime) continue;
      s.low = std::min(s.low, t + base_of(l));
      s.high = std::max(s.high, t + base_of(l));
    }
    return s;
  };
  std::vector<Span> spans;
  spans.reserve(logs.size());
  for (const PowerLog& l : logs) spans.push_back(span_of(l));
  const auto clashes = [&](std::size_t a, const std::string& id) {
    bool same = false;
    for (std::size_t b = 0; b < logs.size(); ++b) {
      if (b == a || std::ranges::find(logs[b].gpus, id) == logs[b].gpus.end()) continue;
      if (!(utc || local) || (spans[a].low <= spans[b].high && spans[b].low <= spans[a].high))
        return true;
      if (other_board(logs[a], logs[b], id)) {
        note_once(out, "GPU " + id + " is another board in each log: they are told apart by log");
        return true;
      }
      const Nanos apart = std::max(spans[a].low - spans[b].high, spans[b].low - spans[a].high);
      const Nanos longest = std::max(spans[a].high - spans[a].low, spans[b].high - spans[b].low);
      if (apart <= std::max(kFarApart, kFarTimes * longest)) {
        same = true;
      } else {
        note_once(out, "logs of GPU " + id + " lie " +
                           seconds_text(static_cast<double>(apart) * 1e-9) +
                           " apart: what no other log joins is told as a GPU of its own");
      }
    }
    const bool shared = std::ranges::any_of(logs, [&](const PowerLog& l) {
      return &l != &logs[a] && std::ranges::find(l.gpus, id) != l.gpus.end();
    });
    return shared && !same;
  };
  struct Place {
    std::size_t log;
    std::size_t row;
    Nanos time;
  };
  std::vector<Place> places;
  std::vector<std::vector<std::uint32_t>> ids(logs.size());
  for (std::size_t a = 0; a < logs.size(); ++a) {
    for (const auto& id : logs[a].gpus) {
      const std::string name = clashes(a, id) ? names[a] + ":" + id : id;
      auto found = std::ranges::find(out.gpus, name);
      if (found == out.gpus.end()) found = out.gpus.insert(out.gpus.end(), name);
      ids[a].push_back(static_cast<std::uint32_t>(found - out.gpus.begin()));
    }
    const Nanos shift = base_of(logs[a]) - base;
    for (std::size_t i = 0; i < logs[a].rows(); ++i) {
      const Nanos t = timed ? logs[a].time_ns[i] : kNoTime;
      places.push_back({a, i, t == kNoTime ? kNoTime : t + shift});
    }
  }
  if (utc || local) std::ranges::stable_sort(places, {}, &Place::time);

  // The columns of all, canonical ones first.
  std::vector<std::string> order = logs::canonical_order();
  for (const PowerLog& l : logs) {
    for (const LogColumn& c : l.columns) {
      if (std::ranges::find(order, c.name) == order.end()) order.push_back(c.name);
    }
  }
  for (const auto& name : order) {
    LogColumn column;
    column.name = name;
    bool any = false;
    for (const PowerLog& l : logs) {
      if (const LogColumn* c = l.find(name)) {
        column.text = column.text || c->text;
        any = true;
      }
    }
    if (!any) continue;
    if (!column.text) {
      for (const Place& p : places) {
        const LogColumn* c = logs[p.log].find(name);
        column.numbers.push_back(c == nullptr ? kMissing : c->numbers[p.row]);
      }
    } else {
      column.dictionary.emplace_back();
      std::map<std::string, std::uint32_t> known;
      for (const Place& p : places) {
        const LogColumn* c = logs[p.log].find(name);
        std::string word;
        if (c != nullptr && c->text) word = c->dictionary[c->words[p.row]];
        if (c != nullptr && !c->text && !is_missing(c->numbers[p.row]))
          put_number(word, c->numbers[p.row]);
        if (word.empty()) {
          column.words.push_back(0);
          continue;
        }
        const auto [at, fresh] =
            known.emplace(word, static_cast<std::uint32_t>(column.dictionary.size()));
        if (fresh) column.dictionary.push_back(word);
        column.words.push_back(at->second);
      }
    }
    out.columns.push_back(std::move(column));
  }
  for (const Place& p : places) {
    const PowerLog& l = logs[p.log];
    out.line.push_back(l.line[p.row]);
    if (timed) out.time_ns.push_back(p.time);
    if (!out.gpus.empty()) out.gpu.push_back(l.gpu.empty() ? 0 : ids[p.log][l.gpu[p.row]]);
  }
  for (std::size_t a = 0; a < logs.size(); ++a) {
    PowerLog& l = logs[a];
    if (out.format.find(l.format) == std::string::npos)
      out.format += (out.format.empty() ? "" : " + ") + l.format;
    for (Defect& d : l.defects) {
      d.file = names[a];
      out.defects.push_back(std::move(d));
    }
    for (const auto& [kind, count] : l.defect_counts) out.defect_counts[kind] += count;
    for (const auto& [reason, count] : l.skipped) {
      const auto found =
          std::ranges::find(out.skipped, reason, &std::pair<std::string, std::uint64_t>::first);
      if (found == out.skipped.end()) {
        out.skipped.emplace_back(reason, count);
      } else {
        found->second += count;
      }
    }
    for (const auto& n : l.notes) {
      if (std::ranges::find(out.notes, n) == out.notes.end()) out.notes.push_back(n);
    }
  }
  return out;
}

}  // namespace ergon::meter
