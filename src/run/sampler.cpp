// Polling GPUs; one thread a GPU, so that a slow one delays no other.
#include "ergon/run/sampler.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <thread>
#include <utility>

#include "ergon/gpu/machine.hpp"

namespace ergon::run {
namespace {

constexpr Nanos kDueEarly = 3'000'000;

Nanos thread_cpu() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return Nanos{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// The readings from the first-th on.
meter::Series part_of(const meter::Series& all, std::size_t first) {
  meter::Series part;
  part.gpu = all.gpu;
  const auto copy = [&](const auto& from, auto& to) {
    if (from.size() == all.size())
      to.assign(from.begin() + static_cast<std::ptrdiff_t>(first), from.end());
  };
  copy(all.time_ns, part.time_ns);
  copy(all.power_w, part.power_w);
  copy(all.average_power_w, part.average_power_w);
  copy(all.energy_j, part.energy_j);
  copy(all.clock_hz, part.clock_hz);
  copy(all.memory_clock_hz, part.memory_clock_hz);
  copy(all.temperature_c, part.temperature_c);
  copy(all.power_limit_w, part.power_limit_w);
  copy(all.utilization, part.utilization);
  copy(all.throttle, part.throttle);
  return part;
}

void sleep_until(Nanos at) {
  const timespec t{.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

}  // namespace

Poller::Poller(gpu::Gpu& gpu, int slow_every) : gpu_(gpu), slow_every_(std::max(slow_every, 1)) {
  // A one-second average is another kind of figure than a value of the moment.
  if (const auto source = gpu.power_source()) {
    averaged_ = source->documented_average && source->documented_average->si() >= 0.5;
  }
  series_.gpu = gpu.identity().id;
}

bool Poller::poll() {
  if (failure_) return false;
  const bool slow = polls_++ % static_cast<std::uint64_t>(slow_every_) == 0;
  gpu::Fields fields;
  fields.clocks = fields.throttle = fields.temperature = fields.utilization = slow;
  fields.power_limit = slow;
  auto sample = gpu_.sample(fields);
  if (!sample) {
    failure_ = std::move(sample).error();
    return false;
  }
  if (!timely(sample->end_ns - sample->begin_ns, slow)) return true;
  refused_ += static_cast<std::uint64_t>(sample->refused);
  const auto put = [](std::vector<double>& column, const std::optional<double>& value) {
    column.push_back(value.value_or(meter::kMissing));
  };
  // Readings never go back, whatever the reader's clock does.
  Nanos at = sample->begin_ns + (sample->end_ns - sample->begin_ns) / 2;
  if (!series_.time_ns.empty()) at = std::max(at, series_.time_ns.back());
  series_.time_ns.push_back(at);
  std::optional<double> joules;
  if (sample->energy_uj) joules = static_cast<double>(*sample->energy_uj) * 1e-6;
  put(series_.energy_j, joules);
  put(averaged_ ? series_.average_power_w : series_.power_w, sample->power_w);
  put(series_.clock_hz, sample->core_hz);
  put(series_.memory_clock_hz, sample->memory_hz);
  put(series_.temperature_c, sample->temperature_c);
  put(series_.power_limit_w, sample->power_limit_w);
  put(series_.utilization, sample->utilization);
  series_.throttle.push_back(sample->throttle_bits);

  bool moved = false;
  if (sample->energy_uj) {
    moved = last_energy_ && *last_energy_ != *sample->energy_uj;
    last_energy_ = sample->energy_uj;
  } else if (!last_energy_ && sample->power_w) {
    moved = last_power_ && *last_power_ != *sample->power_w;
    last_power_ = sample->power_w;
  }
  // Half a second for the middle of the average, and two periods until it is renewed.
  constexpr Nanos kAverageLag = 700'000'000;
  lag_ns_.store(averaged_ && !last_energy_ ? kAverageLag : 0, std::memory_order_release);
  if (moved) {
    // A tenth of the period and a reading before it could come.
    const Nanos period = at - last_tick_ns_;
    due_ns_ = last_tick_ns_ > 0 ? at + period - period / 10 - kDueEarly : 0;
    last_tick_ns_ = at;
    ticks_.fetch_add(1, std::memory_order_acq_rel);
  }
  return true;
}

// A reading during which this thread was kept waiting tells a value of no known moment: it is left
// out. Calls that are always slow are not.
bool Poller::timely(Nanos length, bool slow) {
  constexpr Nanos kShort = 1'000'000;
  constexpr int kInARow = 3;
  if (slow || usual_ns_ == 0 || length <= std::max(kShort, 3 * usual_ns_) || untimely_ >= kInARow) {
    if (!slow)
      usual_ns_ = usual_ns_ == 0 || untimely_ >= kInARow ? length : (7 * usual_ns_ + length) / 8;
    untimely_ = 0;
    return true;
  }
  ++untimely_;
  return false;
}

meter::Series Poller::take() {
  for (auto* column : {&series_.energy_j, &series_.power_w, &series_.average_power_w,
                       &series_.clock_hz, &series_.memory_clock_hz, &series_.temperature_c,
                       &series_.power_limit_w, &series_.utilization}) {
    if (std::ranges::all_of(*column, meter::is_missing)) column->clear();
  }
  return std::move(series_);
}

struct Sampler::Impl {
  SamplerOptions options;
  std::vector<std::unique_ptr<Poller>> pollers;
  std::vector<std::jthread> threads;
  std::mutex mutex;
  std::vector<meter::Series> copies;
  SamplingCost cost;
  Nanos started_ns = 0;
  std::atomic<Nanos> fine_until_ns{0};
  std::atomic<std::uint32_t> over{0};  ///< 1 once the readings end; a futex

  ~Impl() { end(); }
  void end() {
    for (auto& thread : threads) thread.request_stop();
    over.store(1, std::memory_order_release);
    ::syscall(SYS_futex, &over, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
    threads.clear();  // joins
  }
  // Until then, or until the readings end: nobody waits for a thread that sleeps. The cheapest
  // sleep there is: it is half of what a reading costs.
  void rest_until(Nanos at) {
    const timespec t{.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
    ::syscall(SYS_futex, &over, FUTEX_WAIT_BITSET_PRIVATE, 0, &t, nullptr, FUTEX_BITSET_MATCH_ANY);
  }

  void copy_new(const Poller& poller, std::size_t& copied) {
    if (poller.series().size() == copied) return;
    auto part = part_of(poller.series(), copied);
    copied = poller.series().size();
    const std::lock_guard lock(mutex);
    copies.push_back(std::move(part));
  }

  void run(const std::stop_token& stop, Poller& poller) {
    std::size_t copied = 0;
    Nanos copy_at = gpu::monotonic_now() + options.copy_every_ns;
    std::uint64_t readings = 0;
    std::uint64_t late = 0;
    Nanos next = gpu::monotonic_now();
    while (!stop.stop_requested()) {
      if (!poller.poll()) break;
      ++readings;
      const Nanos now = gpu::monotonic_now();
      if (options.copy_every_ns > 0 && now >= copy_at) {
        copy_new(poller, copied);
        copy_at = now + options.copy_every_ns;
      }
      Nanos interval = options.interval_ns;
      if (now < fine_until_ns.load(std::memory_order_relaxed)) {
        const Nanos until_due = poller.tick_due_ns() - now;
        interval = std::min(interval, std::max(options.edge_interval_ns, until_due));
      }
      next += interval;
      if (now >= next) {
        // Late: the rhythm starts anew, readings are not made up for.
        late += now >= next + options.interval_ns ? 1 : 0;
        next = now + interval;
      }
      rest_until(next);
    }
    if (options.copy_every_ns > 0) copy_new(poller, copied);
    const std::lock_guard lock(mutex);
    cost.cpu_time += to_seconds(thread_cpu());
    cost.readings += readings;
    cost.late += late;
  }
};

Sampler::Sampler(std::span<gpu::Gpu* const> gpus, const SamplerOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  for (gpu::Gpu* gpu : gpus)
    impl_->pollers.push_back(std::make_unique<Poller>(*gpu, options.slow_every));
}

Sampler::~Sampler() = default;

void Sampler::start() {
  impl_->started_ns = gpu::monotonic_now();
  for (auto& poller : impl_->pollers) {
    impl_->threads.emplace_back([impl = impl_.get(), p = poller.get()](
                                    const std::stop_token& stop) { impl->run(stop, *p); });
  }
}

void Sampler::read_finely(Nanos until_ns) {
  impl_->fine_until_ns.store(until_ns, std::memory_order_relaxed);
}

bool Sampler::wait_for_ticks(std::uint64_t ticks, Nanos until_ns,
                             const std::function<bool()>& keep_waiting) {
  std::vector<std::uint64_t> before;
  before.reserve(impl_->pollers.size());
  for (const auto& poller : impl_->pollers) before.push_back(poller->ticks());
  constexpr Nanos kStep = 1'000'000;
  while (keep_waiting()) {
    bool all = true;
    for (std::size_t i = 0; i < impl_->pollers.size(); ++i)
      all = all && impl_->pollers[i]->ticks() >= before[i] + ticks;
    if (all) return true;
    const Nanos now = gpu::monotonic_now();
    if (now >= until_ns) return false;
    sleep_until(std::min(until_ns, now + kStep));
  }
  return false;
}

void Sampler::wait_for_lag(const std::function<bool()>& keep_waiting) {
  Nanos lag = 0;
  for (const auto& poller : impl_->pollers) lag = std::max(lag, poller->lag_ns());
  const Nanos until = gpu::monotonic_now() + lag;
  constexpr Nanos kLagStep = 50'000'000;
  for (Nanos now = gpu::monotonic_now(); now < until && keep_waiting(); now = gpu::monotonic_now())
    sleep_until(std::min(until, now + kLagStep));
}

std::vector<meter::Series> Sampler::take_new() {
  const std::lock_guard lock(impl_->mutex);
  return std::exchange(impl_->copies, {});
}

std::vector<meter::Series> Sampler::stop() {
  impl_->end();
  impl_->cost.wall_time = to_seconds(gpu::monotonic_now() - impl_->started_ns);
  std::vector<meter::Series> all;
  for (auto& poller : impl_->pollers) all.push_back(poller->take());
  return all;
}

const SamplingCost& Sampler::cost() const { return impl_->cost; }

std::vector<std::optional<Error>> Sampler::failures() const {
  std::vector<std::optional<Error>> all;
  for (const auto& poller : impl_->pollers) all.push_back(poller->failure());
  return all;
}

std::vector<std::uint64_t> Sampler::refused() const {
  std::vector<std::uint64_t> all;
  for (const auto& poller : impl_->pollers) all.push_back(poller->refused());
  return all;
}

}  // namespace ergon::run
