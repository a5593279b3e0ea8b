// Plans for the oracles, as JSON lines: what was planned, what the planner found, what it took.
//
//   plan_oracle small N FIRST_SEED       random small problems, with the least energy of all
//   choices plan_oracle pairs N                  two GPUs of 8 packs x 6 clocks plan_oracle chains
//   PACKS CLOCKS      one GPU, switch costs from none to dear, several slowdowns plan_oracle file
//   FILE SLOWDOWN...    a pack file or measured options, slowdowns such as 0.03
#include <ctime>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "ergon/io.hpp"
#include "ergon/plan.hpp"
#include "evaluate.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Value value_of(const Problem& problem, const Choice& choice, const Evaluation& e) {
  Value v = Value::object();
  v.set("time_s", e.time_s);
  v.set("energy_j", e.energy_j);
  v.set("switches", e.switches);
  Value clocks = Value::array();
  for (std::size_t i = 0; i < choice.size(); ++i)
    clocks.push(problem.packs[i].options[choice[i]].clock_hz);
  v.set("clocks_hz", std::move(clocks));
  return v;
}

// Plans and prints one line; `extra` joins it.
void report(const Problem& problem, double deadline_s, Value line, bool with_problem) {
  line.set("deadline_s", deadline_s);
  const Choice top = default_choice(problem);
  line.set("default", value_of(problem, top, evaluate(problem, top)));
  if (const auto uniform = best_uniform(problem, deadline_s)) {
    line.set("uniform", value_of(problem, uniform->choice, uniform->value));
  } else {
    line.set("uniform", nullptr);
  }
  const double begin = cpu_s();
  const auto found = solve(problem, deadline_s);
  line.set("cpu_s", cpu_s() - begin);
  if (found) {
    line.set("plan", value_of(problem, found->choice, found->value));
    line.set("lower_bound_j", found->lower_bound_j);
    line.set("optimal", found->optimal);
  } else {
    line.set("plan", nullptr);
    for (const auto& [name, figure] : found.error().figures) line.set(name, figure);
  }
  if (with_problem) {
    if (auto text = io::parse_json(write_packs(problem))) line.set("problem", *std::move(text));
  }
  std::cout << io::to_json(line, 0) << "\n";
}

// A deadline between the fastest and the slowest choice, sometimes just too early.
void small(std::uint64_t seed) {
  const Problem problem = testing::random_small(seed);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double fastest = kInfinity;
  double slowest = 0;
  testing::for_each_choice(problem, [&](const Choice& choice) {
    const Evaluation e = evaluate(problem, choice);
    if (!e.runs_long_enough) return;
    fastest = std::min(fastest, e.time_s);
    slowest = std::max(slowest, e.time_s);
  });
  testing::Random r(seed + 5000);
  const double deadline =
      fastest < kInfinity ? fastest + (slowest - fastest) * r.uniform(-0.1, 0.9) : 1;
  double least = kInfinity;
  testing::for_each_choice(problem, [&](const Choice& choice) {
    const Evaluation e = evaluate(problem, choice);
    if (e.runs_long_enough && e.time_s <= latest_end(deadline)) least = std::min(least, e.energy_j);
  });
  Value line = Value::object();
  line.set("name", "small " + std::to_string(seed));
  line.set("least_energy_j", least < kInfinity ? Value(least) : Value(nullptr));
  report(problem, deadline, std::move(line), true);
}

void pair(std::uint64_t seed) {
  testing::Random r(seed);
  Problem p;
  p.gpus = {{.id = "0", .idle_power_w = 60}, {.id = "1", .idle_power_w = 40}};
  p.switching = {.time_s = 0.001, .energy_j = 0.05, .min_run_s = seed % 2 == 0 ? 0.0 : 0.03};
  p.repeats = seed % 3 == 0;
  const Problem packs =
      testing::random_chain(seed, {.packs = 16, .clocks = 6, .switching = {}, .repeats = false});
  for (std::uint32_t i = 0; i < 16; ++i) {
    p.packs.push_back(packs.packs[i]);
    p.packs.back().gpu = i % 2;
    if (i >= 2 && r.uniform() < 0.5) p.packs.back().after = {{.pack = i - 1, .lag_s = 0.0005}};
  }
  const double slowdown = r.uniform(0.01, 0.12);
  Value line = Value::object();
  line.set("name", "pair " + std::to_string(seed));
  report(p, (1 + slowdown) * evaluate(p, default_choice(p)).time_s, std::move(line), true);
}

