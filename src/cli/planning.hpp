// What `pack` and `plan` share: inputs to packs, a decision to an answer and to a policy file.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "context.hpp"
#include "ergon/graph.hpp"
#include "ergon/model.hpp"
#include "ergon/plan.hpp"
#include "ergon/plan/merge.hpp"
#include "ergon/plan/outcome.hpp"
#include "ergon/plan/trace_packs.hpp"
#include "ergon/policy.hpp"
#include "ergon/trace.hpp"
#include "input_file.hpp"

namespace ergon::cli {

/// A trace ready to be planned: its tables, its graph, the device and the packs.
struct TraceJob {
  std::vector<trace::EventTable> tables;
  std::optional<graph::Graph> graph;
  model::FoundDevice device;
  plan::TracePacks packs;
  double read_cpu_s = 0, build_cpu_s = 0, cut_cpu_s = 0;  ///< CPU time of the stages so far
};

/// Reads the traces (ranks of one job), finds the device and cuts the packs; warns where the device
/// is not the trace's, where something was skipped or assumed. With `rows` (measured kernels) no
/// model is used.
Result<std::unique_ptr<TraceJob>> load_trace_job(Context& context, std::vector<InputFile>& files,
                                                 std::span<const plan::MeasuredRow> rows = {});

/// The plan within a bound: of `job`'s packs, else of `problem`. The figures of kInfeasible are
/// those of planning at the nearest time.
Result<plan::Outcome> decide_or_nearest(TraceJob* job, const plan::Problem& problem,
                                        const plan::Bound& bound);

/// The pack file of a trace: the contract's fields, and what `plan` shows of it.
std::string pack_file_text(const TraceJob& job);

/// Everything the answer of `plan` is made from. `job` is null for pack files and measurements.
struct PlanView {
  const plan::Problem* problem = nullptr;
  const plan::Outcome* outcome = nullptr;
  const TraceJob* job = nullptr;
  plan::Bound bound;
  std::vector<plan::FrontierPoint> frontier;
  bool frontier_asked = false;  ///< else it is drawn on the page alone
  bool measured = false;
  double measured_share = 0;                    ///< of the energy; the rest is modelled
  bool bound_assumed = false;                   ///< none was given: --frontier alone
  std::string vendor = {};                      ///< "nvidia", "amd"; empty: the input does not say
  std::span<const plan::RankPacks> ranks = {};  ///< of pack files: where they come from
};
Answer plan_answer(const PlanView& view, bool with_page);
/// Of the energy at default clocks, the share that was measured (with --measured): the rest is of
/// work without a measurement, and of GPUs that run nothing.
double measured_share(const PlanView& view);
/// The shares of `coverage`; null where there is no GPU time.
Value coverage_value(const std::array<double, model::kKnownKinds>& known_s);
/// Timeline, frontier, energy and kernels of the HTML page.
void fill_plan_page(const PlanView& view, Answer& answer);
std::string policy_text(const PlanView& view, const std::vector<std::string>& inputs);

/// "1410 MHz", "2.41 s", "3.2 J" for sentences.
std::string clock_text(double hz);
std::string time_text(double seconds);
std::string energy_text(double joules, int significant = 5);
/// "1 kernel", "2 kernels", "0 copies".
std::string counted(std::uint64_t count, const std::string& one, const std::string& many = {});

}  // namespace ergon::cli
