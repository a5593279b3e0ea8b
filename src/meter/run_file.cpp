// Writing and opening run files.
#include "ergon/meter/run_file.hpp"

#include <filesystem>

#include "run_file_impl.hpp"

namespace ergon::meter {
namespace {

// "ERGN", so that `file` and we know the kind; user_version is the schema's version.
constexpr std::int64_t kApplicationId = 0x4552474e;
constexpr std::int64_t kVersion = 1;

// Documented in docs/formats/run_file.md. NULL is unknown.
constexpr const char* kSchema = R"sql(
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE devices (
  id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT, uuid TEXT, pci TEXT, driver TEXT,
  origin TEXT NOT NULL, power_limit_w REAL, update_period_s REAL, averaging_window_s REAL,
  energy_tick_s REAL) WITHOUT ROWID;
CREATE TABLE points (
  id INTEGER PRIMARY KEY, order_index INTEGER NOT NULL, baseline INTEGER NOT NULL,
  asked_clock_hz REAL, asked_memory_clock_hz REAL, asked_power_limit_w REAL,
  clock_hz REAL, memory_clock_hz REAL, power_limit_w REAL,
  state TEXT NOT NULL, valid INTEGER, reason TEXT);
CREATE TABLE parameters (
  point INTEGER NOT NULL REFERENCES points(id), position INTEGER NOT NULL, name TEXT NOT NULL,
  value TEXT NOT NULL, PRIMARY KEY (point, position)) WITHOUT ROWID;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, point INTEGER REFERENCES points(id), repeat INTEGER NOT NULL,
  warmup INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  start_utc_ns INTEGER, exit_status INTEGER);
CREATE TABLE figures (
  run INTEGER NOT NULL REFERENCES runs(id), name TEXT NOT NULL, value REAL,
  PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE energies (
  run INTEGER NOT NULL REFERENCES runs(id), device TEXT NOT NULL REFERENCES devices(id),
  energy_j REAL, energy_low_j REAL, energy_high_j REAL,
  above_idle_j REAL, above_idle_low_j REAL, above_idle_high_j REAL,
  counter_j REAL, trapezoid_j REAL, why_unknown TEXT, coverage REAL, disagreement REAL,
  clock_hz REAL, memory_clock_hz REAL, temperature_c REAL, throttled INTEGER, throttle_bits INTEGER,
  PRIMARY KEY (run, device)) WITHOUT ROWID;
CREATE TABLE regions (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id), device TEXT NOT NULL,
  name TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  energy_j REAL, energy_low_j REAL, energy_high_j REAL, why_unknown TEXT);
CREATE TABLE samples (
  device TEXT NOT NULL REFERENCES devices(id), time_ns INTEGER NOT NULL,
  power_w REAL, average_power_w REAL, energy_j REAL, clock_hz REAL, memory_clock_hz REAL,
  temperature_c REAL, power_limit_w REAL, utilization REAL, throttle_bits INTEGER,
  PRIMARY KEY (device, time_ns)) WITHOUT ROWID;
)sql";

Statement& bind(Statement& s, const std::optional<Estimate>& e) {
  if (!e) return s.bind_null().bind_null().bind_null();
  return s.bind(e->value).bind(e->low).bind(e->high);
}

std::optional<std::int64_t> bits(const std::optional<std::uint64_t>& value) {
  if (!value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

Status put_fact(Database& db, const std::string& name, const std::string& value) {
  ERGON_TRY(auto s, db.prepare("INSERT OR REPLACE INTO facts VALUES (?,?)"));
  s.bind(name).bind(value);
  ERGON_TRY([[maybe_unused]] const bool row, s.step());
  return {};
}

Status put_parameters(Database& db, const StoredPoint& point) {
  ERGON_TRY(auto s, db.prepare("INSERT INTO parameters VALUES (?,?,?,?)"));
  std::int64_t position = 0;
  for (const auto& [name, value] : point.parameters) {
    s.reset();
    s.bind(point.id).bind(position++).bind(name).bind(value);
    ERGON_TRY([[maybe_unused]] const bool row, s.step());
  }
  return {};
}

}  // namespace

RunFile::RunFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunFile::RunFile(RunFile&&) noexcept = default;
RunFile& RunFile::operator=(RunFile&&) noexcept = default;
RunFile::~RunFile() = default;

bool RunFile::looks_like(std::string_view head) {
  return head.starts_with(std::string_view("SQLite format 3\0", 16));
}

Result<RunFile> RunFile::create(const std::string& path, const Provenance& provenance) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return fail(Errc::kIo, "'" + path + "' is there already",
                "name another file, or remove this one");
  }
  ERGON_TRY(auto db, Database::open(path, Database::Mode::kCreate));
  auto impl = std::make_unique<Impl>(Impl{std::move(db)});
  Database& d = impl->database;
  ERGON_TRY_STATUS(d.run(("PRAGMA application_id=" + std::to_string(kApplicationId)).c_str()));
  ERGON_TRY(auto transaction, Transaction::begin(d));
  ERGON_TRY_STATUS(d.run(kSchema));
  ERGON_TRY_STATUS(d.run(("PRAGMA user_version=" + std::to_string(kVersion)).c_str()));
  ERGON_TRY_STATUS(put_fact(d, "schema", "ergon.run/1"));
  ERGON_TRY_STATUS(put_fact(d, "kind", provenance.kind));
  ERGON_TRY_STATUS(put_fact(d, "ergon_version", provenance.ergon_version));
  ERGON_TRY_STATUS(put_fact(d, "command_line", provenance.command_line));
  if (!provenance.created_utc.empty()) {
    ERGON_TRY_STATUS(put_fact(d, "created_utc", provenance.created_utc));
  }
  for (const auto& [name, value] : provenance.more) ERGON_TRY_STATUS(put_fact(d, name, value));
  ERGON_TRY_STATUS(transaction.commit());
  return RunFile(std::move(impl));
}

