// The static parts of the page: readable without a script, printable, searchable.
#include "html_parts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ergon/report/page.hpp"
#include "text.hpp"

namespace ergon::report {
namespace {

constexpr int kPartColors = 8;

const Value::Array& array_of(const Value& value, std::string_view key) {
  static const Value::Array empty;
  const Value* member = value.find(key);
  const auto* items = member == nullptr ? nullptr : member->as_array();
  return items == nullptr ? empty : *items;
}

std::string string_of(const Value& value, std::string_view key) {
  const Value* member = value.find(key);
  const auto* text = member == nullptr ? nullptr : member->as_string();
  return text == nullptr ? std::string() : *text;
}

std::optional<double> number(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* i = value->as_int()) return static_cast<double>(*i);
  if (const auto* d = value->as_double(); d != nullptr && std::isfinite(*d)) return *d;
  return std::nullopt;
}

std::optional<double> number_of(const Value& value, std::string_view key) {
  return number(value.find(key));
}

std::string section(std::string_view classes, std::string_view title, const std::string& body,
                    std::string_view attributes = "") {
  return "<section class=\"panel " + std::string(classes) + "\"" + std::string(attributes) +
         ">\n<h2>" + html_text(title) + "</h2>\n" + body + "</section>\n";
}

// Names longer than this lose their middle where the page is narrow; the last part is always seen.
constexpr std::size_t kLongName = 48;
constexpr std::size_t kSeenEnd = 18;

// The text in two parts: the style sheet shortens the first to the room there is. Nothing is lost
// for search and copy.
std::string cut_html(std::string_view text) {
  std::size_t at = text.size() - kSeenEnd;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80) --at;
  return "<div class=\"cut\"><span>" + html_text(text.substr(0, at)) + "</span><span>" +
         html_text(text.substr(at)) + "</span></div>";
}

// A cell carries its whole value (data-v) for sorting and copying, and its unit.
std::string cell(const Value& value, const Column& column, std::string_view before = {}) {
  const bool known =
      !value.is_null() && (value.as_double() == nullptr || std::isfinite(*value.as_double()));
  const auto shown = cell_text(value, column, "\u2013");
  const bool is_long = value.as_string() != nullptr && shown.size() > kLongName && !column.whole;
  std::string out = "<td";
  std::string classes = column.numeric ? "num" : is_long ? "long" : column.whole ? "whole" : "";
  if (!known) classes += classes.empty() ? "unknown" : " unknown";
  if (!classes.empty()) out += " class=\"" + classes + "\"";
  if (column.numeric)
    out += " data-v=\"" + (known ? html_text(data_text(value)) : std::string()) + "\"";
  if (column.numeric && !column.unit.empty()) out += " data-u=\"" + html_text(column.unit) + "\"";
  if (is_long) out += " title=\"" + html_text(shown) + "\"";
  return out + ">" + std::string(before) + (is_long ? cut_html(shown) : html_text(shown)) + "</td>";
}

struct TableStyle {
  std::vector<std::string> presets = {};  ///< per column: the name of the button that orders by it
  bool code = false;                      ///< the first column holds names of code
  bool keys = false;                      ///< the rows are the parts of the bars above
};

std::string table_html(const Table& given, const TableStyle& style = {}) {
  const Table table = in_short_units(given);
  std::string out =
      "<div class=\"toolbar-place\"></div>\n<div class=\"table-box\" tabindex=\"0\" "
      "role=\"region\" "
      "aria-label=\"" +
      html_text(table.title) + "\"><table data-title=\"" + html_text(table.title) +
      (style.code ? "\" class=\"code" : "") + "\">\n<thead><tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    out += std::string("<th scope=\"col\"") + (column.numeric ? " class=\"num\"" : "");
    if (c < style.presets.size() && !style.presets[c].empty()) {
      out += " data-preset=\"" + html_text(style.presets[c]) + "\"";
    }
    out += ">" + html_text(heading(column)) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& row = table.rows[r];
    out += "<tr>";
    for (std::size_t c = 0; c < row.size() && c < table.columns.size(); ++c) {
      const bool keyed = style.keys && c == 0;
      out += cell(row[c], table.columns[c],
                  keyed ? "<span class=\"key c" + std::to_string(r % kPartColors) + "\"></span>"
                        : std::string());
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (!table.note.empty()) out += "<p class=\"muted\">" + html_text(table.note) + "</p>\n";
  return out;
}

