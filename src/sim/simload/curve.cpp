#include <fmt/format.h>

#include <vector>

#include "player.hpp"

namespace ergon::sim {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kWarm = 150 * kSecond;

struct Cost {
  double time_s = 0, energy_j = 0, capped = 0;
};

Cost cost_at(const Config& config, const Workload& workload, double mhz, double memory_mhz) {
  std::vector<Mark> history(kHistoryLength);
  std::vector<ClockMark> clocks(kClockHistoryLength);
  std::vector<Phase> phases(kMaxJobs * kMaxPhases);
  std::vector<Record> records(kMaxJobs * kRecordLength);
  Board board;
  BoardView view(*config.model, board, {history, clocks, phases, records});
  view.create({config.seed, 0, config.physical_faults, config.gain}, 0);
  view.lock_clocks(mhz, mhz, 0);
  if (memory_mhz != config.model->clocks.memory.front()) view.lock_memory(memory_mhz, 0);
  view.advance(kSecond);
  const int slot = view.attach(1, 1, kSecond);
  // Warm first: the same work again and again; then the run that counts.
  view.start(slot, workload.phases, 1'000'000'000, kSecond);
  view.advance(kSecond + kWarm);
  view.detach(slot, kSecond + kWarm);
  const int again = view.attach(1, 1, kSecond + kWarm);
  const Nanoseconds begin = kSecond + kWarm;
  view.start(again, workload.phases, workload.repeat, begin);
  Nanoseconds now = begin;
  while (board.jobs[again].state == JobState::kRunning) view.advance(now += kSecond / 10);
  const Nanoseconds end = board.jobs[again].finished;
  const double time_s = static_cast<double>(end - begin) * 1e-9;
  return {time_s, view.mark_at(end).energy_j - view.mark_at(begin).energy_j,
          static_cast<double>(view.capped_ns_at(end) - view.capped_ns_at(begin)) * 1e-9 / time_s};
}

}  // namespace

std::string curve_csv(const Config& config, const Workload& workload) {
  std::string out = "clock_hz,memory_clock_hz,time_s,energy_j,capped_share\n";
  for (const double memory : config.model->clocks.memory) {
    for (const double mhz : supported_clocks(*config.model)) {
      if (mhz > config.model->clocks.reach) break;
      const Cost cost = cost_at(config, workload, mhz, memory);
      out += fmt::format("{:.0f},{:.0f},{:.9g},{:.9g},{:.4f}\n", mhz * 1e6, memory * 1e6,
                         cost.time_s, cost.energy_j, cost.capped);
    }
  }
  return out;
}

}  // namespace ergon::sim
