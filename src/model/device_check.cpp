// Lists the figures of a device, and judges whether together they can be true.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "curves.hpp"
#include "embedded_device_schemas.hpp"  // generated
#include "ergon/model/device.hpp"

namespace ergon::model {
namespace {

const Figure* address(const MaybeFigure& f) { return f ? &*f : nullptr; }

void add_coefficient(std::vector<NamedFigure>& out, const std::string& path, const char* key,
                     const char* unit, const std::optional<Coefficient>& c) {
  out.push_back({path + "." + key, unit, c ? &c->total : nullptr});
  if (!c) return;
  if (c->control) out.push_back({path + ".control", unit, &*c->control});
  if (c->datapath) out.push_back({path + ".datapath", unit, &*c->datapath});
  out.push_back({path + ".core_share", "", &c->core_share});
}

std::string watts(double w) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.0f W", w);
  return buffer;
}

class Checker {
 public:
  explicit Checker(const Device& device) : d_(device) {}
  std::vector<Finding> run() {
    clocks();
    limits();
    power();
    origins();
    for (const auto& field : d_.unknown_fields)
      warn(field, "unknown field: misspelt, or from a newer version; it is not used");
    return std::move(out_);
  }

 private:
  using Severity = Finding::Severity;
  void error(std::string field, std::string message) {
    out_.push_back({Severity::kError, std::move(field), std::move(message)});
  }
  void warn(std::string field, std::string message) {
    out_.push_back({Severity::kWarning, std::move(field), std::move(message)});
  }
  void note(std::string field, std::string message) {
    out_.push_back({Severity::kNote, std::move(field), std::move(message)});
  }

  void clocks() {
    const double low = d_.min_clock().si();
    const double high = d_.max_clock().si();
    const auto inside = [&](double f) { return f >= low * 0.999 && f <= high * 1.001; };
    // Beyond any GPU's: a slip of the unit, with which all peaks would be wrong.
    if (d_.peak_clock.si() > 10 * high || d_.peak_clock.si() < 0.1 * low)
      error("peaks.clock_hz", "lies more than ten times outside the supported clocks");
    else if (!inside(d_.peak_clock.si()))
      warn("peaks.clock_hz", "lies outside the supported clocks");
    if (!inside(d_.coefficient_clock.si()))
      warn("coefficients.clock_hz", "lies outside the supported clocks");
    if (d_.behaviour.regime_break_hz && !inside(d_.behaviour.regime_break_hz->value())) {
      warn("behaviour.regime_break_hz", "lies outside the supported clocks: it never acts");
    }
    if (d_.behaviour.memory_knee_hz.value() > d_.default_clock.si()) {
      error("behaviour.memory_knee_hz",
            "lies above the default clock: memory would never reach its bandwidth");
    }
    if (d_.sm_clocks.size() < 3) warn("sm_clocks", "fewer than three clocks leave nothing to plan");
    if (low > 0.8 * high)
      warn("sm_clocks", "the lowest clock is above 80 % of the highest: is the list complete?");
  }

  void limits() {
    const double limit = d_.power_limit_w.value();
    if (d_.power_limit_min_w && d_.power_limit_min_w->value() > limit)
      error("power_limit_min_w", "lies above power_limit_w");
    if (d_.power_limit_max_w && d_.power_limit_max_w->value() < limit)
      error("power_limit_max_w", "lies below power_limit_w");
    if (d_.idle_w.value() + d_.active_w.value() > 0.6 * limit) {
      error("coefficients.idle_w",
            "idle and active power leave less than 40 % of the power limit for work");
    }
    for (std::size_t i = 0; i < kUnits; ++i) {
      const std::string unit = to_string(static_cast<Unit>(i));
      if (d_.peak_flops[i] && !d_.unit_j[i])
        warn("coefficients.units." + unit,
             "unknown, though the unit has a peak: its work cannot be priced");
      if (!d_.peak_flops[i] && d_.unit_j[i])
        warn("peaks.flops_per_s." + unit, "unknown, though the unit has an energy");
    }
    const auto& b = d_.bandwidth;
    const auto value = [&](Level l) { return b[index(l)] ? b[index(l)]->value() : 0; };
    if (!b[index(Level::kHbm)] || !d_.level_j[index(Level::kHbm)])
      error("peaks.bytes_per_s.hbm", "memory needs a bandwidth and an energy");
    if (b[index(Level::kL2)] && value(Level::kL2) < value(Level::kHbm))
      error("peaks.bytes_per_s.l2", "lies below the memory bandwidth");
    if (b[index(Level::kL1)] && value(Level::kL1) < value(Level::kL2))
      error("peaks.bytes_per_s.l1", "lies below the L2 bandwidth");
  }

  /// Joules a byte from memory pays on its way.
  double path_j_per_byte() const {
    double sum = 0;
    for (const Level l : {Level::kL1, Level::kL2, Level::kHbm}) {
      const auto& c = d_.level_j[index(l)];
      if (c) sum += 8 * c->total.value();
    }
    return sum;
  }

