// Steps by the numbers that their names end in.
#include "step_choice.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ergon/base/number.hpp"

namespace ergon::cli {
namespace {

// 10 of "ProfilerStep#10".
std::optional<std::int64_t> own_number(std::string_view name) {
  const std::size_t before = name.find_last_not_of("0123456789");
  return parse_number<std::int64_t>(name.substr(before == std::string_view::npos ? 0 : before + 1));
}

// Whether every name ends in a number that no other ends in.
bool have_own_numbers(const std::vector<std::string>& names) {
  std::vector<std::int64_t> numbers;
  for (const auto& name : names) {
    const auto number = own_number(name);
    if (!number) return false;
    numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return std::ranges::adjacent_find(numbers) == numbers.end();
}

std::string list_of(const std::vector<std::string>& names, bool own) {
  constexpr std::size_t kMost = 12;
  const auto one = [&](std::size_t i) {
    return own ? names[i] : std::to_string(i) + " (" + names[i] + ")";
  };
  std::string text = own ? "N is the number of one of: " : "N is one of: ";
  const bool all = names.size() <= kMost;
  for (std::size_t i = 0; i < (all ? names.size() : kMost - 1); ++i)
    text += (i == 0 ? "" : ", ") + one(i);
  if (!all) text += ", ... " + one(names.size() - 1);
  return text;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<graph::Step>& steps) {
  std::vector<std::string> names;
  for (const auto& step : steps) {
    if (std::ranges::find(names, step.name) == names.end()) names.push_back(step.name);
  }
  return names;
}

Result<std::string> step_of(const std::vector<std::string>& names, std::int64_t wanted) {
  const bool own = have_own_numbers(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (wanted == (own ? *own_number(names[i]) : static_cast<std::int64_t>(i))) return names[i];
  }
  return fail(
      Errc::kInvalidArgument, "the trace has no step " + std::to_string(wanted),
      names.empty() ? "no repeating step was found; leave --steps out" : list_of(names, own));
}

graph::TimeRange range_of_step(const std::vector<graph::Step>& steps, const std::string& name) {
  std::optional<graph::TimeRange> range;
  for (const auto& step : steps) {
    if (step.name != name) continue;
    if (!range) range = step.host;
    range->begin = std::min(range->begin, step.host.begin);
    range->end = std::max(range->end, step.host.end);
  }
  ERGON_CHECK(range.has_value(), "the name is of one of the steps");
  return *range;
}

}  // namespace ergon::cli
