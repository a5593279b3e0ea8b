// Seeded families of planning problems for benchmarks and tests.
#include "plan_instances.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace ergon::bench {
namespace {

using plan::After;
using plan::Option;
using plan::Pack;
using plan::Problem;

// splitmix64: the same numbers on every machine and library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(next() % n); }

 private:
  std::uint64_t state_;
};

constexpr double kTopHz = 1.98e9;
constexpr double kLowHz = 0.6e9;

// How a pack reacts to the clock: the part of its time that the clock does not change, and its
// power at the top clock without the static part.
struct Response {
  double time_s = 0;     // at the top clock
  double fixed = 0;      // share of time that does not depend on the clock
  double dynamic_w = 0;  // at the top clock
};

std::vector<Option> options_of(const Response& r, std::uint32_t clocks, double noise,
                               Random& random) {
  std::vector<Option> out;
  for (std::uint32_t k = 0; k < clocks; ++k) {
    const double f = kLowHz + (kTopHz - kLowHz) * (k + 1.0) / clocks;
    const double ratio = f / kTopHz;
    // Voltage is flat below a knee and rises from there: the usual P = P0 + c V^2 f.
    const double volt = std::max(0.72, 0.72 + 0.28 * (ratio - 0.6) / 0.4);
    double time = r.time_s * (r.fixed + (1 - r.fixed) / ratio);
    double power = 85 + 30 * ratio + r.dynamic_w * ratio * volt * volt;
    time *= 1 + noise * random.uniform(-1, 1);
    power *= 1 + noise * random.uniform(-1, 1);
    // Whole hertz, nanoseconds and microjoules, as a profiler would write them.
    out.push_back({std::round(f / 1e6) * 1e6, std::round(time * 1e9) * 1e-9,
                   std::round(power * time * 1e6) * 1e-6});
  }
  return out;
}

Response random_response(Random& random, double low_s, double high_s) {
  return {low_s * std::pow(high_s / low_s, random.uniform(0, 1)), random.uniform(0.02, 0.95),
          random.uniform(120, 520)};
}

// GPUs in a row of packs, listed in rounds so that edges to earlier rounds are always possible.
struct Builder {
  Problem problem;
  std::vector<std::vector<std::uint32_t>> rows;  // packs of a GPU in order

  explicit Builder(const Spec& spec) : rows(spec.gpus) {
    for (std::uint32_t g = 0; g < spec.gpus; ++g)
      problem.gpus.push_back({std::to_string(g), 50.0 + 5 * (g % 4)});
    problem.switching = {spec.switch_time_s, spec.switch_energy_j, spec.min_run_s};
    problem.repeats = spec.repeats;
  }
  std::uint32_t add(std::uint32_t gpu, std::vector<Option> options) {
    const auto index = static_cast<std::uint32_t>(problem.packs.size());
    problem.packs.push_back({std::to_string(gpu) + "." + std::to_string(rows[gpu].size()),
                             gpu,
                             {},
                             std::move(options)});
    rows[gpu].push_back(index);
    return index;
  }
  void wait(std::uint32_t pack, std::uint32_t before, double lag_s) {
    for (const After& a : problem.packs[pack].after)
      if (a.pack == before) return;
    problem.packs[pack].after.push_back({before, lag_s});
  }
};

// Before each `every`-th round the GPUs wait for each other: the next pack of each for the packs
// that the others had before it.
class Barrier {
 public:
  Barrier(std::uint32_t every, double lag_s) : every_(every), lag_s_(lag_s) {}
  void before_round(Builder& b, std::uint32_t round) {
    if (every_ == 0 || round == 0 || round % every_ != 0) return;
    pending_.assign(b.rows.size(), {});
    for (std::uint32_t g = 0; g < b.rows.size(); ++g)
      for (std::uint32_t h = 0; h < b.rows.size(); ++h)
        if (h != g && !b.rows[h].empty()) pending_[g].push_back(b.rows[h].back());
  }
  void after_add(Builder& b, std::uint32_t gpu) {
    if (pending_.empty()) return;
    for (const std::uint32_t p : pending_[gpu]) b.wait(b.rows[gpu].back(), p, lag_s_);
    pending_[gpu].clear();
  }

 private:
  std::uint32_t every_;
  double lag_s_;
  std::vector<std::vector<std::uint32_t>> pending_;
};

Barrier barrier_of(const std::string& family) {
  if (family == "allreduce") return {7, 0.0005};
  if (family == "barrier" || family == "equal") return {2, 0};
  if (family == "lockstep") return {1, 0};
  if (family == "uneven") return {5, 0.001};
  return {0, 0};
}

