// Cells, lines and tables of text.
#include "cells.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include "ergon/io.hpp"

namespace ergon::study {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

/// "1,5" where commas do not separate: a decimal comma.
std::string with_point(std::string_view text) {
  std::string out(text);
  const auto comma = out.find(',');
  if (comma != std::string::npos && out.find('.') == std::string::npos &&
      out.find(',', comma + 1) == std::string::npos)
    out[comma] = '.';
  return out;
}

std::size_t number_prefix(std::string_view text) {
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  const std::size_t digits = at;
  while (at < text.size() && (is_digit(text[at]) || text[at] == '.' || text[at] == ',')) ++at;
  if (at == digits) return 0;
  if (at + 1 < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t end = at + 1;
    if (text[end] == '+' || text[end] == '-') ++end;
    if (end < text.size() && is_digit(text[end])) {
      while (end < text.size() && is_digit(text[end])) ++end;
      at = end;
    }
  }
  return at;
}

/// "1e400": written as a number, and beyond what a number can be.
bool overflows(std::string_view cell) {
  const std::size_t end = number_prefix(cell);
  if (end == 0 || (end < 300 && cell.substr(0, end).find_first_of("eE") == cell.npos)) return false;
  std::string digits = with_point(cell.substr(0, end));
  if (digits.front() == '+') digits.erase(0, 1);
  const auto value = io::parse_double(digits);
  return !value || !std::isfinite(*value);
}

/// "1,410" and "1,410,000": commas between groups of three digits.
bool has_thousands(std::string_view cell) {
  const std::size_t comma = cell.find(',');
  if (comma == cell.npos || comma == 0 || comma > 3 || cell.front() == '0') return false;
  if (!std::ranges::all_of(cell.substr(0, comma), is_digit)) return false;
  std::size_t at = comma;
  while (at < cell.size() && cell[at] == ',') {
    if (at + 4 > cell.size() || !std::ranges::all_of(cell.substr(at + 1, 3), is_digit))
      return false;
    at += 4;
  }
  return at == cell.size() || (!is_digit(cell[at]) && cell[at] != ',');
}

/// Takes commas out of thousands where the column shows that they are none of decimals: a clock in
/// MHz, or whole numbers beside them in a table that commas separate.
void join_thousands(RawTable& table) {
  bool points = false;
  for (const auto& row : table.rows) {
    for (const auto& cell : row) {
      if (!is_number(cell)) continue;
      points = points || cell.find('.') != cell.npos;
      // One decimal comma, and all are.
      if (cell.find(',') != cell.npos && !has_thousands(cell)) return;
    }
  }
  for (std::size_t c = 0; c < table.rows.front().size(); ++c) {
    const std::string head = c < table.header.size() ? lower(table.header[c]) : std::string();
    const bool clock = head.find("mhz") != head.npos || head.find("khz") != head.npos;
    std::uint64_t grouped = 0;
    bool whole = false;
    for (const auto& row : table.rows) {
      grouped += has_thousands(row[c]) ? 1 : 0;
      whole = whole || (row[c].find_first_of(".,") == row[c].npos && is_number(row[c]));
    }
    const bool ghz = head.find("ghz") != head.npos;
    if (grouped == 0 || ghz || !(clock || (table.separator == ',' && (points || whole)))) continue;
    table.thousands += grouped;
    for (auto& row : table.rows) {
      if (has_thousands(row[c])) std::erase(row[c], ',');
    }
  }
}

/// The last line has no end: whether its last figure was cut, being shorter and much smaller than
/// all the others of its column.
bool last_figure_cut(const RawTable& table) {
  if (table.rows.size() < 3) return false;
  const std::string& last = table.rows.back().back();
  const Maybe value = number_of(last);
  if (!value) return false;
  for (std::size_t i = 0; i + 1 < table.rows.size(); ++i) {
    const std::string& other = table.rows[i].back();
    const Maybe v = number_of(other);
    if (v && (other.size() <= last.size() || std::abs(*v) < 4 * std::abs(*value))) return false;
  }
  return true;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_digit(c) || is_letter(c)) out += c;
  }
  return lower(out);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_missing(std::string_view cell) {
  static constexpr std::array<std::string_view, 18> kWords = {"",
                                                              "-",
                                                              "--",
                                                              "n/a",
                                                              "na",
                                                              "nan",
                                                              "none",
                                                              "null",
                                                              "err!",
                                                              "not supported",
                                                              "unknown error",
                                                              "inf",
                                                              "-inf",
                                                              "missing",
                                                              "+inf",
                                                              "infinity",
                                                              "-infinity",
                                                              "#n/a"};
  std::string word = lower(trimmed(cell));
  if (word.size() > 2 && word.front() == '[' && word.back() == ']') {
    word = word.substr(1, word.size() - 2);
    if (!is_number(word)) return true;  // [Insufficient Permissions] and what drivers add
  }
  return std::ranges::find(kWords, word) != kWords.end() || overflows(trimmed(cell));
}

Maybe number_of(std::string_view cell, std::string* unit) {
  cell = trimmed(cell);
  if (is_missing(cell)) return {};
  const std::size_t end = number_prefix(cell);
  if (end == 0) return {};
  std::string_view rest = trimmed(cell.substr(end));
  // "400 +- 4": what follows says how sure it is.
  for (const std::string_view mark : {"\xc2\xb1", "+-", "+/-"}) {
    if (!rest.starts_with(mark)) continue;
    const std::string_view spread = trimmed(rest.substr(mark.size()));
    const std::size_t digits = number_prefix(spread);
    if (digits == 0) return {};
    rest = trimmed(spread.substr(digits));
    break;
  }
  const bool plain_unit = rest.size() <= 6 && std::ranges::all_of(rest, [](char c) {
                            return is_letter(c) || c == '%' || c == '/';
                          });
  if (!plain_unit) return {};
  std::string digits = with_point(cell.substr(0, end));
  if (digits.front() == '+') digits.erase(0, 1);
  if (unit != nullptr) *unit = std::string(rest);
  return io::parse_double(digits);
}