Result<RunFile> RunFile::open(const std::string& path, bool writable) {
  // A writer that was killed in the middle of a write leaves a journal; undoing that write takes
  // the right to write.
  std::error_code unknown;
  const bool undo = !writable && std::filesystem::exists(path + "-journal", unknown);
  if (undo) {
    if (auto undone = Database::open(path, Database::Mode::kWrite)) {
      if (auto look = undone->prepare("PRAGMA user_version")) static_cast<void>(look->step());
    }
  }
  ERGON_TRY(auto db,
            Database::open(path, writable ? Database::Mode::kWrite : Database::Mode::kRead));
  auto impl = std::make_unique<Impl>(Impl{std::move(db)});
  const auto pragma = [&](const char* sql) -> Result<std::int64_t> {
    ERGON_TRY(auto s, impl->database.prepare(sql));
    ERGON_TRY(const bool row, s.step());
    return row ? s.integer(0) : 0;
  };
  const auto id = pragma("PRAGMA application_id");
  if (!id) {
    return fail(Errc::kMalformedInput, "'" + path + "' is no run file: " + id.error().message,
                "ergon measure and ergon sweep write run files");
  }
  if (*id != kApplicationId) {
    return fail(Errc::kMalformedInput, "'" + path + "' is a SQLite file, but no run file",
                "ergon measure and ergon sweep write run files");
  }
  ERGON_TRY(const std::int64_t version, pragma("PRAGMA user_version"));
  if (version > kVersion) {
    return fail(
        Errc::kMalformedInput,
        "'" + path + "' has version " + std::to_string(version) + " of the run file's schema",
        "this ergon knows version " + std::to_string(kVersion) + "; use a newer one");
  }
  return RunFile(std::move(impl));
}

Status RunFile::set_fact(const std::string& name, const std::string& value) {
  return put_fact(impl_->database, name, value);
}

Status RunFile::add_device(const StoredDevice& device) {
  ERGON_TRY(auto s, impl_->database.prepare(
                        "INSERT OR REPLACE INTO devices VALUES (?,?,?,?,?,?,?,?,?,?,?)"));
  s.bind(device.id).bind(device.kind).bind(device.name).bind(device.uuid).bind(device.pci);
  s.bind(device.driver).bind(std::string(to_string(device.origin))).bind(device.power_limit_w);
  s.bind(device.update_period_s).bind(device.averaging_window_s).bind(device.energy_tick_s);
  ERGON_TRY([[maybe_unused]] const bool row, s.step());
  return {};
}

Result<std::int64_t> RunFile::add_point(const StoredPoint& point) {
  Database& d = impl_->database;
  ERGON_TRY(auto transaction, Transaction::begin(d));
  ERGON_TRY(auto s, d.prepare("INSERT INTO points (order_index, baseline, asked_clock_hz, "
                              "asked_memory_clock_hz, asked_power_limit_w, clock_hz, "
                              "memory_clock_hz, power_limit_w, state, valid, reason) "
                              "VALUES (?,?,?,?,?,?,?,?,?,?,?)"));
  s.bind(point.order_index).bind(point.baseline).bind(point.asked_clock_hz);
  s.bind(point.asked_memory_clock_hz).bind(point.asked_power_limit_w).bind(point.clock_hz);
  s.bind(point.memory_clock_hz).bind(point.power_limit_w).bind(point.state).bind(point.valid);
  s.bind(point.reason);
  ERGON_TRY([[maybe_unused]] const bool row, s.step());
  StoredPoint stored = point;
  stored.id = d.last_id();
  ERGON_TRY_STATUS(put_parameters(d, stored));
  ERGON_TRY_STATUS(transaction.commit());
  return stored.id;
}

