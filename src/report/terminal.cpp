// An answer for people at a terminal: a sentence, a few lines, tables with right-aligned numbers.
#include <algorithm>

#include "ergon/report.hpp"
#include "text.hpp"

namespace ergon::report {
namespace {

constexpr int kGutter = 2;
constexpr int kIndent = 2;  ///< of the further lines of a sentence
constexpr int kNarrowest = 12;
constexpr int kNarrowestWrap = 24;
constexpr char kJoin = '\x01';
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
    std::vector<std::string> head;
    head.reserve(columns);
    for (const auto& column : table.columns) head.push_back(heading(column));
    auto shown = table.columns;
    auto widths = fit(head, cells, table);
    wrap_rest(head, cells, table, widths, shown);

    out += "\n";
    for (const auto& line : lines_in(table.title, table.width)) out += bold(line) + "\n";
    for (const auto& line : lines_of(head, widths, shown, true)) out += dim(line) + "\n";
    out += dim(rule_of(widths)) + "\n";
    for (const auto& row : cells) {
      for (const auto& line : lines_of(row, widths, shown, false)) out += line + "\n";
    }
    if (table.rows.empty()) out += "(none)\n";
    for (const auto& line : lines_in(note_text(table), table.width)) out += dim(line) + "\n";
  }

  // Lines of the terminal, else `width` wide (0: as wide as it is); none of no text.
  [[nodiscard]] std::vector<std::string> lines_in(const std::string& text, int width,
                                                  int indent = 0) const {
    if (text.empty()) return {};
    const std::string shown = visible(text);
    const int room = style_.width > 0 ? style_.width : width;
    if (room <= 0 || display_width(shown) <= room) return {shown};
    const std::size_t blanks = std::min(shown.find_first_not_of(' '), shown.size());
    auto lines = broken(shown.substr(blanks), room - static_cast<int>(blanks), indent);
    for (auto& line : lines) line.insert(0, blanks, ' ');
    return lines;
  }

  [[nodiscard]] std::string bold(const std::string& text) const { return coded("1", text); }
  [[nodiscard]] std::string dim(const std::string& text) const { return coded("2", text); }

  std::string out;

 private:
  [[nodiscard]] std::string coded(const char* code, const std::string& text) const {
    return style_.color ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  }

  // Widths of the columns. Where they are too wide for the terminal: headings go on in a second
  // line, then text that wraps does, then the widest columns of text lose the middle of their
  // cells, as far as these remain different.
  std::vector<int> fit(const std::vector<std::string>& head,
                       std::vector<std::vector<std::string>>& cells, const Table& table) const {
    const auto& columns = table.columns;
    std::vector<int> widths;
    std::vector<int> least;
    std::vector<int> with_unit;  // the same with the unit of a heading beside its last word
    for (std::size_t c = 0; c < columns.size(); ++c) {
      int inside = 0;
      for (const auto& line : cells)
        inside = std::max(inside, c < line.size() ? display_width(line[c]) : 0);
      widths.push_back(std::max(inside, display_width(head[c])));
      const int word = longest_word(head[c]);
      const bool text = !columns[c].numeric && (!columns[c].whole || columns[c].wrap);
      if (text) inside = std::min(inside, columns[c].wrap ? kNarrowestWrap : kNarrowest);
      least.push_back(std::min(widths[c], std::max(inside, word)));
      with_unit.push_back(
          std::min(widths[c], std::max(inside, longest_word(joined_unit(head[c])))));
    }
    const int limit = style_.width > 0 ? style_.width : table.width;
    if (limit <= 0) {
      // No terminal: whole lines, but a mangled kernel name must not make one of 900 columns.
      for (std::size_t c = 0; c < widths.size(); ++c) {
        if (!columns[c].numeric && !columns[c].whole && !columns[c].wrap)
          widths[c] = std::min(widths[c], kWidestInFile);
      }
    } else {
      int total = kGutter * (static_cast<int>(widths.size()) - 1);
      for (const int width : widths) total += width;
      const auto narrow = [&](auto which, const std::vector<int>& down_to) {
        while (total > limit) {
          std::size_t widest = columns.size();
          for (std::size_t c = 0; c < columns.size(); ++c) {
            if (widths[c] > down_to[c] && which(c) &&
                (widest == columns.size() || widths[c] > widths[widest]))
              widest = c;
          }
          if (widest == columns.size()) return;
          --widths[widest];
          --total;
        }
      };
      const auto fixed = [&](std::size_t c) {
        return columns[c].numeric || (columns[c].whole && !columns[c].wrap);
      };
      narrow(fixed, with_unit);
      narrow([&](std::size_t c) { return columns[c].wrap; }, least);
      narrow([&](std::size_t c) { return !fixed(c); }, least);
      narrow(fixed, least);
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (!columns[c].numeric && !columns[c].whole && !columns[c].wrap)
        shorten(cells, c, widths[c]);
    }
    return widths;
  }

