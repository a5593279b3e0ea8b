// One GPU behind AMD SMI.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amdsmi_library.hpp"

namespace ergon::gpu::amdsmi {

class SmiGpu final : public Gpu {
 public:
  SmiGpu(std::shared_ptr<Smi> smi, abi::Processor processor, Identity identity, TimeSource now);

  [[nodiscard]] const Identity& identity() const override { return identity_; }
  Result<Sample> sample(const Fields& fields) override;
  Result<EnergyReading> energy() override;
  Result<Watts> power(Scope scope, PowerKind kind) override;
  Result<PowerSource> power_source() override;
  Result<Scope> energy_scope() override { return Scope::kGpu; }
  Result<Hertz> clock(Domain domain) override;
  Result<Throttle> throttle() override;
  Result<std::vector<ThrottleCounter>> throttle_counters() override;
  Result<double> temperature_c() override;
  Result<PowerLimits> power_limits() override;
  Result<Mig> mig() override;
  Result<std::vector<Process>> processes() override;
  Result<std::vector<Hertz>> supported_clocks(Domain domain,
                                              std::optional<Hertz> at_memory) override;
  Result<Hertz> maximum_clock(Domain domain) override;
  Status lock_clocks(Domain domain, Hertz low, Hertz high) override;
  Status reset_clocks(Domain domain) override;
  Status set_power_limit(Watts limit) override;
  Status probe_control() override;

 private:
  /// The call's result as a Status; a missing function is kUnsupported.
  template <class Function, class... Arguments>
  Status call(const std::string& what, Function* function, Arguments... arguments) const {
    const auto code =
        function == nullptr ? abi::Status::kNotSupported : function(processor_, arguments...);
    if (code != abi::Status::kSuccess) return fail(Smi::error(code, what, identity_.id));
    return {};
  }
  [[nodiscard]] tl::unexpected<Error> unsupported(const std::string& what) const;
  void choose_limit();

  std::shared_ptr<Smi> smi_;
  abi::Processor processor_;
  Identity identity_;
  TimeSource now_;
  bool limit_asked_ = false;
  std::optional<double> maximum_limit_w_;
};

}  // namespace ergon::gpu::amdsmi
