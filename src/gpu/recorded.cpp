// Readings that play as GPUs, and a canonical CSV that holds such: at each moment the last row
// before it holds.
#include "recorded.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ergon/io.hpp"

namespace ergon::gpu {
namespace {

enum Column : std::size_t {
  kPower,
  kEnergy,
  kCoreClock,
  kMemoryClock,
  kLimit,
  kTemperature,
  kUtilization,
  kMemoryPower,
  kThrottle,
  kColumns
};
constexpr std::array<const char*, kColumns> kNames = {
    "power_w",       "energy_j",    "clock_hz",       "memory_clock_hz", "power_limit_w",
    "temperature_c", "utilization", "memory_power_w", "throttle_reasons"};

struct Row {
  Nanos at_ns = 0;
  std::array<std::optional<double>, kColumns> cells;
};

class RecordedGpu final : public Gpu {
 public:
  /// `offset_ns`: recorded time minus time of `now`.
  RecordedGpu(Identity identity, std::vector<Row> rows, bool averaged, TimeSource now,
              Nanos offset_ns)
      : identity_(std::move(identity)),
        rows_(std::move(rows)),
        averaged_(averaged),
        now_(std::move(now)),
        offset_ns_(offset_ns) {}

  [[nodiscard]] const Identity& identity() const override { return identity_; }

  Result<Sample> sample(const Fields& fields) override {
    Sample sample;
    sample.begin_ns = now_();
    ERGON_TRY(const Row* row, row_at(sample.begin_ns));
    const auto& cells = row->cells;
    if (fields.energy) sample.energy_uj = microjoules(cells[kEnergy]);
    if (fields.power) sample.power_w = cells[kPower];
    if (fields.memory_power) sample.memory_power_w = cells[kMemoryPower];
    if (fields.clocks) {
      sample.core_hz = cells[kCoreClock];
      sample.memory_hz = cells[kMemoryClock];
    }
    if (fields.temperature) sample.temperature_c = cells[kTemperature];
    if (fields.utilization) sample.utilization = cells[kUtilization];
    if (fields.power_limit) sample.power_limit_w = cells[kLimit];
    if (fields.throttle && cells[kThrottle])
      sample.throttle_bits = static_cast<std::uint64_t>(*cells[kThrottle]);
    sample.end_ns = now_();
    return sample;
  }

  Result<EnergyReading> energy() override {
    const Nanos begin = now_();
    ERGON_TRY(const double joules, cell(kEnergy));
    return EnergyReading{*microjoules(joules), begin, now_()};
  }
  Result<Watts> power(Scope scope, PowerKind kind) override {
    if (scope == Scope::kModule || kind != PowerKind::kUsage) {
      return fail(Errc::kUnsupported,
                  std::string("a recorded run holds no ") + to_string(kind) + " power of the " +
                      to_string(scope),
                  "its power_w is one figure, whose averaging nobody wrote down");
    }
    ERGON_TRY(const double watts, cell(scope == Scope::kMemory ? kMemoryPower : kPower));
    return Watts(watts);
  }
  Result<PowerSource> power_source() override {
    if (!any(kPower)) return missing(kPower);
    const auto average = averaged_ ? std::optional(Seconds(1)) : std::nullopt;
    return PowerSource{Scope::kGpu, PowerKind::kUsage, average, "power of a recorded run"};
  }
  Result<Scope> energy_scope() override { return Scope::kGpu; }
  Result<Hertz> clock(Domain domain) override {
    ERGON_TRY(const double hertz, cell(domain == Domain::kCore ? kCoreClock : kMemoryClock));
    return Hertz(hertz);
  }
  Result<Throttle> throttle() override {
    ERGON_TRY(const double bits, cell(kThrottle));
    return Throttle{static_cast<std::uint64_t>(bits)};
  }
  Result<std::vector<ThrottleCounter>> throttle_counters() override {
    return fail(Errc::kUnsupported, "a recorded run holds no throttle counters");
  }
  Result<double> temperature_c() override { return cell(kTemperature); }
  Result<PowerLimits> power_limits() override {
    ERGON_TRY(const double watts, cell(kLimit));
    return PowerLimits{Watts(watts), {}, {}, {}, {}};
  }
  Result<Mig> mig() override { return fail(Errc::kUnsupported, "a recorded run knows no MIG"); }
  Result<std::vector<Process>> processes() override {
    return fail(Errc::kUnsupported, "a recorded run knows no processes");
  }
  Result<std::vector<Hertz>> supported_clocks(Domain /*domain*/,
                                              std::optional<Hertz> /*at_memory*/) override {
    return fail(Errc::kUnsupported, "a recorded run does not say which clocks can be set");
  }
  Result<Hertz> maximum_clock(Domain /*domain*/) override {
    return fail(Errc::kUnsupported, "a recorded run does not say which clocks can be set");
  }
  Status lock_clocks(Domain /*domain*/, Hertz /*low*/, Hertz /*high*/) override {
    return no_control();
  }
  Status reset_clocks(Domain /*domain*/) override { return no_control(); }
  Status set_power_limit(Watts /*limit*/) override { return no_control(); }
  Status probe_control() override { return no_control(); }

