// Responses of observed GPU work: from its Work, else from its class, else 1/f.
#include "ergon/model/response.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "curves.hpp"
#include "roofline.hpp"

namespace ergon::model {
namespace {

// Kernels of a few microseconds wait for launch ramps and latencies more than for any rate; these
// follow the SM clock.
constexpr double kLatencySeconds = 3e-6;

/// What a class says of work whose shapes are not known: the share of its time that follows the SM
/// clock, its dynamic power as a share of what the power limit leaves, and how much of that follows
/// the core voltage. Assumed; the intervals are wide on purpose.
struct ClassResponse {
  Estimate core;
  Estimate power;
  double core_energy;
  bool fixed_rest;  ///< the rest of the time follows no clock of the GPU (else: memory)
};

constexpr Estimate assumed(double value, double low, double high) {
  return {value, low, high, Origin::kAssumed};
}

// In the order of WorkClass.
constexpr std::array<ClassResponse, kWorkClasses> kClassResponses = {{
    {assumed(1, 0, 1), assumed(0.4, 0.05, 1), 0.85, false},            // unknown: as 1/f
    {assumed(0.85, 0.4, 1), assumed(0.65, 0.3, 1), 0.9, false},        // gemm
    {assumed(0.85, 0.4, 1), assumed(0.6, 0.25, 1), 0.9, false},        // conv
    {assumed(0.8, 0.3, 1), assumed(0.55, 0.2, 1), 0.9, false},         // attention
    {assumed(0.25, 0.03, 0.8), assumed(0.45, 0.2, 0.7), 0.8, false},   // elementwise
    {assumed(0.4, 0.05, 0.9), assumed(0.35, 0.1, 0.7), 0.8, false},    // reduce
    {assumed(0.4, 0.05, 0.9), assumed(0.4, 0.1, 0.7), 0.8, false},     // norm
    {assumed(0.4, 0.05, 0.9), assumed(0.4, 0.1, 0.7), 0.8, false},     // softmax
    {assumed(0.3, 0.05, 0.8), assumed(0.4, 0.1, 0.7), 0.8, false},     // embedding
    {assumed(0.3, 0.03, 0.8), assumed(0.4, 0.1, 0.7), 0.8, false},     // memory
    {assumed(0.6, 0.2, 1), assumed(0.35, 0.1, 0.7), 0.85, false},      // sort
    {assumed(0.2, 0.03, 0.7), assumed(0.45, 0.2, 0.7), 0.8, false},    // optimizer
    {assumed(0.4, 0.05, 0.9), assumed(0.45, 0.15, 0.8), 0.85, false},  // fused
    // A collective waits for links and for other GPUs; its kernels poll.
    {assumed(0.1, 0, 0.4), assumed(0.12, 0.03, 0.4), 0.8, true},   // collective
    {assumed(0.15, 0, 0.5), assumed(0.35, 0.1, 0.6), 0.7, false},  // copy_device
    {assumed(0, 0, 0.02), assumed(0.04, 0.01, 0.12), 0.5, true},   // copy_host
    {assumed(0.2, 0, 0.6), assumed(0.3, 0.1, 0.6), 0.7, false},    // memset
}};

/// Time and energy of a class, `time` long.
Response from_class(const ClockTable& table, WorkClass kind, double time) {
  const ClassResponse& c = kClassResponses[static_cast<std::size_t>(kind)];
  Response r;
  // The shorter the kernel, the more of it is latency. Not for what the host or the link drives.
  const double latency = c.fixed_rest ? 0 : std::min(1.0, kLatencySeconds / std::max(time, 1e-12));
  const auto share = [&](double core) { return core + (1 - core) * latency; };
  r.core_s = time * share(c.core.value);
  r.core_low_s = std::min(r.core_s, time * (c.core.low + (1 - c.core.low) * 0.3 * latency));
  r.core_high_s = time * share(c.core.high);
  (c.fixed_rest ? r.fixed_s : r.memory_s) = time - r.core_s;
  const std::size_t ref = table.reference_index;
  const double room = std::max(0.0, table.power_limit_w - table.idle_w[ref] - table.active_w[ref]);
  const double busy = 1 - 0.8 * latency;  // a kernel that mostly waits draws little
  const double dynamic = c.power.value * room * busy * time;
  r.core_j = dynamic * c.core_energy;
  r.memory_j = dynamic - r.core_j;
  r.dynamic_low_j = std::min(dynamic, c.power.low * room * busy * time);
  r.dynamic_high_j = c.power.high * room * time;
  return r;
}

/// Core share of a p-norm of two parts: the share of its growth that the core part causes.
double norm_share(double core, double memory, double p) {
  const double a = std::pow(core, p);
  const double b = std::pow(memory, p);
  return a + b > 0 ? a / (a + b) : 1;
}

}  // namespace

// Of the time that a GPU was seen to take, which share follows the SM clock. The roofline's part
// is shared out by overlap; what it does not explain is latency, which follows the clock (at least
// three tenths of it).
Responder::CoreShare Responder::core_share(double observed) const {
  const double explained = std::min(1.0, roofline_s_ / observed);
  const double rest = 1 - explained;
  CoreShare s{explained * likely_ + rest, 1, 0};
  for (const double x : {added_, likely_, separate_}) {
    s.low = std::min(s.low, explained * x + 0.3 * rest);
    s.high = std::max(s.high, explained * x + rest);
  }
  s.low = std::min(s.low, s.value);
  s.high = std::max(s.high, s.value);
  return s;
}

void Responder::know_time(const Work& work, const Device& d, double f) {
  const Roofline t = roofline(work, d, f, 1);
  roofline_s_ = t.value;
  by_link_ = t.link >= std::max(t.core, t.memory) && t.link > 0;
  added_ = norm_share(t.core, t.memory, 1);
  likely_ = norm_share(t.core, t.memory, 3);
  separate_ = t.core >= t.memory ? 1.0 : 0.0;
}

// Joules of Work at the reference clock. Work that the peaks do not allow in the observed time did
// not happen as counted (caches, a faster algorithm): it is cut to the peak.
void Responder::know_energy(const Work& work, const Device& d, double f) {
  voltage2_ = voltage_squared(d, f).value;
  const double speed = core_speed(d, f);
  const auto add = [&](double amount, std::optional<double> most_rate, const Coefficient& c,
                       double factor) {
    counts_[counted_++] = {.amount = amount,
                           .most_rate = most_rate,
                           .factor = factor,
                           .core_share = c.core_share.value(),
                           .value_j = c.total.value(),
                           .low_j = c.total.estimate.low,
                           .high_j = c.total.estimate.high};
  };
  const auto times = [](const MaybeFigure& peak, double scale) -> std::optional<double> {
    if (!peak) return std::nullopt;
    return peak->estimate.high * scale;
  };
  for (std::size_t i = 0; i < kUnits; ++i) {
    if (work.ops[i] && d.unit_j[i])
      add(work.ops[i]->si(), times(d.peak_flops[i], speed), *d.unit_j[i], 1);
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    const bool core = static_cast<Level>(i) == Level::kL1 || static_cast<Level>(i) == Level::kL2;
    if (work.bytes[i] && d.level_j[i])
      add(work.bytes[i]->si(), times(d.bandwidth[i], core ? speed : 1), *d.level_j[i], 8);
  }
}

Responder::Dynamic Responder::dynamic_energy(double observed) const {
  Dynamic e;
  for (std::size_t i = 0; i < counted_; ++i) {
    const Count& c = counts_[i];
    const double cut = c.most_rate ? std::min(c.amount, *c.most_rate * observed) : c.amount;
    const double core = cut * c.factor * c.core_share * voltage2_;
    const double other = cut * c.factor * (1 - c.core_share);
    e.core += c.value_j * core;
    e.memory += c.value_j * other;
    e.low += c.low_j * (core + other);
    e.high += c.high_j * (core + other);
  }
  return e;
}

Response Responder::from_work(double time) const {
  Response r;
  if (by_link_) {
    // The link sets the time; only its set-up is the GPU's.
    r.fixed_s = time;
    r.core_high_s = 0.02 * time;
  } else {
    const CoreShare s = core_share(time);
    r.core_s = time * s.value;
    r.memory_s = time - r.core_s;
    r.core_low_s = time * s.low;
    r.core_high_s = time * s.high;
  }
  const Dynamic e = dynamic_energy(time);
  r.core_j = e.core;
  r.memory_j = e.memory;
  r.dynamic_low_j = e.low;
  r.dynamic_high_j = e.high;
  return r;
}

namespace {

bool says_something(const Work& work) {
  for (const auto& x : work.ops) {
    if (x && x->si() > 0) return true;
  }
  for (const auto& x : work.bytes) {
    if (x && x->si() > 0) return true;
  }
  return false;
}

}  // namespace

Response& Response::operator+=(const Response& other) {
  core_s += other.core_s;
  memory_s += other.memory_s;
  fixed_s += other.fixed_s;
  core_j += other.core_j;
  memory_j += other.memory_j;
  core_low_s += other.core_low_s;
  core_high_s += other.core_high_s;
  dynamic_low_j += other.dynamic_low_j;
  dynamic_high_j += other.dynamic_high_j;
  return *this;
}

ClockTable clock_table(const Device& d, Hertz reference) {
  ClockTable t;
  t.clocks = d.sm_clocks;
  t.reference = d.nearest_clock(reference);
  t.power_limit_w = d.power_limit_w.value();
  const double ref = t.reference.si();
  const auto& knee = d.behaviour.memory_knee_hz.estimate;
  if (const Estimate& idle = d.idle_w.estimate; idle.value > 0) {
    t.idle_low = idle.low / idle.value;
    t.idle_high = idle.high / idle.value;
  }
  if (const Estimate& active = d.active_w.estimate; active.value > 0) {
    t.active_low = active.low / active.value;
    t.active_high = active.high / active.value;
  }
  for (std::size_t i = 0; i < t.clocks.size(); ++i) {
    const double f = t.clocks[i].si();
    if (t.clocks[i] == t.reference) t.reference_index = i;
    t.core.push_back(core_speed(d, ref) / core_speed(d, f));
    t.memory.push_back(memory_speed(d, ref, knee.value) / memory_speed(d, f, knee.value));
    t.memory_high.push_back(memory_speed(d, ref, knee.high) / memory_speed(d, f, knee.high));
    t.voltage2.push_back(voltage_squared(d, f).value / voltage_squared(d, ref).value);
    t.voltage2_low.push_back(voltage_squared(d, f).low / voltage_squared(d, ref).low);
    t.voltage2_high.push_back(voltage_squared(d, f).high / voltage_squared(d, ref).high);
    if (t.voltage2_low.back() > t.voltage2_high.back())
      std::swap(t.voltage2_low.back(), t.voltage2_high.back());
    t.idle_w.push_back(idle_power(d, f));
    t.active_w.push_back(active_power(d, f));
    t.below_break.push_back(below_break(d, f));
  }
  return t;
}

Responder::Responder(const Device& d, const ClockTable& table, const Work* work, WorkClass kind,
                     Known known)
    : table_(&table),
      kind_(known == Known::kUnknown ? WorkClass::kUnknown : kind),
      shapes_(known == Known::kShapes && work != nullptr && says_something(*work)),
      message_(!shapes_ && kind == WorkClass::kCollective && work != nullptr) {
  const double f = table.reference.si();
  if (shapes_) know_time(*work, d, f);
  if (shapes_ || message_) know_energy(*work, d, f);
}

Response Responder::operator()(Seconds observed, bool* power_capped) const {
  const ClockTable& table = *table_;
  const double time = observed.si();
  if (power_capped != nullptr) *power_capped = false;
  if (!(time > 0)) return {};
  Response r;
  if (shapes_) {
    r = from_work(time);
  } else {
    r = from_class(table, kind_, time);
    if (message_) {
      // Its message is known: what it moves comes on top of the polling that the class stands for.
      const Dynamic e = dynamic_energy(time);
      r.core_j += e.core;
      r.memory_j += e.memory;
      r.dynamic_low_j += e.low;
      r.dynamic_high_j += e.high;
    }
  }
  // The board did not exceed its limit while it was observed: energies are scaled into it. The
  // clock is not taken to have been lower for that: it would make lower clocks look free.
  const std::size_t ref = table.reference_index;
  const double room =
      std::max(0.0, table.power_limit_w - table.idle_w[ref] - table.active_w[ref]) * time;
  if (power_capped != nullptr) *power_capped = r.dynamic_low_j > room;
  const double dynamic = r.core_j + r.memory_j;
  if (dynamic > room) {
    const double fit = room / dynamic;
    r.core_j *= fit;
    r.memory_j *= fit;
  }
  r.dynamic_low_j = std::min(r.dynamic_low_j, r.core_j + r.memory_j);
  r.dynamic_high_j = std::max(std::min(r.dynamic_high_j, room), r.core_j + r.memory_j);
  return r;
}

Response respond(const Device& d, const ClockTable& table, const Observation& o,
                 bool* power_capped) {
  return Responder(d, table, o.work, o.kind, o.known)(o.time, power_capped);
}

ResponsePoint at(const ClockTable& table, const Response& r, std::size_t i) {
  ResponsePoint p;
  p.clock = table.clocks[i];
  p.below_break = table.below_break[i];
  const double observed = r.observed_s();
  const double rest = r.memory_s + r.fixed_s;
  const auto time_with = [&](double core, double memory) {
    const double rest_ratio = rest > 0 ? (r.memory_s * memory + r.fixed_s) / rest : memory;
    return core * table.core[i] + (observed - core) * rest_ratio;
  };
  p.time_s = r.core_s * table.core[i] + r.memory_s * table.memory[i] + r.fixed_s;
  const double ends[] = {time_with(r.core_low_s, table.memory[i]),
                         time_with(r.core_high_s, table.memory_high[i]), p.time_s};
  p.time_low_s = *std::min_element(std::begin(ends), std::end(ends));
  p.time_high_s = *std::max_element(std::begin(ends), std::end(ends));
  const double dynamic = r.core_j + r.memory_j;
  p.dynamic_j = r.core_j * table.voltage2[i] + r.memory_j;
  if (dynamic > 0) {
    p.dynamic_low_j = r.dynamic_low_j / dynamic * (r.core_j * table.voltage2_low[i] + r.memory_j);
    p.dynamic_high_j =
        r.dynamic_high_j / dynamic * (r.core_j * table.voltage2_high[i] + r.memory_j);
    p.dynamic_low_j = std::min(p.dynamic_low_j, p.dynamic_j);
    p.dynamic_high_j = std::max(p.dynamic_high_j, p.dynamic_j);
  }
  if (p.time_s > 0) {
    p.power_w = table.idle_w[i] + table.active_w[i] + p.dynamic_j / p.time_s;
    if (p.power_w > table.power_limit_w) {
      p.power_w = table.power_limit_w;
      p.power_capped = true;
    }
  }
  return p;
}

}  // namespace ergon::model
