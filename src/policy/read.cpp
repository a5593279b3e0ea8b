// JSON text -> Policy, with the field named in every refusal. Whoever applies a policy sets clocks
// by it, so nothing is guessed: a missing field is an error, a field that is not known is left
// alone.
#include <cmath>
#include <set>

#include "ergon/io.hpp"
#include "ergon/policy.hpp"

namespace ergon::policy {
namespace {

constexpr double kSlowestClockHz = 1e6;
constexpr double kFastestClockHz =
    1e11;  // a clock in another unit than hertz must not pass for one

tl::unexpected<Error> wrong(const std::string& where, const std::string& what) {
  return fail(Errc::kMalformedInput, "policy: " + where + ": " + what,
              "the fields of a policy file are listed by: ergon schema policy");
}

std::string kind_of(const Value& v) {
  if (v.is_null()) return "null";
  if (v.as_bool() != nullptr) return "true or false";
  if (v.as_int() != nullptr || v.as_double() != nullptr) return "a number";
  if (v.as_string() != nullptr) return "text";
  return v.as_array() != nullptr ? "a list" : "an object";
}

std::string path_of(const std::string& where, std::string_view key) {
  return where.empty() ? std::string(key) : where + "." + std::string(key);
}

Result<const Value*> need(const Value& object, const std::string& where, std::string_view key) {
  const Value* v = object.find(key);
  if (v == nullptr) return wrong(path_of(where, key), "missing");
  return v;
}

Result<double> number_of(const Value& v, const std::string& where, double least, double most) {
  double x = std::nan("");
  if (const auto* i = v.as_int()) x = static_cast<double>(*i);
  if (const auto* d = v.as_double()) x = *d;
  if (!std::isfinite(x)) return wrong(where, "expected a finite number, found " + kind_of(v));
  if (x < least || x > most) {
    return wrong(where, "expected a number from " + io::to_json(least) + " to " +
                            io::to_json(most) + ", found " + io::to_json(x));
  }
  return x;
}

Result<double> number(const Value& object, const std::string& where, std::string_view key,
                      double least, double most) {
  ERGON_TRY(const Value* v, need(object, where, key));
  return number_of(*v, path_of(where, key), least, most);
}

Result<std::string> text(const Value& object, const std::string& where, std::string_view key) {
  ERGON_TRY(const Value* v, need(object, where, key));
  if (const auto* s = v->as_string()) return *s;
  return wrong(path_of(where, key), "expected text, found " + kind_of(*v));
}

Result<const Value*> object(const Value& parent, const std::string& where, std::string_view key) {
  ERGON_TRY(const Value* v, need(parent, where, key));
  if (v->as_object() == nullptr)
    return wrong(path_of(where, key), "expected an object, found " + kind_of(*v));
  return v;
}

Result<const Value::Array*> list(const Value& parent, const std::string& where,
                                 std::string_view key) {
  ERGON_TRY(const Value* v, need(parent, where, key));
  if (v->as_array() == nullptr)
    return wrong(path_of(where, key), "expected a list, found " + kind_of(*v));
  return v->as_array();
}

struct Cost {
  double time_s = 0;
  double energy_j = 0;
};
Result<Cost> cost(const Value& parent, std::string_view key) {
  ERGON_TRY(const Value* v, object(parent, "", key));
  Cost c;
  ERGON_TRY(c.time_s, number(*v, std::string(key), "time_s", 0, 1e12));
  ERGON_TRY(c.energy_j, number(*v, std::string(key), "energy_j", 0, 1e15));
  return c;
}

Status read_packs(const Value& root, Policy& p) {
  ERGON_TRY(const auto* items, list(root, "", "packs"));
  if (items->empty()) return wrong("packs", "expected at least one");
  std::set<std::string> seen;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string where = "packs[" + std::to_string(i) + "]";
    const Value& v = (*items)[i];
    if (v.as_object() == nullptr) return wrong(where, "expected an object, found " + kind_of(v));
    Entry e;
    ERGON_TRY(e.pack, text(v, where, "pack"));
    if (e.pack.empty()) return wrong(where + ".pack", "expected a name, found empty text");
    ERGON_TRY(e.gpu, text(v, where, "gpu"));
    ERGON_TRY(const double hz, number(v, where, "clock_hz", kSlowestClockHz, kFastestClockHz));
    e.clock = Hertz(hz);
    if (!seen.insert(e.pack).second)
      return wrong(where + ".pack", "pack \"" + e.pack + "\" is listed twice");
    p.packs.push_back(std::move(e));
  }
  return {};
}

Status read_markers(const Value& root, Policy& p) {
  const Value* markers = root.find("markers");
  if (markers == nullptr) return {};
  ERGON_TRY(const auto* items, list(root, "", "markers"));
  std::set<std::string> known;
  for (const Entry& e : p.packs) known.insert(e.pack);
  for (std::size_t i = 0; i < items->size(); ++i) {
    const std::string where = "markers[" + std::to_string(i) + "]";
    const Value& v = (*items)[i];
    if (v.as_object() == nullptr) return wrong(where, "expected an object, found " + kind_of(v));
    Marker m;
    ERGON_TRY(m.pack, text(v, where, "pack"));
    if (!known.contains(m.pack))
      return wrong(where + ".pack", "\"" + m.pack + "\" is not listed under packs");
    ERGON_TRY(m.first_kernel, text(v, where, "first_kernel"));
    ERGON_TRY(const Value* occurrence, need(v, where, "occurrence"));
    if (occurrence->as_int() == nullptr || *occurrence->as_int() < 0)
      return wrong(where + ".occurrence", "expected a whole number, 0 or more");
    m.occurrence = *occurrence->as_int();
    if (const Value* annotation = v.find("annotation");
        annotation != nullptr && !annotation->is_null()) {
      ERGON_TRY(std::string words, text(v, where, "annotation"));
      m.annotation = std::move(words);
    }
    p.markers.push_back(std::move(m));
  }
  return {};
}

Status read_inputs(const Value& root, Policy& p) {
  if (root.find("inputs") == nullptr) return {};
  ERGON_TRY(const auto* items, list(root, "", "inputs"));
  for (const Value& v : *items) {
    if (v.as_string() == nullptr)
      return wrong("inputs", "expected only texts in the list, found " + kind_of(v));
    p.inputs.push_back(*v.as_string());
  }
  return {};
}

}  // namespace

