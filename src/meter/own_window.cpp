// The averaging window of a sensor from its own board's energy counter, without another meter.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "renewals.hpp"
#include "text.hpp"

namespace ergon::meter {
namespace {

constexpr std::size_t kFewestSteps = 6;
constexpr std::size_t kMostLooks = 20'000'000;
constexpr std::size_t kDraws = 400;  ///< of the bootstrap

// What the counter says was drawn: its energy at every tick, and where a load stepped between two
// ticks, at that place too; straight in between. Seconds from the first read.
struct Drawn {
  std::vector<double> at;
  std::vector<double> energy;
  std::vector<double> steps;  ///< places of the clean steps

  [[nodiscard]] bool holds(double from, double to) const {
    return !at.empty() && from >= at.front() && to <= at.back();
  }
  [[nodiscard]] double until(double t) const {
    const auto above = std::ranges::upper_bound(at, t);
    const auto k = std::clamp<std::ptrdiff_t>(above - at.begin(), 1,
                                              static_cast<std::ptrdiff_t>(at.size()) - 1);
    const auto i = static_cast<std::size_t>(k);
    return energy[i - 1] + (energy[i] - energy[i - 1]) * (t - at[i - 1]) / (at[i] - at[i - 1]);
  }
  [[nodiscard]] double mean(double end, double window) const {
    return (until(end) - until(end - window)) / window;
  }
};

// A load that is level for two ticks on both sides of a change stepped at one place between the
// ticks: where the energy of the interval divides it between the two powers.
Drawn drawn_by(const std::vector<Renewal>& ticks, double noise_w) {
  Drawn out;
  std::vector<double> power;
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double at = ticks[i].at_ns * 1e-9;
    if (!out.at.empty() && at <= out.at.back()) continue;
    if (!out.at.empty() && ticks[i].value < out.energy.back()) {
      out = {};  // it started again: what comes after counts
      power.clear();
    }
    if (!out.at.empty())
      power.push_back((ticks[i].value - out.energy.back()) / (at - out.at.back()));
    out.at.push_back(at);
    out.energy.push_back(ticks[i].value);
  }
  if (power.size() < 5) return out;
  const double most = std::ranges::max(power);
  const double least = std::max({0.05 * most, 10 * noise_w, 1.0});
  std::vector<double> at;
  std::vector<double> energy;
  for (std::size_t k = 0; k < power.size(); ++k) {
    at.push_back(out.at[k]);
    energy.push_back(out.energy[k]);
    if (k < 2 || k + 2 >= power.size()) continue;
    const double before = power[k - 1];
    const double after = power[k + 1];
    const double step = after - before;
    const double level = 0.15 * std::abs(step);
    const bool clean = std::abs(step) >= least && std::abs(power[k - 2] - before) <= level &&
                       std::abs(power[k + 2] - after) <= level;
    if (!clean) continue;
    // A step at a tick leaves both intervals nearly whole: it counts once.
    const double share = (power[k] - before) / step;
    if (share < 0.005 || share > 1.05) continue;
    const double length = out.at[k + 1] - out.at[k];
    const double place = out.at[k + 1] - std::min(share, 1.0) * length;
    if (!out.steps.empty() && place - out.steps.back() < length / 2) continue;
    out.steps.push_back(place);
    if (place <= out.at[k] + 1e-6 || place >= out.at[k + 1] - 1e-6) continue;
    at.push_back(place);
    energy.push_back(out.energy[k] + before * (place - out.at[k]));
  }
  at.push_back(out.at.back());
  energy.push_back(out.energy.back());
  out.at = std::move(at);
  out.energy = std::move(energy);
  return out;
}

struct StraightLine {
  double gain = 0;
  double offset = 0;
  double squares = 0;
};

// A renewal near a step: when, what it said, and the step it belongs to.
struct Near {
  double at = 0;
  double value = 0;
  std::size_t step = 0;
};

std::optional<StraightLine> line_of(const std::vector<Near>& near, const Drawn& drawn,
                                    double window, double lag) {
  const auto n = static_cast<double>(near.size());
  double mx = 0;
  double my = 0;
  std::vector<double> x(near.size());
  for (std::size_t i = 0; i < near.size(); ++i) {
    x[i] = drawn.mean(near[i].at - lag, window);
    mx += x[i] / n;
    my += near[i].value / n;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < near.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    xy += (x[i] - mx) * (near[i].value - my);
    yy += (near[i].value - my) * (near[i].value - my);
  }
  if (!(xx > 0) || !(xy > 0)) return std::nullopt;
  const double gain = xy / xx;
  return StraightLine{gain, my - gain * mx, std::max(0.0, yy - gain * xy)};
}

std::vector<Near> near_steps(const std::vector<Renewal>& renewals, const Drawn& drawn,
                             double before, double after, double reach) {
  std::vector<Near> out;
  for (const Renewal& renewal : renewals) {
    const double at = renewal.at_ns * 1e-9;
    if (!drawn.holds(at - reach, at)) continue;
    // The last step before it, or one just behind it.
    auto next = std::ranges::upper_bound(drawn.steps, at + before);
    if (next == drawn.steps.begin()) continue;
    --next;
    if (at - *next > after) continue;
    out.push_back({at, renewal.value, static_cast<std::size_t>(next - drawn.steps.begin())});
  }
  return out;
}

struct Choice {
  double window = 0;
  double lag = 0;
};

std::vector<Choice> choices_for(double period) {
  std::vector<Choice> all;
  const auto lags = [&](double window) {
    for (double lag = 0; lag <= 0.5 * period + 1e-9; lag += period / 50)
      all.push_back({window, lag});
  };
  double window = period / 100;
  for (; window < 1.3 * period; window += period / 100) lags(window);
  for (; window < std::max(2.0, 4 * period); window *= 1.04) lags(window);
  return all;
}

// Whether every step lies at about the same place between two renewals: the mean of the places, as
// directions on a circle of one period, is then nearly of length 1. Renewals tell a window's length
// by those that reach over a step by more and by less; here all reach as far.
bool in_step(const std::vector<Renewal>& renewals, const std::vector<double>& steps,
             double period) {
  constexpr double kAllAlike = 0.95;
  constexpr double kTurn = 2 * std::numbers::pi;
  double x = 0;
  double y = 0;
  double count = 0;
  for (const double step : steps) {
    const auto after = std::ranges::lower_bound(renewals, step, {},
                                                [](const Renewal& r) { return r.at_ns * 1e-9; });
    if (after == renewals.end()) continue;
    const double place = kTurn * (after->at_ns * 1e-9 - step) / period;
    x += std::cos(place);
    y += std::sin(place);
    ++count;
  }
  return count > 0 && std::hypot(x, y) > kAllAlike * count;
}

tl::unexpected<Error> unknown(const std::string& why) { return fail(Errc::kUnsupported, why); }
tl::unexpected<Error> wanting(const std::string& why) {
  return fail(Errc::kUnsupported, why,
              "a load that works for half a second or longer and rests as long, a dozen times, not "
              "in step with the sensor");
}
bool all_missing(const std::vector<double>& column) {
  return std::ranges::all_of(column, is_missing);
}

}  // namespace

