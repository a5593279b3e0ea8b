// Numbers without names over them: blocks under a line with the workload, or a bare table.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "names.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

struct Block {
  std::string name;
  std::vector<std::vector<double>> rows;
  std::vector<std::uint64_t> lines;
};

// Blocks of equally wide rows of numbers; empty where the text is something else.
std::vector<Block> blocks_of(std::string_view text) {
  const auto lines = lines_of(text);
  std::vector<std::string_view> sample;
  for (const auto line : lines) {
    if (sample.size() < 200 && !trimmed(line).empty()) sample.push_back(line);
  }
  const char separator = separator_of(sample);
  std::vector<Block> blocks;
  std::size_t width = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trimmed(lines[i]).empty()) continue;
    const auto cells = split_line(lines[i], separator);
    const bool numbers =
        cells.size() > 1 && std::ranges::all_of(cells, [](const auto& c) { return is_number(c); });
    if (!numbers) {
      if (cells.size() != 1 || is_number(cells.front())) return {};
      if (!blocks.empty() && blocks.back().rows.empty()) return {};
      blocks.push_back({cells.front(), {}, {}});
      continue;
    }
    if (blocks.empty()) return {};
    if (width == 0) width = cells.size();
    if (cells.size() != width || width < 3 || width > 8) {
      if (i + 1 == lines.size()) break;  // cut
      return {};
    }
    std::vector<double> row;
    row.reserve(cells.size());
    for (const auto& c : cells) row.push_back(number_of(c).value_or(0));
    blocks.back().rows.push_back(std::move(row));
    blocks.back().lines.push_back(i + 1);
  }
  if (!blocks.empty() && blocks.back().rows.empty()) blocks.pop_back();
  return blocks;
}

struct Layout {
  int core = -1;
  int memory = -1;
  int time = -1;
  int power = -1;
  int energy = -1;
};

class Guess {
 public:
  explicit Guess(const std::vector<Block>& blocks) : blocks_(blocks) {
    width_ = static_cast<int>(blocks.front().rows.front().size());
  }

  [[nodiscard]] Layout layout() const {
    Layout l;
    std::vector<int> settings;
    std::vector<int> figures;
    for (int c = 0; c < width_; ++c) (is_setting(c) ? settings : figures).push_back(c);
    // Energy is the product of two others in every row.
    for (const int e : figures) {
      for (const int a : figures) {
        for (const int b : figures) {
          if (a < b && e != a && e != b && l.energy < 0 && is_product(e, a, b)) {
            l.energy = e;
            std::erase_if(figures, [&](int c) { return c == e; });
            figures = {a, b};
          }
        }
      }
      if (l.energy >= 0) break;
    }
    if (settings.empty() || settings.size() > 2 || figures.size() != 2) return {};
    const auto levels = [&](int c) { return distinct(c); };
    if (settings.size() == 2) {
      const bool first = levels(settings[0]) >= levels(settings[1]);
      l.core = settings[first ? 0 : 1];
      l.memory = settings[first ? 1 : 0];
    } else {
      l.core = settings.front();
    }
    // With the clock power rises and time falls.
    const int way0 = direction(figures[0], l);
    const int way1 = direction(figures[1], l);
    if (way0 < 0 && way1 > 0) {
      l.time = figures[0];
      l.power = figures[1];
    } else if (way0 > 0 && way1 < 0) {
      l.time = figures[1];
      l.power = figures[0];
    } else {
      return {};
    }
    return l;
  }

 private:
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& b : blocks_) {
      for (const auto& row : b.rows) visit(row);
    }
  }
  [[nodiscard]] std::size_t distinct(int c) const {
    std::set<double> seen;
    each([&](const auto& row) { seen.insert(row[static_cast<std::size_t>(c)]); });
    return seen.size();
  }
  // Clocks are whole numbers of MHz that come back in every block.
  [[nodiscard]] bool is_setting(int c) const {
    bool whole = true;
    std::size_t n = 0;
    each([&](const auto& row) {
      const double v = row[static_cast<std::size_t>(c)];
      whole = whole && v == std::floor(v) && std::abs(v) <= 30000;
      ++n;
    });
    return whole && (blocks_.size() == 1 || distinct(c) * 2 <= n);
  }
  [[nodiscard]] bool is_product(int e, int a, int b) const {
    std::size_t n = 0;
    std::size_t good = 0;
    double ratio = 0;
    each([&](const auto& row) {
      const double product = row[static_cast<std::size_t>(a)] * row[static_cast<std::size_t>(b)];
      const double energy = row[static_cast<std::size_t>(e)];
      if (product <= 0 || energy <= 0) return;
      if (n == 0) ratio = energy / product;
      ++n;
      good += std::abs(energy / product / ratio - 1) < 0.01 ? 1 : 0;
    });
    const bool factor = std::abs(ratio - 1) < 0.02 || std::abs(ratio * 1e3 - 1) < 0.02 ||
                        std::abs(ratio / 1e3 - 1) < 0.02;
    return n > 1 && factor && good * 20 >= n * 19;
  }
  // +1 where the column rises with the core clock at one memory clock, -1 where it falls.
  [[nodiscard]] int direction(int c, const Layout& l) const {
    long up = 0;
    long down = 0;
    for (const auto& b : blocks_) {
      std::map<double, std::map<double, double>> of_memory;
      for (const auto& row : b.rows) {
        const double m = l.memory < 0 ? 0 : row[static_cast<std::size_t>(l.memory)];
        of_memory[m][row[static_cast<std::size_t>(l.core)]] = row[static_cast<std::size_t>(c)];
      }
      for (const auto& [memory, curve] : of_memory) {
        if (curve.size() < 2) continue;
        (curve.rbegin()->second > curve.begin()->second ? up : down) += 1;
      }
    }
    return up > 2 * down ? 1 : down > 2 * up ? -1 : 0;
  }

  const std::vector<Block>& blocks_;
  int width_ = 0;
};

