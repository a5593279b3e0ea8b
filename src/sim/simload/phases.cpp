#include "phases.hpp"

#include <simdjson.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace ergon::sim {
namespace {

namespace dom = simdjson::dom;

constexpr double kShortestS = 1e-4;
constexpr double kLongestS = 1e6;
constexpr const char* kShape =
    R"(as in {"repeat": 1, "phases": [{"name": "step", "duration_s": 2.0, "compute": 0.8, "memory": 0.3}]})";

tl::unexpected<Error> bad(const std::string& name, const std::string& what,
                          const std::string& hint = kShape) {
  return fail(Errc::kMalformedInput, "'" + name + "': " + what, hint);
}

// A number, or nothing where the key is absent or null.
Result<std::optional<double>> number(const dom::object& object, const char* key,
                                     const std::string& where) {
  dom::element element;
  if (object.at_key(key).get(element) != simdjson::SUCCESS || element.is_null())
    return std::nullopt;
  double value = 0;
  if (element.get_double().get(value) != simdjson::SUCCESS) {
    return bad(where, std::string("'") + key + "' is not a number");
  }
  return value;
}

Status add_phase(const dom::element& element, const std::string& file, Workload& workload) {
  const std::string plain = file + ", phase " + std::to_string(workload.phases.size() + 1);
  dom::object object;
  if (element.get_object().get(object) != simdjson::SUCCESS) return bad(plain, "not an object");
  ERGON_TRY(const auto duration, number(object, "duration_s", plain));
  ERGON_TRY(const auto compute, number(object, "compute", plain));
  ERGON_TRY(const auto memory, number(object, "memory", plain));
  ERGON_TRY(const auto power, number(object, "power_w", plain));
  if (!duration) return bad(plain, "no 'duration_s'");
  if (!(*duration >= kShortestS && *duration <= kLongestS)) {
    return bad(plain, "'duration_s' is not between 0.0001 and 1000000",
               "seconds at the default clock; use repeat for long runs");
  }
  for (const auto& [key, share] : {std::pair{"compute", compute}, {"memory", memory}}) {
    if (share && !(*share >= 0 && *share <= 1))
      return bad(plain, std::string("'") + key + "' is not a share between 0 and 1");
  }
  if (power && !(*power >= 0 && *power <= 5000))
    return bad(plain, "'power_w' is not between 0 and 5000 W");
  std::string_view name;
  dom::element name_element;
  const bool named = object.at_key("name").get(name_element) == simdjson::SUCCESS;
  if (named && name_element.get_string().get(name) != simdjson::SUCCESS)
    return bad(plain, "'name' is not a string");
  workload.names.push_back(named ? std::string(name)
                                 : "phase " + std::to_string(workload.phases.size() + 1));
  workload.phases.push_back(
      {*duration, compute.value_or(0), memory.value_or(0), power.value_or(-1)});
  return {};
}

}  // namespace

Result<Workload> parse_workload(const std::string& text, const std::string& name) {
  dom::parser parser;
  dom::element root;
  const simdjson::padded_string padded(text);
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
    return bad(name, std::string("not JSON: ") + simdjson::error_message(error));
  }
  dom::object object;
  if (root.get_object().get(object) != simdjson::SUCCESS) return bad(name, "not a JSON object");
  Workload workload;
  ERGON_TRY(const auto repeat, number(object, "repeat", name));
  if (repeat) {
    if (!(*repeat >= 1 && *repeat <= 1e9 && std::floor(*repeat) == *repeat)) {
      return bad(name, "'repeat' is not a whole number of at least 1");
    }
    workload.repeat = static_cast<std::uint32_t>(*repeat);
  }
  dom::array phases;
  if (object.at_key("phases").get_array().get(phases) != simdjson::SUCCESS)
    return bad(name, "no list 'phases'");
  for (const dom::element& element : phases) {
    if (workload.phases.size() == kMaxPhases) {
      return bad(name, "more than " + std::to_string(kMaxPhases) + " phases",
                 "use repeat for a pattern that recurs");
    }
    ERGON_TRY_STATUS(add_phase(element, name, workload));
  }
  if (workload.phases.empty()) return bad(name, "'phases' is empty");
  return workload;
}

Result<Workload> read_workload(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(Errc::kIo, "cannot read '" + path + "': " + std::strerror(errno),
                "name a phases file");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return fail(Errc::kIo, "cannot read '" + path + "'", "name a phases file");
  return parse_workload(text, path);
}

}  // namespace ergon::sim
