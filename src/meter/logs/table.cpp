// Tables of cells: nvidia-smi and hl-smi queries, GPU-Z, HWiNFO, pollers' CSV, spreadsheets'
// re-saves.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "logs/reader.hpp"
#include "logs/table_columns.hpp"

namespace ergon::meter::logs {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

std::optional<int> pair_of(const char* p) {
  if (!digit(p[0]) || !digit(p[1])) return std::nullopt;
  return (p[0] - '0') * 10 + (p[1] - '0');
}

// Columns that were aligned with two or more blanks between them (column -t): as tabs.
std::string tabbed(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != ' ' || i + 1 >= line.size() || line[i + 1] != ' ') {
      out += line[i];
      continue;
    }
    while (i + 1 < line.size() && line[i + 1] == ' ') ++i;
    out += '\t';
  }
  return out;
}

char separator_of(std::string_view line) {
  const auto count = [&](char c) { return std::ranges::count(line, c); };
  // Decimal commas outnumber nothing: a line with semicolons is separated by them.
  if (count(';') > 0) return ';';
  if (count(',') > 0) return ',';
  if (count('\t') > 0) return '\t';
  return ',';
}

}  // namespace

struct TableReader::Impl {
  char separator = 0;
  bool separator_said = false;
  bool aligned = false;  // by two or more blanks
  std::string tabs;
  bool decimal_comma = false;
  bool headerless = false;
  std::size_t width = 0;
  bool width_fixed = false;
  std::vector<TableColumn> columns;
  TablePlan plan;
  std::vector<std::string> header;
  std::uint64_t header_line = 0;
  std::vector<std::string_view> cells;
  std::string scratch;
  std::uint64_t rows = 0;
  std::uint64_t pending_line = 0;  // a row of another width that may be the last line
  bool pending_short = false;
  std::string runs;

  // The date of the last stamp, for the many that share it.
  std::string date_text;
  Nanos date_ns = 0;
  bool bare_times = false;  // the last time was a bare number