Result<OwnWindow> fit_own_window(const Series& series) {
  const auto& column = series.has(series.power_w) ? series.power_w : series.average_power_w;
  if (!series.has(column) || all_missing(column)) return unknown("no power is read");
  if (!series.has(series.energy_j) || all_missing(series.energy_j))
    return unknown("there is no energy counter to compare the readings with");
  const SensorModel model = estimate_sensor(series);
  if (!model.update_period_s) return wanting("too few renewals of the power were seen");
  if (!model.energy_tick_s)
    return unknown("the energy counter, with which the readings are compared, hardly moved");
  const double period = model.update_period_s->value;
  const double tick = model.energy_tick_s->value;
  if (model.period_hidden || model.read_interval.si() > std::min(period, tick) / 3)
    return unknown(
        "the readings come too seldom for this sensor: power or counter are renewed as often as "
        "they are read, every " +
        seconds_text(model.read_interval.si()));
  const Nanos origin = series.time_ns.front();
  auto renewals = place(refreshes(series.time_ns, column), period * 1e9, origin);
  auto ticks = place(refreshes(series.time_ns, series.energy_j), tick * 1e9, origin);
  // When the first values appeared nobody saw.
  if (!renewals.empty()) renewals.erase(renewals.begin());
  if (!ticks.empty()) ticks.erase(ticks.begin());
  const Drawn drawn = drawn_by(ticks, model.noise_w);
  if (drawn.steps.empty()) return wanting("nothing ran: the power did not change");
  if (drawn.steps.size() < kFewestSteps) {
    return wanting("only " + std::to_string(drawn.steps.size()) +
                   " clean steps of power were seen, " + std::to_string(kFewestSteps) +
                   " are needed");
  }

  // First over every length; then, where it is short, by the renewals beside the steps alone.
  auto choices = choices_for(period);
  const auto best_of = [&](const std::vector<Near>& near, StraightLine& line) {
    Choice best;
    line.squares = std::numeric_limits<double>::infinity();
    for (const Choice& choice : choices) {
      const auto here = line_of(near, drawn, choice.window, choice.lag);
      if (here && here->squares < line.squares) {
        line = *here;
        best = choice;
      }
    }
    return best;
  };
  const double longest = choices.back().window + choices.back().lag;
  auto near = near_steps(renewals, drawn, period, std::max(2 * period, longest), longest);
  if (near.size() < 2 * kFewestSteps) return wanting("too few steps lie far enough from the ends");
  StraightLine line;
  const auto all_choices = choices;
  const bool many = near.size() * choices.size() > kMostLooks;
  if (many) {  // a fast sensor: the first look is a coarse one
    std::erase_if(choices, [&, last = 0.0](const Choice& c) mutable {
      if (c.lag > 0 || c.window < 1.1 * last) return true;
      last = c.window;
      return false;
    });
  }
  Choice best = best_of(near, line);
  // A window of several periods is told by the renewals that follow each other over one step.
  if (best.window < 1.2 * period && in_step(renewals, drawn.steps, period))
    return wanting(
        "all " + std::to_string(drawn.steps.size()) +
        " steps that were seen lie at the same place between two renewals: the load runs "
        "in step with the sensor");
  choices = all_choices;
  if (many) {
    std::erase_if(choices, [&, n = 0](const Choice& c) mutable {
      return c.window < best.window / 3 || n++ % 5 != 0;
    });
  }
  // Where the power is level, a counter's ticks scatter more over a short window than over a long
  // one: what lies far from the steps would make a short window look longer.
  const double reach = best.window < 1.2 * period ? 1.9 * period : 3 * best.window + 2 * period;
  if (reach < longest / 2) {
    std::erase_if(choices, [&](const Choice& c) { return c.window + c.lag > reach; });
    near = near_steps(renewals, drawn, 0.5 * period, reach, reach);
    best = best_of(near, line);
  }
  double mean = 0;
  for (const Near& n : near) mean += n.value / static_cast<double>(near.size());
  double all = 0;
  for (const Near& n : near) all += (n.value - mean) * (n.value - mean);
  if (!(line.squares < 0.2 * all))
    return unknown("no window fits: the readings do not follow the energy counter");

  // The interval: every length that fits as well (95 %), and what the best is when steps are drawn
  // with replacement, the line kept.
  double low = best.window;
  double high = best.window;
  const double enough =
      line.squares * (1 + 3.84 / std::max(1.0, static_cast<double>(near.size()) - 4));
  for (const Choice& choice : choices) {
    const auto here = line_of(near, drawn, choice.window, choice.lag);
    if (!here || here->squares > enough) continue;
    low = std::min(low, choice.window);
    high = std::max(high, choice.window);
  }
  std::vector<std::vector<double>> cost(drawn.steps.size(),
                                        std::vector<double>(choices.size(), 0.0));
  for (const Near& n : near) {
    for (std::size_t c = 0; c < choices.size(); ++c) {
      const double off =
          n.value - line.offset - line.gain * drawn.mean(n.at - choices[c].lag, choices[c].window);
      cost[n.step][c] += off * off;
    }
  }
  SplitMix random(drawn.steps.size());
  std::vector<double> windows;
  std::vector<double> sums(choices.size());
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    std::ranges::fill(sums, 0.0);
    for (std::size_t k = 0; k < cost.size(); ++k) {
      const auto& one = cost[random.below(cost.size())];
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += one[c];
    }
    const auto least = std::ranges::min_element(sums) - sums.begin();
    windows.push_back(choices[static_cast<std::size_t>(least)].window);
  }
  std::ranges::sort(windows);
  // A renewal is known to within half of the time between reads, a length to half a step of those
  // that were tried.
  const double half_step = best.window < 1.3 * period ? period / 200 : 0.02 * best.window;
  const double blur = std::max(model.read_interval.si() / 2, half_step);
  OwnWindow out;
  out.window_s = {best.window, std::max(0.0, std::min(best.window, windows[kDraws / 40]) - blur),
                  std::max(best.window, windows[kDraws - 1 - kDraws / 40]) + blur,
                  Origin::kMeasured};
  out.lag = Seconds(best.lag);
  out.steps = drawn.steps.size();
  if (out.window_s.high - out.window_s.low > 1.2 * out.window_s.value + 0.1 * period) {
    return wanting("the " + std::to_string(drawn.steps.size()) +
                   " steps that were seen fit windows of very different length: the load may run "
                   "in step with the sensor");
  }
  return out;
}

}  // namespace ergon::meter
