// An answer for people at a terminal: a sentence, a few lines, tables with right-aligned numbers.
#include <algorithm>

#include "ergon/report.hpp"
#include "text.hpp"

namespace ergon::report {
namespace {

constexpr int kGutter = 2;
constexpr int kNarrowest = 12;
constexpr int kWidestInFile = 72;

class Terminal {
 public:
  explicit Terminal(const TerminalStyle& style) : style_(style) {}

  void table(const Table& given) {
    const Table table = in_short_units(given);
    const std::size_t columns = table.columns.size();
    std::vector<std::vector<std::string>> cells;
    for (const auto& row : table.rows) {
      std::vector<std::string> line;
      for (std::size_t c = 0; c < columns && c < row.size(); ++c) {
        line.push_back(cell_text(row[c], table.columns[c], style_.unicode ? "\u2013" : "-"));
      }
      cells.push_back(std::move(line));
    }
    std::vector<int> widths;
    for (std::size_t c = 0; c < columns; ++c) {
      int width = display_width(heading(table.columns[c]));
      for (const auto& line : cells)
        width = std::max(width, c < line.size() ? display_width(line[c]) : 0);
      widths.push_back(width);
    }
    fit(widths, table.columns);

    out += "\n";
    if (!table.title.empty()) out += bold(table.title) + "\n";
    std::vector<std::string> head;
    head.reserve(columns);
    for (const auto& column : table.columns) head.push_back(heading(column));
    out += dim(line_of(head, widths, table.columns)) + "\n";
    out += dim(rule_of(widths)) + "\n";
    for (const auto& line : cells) out += line_of(line, widths, table.columns) + "\n";
    if (table.rows.empty()) out += "(none)\n";
    const auto note = note_text(table);
    if (!note.empty()) out += dim(visible(note)) + "\n";
  }

  [[nodiscard]] std::string bold(const std::string& text) const { return coded("1", text); }
  [[nodiscard]] std::string dim(const std::string& text) const { return coded("2", text); }

  std::string out;

 private:
  [[nodiscard]] std::string coded(const char* code, const std::string& text) const {
    return style_.color ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  }

  // Takes width from the widest columns of text until the table fits.
  void fit(std::vector<int>& widths, const std::vector<Column>& columns) const {
    if (widths.empty()) return;
    if (style_.width <= 0) {
      // No terminal: whole lines, but a mangled kernel name must not make one of 900 columns.
      for (std::size_t c = 0; c < widths.size(); ++c) {
        if (!columns[c].numeric && !columns[c].whole)
          widths[c] = std::min(widths[c], kWidestInFile);
      }
      return;
    }
    int total = kGutter * (static_cast<int>(widths.size()) - 1);
    for (const int width : widths) total += width;
    while (total > style_.width) {
      std::size_t widest = columns.size();
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const bool can_shrink = !columns[c].numeric && !columns[c].whole && widths[c] > kNarrowest;
        if (can_shrink && (widest == columns.size() || widths[c] > widths[widest])) widest = c;
      }
      if (widest == columns.size()) return;
      --widths[widest];
      --total;
    }
  }

  [[nodiscard]] std::string line_of(const std::vector<std::string>& cells,
                                    const std::vector<int>& widths,
                                    const std::vector<Column>& columns) const {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) line.append(kGutter, ' ');
      const auto text = shortened(cells[c], widths[c], style_.unicode);
      const auto pad = static_cast<std::size_t>(std::max(0, widths[c] - display_width(text)));
      if (columns[c].numeric) line.append(pad, ' ');
      line += text;
      if (!columns[c].numeric && c + 1 < cells.size()) line.append(pad, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
  }

  [[nodiscard]] std::string rule_of(const std::vector<int>& widths) const {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (c > 0) line.append(kGutter, ' ');
      for (int i = 0; i < widths[c]; ++i) line += style_.unicode ? "\u2500" : "-";
    }
    return line;
  }

  const TerminalStyle& style_;
};

}  // namespace

std::string to_terminal(const Answer& answer, const Envelope& envelope,
                        const TerminalStyle& style) {
  Terminal terminal(style);
  terminal.out = terminal.bold(visible(answer.headline)) + "\n";
  for (const auto& line : answer.lines) terminal.out += visible(line) + "\n";
  for (const auto& table : answer.tables) terminal.table(table);
  std::string foot;
  if (!envelope.skipped.empty()) {
    foot += "left out of the input:";
    for (const auto& [reason, count] : envelope.skipped)
      foot += " " + std::to_string(count) + " " + skipped_text(reason) + ",";
    foot.back() = '\n';
  }
  if (!envelope.origin_shares.empty()) {
    foot += "figures:";
    for (const auto& [origin, share] : envelope.origin_shares) {
      foot += " " + number_text(share * 100, 3) + " % " + visible(origin) + ",";
    }
    foot.back() = '\n';
  }
  if (!foot.empty()) {
    foot.pop_back();
    terminal.out += "\n" + terminal.dim(foot) + "\n";
  }
  return terminal.out;
}

}  // namespace ergon::report
