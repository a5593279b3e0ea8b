// What `ergon measure` found out, and the forms it is told in.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "context.hpp"
#include "ergon/run.hpp"

namespace ergon::cli {

/// One GPU over all of the measurement.
struct MeasuredGpu {
  gpu::Identity identity;
  std::optional<gpu::PowerSource> source;
  std::optional<gpu::Scope> counter_scope;
  meter::Series series;
  meter::SensorModel sensor;
  std::optional<Error> failure;  ///< why its readings stopped
  std::optional<Estimate> idle_power_w;
  double gain95 = 0;
  bool repeats_sensor = false;  ///< an earlier GPU of the list has the same sensor
};

struct MeasuredRun {
  run::RunRecord record;
  std::vector<run::GpuResult> gpus;  ///< as the GPUs
  std::optional<Estimate> total_j;   ///< sensors counted once
  std::optional<Estimate> above_idle_j;
  std::optional<double> cpu_j;
  std::vector<run::RegionResult> regions;
};

struct Measurement {
  std::vector<std::string> program;  ///< empty: a process or the whole machine was watched
  std::optional<int> pid;
  std::vector<MeasuredGpu> gpus;
  std::vector<meter::Window> idle;
  std::vector<MeasuredRun> runs;
  std::optional<int> warm_up_status;  ///< of a warm-up run that failed: nothing was measured then
  std::string cpu_why_unknown;
  run::SamplingCost cost;
  Nanos interval_ns = 0;
  std::string created_utc;  ///< ISO 8601, of the first run's start
  Nanos start_utc_ns = 0;   ///< UTC of monotonic time 0
  bool simulated = false;
};

/// The runs that means are taken over: those whose program succeeded, else all. A program that
/// failed or was stopped did not do what the others did.
std::vector<const MeasuredRun*> counted_runs(const Measurement& measurement);
/// The mean over the runs of each region, by name, in order of first appearance.
std::vector<run::RegionResult> regions_over_runs(const Measurement& measurement);
/// Seconds of the runs as estimates, so that mean_of() gives their interval.
std::optional<Estimate> mean_time(const Measurement& measurement);
std::optional<Estimate> mean_energy(const Measurement& measurement);
std::optional<Estimate> mean_above_idle(const Measurement& measurement);

/// Fills Measurement::gpus from what was read, and warns of what makes it doubtful.
void measured_gpus(Context& context, std::span<gpu::Gpu* const> gpus,
                   run::Observation::Readings& readings, Measurement& measurement);
/// Energy of each run and of its regions.
void analyse_runs(Context& context, Measurement& measurement);

/// The tables for people.
Table runs_table(const Measurement& measurement);
Table estimators_table(const Measurement& measurement);
Table regions_table(const std::vector<run::RegionResult>& regions);
/// Why regions are unknown; no rows where all are known.
Table unknown_regions_table(const std::vector<run::RegionResult>& regions);

std::string measured_headline(const Measurement& measurement);
std::vector<std::string> measured_sentences(const Measurement& measurement);
Answer measure_answer(const Measurement& measurement);
/// OpenMetrics text: base units, a sample a GPU and run, labelled by UUID.
std::string measure_openmetrics(const Measurement& measurement, const std::string& version);
/// One line a run and GPU, and one a region, in base SI units: one header for both.
std::string measure_csv(const Measurement& measurement);
inline double half_width_of(const Estimate& e) { return (e.high - e.low) / 2; }
/// What power samples alone leave unseen on a GPU, and what to do.
std::string unseen_text(const std::string& gpu, double unseen_share);
/// The same of a part: "75 % of the time lies between the sensor's windows: ...".
std::string unseen_part_text(double unseen_share);
/// "1234 J", "0.5 J" and the half-width "+- 3 J" of an estimate; "unknown".
std::string estimate_text(const std::optional<Estimate>& estimate);

}  // namespace ergon::cli
