// CSV, Markdown and OpenMetrics.
#include <algorithm>
#include <array>
#include <cmath>

#include "ergon/report.hpp"
#include "text.hpp"

namespace ergon::report {
namespace {

constexpr int kLongest = 90;  // of a cell of Markdown: mangled names have hundreds of characters

// "clock response" (%) -> clock_response_percent: a header that a program can name.
std::string key_of(const Column& column) {
  std::string key;
  const auto add = [&key](std::string_view text) {
    for (const char c : text) {
      const bool upper = c >= 'A' && c <= 'Z';
      const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || upper;
      if (plain) {
        key += upper ? static_cast<char>(c - 'A' + 'a') : c;
      } else if (!key.empty() && key.back() != '_') {
        key += '_';
      }
    }
  };
  add(column.title);
  if (!column.unit.empty()) {
    key += '_';
    add(column.unit == "%" ? "percent" : column.unit);
  }
  while (!key.empty() && key.back() == '_') key.pop_back();
  return key;
}

// Names whole, numbers as data_text writes them; unknown is an empty cell.
std::string csv_cell(const Value& value) {
  if (value.is_null()) return "";
  if (const auto* s = value.as_string()) return io::csv_field(io::valid_utf8(*s));
  const auto text = data_text(value);
  return text == "null" ? "" : io::csv_field(text);
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '|':
      case '\\':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
        out += '\\';
        out += c;
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void flatten(const Value& value, const std::string& path,
             std::vector<std::pair<std::string, const Value*>>& out) {
  if (const auto* members = value.as_object()) {
    for (const auto& [key, member] : *members) {
      std::string inner = path;
      if (!inner.empty()) inner += '.';
      inner += key;
      flatten(member, inner, out);
    }
  } else if (value.as_array() == nullptr) {
    out.emplace_back(path, &value);
  }
}

// OpenMetrics names end in the base unit: energy_j -> energy_joules.
std::string metric_name(std::string path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kUnits = {
      {{"_s", "_seconds"},
       {"_j", "_joules"},
       {"_w", "_watts"},
       {"_hz", "_hertz"},
       {"_ns", "_nanoseconds"}}};
  for (char& c : path) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!plain) c = '_';
  }
  for (const auto& [suffix, unit] : kUnits) {
    if (!path.ends_with(suffix)) continue;
    path.replace(path.size() - suffix.size(), suffix.size(), unit);
    break;
  }
  return path;
}

}  // namespace

std::string to_csv(const Answer& answer, const Envelope& envelope) {
  if (!answer.csv.empty()) return answer.csv;
  std::string out;
  for (const auto& table : answer.tables) {
    // One table alone is a plain file; of several each has its title, and all figures follow.
    if (answer.tables.size() > 1) {
      const auto note = note_text(table);
      out += (out.empty() ? "# " : "\n# ") + visible(table.title) +
             (note.empty() ? "" : " (" + visible(note) + ")") + "\n";
    }
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      out += (c > 0 ? "," : "") + key_of(table.columns[c]);
    out += "\n";
    for (const auto& row : table.rows) {
      for (std::size_t c = 0; c < row.size(); ++c) out += (c > 0 ? "," : "") + csv_cell(row[c]);
      out += "\n";
    }
  }
  if (answer.tables.size() == 1) return out;
  const Value whole = document(answer, envelope);
  std::vector<std::pair<std::string, const Value*>> figures;
  flatten(whole, "", figures);
  out += out.empty() ? "name,value\n" : "\n# Figures\nname,value\n";
  for (const auto& [name, value] : figures)
    out += io::csv_field(name) + "," + csv_cell(*value) + "\n";
  return out;
}

std::string to_markdown(const Answer& answer, const Envelope& envelope) {
  std::string out = "**" + markdown_cell(visible(answer.headline)) + "**\n";
  for (const auto& line : answer.lines) out += "\n" + markdown_cell(visible(line)) + "\n";
  for (const auto& given : answer.tables) {
    const Table table = in_short_units(given);
    out += "\n### " + markdown_cell(visible(table.title)) + "\n\n|";
    for (const auto& column : table.columns) out += " " + markdown_cell(heading(column)) + " |";
    out += "\n|";
    for (const auto& column : table.columns) out += column.numeric ? "---:|" : "---|";
    out += "\n";
    for (const auto& row : table.rows) {
      out += "|";
      for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
        const auto text = cell_text(row[c], table.columns[c], "\u2013");
        out += " " +
               markdown_cell(table.columns[c].whole ? text : shortened(text, kLongest, true)) +
               " |";
      }
      out += "\n";
    }
    const auto note = note_text(table);
    if (!note.empty()) out += "\n" + markdown_cell(visible(note)) + "\n";
  }
  if (!envelope.warnings.empty()) out += "\n### Warnings\n\n";
  for (const auto& warning : envelope.warnings) {
    out += "- " + markdown_cell(visible(warning.message)) +
           (warning.count > 1 ? " (" + std::to_string(warning.count) + " times)" : std::string()) +
           "\n";
  }
  out += "\n<sub>ergon " + envelope.version;
  for (const auto& input : envelope.inputs) {
    out += "; " + markdown_cell(visible(input.path)) + " (" + markdown_cell(visible(input.format)) +
           ", " + std::to_string(input.bytes) + " bytes, XXH3 " + input.digest + ")";
  }
  return out + "</sub>\n";
}

std::string to_openmetrics(const Answer& answer, const Envelope& envelope) {
  std::vector<std::pair<std::string, const Value*>> figures;
  flatten(answer.data, "", figures);
  std::string out =
      "# TYPE ergon_build info\nergon_build_info{version=\"" + envelope.version + "\"} 1\n";
  for (const auto& [path, value] : figures) {
    double number = 0;
    if (const auto* i = value->as_int()) {
      number = static_cast<double>(*i);
    } else if (const auto* d = value->as_double(); d != nullptr && std::isfinite(*d)) {
      number = *d;
    } else {
      continue;  // unknown figures have no sample
    }
    std::string key = "ergon_";
    key.append(answer.command).append("_").append(path);
    const auto name = metric_name(std::move(key));
    out.append("# TYPE ").append(name).append(" gauge\n");
    out.append(name).append(" ").append(io::to_json(Value(number), 0)).append("\n");
  }
  return out + "# EOF\n";
}

}  // namespace ergon::report