Problem rounds(const Spec& spec) {
  Builder b(spec);
  Random random(spec.seed);
  const std::string& family = spec.family;
  const double noise = family == "noisy" ? 0.01 : 0;
  const std::uint32_t rounds = spec.packs / spec.gpus;
  const Response same = {0.012, 0.3, 300};
  Barrier barrier = barrier_of(family);
  for (std::uint32_t i = 0; i < rounds; ++i) {
    barrier.before_round(b, i);
    for (std::uint32_t g = 0; g < spec.gpus; ++g) {
      Response r = random_response(random, 0.002, 0.05);
      if (family == "equal") r = same;
      if (family == "uneven" && g == 0) r.time_s *= 0.1;
      if (family == "uneven" && g == 1 && i % 4 != 0) continue;
      b.add(g, options_of(r, spec.clocks, noise, random));
      barrier.after_add(b, g);
    }
  }
  if (family == "neighbours" || family == "noisy" || family == "random") {
    const bool many = family == "random";
    const std::vector<std::vector<std::uint32_t>> rows = b.rows;
    for (std::uint32_t g = 0; g < spec.gpus && spec.gpus > 1; ++g) {
      for (std::uint32_t i = 1; i < rows[g].size(); ++i) {
        if (!many && i % 10 != 5) continue;
        if (many && random.below(3) == 0) continue;
        const std::uint32_t h = many ? random.below(spec.gpus) : (g + 1) % spec.gpus;
        if (h == g) continue;
        const std::uint32_t back = 1 + (many ? random.below(std::min<std::uint32_t>(i, 6)) : 0);
        const double lag = random.below(4) == 0 ? random.uniform(0, 0.002) : 0;
        if (i - back < rows[h].size()) b.wait(rows[g][i], rows[h][i - back], lag);
      }
    }
  }
  return std::move(b.problem);
}

// One pack of a 1F1B schedule.
struct Step {
  bool forward = true;
  std::uint32_t batch = 0;
};

std::vector<Step> one_f_one_b(std::uint32_t stage, std::uint32_t stages, std::uint32_t batches) {
  std::vector<Step> out;
  std::uint32_t f = 0;
  for (; f < std::min(stages - stage, batches); ++f) out.push_back({true, f});
  for (std::uint32_t done = 0; done < batches; ++done) {
    out.push_back({false, done});
    if (f < batches) out.push_back({true, f++});
  }
  return out;
}

// Lists the packs of all stages so that each follows what it waits for.
template <class MakeOptions>
void add_pipeline(Builder& b, std::uint32_t stages, std::uint32_t batches, double lag_s,
                  MakeOptions options) {
  std::vector<std::vector<Step>> todo(stages);
  for (std::uint32_t s = 0; s < stages; ++s) todo[s] = one_f_one_b(s, stages, batches);
  std::map<std::tuple<std::uint32_t, bool, std::uint32_t>, std::uint32_t> done;
  std::vector<std::size_t> next(stages, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t s = 0; s < stages; ++s) {
      while (next[s] < todo[s].size()) {
        const Step step = todo[s][next[s]];
        const bool edge = step.forward ? s > 0 : s + 1 < stages;
        const auto it = done.find({step.forward ? s - 1 : s + 1, step.forward, step.batch});
        if (edge && it == done.end()) break;
        const std::uint32_t pack = b.add(s, options(s, step.forward));
        if (edge) b.wait(pack, it->second, lag_s);
        done[{s, step.forward, step.batch}] = pack;
        ++next[s];
        moved = true;
      }
    }
  }
}

}  // namespace

const std::vector<std::string>& families() {
  static const std::vector<std::string> all_names = {
      "chain",  "allreduce", "barrier", "pipeline", "neighbours",
      "random", "uneven",    "equal",   "noisy",    "lockstep"};
  return all_names;
}

Problem make_instance(const Spec& spec) {
  ERGON_CHECK(std::ranges::find(families(), spec.family) != families().end(), "no such family");
  if (spec.family != "pipeline") return rounds(spec);
  Builder b(spec);
  Random random(spec.seed);
  add_pipeline(b, spec.gpus, spec.packs / spec.gpus / 2, 0.0002, [&](std::uint32_t, bool forward) {
    Response r = random_response(random, 0.004, 0.025);
    if (!forward) r.time_s *= 2;
    return options_of(r, spec.clocks, 0, random);
  });
  return std::move(b.problem);
}

Problem make_pipeline(std::uint32_t stages, std::uint32_t microbatches, std::uint32_t clocks,
                      std::uint64_t seed) {
  Spec spec;
  spec.gpus = stages;
  Builder b(spec);
  for (plan::Gpu& gpu : b.problem.gpus) gpu.idle_power_w = 60;
  Random random(seed);
  std::vector<std::vector<Option>> curves;  // forward and backward of each stage
  for (std::uint32_t s = 0; s < stages; ++s) {
    const double base = 0.05 * random.uniform(0.8, 1.2);
    for (const bool forward : {true, false}) {
      std::vector<Option> options;
      for (std::uint32_t k = 0; k < clocks; ++k) {
        const double f = 1.41e9 - 45e6 * (clocks - 1 - k);
        const double ratio = f / 1.41e9;
        const double volt = std::max(0.75, ratio);
        const double fixed = forward ? 0.2 : 0.15;
        const double time = (forward ? 1 : 2) * base * (fixed + (1 - fixed) / ratio);
        options.push_back({f, time, time * (80 + 220 * ratio * volt * volt)});
      }
      curves.push_back(std::move(options));
    }
  }
  add_pipeline(b, stages, microbatches, 0,
               [&](std::uint32_t s, bool forward) { return curves[2 * s + (forward ? 0 : 1)]; });
  return std::move(b.problem);
}

}  // namespace ergon::bench
