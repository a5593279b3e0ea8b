// The canonical CSV, and series per GPU.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "logs/builder.hpp"
#include "logs/timestamps.hpp"
#include "text.hpp"

namespace ergon::meter {

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

namespace {

using logs::kNoTime;

// The text of a number that repeats down a column.
struct Cell {
  double value = kMissing;
  std::string text;
};

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

}  // namespace ergon::meter
