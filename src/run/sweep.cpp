// Measuring the points of a sweep.
#include "ergon/run/sweep.hpp"

#include <algorithm>
#include <cmath>

#include "ergon/gpu/machine.hpp"

namespace ergon::run {
namespace {

constexpr Nanos kGlance = 20'000'000;

std::optional<double> mean(const std::vector<std::optional<double>>& values) {
  double sum = 0;
  int count = 0;
  for (const auto& value : values) {
    if (!value) continue;
    sum += *value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

// The GPUs whose sensor is their own: energies that may be added.
std::vector<bool> owners_of(const std::vector<gpu::Gpu*>& gpus) {
  std::vector<bool> owner;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto& mine = gpus[i]->identity().sensor_owner();
    owner.push_back(std::none_of(
        gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const gpu::Gpu* earlier) { return earlier->identity().sensor_owner() == mine; }));
  }
  return owner;
}

}  // namespace

std::optional<double> one_clock(const std::vector<std::optional<double>>& clocks) {
  constexpr double kStep = 15e6;
  constexpr double kShare = 0.01;
  std::optional<double> least;
  std::optional<double> most;
  for (const auto& clock : clocks) {
    if (!clock) continue;
    least = std::min(least.value_or(*clock), *clock);
    most = std::max(most.value_or(*clock), *clock);
  }
  if (least && *most - *least > std::max(kStep, kShare * *most)) return std::nullopt;
  return mean(clocks);
}

Sweep::Sweep(std::vector<gpu::Gpu*> gpus, gpu::Lease* lease, SweepOptions options)
    : gpus_(std::move(gpus)),
      lease_(lease),
      options_(std::move(options)),
      core_taken_(gpus_.size(), options_.sets_core),
      memory_taken_(gpus_.size(), options_.sets_memory),
      limit_taken_(gpus_.size(), false) {
  options_.program.own_group = true;
  options_.program.dies_with_us = true;
}

Status Sweep::apply_clock(gpu::Gpu& gpu, gpu::Domain domain, const std::optional<Hertz>& clock,
                          bool& taken) {
  if (clock) {
    taken = true;
    return lease_->lock_clocks(gpu, domain, *clock, *clock);
  }
  if (!taken) return {};
  taken = false;
  auto given = lease_->reset_clocks(gpu, domain);
  // What cannot be locked cannot have been: locking it will say so.
  if (!given && given.error().code == Errc::kUnsupported) return {};
  return given;
}

Status Sweep::apply(const Setting& setting) {
  if (lease_ == nullptr) {
    ERGON_CHECK(!setting.core && !setting.memory && !setting.limit,
                "controls need a lease, which nobody took");
    return {};
  }
  ERGON_TRY_STATUS(lease_->ensure_watchdog());
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    bool core = core_taken_[i];
    bool memory = memory_taken_[i];
    // Memory first: it decides which core clocks there are.
    ERGON_TRY_STATUS(apply_clock(*gpus_[i], gpu::Domain::kMemory, setting.memory, memory));
    ERGON_TRY_STATUS(apply_clock(*gpus_[i], gpu::Domain::kCore, setting.core, core));
    core_taken_[i] = core;
    memory_taken_[i] = memory;
    if (setting.limit) {
      limit_taken_[i] = true;
      ERGON_TRY_STATUS(lease_->set_power_limit(*gpus_[i], *setting.limit));
    } else if (limit_taken_[i]) {
      limit_taken_[i] = false;
      const auto before = std::ranges::find(
          lease_->record().gpus, gpus_[i]->identity().sensor_owner(), &gpu::LeasedGpu::uuid);
      if (before != lease_->record().gpus.end() && before->power_limit_w)
        ERGON_TRY_STATUS(lease_->set_power_limit(*gpus_[i], Watts(*before->power_limit_w)));
    }
  }
  const Nanos until = gpu::monotonic_now() + options_.settle_ns;
  while (gpu::monotonic_now() < until && options_.keep_going())
    wait_until(std::min(until, gpu::monotonic_now() + kGlance), nullptr, nullptr, kGlance, [] {});
  return {};
}

