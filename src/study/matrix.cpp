// Wide matrices: one row a workload, one column a clock (or a power limit), or the other way round.
#include <algorithm>
#include <cmath>

#include "names.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

enum class Quantity { kUnknown, kPower, kRate, kTime, kEfficiency, kEnergy };

struct Matrix {
  std::string corner;
  std::vector<double> columns;
  std::vector<std::string> names;
  std::vector<std::vector<Maybe>> cells;  // [workload][column]
  std::vector<std::uint64_t> lines;
};

bool ascending_or_descending(const std::vector<double>& v) {
  return std::ranges::is_sorted(v) || std::ranges::is_sorted(v, std::greater<>{});
}

// "757MHz" and "757" are both columns of a matrix.
Maybe heading_number(std::string_view text) {
  std::string unit;
  const Maybe n = number_of(text, &unit);
  if (!n || (!unit.empty() && unit_of(unit).dim == Dim::kNone)) return {};
  return n;
}

Matrix plain_matrix(const RawTable& t) {
  Matrix m;
  m.corner = t.header.front();
  for (std::size_t c = 1; c < t.header.size(); ++c)
    m.columns.push_back(heading_number(t.header[c]).value_or(0));
  for (std::size_t r = 0; r < t.rows.size(); ++r) {
    m.names.push_back(t.rows[r].front());
    m.lines.push_back(t.lines[r]);
    std::vector<Maybe> cells;
    for (std::size_t c = 1; c < t.rows[r].size(); ++c) cells.push_back(number_of(t.rows[r][c]));
    m.cells.push_back(std::move(cells));
  }
  return m;
}

Matrix turned_matrix(const RawTable& t) {
  Matrix m;
  m.corner = t.header.front();
  for (const auto& row : t.rows) m.columns.push_back(number_of(row.front()).value_or(0));
  for (std::size_t c = 1; c < t.header.size(); ++c) {
    m.names.push_back(t.header[c]);
    m.lines.push_back(1);
    std::vector<Maybe> cells;
    cells.reserve(t.rows.size());
    for (const auto& row : t.rows) cells.push_back(number_of(row[c]));
    m.cells.push_back(std::move(cells));
  }
  return m;
}

bool is_plain(const RawTable& t) {
  if (t.header.size() < 4 || t.rows.empty()) return false;
  std::vector<double> heads;
  for (std::size_t c = 1; c < t.header.size(); ++c) {
    const Maybe n = heading_number(t.header[c]);
    if (!n || *n <= 0) return false;
    heads.push_back(*n);
  }
  return ascending_or_descending(heads) && !heading_number(t.header.front());
}

bool is_turned(const RawTable& t) {
  if (t.header.size() < 3 || t.rows.size() < 3) return false;
  const Role first = sense_of(t.header.front()).role;
  if (first != Role::kClock && first != Role::kPowerLimit) return false;
  for (std::size_t c = 1; c < t.header.size(); ++c) {
    const Role role = sense_of(t.header[c]).role;
    if (role != Role::kNone && role != Role::kWorkload && role != Role::kFactor) return false;
    if (!std::ranges::all_of(
            t.rows, [&](const auto& row) { return is_missing(row[c]) || is_number(row[c]); }))
      return false;
  }
  std::vector<double> heads;
  for (const auto& row : t.rows) {
    const Maybe n = number_of(row.front());
    if (!n || *n <= 0) return false;
    heads.push_back(*n);
  }
  return ascending_or_descending(heads) && heads.front() != heads.back();
}

// What the figures are, by how they go with the clock.
Quantity by_shape(const Matrix& m) {
  const std::size_t top =
      static_cast<std::size_t>(std::ranges::max_element(m.columns) - m.columns.begin());
  const std::size_t bottom =
      static_cast<std::size_t>(std::ranges::min_element(m.columns) - m.columns.begin());
  std::size_t ones = 0;
  std::size_t rises = 0;
  std::size_t falls = 0;
  std::size_t peaks_inside = 0;
  std::size_t watts = 0;
  for (const auto& row : m.cells) {
    const Maybe high = row[top];
    const Maybe low = row[bottom];
    if (!high || !low) continue;
    ones += *high == 1 ? 1 : 0;
    rises += *high > *low ? 1 : 0;
    falls += *high < *low ? 1 : 0;
    double most = 0;
    for (const Maybe v : row) most = std::max(most, v.value_or(0));
    peaks_inside += most > 1.02 * std::max(*high, *low) ? 1 : 0;
    watts += *high >= 10 && *high <= 1500 ? 1 : 0;
  }
  const std::size_t n = m.cells.size();
  const auto most_of = [&](std::size_t k) { return k * 10 >= n * 8; };
  if (most_of(ones)) {
    if (most_of(rises)) return Quantity::kRate;
    return peaks_inside * 2 > n ? Quantity::kEfficiency : Quantity::kUnknown;
  }
  if (most_of(watts) && most_of(rises)) return Quantity::kPower;
  return most_of(falls) && peaks_inside * 4 < n ? Quantity::kTime : Quantity::kUnknown;
}