Result<Policy> read_policy(const std::string& json_text) {
  // Names that differ only in bytes that are no text could not be written apart.
  if (const std::size_t good = io::valid_utf8_prefix(json_text); good != json_text.size())
    return wrong("document", "byte " + std::to_string(good) + " is not UTF-8");
  ERGON_TRY(const Value root, io::parse_json(json_text, io::Twice::kRefuse));
  if (root.as_object() == nullptr)
    return wrong("document", "expected an object, found " + kind_of(root));
  ERGON_TRY(const std::string schema, text(root, "", "schema"));
  if (schema != "ergon.policy/1")
    return wrong("schema", "expected \"ergon.policy/1\", found \"" + schema + "\"");
  Policy p;
  ERGON_TRY(p.device, text(root, "", "device"));
  ERGON_TRY(const Value* slowdown, need(root, "", "max_slowdown"));
  p.max_slowdown = std::nan("");
  if (!slowdown->is_null()) {
    ERGON_TRY(p.max_slowdown, number_of(*slowdown, "max_slowdown", 0, 1e6));
  }
  ERGON_TRY(const double deadline, number(root, "", "deadline_s", 0, 1e12));
  p.deadline = Seconds(deadline);
  ERGON_TRY(const Cost predicted, cost(root, "predicted"));
  p.predicted_time = Seconds(predicted.time_s);
  p.predicted_energy = Joules(predicted.energy_j);
  ERGON_TRY(const std::string word, text(*root.find("predicted"), "predicted", "origin"));
  const auto origin = origin_from(word);
  if (!origin)
    return wrong(
        "predicted.origin",
        "expected measured, fitted, published, modelled, simulated, assumed or mixed, found \"" +
            word + "\"");
  p.origin = *origin;
  ERGON_TRY(const Cost standard, cost(root, "default"));
  p.default_time = Seconds(standard.time_s);
  p.default_energy = Joules(standard.energy_j);
  ERGON_TRY(const Cost change, cost(root, "switch"));
  p.switch_time = Seconds(change.time_s);
  p.switch_energy = Joules(change.energy_j);
  ERGON_TRY(const double min_run, number(*root.find("switch"), "switch", "min_run_s", 0, 1e12));
  p.min_run = Seconds(min_run);
  ERGON_TRY(const Value* repeats, need(root, "", "repeats"));
  if (repeats->as_bool() == nullptr)
    return wrong("repeats", "expected true or false, found " + kind_of(*repeats));
  p.repeats = *repeats->as_bool();
  ERGON_TRY_STATUS(read_packs(root, p));
  ERGON_TRY_STATUS(read_markers(root, p));
  ERGON_TRY_STATUS(read_inputs(root, p));
  return p;
}

}  // namespace ergon::policy
