// A GPU of tests: what it is told stays readable.
#pragma once
#include <string>
#include <vector>

#include "ergon/gpu.hpp"

namespace ergon::gpu {

class FakeGpu : public Gpu {
 public:
  explicit FakeGpu(std::string uuid) {
    identity_.id = "0";
    identity_.uuid = std::move(uuid);
    identity_.name = "Fake";
  }
  double limit_w = 400;
  bool fails = false;
  std::vector<std::string> told;

  [[nodiscard]] const Identity& identity() const override { return identity_; }
  Result<Sample> sample(const Fields& /*fields*/) override { return Sample{}; }
  Result<EnergyReading> energy() override { return no(); }
  Result<Watts> power(Scope /*scope*/, PowerKind /*kind*/) override { return no(); }
  Result<PowerSource> power_source() override { return no(); }
  Result<Scope> energy_scope() override { return no(); }
  Result<Hertz> clock(Domain /*domain*/) override { return no(); }
  Result<Throttle> throttle() override { return no(); }
  Result<std::vector<ThrottleCounter>> throttle_counters() override { return no(); }
  Result<double> temperature_c() override { return no(); }
  Result<PowerLimits> power_limits() override {
    return PowerLimits{Watts(limit_w), {}, {}, {}, {}};
  }
  Result<Mig> mig() override { return no(); }
  Result<std::vector<Process>> processes() override { return no(); }
  Result<std::vector<Hertz>> supported_clocks(Domain /*domain*/,
                                              std::optional<Hertz> /*at_memory*/) override {
    return no();
  }
  Result<Hertz> maximum_clock(Domain /*domain*/) override { return no(); }
  Status lock_clocks(Domain domain, Hertz low, Hertz /*high*/) override {
    return tell(std::string("lock ") + to_string(domain) + " " + std::to_string(low.si() * 1e-6));
  }
  Status reset_clocks(Domain domain) override {
    return tell(std::string("reset ") + to_string(domain));
  }
  Status set_power_limit(Watts limit) override {
    limit_w = limit.si();
    return tell("limit");
  }
  Status probe_control() override { return {}; }

 private:
  static tl::unexpected<Error> no() { return fail(Errc::kUnsupported, "not in a test"); }
  Status tell(std::string what) {
    if (fails) return fail(Errc::kDevice, "lost");
    told.push_back(std::move(what));
    return {};
  }
  Identity identity_;
};

}  // namespace ergon::gpu
