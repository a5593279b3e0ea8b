// Our own run files: points of a sweep, regions of a run.
#include <cmath>
#include <map>

#include "ergon/meter.hpp"
#include "names.hpp"
#include "reading.hpp"

namespace ergon::study {
namespace {

/// The program behind "--" of a command line, without folders.
std::string program_of(const std::string& command_line) {
  const auto at = command_line.find(" -- ");
  if (at == std::string::npos) return {};
  const auto words = split_line(std::string_view(command_line).substr(at + 4), ' ');
  std::string out;
  for (const auto& word : words) {
    // The program, and what it runs ("python train.py"); options and parameters follow.
    if (word.starts_with('-') || word.find('{') != std::string::npos) break;
    const auto slash = word.find_last_of('/');
    out += (out.empty() ? "" : " ") + (slash == std::string::npos ? word : word.substr(slash + 1));
    if (out.size() > 60) break;
  }
  return out;
}

struct Share {
  Maybe energy;
  Maybe error;  ///< half of the 95 % interval; of several GPUs in squares, for they are independent
  Maybe clock;
  Maybe memory;
  Maybe temperature;
  bool throttled = false;
  int gpus = 0;
};

// All GPUs of a run together: energy adds up, and is unknown where one is.
Share share_of(const meter::StoredRun& run, const std::map<std::string, std::string>& gpus) {
  Share out;
  bool whole = true;
  double sum = 0;
  double half = 0;
  for (const auto& e : run.energies) {
    if (!gpus.contains(e.device)) continue;
    ++out.gpus;
    whole = whole && e.energy_j.has_value();
    if (e.energy_j) {
      sum += e.energy_j->value;
      half = std::hypot(half, (e.energy_j->high - e.energy_j->low) / 2);
    }
    // The slowest GPU decides what ran.
    if (e.clock_hz) out.clock = out.clock ? std::min(*out.clock, *e.clock_hz) : *e.clock_hz;
    if (e.memory_clock_hz) out.memory = e.memory_clock_hz;
    if (e.temperature_c)
      out.temperature =
          out.temperature ? std::max(*out.temperature, *e.temperature_c) : *e.temperature_c;
    out.throttled = out.throttled || e.throttled == true;
  }
  if (whole && out.gpus > 0) {
    out.energy = sum;
    out.error = half;
  }
  return out;
}

// No interval at all is none that is known.
Maybe relative(Maybe half, Maybe energy) {
  if (!half || !energy || !(*half > 0) || !(*energy > 0)) return {};
  return *half / *energy;
}

void judge(const meter::StoredPoint* point, const Share& share, Sample& s) {
  if (point != nullptr && point->valid) {
    s.good = point->valid;
    if (s.good == false) s.why_bad = point->reason.empty() ? "marked invalid" : point->reason;
  }
  if (point != nullptr && point->state == "failed") {
    s.good = false;
    s.why_bad = point->reason.empty() ? "the run failed" : point->reason;
  }
  if (share.throttled && s.good != false) {
    s.good = false;
    s.why_bad = "throttled";
  }
}

}  // namespace

Status read_run_file(const Reading& reading) {
  ERGON_TRY(const auto file, meter::RunFile::open(reading.source.path));
  ERGON_TRY(const auto provenance, file.provenance());
  ERGON_TRY(const auto devices, file.devices());
  ERGON_TRY(const auto points, file.points());
  ERGON_TRY(const auto runs, file.runs());
  ERGON_TRY(const auto regions, file.regions());
  std::map<std::string, std::string> gpus;
  std::string gpu;
  bool simulated = false;
  for (const auto& d : devices) {
    if (d.kind != "gpu") continue;
    gpus[d.id] = d.name;
    if (gpu.empty()) gpu = d.name;
    simulated = simulated || d.origin == Origin::kSimulated;
  }
  if (simulated) {
    reading.note("simulated", "the runs were measured on a simulated GPU");
    reading.data.simulated = true;
  }
  std::map<std::int64_t, const meter::StoredPoint*> by_id;
  for (const auto& p : points) by_id[p.id] = &p;
  const std::string program = program_of(provenance.command_line);
  std::uint64_t warmups = 0;
  for (const auto& run : runs) {
    if (run.warmup) {
      ++warmups;
      continue;
    }
    const auto at = run.point ? by_id.find(*run.point) : by_id.end();
    const meter::StoredPoint* point = at == by_id.end() ? nullptr : at->second;
    Sample s;
    s.file = reading.file;
    s.line = static_cast<std::uint64_t>(run.id);
    s.gpu = gpu;
    s.run = std::to_string(run.repeat) +
            (point != nullptr ? " of point " + std::to_string(point->order_index) : "");
    if (point != nullptr) {
      s.setting.clock_hz = point->asked_clock_hz;
      s.setting.memory_clock_hz = point->asked_memory_clock_hz;
      s.setting.power_limit_w = point->asked_power_limit_w;
      for (const auto& [name, value] : point->parameters) {
        const Sense sense = sense_of(name);
        s.factors[sense.role == Role::kFactor ? sense.factor : name] = value;
        s.workload +=
            (s.workload.empty() ? "" : " ") + (is_number(value) ? name + "=" : "") + value;
      }
    }
    s.baseline = point != nullptr && point->baseline;
    s.setting.default_clocks =
        !s.setting.clock_hz && !s.setting.memory_clock_hz && !s.setting.power_limit_w;
    if (s.workload.empty()) s.workload = program.empty() ? stem_of(reading.source.path) : program;
    add_factors_in(s.workload, s.factors);
    const Share share = share_of(run, gpus);
    s.time = run.window.length().si();
    s.energy = share.energy;
    s.energy_error = relative(share.error, s.energy);
    if (s.energy && *s.time > 0) s.power_w = *s.energy / *s.time;
    s.achieved_hz = share.clock ? share.clock : point != nullptr ? point->clock_hz : Maybe{};
    s.memory_hz = share.memory ? share.memory : point != nullptr ? point->memory_clock_hz : Maybe{};
    s.temperature_c = share.temperature;
    s.gpus = std::max(1, share.gpus);
    judge(point, share, s);
    reading.data.samples.push_back(s);
    // Regions of one name in a run are one phase.
    struct Phase {
      double time = 0;
      Maybe energy = 0.0;
      double half = 0;  ///< alike in the regions of a run: what the sensor does, it does to all
    };
    std::map<std::string, Phase> phases;
    for (const auto& region : regions) {
      if (region.run != run.id || !gpus.contains(region.device)) continue;
      Phase& phase = phases[region.name];
      phase.time += region.window.length().si() / std::max(1, share.gpus);
      phase.energy =
          phase.energy && region.energy_j ? Maybe(*phase.energy + region.energy_j->value) : Maybe{};
      if (region.energy_j) phase.half += (region.energy_j->high - region.energy_j->low) / 2;
    }
    for (const auto& [name, phase] : phases) {
      Sample of_phase = s;
      of_phase.workload += ": " + name;
      of_phase.factors["region"] = name;
      of_phase.time = phase.time > 0 ? Maybe(phase.time) : Maybe{};
      of_phase.energy = phase.energy;
      of_phase.energy_error = relative(phase.half, phase.energy);
      of_phase.power_w =
          of_phase.energy && of_phase.time ? Maybe(*phase.energy / phase.time) : Maybe{};
      reading.data.samples.push_back(std::move(of_phase));
    }
  }
  reading.skip("warmup_runs", warmups);
  return {};
}

}  // namespace ergon::study
