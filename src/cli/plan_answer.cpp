// The answer of `plan`: default clocks, best uniform clock, plan, lower bound; how each figure is
// known.
#include <algorithm>
#include <cmath>
#include <set>

#include "graph_parts.hpp"
#include "plan_parts.hpp"

namespace ergon::cli {
namespace {

using plan::Evaluation;
using plan::Problem;

Value optional(const std::optional<double>& v) { return v ? Value(*v) : Value(nullptr); }

std::string lock_command(bool amd, double hz) {
  const auto mhz = std::to_string(std::llround(hz / 1e6));
  if (amd) return "amd-smi set --gpu all --clk-limit sclk max " + mhz;
  return "nvidia-smi --lock-gpu-clocks=" + mhz + "," + mhz;
}
// nullopt where the input does not say whose GPU it is.
std::optional<std::string> lock_command(const PlanView& view, double hz) {
  if (view.vendor.empty()) return std::nullopt;
  return lock_command(view.vendor == "amd", hz);
}

Value evaluation(const std::optional<double>& clock, const Evaluation& value) {
  Value v = Value::object();
  v.set("clock_hz", optional(clock)).set("time_s", value.time_s).set("energy_j", value.energy_j);
  return v;
}

std::optional<double> gap_of(const plan::Solution& s) {
  if (!(s.lower_bound_j > 0)) return std::nullopt;
  return std::max(0.0, (s.value.energy_j - s.lower_bound_j) / s.lower_bound_j);
}

// Joules of a choice by component, from the packs' responses.
struct Components {
  double idle = 0, active = 0, core = 0, memory = 0;
};
Components components_of(const PlanView& view, const plan::Choice& choice,
                         const Evaluation& value) {
  const plan::TracePacks& packs = view.job->packs;
  Components sum;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const plan::Option& option = view.problem->packs[i].options[choice[i]];
    std::size_t clock = packs.table.reference_index;
    for (const std::size_t c : packs.clocks) {
      if (packs.table.clocks[c].si() == option.clock_hz) clock = c;
    }
    const double core = packs.packs[i].response.core_j * packs.table.voltage2[clock];
    const double memory = packs.packs[i].response.memory_j;
    const double idle = packs.table.idle_w[clock] * option.time_s;
    sum.core += core;
    sum.memory += memory;
    sum.active += std::max(0.0, option.energy_j - core - memory - idle);
  }
  sum.idle = std::max(0.0, value.energy_j - sum.core - sum.memory - sum.active);
  return sum;
}
Value components_value(const Components& c) {
  Value v = Value::object();
  v.set("idle_j", c.idle).set("active_j", c.active).set("core_j", c.core).set("memory_j", c.memory);
  return v;
}

// A pack file counts packs one after another; what the whole step takes at one clock, with gaps and
// parallel streams, only the trace's graph says.
void say_retimed(Answer& answer, const plan::Outcome& out,
                 const std::vector<plan::Uniform>& single_clocks) {
  const plan::Uniform* best = nullptr;
  for (const plan::Uniform& clock : single_clocks) {
    if (clock.value.time_s > out.deadline_s * (1 + 1e-9)) continue;
    if (best == nullptr || clock.value.energy_j < best->value.energy_j) best = &clock;
  }
  if (best == nullptr || best->value.energy_j >= out.plan.value.energy_j * (1 - 1e-6)) return;
  answer.lines.push_back(
      "Re-timed on the trace's graph, " + clock_text(best->clock_hz) + " for all takes " +
      time_text(best->value.time_s) + " and " + energy_text(best->value.energy_j) +
      ", less than these packs one after another say: plan the trace itself to use that.");
}

void add_headline(Answer& answer, const PlanView& view) {
  const plan::Outcome& out = *view.outcome;
  const Savings plan = against(out.plan.value, out.default_value);
  const std::optional<double> clock = single_clock(*view.problem, out.plan.choice);
  const std::string how = view.measured_share >= 1  ? ""
                          : view.measured_share > 0 ? " (" + percent_text(view.measured_share) +
                                                          " of the energy measured, the rest "
                                                          "modelled)"
                                                    : " (modelled)";
  if (plan.energy <= 1e-9) {
    const bool proven = gap_of(out.plan).value_or(1) < 1e-6;
    answer.headline = (proven ? "Nothing can be saved within this bound: keep the default clocks"
                              : "No plan that saves energy was found within this bound: keep the "
                                "default clocks") +
                      how + ".";
  } else if (clock) {
    answer.headline = "One clock is the best there is: " + clock_text(*clock) + " saves " +
                      percent_text(plan.energy) + " energy " + slowdown_words(plan.slowdown) + how +
                      ".";
  } else {
    answer.headline = "The plan saves " + percent_text(plan.energy) + " energy " +
                      slowdown_words(plan.slowdown) + ", with " +
                      counted(out.plan.value.switches, "change") + " of clock" + how + ".";
  }
  const std::optional<double> default_clock = single_clock(*view.problem, out.default_choice);
  const bool uniform_is_default = out.uniform && default_clock == out.uniform->clock_hz;
  if (uniform_is_default && !clock) {
    answer.lines.push_back("No single clock saves energy within the bound.");
  } else if (out.uniform && !clock) {
    const Savings uniform = against(out.uniform->value, out.default_value);
    answer.lines.push_back("The best single clock, " + clock_text(out.uniform->clock_hz) +
                           ", saves " + percent_text(uniform.energy) + " " +
                           slowdown_words(uniform.slowdown) + ".");
  }
  if (const auto gap = gap_of(out.plan)) {
    answer.lines.push_back(
        "No plan of these packs within the bound needs less than " +
        energy_text(out.plan.lower_bound_j) +
        (out.plan.optimal
             ? ": this one is proven optimal."
             : ": this one is at most " + percent_text(std::max(*gap, 1e-4)) + " above it."));
  }
  if (view.job == nullptr && view.ranks.size() == 1)
    say_retimed(answer, out, view.ranks.front().single_clocks);
  if (view.job != nullptr && clock && view.problem->packs.size() > 1) {
    const auto& switching = view.problem->switching;
    if (switching.time_s > 0 || switching.min_run_s > 0) {
      answer.lines.push_back(
          "Changing the clock takes " + time_text(view.job->packs.switch_latency.si()) +
          " here and each clock is kept for " + time_text(switching.min_run_s) +
          " at least; the planned part lasts " + time_text(out.default_value.time_s) + ".");
    }
  }
  if (out.uniform && !uniform_is_default && plan.energy > 1e-9) {
    const auto command = lock_command(view, out.uniform->clock_hz);
    answer.lines.push_back(
        "Lock the single clock: " +
        (command ? *command
                 : clock_text(out.uniform->clock_hz) +
                       ", with the tool of the GPU's vendor; the input does not name the GPU" +
                       (view.measured ? " (--device says it)." : ".")));
  }
  if (view.bound_assumed) {
    answer.lines.emplace_back(
        "No bound was given: plan and single clock are those of a slowdown of 5 % "
        "(--max-slowdown).");
  }
  const auto& cost = view.problem->switching;
  if (view.job == nullptr && view.measured && cost.time_s == 0 && cost.energy_j == 0) {
    answer.lines.emplace_back(
        "Changes of clock cost nothing here: --switch-latency and --switch-energy say what they "
        "cost.");
  }
}

// What finer control than these packs could give.
void say_finest(Answer& answer, const plan::Outcome& out, double finest_j) {
  const double energy = out.plan.value.energy_j;
  if (!(energy > 0)) return;
  const double more = std::max(0.0, (energy - finest_j) / energy);
  answer.lines.push_back(
      more < 1e-4 ? "Faster switching could save nothing more: one pack a kernel at free switching "
                    "needs as much."
                  : "Faster switching could save at most " + percent_text(more) +
                        " more: one pack a kernel at free switching needs " +
                        energy_text(finest_j) + " at least.");
}

void add_trace_fields(Answer& answer, const PlanView& view) {
  const TraceJob& job = *view.job;
  const plan::TracePacks& packs = job.packs;
  const plan::Outcome& out = *view.outcome;
  Value device = Value::object();
  device.set("id", job.device.device.id)
      .set("name", job.device.device.name)
      .set("note", job.device.note)
      .set("trace_clock_hz", packs.table.reference.si())
      .set("trace_clock_origin", packs.trace_clock_assumed ? "assumed" : "measured");
  answer.data.set("device", std::move(device));
  Value step = Value::object();
  step.set("name", packs.window.step.empty() ? Value(nullptr) : Value(packs.window.step))
      .set("steps_found", std::uint64_t{packs.window.steps})
      .set("begin_ns", packs.window.begin_ns)
      .set("end_ns", packs.window.end_ns)
      .set("operations", packs.operations);
  answer.data.set("step", std::move(step));
  answer.data.set("gpus", gpus_value(*job.graph));
  if (std::string numbers = numbers_text(*job.graph); !numbers.empty())
    answer.lines.push_back(std::move(numbers));
  answer.data.set("coverage", coverage_value(packs.known_s));
  Value components = Value::object();
  components.set("default",
                 components_value(components_of(view, out.default_choice, out.default_value)));
  components.set("plan", components_value(components_of(view, out.plan.choice, out.plan.value)));
  answer.data.set("energy_components", std::move(components));
  answer.data.set("retimed_time_s", optional(out.retimed_s));
  const double lowest = packs.table.clocks[packs.clocks.front()].si();
  const double highest = packs.table.clocks[packs.clocks.back()].si();
  answer.data.set("offered_clocks", Value::object()
                                        .set("count", std::uint64_t{packs.clocks.size()})
                                        .set("lowest_hz", lowest)
                                        .set("highest_hz", highest));
  answer.lines.push_back("The bound holds for these packs at the " +
                         std::to_string(packs.clocks.size()) + " clocks on offer, " +
                         clock_text(lowest) + " to " + clock_text(highest) + ".");

  double all = 0;
  for (const double s : packs.known_s) all += s;
  const auto share = [&](model::Known k) {
    return all > 0 ? packs.known_s[static_cast<std::size_t>(k)] / all : 0;
  };
  answer.lines.push_back(
      "Planned: " + (packs.window.step.empty() ? "the whole trace" : packs.window.step) + ", " +
      counted(view.problem->packs.size(), "pack") + " of " +
      counted(packs.operations, "GPU operation") + ". Clock response of the GPU time: measured " +
      percent_text(share(model::Known::kMeasured)) + ", from shapes " +
      percent_text(share(model::Known::kShapes)) + ", from kernel class " +
      percent_text(share(model::Known::kClass)) + ", unknown " +
      percent_text(share(model::Known::kUnknown)) + ".");
  answer.lines.push_back(
      "Assumed: the trace ran at " + clock_text(packs.table.reference.si()) +
      (packs.trace_clock_assumed ? " (say --trace-clock to correct it)" : " (as given)") +
      "; energy is modelled for " + job.device.device.name + ".");
}

// What the pack files say of where they come from.
void add_sources(Answer& answer, const PlanView& view,
                 std::array<double, model::kKnownKinds>& known) {
  std::set<std::string> devices;
  std::set<std::string> steps;
  for (const plan::RankPacks& rank : view.ranks) {
    for (std::size_t k = 0; k < known.size(); ++k) known[k] += rank.known_s[k];
    if (!rank.device.empty()) devices.insert(rank.device);
    if (!rank.step.empty()) steps.insert(rank.step);
  }
  if (devices.empty()) return;
  std::string names;
  for (const auto& device : devices) names += (names.empty() ? "" : ", ") + device;
  answer.lines.push_back(
      "Modelled, not measured, for " + names + " by ergon pack" +
      (steps.size() == 1 ? " (" + *steps.begin() + ")" : std::string()) +
      ". Packs say what re-timing says at single clocks; to have the plan itself "
      "re-timed, plan the traces.");
}

}  // namespace