  std::optional<Stamp> stamp_of(std::string_view text) {
    // 2023/07/30 17:28:02.589
    if (text.size() == 23 && text[19] == '.' && text[13] == ':' && text[16] == ':' &&
        text.substr(0, 11) == date_text) {
      const auto h = pair_of(text.data() + 11);
      const auto m = pair_of(text.data() + 14);
      const auto s = pair_of(text.data() + 17);
      const char* f = text.data() + 20;
      if (h && m && s && *h < 24 && *m < 60 && *s <= 60 && digit(f[0]) && digit(f[1]) &&
          digit(f[2])) {
        const Nanos ms = Nanos{f[0] - '0'} * 100 + Nanos{f[1] - '0'} * 10 + (f[2] - '0');
        return Stamp{Stamp::Kind::kLocal,
                     date_ns + ((*h * Nanos{3600} + *m * Nanos{60} + *s) * 1000 + ms) * 1'000'000};
      }
    }
    const auto& unit = columns[plan.time].field.unit;
    std::optional<double> each;
    if (unit && unit->suffix == "s") each = unit->multiply / unit->divide;
    auto stamp = bare_times ? number_time(text, each, decimal_comma) : wall_time(text);
    if (!stamp) {
      stamp = bare_times ? wall_time(text) : number_time(text, each, decimal_comma);
      if (stamp) bare_times = !bare_times;
    }
    if (stamp && stamp->kind == Stamp::Kind::kLocal && text.size() == 23 && text[10] == ' ') {
      constexpr Nanos kDay = Nanos{86'400} * 1'000'000'000;
      date_text = text.substr(0, 11);
      date_ns = stamp->ns / kDay * kDay;
    }
    return stamp;
  }

  void flush_pending(Builder& out, bool last) {
    if (pending_line == 0) return;
    if (last && pending_short) {
      out.defect(pending_line, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
    } else {
      out.defect(pending_line, "column_count");
      out.skip("lines with another number of cells");
    }
    pending_line = 0;
  }

  // A header, with the plan of its columns. `known` headers hold at least one name of ours.
  void set_header(const Line& line, Builder& out) {
    header.clear();
    for (const std::string_view c : cells) header.emplace_back(c);
    while (header.size() > 1 && header.back().empty()) header.pop_back();
    header_line = line.number;
    columns.clear();
    for (const auto& name : header) columns.push_back({.header = name, .field = field_of(name)});
    unsaid_units(columns);
    width = cells.size();
    width_fixed = false;
    plan = TablePlan{};
    if (rows == 0) runs = runs_table_of(header);
    static_cast<void>(out);
  }

  [[nodiscard]] bool looks_like_header() const {
    bool known = false;
    std::size_t named = 0;
    if (cells.size() == 1 || (cells.size() == 2 && cells[1].empty())) {
      // A sentence that holds the word power is no header.
      const std::string_view c = cells.front();
      const Field f = field_of(c);
      return !c.empty() && !digit(c.front()) && f.fixed && std::ranges::count(c, ' ') <= 3 &&
             !c.ends_with('.') && !missing_marker(c) &&
             (f.unit_stated || std::ranges::count(c, ' ') == 0);
    }
    for (const std::string_view c : cells) {
      if (c.empty()) continue;
      const char f = c.front();
      if (missing_marker(c) || digit(f) || f == '-' || f == '+' || f == '.' || c.size() > 200)
        return false;
      if (wall_time(c)) return false;
      ++named;
      known = known || known_name(c);
    }
    return known && named > 1;
  }

  // Whether a first line without a header before it is a row.
  [[nodiscard]] bool looks_like_row() const {
    if (cells.empty()) return false;
    std::size_t values = 0;
    std::size_t marks = 0;
    for (const std::string_view c : cells) {
      const auto number = number_of(c, decimal_comma);
      const bool value =
          (number && (number->rest.empty() || unit_of(number->rest))) || wall_time(c) || is_uuid(c);
      values += value ? 1 : 0;
      marks += !c.empty() && missing_marker(c) ? 1 : 0;
    }
    if (cells.size() == 1) return values == 1;
    return values + marks >= 2 && (values + marks) * 2 >= cells.size();
  }

  // Joins what decimal commas tore apart; false: the row cannot be told and is left out.
  bool commas(const Line& line, std::size_t names, Builder& out) {
    if (separator != ',' || cells.size() <= names) return true;
    std::vector<bool> united;  // columns whose values all had units so far
    united.reserve(columns.size());
    for (const TableColumn& c : columns) united.push_back(c.with_unit && !c.bare);
    const Commas found = join_decimal_commas(cells, names, rows > 0 && !decimal_comma, united);
    if (found == Commas::kAsIs) return true;
    if (found == Commas::kJoined) {
      decimal_comma = true;
      out.note("decimal commas between the commas that separate cells: '110,50 W' is one cell");
      return true;
    }
    out.defect(line.number, "column_count",
               std::to_string(cells.size()) + " cells under " + std::to_string(names) +
                   " names: decimal commas cannot be told from those between cells");
    out.skip("lines with another number of cells");
    out.no_sample(
        "its rows have more cells than names, and decimal commas cannot be told from those "
        "between cells");
    return false;
  }

  bool row(const Line& line, Builder& out);
  void start(const Line& line, Builder& out);
  void cell(TableColumn& c, std::string_view text, std::uint64_t line, Builder& out);
  void put_row(const Line& line, Builder& out, const std::optional<Stamp>& stamp, int lane);
};

// The first row settles what the header left open: more cells than names, decimal commas, which
// column is the time.
void TableReader::Impl::start(const Line& line, Builder& out) {
  // A separator at the end of rows or of the header only is no column.
  std::size_t found = cells.size();
  if (found == columns.size() + 1 && cells.back().empty()) --found;
  while (columns.size() < found) {
    const std::string name = "column_" + std::to_string(columns.size() + 1);
    columns.push_back({.header = name, .field = {}});
    columns.back().field.name = name;
    columns.back().field.fallback = name;
    if (!headerless) out.note("the header names fewer columns than there are");
  }
  width = cells.size();
  width_fixed = true;
  if (separator != ',') {
    for (const std::string_view c : cells) {
      const auto n = number_of(c);
      if (n && n->rest.size() > 1 && n->rest.front() == ',' && digit(n->rest[1]) && !wall_time(c)) {
        decimal_comma = true;
      }
    }
  }
  plan = plan_columns(columns, cells, headerless, decimal_comma, out);
  if (headerless) out.defect(line.number, "no_header", "columns are told by their values");
  if (plan.gpu == kNone && plan.lanes.empty()) out.may_interleave();
  if (plan.no_gpu) out.no_gpu();
  out.format(format_of(header, headerless));
}

void TableReader::Impl::cell(TableColumn& c, std::string_view text, std::uint64_t line,
                             Builder& out) {
  if (c.out != kNone && text == c.last) {
    if (c.out_text) {
      out.set_word(c.out, c.last_word);
    } else {
      out.set(c.out, c.last_value);
    }
    return;
  }
  const bool missing = missing_marker(text);
  if (c.out == kNone) {
    if (missing) {
      ++c.missing_before;
      if (text == "[GPU is lost]" || text == "[GPU requires reset]")
        out.defect(line, "gpu_lost", c.header + " is " + std::string(text));
      return;
    }
    settle(c, text, decimal_comma, out);
  }
  if (missing) {
    if (text == "[GPU is lost]" || text == "[GPU requires reset]")
      out.defect(line, "gpu_lost", c.header + " is " + std::string(text));
    c.last.assign(text);
    c.last_value = kMissing;
    c.last_missing = true;
    if (c.out_text) {
      c.last_word = 0;
      out.set_word(c.out, 0);
    } else {
      out.set(c.out, kMissing);
    }
    return;
  }
  c.last_missing = false;
  if (c.out_text) {
    c.last.assign(text);
    c.last_word = out.set_text(c.out, text);
    return;
  }
  auto number = number_of(text, decimal_comma);
  if (number && !number->rest.empty() && number->rest.front() == ',')
    number = grouped_or_comma(text);
  double value = kMissing;
  bool good = number.has_value();
  if (number) {
    if (number->rest.empty()) {
      c.bare = true;
      // A header with units and values with units may contradict each other: the value's own wins.
      value = c.field.unit ? apply(*c.field.unit, *number) : number->value;
    } else {
      if (number->rest != c.rest) {
        c.rest.assign(number->rest);
        c.rest_unit = unit_of(number->rest);
        if (c.rest_unit && c.field.unit_stated && c.field.unit->suffix == c.rest_unit->suffix &&
            *c.field.unit != *c.rest_unit) {
          out.defect(line, "unit_mismatch", c.header + " holds " + std::string(number->rest));
        }
      }
      good = c.rest_unit.has_value();
      if (good) value = apply(*c.rest_unit, *number);
      c.with_unit = true;
    }
    c.decimals_low = std::min(c.decimals_low, number->decimals);
    c.decimals_high = std::max(c.decimals_high, number->decimals);
  }
  if (!good) {
    out.defect(line, "not_a_number", c.header + " is '" + std::string(text.substr(0, 40)) + "'");
  }
  c.last.assign(text);
  c.last_value = value;
  out.set(c.out, value);
}

void TableReader::Impl::put_row(const Line& line, Builder& out, const std::optional<Stamp>& stamp,
                                int lane) {
  out.begin_row(line.number);
  if (stamp) out.set_time(*stamp);
  if (lane >= 0) {
    out.set_gpu(std::to_string(lane));
  } else if (plan.gpu != kNone) {
    const std::string_view id = cells[plan.gpu];
    if (!missing_marker(id)) out.set_gpu(id);
  }
  for (const std::size_t i : plan.values) {
    TableColumn& c = columns[i];
    if (c.field.lane >= 0 && lane >= 0 && c.field.lane != lane) continue;
    cell(c, i < cells.size() ? cells[i] : std::string_view(), line.number, out);
  }
}

bool TableReader::Impl::row(const Line& line, Builder& out) {
  if (!width_fixed) start(line, out);
  const bool extra_blank = cells.size() == width + 1 && cells.back().empty();
  const bool one_blank_less = cells.size() + 1 == width && columns.size() + 1 == width;
  if (cells.size() != width && !extra_blank && !one_blank_less) {
    // Text that happens to hold the separator is not a row with a fault.
    const std::string_view first = cells.front();
    const bool begins_alike =
        plan.time == 0 ? wall_time(first).has_value() || number_of(first).has_value()
        : plan.time != kNone
            ? std::ranges::any_of(cells,
                                  [](std::string_view c) { return wall_time(c).has_value(); })
            : number_of(first).has_value() || missing_marker(first);
    const bool cut_stamp = line.unended && plan.time == 0 && !first.empty() && digit(first.front());
    if (!begins_alike && !cut_stamp) return false;
    flush_pending(out, false);
    pending_line = line.number;
    pending_short = cells.size() < width;
    return true;
  }
  flush_pending(out, false);
  std::optional<Stamp> stamp;
  if (plan.time != kNone) {
    if (plan.day_time != kNone) {
      const std::string both =
          std::string(cells[plan.time]) + ' ' + std::string(cells[plan.day_time]);
      stamp = wall_time(both);
    } else {
      stamp = stamp_of(cells[plan.time]);
    }
    if (!stamp) {
      // A footer, text with as many commas, or a stamp that was garbled.
      const bool dated = !cells[plan.time].empty() && digit(cells[plan.time].front());
      if (!dated && !missing_marker(cells[plan.time])) return false;
      out.defect(line.number, "bad_time", std::string(cells[plan.time].substr(0, 40)));
      out.skip("rows without a readable time");
      return true;
    }
  }
  if (line.unended && cut_in_last_cell(columns, cells, rows)) {
    out.defect(line.number, "truncated_line", "the last line is cut");
    out.skip("truncated last line");
    return true;
  }
  ++rows;
  if (plan.lanes.empty()) {
    put_row(line, out, stamp, -1);
  } else {
    for (const int lane : plan.lanes) put_row(line, out, stamp, lane);
  }
  return true;
}

TableReader::TableReader() : impl_(std::make_unique<Impl>()) {}
TableReader::~TableReader() = default;

bool TableReader::running() const { return impl_->width > 0; }
bool TableReader::narrow() const { return impl_->width == 1; }
const std::string& TableReader::runs_table() const { return impl_->runs; }

bool TableReader::take(const Line& line, Builder& out) {
  Impl& t = *impl_;
  const std::string_view text = trim(line.text);
  if (text.empty()) return true;
  if (text.size() == 5 && lower(text.substr(0, 4)) == "sep=") {
    t.separator = text[4];
    t.separator_said = true;
    return true;
  }
  if (t.width == 0) {
    const char separator = t.separator_said ? t.separator : separator_of(text);
    t.separator = separator;
    split(text, separator, t.cells, t.scratch);
    if (t.looks_like_header()) {
      t.set_header(line, out);
      return true;
    }
    if (separator == ',' && t.cells.size() == 1 && text.find("  ") != std::string_view::npos) {
      t.tabs = tabbed(text);
      split(t.tabs, '\t', t.cells, t.scratch);
      if (t.cells.size() > 1 && t.looks_like_header()) {
        t.aligned = true;
        t.separator = '\t';
        t.set_header(line, out);
        return true;
      }
      split(text, separator, t.cells, t.scratch);
    }
    if (!t.looks_like_row()) {
      if (!t.separator_said) t.separator = 0;
      return false;
    }
    t.headerless = true;
    t.columns.clear();
    t.commas(line, 0, out);
    t.width = t.cells.size();
    return t.row(line, out);
  }
  if (t.aligned) t.tabs = tabbed(text);
  split(t.aligned ? std::string_view(t.tabs) : text, t.separator, t.cells, t.scratch);
  if (std::ranges::all_of(t.cells, [](std::string_view c) { return c.empty(); })) {
    out.skip("rows without a cell");
    return true;
  }
  // Logs that were appended to repeat their header.
  const char first = text.front();
  if (!digit(first) && t.looks_like_header() && (t.cells.size() > 1 || t.width == 1)) {
    const bool same = t.cells.size() >= t.header.size() &&
                      std::equal(t.header.begin(), t.header.end(), t.cells.begin());
    t.flush_pending(out, false);
    if (t.rows > 0 || same) out.defect(line.number, "repeated_header");
    if (!same) {
      finish_columns(t.columns, t.plan, out);
      t.headerless = false;
      t.set_header(line, out);
    }
    return true;
  }
  if (!t.commas(line, t.columns.size(), out)) return true;
  return t.row(line, out);
}

void TableReader::end(Builder& out) {
  impl_->flush_pending(out, true);
  finish_columns(impl_->columns, impl_->plan, out);
  check_stated_units(impl_->columns, impl_->header_line, out);
}

}  // namespace ergon::meter::logs