Status RunFile::update_point(const StoredPoint& point) {
  Database& d = impl_->database;
  ERGON_TRY(auto s, d.prepare("UPDATE points SET order_index=?, baseline=?, asked_clock_hz=?, "
                              "asked_memory_clock_hz=?, asked_power_limit_w=?, clock_hz=?, "
                              "memory_clock_hz=?, power_limit_w=?, state=?, valid=?, reason=? "
                              "WHERE id=?"));
  s.bind(point.order_index).bind(point.baseline).bind(point.asked_clock_hz);
  s.bind(point.asked_memory_clock_hz).bind(point.asked_power_limit_w).bind(point.clock_hz);
  s.bind(point.memory_clock_hz).bind(point.power_limit_w).bind(point.state).bind(point.valid);
  s.bind(point.reason).bind(point.id);
  ERGON_TRY([[maybe_unused]] const bool row, s.step());
  return {};
}

Result<std::int64_t> RunFile::add_run(const StoredRun& run) {
  Database& d = impl_->database;
  ERGON_TRY(auto transaction, Transaction::begin(d));
  ERGON_TRY(auto s, d.prepare("INSERT INTO runs (point, repeat, warmup, start_ns, end_ns, "
                              "start_utc_ns, exit_status) VALUES (?,?,?,?,?,?,?)"));
  s.bind(run.point).bind(run.repeat).bind(run.warmup).bind(run.window.start_ns);
  s.bind(run.window.end_ns).bind(run.start_utc_ns);
  run.exit_status ? s.bind(std::int64_t{*run.exit_status}) : s.bind_null();
  ERGON_TRY([[maybe_unused]] const bool row, s.step());
  const std::int64_t id = d.last_id();
  ERGON_TRY(auto e, d.prepare("INSERT INTO energies VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  for (const StoredEnergy& energy : run.energies) {
    e.reset();
    bind(bind(e.bind(id).bind(energy.device), energy.energy_j), energy.energy_above_idle_j);
    e.bind(energy.energy_counter_j).bind(energy.energy_trapezoid_j).bind(energy.why_unknown);
    e.bind(energy.coverage).bind(energy.disagreement).bind(energy.clock_hz);
    e.bind(energy.memory_clock_hz).bind(energy.temperature_c).bind(energy.throttled);
    e.bind(bits(energy.throttle_bits));
    ERGON_TRY([[maybe_unused]] const bool more, e.step());
  }
  ERGON_TRY(auto f, d.prepare("INSERT INTO figures VALUES (?,?,?)"));
  for (const auto& [name, value] : run.figures) {
    f.reset();
    f.bind(id).bind(name).bind(value);
    ERGON_TRY([[maybe_unused]] const bool more, f.step());
  }
  ERGON_TRY_STATUS(transaction.commit());
  return id;
}

Status RunFile::add_region(const StoredRegion& region) { return add_regions({region}); }

Status RunFile::add_regions(const std::vector<StoredRegion>& regions) {
  Database& d = impl_->database;
  ERGON_TRY(auto transaction, Transaction::begin(d));
  ERGON_TRY(auto s,
            d.prepare("INSERT INTO regions (run, device, name, start_ns, end_ns, energy_j, "
                      "energy_low_j, energy_high_j, why_unknown) VALUES (?,?,?,?,?,?,?,?,?)"));
  for (const StoredRegion& region : regions) {
    s.reset();
    s.bind(region.run).bind(region.device).bind(region.name).bind(region.window.start_ns);
    bind(s.bind(region.window.end_ns), region.energy_j).bind(region.why_unknown);
    ERGON_TRY([[maybe_unused]] const bool row, s.step());
  }
  return transaction.commit();
}

Status RunFile::add_samples(const Series& series) {
  Database& d = impl_->database;
  ERGON_TRY(auto transaction, Transaction::begin(d));
  ERGON_TRY(auto s, d.prepare("INSERT OR IGNORE INTO samples VALUES (?,?,?,?,?,?,?,?,?,?,?)"));
  const auto cell = [](const std::vector<double>& column, std::size_t i) {
    return i < column.size() ? column[i] : kMissing;
  };
  for (std::size_t i = 0; i < series.size(); ++i) {
    s.reset();
    s.bind(series.gpu).bind(series.time_ns[i]);
    for (const auto* column : {&series.power_w, &series.average_power_w, &series.energy_j,
                               &series.clock_hz, &series.memory_clock_hz, &series.temperature_c,
                               &series.power_limit_w, &series.utilization}) {
      s.bind(cell(*column, i));
    }
    s.bind(i < series.throttle.size() ? bits(series.throttle[i]) : std::nullopt);
    ERGON_TRY([[maybe_unused]] const bool row, s.step());
  }
  return transaction.commit();
}

}  // namespace ergon::meter