Value coverage_value(const std::array<double, model::kKnownKinds>& known_s) {
  double all = 0;
  for (const double s : known_s) all += s;
  Value v = Value::object();
  for (std::size_t k = 0; k < known_s.size(); ++k) {
    v.set(to_string(static_cast<model::Known>(k)),
          all > 0 ? Value(known_s[k] / all) : Value(nullptr));
  }
  return v;
}

std::string clock_text(double hz) {
  const double mhz = hz / 1e6;
  char text[48];
  std::snprintf(text, sizeof text, std::abs(mhz - std::round(mhz)) < 0.05 ? "%.0f MHz" : "%.1f MHz",
                mhz);
  return text;
}
std::string time_text(double seconds) {
  char text[48];
  if (seconds >= 1e4)
    std::snprintf(text, sizeof text, "%.0f s", seconds);
  else if (seconds >= 1 || seconds == 0)
    std::snprintf(text, sizeof text, "%.4g s", seconds);
  else if (seconds >= 1e-3)
    std::snprintf(text, sizeof text, "%.4g ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.4g us", seconds * 1e6);
  return text;
}
std::string energy_text(double joules, int significant) {
  char text[48];
  if (std::abs(joules) >= std::pow(10.0, significant) / 2)  // %g would turn to exponents
    std::snprintf(text, sizeof text, "%.0f J", joules);
  else if (std::abs(joules) >= 1 || joules == 0)
    std::snprintf(text, sizeof text, "%.*g J", significant, joules);
  else
    std::snprintf(text, sizeof text, "%.*g mJ", std::min(significant, 4), joules * 1e3);
  return text;
}

