// CPU energy beside a run, across the wraps of its counters.
#include "cpu_meter.hpp"

#include "ergon/gpu/machine.hpp"

namespace ergon::cli {
namespace {

constexpr Nanos kCpuWraps = 20'000'000'000;  ///< RAPL wraps after a minute at the least

}  // namespace

CpuMeter::CpuMeter() {
  auto opened = run::CpuEnergy::open();
  if (!opened) {
    why_ = opened.error().message;
    return;
  }
  cpu_ = *std::move(opened);
}

void CpuMeter::start() {
  sum_ = 0;
  last_ = read();
  next_ns_ = gpu::monotonic_now() + kCpuWraps;
}

void CpuMeter::look() {
  if (!cpu_ || gpu::monotonic_now() < next_ns_) return;
  next_ns_ += kCpuWraps;
  add();
}

std::optional<double> CpuMeter::stop() {
  add();
  return cpu_ && last_ ? sum_ : std::nullopt;
}

std::optional<std::vector<double>> CpuMeter::read() {
  if (!cpu_) return std::nullopt;
  auto now = cpu_->read_j();
  if (!now) {
    why_ = now.error().message;
    return std::nullopt;
  }
  return *std::move(now);
}

void CpuMeter::add() {
  auto now = read();
  const auto joules = now && last_ ? cpu_->total_between_j(*last_, *now) : std::optional<double>();
  if (sum_ && joules) {
    sum_ = *sum_ + *joules;
  } else {
    sum_.reset();
  }
  last_ = std::move(now);
}

}  // namespace ergon::cli
