// Local clocks that pass midnight or noon, or are set back and forth with the season.
#include <algorithm>
#include <cmath>

#include "logs/builder.hpp"

namespace ergon::meter::logs {
namespace {

constexpr Nanos kClockSecond = 1'000'000'000;
constexpr Nanos kHour = 3'600 * kClockSecond;
constexpr Nanos kHalfDay = 12 * kHour;
// A log of times that jump about all the time is not followed for more than 60 years.
constexpr Nanos kMostShift = Nanos{60} * 366 * 2 * kHalfDay;

// The distance of two ticks: rows of several GPUs lie closer.
Nanos tick_step(const std::vector<Nanos>& times) {
  std::vector<double> steps;
  Nanos last = kNoTime;
  for (const Nanos t : times) {
    if (t == kNoTime) continue;
    if (last != kNoTime && t > last) steps.push_back(static_cast<double>(t - last));
    last = t;
  }
  if (steps.empty()) return 0;
  std::ranges::sort(steps);
  return static_cast<Nanos>(std::llround(steps[(steps.size() - 1) * 95 / 100]));
}

Nanos in_day(Nanos t) {
  constexpr Nanos kDay = 2 * kHalfDay;
  return ((t % kDay) + kDay) % kDay;
}

// Whether a time is near a full hour of the night, when clocks are set.
bool at_a_change(Nanos t, Nanos slack) {
  const Nanos in_hour = in_day(t) % kHour;
  return std::min(in_hour, kHour - in_hour) <= slack &&
         (in_day(t) <= 4 * kHour || in_day(t) >= 2 * kHalfDay - slack);
}

}  // namespace

// Times of the day go on after midnight, times of the hour after the hour.
void Builder::unwrap() {
  if (!times_.kind) return;
  const bool day = *times_.kind == Stamp::Kind::kDay;
  if (!day && *times_.kind != Stamp::Kind::kHour) return;
  const Nanos whole = day ? 2 * kHalfDay : kHour;
  Nanos offset = 0;
  Nanos last = kNoTime;
  for (Nanos& t : times_.ns) {
    if (t == kNoTime || offset > kMostShift) continue;
    if (last != kNoTime && t + offset < last - whole / 2) {
      offset += whole;
      note(day ? "times without a date pass midnight" : "times without hours pass the hour");
    }
    t += offset;
    last = t;
  }
}

// A clock of twelve hours that says neither AM nor PM goes from 12:59 to 1:00.
void Builder::half_days() {
  if (!times_.kind || (*times_.kind != Stamp::Kind::kDay && *times_.kind != Stamp::Kind::kLocal))
    return;
  const bool twelve = std::ranges::all_of(times_.ns, [&](Nanos t) {
    return t == kNoTime || (in_day(t) >= kHour && in_day(t) < kHalfDay + kHour);
  });
  if (!twelve) return;
  Nanos offset = 0;
  Nanos last = kNoTime;
  for (Nanos& t : times_.ns) {
    if (t == kNoTime || offset > kMostShift) continue;
    const Nanos back = last == kNoTime ? 0 : last - t;
    if (back > kHalfDay - kHour && back < kHalfDay && in_day(last) >= kHalfDay) {
      offset += kHalfDay;
      note("times of a clock of twelve hours, without AM or PM, pass one o'clock");
    }
    last = t;
    t += offset;
  }
}

// At the end of summer time the clock is set back by an hour, at its begin forth: at a full hour,
// and without a pause in the log. Times after it are moved, so that none is lost or counted twice.
void Builder::seasons() {
  if (!times_.kind || *times_.kind != Stamp::Kind::kLocal) return;
  const Nanos step = tick_step(times_.ns);
  if (step <= 0 || step > 60 * kClockSecond) return;
  const Nanos slack = 2 * step + kClockSecond / 2;
  Nanos offset = 0;
  Nanos last = kNoTime;
  for (std::size_t i = 0; i < times_.ns.size(); ++i) {
    Nanos& t = times_.ns[i];
    if (t == kNoTime) continue;
    const Nanos moved = last == kNoTime ? 0 : t - last;
    const bool back = std::abs(moved + kHour) <= slack && moved > -kHour;
    const bool forth = std::abs(moved - kHour) <= slack && moved > kHour;
    if ((back || forth) && at_a_change(last, slack) && at_a_change(t, slack)) {
      offset += back ? kHour : -kHour;
      defect(lines_[i], "clock_set",
             back ? "the clock was set back by an hour, as at the end of summer time: later times "
                    "are moved on"
                  : "the clock was set forward by an hour, as at the begin of summer time: later "
                    "times are moved back");
    }
    last = t;
    t += offset;
  }
}

}  // namespace ergon::meter::logs