Quantity by_words(const std::vector<std::string>& words) {
  const auto has = [&](std::string_view w) { return std::ranges::find(words, w) != words.end(); };
  if (has("power")) return Quantity::kPower;
  if (has("performance") || has("perf") || has("throughput")) return Quantity::kRate;
  if (has("efficiency")) return Quantity::kEfficiency;
  if (has("energy")) return Quantity::kEnergy;
  if (has("time") || has("runtime") || has("latency")) return Quantity::kTime;
  return Quantity::kUnknown;
}

const char* word(Quantity q) {
  switch (q) {
    case Quantity::kPower:
      return "power in W";
    case Quantity::kRate:
      return "performance";
    case Quantity::kTime:
      return "time";
    case Quantity::kEfficiency:
      return "efficiency";
    case Quantity::kEnergy:
      return "energy";
    case Quantity::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace

bool is_matrix(const RawTable& table) { return is_plain(table) || is_turned(table); }

Status read_matrix(const Reading& reading, const RawTable& table) {
  const Matrix m = is_plain(table) ? plain_matrix(table) : turned_matrix(table);
  Quantity quantity = Quantity::kUnknown;
  if (const auto said = reading.mapping.roles.find("matrix"); said != reading.mapping.roles.end()) {
    quantity =
        by_words({said->second.column.empty() ? said->second.constant : said->second.column});
  }
  if (quantity == Quantity::kUnknown) quantity = by_words(words_of(m.corner));
  if (quantity == Quantity::kUnknown) {
    const Quantity shape = by_shape(m);
    const Quantity name = by_words(words_of(stem_of(reading.source.path)));
    quantity = shape != Quantity::kUnknown ? shape : name;
    if (quantity != Quantity::kUnknown) {
      reading.note("unit_by_evidence",
                   stem_of(reading.source.path) + ": the figures are read as " + word(quantity) +
                       (shape != Quantity::kUnknown ? ", by how they go with the clock"
                                                    : ", by the name of the file"));
    }
    if (shape != Quantity::kUnknown && name != Quantity::kUnknown && shape != name) {
      reading.finding(
          "wrong_label", reading.source.path,
          std::string("its name says ") + word(name) + ", its figures look like " + word(shape));
    }
  }
  if (quantity == Quantity::kUnknown) {
    return fail(Errc::kMalformedInput,
                reading.source.path + " is a matrix over clocks, but of what it doesn't say",
                "say it: --map 'matrix=power' (or time, performance, efficiency, energy)");
  }
  // The corner says what the columns are; limits are told from clocks by it alone.
  const Sense corner = sense_of(m.corner);
  const bool limits = corner.role == Role::kPowerLimit;
  const double most = *std::ranges::max_element(m.columns);
  const double unit = corner.unit.dim == Dim::kClock ? corner.unit.scale
                      : most > 2e7                   ? 1
                      : most < 6                     ? 1e9
                                                     : 1e6;
  const std::string gpu = gpu_in(reading.source.path);
  for (std::size_t w = 0; w < m.cells.size(); ++w) {
    for (std::size_t c = 0; c < m.columns.size(); ++c) {
      const Maybe v = m.cells[w][c];
      if (!v || *v <= 0) continue;
      Sample s;
      s.workload = m.names[w];
      s.gpu = gpu;
      add_factors_in(s.workload, s.factors);
      s.file = reading.file;
      s.line = m.lines[w];
      s.units_known = false;
      if (limits) {
        s.setting.power_limit_w = m.columns[c];
      } else {
        s.setting.clock_hz = m.columns[c] * unit;
      }
      switch (quantity) {
        case Quantity::kPower:
          s.power_w = v;
          break;
        case Quantity::kRate:
          s.rate = v;
          break;
        case Quantity::kTime:
          s.time = v;
          break;
        case Quantity::kEfficiency:
          s.check = v;
          break;
        case Quantity::kEnergy:
          s.energy = v;
          break;
        case Quantity::kUnknown:
          break;
      }
      reading.data.samples.push_back(std::move(s));
    }
  }
  if (!gpu.empty()) reading.note("gpu_from_name", "the GPU is taken from the name of the file");
  return {};
}

}  // namespace ergon::study
