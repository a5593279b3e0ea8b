// One row a setting, and the figures of several kernels beside each other: each becomes a row.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <ranges>
#include <set>

#include "reading.hpp"

namespace ergon::study {
namespace {

/// The columns of one kernel: by what they measure ("time_ms").
using Measures = std::map<std::string, std::size_t>;

bool measures(const Measures& of, const RawTable& table, bool work) {
  for (const auto& [name, column] : of) {
    const Role role = sense_of(table.header[column]).role;
    if (work ? role == Role::kTime || role == Role::kRate
             : role == Role::kPower || role == Role::kEnergy)
      return true;
  }
  return false;
}

// Parts of the machine, or of the run, that are no work to be compared.
bool no_kernel(const std::string& label) {
  static constexpr std::array<std::string_view, 37> kWords = {
      "cpu",     "dram",       "host",     "system",   "node",     "idle",      "warmup",  "setup",
      "process", "monitoring", "wall",     "min",      "max",      "minimum",   "maximum", "peak",
      "median",  "p50",        "p90",      "p95",      "p99",      "predicted", "model",   "static",
      "dynamic", "baseline",   "sum",      "net",      "pkg",      "package",   "start",   "end",
      "window",  "sample",     "sampling", "measured", "estimated"};
  for (const auto& word : words_of(label)) {
    if (std::ranges::find(kWords, word) != kWords.end() || word.starts_with("gpu")) return true;
  }
  return false;
}

bool has_figures(const RawTable& table, std::size_t column) {
  for (const auto& row : table.rows) {
    if (number_of(row[column])) return true;
  }
  return false;
}

}  // namespace

void unfold_parts(const Reading& reading, RawTable& table) {
  std::vector<std::pair<std::string, Measures>> parts;  // as they come
  std::set<std::size_t> taken;
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    const Sense sense = sense_of(table.header[c]);
    if (sense.role != Role::kTime && sense.role != Role::kPower && sense.role != Role::kEnergy &&
        sense.role != Role::kRate)
      continue;
    if (!has_figures(table, c)) continue;
    std::string measure;
    const std::string label = label_of(table.header[c], measure);
    if (label.empty()) return;  // a total, and the others are its parts
    if (sense.index >= 0 || !sense.per.empty() || no_kernel(label)) continue;
    auto at = std::ranges::find(parts, label, &std::pair<std::string, Measures>::first);
    if (at == parts.end()) at = parts.insert(parts.end(), {label, {}});
    if (!at->second.emplace(measure, c).second) return;
  }
  std::erase_if(parts, [&](const auto& p) {
    return !measures(p.second, table, true) && !measures(p.second, table, false);
  });
  if (parts.size() < 2) return;
  // The first whole kernel says what the others must have.
  const auto whole = [&](const Measures& m) {
    return measures(m, table, true) && measures(m, table, false);
  };
  const auto first = std::ranges::find_if(parts, [&](const auto& p) { return whole(p.second); });
  if (first == parts.end()) return;
  const Measures like = first->second;
  std::uint64_t other = 0;
  std::erase_if(parts, [&](const auto& p) {
    const bool same =
        p.second.size() == like.size() &&
        std::ranges::all_of(like, [&](const auto& m) { return p.second.contains(m.first); });
    if (!same) other += p.second.size();
    for (const auto& [name, column] : p.second) taken.insert(column);
    return !same;
  });
  reading.skip("columns_of_other_parts", other);
  RawTable out;
  out.separator = table.separator;
  std::vector<std::size_t> common;
  common.reserve(table.header.size());
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    if (!taken.contains(c)) common.push_back(c);
  }
  out.header.reserve(common.size() + 1 + like.size());
  for (const auto c : common) out.header.push_back(table.header[c]);
  out.header.emplace_back("kernel");
  std::ranges::copy(std::views::keys(like), std::back_inserter(out.header));
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    for (const auto& [label, columns] : parts) {
      std::vector<std::string> row;
      row.reserve(out.header.size());
      for (const auto c : common) row.push_back(table.rows[r][c]);
      row.push_back(label);
      for (const auto& [name, column] : like) row.push_back(table.rows[r][columns.at(name)]);
      out.rows.push_back(std::move(row));
      out.lines.push_back(table.lines[r]);
    }
  }
  table = std::move(out);
}

}  // namespace ergon::study
