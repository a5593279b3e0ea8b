// Seeded families of planning problems for benchmarks and tests.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/plan.hpp"

namespace ergon::bench {

struct Spec {
  std::string family;  ///< one of families()
  std::uint32_t packs = 2000;
  std::uint32_t gpus = 2;
  std::uint32_t clocks = 40;
  double switch_time_s = 0;
  double switch_energy_j = 0;
  double min_run_s = 0;
  bool repeats = false;
  std::uint64_t seed = 1;
};

/// chain      packs in a row on each GPU, no coupling
/// allreduce  all GPUs wait for each other every few packs, some transfers with a lag
/// barrier    the same after every second pack
/// pipeline   1F1B: forward and backward packs of a stage wait for its neighbours
/// neighbours few edges between GPUs next to each other
/// random     many edges between packs of any two GPUs that are near in time
/// uneven     allreduce where one GPU has short packs and one runs few
/// equal      barrier where all packs are equal
/// noisy      neighbours where options are not convex: times and energies carry seeded deviations
const std::vector<std::string>& families();

/// ERGON_CHECKs that the family exists.
plan::Problem make_instance(const Spec& spec);

/// A 1F1B pipeline as training runs it: `stages` GPUs, `microbatches` forward and backward packs
/// each, one time-energy curve a stage and kind.
plan::Problem make_pipeline(std::uint32_t stages, std::uint32_t microbatches, std::uint32_t clocks,
                            std::uint64_t seed);

}  // namespace ergon::bench
