// Reading GPUs at a fixed rhythm while something else runs.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ergon/gpu.hpp"
#include "ergon/meter.hpp"

namespace ergon::run {

struct SamplerOptions {
  /// Energy and power. 10 ms finds the tick of a counter that moves every 100 ms to 5 ms.
  Nanos interval_ns = 10'000'000;
  /// While an edge of a window is near: finds the ticks beside it to a millisecond.
  Nanos edge_interval_ns = 2'000'000;
  /// Clocks, throttle reasons, temperature, limit, utilization: every so many readings.
  int slow_every = 10;
  /// Copies of the readings for take_new(), so often; 0: none.
  Nanos copy_every_ns = 0;
};

/// One GPU's readings, one after another; no thread, no clock of its own.
class Poller {
 public:
  explicit Poller(gpu::Gpu& gpu, int slow_every = 10);
  /// Takes one reading. False once the GPU is lost: `failure` says why.
  bool poll();
  [[nodiscard]] const meter::Series& series() const { return series_; }
  /// The readings, without the columns that this GPU never filled.
  meter::Series take();
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// Readings that could not be true and were left out.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// Times the energy counter (without one: the power) was seen to move.
  [[nodiscard]] std::uint64_t ticks() const { return ticks_.load(std::memory_order_acquire); }
  /// How long after a moment its power shows in full: half of the averaging window where an average
  /// is all there is.
  [[nodiscard]] Nanos lag_ns() const { return lag_ns_.load(std::memory_order_acquire); }
  [[nodiscard]] gpu::Gpu& gpu() const { return gpu_; }
  /// From when on the next tick is due, by the last two; 0: not known.
  [[nodiscard]] Nanos tick_due_ns() const { return due_ns_; }

 private:
  bool timely(Nanos length, bool slow);

  gpu::Gpu& gpu_;
  int slow_every_;
  Nanos usual_ns_ = 0;  ///< how long a reading takes
  int untimely_ = 0;    ///< left out in a row
  std::uint64_t polls_ = 0;
  bool averaged_ = false;
  meter::Series series_;
  std::optional<Error> failure_;
  std::uint64_t refused_ = 0;
  std::optional<std::int64_t> last_energy_;
  std::optional<double> last_power_;
  Nanos last_tick_ns_ = 0;
  Nanos due_ns_ = 0;
  std::atomic<std::uint64_t> ticks_{0};
  std::atomic<Nanos> lag_ns_{0};
};

/// What sampling cost.
struct SamplingCost {
  Seconds cpu_time;  ///< of all sampling threads
  Seconds wall_time;
  std::uint64_t readings = 0;
  std::uint64_t late = 0;  ///< readings that came more than an interval late
};

/// Polls every GPU in a thread of its own from start() to stop(). The GPUs must not be used by
/// others meanwhile, and must outlive it.
class Sampler {
 public:
  Sampler(std::span<gpu::Gpu* const> gpus, const SamplerOptions& options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  void start();
  /// Reads at the interval of edges until `until_ns`.
  void read_finely(Nanos until_ns);
  /// Waits until every GPU's counter has moved `ticks` times from now, at most until `until_ns`.
  /// `keep_waiting` is asked every millisecond. False where the time ran out.
  bool wait_for_ticks(std::uint64_t ticks, Nanos until_ns,
                      const std::function<bool()>& keep_waiting);
  /// Waits until what was drawn so far shows in every sensor.
  void wait_for_lag(const std::function<bool()>& keep_waiting);
  /// The readings since the last call, as far as they are copied (SamplerOptions::copy_every_ns):
  /// one entry a GPU and copy, in order of time for each GPU. From any one thread; after stop() the
  /// last ones are there too.
  std::vector<meter::Series> take_new();
  /// Ends the threads. The series stand in the order of the GPUs.
  std::vector<meter::Series> stop();
  [[nodiscard]] const SamplingCost& cost() const;
  /// Of each GPU that was lost on the way.
  [[nodiscard]] std::vector<std::optional<Error>> failures() const;
  /// Readings of each GPU that could not be true.
  [[nodiscard]] std::vector<std::uint64_t> refused() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ergon::run