struct Part {
  std::string name;
  double amount = 0;
};

std::vector<Part> parts_of(const Value& bar) {
  std::vector<Part> parts;
  for (const auto& item : array_of(bar, "parts")) {
    const auto* pair = item.as_array();
    if (pair == nullptr || pair->size() != 2 || (*pair)[0].as_string() == nullptr) continue;
    parts.push_back({*(*pair)[0].as_string(), number(&(*pair)[1]).value_or(0)});
  }
  return parts;
}

double sum_of(const std::vector<Part>& parts) {
  double sum = 0;
  for (const auto& part : parts) sum += part.amount;
  return sum;
}

// The colour of a part of a bar: by place, or by how certain its word is.
std::string part_class(std::size_t index, const std::string& name, bool by_certainty) {
  if (!by_certainty) return "c" + std::to_string(index % kPartColors);
  if (name == "recorded" || name == "measured") return "k0";
  if (name == "inferred" || name == "shapes" || name == "fitted" || name == "published")
    return "k1";
  if (name == "class" || name == "modelled" || name == "simulated") return "k2";
  return "k3";
}

// A stacked bar `share` of the width long.
std::string bar_html(const std::vector<Part>& parts, double share, const std::string& label,
                     bool by_certainty) {
  const double sum = sum_of(parts);
  std::string out = "<div class=\"bar\" role=\"img\" aria-label=\"" + html_text(label) +
                    "\" style=\"width:" + number_text(100 * share, 4) + "%\">";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].amount <= 0 || sum <= 0) continue;
    const double percent = 100 * parts[i].amount / sum;
    out += "<span class=\"" + part_class(i, parts[i].name, by_certainty) +
           "\" style=\"width:" + number_text(percent, 4) + "%\" title=\"" +
           html_text(parts[i].name) + ": " + number_text(percent, 3) + " %\"></span>";
  }
  return out + "</div>";
}

std::string energy_html(const Value& page) {
  const auto& bars = array_of(page, "energy_components");
  double largest = 0;
  for (const auto& bar : bars) largest = std::max(largest, sum_of(parts_of(bar)));
  if (largest <= 0) return {};
  std::string out = "<div class=\"bars\">\n";
  Table table{.title = "Energy by component",
              .columns = {{.title = "component", .numeric = false}},
              .rows = {}};
  for (const auto& bar : bars) {
    const auto parts = parts_of(bar);
    const double sum = sum_of(parts);
    const auto label = string_of(bar, "label");
    out += "<div>" + html_text(label) + "</div><div>" +
           bar_html(parts, sum / largest, label, false) +
           "</div><div class=\"total\" data-u=\"J\">" + number_text(sum, 4) + " J</div>\n";
    table.columns.push_back({.title = label, .unit = "J"});
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i >= table.rows.size()) table.rows.push_back({parts[i].name});
      table.rows[i].resize(table.columns.size() - 1);
      table.rows[i].emplace_back(parts[i].amount);
    }
  }
  for (auto& row : table.rows) row.resize(table.columns.size());
  return out + "</div>\n" + table_html(table, {.keys = true});
}

// Packs and clocks only where there are any.
std::string timeline_title(const Value& timeline) {
  bool packs = false;
  bool path = false;
  for (const auto& gpu : array_of(timeline, "gpus")) {
    packs = packs || !array_of(gpu, "packs").empty();
    path = path || string_of(gpu, "id").empty();
  }
  if (packs) return "Timeline: streams, packs and clocks";
  return path ? "Timeline: critical path and streams" : "Timeline: streams";
}

bool has_value(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
    const auto* text = row[column].as_string();
    return text == nullptr ? !row[column].is_null() : !text->empty();
  });
}

// Columns in which nothing is known say nothing.
void drop_empty_columns(Table& table, std::vector<std::string>& presets) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    if (has_value(table, c)) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.columns.erase(table.columns.begin() + at);
    presets.erase(presets.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

// A figure without a unit is a count where it is whole.
std::string figure_text(double value, const std::string& unit, int significant) {
  const bool whole = unit.empty() && value == std::floor(value) && std::fabs(value) < 1e15;
  return whole ? std::to_string(static_cast<long long>(value)) : number_text(value, significant);
}

}  // namespace

Value empty_page() { return to_value(Page{}); }

