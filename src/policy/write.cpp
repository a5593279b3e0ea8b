// Policy -> JSON text in the order of docs/formats/policy.md.
#include <cmath>

#include "embedded_policy_schemas.hpp"  // generated
#include "ergon/io.hpp"
#include "ergon/policy.hpp"

namespace ergon::policy {
namespace {

Value cost(double time_s, double energy_j) {
  Value v;
  v.set("time_s", time_s).set("energy_j", energy_j);
  return v;
}

}  // namespace

std::string write_policy(const Policy& p) {
  Value v;
  v.set("schema", "ergon.policy/1").set("device", p.device);
  v.set("max_slowdown", std::isfinite(p.max_slowdown) ? Value(p.max_slowdown) : Value(nullptr));
  v.set("deadline_s", p.deadline.si());
  v.set("predicted",
        cost(p.predicted_time.si(), p.predicted_energy.si()).set("origin", to_string(p.origin)));
  v.set("default", cost(p.default_time.si(), p.default_energy.si()));
  v.set("switch", cost(p.switch_time.si(), p.switch_energy.si()).set("min_run_s", p.min_run.si()));
  v.set("repeats", p.repeats);
  Value packs = Value::array();
  for (const Entry& e : p.packs) {
    Value entry;
    entry.set("pack", e.pack).set("gpu", e.gpu).set("clock_hz", e.clock.si());
    packs.push(entry);
  }
  Value markers = Value::array();
  for (const Marker& m : p.markers) {
    Value marker;
    marker.set("pack", m.pack).set("first_kernel", m.first_kernel).set("occurrence", m.occurrence);
    marker.set("annotation", m.annotation ? Value(*m.annotation) : Value(nullptr));
    markers.push(marker);
  }
  Value inputs = Value::array();
  for (const std::string& i : p.inputs) inputs.push(i);
  v.set("packs", packs).set("markers", markers).set("inputs", inputs);
  return io::to_json(v) + "\n";
}

std::string_view policy_schema() { return embedded::policy_schemas().front().text; }

}  // namespace ergon::policy
