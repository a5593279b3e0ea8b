// One GPU behind NVML.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nvml_library.hpp"

namespace ergon::gpu::nvml {

/// What enumeration knows of a GPU.
struct Handles {
  abi::Device sensors = nullptr;  ///< the board: who answers and who is told
  abi::Device parts = nullptr;    ///< the MIG instance, or the board again
};

class NvmlGpu final : public Gpu {
 public:
  NvmlGpu(std::shared_ptr<Nvml> nvml, Handles handles, Identity identity, bool whole_second_usage,
          TimeSource now);

  [[nodiscard]] const Identity& identity() const override { return identity_; }
  Result<Sample> sample(const Fields& fields) override;
  Result<EnergyReading> energy() override;
  Result<Watts> power(Scope scope, PowerKind kind) override;
  Result<PowerSource> power_source() override;
  Result<Scope> energy_scope() override;
  Result<Hertz> clock(Domain domain) override;
  Result<Throttle> throttle() override;
  Result<std::vector<ThrottleCounter>> throttle_counters() override;
  Result<double> temperature_c() override;
  Result<PowerLimits> power_limits() override;
  Result<Mig> mig() override;
  Result<std::vector<Process>> processes() override;
  Result<std::vector<Process>> recent_processes(std::int64_t utc_us) override;
  Result<std::vector<Hertz>> supported_clocks(Domain domain,
                                              std::optional<Hertz> at_memory) override;
  Result<Hertz> maximum_clock(Domain domain) override;
  Status lock_clocks(Domain domain, Hertz low, Hertz high) override;
  Status reset_clocks(Domain domain) override;
  Status set_power_limit(Watts limit) override;
  Status probe_control() override;

 private:
  [[nodiscard]] Error error(abi::Return code, const std::string& what) const;
  /// The call's result as a Status; a missing function is kFunctionNotFound.
  template <class Function, class... Arguments>
  Status call(const std::string& what, Function* function, Arguments... arguments) const {
    if (function == nullptr) return fail(error(abi::Return::kFunctionNotFound, what));
    if (const auto code = function(arguments...); code != abi::Return::kSuccess)
      return fail(error(code, what));
    return {};
  }
  /// A list whose length the driver says: asked again where it did not fit.
  template <class Item, class Ask>
  Result<std::vector<Item>> list(const std::string& what, const Ask& ask) const {
    std::vector<Item> items(512);
    while (true) {
      auto count = static_cast<std::uint32_t>(items.size());
      const abi::Return code = ask(&count, items.data());
      const bool too_small = code == abi::Return::kInsufficientSize && items.size() < (1U << 20U);
      if (too_small) {
        items.resize(items.size() * 4);
        continue;
      }
      if (code != abi::Return::kSuccess) return fail(error(code, what));
      items.resize(count < items.size() ? count : items.size());
      return items;
    }
  }
  Result<double> field(abi::Field id, abi::PowerScope scope, const std::string& what) const;
  Result<Watts> checked_power(double milliwatts, const std::string& what) const;
  Status whole_board_only(const std::string& what) const;
  void choose_sources();
  void read_fields(const Fields& fields, Sample& sample, abi::Return& worst) const;

  std::shared_ptr<Nvml> nvml_;
  Handles handles_;
  Identity identity_;
  bool whole_second_usage_;  ///< nvmlDeviceGetPowerUsage is a one-second average here
  TimeSource now_;

  bool chosen_ = false;
  std::optional<PowerSource> power_source_;
  Error no_power_;
  std::optional<double> maximum_limit_w_;
  bool energy_by_field_ = false;
  Scope energy_scope_ = Scope::kGpu;
};

/// The number in a field value, whichever type it has.
double number_of(const abi::FieldValue& value);

}  // namespace ergon::gpu::nvml
