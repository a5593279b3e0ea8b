// Opening the GPUs of --gpu, and what a lease needs from the process.
#include "gpu_input.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "ergon/meter.hpp"
#include "ergon/sim.hpp"

namespace ergon::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kWatchdog = "__watchdog";

std::optional<std::string> variable(const Surroundings& surroundings, const std::string& name) {
  return surroundings.variable ? surroundings.variable(name) : std::nullopt;
}

void set_all(const Surroundings& surroundings,
             const std::vector<std::pair<std::string, std::string>>& variables) {
  if (!surroundings.set_variable) return;
  for (const auto& [name, value] : variables) surroundings.set_variable(name, value);
}

// What the simulated driver would print and refuse is said as an error of ours, before it is
// loaded.
Status check_simulated(const gpu::SimSpec& spec, bool from_variable) {
  const std::string text = spec.model + (spec.options.empty() ? "" : "," + spec.options);
  const auto config = sim::parse_config(text);
  if (config) return {};
  if (sim::find_model(spec.model) == nullptr) {
    std::string known;
    for (const auto& key : sim::model_keys())
      known += (known.empty() ? "" : ", ") + std::string(key);
    return fail(Errc::kInvalidArgument, "there is no simulated GPU '" + spec.model + "'",
                "the models are " + known + ", as in --gpu sim:a100,seed=7");
  }
  std::string message = config.error().message;
  if (!from_variable && message.starts_with("ERGON_SIM: ")) {
    message.replace(0, std::string_view("ERGON_SIM").size(), "--gpu sim:" + text);
  }
  return fail(config.error().code, message, config.error().hint);
}

// The machine of a simulated GPU: the folder that the user named, else one of our own.
Status prepare_simulated(const Surroundings& surroundings, const gpu::SimSpec& spec,
                         OpenedGpus& opened) {
  opened.machine_id = variable(surroundings, "ERGON_SIM_STATE").value_or("");
  if (opened.machine_id.empty()) {
    ERGON_TRY(opened.state, TemporaryFolder::make("ergon-sim-"));
    opened.machine_id = opened.state->path();
  } else {
    opened.machine_id = fs::absolute(opened.machine_id).lexically_normal().string();
  }
  opened.environment =
      gpu::sim_environment(spec, gpu_options(surroundings).sim_folder, opened.machine_id,
                           variable(surroundings, "LD_LIBRARY_PATH").value_or(""));
  set_all(surroundings, opened.environment);
  return {};
}

// A run file of ours plays as well as a canonical CSV.
Result<gpu::Machine> open_run_file(const std::string& path, const gpu::Options& options) {
  ERGON_TRY(const auto file, meter::RunFile::open(path));
  ERGON_TRY(const auto devices, file.devices());
  std::vector<gpu::Recording> recordings;
  for (const auto& device : devices) {
    if (device.kind != "gpu") continue;
    ERGON_TRY(const auto series, file.samples(device.id));
    gpu::Recording recording{.id = device.id,
                             .uuid = device.uuid,
                             .name = device.name,
                             .simulated = device.origin == Origin::kSimulated};
    recording.averaged = !series.has(series.power_w) && series.has(series.average_power_w);
    const auto& power = recording.averaged ? series.average_power_w : series.power_w;
    const auto cell = [&](const std::vector<double>& column, std::size_t i) {
      return series.has(column) && !meter::is_missing(column[i]) ? std::optional(column[i])
                                                                 : std::nullopt;
    };
    // Clocks, heat and limits are read more seldom: their last reading holds.
    gpu::Sample last;
    const auto keep = [](std::optional<double>& held, const std::optional<double>& now) {
      if (now) held = now;
    };
    for (std::size_t i = 0; i < series.size(); ++i) {
      last.begin_ns = last.end_ns = series.time_ns[i];
      const auto joules = cell(series.energy_j, i);
      last.energy_uj =
          joules ? std::optional<std::int64_t>(std::llround(*joules * 1e6)) : std::nullopt;
      last.power_w = cell(power, i);
      keep(last.core_hz, cell(series.clock_hz, i));
      keep(last.memory_hz, cell(series.memory_clock_hz, i));
      keep(last.temperature_c, cell(series.temperature_c, i));
      keep(last.power_limit_w, cell(series.power_limit_w, i));
      keep(last.utilization, cell(series.utilization, i));
      if (i < series.throttle.size() && series.throttle[i]) last.throttle_bits = series.throttle[i];
      recording.samples.push_back(last);
    }
    recordings.push_back(std::move(recording));
  }
  return gpu::play(recordings, path, options);
}

