// CPU energy beside a run.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ergon/run.hpp"

namespace ergon::cli {

/// CPU energy of one window, read often enough for counters that wrap.
class CpuMeter {
 public:
  CpuMeter();
  void start();
  void look();  ///< to be called every few seconds in between
  /// Joules since start(); nullopt: not known, see why_unknown().
  std::optional<double> stop();
  [[nodiscard]] const std::string& why_unknown() const { return why_; }

 private:
  std::optional<std::vector<double>> read();
  void add();

  std::string why_;
  std::optional<run::CpuEnergy> cpu_;
  std::optional<std::vector<double>> last_;
  std::optional<double> sum_;
  Nanos next_ns_ = 0;
};

}  // namespace ergon::cli