std::string html_answer(const Answer& answer, const Envelope& envelope) {
  std::string out = "<h1>" + html_text(answer.headline) + "</h1>\n<div class=\"lines\">\n";
  for (const auto& line : answer.lines) out += "<p>" + html_text(line) + "</p>\n";
  out += "</div>\n";
  if (!envelope.warnings.empty()) {
    out += "<ul class=\"warnings\">";
    for (const auto& warning : envelope.warnings) {
      out +=
          "<li>" + html_text(warning.message) +
          (warning.count > 1 ? " (" + std::to_string(warning.count) + " times)" : std::string()) +
          "</li>";
    }
    out += "</ul>\n";
  }
  const auto& figures = array_of(answer.page, "figures");
  if (figures.empty()) return out;
  out += "<dl class=\"figures\">\n";
  for (const auto& figure : figures) {
    const auto value = number_of(figure, "value");
    const auto unit = string_of(figure, "unit");
    const int digits = static_cast<int>(number_of(figure, "significant").value_or(4));
    out += "<div><dt>" + html_text(string_of(figure, "label")) +
           "</dt><dd class=\"value\" data-u=\"" + html_text(unit) + "\">" +
           (value ? figure_text(*value, unit, digits) : std::string("\u2013")) +
           (unit.empty() ? "" : " <small>" + html_text(unit) + "</small>") +
           "</dd><dd class=\"note\">" + html_text(string_of(figure, "note")) + "</dd></div>\n";
  }
  return out + "</dl>\n";
}

std::string html_charts(const Value& page) {
  const auto energy = energy_html(page);
  const Value* frontier = page.find("frontier");
  const bool has_frontier = frontier != nullptr && !frontier->is_null();
  std::string out = "<div class=\"grid\">\n";
  // Until the script fills them these two are hidden: without it their figures stand in the tables.
  if (has_frontier) {
    out += section(energy.empty() ? "" : "wide", "Time against energy",
                   "<div id=\"frontier\"></div>\n", " hidden");
  }
  if (!energy.empty()) out += section(has_frontier ? "narrow" : "", "Energy by component", energy);
  out += "</div>\n";
  const Value* study = page.find("study");
  if (study != nullptr && !study->is_null()) {
    // The tables below hold the same figures.
    out += section("", "Energy and time", "<div id=\"study-curves\"></div>\n", " hidden");
    out += section("", "Savings", "<div id=\"study-bars\"></div>\n", " hidden");
    out += section("", "Energy over two settings", "<div id=\"study-heat\"></div>\n", " hidden");
  }
  const Value* sweep = page.find("sweep");
  if (sweep != nullptr && !sweep->is_null())
    out += section("", "Time and energy of the points", "<div id=\"sweep\"></div>\n", " hidden");
  const Value* timeline = page.find("timeline");
  if (timeline != nullptr && !timeline->is_null()) {
    out += section("", timeline_title(*timeline), "<div id=\"timeline\"></div>\n", " hidden");
  }
  return out;
}

std::string html_kernels(const Value& page) {
  const auto& kernels = array_of(page, "kernels");
  if (kernels.empty()) return {};
  double time_sum = 0;
  double energy_sum = 0;
  for (const auto& kernel : kernels) {
    time_sum += number_of(kernel, "time_s").value_or(0);
    energy_sum += number_of(kernel, "energy_j").value_or(0);
  }
  const bool has_energy = energy_sum > 0;
  Table table{.title = "Kernels",
              .columns = {{.title = "kernel", .numeric = false},
                          {.title = "kind", .numeric = false},
                          {.title = "count"},
                          {.title = "time", .unit = "ms"},
                          {.title = "share of time", .unit = "%", .significant = 3},
                          {.title = "energy", .unit = "J"},
                          {.title = "share of energy", .unit = "%", .significant = 3},
                          {.title = "least slack", .unit = "ms"},
                          {.title = "clock response", .unit = "%", .significant = 3},
                          {.title = "known from", .numeric = false}},
              .rows = {}};
  for (const auto& kernel : kernels) {
    const auto scaled = [&kernel](std::string_view key, double factor) {
      const auto value = number_of(kernel, key);
      return value ? Value(*value * factor) : Value();
    };
    const Value* count = kernel.find("count");
    table.rows.push_back(
        {string_of(kernel, "name"), string_of(kernel, "kind"), count == nullptr ? Value() : *count,
         scaled("time_s", 1e3), scaled("time_s", time_sum > 0 ? 100 / time_sum : 0),
         scaled("energy_j", 1), has_energy ? scaled("energy_j", 100 / energy_sum) : Value(),
         scaled("slack_s", 1e3), scaled("sensitivity", 100), string_of(kernel, "origin")});
  }
  const auto left_out = number_of(page, "kernels_left_out").value_or(0);
  std::vector<std::string> presets = {"",
                                      "",
                                      "",
                                      has_energy ? "" : "Time",
                                      "",
                                      has_energy ? "Energy" : "",
                                      "",
                                      "Slack",
                                      "Clock response",
                                      ""};
  const bool has_response = has_value(table, 8);
  drop_empty_columns(table, presets);
  table.note =
      has_response ? "Clock response: the share of a kernel's time that goes as 1/clock. " : "";
  table.note += "Least slack: of its launches.";
  if (left_out > 0)
    table.note += " " + number_text(left_out, 15) + " further kernels are not on this page.";
  const auto of = string_of(page, "kernels_of");
  return section("long", of.empty() ? "Kernels" : "Kernels of " + of,
                 table_html(table, {.presets = std::move(presets), .code = true}));
}

