// Decimal commas in a table whose cells are separated by commas.
#include <algorithm>

#include "logs/table_columns.hpp"
#include "logs/timestamps.hpp"

namespace ergon::meter::logs {
namespace {

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Whether two cells stood in the file with nothing but the comma between them.
bool touch(std::string_view a, std::string_view b) {
  return a.data() + a.size() + 1 == b.data() && a.data()[a.size()] == ',';
}

std::string_view joined(std::string_view a, std::string_view b) {
  return {a.data(), a.size() + 1 + b.size()};
}

bool may_be_one(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty() || !touch(a, b)) return false;
  const bool sign = a.front() == '-' || a.front() == '+';
  if (!all_digits(sign ? a.substr(1) : a)) {
    return all_digits(b) && wall_time(a) && wall_time(joined(a, b));
  }
  const auto number = number_of(b);
  return number && number->decimals < 0 && b.front() >= '0' && b.front() <= '9' &&
         (number->rest.empty() || unit_of(number->rest));
}

bool has_unit(std::string_view cell) {
  const auto number = number_of(cell);
  return number && !number->rest.empty();
}

}  // namespace

Commas join_decimal_commas(std::vector<std::string_view>& cells, std::size_t names, bool known,
                           const std::vector<bool>& united) {
  std::size_t found = cells.size();
  while (found > names && found > 0 && cells[found - 1].empty()) --found;
  if (found <= names || found < 2) return Commas::kAsIs;
  std::vector<std::size_t> pairs;    // first cells of what may be one number
  std::vector<std::size_t> unitary;  // of these, those whose second cell ends with a unit
  bool blanks = false;               // some separator is followed by a blank
  bool spaced = true;                // all are, but for those of the pairs
  for (std::size_t k = 0; k + 1 < found; ++k) {
    const auto number = number_of(cells[k]);
    // A decimal point speaks against decimal commas.
    if (number && number->decimals > 0 && !wall_time(cells[k])) return Commas::kAsIs;
    const bool pair = may_be_one(cells[k], cells[k + 1]);
    const bool blank = !touch(cells[k], cells[k + 1]);
    blanks = blanks || blank;
    spaced = spaced && (blank || pair);
    if (!pair) continue;
    pairs.push_back(k);
    if (has_unit(cells[k + 1])) unitary.push_back(k);
  }
  const auto last = number_of(cells[found - 1]);
  if ((last && last->decimals > 0) || pairs.empty()) return Commas::kAsIs;
  const auto apart = [](const std::vector<std::size_t>& list) {
    return std::ranges::adjacent_find(
               list, [](std::size_t a, std::size_t b) { return b == a + 1; }) == list.end();
  };
  const std::size_t surplus = found - names;
  const std::vector<std::size_t>* chosen = nullptr;
  const bool told = names == 0 ? !unitary.empty() : pairs.size() == surplus;
  const bool by_blanks = blanks && spaced && apart(pairs) && told;
  const bool guess = names > 0 && !known;
  if (!by_blanks && guess && apart(unitary) && unitary.size() == surplus) {
    chosen = &unitary;
  } else if (by_blanks || (guess && apart(pairs) && pairs.size() == surplus)) {
    chosen = &pairs;
  }
  if (chosen == nullptr && known && apart(unitary) && unitary.size() == surplus) {
    bool all = true;
    for (std::size_t j = 0; j < unitary.size(); ++j) {
      const std::size_t column = unitary[j] - j;
      all = all && column < united.size() && united[column];
    }
    if (all) chosen = &unitary;
  }
  if (chosen == nullptr) return names == 0 ? Commas::kAsIs : Commas::kUnclear;
  std::vector<std::string_view> out;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    if (std::ranges::binary_search(*chosen, k)) {
      out.push_back(joined(cells[k], cells[k + 1]));
      ++k;
    } else {
      out.push_back(cells[k]);
    }
  }
  cells = std::move(out);
  return Commas::kJoined;
}

}  // namespace ergon::meter::logs
