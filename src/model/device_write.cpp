// Device -> JSON text in the order of docs/formats/device.md, and the small questions a Device
// answers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ergon/io.hpp"
#include "ergon/model/device.hpp"

namespace ergon::model {
namespace {

void set_cited(Value& v, const std::string& source, const std::string& why) {
  if (!source.empty()) v.set("source", source);
  if (!why.empty()) v.set("why", why);
}

Value figure(const Figure& f) {
  Value v;
  const Estimate& e = f.estimate;
  v.set("value", e.value);
  const bool exact = e.low == e.value && e.high == e.value;
  if (!exact || e.origin == Origin::kAssumed || e.origin == Origin::kFitted) {
    v.set("low", e.low).set("high", e.high);
  }
  v.set("origin", to_string(e.origin));
  set_cited(v, f.source, f.why);
  return v;
}

Value figure(const MaybeFigure& f) { return f ? figure(*f) : Value(nullptr); }

Value coefficient(const std::optional<Coefficient>& c, const char* key) {
  if (!c) return nullptr;
  Value v;
  v.set(key, figure(c->total))
      .set("control", figure(c->control))
      .set("datapath", figure(c->datapath));
  v.set("core_share", figure(c->core_share));
  return v;
}

Value texts(const std::vector<std::string>& items) {
  Value v = Value::array();
  for (const auto& s : items) v.push(s);
  return v;
}

Value hertz(const std::vector<Hertz>& clocks) {
  Value v = Value::array();
  for (const Hertz c : clocks) v.push(c.si());
  return v;
}

Value peaks(const Device& d) {
  Value flops = Value::object();
  Value flops_share = Value::object();
  for (std::size_t i = 0; i < kUnits; ++i) {
    const char* word = to_string(static_cast<Unit>(i));
    flops.set(word, figure(d.peak_flops[i]));
    flops_share.set(word, figure(d.reachable_flops_share[i]));
  }
  Value bytes = Value::object();
  Value bytes_share = Value::object();
  for (std::size_t i = 0; i < kLevels; ++i) {
    const char* word = to_string(static_cast<Level>(i));
    bytes.set(word, figure(d.bandwidth[i]));
    bytes_share.set(word, figure(d.reachable_bandwidth_share[i]));
  }
  Value v;
  v.set("clock_hz", d.peak_clock.si()).set("flops_per_s", flops).set("bytes_per_s", bytes);
  v.set("reachable_flops_share", flops_share).set("reachable_bytes_share", bytes_share);
  return v;
}

Value coefficients(const Device& d) {
  Value units = Value::object();
  for (std::size_t i = 0; i < kUnits; ++i) {
    units.set(to_string(static_cast<Unit>(i)), coefficient(d.unit_j[i], "j_per_flop"));
  }
  Value levels = Value::object();
  for (std::size_t i = 0; i < kLevels; ++i) {
    levels.set(to_string(static_cast<Level>(i)), coefficient(d.level_j[i], "j_per_bit"));
  }
  Value v;
  v.set("clock_hz", d.coefficient_clock.si()).set("units", units).set("levels", levels);
  v.set("idle_w", figure(d.idle_w)).set("idle_clock_share", figure(d.idle_clock_share));
  v.set("active_w", figure(d.active_w));
  return v;
}

Value behaviour(const ClockBehaviour& b) {
  Value v;
  v.set("voltage_knee_hz", figure(b.voltage_knee_hz)).set("voltage_floor", figure(b.voltage_floor));
  v.set("voltage_exponent", figure(b.voltage_exponent));
  v.set("memory_knee_hz", figure(b.memory_knee_hz)).set("l2_core_share", figure(b.l2_core_share));
  v.set("regime_break_hz", figure(b.regime_break_hz));
  v.set("below_break_exponent", figure(b.below_break_exponent));
  return v;
}

Value switching(const Device& d) {
  Value latency = Value::array();
  for (const auto& s : d.switch_latency) {
    Value v;
    v.set("target_hz", s.target ? Value(s.target->si()) : Value(nullptr));
    v.set("typical_s", figure(s.typical_s)).set("worst_s", figure(s.worst_s));
    latency.push(v);
  }
  Value v;
  v.set("latency", latency).set("energy_j", figure(d.switch_energy_j));
  return v;
}

}  // namespace

std::string write_device(const Device& d) {
  Value v;
  v.set("schema", "ergon.device-file/1").set("id", d.id).set("name", d.name);
  v.set("vendor", d.vendor).set("architecture", d.architecture);
  v.set("aliases", texts(d.aliases)).set("seen_as", texts(d.seen_as)).set("note", d.note);
  Value sources = Value::object();
  for (const auto& [key, words] : d.sources) sources.set(key, words);
  v.set("sources", sources);
  Value clocks;
  clocks.set("values_hz", hertz(d.sm_clocks)).set("origin", to_string(d.sm_clocks_origin));
  set_cited(clocks, d.sm_clocks_source, d.sm_clocks_why);
  v.set("sm_clocks", clocks);
  Value standard;
  standard.set("clock_hz", d.default_clock.si()).set("origin", to_string(d.default_clock_origin));
  set_cited(standard, d.default_clock_source, d.default_clock_why);
  v.set("default_clock", standard);
  v.set("memory_clocks_hz", hertz(d.memory_clocks));
  v.set("default_memory_clock_hz", d.default_memory_clock.si());
  v.set("power_limit_w", figure(d.power_limit_w));
  v.set("power_limit_min_w", figure(d.power_limit_min_w));
  v.set("power_limit_max_w", figure(d.power_limit_max_w));
  v.set("sm_count", figure(d.sm_count)).set("memory_bytes", figure(d.memory_bytes));
  v.set("peaks", peaks(d)).set("coefficients", coefficients(d));
  v.set("behaviour", behaviour(d.behaviour)).set("switching", switching(d));
  return io::to_json(v) + "\n";
}

bool Device::supports(Hertz clock) const {
  return std::abs((nearest_clock(clock) - clock).si()) < 0.5e6;  // drivers speak in whole MHz
}

Hertz Device::nearest_clock(Hertz clock) const {
  ERGON_CHECK(!sm_clocks.empty(), "a device without clocks");
  Hertz best = sm_clocks.front();
  for (const Hertz c : sm_clocks) {
    if (std::abs((c - clock).si()) < std::abs((best - clock).si())) best = c;
  }
  return best;
}

std::string Device::cite(const Figure& figure) const {
  std::string out;
  for (const auto& [key, words] : sources) {
    if (key == figure.source) out = words;
  }
  if (figure.why.empty()) return out;
  return out.empty() ? figure.why : figure.why + " (" + out + ")";
}

SwitchTime switch_time(const Device& device, Hertz target) {
  const SwitchLatency* best = nullptr;
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto& s : device.switch_latency) {
    if (!s.target) {
      if (best == nullptr) best = &s;
      continue;
    }
    // An entry stands for the clocks around it: half-way to the next entry at most, 5 % of the
    // target here.
    const double distance = std::abs((*s.target - target).si());
    if (distance <= 0.05 * target.si() && distance < nearest) {
      nearest = distance;
      best = &s;
    }
  }
  ERGON_CHECK(best != nullptr, "a device without a general switch latency");
  return {best->typical_s.estimate, best->worst_s.estimate};
}

}  // namespace ergon::model
