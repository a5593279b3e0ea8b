// A GPU in virtual time for tests: power by a function, a counter that ticks.
#pragma once
#include <cmath>
#include <functional>

#include "ergon/gpu.hpp"

namespace ergon::run::test {

inline gpu::Identity board(std::string name, std::string architecture) {
  gpu::Identity who;
  who.id = "0";
  who.uuid = "GPU-test";
  who.name = std::move(name);
  who.architecture = std::move(architecture);
  return who;
}
inline gpu::PowerSource source_averaging(double seconds) {
  gpu::PowerSource source;
  source.kind = seconds > 0 ? gpu::PowerKind::kAverage : gpu::PowerKind::kInstant;
  source.documented_average = Seconds(seconds);
  return source;
}

class FakeGpu : public gpu::Gpu {
 public:
  std::function<double(double)> watts = [](double) { return 100.0; };
  double now_s = 0;
  double tick_s = 0.1;
  double offset_s = 0.037;  ///< of the ticks
  bool has_counter = true;
  bool lost = false;
  bool garbage = false;  ///< every answer is one that cannot be true
  gpu::Identity who = board("Test", "ampere");

  /// Joules up to t, in steps of a millisecond.
  [[nodiscard]] double joules(double t) const {
    while (static_cast<double>(sums_.size()) * 1e-3 <= t) {
      const double at = static_cast<double>(sums_.size()) * 1e-3;
      sums_.push_back((sums_.empty() ? 0 : sums_.back()) + watts(at) * 1e-3);
    }
    const auto k = static_cast<std::size_t>(t / 1e-3);
    const double before = k == 0 ? 0 : sums_[k - 1];
    return before + watts(t) * (t - static_cast<double>(k) * 1e-3);
  }
  [[nodiscard]] double last_tick() const {
    return std::max(0.0, std::floor((now_s - offset_s) / tick_s) * tick_s + offset_s);
  }

  [[nodiscard]] const gpu::Identity& identity() const override { return who; }
  Result<gpu::Sample> sample(const gpu::Fields& fields) override {
    if (lost) return fail(Errc::kDevice, "GPU 0 is lost");
    gpu::Sample out;
    out.begin_ns = out.end_ns = static_cast<Nanos>(std::llround(now_s * 1e9));
    if (garbage) {
      out.refused = 2;
      return out;
    }
    if (fields.energy && has_counter)
      out.energy_uj = static_cast<std::int64_t>(std::llround(joules(last_tick()) * 1e6));
    if (fields.power) out.power_w = std::round(watts(last_tick()) * 1e3) / 1e3;
    if (fields.clocks) out.core_hz = 1.41e9;
    if (fields.temperature) out.temperature_c = 50;
    if (fields.throttle) out.throttle_bits = throttle_bits;
    if (fields.utilization) out.utilization = utilization;
    return out;
  }
  std::optional<double> utilization;
  std::uint64_t throttle_bits = 0;

  Result<gpu::EnergyReading> energy() override { return no(); }
  Result<Watts> power(gpu::Scope, gpu::PowerKind) override { return no(); }
  Result<gpu::PowerSource> power_source() override { return source_averaging(0); }
  Result<gpu::Scope> energy_scope() override { return gpu::Scope::kGpu; }
  Result<Hertz> clock(gpu::Domain) override { return no(); }
  Result<gpu::Throttle> throttle() override { return no(); }
  Result<std::vector<gpu::ThrottleCounter>> throttle_counters() override { return no(); }
  Result<double> temperature_c() override { return no(); }
  Result<gpu::PowerLimits> power_limits() override { return no(); }
  Result<gpu::Mig> mig() override { return no(); }
  Result<std::vector<gpu::Process>> processes() override { return no(); }
  Result<std::vector<Hertz>> supported_clocks(gpu::Domain, std::optional<Hertz>) override {
    return no();
  }
  Result<Hertz> maximum_clock(gpu::Domain) override { return no(); }
  Status lock_clocks(gpu::Domain, Hertz, Hertz) override { return no(); }
  Status reset_clocks(gpu::Domain) override { return no(); }
  Status set_power_limit(Watts) override { return no(); }
  Status probe_control() override { return no(); }

 private:
  static tl::unexpected<Error> no() { return fail(Errc::kUnsupported, "not in this test"); }
  mutable std::vector<double> sums_;
};

}  // namespace ergon::run::test
