// Reading run files.
#include <limits>
#include <map>

#include "run_file_impl.hpp"

namespace ergon::meter {
namespace {

std::optional<Estimate> read_estimate(const Statement& s, int column) {
  const auto value = s.maybe_number(column);
  if (!value) return std::nullopt;
  return Estimate{*value, s.maybe_number(column + 1).value_or(*value),
                  s.maybe_number(column + 2).value_or(*value), Origin::kMeasured};
}

std::optional<std::uint64_t> read_bits(const Statement& s, int column) {
  const auto value = s.maybe_integer(column);
  if (!value) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::optional<bool> maybe_bool(const Statement& s, int column) {
  const auto value = s.maybe_integer(column);
  if (!value) return std::nullopt;
  return *value != 0;
}

// Calls `row` for each row of a query.
template <class Row>
Status each(const Database& database, const char* sql, Row row) {
  ERGON_TRY(auto s, database.prepare(sql));
  while (true) {
    ERGON_TRY(const bool more, s.step());
    if (!more) return {};
    row(s);
  }
}

}  // namespace

Result<Provenance> RunFile::provenance() const {
  Provenance out;
  ERGON_TRY_STATUS(
      each(impl_->database, "SELECT name, value FROM facts ORDER BY name", [&](const Statement& s) {
        const std::string name = s.text(0);
        std::string value = s.text(1);
        if (name == "kind") {
          out.kind = std::move(value);
        } else if (name == "ergon_version") {
          out.ergon_version = std::move(value);
        } else if (name == "command_line") {
          out.command_line = std::move(value);
        } else if (name == "created_utc") {
          out.created_utc = std::move(value);
        } else if (name != "schema") {
          out.more.emplace_back(name, std::move(value));
        }
      }));
  return out;
}

Result<std::vector<StoredDevice>> RunFile::devices() const {
  std::vector<StoredDevice> out;
  ERGON_TRY_STATUS(each(impl_->database,
                        "SELECT id, kind, name, uuid, pci, driver, origin, power_limit_w, "
                        "update_period_s, averaging_window_s, energy_tick_s FROM devices "
                        "ORDER BY id",
                        [&](const Statement& s) {
                          StoredDevice d;
                          d.id = s.text(0);
                          d.kind = s.text(1);
                          d.name = s.text(2);
                          d.uuid = s.text(3);
                          d.pci = s.text(4);
                          d.driver = s.text(5);
                          d.origin = origin_from(s.text(6)).value_or(Origin::kAssumed);
                          d.power_limit_w = s.maybe_number(7);
                          d.update_period_s = s.maybe_number(8);
                          d.averaging_window_s = s.maybe_number(9);
                          d.energy_tick_s = s.maybe_number(10);
                          out.push_back(std::move(d));
                        }));
  return out;
}

Result<std::vector<StoredPoint>> RunFile::points() const {
  std::vector<StoredPoint> out;
  std::map<std::int64_t, std::size_t> place;
  ERGON_TRY_STATUS(each(impl_->database,
                        "SELECT id, order_index, baseline, asked_clock_hz, asked_memory_clock_hz, "
                        "asked_power_limit_w, clock_hz, memory_clock_hz, power_limit_w, state, "
                        "valid, reason FROM points ORDER BY order_index, id",
                        [&](const Statement& s) {
                          StoredPoint p;
                          p.id = s.integer(0);
                          p.order_index = s.integer(1);
                          p.baseline = s.integer(2) != 0;
                          p.asked_clock_hz = s.maybe_number(3);
                          p.asked_memory_clock_hz = s.maybe_number(4);
                          p.asked_power_limit_w = s.maybe_number(5);
                          p.clock_hz = s.maybe_number(6);
                          p.memory_clock_hz = s.maybe_number(7);
                          p.power_limit_w = s.maybe_number(8);
                          p.state = s.text(9);
                          p.valid = maybe_bool(s, 10);
                          p.reason = s.text(11);
                          place[p.id] = out.size();
                          out.push_back(std::move(p));
                        }));
  ERGON_TRY_STATUS(each(impl_->database,
                        "SELECT point, name, value FROM parameters ORDER BY point, position",
                        [&](const Statement& s) {
                          const auto found = place.find(s.integer(0));
                          if (found == place.end()) return;
                          out[found->second].parameters.emplace_back(s.text(1), s.text(2));
                        }));
  return out;
}

Result<std::vector<StoredRun>> RunFile::runs() const {
  std::vector<StoredRun> out;
  std::map<std::int64_t, std::size_t> place;
  ERGON_TRY_STATUS(each(impl_->database,
                        "SELECT id, point, repeat, warmup, start_ns, end_ns, start_utc_ns, "
                        "exit_status FROM runs ORDER BY id",
                        [&](const Statement& s) {
                          StoredRun r;
                          r.id = s.integer(0);
                          r.point = s.maybe_integer(1);
                          r.repeat = s.integer(2);
                          r.warmup = s.integer(3) != 0;
                          r.window = {s.integer(4), s.integer(5)};
                          r.start_utc_ns = s.maybe_integer(6);
                          if (const auto status = s.maybe_integer(7)) {
                            r.exit_status = static_cast<int>(*status);
                          }
                          place[r.id] = out.size();
                          out.push_back(std::move(r));
                        }));
  ERGON_TRY_STATUS(each(
      impl_->database,
      "SELECT run, device, energy_j, energy_low_j, energy_high_j, above_idle_j, above_idle_low_j, "
      "above_idle_high_j, counter_j, trapezoid_j, why_unknown, coverage, disagreement, clock_hz, "
      "memory_clock_hz, temperature_c, throttled, throttle_bits FROM energies ORDER BY run, device",
      [&](const Statement& s) {
        const auto found = place.find(s.integer(0));
        if (found == place.end()) return;
        StoredEnergy e;
        e.device = s.text(1);
        e.energy_j = read_estimate(s, 2);
        e.energy_above_idle_j = read_estimate(s, 5);
        e.energy_counter_j = s.maybe_number(8);
        e.energy_trapezoid_j = s.maybe_number(9);
        e.why_unknown = s.text(10);
        e.coverage = s.maybe_number(11);
        e.disagreement = s.maybe_number(12);
        e.clock_hz = s.maybe_number(13);
        e.memory_clock_hz = s.maybe_number(14);
        e.temperature_c = s.maybe_number(15);
        e.throttled = maybe_bool(s, 16);
        e.throttle_bits = read_bits(s, 17);
        out[found->second].energies.push_back(std::move(e));
      }));
  ERGON_TRY_STATUS(each(impl_->database, "SELECT run, name, value FROM figures ORDER BY run, name",
                        [&](const Statement& s) {
                          const auto found = place.find(s.integer(0));
                          if (found == place.end()) return;
                          out[found->second].figures.emplace_back(s.text(1), s.number(2));
                        }));
  return out;
}

Result<std::vector<StoredRegion>> RunFile::regions() const {
  std::vector<StoredRegion> out;
  ERGON_TRY_STATUS(each(impl_->database,
                        "SELECT run, device, name, start_ns, end_ns, energy_j, energy_low_j, "
                        "energy_high_j, why_unknown FROM regions ORDER BY id",
                        [&](const Statement& s) {
                          StoredRegion r;
                          r.run = s.integer(0);
                          r.device = s.text(1);
                          r.name = s.text(2);
                          r.window = {s.integer(3), s.integer(4)};
                          r.energy_j = read_estimate(s, 5);
                          r.why_unknown = s.text(8);
                          out.push_back(std::move(r));
                        }));
  return out;
}

Result<Series> RunFile::samples(const std::string& device, std::optional<Window> window) const {
  Series out;
  out.gpu = device;
  ERGON_TRY(auto s, impl_->database.prepare(
                        "SELECT time_ns, power_w, average_power_w, energy_j, clock_hz, "
                        "memory_clock_hz, temperature_c, power_limit_w, utilization, throttle_bits "
                        "FROM samples WHERE device=? AND time_ns>=? AND time_ns<=? "
                        "ORDER BY time_ns"));
  s.bind(device);
  s.bind(window ? window->start_ns : std::numeric_limits<Nanos>::min());
  s.bind(window ? window->end_ns : std::numeric_limits<Nanos>::max());
  std::vector<double>* const columns[] = {
      &out.power_w,         &out.average_power_w, &out.energy_j,      &out.clock_hz,
      &out.memory_clock_hz, &out.temperature_c,   &out.power_limit_w, &out.utilization};
  while (true) {
    ERGON_TRY(const bool more, s.step());
    if (!more) break;
    out.time_ns.push_back(s.integer(0));
    int column = 1;
    for (auto* values : columns) values->push_back(s.number(column++));
    out.throttle.push_back(read_bits(s, column));
  }
  // A column that was never read is no column.
  for (auto* values : columns) {
    bool any = false;
    for (const double v : *values) any = any || !is_missing(v);
    if (!any) values->clear();
  }
  bool any = false;
  for (const auto& b : out.throttle) any = any || b.has_value();
  if (!any) out.throttle.clear();
  return out;
}

}  // namespace ergon::meter