Result<gpu::Machine> open_selected(const gpu::Selection& selection, const gpu::Options& options) {
  if (selection.kind == gpu::Selection::Kind::kRecorded) {
    std::ifstream file(selection.file, std::ios::binary);
    std::string head(16, '\0');
    file.read(head.data(), static_cast<std::streamsize>(head.size()));
    if (meter::RunFile::looks_like(head)) return open_run_file(selection.file, options);
  }
  return gpu::open_machine(selection, options);
}

std::string uuids_of(const gpu::Machine& machine) {
  std::string list;
  std::set<std::string> seen;
  for (const auto& gpu : machine.gpus) {
    const std::string& uuid = gpu->identity().sensor_owner();
    if (seen.insert(uuid).second) list += (list.empty() ? "" : ",") + uuid;
  }
  return list;
}

}  // namespace

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(const std::string& prefix) {
  std::error_code failed;
  // In memory where there is such a place: nothing of it needs to reach a disk.
  std::string pattern = "/dev/shm/" + prefix + "XXXXXX";
  if (::mkdtemp(pattern.data()) != nullptr) return std::make_unique<TemporaryFolder>(pattern);
  pattern = (fs::temp_directory_path(failed) / (prefix + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return fail(Errc::kIo, "cannot make a folder '" + pattern + "'", "set TMPDIR to a folder");
  return std::make_unique<TemporaryFolder>(pattern);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!kept_) fs::remove_all(path_, ignored);
}

std::vector<gpu::Gpu*> OpenedGpus::gpus() const {
  std::vector<gpu::Gpu*> all;
  all.reserve(machine.gpus.size());
  for (const auto& gpu : machine.gpus) all.push_back(gpu.get());
  return all;
}

std::vector<std::string> child_environment(
    const Surroundings& surroundings,
    const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> all;
  std::set<std::string> replaced;
  for (const auto& [name, value] : more) {
    replaced.insert(name);
    all.push_back(name + "=" + value);
  }
  if (!surroundings.environment) return all;
  for (auto& variable : surroundings.environment()) {
    if (!replaced.contains(variable.substr(0, variable.find('='))))
      all.push_back(std::move(variable));
  }
  return all;
}

gpu::Options gpu_options(const Surroundings& surroundings) {
  gpu::Options options;
  if (!surroundings.program_folder.empty()) {
    options.sim_folder =
        (fs::path(surroundings.program_folder).parent_path() / "lib" / "sim").string();
  }
  options.cuda_visible_devices = variable(surroundings, "CUDA_VISIBLE_DEVICES");
  options.cuda_device_order = variable(surroundings, "CUDA_DEVICE_ORDER").value_or("");
  return options;
}

std::string name_with_origin(const gpu::Identity& gpu) {
  return gpu.name + (gpu.recorded && gpu.simulated ? " (recorded, simulated)"
                     : gpu.simulated               ? " (simulated)"
                     : gpu.recorded                ? " (recorded)"
                                                   : "");
}

const char* origin_of_readings(const gpu::Identity& gpu) {
  return gpu.simulated ? "simulated" : gpu.recorded ? "recorded" : "measured";
}

Result<OpenedGpus> open_gpus(Context& context, const std::string& otherwise, bool quietly) {
  const Surroundings& surroundings = context.surroundings();
  ERGON_TRY(const auto selection, gpu::parse_selection(context.text("gpu").value_or(otherwise)));
  OpenedGpus opened;
  const auto driver = variable(surroundings, "ERGON_SIM").value_or("");
  if (selection.kind == gpu::Selection::Kind::kSimulated) {
    ERGON_TRY_STATUS(check_simulated(selection.sim, false));
    ERGON_TRY_STATUS(prepare_simulated(surroundings, selection.sim, opened));
  } else if (!driver.empty() && selection.kind != gpu::Selection::Kind::kRecorded) {
    // The simulated library in place of the driver's: wrapped programs share its machine.
    const auto comma = driver.find(',');
    const gpu::SimSpec spec{driver.substr(0, comma),
                            comma == std::string::npos ? "" : driver.substr(comma + 1)};
    ERGON_TRY_STATUS(check_simulated(spec, true));
    ERGON_TRY_STATUS(prepare_simulated(surroundings, spec, opened));
  }
  const gpu::Options options = gpu_options(surroundings);
  ERGON_TRY(opened.machine, open_selected(selection, options));
  if (!quietly) {
    for (const auto& note : opened.machine.notes) context.warn("gpu", note);
    for (const auto& lost : opened.machine.lost)
      context.warn("gpu", lost.message + "; it is left out");
  }

  const auto& first = opened.machine.gpus.front()->identity();
  if (first.simulated && !first.recorded) {
    opened.selection = "sim:" + variable(surroundings, "ERGON_SIM").value_or("");
  } else {
    opened.selection = uuids_of(opened.machine);
    opened.machine_id.clear();
    opened.environment.clear();
  }
  return opened;
}

Result<gpu::Lease> take_lease(Context& context, const OpenedGpus& opened, const std::string& tool) {
  const Surroundings& surroundings = context.surroundings();
  if (surroundings.state_folder.empty() || surroundings.self.empty()) {
    return fail(Errc::kUnsupported, "clocks cannot be changed here: no watchdog can be started");
  }
  gpu::LeaseOptions options;
  options.folder = surroundings.state_folder;
  options.tool = tool;
  options.selection = opened.selection;
  options.machine = opened.machine_id;
  options.environment = opened.environment;
  options.watchdog = surroundings.self;
  options.watchdog.emplace_back(kWatchdog);
  const auto gpus = opened.gpus();
  return gpu::Lease::take(gpus, options);
}

std::vector<gpu::FoundLease> leases_here(const Surroundings& surroundings) {
  if (surroundings.state_folder.empty()) return {};
  auto found = gpu::find_leases(surroundings.state_folder);
  auto named = variable(surroundings, "ERGON_SIM_STATE").value_or("");
  if (named.empty()) return found;
  named = fs::absolute(named).lexically_normal().string();
  std::erase_if(found, [&](const gpu::FoundLease& lease) {
    return !lease.record.machine.empty() && lease.record.machine != named;
  });
  return found;
}

Result<gpu::Machine> open_leased(const gpu::LeaseRecord& record, const Surroundings& surroundings) {
  ERGON_TRY(const auto selection, gpu::parse_selection(record.selection));
  set_all(surroundings, record.environment);
  return gpu::open_machine(selection, gpu_options(surroundings));
}

std::string stale_notice(const Surroundings& surroundings) {
  std::string text;
  for (const auto& lease : leases_here(surroundings)) {
    if (lease.state != gpu::LeaseState::kStale || !lease.record.touched()) continue;
    std::string gpus;
    for (const auto& gpu : lease.record.gpus) gpus += (gpus.empty() ? "" : ", ") + gpu.uuid;
    text += "warning: clocks or limits of " + gpus + " are still as 'ergon " + lease.record.tool +
            "' (process " + std::to_string(lease.record.pid) +
            ") left them when it was killed\nhint: ergon restore gives them back\n";
  }
  if (surroundings.state_folder.empty()) return text;
  for (const auto& damaged : gpu::damaged_leases(surroundings.state_folder)) {
    text += "warning: the lease '" + damaged.file + "' cannot be read (" + damaged.error.message +
            "): clocks or limits may still be as a killed command left them\nhint: ergon restore "
            "--gpu all --defaults resets them\n";
  }
  return text;
}

std::optional<int> run_watchdog(std::span<const std::string> words,
                                const Surroundings& surroundings) {
  if (words.size() != 3 || words[0] != kWatchdog) return std::nullopt;
  int channel = -1;
  const std::string& number = words[2];
  std::from_chars(number.data(), number.data() + number.size(), channel);
  const auto outcome = gpu::watch(words[1], channel, [&](const gpu::LeaseRecord& record) {
    return open_leased(record, surroundings);
  });
  return outcome ? 0 : exit_code(outcome.error().code);
}

}  // namespace ergon::cli
