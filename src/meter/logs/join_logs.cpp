// Several logs as one, and times for a log that has none.
#include <algorithm>
#include <array>
#include <cmath>

#include "logs/builder.hpp"
#include "logs/gaps.hpp"
#include "text.hpp"

namespace ergon::meter {
namespace {

using logs::kNoTime;

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

// Where one log of a GPU ends and the next goes on: a gap, if it is more than the usual distance in
// the slower of the two.
void find_gaps(PowerLog& out, const std::vector<std::size_t>& log_of,
               const std::vector<std::string>& names) {
  if (out.time_ns.empty() || out.gpu.empty()) return;
  std::vector<std::vector<std::size_t>> rows(out.gpus.size());
  for (std::size_t i = 0; i < out.rows(); ++i) {
    if (out.time_ns[i] != kNoTime) rows[out.gpu[i]].push_back(i);
  }
  for (std::size_t g = 0; g < rows.size(); ++g) {
    std::vector<std::vector<double>> steps(names.size());
    for (std::size_t k = 1; k < rows[g].size(); ++k) {
      const std::size_t a = rows[g][k - 1];
      const std::size_t b = rows[g][k];
      if (log_of[a] == log_of[b] && out.time_ns[b] > out.time_ns[a])
        steps[log_of[a]].push_back(static_cast<double>(out.time_ns[b] - out.time_ns[a]));
    }
    for (std::size_t k = 1; k < rows[g].size(); ++k) {
      const std::size_t a = rows[g][k - 1];
      const std::size_t b = rows[g][k];
      if (log_of[a] == log_of[b]) continue;
      const double typical = std::max(median_of(steps[log_of[a]]), median_of(steps[log_of[b]]));
      const auto away = static_cast<double>(out.time_ns[b] - out.time_ns[a]);
      if (typical <= 0 || !logs::is_gap(away, typical)) continue;
      ++out.defect_counts["gap"];
      out.defects.push_back({out.line[b], "gap",
                             seconds_text(away * 1e-9) + " after the last sample of " +
                                 names[log_of[a]] + ", where " + seconds_text(typical * 1e-9) +
                                 " is usual",
                             names[log_of[b]]});
    }
  }
}

}  // namespace

Status give_times(PowerLog& log, Seconds interval) {
  if (!log.time_ns.empty()) {
    return fail(Errc::kInvalidArgument, "the log has times of its own",
                "an interval is for logs without");
  }
  const auto step = static_cast<Nanos>(std::llround(interval.si() * 1e9));
  const auto most = INT64_MAX / static_cast<Nanos>(std::max<std::size_t>(log.rows(), 1));
  if (step <= 0 || step > most) {
    return fail(Errc::kInvalidArgument, "an interval is a time above 0", "for example 100ms");
  }
  std::vector<Nanos> next(std::max<std::size_t>(log.gpus.size(), 1), 0);
  for (std::size_t i = 0; i < log.rows(); ++i) {
    Nanos& t = next[log.gpu.empty() ? 0 : log.gpu[i]];
    log.time_ns.push_back(t);
    t += step;
  }
  log.notes.push_back("the log has no times: each GPU's samples are taken as " +
                      seconds_text(interval.si()) + " apart, as stated");
  return {};
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
  std::vector<std::size_t> log_of;
  for (const Place& p : places) {
    const PowerLog& l = logs[p.log];
    log_of.push_back(p.log);
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
  if (utc || local) find_gaps(out, log_of, names);
  return out;
}

}  // namespace ergon::meter