void chains(std::uint32_t packs, std::uint32_t clocks) {
  const std::vector<SwitchCost> costs = {{0, 0, 0},        {0.0001, 0.005, 0}, {0.002, 0.05, 0},
                                         {0.005, 0.2, 0},  {0.010, 0.5, 0},    {0.002, 0.05, 0.02},
                                         {0.010, 0.5, 0.1}};
  for (const bool repeats : {false, true}) {
    for (const SwitchCost& cost : costs) {
      for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{2}}) {
        const Problem p = testing::random_chain(
            seed, {.packs = packs, .clocks = clocks, .switching = cost, .repeats = repeats});
        const double time = evaluate(p, default_choice(p)).time_s;
        bool first = true;  // the problem goes out once, before all its deadlines
        for (const double slowdown : {0.005, 0.01, 0.03, 0.05, 0.10}) {
          Value line = Value::object();
          line.set("name", "chain " + std::to_string(packs) + " x " + std::to_string(clocks));
          line.set("switch_time_s", cost.time_s);
          line.set("switch_energy_j", cost.energy_j);
          line.set("min_run_s", cost.min_run_s);
          line.set("repeats", repeats);
          line.set("slowdown", slowdown);
          line.set("seed", seed);
          report(p, (1 + slowdown) * time, std::move(line), first);
          first = false;
        }
      }
    }
  }
}

int file(const std::string& path, const std::vector<std::string>& slowdowns) {
  auto source = io::open_source(path);
  if (!source) {
    std::cerr << "error: " << source.error().message << "\n";
    return 3;
  }
  const auto text = io::read_all(**source);
  if (!text) return 3;
  auto problem = [&]() -> Result<Problem> {
    if (text->find_first_not_of(" \t\r\n") != std::string::npos &&
        (*text)[text->find_first_not_of(" \t\r\n")] == '{')
      return read_packs(*text);
    ERGON_TRY(const auto rows, read_measured(*text));
    return measured_chain(rows);
  }();
  if (!problem) {
    std::cerr << "error: " << problem.error().message << "\nhint: " << problem.error().hint << "\n";
    return 3;
  }
  const double time = evaluate(*problem, default_choice(*problem)).time_s;
  for (const std::string& s : slowdowns) {
    const auto slowdown = io::parse_double(s);
    if (!slowdown) {
      std::cerr << "error: " << s << " is no slowdown\n";
      return 2;
    }
    Value line = Value::object();
    line.set("name", path);
    line.set("slowdown", *slowdown);
    report(*problem, (1 + *slowdown) * time, std::move(line), true);
  }
  return 0;
}

int run(const std::vector<std::string>& args) {
  const auto number = [&](std::size_t k) -> std::uint32_t {
    return k < args.size() ? static_cast<std::uint32_t>(std::stoul(args[k])) : 0;
  };
  const std::string command = args.empty() ? "" : args[0];
  if (command == "small") {
    for (std::uint64_t seed = number(2); seed < number(2) + number(1); ++seed) small(seed);
  } else if (command == "pairs") {
    for (std::uint64_t seed = 0; seed < number(1); ++seed) pair(seed);
  } else if (command == "chains") {
    chains(number(1), number(2));
  } else if (command == "file" && args.size() > 2) {
    return file(args[1], {args.begin() + 2, args.end()});
  } else {
    std::cerr << "usage: plan_oracle small N FIRST_SEED | pairs N | chains PACKS CLOCKS | "
                 "file FILE SLOWDOWN...\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace ergon::plan

int main(int argc, char** argv) { return ergon::plan::run({argv + 1, argv + argc}); }
