// The energy counters of processors and their memory (RAPL through Linux powercap).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::run {

/// One counter. `counts`: part of the machine's CPU energy; a core or uncore counter is a share of
/// its package's, psys covers packages that count already, and a package that is shown twice counts
/// once.
struct CpuDomain {
  std::string name;  ///< "package-0", "package-0 dram", "psys"
  std::string path;  ///< its energy file
  /// The counter starts again after this many joules; nullopt: not readable, so that a fall of the
  /// counter cannot be bridged.
  std::optional<double> range_j;
  bool counts = false;
};

class CpuEnergy {
 public:
  /// The counters below ROOT/sys/class/powercap. kUnsupported: none (not Linux, virtual machine, no
  /// driver) or all stuck at 0; kPermission: there, but only root may read them (since
  /// CVE-2020-8694); the hints say what to do.
  static Result<CpuEnergy> open(const std::string& root = "/");
  CpuEnergy(CpuEnergy&& other) noexcept;
  CpuEnergy& operator=(CpuEnergy&& other) noexcept;
  ~CpuEnergy();

  [[nodiscard]] const std::vector<CpuDomain>& domains() const { return domains_; }
  /// What each counter says, in joules; they start anywhere and wrap.
  [[nodiscard]] Result<std::vector<double>> read_j() const;
  /// Joules between two readings of one domain, across at most one wrap; nullopt where it fell and
  /// the range is not known. Never negative. Read more often than the counter wraps (a minute under
  /// heavy load).
  [[nodiscard]] static std::optional<double> between_j(const CpuDomain& domain, double before,
                                                       double after);
  /// The sum over the domains that count; nullopt where one of them is not known.
  [[nodiscard]] std::optional<double> total_between_j(const std::vector<double>& before,
                                                      const std::vector<double>& after) const;

 private:
  CpuEnergy() = default;
  std::vector<CpuDomain> domains_;
  std::vector<int> files_;
};

}  // namespace ergon::run
