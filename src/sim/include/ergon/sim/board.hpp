// One simulated GPU in virtual time: given commands at times, its state at any later time. It never
// reads a clock, and who looks at it, or how often, changes nothing: the state moves only at its
// own events (control tick, clock change, end of a phase, command), and what lies between events is
// computed, not stored.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ergon/sim/model.hpp"
#include "ergon/sim/physics.hpp"

namespace ergon::sim {

using Nanoseconds = std::int64_t;

inline constexpr std::size_t kMaxJobs = 4;
inline constexpr std::size_t kMaxPhases = 1024;
inline constexpr std::size_t kHistoryLength = 8192;
inline constexpr std::size_t kClockHistoryLength = 2048;
inline constexpr std::size_t kRecordLength = 4096;
inline constexpr Nanoseconds kTick = 10'000'000;

/// Faults of the machine itself (those of a library call live in faults.hpp).
enum PhysicalFault : std::uint32_t {
  kLockNotHeld = 1,   ///< a lock is accepted, reported, and not held
  kClockDrift = 2,    ///< the clock under a lock wanders down by up to 6 %
  kPowerCapped = 4,   ///< something below the driver caps power at 60 % of the limit
  kHot = 8,           ///< the cooling fails: 45 K warmer air
  kMemoryDrift = 16,  ///< the memory clock falls back to a lower state now and then
};

/// Why the core clock is where it is, in the bits that NVML uses.
enum ClockReason : std::uint64_t {
  kReasonIdle = 0x1,
  kReasonPowerCap = 0x4,
  kReasonThermal = 0x20,
  kReasonReliability = 0x400,  ///< the lock is above what the board reaches
};

/// What does not change over a board's life. Values drawn from the seed are drawn once, at the
/// start.
struct BoardConfig {
  std::uint64_t seed = 0;
  std::uint32_t index = 0;
  std::uint32_t physical_faults = 0;
  double gain = 0;  ///< of power readings and counter; 0: drawn from the seed, within 0.3 %
};

/// A point of the history. Between two points every accumulated figure is taken as linear.
struct Mark {
  Nanoseconds at = 0;
  double energy_j = 0;
  double memory_energy_j = 0;
  double busy_s = 0;
  double memory_busy_s = 0;
};

struct ClockMark {
  Nanoseconds at = 0;
  double sm_mhz = 0;
  double memory_mhz = 0;
};

/// A phase as it was played.
struct Record {
  std::uint32_t phase = 0;
  std::uint32_t repetition = 0;
  Nanoseconds start = 0, end = 0;
  double energy_j = 0;  ///< of the whole board, between start and end
};

enum class JobState : std::uint32_t { kFree = 0, kAttached = 1, kRunning = 2, kDone = 3 };

/// A process that uses the GPU, and the phases that it plays.
struct Job {
  JobState state = JobState::kFree;
  std::int32_t pid = 0;
  std::uint64_t process_start =
      0;  ///< start time of the process in clock ticks: a pid may be used again
  std::uint32_t phases = 0;
  std::uint32_t repeat = 0;
  std::uint32_t phase = 0;
  std::uint32_t repetition = 0;
  double remaining = 0;  ///< share of the phase that is left at Board::segment_start
  double rate = 0;       ///< shares a second in the present segment
  Nanoseconds phase_start = 0;
  double phase_start_energy_j = 0;
  Nanoseconds end = 0;  ///< of the present phase, if nothing changes
  Nanoseconds finished = 0;
  std::uint64_t records = 0;  ///< written so far; the ring keeps the last kRecordLength
};

/// A process that worked and is gone.
struct Ended {
  Nanoseconds at = 0;
  std::int32_t pid = 0;  ///< 0: none
};
inline constexpr std::size_t kEndedLength = 16;

/// Everything that changes; trivially copyable, so that it can lie in a shared file.
struct Board {
  BoardConfig config;
  double gain = 1, counter_gain = 1, ambient_c = 27;
  double counter_base_j = 0;
  double sensor_phase = 0, counter_phase = 0;  ///< share of a period

  Nanoseconds created = 0;
  Nanoseconds segment_start = 0;  ///< of the present stretch of constant power
  Nanoseconds last_look = 0;      ///< when somebody last brought the board up to the present
  Nanoseconds next_tick = 0;
  double energy_j = 0, memory_energy_j = 0, busy_s = 0, memory_busy_s = 0;  ///< at segment_start
  Power power;
  double busy = 0, memory_busy = 0;  ///< rates in the present segment
  double temperature_c = 27;
  double tick_energy_j = 0;  ///< at the last tick

