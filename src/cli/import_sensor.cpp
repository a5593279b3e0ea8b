// The sensor behind a log: refresh, averaging window, and energy with its doubts.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "figures.hpp"
#include "import_parts.hpp"
#include "planning.hpp"

namespace ergon::cli {
namespace {

using meter::EnergyReading;
using meter::SensorModel;
using meter::Series;
using meter::Window;

// From the first to the last tick of the counter; without one from the first to the last reading.
Window span_of(const Series& s) {
  const auto ticks = meter::refreshes(s.time_ns, s.energy_j);
  if (ticks.size() >= 4) return {ticks[1].by_ns, ticks.back().by_ns};
  return {s.time_ns.front(), s.time_ns.back()};
}

// The common rule of thumb: the trapezoid over every reading, over the counter's last value less
// its first.
std::optional<double> plain_ratio(const Series& s) {
  if (!s.has(s.power_w) || !s.has(s.energy_j)) return std::nullopt;
  double joules = 0;
  for (std::size_t i = 1; i < s.size(); ++i) {
    joules +=
        (s.power_w[i] + s.power_w[i - 1]) / 2 * to_seconds(s.time_ns[i] - s.time_ns[i - 1]).si();
  }
  const double counted = s.energy_j.back() - s.energy_j.front();
  if (!(counted > 0) || !std::isfinite(joules)) return std::nullopt;
  return joules / counted;
}

Value energy_value(const EnergyReading& r, Window w) {
  Value v = Value::object();
  v.set("start_s", to_seconds(w.start_ns).si()).set("end_s", to_seconds(w.end_ns).si());
  set_estimate(v, "energy_j", r.energy_j);
  if (!r.why_unknown.empty()) v.set("why_unknown", r.why_unknown);
  if (r.window_needed) v.set("window_needed_s", r.window_needed->si());
  set_estimate(v, "energy_counter_j", r.counter.energy_j);
  set_estimate(v, "energy_trapezoid_j", r.trapezoid.energy_j);
  if (!r.counter.refused.empty()) v.set("counter_refused", r.counter.refused);
  if (!r.trapezoid.refused.empty()) v.set("trapezoid_refused", r.trapezoid.refused);
  v.set("coverage", r.coverage);
  v.set("disagreement", r.disagreement ? Value(*r.disagreement) : Value());
  set_estimate(v, "supply_energy_j", r.supply_energy_j);
  Value notes = Value::array();
  for (const auto* e : {&r.counter, &r.trapezoid}) {
    for (const auto& note : e->notes) notes.push(note);
  }
  v.set("notes", std::move(notes));
  return v;
}

// The meter's log on the time axis of ours, as far as both have a date.
Result<meter::Reference> read_reference(Context& context, const std::string& path,
                                        const meter::PowerLog& log) {
  ERGON_TRY(const auto source, io::open_source(path));
  auto read = meter::read_log(*source);
  if (!read) {
    Error error = read.error();
    error.message = path + ": " + error.message;
    return fail(std::move(error));
  }
  io::InputRecord record = source->record();
  record.format = read->format;
  context.add_input(std::move(record));
  const auto series = meter::to_series(*read);
  if (series.size() != 1 || series[0].power_w.empty()) {
    return fail(Errc::kMalformedInput, path + ": a reference needs times and one column of power",
                "one meter, one row a sample");
  }
  const auto base = [](const meter::PowerLog& l) {
    return l.utc_ns ? *l.utc_ns : l.local_ns.value_or(0);
  };
  const bool dated = (log.utc_ns || log.local_ns) && (read->utc_ns || read->local_ns);
  const Nanos shift = dated ? base(*read) - base(log) : 0;
  meter::Reference out;
  out.power_w = series[0].power_w;
  for (const Nanos t : series[0].time_ns) out.time_ns.push_back(t + shift);
  return out;
}

double reference_energy(const meter::Reference& r, double from_s, double to_s) {
  double sum = 0;
  for (std::size_t i = 1; i < r.time_ns.size(); ++i) {
    const double a = static_cast<double>(r.time_ns[i - 1]) * 1e-9;
    const double b = static_cast<double>(r.time_ns[i]) * 1e-9;
    const double low = std::max(a, from_s);
    const double high = std::min(b, to_s);
    if (high <= low || b <= a) continue;
    const auto at = [&](double t) {
      return r.power_w[i - 1] + (r.power_w[i] - r.power_w[i - 1]) * (t - a) / (b - a);
    };
    sum += (at(low) + at(high)) / 2 * (high - low);
  }
  return sum;
}

// Powers of the meter that a twentieth of its readings lie below and above: idle and load.
std::pair<double, double> usual_range(const meter::Reference& r) {
  std::vector<double> watts = r.power_w;
  std::ranges::sort(watts);
  return {watts[watts.size() / 20], watts[watts.size() - 1 - watts.size() / 20]};
}

// "4.2 % low"
std::string error_text(double error) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f %% %s", std::abs(error) * 100, error < 0 ? "low" : "high");
  return text;
}

std::vector<Window> windows_of(Window span, double length_s) {
  std::vector<Window> out;
  const auto step = static_cast<Nanos>(std::llround(length_s * 1e9));
  for (Nanos t = span.start_ns; step > 0 && t + step <= span.end_ns; t += step) {
    out.push_back({t, t + step});
  }
  return out;
}

}  // namespace

