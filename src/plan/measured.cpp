// Measured options: the CSV of --measured, and the chain it makes when there is no trace.
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ergon/io.hpp"
#include "ergon/plan.hpp"
#include "numbers.hpp"

namespace ergon::plan {
namespace {

constexpr std::array<std::string_view, 4> kColumns = {"pack", "clock_hz", "time_s", "energy_j"};
constexpr std::string_view kHint =
    "the columns are pack, clock_hz, time_s, energy_j; one row for each pack and clock, base SI "
    "units";
tl::unexpected<Error> refuse(std::uint64_t line, const std::string& what) {
  return fail(Error{.code = Errc::kMalformedInput,
                    .message = "measured options, line " + std::to_string(line) + ": " + what,
                    .hint = std::string(kHint),
                    .line = line});
}

Result<double> figure(const std::string& cell, std::uint64_t line, std::string_view column) {
  const auto x = io::parse_double(cell);
  const std::string name(column);
  if (!x || !std::isfinite(*x))
    return refuse(line, name + " is \"" + cell + "\", expected a finite number");
  if (*x < 0 || (*x == 0 && column == "clock_hz")) {
    return refuse(line, name + " is " + cell + ", expected " +
                            (column == "clock_hz" ? "a number above zero" : "zero or more"));
  }
  if (column == "clock_hz" && *x < 1e5) {
    return refuse(line, name + " is " + cell + ", which looks like MHz: write " + cell +
                            "e6, clocks are in Hz");
  }
  if (*x > kLargest) return refuse(line, name + " is " + cell + ", expected at most 1e18");
  return *x + 0.0;
}

}  // namespace

Result<std::vector<MeasuredRow>> read_measured(std::string_view csv_text) {
  ERGON_TRY(const io::CsvTable table, io::parse_csv(csv_text));
  std::array<std::size_t, kColumns.size()> at{};
  for (std::size_t k = 0; k < kColumns.size(); ++k) {
    std::size_t found = table.header.size();
    for (std::size_t c = 0; c < table.header.size(); ++c) {
      if (table.header[c] != kColumns[k]) continue;
      if (found != table.header.size())
        return refuse(1, "the column " + std::string(kColumns[k]) + " is there twice");
      found = c;
    }
    if (found == table.header.size() && table.header.size() == 1 &&
        table.header[0].find_first_of(";\t") != std::string::npos) {
      return refuse(1, "the cells are separated by semicolons or tabs, expected commas");
    }
    if (found == table.header.size())
      return refuse(1, "there is no column " + std::string(kColumns[k]));
    at[k] = found;
  }
  if (table.rows.empty()) return refuse(1, "there is no row below the header");
  std::vector<MeasuredRow> rows;
  std::unordered_map<std::string, std::unordered_map<double, std::uint64_t>> line_of;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& row = table.rows[r];
    const std::uint64_t line = table.lines[r];
    const std::string& name = row[at[0]];
    if (name.empty()) return refuse(line, "pack is empty");
    Option option;
    ERGON_TRY(option.clock_hz, figure(row[at[1]], line, kColumns[1]));
    ERGON_TRY(option.time_s, figure(row[at[2]], line, kColumns[2]));
    ERGON_TRY(option.energy_j, figure(row[at[3]], line, kColumns[3]));
    const auto [known, first] = line_of[name].emplace(option.clock_hz, line);
    if (!first) {
      return refuse(line, "pack \"" + name + "\" has the clock " + row[at[1]] +
                              " Hz already, on line " + std::to_string(known->second));
    }
    rows.push_back({.pack = name, .option = option, .line = line});
  }
  return rows;
}

Result<Problem> measured_chain(std::span<const MeasuredRow> rows) {
  if (rows.empty()) return fail(Errc::kMalformedInput, "no measured options", std::string(kHint));
  Problem problem;
  problem.gpus.push_back({.id = "0", .idle_power_w = 0});
  std::unordered_map<std::string, std::size_t> index;
  for (const MeasuredRow& row : rows) {
    const auto [place, is_new] = index.emplace(row.pack, problem.packs.size());
    if (is_new) problem.packs.push_back({.id = row.pack, .gpu = 0, .after = {}, .options = {}});
    problem.packs[place->second].options.push_back(row.option);
  }
  return problem;
}

}  // namespace ergon::plan