  double sm_mhz = 0, memory_mhz = 0;
  double lock_min_mhz = 0, lock_max_mhz = 0;  ///< asked for; 0: none
  double held_min_mhz = 0, held_max_mhz = 0;  ///< in force
  double memory_lock_mhz = 0, held_memory_mhz = 0;
  Nanoseconds switch_at = 0, memory_switch_at = 0;  ///< 0: none pending
  std::uint32_t switches = 0;
  double limit_w = 0;
  std::uint32_t persistence = 0;
  std::uint64_t reasons = 0;                  ///< NVML's bits of why the clock is where it is
  Nanoseconds capped_ns = 0, thermal_ns = 0;  ///< at segment_start
  bool settled = false;                       ///< nothing would change at the next tick either

  Job jobs[kMaxJobs];
  Ended ended[kEndedLength];
  std::uint64_t ended_count = 0;
  std::uint64_t marks = 0, clock_marks = 0;  ///< written so far
  Nanoseconds last_mark = 0;
};

/// The rings and tables of one board, which lie beside it.
struct BoardStore {
  std::span<Mark> history;      ///< kHistoryLength
  std::span<ClockMark> clocks;  ///< kClockHistoryLength
  std::span<Phase> phases;      ///< kMaxJobs * kMaxPhases
  std::span<Record> records;    ///< kMaxJobs * kRecordLength
};

/// A board and its store, with the operations on them. Times must not go back; an earlier time
/// counts as the present one.
class BoardView {
 public:
  BoardView(const Model& model, Board& board, const BoardStore& store)
      : model_(model), board_(board), store_(store) {}

  /// Makes a board that has been idle for long.
  void create(const BoardConfig& config, Nanoseconds now);
  /// Lets every event up to `now` happen.
  void advance(Nanoseconds now);
  /// The same, and notes that all processes with work were seen alive at `now`.
  void look(Nanoseconds now);

  // Commands: all advance to `now` first.
  void lock_clocks(double min_mhz, double max_mhz, Nanoseconds now);
  void unlock_clocks(Nanoseconds now);
  void lock_memory(double mhz, Nanoseconds now);  ///< 0: unlock
  void set_limit(double watts, Nanoseconds now);
  void set_persistence(bool on) { board_.persistence = on ? 1 : 0; }
  /// Takes a slot for a process; -1 when all are taken.
  int attach(std::int32_t pid, std::uint64_t process_start, Nanoseconds now);
  /// Starts work in a slot; the phases are copied into the store.
  void start(int slot, std::span<const Phase> phases, std::uint32_t repeat, Nanoseconds now);
  /// Stops the work of a slot and frees it.
  void detach(int slot, Nanoseconds now);
  /// Stops the work of a slot as of `now`, keeps the slot and its records.
  void stop(int slot, Nanoseconds now);

  // True figures at a time in the past (as far as the history goes) or at the present.
  [[nodiscard]] Mark mark_at(Nanoseconds at) const;
  [[nodiscard]] Nanoseconds capped_ns_at(Nanoseconds now) const;
  [[nodiscard]] Nanoseconds thermal_ns_at(Nanoseconds now) const;
  /// Whether a process has work on the board.
  [[nodiscard]] bool working() const;

  [[nodiscard]] const Board& board() const { return board_; }
  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const BoardStore& store() const { return store_; }

 private:
  [[nodiscard]] Point point() const;
  [[nodiscard]] Nanoseconds next_event() const;
  [[nodiscard]] double wanted_mhz() const;
  [[nodiscard]] Power power_at(double sm_mhz) const;
  [[nodiscard]] const Phase& current_phase(int slot) const;
  [[nodiscard]] int running_jobs() const;
  [[nodiscard]] double switch_latency_s(double target_mhz) const;
  void close_segment(Nanoseconds at);
  void open_segment();
  void control(bool at_tick);
  void control_memory();
  void tick(Nanoseconds at);
  void end_phase(int slot, Nanoseconds at);
  void push_mark(bool always);
  void push_clocks();
  void skip_settled_ticks(Nanoseconds now);

  const Model& model_;
  Board& board_;
  BoardStore store_;
};

/// "GPU-..." (or "MIG-..." for an instance): the same whenever the same machine is made again.
[[nodiscard]] std::string board_uuid(const Model& model, const BoardConfig& config,
                                     int mig_instance = -1);

/// A number in [0, 1) that depends on its arguments alone.
[[nodiscard]] double draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t count);
/// About normal, mean 0, standard deviation 1, within +-3.5.
[[nodiscard]] double draw_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t count);

}  // namespace ergon::sim
