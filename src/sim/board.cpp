#include "ergon/sim/board.hpp"

#include <algorithm>
#include <cmath>

#include "ergon/base.hpp"
#include "times.hpp"

namespace ergon::sim {
namespace {

constexpr Nanoseconds kLeastBetweenMarks = 250'000;
constexpr double kSettledK = 1e-6;

}  // namespace

void BoardView::create(const BoardConfig& config, Nanoseconds now) {
  board_ = Board{};
  board_.config = config;
  const auto of_seed = [&](std::uint64_t stream) {
    return draw(config.seed * 64 + config.index, 1000 + stream, 0);
  };
  board_.gain = config.gain > 0 ? config.gain : 1 + 0.003 * (2 * of_seed(0) - 1);
  board_.counter_gain = board_.gain * (1 + 0.0004 * (2 * of_seed(1) - 1));
  board_.ambient_c = model_.thermal.ambient_c + 3 * (2 * of_seed(2) - 1) +
                     ((config.physical_faults & kHot) != 0 ? 45 : 0);
  board_.counter_base_j = std::floor(5e6 * of_seed(3));
  board_.sensor_phase = of_seed(4);
  board_.counter_phase = of_seed(5);
  board_.created = board_.segment_start = board_.last_look = now;
  board_.next_tick = now + kTick;
  board_.sm_mhz = model_.clocks.idle;
  board_.memory_mhz = model_.clocks.memory_idle;
  board_.limit_w = model_.power.limit_default;
  board_.reasons = kReasonIdle;
  board_.temperature_c = board_.ambient_c;
  for (int k = 0; k < 60; ++k) {  // the fixed point of warmth and leakage
    board_.temperature_c =
        board_.ambient_c + model_.thermal.k_per_w * idle_power(model_, point()).total_w;
  }
  open_segment();
  push_mark(true);
  push_clocks();
}

Point BoardView::point() const { return {board_.sm_mhz, board_.memory_mhz, board_.temperature_c}; }

int BoardView::running_jobs() const {
  int count = 0;
  for (const Job& job : board_.jobs) count += job.state == JobState::kRunning ? 1 : 0;
  return count;
}

bool BoardView::working() const { return running_jobs() > 0; }

const Phase& BoardView::current_phase(int slot) const {
  const Job& job = board_.jobs[slot];
  return store_.phases[static_cast<std::size_t>(slot) * kMaxPhases + job.phase];
}

// Processes share a GPU by turns: power is the mean of their phases.
Power BoardView::power_at(double sm_mhz) const {
  Point where = point();
  where.sm_mhz = sm_mhz;
  const int running = running_jobs();
  if (running == 0) return idle_power(model_, where);
  Power sum;
  for (int slot = 0; slot < static_cast<int>(kMaxJobs); ++slot) {
    if (board_.jobs[slot].state != JobState::kRunning) continue;
    const Power power = busy_power(model_, current_phase(slot), where);
    sum.total_w += power.total_w / running;
    sum.memory_w += power.memory_w / running;
  }
  return sum;
}

// Power, rates and ends of the present segment, from the state at its start.
void BoardView::open_segment() {
  board_.power = power_at(board_.sm_mhz);
  board_.busy = 0;
  board_.memory_busy = 0;
  const int running = running_jobs();
  for (int slot = 0; slot < static_cast<int>(kMaxJobs); ++slot) {
    Job& job = board_.jobs[slot];
    if (job.state != JobState::kRunning) continue;
    const Phase& phase = current_phase(slot);
    const double longer = slowdown(model_, phase, point());
    job.rate = 1 / (phase.duration_s * longer * running);
    const double left = std::min(job.remaining / job.rate, 1e9);
    job.end = board_.segment_start + std::max<Nanoseconds>(nanoseconds_of(left), 0);
    const bool works = phase.compute > 0 || phase.memory > 0;
    board_.busy += works ? 1.0 / running : 0;
    board_.memory_busy += phase.memory / longer / running;
  }
}

void BoardView::close_segment(Nanoseconds at) {
  const double dt = seconds_of(at - board_.segment_start);
  board_.energy_j += board_.power.total_w * dt;
  board_.memory_energy_j += board_.power.memory_w * dt;
  board_.busy_s += board_.busy * dt;
  board_.memory_busy_s += board_.memory_busy * dt;
  board_.capped_ns = capped_ns_at(at);
  board_.thermal_ns = thermal_ns_at(at);
  for (Job& job : board_.jobs) {
    if (job.state == JobState::kRunning)
      job.remaining = std::max(0.0, job.remaining - job.rate * dt);
  }
  board_.segment_start = at;
  push_mark(false);
}

void BoardView::push_mark(bool always) {
  if (!always && board_.segment_start - board_.last_mark < kLeastBetweenMarks) return;
  store_.history[board_.marks % kHistoryLength] = {board_.segment_start, board_.energy_j,
                                                   board_.memory_energy_j, board_.busy_s,
                                                   board_.memory_busy_s};
  ++board_.marks;
  board_.last_mark = board_.segment_start;
}

void BoardView::push_clocks() {
  store_.clocks[board_.clock_marks % kClockHistoryLength] = {board_.segment_start, board_.sm_mhz,
                                                             board_.memory_mhz};
  ++board_.clock_marks;
}

Nanoseconds BoardView::next_event() const {
  Nanoseconds next = board_.next_tick;
  if (board_.switch_at != 0) next = std::min(next, board_.switch_at);
  if (board_.memory_switch_at != 0) next = std::min(next, board_.memory_switch_at);
  for (const Job& job : board_.jobs) {
    if (job.state == JobState::kRunning) next = std::min(next, job.end);
  }
  return next;
}

void BoardView::advance(Nanoseconds now) {
  for (;;) {
    if (board_.settled) skip_settled_ticks(now);
    const Nanoseconds at = std::max(next_event(), board_.segment_start);
    if (at > now) return;
    close_segment(at);
    bool changed = false;
    if (board_.switch_at != 0 && board_.switch_at <= at) {
      board_.switch_at = 0;
      board_.held_min_mhz = board_.lock_min_mhz;
      board_.held_max_mhz = board_.lock_max_mhz;
      changed = true;
    }
    if (board_.memory_switch_at != 0 && board_.memory_switch_at <= at) {
      board_.memory_switch_at = 0;
      board_.held_memory_mhz = board_.memory_lock_mhz;
      changed = true;
    }
    for (int slot = 0; slot < static_cast<int>(kMaxJobs); ++slot) {
      const Job& job = board_.jobs[slot];
      if (job.state == JobState::kRunning && job.end <= at) end_phase(slot, at);
    }
    if (board_.next_tick <= at) {
      tick(at);
    } else if (changed) {
      control(false);
    }
    open_segment();
  }
}

void BoardView::look(Nanoseconds now) {
  advance(now);
  board_.last_look = std::max(board_.last_look, now);
}

void BoardView::end_phase(int slot, Nanoseconds at) {
  Job& job = board_.jobs[slot];
  const std::size_t base = static_cast<std::size_t>(slot) * kRecordLength;
  store_.records[base + job.records % kRecordLength] = {
      job.phase, job.repetition, job.phase_start, at, board_.energy_j - job.phase_start_energy_j};
  ++job.records;
  job.phase_start = at;
  job.phase_start_energy_j = board_.energy_j;
  job.remaining = 1;
  if (++job.phase < job.phases) return;
  job.phase = 0;
  if (++job.repetition < job.repeat) return;
  job.state = JobState::kDone;
  job.finished = at;
}

void BoardView::tick(Nanoseconds at) {
  const double dt = seconds_of(kTick);
  const double mean_w = (board_.energy_j - board_.tick_energy_j) / dt;
  const double target = board_.ambient_c + model_.thermal.k_per_w * mean_w;
  const double change = (target - board_.temperature_c) * -std::expm1(-dt / model_.thermal.tau_s);
  const bool still = std::abs(change) < kSettledK;
  if (!still) board_.temperature_c += change;
  board_.tick_energy_j = board_.energy_j;
  board_.next_tick = at + kTick;
  const double before = board_.sm_mhz;
  control(true);
  constexpr std::uint32_t kMoving = kClockDrift | kMemoryDrift;
  board_.settled = still && before == board_.sm_mhz && !working() && board_.switch_at == 0 &&
                   board_.memory_switch_at == 0 && (board_.config.physical_faults & kMoving) == 0;
}

// A settled board passes its ticks unchanged: all of them up to `now` at once.
void BoardView::skip_settled_ticks(Nanoseconds now) {
  if (now < board_.next_tick) return;
  const Nanoseconds count = (now - board_.next_tick) / kTick;
  if (count == 0) return;
  const Nanoseconds last = board_.next_tick + (count - 1) * kTick;
  push_mark(true);
  close_segment(last);
  board_.tick_energy_j = board_.energy_j;
  board_.next_tick = last + kTick;
}

// The clock that limits, locks and load ask for, before power and temperature have their say.
double BoardView::wanted_mhz() const {
  const ClockSpec& clocks = model_.clocks;
  const bool not_held = (board_.config.physical_faults & kLockNotHeld) != 0;
  const double low = not_held ? 0 : board_.held_min_mhz;
  const double high = not_held ? 0 : board_.held_max_mhz;
  if (!working()) {
    const double idle = std::max(clocks.idle, low);
    return supported_at_most(model_, high > 0 ? std::min(idle, high) : idle);
  }
  double wanted = high > 0 ? std::min(high, clocks.reach) : clocks.boost;
  if (high > 0 && (board_.config.physical_faults & kClockDrift) != 0) {
    const double turn = seconds_of(board_.segment_start - board_.created) / 7.0 * 6.283185307179586;
    wanted *= 1 - 0.03 * (1 - std::cos(turn));
  }
  return supported_at_most(model_, wanted);
}

// Chooses the core clock. Between ticks only locks and the start of work act; power and temperature
// act at ticks, a few steps each, as a driver's control loop does.
void BoardView::control(bool at_tick) {
  control_memory();
  const double before = board_.sm_mhz;
  const double step = model_.clocks.sm_step;
  const double wanted = wanted_mhz();
  double chosen = wanted;
  std::uint64_t reasons = 0;
  if (!working()) {
    reasons |= kReasonIdle;
  } else {
    const double share = (board_.config.physical_faults & kPowerCapped) != 0 ? 0.6 : 1;
    const double limit = board_.limit_w * share;
    const auto within = [&](double mhz) { return power_at(mhz).total_w <= limit; };
    while (chosen > model_.clocks.sm_min && !within(chosen)) {
      chosen = supported_at_most(model_, chosen - step / 2);
    }
    if (chosen < wanted) reasons |= kReasonPowerCap;
    if (board_.temperature_c > model_.thermal.slowdown_c) {
      const double over = board_.temperature_c - model_.thermal.slowdown_c;
      const double cool = supported_at_most(model_, wanted * std::max(0.3, 1 - 0.08 * (1 + over)));
      if (cool < chosen) {
        chosen = cool;
        reasons |= kReasonThermal;
      }
    }
    if (board_.held_max_mhz > model_.clocks.reach) reasons |= kReasonReliability;
    const bool limited_now = (reasons & (kReasonPowerCap | kReasonThermal)) != 0;
    const bool limited_before = (board_.reasons & (kReasonPowerCap | kReasonThermal)) != 0;
    if (limited_now || limited_before) {
      const double most_up = before + (at_tick ? 2 * step : 0);
      const double most_down = before - (at_tick ? 12 * step : 0);
      if ((board_.reasons & kReasonIdle) == 0) {
        if (chosen > most_up) {
          chosen = supported_at_most(model_, std::min(most_up, wanted));
          if (chosen < wanted) reasons |= board_.reasons & (kReasonPowerCap | kReasonThermal);
        } else if (chosen < most_down) {
          chosen = supported_at_most(model_, std::min(most_down, wanted));
        }
      }
    }
  }
  board_.reasons = reasons;
  board_.sm_mhz = chosen;
  if (chosen != before) push_clocks();
}

void BoardView::control_memory() {
  const double before = board_.memory_mhz;
  double wanted = working() ? model_.clocks.memory.front() : model_.clocks.memory_idle;
  if (board_.held_memory_mhz > 0) wanted = board_.held_memory_mhz;
  if ((board_.config.physical_faults & kMemoryDrift) != 0 && working() &&
      model_.clocks.memory.size() > 1) {
    const auto turn = (board_.segment_start - board_.created) / 1'500'000'000;
    if (turn % 3 == 2) wanted = std::min(wanted, model_.clocks.memory[1]);
  }
  board_.memory_mhz = wanted;
  if (wanted != before) push_clocks();
}

// Of a change to a target: the target clock decides (Velicka, Vysocky, Riha, arXiv 2502.20075), a
// tenth varies.
double BoardView::switch_latency_s(double target_mhz) const {
  std::uint64_t name = 0;
  for (const char* c = model_.key; *c != '\0'; ++c)
    name = name * 131 + static_cast<unsigned char>(*c);
  const double of_target = draw(name, 77, static_cast<std::uint64_t>(target_mhz));
  const double jitter = draw(board_.config.seed, 78 + board_.config.index, board_.switches);
  const ClockSpec& clocks = model_.clocks;
  const double latency =
      clocks.latency_min_s + (clocks.latency_max_s - clocks.latency_min_s) * of_target;
  return latency * (0.9 + 0.2 * jitter);
}

void BoardView::lock_clocks(double min_mhz, double max_mhz, Nanoseconds now) {
  advance(now);
  now = std::max(now, board_.segment_start);
  close_segment(now);
  board_.settled = false;
  const double low = min_mhz > 0 ? supported_at_most(model_, min_mhz) : 0;
  const double high = max_mhz > 0 ? supported_at_most(model_, max_mhz) : 0;
  const bool same = low == board_.lock_min_mhz && high == board_.lock_max_mhz;
  if (!(same && board_.switch_at != 0)) {  // asking again does not delay a change under way
    board_.lock_min_mhz = low;
    board_.lock_max_mhz = high;
    ++board_.switches;
    const double target = high > 0 ? high : model_.clocks.boost;
    board_.switch_at = now + nanoseconds_of(switch_latency_s(target));
  }
  open_segment();
}

void BoardView::unlock_clocks(Nanoseconds now) { lock_clocks(0, 0, now); }

void BoardView::lock_memory(double mhz, Nanoseconds now) {
  advance(now);
  now = std::max(now, board_.segment_start);
  close_segment(now);
  board_.settled = false;
  board_.memory_lock_mhz = mhz;
  ++board_.switches;
  board_.memory_switch_at = now + nanoseconds_of(2 * switch_latency_s(mhz > 0 ? mhz : 1));
  open_segment();
}

void BoardView::set_limit(double watts, Nanoseconds now) {
  advance(now);
  board_.settled = false;
  board_.limit_w = watts;  // takes hold at the next tick
}

int BoardView::attach(std::int32_t pid, std::uint64_t process_start, Nanoseconds now) {
  advance(now);
  for (int slot = 0; slot < static_cast<int>(kMaxJobs); ++slot) {
    Job& job = board_.jobs[slot];
    if (job.state != JobState::kFree) continue;
    job = Job{};
    job.state = JobState::kAttached;
    job.pid = pid;
    job.process_start = process_start;
    return slot;
  }
  return -1;
}

void BoardView::start(int slot, std::span<const Phase> phases, std::uint32_t repeat,
                      Nanoseconds now) {
  ERGON_CHECK(slot >= 0 && static_cast<std::size_t>(slot) < kMaxJobs,
              "a slot is one that attach gave");
  ERGON_CHECK(!phases.empty() && phases.size() <= kMaxPhases && repeat > 0, "phases fit the store");
  advance(now);
  now = std::max(now, board_.segment_start);
  close_segment(now);
  board_.settled = false;
  std::copy(phases.begin(), phases.end(),
            store_.phases.begin() +
                static_cast<std::ptrdiff_t>(slot) * static_cast<std::ptrdiff_t>(kMaxPhases));
  Job& job = board_.jobs[slot];
  job.state = JobState::kRunning;
  job.phases = static_cast<std::uint32_t>(phases.size());
  job.repeat = repeat;
  job.phase = job.repetition = 0;
  job.remaining = 1;
  job.phase_start = now;
  job.phase_start_energy_j = board_.energy_j;
  control(false);
  open_segment();
}

void BoardView::stop(int slot, Nanoseconds now) {
  advance(now);
  Job& job = board_.jobs[slot];
  if (job.state != JobState::kRunning) return;
  now = std::max(now, board_.segment_start);
  close_segment(now);
  const std::size_t base = static_cast<std::size_t>(slot) * kRecordLength;
  store_.records[base + job.records % kRecordLength] = {
      job.phase, job.repetition, job.phase_start, now, board_.energy_j - job.phase_start_energy_j};
  ++job.records;
  job.state = JobState::kDone;
  job.finished = now;
  control(false);
  open_segment();
}

void BoardView::detach(int slot, Nanoseconds now) {
  stop(slot, now);
  const Job& job = board_.jobs[slot];
  if (job.state == JobState::kDone)
    board_.ended[board_.ended_count++ % kEndedLength] = {job.finished, job.pid};
  board_.jobs[slot] = Job{};
}

}  // namespace ergon::sim