std::string html_tables(const Answer& answer) {
  // Two small tables in a row stand side by side.
  const auto small = [&](std::size_t i) {
    return i < answer.tables.size() && answer.tables[i].columns.size() <= 4 &&
           answer.tables[i].rows.size() <= 12;
  };
  std::string out = "<div class=\"grid\">\n";
  for (std::size_t i = 0; i < answer.tables.size(); ++i) {
    const auto& table = answer.tables[i];
    if (small(i) && small(i + 1)) {
      const auto& next = answer.tables[++i];
      out += section("half", table.title, table_html(table)) +
             section("half", next.title, table_html(next));
    } else {
      out += section("long", table.title, table_html(table));
    }
  }
  return out + "</div>\n";
}

std::string html_coverage(const Value& page) {
  const auto& bars = array_of(page, "coverage");
  if (bars.empty()) return {};
  std::string out;
  for (const auto& bar : bars) {
    const auto parts = parts_of(bar);
    const double sum = sum_of(parts);
    out += "<div class=\"coverage\"><h3>" + html_text(string_of(bar, "title")) +
           " <span>share of " + html_text(string_of(bar, "base")) + "</span></h3>\n" +
           bar_html(parts, 1, string_of(bar, "title"), true) + "\n<ul class=\"legend\">";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double percent = sum > 0 ? 100 * parts[i].amount / sum : 0;
      out += "<li><span class=\"key " + part_class(i, parts[i].name, true) + "\"></span>" +
             html_text(parts[i].name) + " <b>" + number_text(percent, 3) + " %</b></li>";
    }
    out += "</ul>\n";
    const auto note = string_of(bar, "note");
    if (!note.empty()) out += "<p class=\"muted\">" + html_text(note) + "</p>\n";
    out += "</div>\n";
  }
  return section("", "What is known, and how", out);
}

std::string html_provenance(const Envelope& envelope) {
  std::string out = "<dl class=\"facts\">\n<dt>command</dt><dd><code>" +
                    html_text(envelope.command_line) + "</code></dd>\n<dt>version</dt><dd>ergon " +
                    html_text(envelope.version) + "</dd>\n";
  for (const auto& input : envelope.inputs) {
    out += "<dt>input</dt><dd><code>" + html_text(input.path) + "</code> (" +
           html_text(input.format) + ", " + std::to_string(input.bytes) + " bytes, XXH3 <code>" +
           html_text(input.digest) + "</code>)</dd>\n";
  }
  if (!envelope.skipped.empty()) {
    out += "<dt>left out of the input</dt><dd>";
    for (std::size_t i = 0; i < envelope.skipped.size(); ++i) {
      const auto& [reason, count] = envelope.skipped[i];
      out += (i > 0 ? ", " : "") + std::to_string(count) + " " + html_text(skipped_text(reason));
    }
    out += "</dd>\n";
  }
  if (!envelope.origin_shares.empty()) {
    out += "<dt>figures</dt><dd>";
    for (std::size_t i = 0; i < envelope.origin_shares.size(); ++i) {
      const auto& [origin, share] = envelope.origin_shares[i];
      out += (i > 0 ? ", " : "") + number_text(100 * share, 3) + " % " + html_text(origin);
    }
    out += "</dd>\n";
  }
  return section("", "Provenance", out + "</dl>\n");
}

}  // namespace ergon::report
