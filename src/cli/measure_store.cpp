// Readings into the run file while a program runs, the figures when it is done.
#include "measure_store.hpp"

#include <chrono>
#include <ctime>
#include <filesystem>

namespace ergon::cli {
namespace {

constexpr const char* kComplete = "complete";
constexpr std::chrono::seconds kWriteEvery{1};

std::optional<double> middle(const std::optional<Estimate>& e) {
  return e ? std::optional(e->value) : std::nullopt;
}

Seconds thread_time() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return Seconds(static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9);
}

// Readings from the first-th on.
meter::Series rest_of(const meter::Series& all, std::size_t first) {
  meter::Series rest = all;
  const auto cut = [&](auto& column) {
    if (column.size() == all.size())
      column.erase(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(first));
  };
  cut(rest.power_w);
  cut(rest.average_power_w);
  cut(rest.energy_j);
  cut(rest.clock_hz);
  cut(rest.memory_clock_hz);
  cut(rest.temperature_c);
  cut(rest.power_limit_w);
  cut(rest.utilization);
  cut(rest.throttle);
  cut(rest.time_ns);
  return rest;
}

}  // namespace

meter::StoredDevice stored_device(const gpu::Identity& identity) {
  meter::StoredDevice device;
  device.id = identity.id;
  device.name = identity.name;
  device.uuid = identity.uuid;
  device.pci = identity.pci;
  device.driver = identity.driver;
  device.origin = identity.simulated ? Origin::kSimulated : Origin::kMeasured;
  return device;
}

SampleStore::SampleStore(std::string path, meter::Provenance provenance,
                         std::vector<meter::StoredDevice> devices,
                         std::function<std::vector<meter::Series>()> take_new)
    : path_(std::move(path)),
      provenance_(std::move(provenance)),
      devices_(std::move(devices)),
      take_new_(std::move(take_new)) {
  provenance_.more.emplace_back(kComplete, "no");
}

SampleStore::~SampleStore() { stop(); }

void SampleStore::start() {
  thread_ = std::jthread([this](const std::stop_token& stopped) {
    std::unique_lock lock(mutex_);
    while (!stopped.stop_requested()) {
      wake_.wait_for(lock, stopped, kWriteEvery, [] { return false; });
      if (outcome_) outcome_ = write_new();
    }
    cpu_time_ = thread_time();
  });
}

void SampleStore::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

Status SampleStore::write_new() {
  const auto parts = take_new_();
  if (parts.empty() && file_) return {};
  if (!file_) {
    ERGON_TRY(file_, meter::RunFile::create(path_, provenance_));
    for (const auto& device : devices_) ERGON_TRY_STATUS(file_->add_device(device));
  }
  for (const auto& part : parts) {
    ERGON_TRY_STATUS(file_->add_samples(part));
    written_[part.gpu] += part.size();
  }
  return {};
}

Status SampleStore::complete(const Measurement& m) {
  ERGON_TRY_STATUS(std::move(outcome_));
  // The last copies came when the readings ended.
  ERGON_TRY_STATUS(write_new());
  ERGON_TRY_STATUS(write_devices(m));
  ERGON_TRY_STATUS(write_runs(m));
  ERGON_TRY_STATUS(file_->set_fact("created_utc", m.created_utc));
  return file_->set_fact(kComplete, "yes");
}

void SampleStore::discard() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Status SampleStore::write_devices(const Measurement& m) {
  for (const auto& gpu : m.gpus) {
    meter::StoredDevice device = stored_device(gpu.identity);
    for (const double watts : gpu.series.power_limit_w) {
      if (!meter::is_missing(watts)) device.power_limit_w = watts;
    }
    device.update_period_s = middle(gpu.sensor.update_period_s);
    device.averaging_window_s = middle(gpu.sensor.averaging_window_s);
    device.energy_tick_s = middle(gpu.sensor.energy_tick_s);
    ERGON_TRY_STATUS(file_->add_device(device));
    const std::size_t have = written_[gpu.identity.id];
    if (have < gpu.series.size()) ERGON_TRY_STATUS(file_->add_samples(rest_of(gpu.series, have)));
  }
  return {};
}

Status SampleStore::write_runs(const Measurement& m) {
  for (std::size_t r = 0; r < m.runs.size(); ++r) {
    const MeasuredRun& run = m.runs[r];
    meter::StoredRun stored;
    stored.repeat = static_cast<std::int64_t>(r);
    stored.window = run.record.window;
    stored.start_utc_ns = m.start_utc_ns + run.record.window.start_ns;
    if (run.record.ending) stored.exit_status = run.record.ending->status;
    for (std::size_t g = 0; g < m.gpus.size(); ++g) {
      const run::GpuResult& result = run.gpus[g];
      meter::StoredEnergy energy;
      energy.device = m.gpus[g].identity.id;
      energy.energy_j = result.energy.energy_j;
      energy.energy_above_idle_j = result.above_idle_j;
      energy.energy_counter_j = middle(result.energy.counter.energy_j);
      energy.energy_trapezoid_j = middle(result.energy.trapezoid.energy_j);
      energy.why_unknown = result.energy.energy_j ? "" : result.energy.why_unknown;
      if (result.energy.energy_j) energy.coverage = result.energy.coverage;
      energy.disagreement = result.energy.disagreement;
      energy.clock_hz = result.clock_hz;
      energy.memory_clock_hz = result.memory_clock_hz;
      energy.temperature_c = result.temperature_c;
      if (result.throttled_share) {
        energy.throttled = *result.throttled_share > 0;
        energy.throttle_bits = result.throttle_bits;
      }
      stored.energies.push_back(std::move(energy));
    }
    ERGON_TRY(const auto id, file_->add_run(stored));
    // A passage has no energy of its own where only their sum is known.
    std::vector<meter::StoredRegion> regions;
    for (std::size_t k = 0; k < run.record.marks.regions.size(); ++k) {
      const auto& marked = run.record.marks.regions[k];
      const auto& result = run.regions[k];
      for (const auto& span : marked.spans) {
        meter::StoredRegion region;
        region.run = id;
        region.device = m.gpus.front().identity.id;
        region.name = marked.name;
        region.window = {span.start_ns, span.end_ns};
        if (marked.spans.size() == 1 && m.gpus.size() == 1) region.energy_j = result.energy_j;
        region.why_unknown = result.why_unknown;
        regions.push_back(std::move(region));
      }
    }
    ERGON_TRY_STATUS(file_->add_regions(regions));
  }
  return {};
}

}  // namespace ergon::cli