std::string counted(std::uint64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

Answer plan_answer(const PlanView& view, bool with_page) {
  const plan::Outcome& out = *view.outcome;
  const Problem& problem = *view.problem;
  Answer answer;
  answer.command = "plan";
  add_headline(answer, view);

  Value bound = Value::object();
  bound.set("max_slowdown", optional(view.bound.max_slowdown)).set("deadline_s", out.deadline_s);
  answer.data.set("bound", std::move(bound));
  Value before = evaluation(single_clock(problem, out.default_choice), out.default_value);
  set_spread(before, spread_of(view, out.default_choice, out.default_value));
  answer.data.set("default", std::move(before));
  if (out.uniform) {
    Value uniform = evaluation(out.uniform->clock_hz, out.uniform->value);
    const Savings s = against(out.uniform->value, out.default_value);
    uniform.set("energy_saved", s.energy).set("slowdown", s.slowdown);
    const auto command = lock_command(view, out.uniform->clock_hz);
    uniform.set("command", command ? Value(*command) : Value());
    set_spread(uniform, spread_of(view, *out.uniform));
    answer.data.set("uniform", std::move(uniform));
  } else {
    answer.data.set("uniform", nullptr);
  }
  Value plan = Value::object();
  const Savings s = against(out.plan.value, out.default_value);
  plan.set("time_s", out.plan.value.time_s)
      .set("energy_j", out.plan.value.energy_j)
      .set("switches", std::uint64_t{out.plan.value.switches})
      .set("packs", std::uint64_t{problem.packs.size()})
      .set("energy_saved", s.energy)
      .set("slowdown", s.slowdown)
      .set("optimal", out.plan.optimal)
      .set("repairs", out.repairs);
  const std::optional<plan::Spread> spread = spread_of(view, out.plan.choice, out.plan.value);
  set_spread(plan, spread);
  if (spread) answer.lines.push_back(spread_text(view, spread));
  answer.data.set("plan", std::move(plan));
  answer.data.set("uniform_is_best", out.uniform_is_best);
  answer.data.set("lower_bound_j", out.plan.lower_bound_j);
  answer.data.set("gap", optional(gap_of(out.plan)));
  std::optional<double> finest_j;
  if (view.job != nullptr) {
    // Finer control can do all that these packs can, so the packs' own bound holds for it too.
    finest_j = std::min(out.plan.lower_bound_j,
                        plan::finest_bound(*view.job->graph, view.job->packs, out.deadline_s));
    say_finest(answer, out, *finest_j);
  }
  answer.data.set("finest_bound_j", optional(finest_j));
  Value switching = Value::object();
  switching
      .set("latency_s",
           view.job != nullptr ? Value(view.job->packs.switch_latency.si()) : Value(nullptr))
      .set("time_s", problem.switching.time_s)
      .set("energy_j", problem.switching.energy_j)
      .set("min_run_s", problem.switching.min_run_s)
      .set("repeats", problem.repeats);
  answer.data.set("switch", std::move(switching));
  if (view.frontier_asked) {
    Value points = Value::array();
    for (const auto& point : view.frontier) {
      Value p = Value::object();
      p.set("deadline_s", point.deadline_s)
          .set("time_s", point.solution.value.time_s)
          .set("energy_j", point.solution.value.energy_j)
          .set("lower_bound_j", point.solution.lower_bound_j)
          .set("switches", std::uint64_t{point.solution.value.switches});
      points.push(std::move(p));
    }
    answer.data.set("frontier", std::move(points));
  }
  std::array<double, model::kKnownKinds> known{};
  if (view.measured && view.job == nullptr)
    known[static_cast<std::size_t>(model::Known::kMeasured)] = 1;
  else if (view.job == nullptr)
    add_sources(answer, view, known);
  answer.data.set("coverage", coverage_value(known));
  answer.tables.push_back(comparison_table(view, finest_j));
  if (view.frontier_asked) answer.tables.push_back(frontier_table(view));
  if (out.plan.value.switches > 0) answer.tables.push_back(runs_table(view));
  if (view.job != nullptr) add_trace_fields(answer, view);
  if (with_page) fill_plan_page(view, answer);
  return answer;
}

std::string policy_text(const PlanView& view, const std::vector<std::string>& inputs) {
  const plan::Outcome& out = *view.outcome;
  const Problem& problem = *view.problem;
  policy::Policy policy;
  policy.device = view.job != nullptr ? view.job->device.device.id : std::string();
  policy.max_slowdown = view.bound.max_slowdown.value_or(std::nan(""));
  policy.deadline = Seconds(out.deadline_s);
  policy.predicted_time = Seconds(out.plan.value.time_s);
  policy.predicted_energy = Joules(out.plan.value.energy_j);
  policy.default_time = Seconds(out.default_value.time_s);
  policy.default_energy = Joules(out.default_value.energy_j);
  policy.origin = view.measured_share >= 1  ? Origin::kMeasured
                  : view.measured_share > 0 ? Origin::kMixed
                                            : Origin::kModelled;
  policy.repeats = problem.repeats;
  policy.switch_time = Seconds(problem.switching.time_s);
  policy.switch_energy = Joules(problem.switching.energy_j);
  policy.min_run = Seconds(problem.switching.min_run_s);
  policy.inputs = inputs;
  for (std::size_t i = 0; i < problem.packs.size(); ++i) {
    const plan::Pack& pack = problem.packs[i];
    policy.packs.push_back(
        {pack.id, problem.gpus[pack.gpu].id, Hertz(pack.options[out.plan.choice[i]].clock_hz)});
    if (view.job != nullptr) {
      const plan::PackInfo& info = view.job->packs.packs[i];
      policy.markers.push_back(
          {.pack = pack.id, .first_kernel = info.first_operation, .occurrence = info.occurrence});
    }
  }
  return policy::write_policy(policy);
}

}  // namespace ergon::cli
