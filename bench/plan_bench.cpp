// Certified gaps of coupled planning, and frontiers for the comparison with lowtime. CPU seconds of
// this process.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/plan.hpp"
#include "plan_instances.hpp"

namespace {

using ergon::bench::Spec;
using ergon::plan::Problem;

double cpu_s() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// One row: an instance at a deadline, relative to its top clocks. Returns whether it was solved.
bool row(const Spec& spec, double slowdown) {
  const Problem problem = ergon::bench::make_instance(spec);
  const double top_s = ergon::plan::evaluate(problem, ergon::plan::default_choice(problem)).time_s;
  const double deadline_s = top_s * (1 + slowdown);
  const double before = cpu_s();
  const auto found = ergon::plan::solve(problem, deadline_s);
  const double used = cpu_s() - before;
  if (!found) {
    std::printf("%s,%zu,%u,%g,%g,%g,%d,%g,,,,%.3f\n", spec.family.c_str(), problem.packs.size(),
                spec.gpus, spec.switch_time_s, spec.switch_energy_j, spec.min_run_s,
                spec.repeats ? 1 : 0, slowdown, used);
    return false;
  }
  const auto again = ergon::plan::evaluate(problem, found->choice);
  const bool holds = again.time_s <= deadline_s * (1 + 1e-9) && again.runs_long_enough &&
                     again.energy_j == found->value.energy_j;
  std::printf("%s,%zu,%u,%g,%g,%g,%d,%g,%.6f,%.6f,%.4f,%.3f\n", spec.family.c_str(),
              problem.packs.size(), spec.gpus, spec.switch_time_s, spec.switch_energy_j,
              spec.min_run_s, spec.repeats ? 1 : 0, slowdown, found->value.energy_j,
              found->lower_bound_j,
              100 * (found->value.energy_j - found->lower_bound_j) / found->lower_bound_j, used);
  std::fflush(stdout);
  return holds;
}

// plan_bench coupled SWITCH_S SWITCH_J [FAMILY [GPUS [SEED [MIN_RUN_S [REPEATS [SLOWDOWN]]]]]]
int coupled(const std::vector<std::string>& args) {
  Spec spec;
  spec.switch_time_s = std::stod(args.at(0));
  spec.switch_energy_j = std::stod(args.at(1));
  if (args.size() > 4) spec.seed = std::stoull(args[4]);
  if (args.size() > 5) spec.min_run_s = std::stod(args[5]);
  if (args.size() > 6) spec.repeats = args[6] == "1";
  std::printf(
      "family,packs,gpus,switch_s,switch_j,min_run_s,repeats,slowdown,energy_j,bound_j,gap_percent,"
      "cpu_s\n");
  bool all = true;
  for (const std::string& family : ergon::bench::families()) {
    if (args.size() > 2 && args[2] != "all" && args[2] != family) continue;
    for (const std::uint32_t gpus : {2U, 4U, 8U}) {
      if (args.size() > 3 && args[3] != "0" && std::stoul(args[3]) != gpus) continue;
      spec.family = family;
      spec.gpus = gpus;
      for (const double slowdown : {0.01, 0.03, 0.05, 0.1}) {
        if (args.size() > 7 && std::stod(args[7]) != slowdown) continue;
        all = row(spec, slowdown) && all;
      }
    }
  }
  return all ? 0 : 1;
}

// plan_bench pipeline STAGES MICROBATCHES FILE: writes the pack file that lowtime gets too.
int pipeline(const std::vector<std::string>& args) {
  const Problem problem =
      ergon::bench::make_pipeline(static_cast<std::uint32_t>(std::stoul(args.at(0))),
                                  static_cast<std::uint32_t>(std::stoul(args.at(1))), 13, 1);
  std::ofstream out(args.at(2));
  out << ergon::plan::write_packs(problem);
  return out.good() ? 0 : 1;
}

// plan_bench frontier PACKS POINTS: the frontier, and the CPU time of this whole process.
// plan_bench deadlines PACKS FILE: the plan for each deadline of the file, one a line.
int frontier(const std::vector<std::string>& args, bool given) {
  std::ifstream in(args.at(0));
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto problem = ergon::plan::read_packs(text);
  if (!problem) {
    std::fprintf(stderr, "%s\n", problem.error().message.c_str());
    return 1;
  }
  std::vector<double> deadlines;
  if (given) {
    std::ifstream list(args.at(1));
    for (double d = 0; list >> d;) deadlines.push_back(d);
  }
  const auto points = given ? ergon::plan::frontier_at(*problem, deadlines)
                            : ergon::plan::frontier(*problem, std::stoul(args.at(1)));
  if (!points) {
    std::fprintf(stderr, "%s\n", points.error().message.c_str());
    return 1;
  }
  std::printf("deadline_s,time_s,energy_j,bound_j\n");
  for (const auto& p : *points)
    std::printf("%.12g,%.12g,%.12g,%.12g\n", p.deadline_s, p.solution.value.time_s,
                p.solution.value.energy_j, p.solution.lower_bound_j);
  std::printf("cpu_s,%.6f\n", cpu_s());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 2), argv + argc);
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "coupled" && args.size() >= 2) return coupled(args);
  if (what == "pipeline" && args.size() == 3) return pipeline(args);
  if (what == "frontier" && args.size() == 2) return frontier(args, false);
  if (what == "deadlines" && args.size() == 2) return frontier(args, true);
  std::fprintf(stderr, "usage: ergon_plan_bench coupled|pipeline|frontier|deadlines ...\n");
  return 2;
}
