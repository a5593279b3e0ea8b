// Runs and waits with the readings beside them.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ergon/gpu/machine.hpp"
#include "ergon/run/measure.hpp"
#include "strangers.hpp"

namespace ergon::run {
namespace {

constexpr Nanos kMarksEvery = 50'000'000;  ///< how often marks are taken in and the caller is asked
// An edge between two ticks is divided by the power on both sides of it: two ticks each.
constexpr std::uint64_t kTicksBefore = 3;  ///< the first reading's own tick is not known
constexpr std::uint64_t kTicksAfter = 2;

constexpr Nanos kStrangersEvery = 500'000'000;  ///< how often other programs are looked for

// A tick that holds an edge ends within this time after it.
constexpr Nanos kEdge = 150'000'000;

}  // namespace

struct Observation::Impl {
  std::vector<gpu::Gpu*> gpus;
  std::vector<gpu::Gpu*> sensors;      ///< one GPU a sensor
  std::vector<std::size_t> sensor_of;  ///< of each GPU
  ObserveOptions options;
  std::unique_ptr<Sampler> sampler;
  bool warmed_up = false;
  int interrupted = 0;

  bool wait_for_ticks(std::uint64_t ticks) {
    if (sensors.empty()) return false;
    const Nanos limit = options.align_limit_ns * static_cast<Nanos>(ticks);
    const Nanos now = gpu::monotonic_now();
    sampler->read_finely(now + limit + kEdge);
    const bool seen = sampler->wait_for_ticks(ticks, now + limit, options.keep_going);
    sampler->read_finely(gpu::monotonic_now() + kEdge);
    return seen;
  }
  // Whether the next window starts just after a tick.
  bool align_start() {
    if (!options.align) return false;
    const std::uint64_t ticks = warmed_up ? 1 : kTicksBefore;
    warmed_up = true;
    return wait_for_ticks(ticks);
  }
  void align_end() {
    if (!options.align) return;
    wait_for_ticks(kTicksAfter);
    sampler->wait_for_lag(options.keep_going);
  }
  std::optional<Strangers> strangers;
  std::set<std::int64_t> ours;  ///< processes of earlier runs
  Nanos next_look_ns = 0;
  void watch_for_strangers(std::int64_t root, bool group) {
    strangers.emplace(sensors, root, group);
    strangers->know(ours);
    strangers->look();
    next_look_ns = gpu::monotonic_now() + kStrangersEvery;
  }
  std::vector<Stranger> strangers_found(std::optional<bool> had_children) {
    if (!strangers) return {};
    strangers->last_look(had_children);
    auto found = strangers->found();
    ours = strangers->ours();
    strangers.reset();
    return found;
  }
  bool look() {
    if (strangers && gpu::monotonic_now() >= next_look_ns) {
      strangers->look();
      next_look_ns = gpu::monotonic_now() + kStrangersEvery;
    }
    if (options.regions != nullptr) options.regions->drain();
    return options.keep_going();
  }
};

Observation::Observation(std::span<gpu::Gpu* const> gpus, const ObserveOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  std::map<std::string, std::size_t> owners;
  for (gpu::Gpu* gpu : gpus) {
    impl_->gpus.push_back(gpu);
    const auto [at, is_new] = owners.emplace(gpu->identity().sensor_owner(), impl_->sensors.size());
    if (is_new) impl_->sensors.push_back(gpu);
    impl_->sensor_of.push_back(at->second);
  }
  impl_->sampler = std::make_unique<Sampler>(impl_->sensors, options.sampling);
}

Observation::~Observation() = default;

void Observation::open() { impl_->sampler->start(); }

Result<RunRecord> Observation::run(const Program& program, Signals* signals) {
  RunRecord record;
  record.aligned = impl_->align_start();
  sigset_t none;
  sigemptyset(&none);
  record.window.start_ns = gpu::monotonic_now();
  ERGON_TRY(Child child, Child::start(program, signals == nullptr ? none : signals->before()));
  impl_->watch_for_strangers(child.pid(), program.own_group);
  const Ending ending = wait_for(child, signals, kMarksEvery, [this] { return impl_->look(); });
  record.ending = ending;
  record.window.end_ns = ending.at_ns;
  record.strangers = impl_->strangers_found(ending.had_children);
  if (impl_->options.regions != nullptr) record.marks = impl_->options.regions->take(ending.at_ns);
  impl_->align_end();
  return record;
}

RunRecord Observation::watch(const Watched* watched, Nanos length_ns, Signals* signals) {
  RunRecord record;
  record.aligned = impl_->align_start();
  record.window.start_ns = gpu::monotonic_now();
  constexpr Nanos kForEver = INT64_MAX;
  const Nanos until = length_ns > 0 ? record.window.start_ns + length_ns : kForEver;
  if (watched != nullptr) impl_->watch_for_strangers(watched->pid(), false);
  Nanos next = record.window.start_ns;
  while (next < until) {
    const Nanos step = until - next > kMarksEvery ? next + kMarksEvery : until;
    if (const auto caught = wait_until(step, watched, signals, kMarksEvery, [] {})) {
      impl_->interrupted = caught->number;
      break;
    }
    if ((watched != nullptr && watched->ended()) || !impl_->look()) break;
    next = step;
  }
  record.window.end_ns = gpu::monotonic_now();
  record.strangers = impl_->strangers_found(std::nullopt);
  if (impl_->options.regions != nullptr)
    record.marks = impl_->options.regions->take(record.window.end_ns);
  impl_->align_end();
  return record;
}

RunRecord Observation::rest(Nanos length_ns, Signals* signals) {
  return watch(nullptr, std::max<Nanos>(length_ns, 1), signals);
}

int Observation::interrupted_by() const { return impl_->interrupted; }

std::vector<meter::Series> Observation::take_new() { return impl_->sampler->take_new(); }

Observation::Readings Observation::close() {
  Readings out;
  const auto series = impl_->sampler->stop();
  const auto failures = impl_->sampler->failures();
  const auto refused = impl_->sampler->refused();
  out.cost = impl_->sampler->cost();
  for (std::size_t i = 0; i < impl_->gpus.size(); ++i) {
    out.series.push_back(series[impl_->sensor_of[i]]);
    out.series.back().gpu = impl_->gpus[i]->identity().id;
    out.refused.push_back(refused[impl_->sensor_of[i]]);
    const meter::Series& read = out.series.back();
    const bool nothing =
        !read.has(read.energy_j) && !read.has(read.power_w) && !read.has(read.average_power_w);
    if (nothing) out.series.back().refused = out.refused.back();
    out.failures.push_back(failures[impl_->sensor_of[i]]);
  }
  return out;
}

}  // namespace ergon::run