Status add_blocks(const Reading& reading, const std::vector<Block>& blocks) {
  const Layout l = Guess(blocks).layout();
  if (l.core < 0) {
    return fail(Errc::kMalformedInput,
                reading.source.path +
                    " has numbers without names over them, and which are clocks, "
                    "times and powers can't be told",
                "name them: --map 'header=memory_clock/clock/time/power/energy'");
  }
  const std::size_t first = reading.data.samples.size();
  const auto at = [](const std::vector<double>& row, int c) {
    return c < 0 ? Maybe{} : Maybe(row[static_cast<std::size_t>(c)]);
  };
  const auto positive = [](Maybe v) { return v && *v > 0 ? v : Maybe{}; };
  const std::string gpu = gpu_in(reading.source.path);
  for (const auto& b : blocks) {
    for (std::size_t i = 0; i < b.rows.size(); ++i) {
      Sample s;
      s.workload = b.name;
      s.gpu = gpu;
      s.file = reading.file;
      s.line = b.lines[i];
      add_factors_in(b.name, s.factors);
      s.setting.clock_hz = *at(b.rows[i], l.core) * 1e6;
      if (l.memory >= 0) s.setting.memory_clock_hz = *at(b.rows[i], l.memory) * 1e6;
      s.time = positive(at(b.rows[i], l.time));
      s.power_w = positive(at(b.rows[i], l.power));
      s.energy = positive(at(b.rows[i], l.energy));
      reading.data.samples.push_back(std::move(s));
    }
  }
  const auto column = [](int c) { return c < 0 ? std::string("none") : std::to_string(c + 1); };
  reading.note("column_by_evidence", "columns without names: core clock " + column(l.core) +
                                         ", memory clock " + column(l.memory) + ", time " +
                                         column(l.time) + " (falls with the clock), power " +
                                         column(l.power) + " (rises with it), energy " +
                                         column(l.energy) +
                                         (l.energy < 0 ? "" : " (their product)"));
  settle_units(reading, first, false, false);
  return {};
}

}  // namespace

bool is_blocks(std::string_view text) {
  // Two lines tell most files apart from blocks without reading them.
  const auto blocks = blocks_of(text);
  return !blocks.empty() && blocks.front().rows.size() > 1;
}

Status read_blocks(const Reading& reading) {
  if (!reading.mapping.header.empty()) {
    const auto blocks = blocks_of(reading.source.text);
    RawTable table;
    table.header = reading.mapping.header;
    table.header.insert(table.header.begin(), "workload");
    for (const auto& b : blocks) {
      for (std::size_t i = 0; i < b.rows.size(); ++i) {
        std::vector<std::string> row = {b.name};
        for (const double v : b.rows[i]) row.push_back(figure_text(v, 17));
        table.rows.push_back(std::move(row));
        table.lines.push_back(b.lines[i]);
      }
    }
    return read_long_table(reading, std::move(table));
  }
  return add_blocks(reading, blocks_of(reading.source.text));
}

Status read_numbers(const Reading& reading, const RawTable& table) {
  Block block{.name = stem_of(reading.source.path), .rows = {}, .lines = table.lines};
  for (const auto& cells : table.rows) {
    std::vector<double> row;
    row.reserve(cells.size());
    for (const auto& c : cells) row.push_back(number_of(c).value_or(0));
    block.rows.push_back(std::move(row));
  }
  if (block.rows.size() < 3 || block.rows.front().size() < 3) {
    return fail(
        Errc::kMalformedInput, reading.source.path + " is no DVFS data: numbers without names",
        "a table needs a header, or --map 'header=clock/time/power'; a log of samples is read "
        "by 'ergon import FILE'");
  }
  return add_blocks(reading, {block});
}

}  // namespace ergon::study
