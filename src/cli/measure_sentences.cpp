// What `ergon measure` says in words: the headline and the lines below it.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "figures.hpp"
#include "gpu_input.hpp"
#include "measure_parts.hpp"
#include "planning.hpp"

namespace ergon::cli {
namespace {

std::string gpus_text(const Measurement& m) {
  const auto& who = m.gpus.front().identity;
  std::string count;
  if (m.gpus.size() != 1) {
    for (const auto& gpu : m.gpus) {
      if (gpu.identity.name != who.name) return std::to_string(m.gpus.size()) + " GPUs";
    }
    count = std::to_string(m.gpus.size()) + " x ";
  }
  return count + name_with_origin(who);
}

// How far repeated runs lie apart.
void add_spread(const Measurement& m, std::vector<std::string>& lines) {
  const auto runs = counted_runs(m);
  if (runs.size() < 2 || !mean_energy(m)) return;
  const auto time_s = [](const MeasuredRun* run) { return run->record.window.length().si(); };
  const auto less = [&](const MeasuredRun* a, const MeasuredRun* b) {
    return time_s(a) < time_s(b);
  };
  const auto [fast, slow] = std::ranges::minmax_element(runs, less);
  const auto cheaper = [](const MeasuredRun* a, const MeasuredRun* b) {
    return a->total_j->value < b->total_j->value;
  };
  const auto [least, most] = std::ranges::minmax_element(runs, cheaper);
  char text[160];
  std::snprintf(text, sizeof text, "The runs took %.5g to %.5g s and %.5g to %.5g J.",
                time_s(*fast), time_s(*slow), (*least)->total_j->value, (*most)->total_j->value);
  lines.emplace_back(text);
}

// Where the sum is not known, what is known of its parts.
void add_parts(const Measurement& m, std::vector<std::string>& lines) {
  if (m.runs.empty() || m.gpus.size() < 2 || mean_energy(m)) return;
  for (std::size_t g = 0; g < m.gpus.size(); ++g) {
    std::vector<std::optional<Estimate>> all;
    for (const MeasuredRun* run : counted_runs(m)) all.push_back(run->gpus[g].energy.energy_j);
    if (const auto mean = run::mean_of(all))
      lines.push_back("GPU " + m.gpus[g].identity.id + ": " + estimate_text(mean) + ".");
  }
}

// What held a GPU back, and in which runs.
void add_held_back(const Measurement& m, std::vector<std::string>& lines) {
  for (std::size_t g = 0; g < m.gpus.size(); ++g) {
    std::uint64_t bits = 0;
    std::size_t runs = 0;
    double share = 0;
    for (const auto& run : m.runs) {
      const auto& result = run.gpus[g];
      if (!result.throttled_share || result.throttle_bits == 0) continue;
      bits |= result.throttle_bits;
      share = std::max(share, *result.throttled_share);
      ++runs;
    }
    if (bits == 0) continue;
    std::string text = "GPU " + m.gpus[g].identity.id + " was held back";
    if (m.runs.size() > 1)
      text += " in " + std::to_string(runs) + " of " + std::to_string(m.runs.size()) + " runs";
    text += ": " + gpu::Throttle{bits}.names() + " (up to " + percent_text(share) +
            " of the readings).";
    lines.push_back(std::move(text));
  }
}

}  // namespace

std::string measured_headline(const Measurement& m) {
  const auto energy = mean_energy(m);
  const auto time = mean_time(m);
  std::string text = energy ? estimate_text(energy) : "Energy unknown";
  if (time) text += " in " + time_text(time->value);
  text += " on " + gpus_text(m);
  if (m.runs.empty()) return "Nothing was measured on " + gpus_text(m) + ": a warm-up run failed.";
  const std::size_t counted = counted_runs(m).size();
  if (counted > 1) text += ", mean of " + std::to_string(counted) + " runs";
  if (counted < m.runs.size()) {
    text += counted > 1 ? "" : ", one run";
    text += "; " + std::to_string(m.runs.size() - counted) + " failed and is not in it";
  }
  return text + ".";
}

std::vector<std::string> measured_sentences(const Measurement& m) {
  std::vector<std::string> lines;
  for (std::size_t g = 0; g < m.gpus.size() && !m.runs.empty(); ++g) {
    const auto& energy = m.runs.front().gpus[g].energy;
    const std::string who = "GPU " + m.gpus[g].identity.id + ": ";
    if (!energy.energy_j && !energy.why_unknown.empty()) {
      lines.push_back(who + energy.why_unknown + ".");
    } else if (!energy.counter.energy_j && !energy.counter.refused.empty()) {
      lines.push_back(who + "told by power samples alone: " + energy.counter.refused + ".");
    } else if (!energy.trapezoid.energy_j && !energy.trapezoid.refused.empty()) {
      lines.push_back(who + "told by the energy counter alone: " + energy.trapezoid.refused + ".");
    }
    for (const auto* estimate : {&energy.counter, &energy.trapezoid}) {
      for (const auto& note : estimate->notes) lines.push_back(who + note + ".");
    }
  }
  add_parts(m, lines);
  add_held_back(m, lines);
  add_spread(m, lines);
  std::vector<std::optional<Estimate>> idle;
  for (const auto& gpu : m.gpus) {
    if (!gpu.repeats_sensor) idle.push_back(gpu.idle_power_w);
  }
  if (const auto power = run::sum_of(idle)) {
    char text[96];
    std::snprintf(text, sizeof text,
                  idle.size() > 1 ? "Idle power of all together %.4g W \u00b1 %.2g W"
                                  : "Idle power %.4g W \u00b1 %.2g W",
                  power->value, half_width_of(*power));
    std::string line = text;
    if (const auto above = mean_above_idle(m))
      line += "; above idle the program took " + estimate_text(above);
    lines.push_back(line + ".");
  }
  std::vector<std::optional<Estimate>> cpu;
  cpu.reserve(m.runs.size());
  for (const auto& run : m.runs) {
    cpu.push_back(
        run.cpu_j ? std::optional(Estimate{*run.cpu_j, *run.cpu_j, *run.cpu_j, Origin::kMeasured})
                  : std::nullopt);
  }
  if (const auto joules = run::mean_of(cpu)) {
    lines.push_back("CPU " + energy_text(joules->value) + ".");
  } else if (!m.cpu_why_unknown.empty()) {
    lines.push_back("CPU energy unknown: " + m.cpu_why_unknown + ".");
  }
  for (std::size_t r = 0; r < m.runs.size(); ++r) {
    const auto& ending = m.runs[r].record.ending;
    if (!ending || ending->status == 0) continue;
    const std::string which = m.runs.size() > 1 ? " of run " + std::to_string(r + 1) : "";
    lines.push_back("The program" + which + " ended with status " + std::to_string(ending->status) +
                    ".");
  }
  if (m.warm_up_status) {
    lines.push_back("A warm-up run of the program ended with status " +
                    std::to_string(*m.warm_up_status) + ".");
  }
  return lines;
}

std::string estimate_text(const std::optional<Estimate>& estimate) {
  if (!estimate) return "unknown";
  // As many decimals as the half-width has two digits of.
  const double half = half_width_of(*estimate);
  const double below = estimate->value - estimate->low;
  const double above = estimate->high - estimate->value;
  if (std::max(below, above) > 0.3 * std::abs(estimate->value) &&
      std::max(below, above) > 2 * std::min(below, above)) {
    char text[96];
    std::snprintf(text, sizeof text, "%.3g J (between %.3g and %.3g J)", estimate->value,
                  estimate->low, estimate->high);
    return text;
  }
  int decimals = 0;
  for (double h = half; h > 0 && h < 9.95 && decimals < 6; h *= 10) ++decimals;
  char text[96];
  std::snprintf(text, sizeof text, "%.*f J \u00b1 %.*f J", decimals, estimate->value, decimals,
                half);
  return text;
}

std::string unseen_text(const std::string& gpu, double unseen_share) {
  char text[400];
  std::snprintf(
      text, sizeof text,
      "the power sensor of GPU %s looks at %.0f %% of the time, and no energy counter tells "
      "of the rest: where load and sensor may be in step the interval holds all that the "
      "board can draw; pauses of random length in the load show that they are not",
      gpu.c_str(), 100 * (1 - unseen_share));
  return text;
}

std::string unseen_part_text(double unseen_share) {
  char text[200];
  std::snprintf(text, sizeof text,
                "%.0f %% of the time lies between the sensor's windows: the interval holds all "
                "that the board can draw then",
                100 * unseen_share);
  return text;
}

}  // namespace ergon::cli
