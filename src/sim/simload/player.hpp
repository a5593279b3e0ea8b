// Plays a workload on GPUs of the machine and tells the truth about it afterwards.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "ergon/sim/machine.hpp"
#include "phases.hpp"

namespace ergon::sim {

/// Of one GPU, from the start of the program to its end. Times are of the machine
/// (CLOCK_MONOTONIC).
struct Played {
  std::uint32_t gpu = 0;
  std::string uuid;
  Nanoseconds begin = 0, end = 0;
  double energy_j = 0;
  std::vector<Record> records;
  std::uint64_t lost_records = 0;
  std::vector<ClockMark> clocks;  ///< the one in force at `begin`, then each change
  ClockMark working;              ///< in force when the last phase ended
  bool locked = false;
  double temperature_c = 0;
  Nanoseconds capped = 0, thermal = 0;
};

/// Plays until all is done or `*stop` is not 0. `begin`: when the program began. Errors: kDevice
/// when a GPU has no room.
[[nodiscard]] Result<std::vector<Played>> play(Machine& machine,
                                               const std::vector<std::uint32_t>& gpus,
                                               const Workload& workload, Nanoseconds begin,
                                               const volatile std::sig_atomic_t* stop,
                                               const std::string& region_library = {});

/// The truth as JSON.
[[nodiscard]] std::string truth_json(const Machine& machine, const Workload& workload,
                                     const std::vector<Played>& played);

/// What a run costs at every clock, in virtual time on a warm board: CSV with the columns
/// clock_hz,memory_clock_hz,time_s,energy_j,capped_share.
[[nodiscard]] std::string curve_csv(const Config& config, const Workload& workload);

}  // namespace ergon::sim
