// JSON of measurements: an array of objects, one inside an object, or a single object.
#include <algorithm>
#include <cmath>

#include "ergon/io.hpp"
#include "names.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

void flatten(const Value& value, const std::string& prefix, Cells& out, int depth) {
  if (const auto* object = value.as_object()) {
    if (depth > 3) return;
    for (const auto& [key, member] : *object)
      flatten(member, prefix.empty() ? key : prefix + "." + key, out, depth + 1);
  } else if (const auto* text = value.as_string()) {
    out.emplace_back(prefix, *text);
  } else if (const auto* flag = value.as_bool()) {
    out.emplace_back(prefix, *flag ? "true" : "false");
  } else if (value.is_null() && depth > 0) {
    out.emplace_back(prefix, "");  // asked for and not known, or not asked for
  } else if (value.as_int() != nullptr || value.as_double() != nullptr) {
    out.emplace_back(prefix, io::to_json(value, 0));
  } else if (const auto* ends = value.as_array();
             ends != nullptr && ends->size() == 2 && prefix.ends_with("_ci95")) {
    flatten(ends->front(), prefix + "_low", out, depth + 1);
    flatten(ends->back(), prefix + "_high", out, depth + 1);
  }
}

bool is_list_of_objects(const Value& v) {
  const auto* list = v.as_array();
  return list != nullptr && !list->empty() &&
         std::ranges::all_of(*list, [](const Value& item) { return item.as_object() != nullptr; });
}

// The longest list of objects in the document, or the document itself.
const Value* rows_of(const Value& document, int depth = 0) {
  if (is_list_of_objects(document)) return &document;
  const Value* best = nullptr;
  if (const auto* object = document.as_object(); object != nullptr && depth < 4) {
    for (const auto& [key, member] : *object) {
      const Value* inner = rows_of(member, depth + 1);
      if (inner != nullptr &&
          (best == nullptr || inner->as_array()->size() > best->as_array()->size()))
        best = inner;
    }
  }
  return best;
}

std::string text_at(const Cells& cells, std::string_view key) {
  for (const auto& [name, text] : cells) {
    if (name == key) return text;
  }
  return {};
}

// Optima without their measurements: "optimal_frequency_edp_mhz", "energy_savings_edp_percent".
bool add_claims(const Reading& reading, const std::vector<Cells>& rows) {
  bool any = false;
  for (const auto& cells : rows) {
    Claim claim;
    Maybe clock;
    Maybe top;
    Maybe saved;
    Maybe slower;
    for (const auto& [name, text] : cells) {
      const auto words = words_of(name);
      const auto has = [&](std::string_view w) {
        return std::ranges::find(words, w) != words.end();
      };
      const Maybe v = number_of(text);
      if (!v) continue;
      const double unit = has("mhz") ? 1e6 : has("ghz") ? 1e9 : 1;
      const bool clocks = has("frequency") || has("freq") || has("clock");
      // EDP where it is given; ED2P is a second opinion on the same measurements.
      const bool second = has("ed2p");
      if (clocks && (has("optimal") || has("optimum") || has("best"))) {
        if (!second || !clock) clock = *v * unit;
      } else if (clocks && (has("max") || has("default") || has("baseline"))) {
        top = *v * unit;
      } else if (clocks && has("fastest")) {
        claim.fastest_clock_hz = *v * unit;
      } else if (has("energy") && (has("savings") || has("saving") || has("saved"))) {
        if (!second || !saved) saved = has("percent") || has("pct") ? *v / 100 : *v;
      } else if (has("performance") && has("max")) {
        if (!second || !slower) slower = has("percent") || has("pct") ? *v / 100 : *v;
      }
    }
    if (!clock || !top || !saved) continue;
    any = true;
    claim.clock_hz = *clock;
    claim.top_clock_hz = *top;
    claim.energy_saved = *saved;
    claim.slowdown = slower.value_or(0);
    claim.gpu = text_at(cells, "gpu");
    claim.workload = text_at(cells, "workload");
    if (claim.workload.empty()) claim.workload = text_at(cells, "name");
    if (claim.workload.empty()) claim.workload = stem_of(reading.source.path);
    claim.file = reading.file;
    reading.data.claims.push_back(std::move(claim));
  }
  return any;
}

}  // namespace

Status read_json(const Reading& reading) {
  auto document = io::parse_json(reading.source.text);
  if (!document) {
    document.error().message = reading.source.path + ": " + document.error().message;
    return fail(std::move(document).error());
  }
  std::vector<Cells> rows;
  if (const Value* list = rows_of(*document)) {
    for (const auto& item : *list->as_array()) {
      Cells cells;
      flatten(item, "", cells, 0);
      rows.push_back(std::move(cells));
    }
  } else {
    Cells cells;
    flatten(*document, "", cells, 0);
    if (cells.empty()) {
      return fail(Errc::kMalformedInput, reading.source.path + " holds no measurements",
                  "expected objects with figures in them");
    }
    rows.push_back(std::move(cells));
  }
  if (add_claims(reading, rows)) {
    reading.data.formats[reading.file] = "published optima";
    return {};
  }
  RawTable table;
  for (const auto& cells : rows) {
    for (const auto& [name, text] : cells) {
      if (std::ranges::find(table.header, name) == table.header.end()) table.header.push_back(name);
    }
  }
  if (table.header.size() > 2000) {
    return fail(Errc::kMalformedInput, reading.source.path + " holds no table of measurements",
                "its objects have more than 2000 different names");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> row(table.header.size());
    for (const auto& [name, text] : rows[i]) {
      const auto at = std::ranges::find(table.header, name) - table.header.begin();
      row[static_cast<std::size_t>(at)] = text;
    }
    table.rows.push_back(std::move(row));
    table.lines.push_back(i + 1);
  }
  return read_long_table(reading, std::move(table));
}

}  // namespace ergon::study
