// Examining a machine.
#include "ergon/run/doctor.hpp"

#include <algorithm>
#include <cmath>

#include "ergon/run/measure.hpp"

namespace ergon::run {
namespace {

constexpr Nanos kBetweenReads = 2'000'000;
constexpr Nanos kBetweenFastReads = 200'000;  // of a sensor that is new at nearly every read
constexpr std::size_t kFirstReads = 64;
constexpr Nanos kAfterLoad = 500'000'000;
constexpr const char* kNotTried = "whether clocks can be changed was not tried";
constexpr double kHot = 85;
constexpr double kHotAtRest = 65;
constexpr std::uint64_t kKnownReasons =
    gpu::reason::kIdle | gpu::reason::kAskedClocks | gpu::reason::kPowerCap |
    gpu::reason::kHardwareSlowdown | gpu::reason::kSyncBoost | gpu::reason::kThermal |
    gpu::reason::kHardwareThermal | gpu::reason::kPowerBrake | gpu::reason::kDisplayClocks;

// The subject stands before the finding already.
std::string without_prefix(const std::string& message, const std::string& subject) {
  const std::string prefix = subject + ": ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

class Doctor {
 public:
  Doctor(const Result<gpu::Machine>& machine, const DoctorOptions& options)
      : machine_(machine), options_(options) {}

  Result<Checkup> run() {
    found_.place = gpu::look_around(options_.root);
    look_at_cpu();
    if (!machine_) {
      found_.no_gpu = machine_.error();
      add(Finding::Severity::kError, "machine", machine_.error());
      return std::move(found_);
    }
    for (const auto& note : machine_->notes)
      found_.findings.push_back({Finding::Severity::kNote, "machine", note, ""});
    for (const auto& lost : machine_->lost) {
      // "GPU 1: the GPU is lost": its own subject.
      const auto colon =
          lost.message.starts_with("GPU ") ? lost.message.find(": ") : std::string::npos;
      add(Finding::Severity::kError,
          colon == std::string::npos ? "machine" : lost.message.substr(0, colon), lost);
    }
    found_.lost = machine_->lost.size();
    if (!machine_->cuda_order_certain) {
      found_.findings.push_back(
          {Finding::Severity::kWarning, "machine",
           "the boards are unlike: CUDA's default order (fastest first) is not the driver's, and "
           "which is fastest is not documented",
           "export CUDA_DEVICE_ORDER=PCI_BUS_ID"});
    }
    for (const auto& gpu : machine_->gpus) ask(*gpu);
    if (options_.start_load) ERGON_TRY_STATUS(options_.start_load());
    watch();
    for (const GpuCheckup& gpu : found_.gpus) judge(gpu);
    return std::move(found_);
  }

 private:
  void add(Finding::Severity severity, const std::string& subject, const Error& error) {
    found_.findings.push_back(
        {severity, subject, without_prefix(error.message, subject), error.hint});
  }

  void look_at_cpu() {
    const auto cpu = CpuEnergy::open(options_.root);
    if (cpu) {
      found_.cpu = cpu->domains();
      const bool memory = std::ranges::any_of(cpu->domains(), [](const CpuDomain& domain) {
        return domain.counts && domain.name.find("dram") != std::string::npos;
      });
      if (!memory) {
        found_.findings.push_back({Finding::Severity::kNote, "CPU",
                                   "the memory's energy has no counter here (AMD has none): CPU "
                                   "energy is that of the packages alone",
                                   ""});
      }
      for (const CpuDomain& domain : cpu->domains()) {
        if (domain.counts && !domain.range_j) {
          found_.findings.push_back(
              {Finding::Severity::kWarning, "CPU",
               domain.name +
                   " does not say when its counter wraps: energy across a wrap is unknown",
               "sudo chmod a+r /sys/class/powercap/*/max_energy_range_uj"});
        }
      }
      return;
    }
    found_.no_cpu = cpu.error();
    add(cpu.error().code == Errc::kPermission ? Finding::Severity::kWarning
                                              : Finding::Severity::kNote,
        "CPU", cpu.error());
  }

  void ask(gpu::Gpu& gpu) {
    GpuCheckup checkup{.identity = gpu.identity(),
                       .cuda_index = std::nullopt,
                       .power_source = gpu.power_source(),
                       .energy = gpu.energy(),
                       .energy_scope = gpu.energy_scope(),
                       .sensor = {},
                       .power_w = std::nullopt,
                       .limits = gpu.power_limits(),
                       .core_clocks = gpu.supported_clocks(gpu::Domain::kCore),
                       .memory_clocks = gpu.supported_clocks(gpu::Domain::kMemory),
                       .throttle = gpu.throttle(),
                       .throttle_counters = gpu.throttle_counters(),
                       .temperature_c = gpu.temperature_c(),
                       .mig = gpu.mig(),
                       .processes = gpu.processes(),
                       .control = options_.probe_control ? gpu.probe_control()
                                                         : fail(Errc::kUnsupported, kNotTried)};
    const auto position = static_cast<int>(found_.gpus.size());
    const auto& order = machine_->cuda_order;
    if (const auto at = std::ranges::find(order, position); at != order.end())
      checkup.cuda_index = static_cast<int>(at - order.begin());
    found_.gpus.push_back(std::move(checkup));
  }

  // Whether most of the first readings found another power, or count, than the one before.
  static bool fast_sensor(const meter::Series& series) {
    const auto often = [&](const std::vector<double>& column) {
      std::size_t changes = 0;
      for (std::size_t i = 1; i < column.size(); ++i)
        changes += !meter::is_missing(column[i]) && column[i] != column[i - 1] ? 1 : 0;
      return 5 * changes > 3 * column.size();
    };
    return often(series.power_w) || often(series.energy_j);
  }

  // Reads energy and power as fast as makes sense, all GPUs in turn.
  void watch() {
    std::vector<meter::Series> series(machine_->gpus.size());
    std::vector<std::vector<Nanos>> calls(machine_->gpus.size());
    gpu::Fields fields;
    fields.clocks = fields.throttle = fields.temperature = false;
    Nanos end = options_.now() + std::llround(options_.watch.si() * 1e9);
    bool loaded = options_.load_runs != nullptr;
    Nanos between = kBetweenReads;
    while (options_.now() < end) {
      if (loaded && !options_.load_runs()) {
        loaded = false;
        end = std::min(end, options_.now() + kAfterLoad);
      }
      for (std::size_t i = 0; i < series.size(); ++i) {
        GpuCheckup& checkup = found_.gpus[i];
        const auto sample = machine_->gpus[i]->sample(fields);
        if (!sample) continue;
        checkup.refused += static_cast<std::uint64_t>(sample->refused);
        if (sample->power_w) checkup.power_w = sample->power_w;
        series[i].time_ns.push_back(sample->begin_ns + (sample->end_ns - sample->begin_ns) / 2);
        series[i].power_w.push_back(sample->power_w.value_or(meter::kMissing));
        series[i].energy_j.push_back(
            sample->energy_uj ? static_cast<double>(*sample->energy_uj) * 1e-6 : meter::kMissing);
        calls[i].push_back(sample->end_ns - sample->begin_ns);
      }
      if (between == kBetweenReads && !series.empty() && series[0].size() == kFirstReads &&
          std::ranges::any_of(series, fast_sensor))
        between = kBetweenFastReads;
      options_.sleep(between);
    }
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (series[i].size() < 2) continue;
      GpuCheckup& checkup = found_.gpus[i];
      checkup.sensor = meter::estimate_sensor(series[i]);
      checkup.window = meter::fit_own_window(series[i]);
      const auto& source = checkup.power_source;
      checkup.published_window_s =
          sensor_of(series[i], checkup.identity, source ? std::optional(*source) : std::nullopt)
              .averaging_window_s;
      const auto middle = calls[i].begin() + static_cast<std::ptrdiff_t>(calls[i].size() / 2);
      std::ranges::nth_element(calls[i], middle);
      found_.gpus[i].call_ns = *middle;
    }
  }

  void judge_heat(const GpuCheckup& gpu, const std::string& subject) {
    if (!gpu.temperature_c) return;
    const std::string degrees = std::to_string(std::lround(*gpu.temperature_c)) + " \u00b0C";
    const bool rests = gpu.processes && gpu.processes->empty();
    if (*gpu.temperature_c >= kHot) {
      found_.findings.push_back({Finding::Severity::kWarning, subject,
                                 "it is " + degrees + " hot: it may throttle",
                                 "let it cool before measuring"});
    } else if (rests && *gpu.temperature_c >= kHotAtRest) {
      found_.findings.push_back(
          {Finding::Severity::kWarning, subject,
           "it is " + degrees + " hot while nothing runs on it: under load it may throttle",
           "look after its cooling; else let it cool before measuring"});
    }
  }

  void judge_throttle(const GpuCheckup& gpu, const std::string& subject) {
    if (!gpu.throttle) return;
    const std::uint64_t bits = gpu.throttle->holding_back();
    const std::uint64_t known = bits & kKnownReasons;
    if (known != 0) {
      found_.findings.push_back({Finding::Severity::kWarning, subject,
                                 "held back now: " + gpu::Throttle{known}.names(),
                                 "let it cool or raise its limit before measuring"});
    }
    if (bits != known) {
      found_.findings.push_back(
          {Finding::Severity::kWarning, subject,
           "the driver names reasons for its clock that are not documented (" +
               gpu::Throttle{bits & ~known}.names() + "): whether they hold it back is not known",
           "compare the achieved clocks with those asked for"});
    }
  }

  void judge(const GpuCheckup& gpu) {
    const std::string subject = "GPU " + gpu.identity.id;
    using Severity = Finding::Severity;
    if (!gpu.can_measure()) {
      add(Severity::kError, subject, gpu.power_source.error());
    } else if (!gpu.energy) {
      found_.findings.push_back({Severity::kNote, subject,
                                 without_prefix(gpu.energy.error().message, subject) +
                                     ": energy is integrated from power, windows must be longer",
                                 ""});
    } else if (!gpu.power_source) {
      add(Severity::kWarning, subject, gpu.power_source.error());
    }
    if (gpu.refused > 0) {
      found_.findings.push_back(
          {Severity::kWarning, subject,
           std::to_string(gpu.refused) + " readings could not be true and were left out",
           "update the driver"});
    }
    const bool powered = gpu.power_w && *gpu.power_w > 1;
    if (gpu.energy && powered && options_.watch.si() >= 1 && gpu.sensor.energy_step_j <= 0 &&
        !gpu.sensor.energy_tick_s) {
      found_.findings.push_back({Severity::kWarning, subject,
                                 "the energy counter did not move while it was watched: it may "
                                 "stand still",
                                 "watch for longer (--watch 10s); a counter that stands still is "
                                 "not used"});
    }
    if (gpu.call_ns > 20'000'000) {
      found_.findings.push_back({Severity::kWarning, subject,
                                 "one reading takes " + std::to_string(gpu.call_ns / 1'000'000) +
                                     " ms: short windows are known less well",
                                 "nvidia-smi -pm 1 keeps the driver loaded"});
    }
    judge_heat(gpu, subject);
    if (gpu.energy_scope && *gpu.energy_scope == gpu::Scope::kModule) {
      found_.findings.push_back({Severity::kWarning, subject,
                                 "power and energy are those of the whole module, CPU and its "
                                 "memory included",
                                 ""});
    }
    if (gpu.power_source && gpu.power_source->documented_average &&
        gpu.power_source->documented_average->si() > 0) {
      found_.findings.push_back({Severity::kNote, subject,
                                 "this driver gives power only as a one-second average",
                                 "driver 530 or newer tells instantaneous power"});
    }
    if (!gpu.control && !gpu.identity.recorded && options_.probe_control)
      add(Severity::kWarning, subject, gpu.control.error());
    judge_throttle(gpu, subject);
    if (gpu.processes && !gpu.processes->empty()) {
      std::string pids;
      for (const auto& process : *gpu.processes)
        pids += (pids.empty() ? "" : ", ") + std::to_string(process.pid);
      found_.findings.push_back(
          {Severity::kWarning, subject,
           "in use by other programs (process " + pids + "): their energy would count",
           "end them before measuring"});
    }
    if (gpu.limits && gpu.limits->standard && gpu.limits->current < *gpu.limits->standard) {
      found_.findings.push_back({Severity::kNote, subject,
                                 "the power limit is " +
                                     std::to_string(std::lround(gpu.limits->current.si())) +
                                     " W, below the board's " +
                                     std::to_string(std::lround(gpu.limits->standard->si())) + " W",
                                 "sudo nvidia-smi -i " + gpu.identity.id + " -pl " +
                                     std::to_string(std::lround(gpu.limits->standard->si()))});
    }
    if (gpu.sensor.update_period_s && gpu.sensor.update_period_s->value > 0.5 && !gpu.energy) {
      found_.findings.push_back(
          {Severity::kWarning, subject, "power is renewed less than twice a second", ""});
    }
  }

  const Result<gpu::Machine>& machine_;
  const DoctorOptions& options_;
  Checkup found_;
};

}  // namespace

const char* to_string(Finding::Severity severity) {
  switch (severity) {
    case Finding::Severity::kError:
      return "error";
    case Finding::Severity::kWarning:
      return "warning";
    case Finding::Severity::kNote:
      break;
  }
  return "note";
}

bool Checkup::can_measure() const { return std::ranges::any_of(gpus, &GpuCheckup::can_measure); }
bool Checkup::can_control() const {
  return std::ranges::any_of(gpus, [](const GpuCheckup& gpu) { return gpu.control.has_value(); });
}

Result<Checkup> examine(const Result<gpu::Machine>& machine, const DoctorOptions& options) {
  return Doctor(machine, options).run();
}

}  // namespace ergon::run