 private:
  static std::optional<std::int64_t> microjoules(std::optional<double> joules) {
    if (!joules) return std::nullopt;
    return std::llround(*joules * 1e6);
  }
  static Status no_control() {
    return fail(Errc::kUnsupported, "a recorded run cannot be given other clocks or limits",
                "use a GPU, or a simulated one: --gpu sim:a100");
  }
  static tl::unexpected<Error> missing(Column column) {
    return fail(Errc::kUnsupported,
                std::string("the recorded run holds no ") + kNames[column] + " here");
  }
  [[nodiscard]] bool any(Column column) const {
    return std::ranges::any_of(rows_,
                               [&](const Row& row) { return row.cells[column].has_value(); });
  }

  Result<const Row*> row_at(Nanos now) const {
    const Nanos at = now + offset_ns_;
    if (at > rows_.back().at_ns) {
      return fail(Errc::kDevice,
                  "the recorded run of GPU " + identity_.id + " is over after " +
                      std::to_string((rows_.back().at_ns - rows_.front().at_ns) / 1'000'000'000) +
                      " s",
                  "measure for a shorter time than was recorded");
    }
    auto after = std::ranges::upper_bound(rows_, at, {}, &Row::at_ns);
    if (after == rows_.begin()) ++after;
    return &*std::prev(after);
  }
  Result<double> cell(Column column) const {
    ERGON_TRY(const Row* row, row_at(now_()));
    if (!row->cells[column]) return missing(column);
    return *row->cells[column];
  }

  Identity identity_;
  std::vector<Row> rows_;
  bool averaged_;
  TimeSource now_;
  Nanos offset_ns_;
};

constexpr const char* kHowMade =
    "a run file (ergon measure -o FILE.db), or a power log made canonical (ergon import LOG -o "
    "FILE.csv)";

// A recording that is to play; the rows in order of time.
struct Track {
  Identity identity;
  std::vector<Row> rows = {};
  bool averaged = false;
};

Result<Machine> machine_of(std::vector<Track> tracks, const std::string& file,
                           const Options& options) {
  std::erase_if(tracks, [](const Track& track) { return track.rows.empty(); });
  if (tracks.empty()) {
    return fail(Errc::kMalformedInput, "'" + file + "' holds no sample: it cannot be played",
                kHowMade);
  }
  Machine machine;
  Nanos first = tracks.front().rows.front().at_ns;
  for (Track& track : tracks) {
    std::ranges::stable_sort(track.rows, {}, &Row::at_ns);
    first = std::min(first, track.rows.front().at_ns);
  }
  const Nanos offset = first - options.now();
  for (Track& track : tracks) {
    track.identity.index = static_cast<int>(machine.gpus.size());
    track.identity.recorded = true;
    machine.gpus.push_back(std::make_unique<RecordedGpu>(
        std::move(track.identity), std::move(track.rows), track.averaged, options.now, offset));
  }
  return machine;
}

Identity recorded_identity(const std::string& id) {
  Identity identity;
  identity.id = id;
  identity.uuid = id.starts_with("GPU-") ? id : "recorded-" + id;
  identity.name = "recorded run";
  return identity;
}

std::optional<double> number(const std::string& text) {
  return text.empty() ? std::nullopt : io::parse_double(text);
}

}  // namespace

Result<Machine> open_recorded(const std::string& file, const Options& options) {
  ERGON_TRY(const auto source, io::open_source(file));
  ERGON_TRY(const std::string text, io::read_all(*source));
  ERGON_TRY(const auto table, io::parse_csv(text));
  const auto column = [&](const std::string& name) -> std::optional<std::size_t> {
    const auto at = std::ranges::find(table.header, name);
    if (at == table.header.end()) return std::nullopt;
    return static_cast<std::size_t>(at - table.header.begin());
  };
  const std::string make = kHowMade;
  const auto time = column("time_s");
  if (!time) {
    return fail(Errc::kMalformedInput, "'" + file + "' has no column time_s: it cannot be played",
                make);
  }
  const auto gpu = column("gpu");
  std::array<std::optional<std::size_t>, kColumns> places;
  for (std::size_t c = 0; c < kColumns; ++c) places[c] = column(kNames[c]);

  std::vector<std::string> ids;  // in order of first appearance
  std::map<std::string, std::vector<Row>> rows;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& cells = table.rows[r];
    const auto seconds = number(cells[*time]);
    if (!seconds || *seconds < 0 || *seconds > 1e9) {
      return fail(Error{.code = Errc::kMalformedInput,
                        .message = "'" + file + "': time_s is '" + cells[*time] + "'",
                        .hint = make,
                        .line = table.lines[r]});
    }
    Row row{.at_ns = std::llround(*seconds * 1e9), .cells = {}};
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (places[c]) row.cells[c] = number(cells[*places[c]]);
    }
    const std::string id = gpu && !cells[*gpu].empty() ? cells[*gpu] : "0";
    if (!rows.contains(id)) ids.push_back(id);
    rows[id].push_back(row);
  }
  std::vector<Track> tracks;
  tracks.reserve(ids.size());
  for (const auto& id : ids)
    tracks.push_back({.identity = recorded_identity(id), .rows = std::move(rows[id])});
  return machine_of(std::move(tracks), file, options);
}