Result<PointResult> Sweep::measure(const Setting& setting) {
  ERGON_TRY_STATUS(apply(setting));
  ObserveOptions observe;
  observe.align = options_.align;
  observe.keep_going = options_.keep_going;
  PointResult point;
  Program program = options_.program;
  program.words = substitute(options_.program.words, setting);
  // A run over which the temperature moves too far warms up; the next may be steady.
  for (int attempt = 0;; ++attempt) {
    Observation observation(gpus_, observe);
    observation.open();
    point.runs.clear();
    Status started;
    while (static_cast<int>(point.runs.size()) < options_.repeats && options_.keep_going()) {
      auto record = observation.run(program, nullptr);
      if (!record) {
        started = fail(std::move(record).error());
        break;
      }
      point.runs.push_back(*std::move(record));
      const Ending& ending = *point.runs.back().ending;
      if (ending.signal != 0 || ending.status >= 128) point.abnormal = ending;
      point.failed = ending.status != 0;
      if (point.failed) break;
    }
    auto readings = observation.close();
    ERGON_TRY_STATUS(std::move(started));
    if (point.failed || !options_.keep_going()) {
      point.reason = point.failed ? "the program ended with status " +
                                        std::to_string(point.runs.back().ending->status)
                                  : "interrupted";
      return point;
    }
    conclude(setting, point, std::move(readings));
    const bool drifts = std::ranges::any_of(point.evidence, [&](const PointEvidence& e) {
      return e.temperature_low_c && *e.temperature_high_c - *e.temperature_low_c >
                                        options_.requirements.temperature_band_c;
    });
    if (!drifts || attempt >= options_.most_warm_ups) return point;
    point.warm_ups += static_cast<int>(point.runs.size());
    options_.say("warming up: " + point.reason);
  }
}

void Sweep::conclude(const Setting& setting, PointResult& point,
                     Observation::Readings readings) const {
  const std::size_t gpus = gpus_.size();
  point.sensors.clear();
  point.evidence.assign(gpus, {});
  point.results.assign(point.runs.size(), std::vector<GpuResult>(gpus));
  for (std::size_t g = 0; g < gpus; ++g) {
    const auto source = gpus_[g]->power_source();
    point.sensors.push_back(sensor_of(readings.series[g], gpus_[g]->identity(),
                                      source ? std::optional(*source) : std::nullopt));
  }
  std::vector<std::string> reasons;
  std::vector<std::optional<Estimate>> totals;
  std::vector<std::optional<Estimate>> times;
  std::vector<std::vector<std::optional<double>>> clocks(gpus);
  std::vector<std::vector<std::optional<double>>> memory_clocks(gpus);
  const auto owner = owners_of(gpus_);
  for (std::size_t r = 0; r < point.runs.size(); ++r) {
    const meter::Window window = point.runs[r].window;
    for (const Stranger& stranger : point.runs[r].strangers) {
      if (!stranger.certain) continue;
      std::string reason = "another program was on GPU " + stranger.gpu + " (process " +
                           std::to_string(stranger.pid) + ")";
      if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
    }
    std::vector<std::optional<Estimate>> energies;
    for (std::size_t g = 0; g < gpus; ++g) {
      GpuResult& result = point.results[r][g];
      result = result_of(readings.series[g], point.sensors[g], window, std::nullopt,
                         stated_gain95(gpus_[g]->identity()));
      const PointEvidence evidence = evidence_of(readings.series[g], result, window);
      for (auto& objection : objections(setting, evidence, options_.requirements)) {
        std::string reason =
            gpus == 1 ? objection : "GPU " + gpus_[g]->identity().id + ": " + objection;
        if (std::ranges::find(reasons, reason) == reasons.end())
          reasons.push_back(std::move(reason));
      }
      if (owner[g]) energies.push_back(result.energy.energy_j);
      clocks[g].push_back(evidence.clock_hz);
      memory_clocks[g].push_back(evidence.memory_clock_hz);
      point.evidence[g] = evidence;
    }
    totals.push_back(sum_of(energies));
    const double seconds = window.length().si();
    times.push_back(Estimate{seconds, seconds, seconds, Origin::kMeasured});
  }
  for (std::size_t g = 0; g < gpus; ++g) {
    if (readings.failures[g]) reasons.push_back(readings.failures[g]->message);
  }
  point.energy_j = mean_of(totals);
  point.time_s = mean_of(times);
  point.clocks_hz.clear();
  std::vector<std::optional<double>> memory;
  for (std::size_t g = 0; g < gpus; ++g) {
    point.clocks_hz.push_back(mean(clocks[g]));
    memory.push_back(mean(memory_clocks[g]));
  }
  point.clock_hz = one_clock(point.clocks_hz);
  point.memory_clock_hz = one_clock(memory);
  point.series = std::move(readings.series);
  point.reason.clear();
  for (const auto& reason : reasons) point.reason += (point.reason.empty() ? "" : "; ") + reason;
  point.valid = reasons.empty();
}

}  // namespace ergon::run