  /// Do the coefficients explain the published board power? Streaming memory must fit under the
  /// limit; the hungriest unit must come near it (boards are built for it) and not exceed it by
  /// more than throttling accounts for.
  void power() {
    const double limit = d_.power_limit_w.value();
    const double base = idle_power(d_, d_.max_clock().si()) + active_power(d_, d_.max_clock().si());
    const auto& hbm = d_.bandwidth[index(Level::kHbm)];
    double most = base;
    if (hbm) {
      const auto& share = d_.reachable_bandwidth_share[index(Level::kHbm)];
      const double rate = hbm->value() * (share ? share->value() : 1);
      const double stream = base + rate * path_j_per_byte();
      most = std::max(most, stream);
      if (stream > 1.15 * limit) {
        error("coefficients.levels", "streaming memory would draw " + watts(stream) +
                                         ", above the limit of " + watts(limit));
      }
    }
    for (std::size_t i = 0; i < kUnits; ++i) {
      const auto& peak = d_.peak_flops[i];
      const auto& c = d_.unit_j[i];
      if (!peak || !c) continue;
      const double w = base + peak->value() * c->total.value();
      most = std::max(most, w);
      if (w > 2.2 * limit) {
        error(std::string("coefficients.units.") + to_string(static_cast<Unit>(i)),
              "its peak would draw " + watts(w) + ", more than twice the limit of " + watts(limit));
      }
    }
    if (most < 0.5 * limit) {
      warn("coefficients", "nothing draws more than " + watts(most) +
                               ": the coefficients do not explain the board power of " +
                               watts(limit));
    }
  }

  void origins() {
    std::size_t assumed = 0;
    std::size_t known = 0;
    std::size_t unknown = 0;
    for (const auto& f : figures(d_)) {
      if (f.figure == nullptr) {
        ++unknown;
      } else {
        ++(f.figure->estimate.origin == Origin::kAssumed ? assumed : known);
      }
    }
    note("figures", std::to_string(known) + " published, measured or fitted, " +
                        std::to_string(assumed) + " assumed, " + std::to_string(unknown) +
                        " unknown");
  }

  const Device& d_;
  std::vector<Finding> out_;
};

}  // namespace

std::vector<NamedFigure> figures(const Device& d) {
  std::vector<NamedFigure> out;
  out.push_back({"power_limit_w", "W", &d.power_limit_w});
  out.push_back({"power_limit_min_w", "W", address(d.power_limit_min_w)});
  out.push_back({"power_limit_max_w", "W", address(d.power_limit_max_w)});
  out.push_back({"sm_count", "", address(d.sm_count)});
  out.push_back({"memory_bytes", "B", address(d.memory_bytes)});
  for (std::size_t i = 0; i < kUnits; ++i) {
    const std::string word = to_string(static_cast<Unit>(i));
    out.push_back({"peaks.flops_per_s." + word, "FLOP/s", address(d.peak_flops[i])});
    if (const Figure* share = address(d.reachable_flops_share[i])) {
      out.push_back({"peaks.reachable_flops_share." + word, "", share});
    }
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    const std::string word = to_string(static_cast<Level>(i));
    out.push_back({"peaks.bytes_per_s." + word, "B/s", address(d.bandwidth[i])});
    if (const Figure* share = address(d.reachable_bandwidth_share[i])) {
      out.push_back({"peaks.reachable_bytes_share." + word, "", share});
    }
  }
  for (std::size_t i = 0; i < kUnits; ++i) {
    add_coefficient(out, std::string("coefficients.units.") + to_string(static_cast<Unit>(i)),
                    "j_per_flop", "J/FLOP", d.unit_j[i]);
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    add_coefficient(out, std::string("coefficients.levels.") + to_string(static_cast<Level>(i)),
                    "j_per_bit", "J/bit", d.level_j[i]);
  }
  out.push_back({"coefficients.idle_w", "W", &d.idle_w});
  out.push_back({"coefficients.idle_clock_share", "", &d.idle_clock_share});
  out.push_back({"coefficients.active_w", "W", &d.active_w});
  const ClockBehaviour& b = d.behaviour;
  out.push_back({"behaviour.voltage_knee_hz", "Hz", &b.voltage_knee_hz});
  out.push_back({"behaviour.voltage_floor", "", &b.voltage_floor});
  out.push_back({"behaviour.voltage_exponent", "", &b.voltage_exponent});
  out.push_back({"behaviour.memory_knee_hz", "Hz", &b.memory_knee_hz});
  out.push_back({"behaviour.l2_core_share", "", &b.l2_core_share});
  out.push_back({"behaviour.regime_break_hz", "Hz", address(b.regime_break_hz)});
  out.push_back({"behaviour.below_break_exponent", "", &b.below_break_exponent});
  for (std::size_t i = 0; i < d.switch_latency.size(); ++i) {
    const std::string path = "switching.latency[" + std::to_string(i) + "]";
    out.push_back({path + ".typical_s", "s", &d.switch_latency[i].typical_s});
    out.push_back({path + ".worst_s", "s", &d.switch_latency[i].worst_s});
  }
  out.push_back({"switching.energy_j", "J", &d.switch_energy_j});
  return out;
}

std::vector<Finding> check_device(const Device& device) { return Checker(device).run(); }

std::string_view device_schema() { return embedded::device_schemas().front().text; }

}  // namespace ergon::model