Result<Machine> play(const std::vector<Recording>& recordings, const std::string& file,
                     const Options& options) {
  std::vector<Track> tracks;
  for (const Recording& recording : recordings) {
    Track track{.identity = recorded_identity(recording.id), .averaged = recording.averaged};
    if (!recording.uuid.empty()) track.identity.uuid = recording.uuid;
    if (!recording.name.empty()) track.identity.name = recording.name;
    track.identity.simulated = recording.simulated;
    for (const Sample& sample : recording.samples) {
      Row row{.at_ns = sample.begin_ns, .cells = {}};
      if (sample.energy_uj) row.cells[kEnergy] = static_cast<double>(*sample.energy_uj) * 1e-6;
      row.cells[kPower] = sample.power_w;
      row.cells[kCoreClock] = sample.core_hz;
      row.cells[kMemoryClock] = sample.memory_hz;
      row.cells[kLimit] = sample.power_limit_w;
      row.cells[kTemperature] = sample.temperature_c;
      row.cells[kUtilization] = sample.utilization;
      row.cells[kMemoryPower] = sample.memory_power_w;
      if (sample.throttle_bits) row.cells[kThrottle] = static_cast<double>(*sample.throttle_bits);
      track.rows.push_back(row);
    }
    tracks.push_back(std::move(track));
  }
  return machine_of(std::move(tracks), file, options);
}

}  // namespace ergon::gpu