std::string figure_text(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g%s%s", value, *unit == '\0' ? "" : " ", unit);
  return text;
}

std::string duration_text(double seconds) {
  constexpr double kHour = 3600;
  if (seconds < 1e4) return figure_text(seconds, "s");
  char text[48];
  const bool days = seconds >= 48 * kHour;
  std::snprintf(text, sizeof text, "%.4g %s", seconds / (days ? 24 * kHour : kHour),
                days ? "days" : "hours");
  return text;
}

Status add_sensors(Context& context, const meter::PowerLog& log, Answer& answer) {
  const auto all = meter::to_series(log);
  if (all.empty()) {
    return fail(Errc::kMalformedInput,
                "the log has no time base: nothing can be said of its sensor",
                "a log with timestamps is needed");
  }
  std::optional<meter::Reference> reference;
  if (const auto path = context.text("reference")) {
    ERGON_TRY(reference, read_reference(context, *path, log));
  }
  Table sensors{.title = "Sensors",
                .columns = {{.title = "gpu", .numeric = false},
                            {.title = "read every", .unit = "ms"},
                            {.title = "renewed every", .unit = "ms"},
                            {.title = "averages", .unit = "ms"},
                            {.title = "counter ticks every", .unit = "ms"},
                            {.title = "scatter", .unit = "W"},
                            {.title = "clock, median", .numeric = false}},
                .rows = {},
                .width = kTextWidth};
  Table energies{
      .title = "Energy",
      .columns = {{.title = "gpu", .numeric = false},
                  {.title = "from", .unit = "s"},
                  {.title = "to", .unit = "s"},
                  {.title = "energy", .unit = "J"},
                  {.title = "95 % from", .unit = "J"},
                  {.title = "95 % to", .unit = "J"},
                  {.title = "counter", .unit = "J"},
                  {.title = "trapezoid", .unit = "J"},
                  {.title = "trapezoid / counter", .significant = 5}},
      .rows = {},
      .note = "the interval is of what the sensor saw; at the board's supply its gain adds " +
              figure_text(meter::kBoardGain95 * 100, "%"),
      .width = kTextWidth};
  if (reference) {
    energies.columns.insert(energies.columns.end(), {{.title = "at the supply, from", .unit = "J"},
                                                     {.title = "at the supply, to", .unit = "J"},
                                                     {.title = "meter", .unit = "J"},
                                                     {.title = "meter inside", .numeric = false}});
    energies.note += "; inside: whether the meter lies between the two figures at the supply";
  }
  Value list = Value::array();
  for (const Series& s : all) {
    SensorModel model = meter::estimate_sensor(s);
    std::optional<meter::WindowFit> fit;
    if (reference) {
      ERGON_TRY(fit, meter::fit_window(s, *reference));
      model.averaging_window_s =
          Estimate{fit->window.si(), fit->low.si(), fit->high.si(), Origin::kFitted};
    }
    Value v = Value::object();
    v.set("gpu", s.gpu);
    set_estimate(v, "update_period_s", model.update_period_s);
    v.set("update_period_hidden", model.period_hidden);
    v.set("never_renewed", model.never_renewed);
    set_estimate(v, "averaging_window_s", model.averaging_window_s);
    set_estimate(v, "energy_tick_s", model.energy_tick_s);
    v.set("read_interval_s", model.read_interval.si()).set("noise_w", model.noise_w);
    const auto ratio = plain_ratio(s);
    v.set("plain_trapezoid_over_counter", ratio ? Value(*ratio) : Value());
    std::string clocks;
    std::vector<double> sorted;
    for (const double f : s.clock_hz) {
      if (!meter::is_missing(f)) sorted.push_back(f);
    }
    std::ranges::sort(sorted);
    v.set("clock_hz", sorted.empty() ? Value() : Value(sorted[sorted.size() / 2]));
    if (!sorted.empty()) {
      clocks = clock_text(sorted[sorted.size() / 2]);
      if (sorted.front() != sorted.back()) {
        clocks += " (" + clock_text(sorted.front()) + " to " + clock_text(sorted.back()) + ")";
      }
    }
    if (fit) {
      v.set("reference", Value::object()
                             .set("gain", fit->gain)
                             .set("offset_w", fit->offset_w)
                             .set("rms_w", fit->rms_w)
                             .set("lag_s", fit->lag.si())
                             .set("clock_shift_s", fit->clock_shift.si())
                             .set("renewals", std::uint64_t{fit->renewals}));
      const auto [low_w, high_w] = usual_range(*reference);
      const auto off = [&](double watts) { return fit->gain + fit->offset_w / watts - 1; };
      v.set("against_meter",
            Value::array()
                .push(Value::object().set("power_w", low_w).set("error", off(low_w)))
                .push(Value::object().set("power_w", high_w).set("error", off(high_w))));
      answer.lines.push_back("Sensor against the meter: " + figure_text(fit->gain, "") +
                             " x power " + (fit->offset_w < 0 ? "- " : "+ ") +
                             figure_text(std::abs(fit->offset_w), "W") + ", left over " +
                             figure_text(fit->rms_w, "W") + " rms; the log's clock is shifted by " +
                             figure_text(-fit->clock_shift.si(), "s") + ".");
      answer.lines.push_back("It reads " + error_text(off(low_w)) + " at " +
                             figure_text(low_w, "W") + " and " + error_text(off(high_w)) + " at " +
                             figure_text(high_w, "W") + ".");
    }
    const auto ms = [](const std::optional<Estimate>& e) {
      return e ? Value(e->value * 1e3) : Value();
    };
    const double read_ms = model.read_interval.si() * 1e3;
    sensors.rows.push_back({s.gpu, read_ms > 0 ? Value(read_ms) : Value(),
                            ms(model.update_period_s), ms(model.averaging_window_s),
                            ms(model.energy_tick_s), model.noise_w, clocks});

    Window span = span_of(s);
    const double shift_s = fit ? fit->clock_shift.si() - fit->lag.si() : 0;
    if (fit) {
      const auto shift = static_cast<Nanos>(std::llround(shift_s * 1e9));
      span.start_ns = std::max(span.start_ns, reference->time_ns.front() - shift);
      span.end_ns = std::min(span.end_ns, reference->time_ns.back() - shift);
    }
    std::vector<Window> windows = {span};
    if (const auto length = context.number("window")) {
      const auto parts = windows_of(span, *length);
      windows.insert(windows.end(), parts.begin(), parts.end());
    }
    Value energy = Value::array();
    for (const Window& w : windows) {
      const EnergyReading r = meter::measure_energy(s, model, w);
      Value e = energy_value(r, w);
      Value metered;
      Value held;
      if (fit) {
        const double joules = reference_energy(*reference, to_seconds(w.start_ns).si() + shift_s,
                                               to_seconds(w.end_ns).si() + shift_s);
        metered = Value(joules);
        e.set("meter_energy_j", joules);
        if (r.supply_energy_j) {
          const bool inside = r.supply_energy_j->low <= joules && joules <= r.supply_energy_j->high;
          e.set("meter_within_interval", inside);
          held = Value(inside ? "yes" : "no");
        }
      }
      const auto& a = r.counter.energy_j;
      const auto& b = r.trapezoid.energy_j;
      energies.rows.push_back({s.gpu, to_seconds(w.start_ns).si(), to_seconds(w.end_ns).si(),
                               or_null(r.energy_j), r.energy_j ? Value(r.energy_j->low) : Value(),
                               r.energy_j ? Value(r.energy_j->high) : Value(), or_null(a),
                               or_null(b), a && b ? Value(b->value / a->value) : Value()});
      if (reference) {
        const auto& supply = r.supply_energy_j;
        auto& row = energies.rows.back();
        row.push_back(supply ? Value(supply->low) : Value());
        row.push_back(supply ? Value(supply->high) : Value());
        row.push_back(std::move(metered));
        row.push_back(std::move(held));
      }
      if (s.size() == 1) {
        answer.lines.push_back("GPU " + s.gpu + ": one reading alone tells no energy.");
      } else if (!r.why_unknown.empty())
        answer.lines.push_back("GPU " + s.gpu + ": " + r.why_unknown + ".");
      energy.push(std::move(e));
    }
    v.set("energy", std::move(energy));
    list.push(std::move(v));
  }
  answer.tables.push_back(std::move(sensors));
  answer.tables.push_back(std::move(energies));
  answer.data.set("sensors", std::move(list));
  return {};
}

}  // namespace ergon::cli