  // A table that is too wide still: text that may not lose anything, or of which nothing shorter
  // tells apart, goes on in further lines, the widest column first.
  // Settings ("1410 MHz, 300 W") break at their commas alone.
  void wrap_rest(const std::vector<std::string>& head, std::vector<std::vector<std::string>>& cells,
                 const Table& table, std::vector<int>& widths, std::vector<Column>& shown) const {
    const int limit = style_.width > 0 ? style_.width : table.width;
    if (limit <= 0) return;
    int total = kGutter * (static_cast<int>(widths.size()) - 1);
    for (const int width : widths) total += width;
    if (total <= limit) return;
    for (const bool anywhere : {false, true}) {
      std::vector<int> least;
      least.reserve(widths.size());
      for (std::size_t c = 0; c < widths.size(); ++c)
        least.push_back(least_of(head, cells, c, shown[c], widths[c], anywhere));
      while (total > limit) {
        std::size_t widest = widths.size();
        for (std::size_t c = 0; c < widths.size(); ++c) {
          if (widths[c] > least[c] && (widest == widths.size() || widths[c] > widths[widest]))
            widest = c;
        }
        if (widest == widths.size()) break;
        --widths[widest];
        --total;
        shown[widest].wrap = true;
      }
    }
  }

  // How narrow a column may get. `anywhere`: settings break at blanks too, and names within words.
  static int least_of(const std::vector<std::string>& head,
                      std::vector<std::vector<std::string>>& cells, std::size_t column,
                      const Column& shown, int width, bool anywhere) {
    if (shown.numeric) return width;
    const bool setting = shown.whole && !shown.wrap;
    const int title = longest_word(head[column]);
    int word = 0;
    for (auto& line : cells) {
      if (column >= line.size()) continue;
      std::string& cell = line[column];
      if (anywhere) std::ranges::replace(cell, kJoin, ' ');
      if (setting && !anywhere) cell = joined_parts(cell);
      word = std::max(word, longest_word(cell));
    }
    if (anywhere && !shown.whole) word = std::min(word, kNarrowestWrap);
    return std::min(std::max({title, word, shown.whole ? 0 : kNarrowest}), width);
  }

  static int longest_word(const std::string& text) {
    int longest = 0;
    for (const auto& word : wrapped(text, 1)) longest = std::max(longest, display_width(word));
    return longest;
  }
  // "time at baseline (x)" with its unit as part of the last word: nothing visible is below ' '.
  static std::string joined_unit(std::string heading) {
    const auto at = heading.rfind(" (");
    if (at != std::string::npos) heading[at] = kJoin;
    return heading;
  }
  static std::string joined_parts(std::string cell) {
    for (std::size_t i = 0; i < cell.size(); ++i) {
      if (cell[i] == ' ' && (i == 0 || cell[i - 1] != ',')) cell[i] = kJoin;
    }
    return cell;
  }
  static std::vector<std::string> wrapped_heading(const std::string& heading, int width) {
    const std::string joined = joined_unit(heading);
    if (longest_word(joined) > width) return wrapped(heading, width);
    auto lines = wrapped(joined, width);
    for (auto& line : lines) std::ranges::replace(line, kJoin, ' ');
    return lines;
  }

  // The cells of a column in `width`; wider where two that differ would look alike.
  void shorten(std::vector<std::vector<std::string>>& cells, std::size_t column, int& width) const {
    std::vector<std::string> texts;
    texts.reserve(cells.size());
    for (const auto& line : cells) texts.push_back(column < line.size() ? line[column] : "");
    texts = shortened_apart(texts, width, style_.unicode);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      width = std::max(width, display_width(texts[i]));
      if (column < cells[i].size()) cells[i][column] = std::move(texts[i]);
    }
  }

  [[nodiscard]] static std::vector<std::string> lines_of(const std::vector<std::string>& cells,
                                                         const std::vector<int>& widths,
                                                         const std::vector<Column>& columns,
                                                         bool head) {
    std::vector<std::vector<std::string>> parts;
    std::size_t height = 1;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      parts.push_back(head              ? wrapped_heading(cells[c], widths[c])
                      : columns[c].wrap ? broken(cells[c], widths[c])
                                        : std::vector{cells[c]});
      height = std::max(height, parts.back().size());
    }
    std::vector<std::string> lines;
    for (std::size_t l = 0; l < height; ++l) {
      std::string line;
      for (std::size_t c = 0; c < cells.size(); ++c) {
        if (c > 0) line.append(kGutter, ' ');
        // Headings stand on the rule, what wraps begins beside its row.
        const std::size_t skipped = head ? height - parts[c].size() : 0;
        const bool there = l >= skipped && l - skipped < parts[c].size();
        std::string text = there ? parts[c][l - skipped] : std::string();
        std::ranges::replace(text, kJoin, ' ');
        const auto pad = static_cast<std::size_t>(std::max(0, widths[c] - display_width(text)));
        if (columns[c].numeric) line.append(pad, ' ');
        line += text;
        if (!columns[c].numeric && c + 1 < cells.size()) line.append(pad, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      lines.push_back(std::move(line));
    }
    return lines;
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
  // Sentences are as wide as the tables below them.
  int width = 0;
  for (const auto& table : answer.tables) width = std::max(width, table.width);
  for (const auto& line : terminal.lines_in(answer.headline, width))
    terminal.out += terminal.bold(line) + "\n";
  for (const auto& text : answer.lines) {
    for (const auto& line : terminal.lines_in(text, width, kIndent)) terminal.out += line + "\n";
  }
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
