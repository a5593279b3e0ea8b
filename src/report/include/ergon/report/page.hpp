// What only the HTML page shows: timeline, frontier, energy by component, kernels, coverage.
// Commands fill these and put to_value(page) into Answer::page; docs/formats/page.md describes the
// JSON.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::report {

/// A figure of the row under the headline.
struct Figure {
  std::string label = {};
  std::optional<double> value = {};  ///< nullopt: unknown
  std::string unit = {};
  std::string note = {};  ///< one phrase: "-12.3 % against default clocks"
  int significant = 4;
};

/// What ran on a stream, in any order; slices of one lane may overlap.
struct Slice {
  Nanos start_ns = 0;
  Nanos duration_ns = 0;
  std::uint32_t name = 0;  ///< index into Timeline::names
};
struct Lane {
  std::string name = {};  ///< "stream 7"
  std::vector<Slice> slices = {};
};
/// A time window of one GPU that gets one clock.
struct PackWindow {
  std::string id = {};
  Nanos start_ns = 0;
  Nanos end_ns = 0;
  std::optional<double> clock_hz = {};
};
struct GpuTimeline {
  std::string id = {};    ///< empty: no GPU but a row of its own, called by `name`
  std::string name = {};  ///< "NVIDIA H100 80GB HBM3"
  std::vector<Lane> lanes = {};
  std::vector<PackWindow> packs = {};
  std::optional<double> default_clock_hz = {};
};
/// A name that slices share, and its kind: kernel, copy, memset, collective, api, host or sync.
struct SliceName {
  std::string text = {};
  std::string kind = {};
};
struct Timeline {
  std::vector<GpuTimeline> gpus = {};
  std::vector<SliceName> names = {};
  /// First and last time of the axis, in ns on the trace's clock; without it, of what is drawn.
  std::optional<std::pair<Nanos, Nanos>> span = {};
  /// What the answer is about, where that is not everything: begin and end in ns.
  std::optional<std::pair<Nanos, Nanos>> window = {};
};

struct OperatingPoint {
  std::optional<double> clock_hz = {};
  double time_s = 0;
  double energy_j = 0;
};
struct FrontierPoint {
  double time_s = 0;
  double energy_j = 0;
  std::optional<double> lower_bound_j = {};
};
/// Time against energy. Empty `points`: only the single points are drawn.
struct Frontier {
  std::vector<FrontierPoint> points = {};
  std::vector<OperatingPoint> uniform = {};  ///< every single clock
  std::optional<OperatingPoint> default_clocks = {};
  std::optional<OperatingPoint> best_uniform = {};
  std::optional<OperatingPoint> plan = {};
  std::optional<double> deadline_s = {};
  std::optional<double> lower_bound_j = {};  ///< at the deadline
};

/// One stacked bar: parts in joules, in the same order in every bar.
struct EnergyBar {
  std::string label = {};  ///< "default clocks", "plan"
  std::vector<std::pair<std::string, double>> parts = {};
};

/// All launches of one kernel name; nullopt is unknown.
struct KernelRow {
  std::string name = {};
  std::string kind = {};
  std::uint64_t count = 0;
  double time_s = 0;
  std::optional<double> energy_j = {};
  std::optional<double> slack_s = {};      ///< least total slack of its launches
  std::optional<double> sensitivity = {};  ///< share of its time that goes as 1/clock
  std::string origin = {};                 ///< of energy and sensitivity
};

/// Shares of a whole that is named: "edges of the graph", "GPU time".
struct CoverageBar {
  std::string title = {};
  std::string base = {};
  std::vector<std::pair<std::string, double>> parts =
      {};  ///< counts or shares; scaled to their sum
  std::string note = {};
};

/// A setting of a workload, against its baseline.
struct StudyPoint {
  std::optional<double> clock_hz = {};  ///< or its offset
  std::optional<double> memory_clock_hz = {};
  std::optional<double> power_limit_w = {};
  std::optional<double> parameter = {};
  std::optional<double> time_ratio = {};
  std::optional<double> energy_ratio = {};
  std::optional<double> power_w = {};
  bool valid = true;
};
struct StudyWorkload {
  std::string name = {};
  std::string gpu = {};
  std::string network = {};
  std::string batch = {};
  std::string algorithm = {};
  std::vector<StudyPoint> points = {};
  std::optional<std::size_t> baseline = {};
  std::optional<std::size_t> best = {};
  std::optional<double> energy_saved = {};
  std::optional<double> energy_saved_low = {};  ///< ends of the 95 % interval
  std::optional<double> energy_saved_high = {};
  std::optional<double> slowdown = {};
  std::string edge = {};  ///< "lowest clock"; empty within the grid
};
/// Workloads over settings: curves, bars, heat maps.
struct StudyPage {
  std::vector<StudyWorkload> workloads = {};
  std::string parameter = {};  ///< what StudyPoint::parameter is
  bool clocks_are_offsets = false;
  std::size_t left_out = 0;  ///< workloads that are not on the page
};

/// A measured point of a sweep: one run's time and energy with its 95 % interval.
struct SweepPoint {
  std::string setting = {};
  std::optional<double> clock_hz = {};  ///< asked for; else achieved
  double time_s = 0;
  double energy_j = 0;
  double energy_low_j = 0;
  double energy_high_j = 0;
  bool baseline = false;
  bool best = false;
  bool valid = true;
  std::string reason = {};  ///< why it does not count
};
/// The points of one combination of parameters.
struct SweepGroup {
  std::string label = {};  ///< "batch=16"; empty: there are no parameters
  std::vector<SweepPoint> points = {};
};
struct SweepPage {
  std::vector<SweepGroup> groups = {};
};

struct Page {
  std::vector<Figure> figures = {};
  std::optional<Timeline> timeline = {};
  std::optional<Frontier> frontier = {};
  std::vector<EnergyBar> energy = {};
  std::vector<KernelRow> kernels = {};
  std::string kernels_of = {};  ///< the part of the trace that they are of; empty: all of it
  std::vector<CoverageBar> coverage = {};
  std::optional<StudyPage> study = {};
  std::optional<SweepPage> sweep = {};
};

struct PageLimits {
  std::size_t slices = 120'000;  ///< about 2 MB of page; neighbours are bundled above it
  std::size_t packs = 20'000;
  std::size_t kernels = 2'000;
  std::size_t name_bytes = 400;  ///< longer names lose their middle
};

/// The page data. Above the limits neighbouring short slices of a lane become bundles (a count and
/// the name that took most of their time), kernels beyond the limit (by energy, else time) one row;
/// what was left out is said on the page. Deterministic.
Value to_value(const Page& page, const PageLimits& limits = {});

}  // namespace ergon::report