bool is_number(std::string_view cell) {
  std::string unit;
  return number_of(cell, &unit).has_value() && unit.empty();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> split_line(std::string_view line, char separator) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  const auto skip_spaces = [&] {
    while (at < line.size() && is_space(line[at]) && line[at] != separator) ++at;
  };
  if (separator == ' ') {
    for (;;) {
      skip_spaces();
      while (at < line.size() && is_space(line[at])) ++at;
      if (at >= line.size()) return cells;
      const std::size_t begin = at;
      while (at < line.size() && !is_space(line[at])) ++at;
      cells.emplace_back(line.substr(begin, at - begin));
    }
  }
  for (;;) {
    skip_spaces();
    std::string cell;
    if (at < line.size() && line[at] == '"') {
      ++at;
      while (at < line.size()) {
        if (line[at] == '"') {
          if (at + 1 >= line.size() || line[at + 1] != '"') break;
          ++at;
        }
        cell += line[at++];
      }
      if (at < line.size()) ++at;
    }
    while (at < line.size() && line[at] != separator) cell += line[at++];
    cells.emplace_back(trimmed(cell));
    if (at >= line.size()) return cells;
    ++at;
  }
}

char separator_of(const std::vector<std::string_view>& lines) {
  char best = ',';
  double best_score = 0;
  for (const char candidate : {',', ';', '\t', '|', ' '}) {
    std::map<std::size_t, std::size_t> widths;
    std::size_t looked = 0;
    for (const auto line : lines) {
      if (trimmed(line).empty()) continue;
      if (++looked > 200) break;
      ++widths[split_line(line, candidate).size()];
    }
    double score = 0;
    for (const auto& [width, count] : widths) {
      if (width > 1)
        score = std::max(score, static_cast<double>(count) * (candidate == ' ' ? 0.3 : 1.0));
    }
    if (score > best_score * 1.01) {
      best_score = score;
      best = candidate;
    }
  }
  return best;
}

RawTable parse_table(std::string_view text) {
  RawTable table;
  const bool whole_last_line = text.empty() || text.back() == '\n';
  std::vector<std::string_view> lines = lines_of(text);
  std::vector<std::pair<std::uint64_t, std::string_view>> kept;
  std::optional<char> said;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (line.empty() || line.front() == '#') continue;
    if (kept.empty() && lower(line).starts_with("sep=") && line.size() == 5) {
      said = line[4];
      continue;
    }
    kept.emplace_back(i + 1, lines[i]);
  }
  if (kept.empty()) return table;
  std::vector<std::string_view> sample;
  sample.reserve(kept.size());
  for (const auto& [number, line] : kept) sample.push_back(line);
  table.separator = said ? *said : separator_of(sample);
  // The width that most lines have is the table's; what stands before the first such line is not
  // part of it.
  std::map<std::size_t, std::size_t> widths;
  std::vector<std::vector<std::string>> cells;
  cells.reserve(kept.size());
  for (const auto& [number, line] : kept) {
    cells.push_back(split_line(line, table.separator));
    ++widths[cells.back().size()];
  }
  std::size_t width = 1;
  std::size_t most = 0;
  for (const auto& [w, count] : widths) {
    if (count >= most) {
      most = count;
      width = w;
    }
  }
  bool begun = false;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    auto& row = cells[i];
    if (row.size() == width + 1 && row.back().empty()) row.pop_back();  // a comma at the end
    if (row.size() != width) {
      const bool last = i + 1 == cells.size();
      if (begun && last && !whole_last_line && row.size() < width) {
        table.truncated = true;
      } else {
        ++table.ragged;
      }
      continue;
    }
    if (!begun) {
      begun = true;
      const bool names = std::ranges::none_of(row, [](const auto& c) { return is_number(c); });
      // A wide matrix has clocks in its header: its first cell is a word, and the next row's too.
      const bool matrix_head = !is_number(row.front()) && i + 1 < cells.size() &&
                               !is_number(cells[i + 1].front()) && width > 3 &&
                               lower(row.front()).find_first_of("0123456789") == std::string::npos;
      if (names || matrix_head) {
        table.header = std::move(row);
        continue;
      }
    }
    table.rows.push_back(std::move(row));
    table.lines.push_back(kept[i].first);
  }
  if (table.rows.empty()) return table;
  table.open_end = !whole_last_line && table.lines.back() == kept.back().first;
  if (table.open_end && last_figure_cut(table)) {
    table.rows.pop_back();
    table.lines.pop_back();
    table.truncated = true;
    table.open_end = false;
  }
  join_thousands(table);
  return table;
}

std::string stem_of(std::string_view path) {
  const auto slash = path.find_last_of("/\\");
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  for (const std::string_view ending : {".gz", ".zst", ".csv", ".txt", ".json", ".tsv", ".dat"}) {
    if (path.size() > ending.size() && path.ends_with(ending)) path.remove_suffix(ending.size());
  }
  return std::string(path);
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  std::string word;
  const auto close = [&] {
    if (!word.empty()) words.push_back(lower(word));
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_letter(c) && !is_digit(c) && c != '%') {
      close();
      continue;
    }
    const bool hump =
        !word.empty() && is_upper(c) && !is_upper(word.back()) && !is_digit(word.back());
    if (hump) close();
    word += c;
  }
  close();
  return words;
}

}  // namespace ergon::study
