// Which points a sweep has, and in which order.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "ergon/io.hpp"
#include "ergon/run/sweep.hpp"

namespace ergon::run {
namespace {

std::vector<std::vector<std::pair<std::string, std::string>>> combinations(
    const std::vector<Axis>& axes) {
  std::vector<std::vector<std::pair<std::string, std::string>>> all = {{}};
  for (const Axis& axis : axes) {
    std::vector<std::vector<std::pair<std::string, std::string>>> longer;
    for (const auto& head : all) {
      for (const auto& value : axis.values) {
        longer.push_back(head);
        longer.back().emplace_back(axis.name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

template <class T>
std::vector<std::optional<T>> or_nothing(const std::vector<T>& values) {
  std::vector<std::optional<T>> all(values.begin(), values.end());
  if (all.empty()) all.emplace_back();
  return all;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (true) {
    const auto at = text.find(separator, from);
    parts.push_back(text.substr(from, at - from));
    if (at == std::string::npos) return parts;
    from = at + 1;
  }
}

struct Suffix {
  const char* text;
  double factor;
};
constexpr Suffix kClockUnits[] = {{"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}};
constexpr Suffix kPowerUnits[] = {{"kW", 1e3}, {"mW", 1e-3}, {"W", 1}};

std::optional<double> quantity(const std::string& text, std::span<const Suffix> units) {
  for (const Suffix& unit : units) {
    if (!text.ends_with(unit.text)) continue;
    const auto number = io::parse_double(
        std::string_view(text).substr(0, text.size() - std::string(unit.text).size()));
    if (!number || !(*number > 0)) return std::nullopt;
    return *number * unit.factor;
  }
  return std::nullopt;
}

// "a,b,c" or "low:high:count" of quantities with units.
struct Values {
  std::vector<double> si;
  bool range = false;
};
Result<Values> values_of(const std::string& text, std::span<const Suffix> units,
                         const std::string& what, const std::string& example) {
  const auto bad = [&](const std::string& why) {
    return fail(Errc::kInvalidArgument, "'" + text + "' is no list of " + what + ": " + why,
                "type " + example);
  };
  Values values;
  const auto parts = split(text, ':');
  if (parts.size() == 1) {
    for (const auto& word : split(text, ',')) {
      const auto value = quantity(word, units);
      if (!value) return bad("'" + word + "' is no quantity with a unit");
      values.si.push_back(*value);
    }
    return values;
  }
  if (parts.size() != 3) return bad("a range is low:high:count");
  const auto low = quantity(parts[0], units);
  const auto high = quantity(parts[1], units);
  const int count = parse_number<int>(parts[2]).value_or(0);
  if (!low || !high || *low > *high) return bad("the ends of the range are wrong");
  if (count < 1 || count > 1000) return bad("the count is 1 to 1000");
  values.range = true;
  for (int i = 0; i < count; ++i) {
    const double share = count == 1 ? 1 : static_cast<double>(i) / (count - 1);
    values.si.push_back(*low + (*high - *low) * share);
  }
  return values;
}

std::string megahertz(double hertz) { return std::to_string(std::lround(hertz * 1e-6)) + " MHz"; }
std::string watts_text(double watts) { return std::to_string(std::lround(watts)) + " W"; }

}  // namespace

std::string to_string(const Setting& setting) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (setting.core) add("core " + megahertz(setting.core->si()));
  if (setting.memory) add("memory " + megahertz(setting.memory->si()));
  if (setting.limit) add("limit " + watts_text(setting.limit->si()));
  if (text.empty()) add("driver's own clocks");
  for (const auto& [name, value] : setting.parameters) {
    add(name);
    text += "=" + value;
  }
  return text;
}

std::vector<PlannedPoint> plan_sweep(const SweepGrid& grid, std::uint64_t seed,
                                     int baseline_every) {
  const auto parameters = combinations(grid.parameters);
  std::vector<PlannedPoint> points;
  for (const auto& combination : parameters) {
    for (const auto& core : or_nothing(grid.core)) {
      for (const auto& memory : or_nothing(grid.memory)) {
        for (const auto& limit : or_nothing(grid.limits)) {
          points.push_back({Setting{core, memory, limit, combination}, false});
        }
      }
    }
  }
  SplitMix chance(seed);
  for (std::size_t i = points.size(); i > 1; --i) std::swap(points[i - 1], points[chance.below(i)]);

  const bool controls = !grid.core.empty() || !grid.memory.empty() || !grid.limits.empty();
  if (!controls) return points;  // every point is the baseline
  std::vector<PlannedPoint> baselines;
  for (const auto& combination : parameters) {
    Setting setting;
    setting.parameters = combination;
    baselines.push_back({setting, true});
  }
  std::vector<PlannedPoint> plan = baselines;
  std::size_t next = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    plan.push_back(points[i]);
    const bool between = baseline_every > 0 && i + 1 < points.size() &&
                         (i + 1) % static_cast<std::size_t>(baseline_every) == 0;
    if (between) plan.push_back(baselines[next++ % baselines.size()]);
  }
  plan.insert(plan.end(), baselines.begin(), baselines.end());
  return plan;
}

Result<std::vector<Hertz>> clocks_of(const std::string& text, std::span<const Hertz> supported) {
  if (text == "all") {
    if (supported.empty())
      return fail(Errc::kUnsupported, "the board does not tell its clocks, so 'all' has no meaning",
                  "list them: 510MHz,1410MHz");
    return std::vector<Hertz>(supported.begin(), supported.end());
  }
  ERGON_TRY(const Values values,
            values_of(text, kClockUnits, "clocks", "510MHz,1410MHz or 510MHz:1410MHz:8 or all"));
  std::set<double> chosen;
  for (const double wanted : values.si) {
    if (supported.empty()) {
      chosen.insert(std::round(wanted * 1e-6) * 1e6);
      continue;
    }
    const Hertz nearest = *std::ranges::min_element(
        supported, {}, [&](Hertz clock) { return std::abs(clock.si() - wanted); });
    if (!values.range && std::abs(nearest.si() - wanted) > 0.5e6) {
      return fail(Errc::kInvalidArgument, megahertz(wanted) + " is not a clock of this board",
                  "the nearest is " + megahertz(nearest.si()) + "; ergon doctor lists them");
    }
    chosen.insert(nearest.si());
  }
  std::vector<Hertz> clocks;
  clocks.reserve(chosen.size());
  for (const double clock : chosen) clocks.emplace_back(clock);
  return clocks;
}

Result<std::vector<Watts>> limits_of(const std::string& text, std::optional<Watts> least,
                                     std::optional<Watts> most) {
  ERGON_TRY(const Values values,
            values_of(text, kPowerUnits, "power limits", "150W,300W or 150W:300W:4"));
  std::set<double> chosen;
  for (const double wanted : values.si) {
    if ((least && wanted < least->si()) || (most && wanted > most->si())) {
      return fail(Errc::kInvalidArgument, watts_text(wanted) + " is no power limit of this board",
                  "it takes " + (least ? watts_text(least->si()) : "?") + " to " +
                      (most ? watts_text(most->si()) : "?"));
    }
    chosen.insert(std::round(wanted * 10) / 10);
  }
  std::vector<Watts> limits;
  limits.reserve(chosen.size());
  for (const double limit : chosen) limits.emplace_back(limit);
  return limits;
}

Result<Axis> axis_of(const std::string& text) {
  const auto equals = text.find('=');
  Axis axis;
  if (equals != std::string::npos) {
    axis.name = text.substr(0, equals);
    axis.values = split(text.substr(equals + 1), ',');
  }
  const bool plain = !axis.name.empty() && axis.name.find_first_of("{} \t") == std::string::npos;
  if (!plain || axis.values.empty() ||
      std::ranges::any_of(axis.values, [](const std::string& v) { return v.empty(); })) {
    return fail(Errc::kInvalidArgument, "'" + text + "' is no parameter with its values",
                "type batch=16,32 and write {batch} in the program's arguments");
  }
  std::set<std::string> seen(axis.values.begin(), axis.values.end());
  if (seen.size() != axis.values.size())
    return fail(Errc::kInvalidArgument, "'" + text + "' lists a value twice",
                "give each value once; -r N runs every point N times");
  return axis;
}

std::vector<std::string> substitute(const std::vector<std::string>& words, const Setting& setting) {
  std::vector<std::string> replaced;
  for (std::string word : words) {
    for (const auto& [name, value] : setting.parameters) {
      const std::string mark = "{" + name + "}";
      for (auto at = word.find(mark); at != std::string::npos;
           at = word.find(mark, at + value.size()))
        word.replace(at, mark.size(), value);
    }
    replaced.push_back(std::move(word));
  }
  return replaced;
}

bool mentions(const std::vector<std::string>& words, const std::string& name) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word.find("{" + name + "}") != std::string::npos;
  });
}

}  // namespace ergon::run
