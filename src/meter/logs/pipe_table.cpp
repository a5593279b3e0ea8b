// Tables whose cells stand between pipes: Markdown, what psql and mysql print, '|' as separator.
#include <algorithm>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

constexpr char kUnit = '\x1f';  // between the cells that are handed on: no text holds it

// "|---|:--:|", "----+----", "+----+----+"
bool is_rule(std::string_view t) {
  return t.find("--") != std::string_view::npos &&
         t.find_first_of("|+") != std::string_view::npos &&
         t.find_first_not_of("-+|: ") == std::string_view::npos;
}

std::size_t rule_columns(std::string_view t) {
  while (!t.empty() && (t.front() == '|' || t.front() == '+' || t.front() == ' '))
    t.remove_prefix(1);
  while (!t.empty() && (t.back() == '|' || t.back() == '+' || t.back() == ' ')) t.remove_suffix(1);
  return 1 + static_cast<std::size_t>(
                 std::ranges::count_if(t, [](char c) { return c == '|' || c == '+'; }));
}

std::vector<std::string_view> pipe_cells(std::string_view t) {
  if (t.starts_with('|')) t.remove_prefix(1);
  if (t.ends_with('|')) t.remove_suffix(1);
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t at = t.find('|');
    out.push_back(trim(t.substr(0, at)));
    if (at == std::string_view::npos) return out;
    t.remove_prefix(at + 1);
  }
}

// The boxes that vendors' tools draw have several figures in a cell.
bool names_columns(const std::vector<std::string_view>& cells) {
  if (cells.size() < 2) return false;
  bool known = false;
  for (const std::string_view c : cells) {
    if (c.empty() || (c.front() >= '0' && c.front() <= '9') || missing_marker(c) ||
        c.find("  ") != std::string_view::npos || c.size() > 80)
      return false;
    known = known || known_name(c);
  }
  return known;
}

class PipeTable final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override {
    const std::string_view t = trim(line.text);
    if (t.find_first_of("|+") == std::string_view::npos) {
      give_up(out);
      return false;
    }
    if (is_rule(t)) return rule(t, out);
    if (t.find('|') == std::string_view::npos) return false;
    const auto cells = pipe_cells(t);
    if (!header_.empty()) {
      const bool row = cells.size() == pipe_cells(header_).size() && !names_columns(cells);
      if (row) {
        start(out);
      } else {
        give_up(out);
      }
    }
    if (columns_ != 0 && (cells.size() == columns_ || line.unended)) return hand_on(t, line, out);
    // A pipe in the names of a CSV makes it none.
    const auto others =
        std::ranges::count_if(t, [](char c) { return c == ',' || c == ';' || c == '\t'; });
    if (!names_columns(cells) || others >= std::ranges::count(t, '|')) return false;
    header_ = std::string(t);
    header_line_ = line.number;
    return true;
  }

  void end(Builder& out) override {
    give_up(out);
    if (!table_.runs_table().empty()) out.finished_runs(table_.runs_table());
    table_.end(out);
  }

 private:
  bool rule(std::string_view t, Builder& out) {
    if (!header_.empty()) {
      if (rule_columns(t) == pipe_cells(header_).size()) {
        start(out);
      } else {
        give_up(out);
      }
      return columns_ != 0;
    }
    return columns_ != 0 && rule_columns(t) == columns_;
  }

  void start(Builder& out) {
    const std::string header = std::move(header_);
    header_.clear();
    columns_ = pipe_cells(header).size();
    if (!said_) table_.take({.text = std::string("sep=") + kUnit, .number = header_line_}, out);
    said_ = true;
    hand_on(header, {.text = header, .number = header_line_}, out);
  }

  // What looked like the names of a table, and no table came.
  void give_up(Builder& out) {
    if (header_.empty()) return;
    out.defect(header_line_, "not_a_row", header_.substr(0, 60));
    out.skip("lines that are no samples");
    header_.clear();
  }

  bool hand_on(std::string_view t, const Line& line, Builder& out) {
    std::string joined;
    for (const std::string_view c : pipe_cells(t)) {
      if (!joined.empty()) joined += kUnit;
      joined += c;
    }
    return table_.take({.text = joined, .number = line.number, .unended = line.unended}, out);
  }

  TableReader table_;
  std::string header_;  ///< a line that may be one, until the next line tells
  std::uint64_t header_line_ = 0;
  std::size_t columns_ = 0;  ///< of the table that is being read
  bool said_ = false;
};

}  // namespace

std::unique_ptr<Reader> pipe_table_reader() { return std::make_unique<PipeTable>(); }

}  // namespace ergon::meter::logs
