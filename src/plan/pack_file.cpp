// The pack file ergon.packs/1: text to Problem with every refusal of the contract, and back.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ergon/io.hpp"
#include "ergon/plan.hpp"
#include "numbers.hpp"

namespace ergon::plan {
namespace {

constexpr std::string_view kSchema = "ergon.packs/1";
tl::unexpected<Error> refuse(const std::string& where, const std::string& what,
                             std::string hint = "see the pack file format, ergon.packs/1") {
  return fail(Errc::kMalformedInput, where + ": " + what, std::move(hint));
}

std::string pack_name(const std::string& id) { return "pack \"" + id + "\""; }

enum class Sign { kZeroOrMore, kAboveZero };

// A finite figure of an object. Null and text are refused: unknown is not 0.
Result<double> figure(const Value* v, const std::string& where, std::string_view key, Sign sign) {
  double x = 0;
  if (v == nullptr) return refuse(where, "has no " + std::string(key));
  if (const auto* i = v->as_int()) {
    x = static_cast<double>(*i);
  } else if (const auto* d = v->as_double()) {
    x = *d;
  } else {
    return refuse(where, std::string(key) + " is not a number");
  }
  if (!std::isfinite(x) || x > kLargest)
    return refuse(where, std::string(key) + " is not a finite number below 1e18");
  if (sign == Sign::kAboveZero ? !(x > 0) : x < 0) {
    return refuse(where, std::string(key) +
                             (sign == Sign::kAboveZero ? " is not above zero" : " is negative"));
  }
  return x + 0.0;  // -0 becomes 0
}

Result<double> figure_or_zero(const Value& object, const std::string& where, std::string_view key) {
  const Value* v = object.find(key);
  if (v == nullptr) return 0.0;
  return figure(v, where, key, Sign::kZeroOrMore);
}

Result<std::string> text(const Value* v, const std::string& where, std::string_view key) {
  if (v == nullptr) return refuse(where, "has no " + std::string(key));
  const auto* s = v->as_string();
  if (s == nullptr) return refuse(where, std::string(key) + " is not a string");
  return *s;
}

class Reader {
 public:
  explicit Reader(const Value& root) : root_(root) {}

  Result<Problem> problem() {
    if (root_.as_object() == nullptr) return refuse("the document", "is not an object");
    const std::string expected = "expected \"" + std::string(kSchema) + "\"";
    auto schema = text(root_.find("schema"), "the document", "schema");
    if (!schema) {
      schema.error().hint = expected;
      return fail(std::move(schema).error());
    }
    if (*schema != kSchema)
      return refuse("the document", "has schema \"" + *schema + "\"", expected);
    ERGON_TRY_STATUS(gpus());
    ERGON_TRY_STATUS(switching());
    if (const Value* v = root_.find("repeats")) {
      const bool* b = v->as_bool();
      if (b == nullptr) return refuse("the document", "repeats is neither true nor false");
      out_.repeats = *b;
    }
    ERGON_TRY_STATUS(packs());
    return std::move(out_);
  }

 private:
  Status gpus() {
    const Value* list = root_.find("gpus");
    if (list == nullptr || list->as_array() == nullptr || list->as_array()->empty())
      return refuse("the document", "has no list of gpus");
    for (const Value& v : *list->as_array()) {
      const std::string place = "gpu number " + std::to_string(out_.gpus.size());
      if (v.as_object() == nullptr) return refuse(place, "is not an object");
      ERGON_TRY(std::string id, text(v.find("id"), place, "id"));
      const std::string where = "gpu \"" + id + "\"";
      if (!gpu_of_.emplace(id, static_cast<std::uint32_t>(out_.gpus.size())).second)
        return refuse(where, "is listed twice");
      ERGON_TRY(const double idle,
                figure(v.find("idle_power_w"), where, "idle_power_w", Sign::kZeroOrMore));
      out_.gpus.push_back(Gpu{.id = std::move(id), .idle_power_w = idle});
    }
    return {};
  }

  Status switching() {
    const Value* v = root_.find("switch");
    if (v == nullptr) return {};
    if (v->as_object() == nullptr) return refuse("switch", "is not an object");
    ERGON_TRY(out_.switching.time_s, figure_or_zero(*v, "switch", "time_s"));
    ERGON_TRY(out_.switching.energy_j, figure_or_zero(*v, "switch", "energy_j"));
    ERGON_TRY(out_.switching.min_run_s, figure_or_zero(*v, "switch", "min_run_s"));
    return {};
  }

  Status packs() {
    const Value* list = root_.find("packs");
    if (list == nullptr || list->as_array() == nullptr || list->as_array()->empty())
      return refuse("the document", "has no list of packs");
    const Value::Array& items = *list->as_array();
    // All ids first: a reference to a later pack is then told apart from one to no pack at all.
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string place = "pack number " + std::to_string(i);
      if (items[i].as_object() == nullptr) return refuse(place, "is not an object");
      ERGON_TRY(std::string id, text(items[i].find("id"), place, "id"));
      if (!pack_of_.emplace(id, static_cast<std::uint32_t>(i)).second)
        return refuse(pack_name(id), "is listed twice");
      out_.packs.push_back(Pack{.id = std::move(id), .gpu = 0, .after = {}, .options = {}});
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      ERGON_TRY_STATUS(pack(items[i], out_.packs[i]));
    }
    return order();
  }

  Status pack(const Value& v, Pack& pack) {
    const std::string where = pack_name(pack.id);
    ERGON_TRY(const std::string gpu, text(v.find("gpu"), where, "gpu"));
    const auto found = gpu_of_.find(gpu);
    if (found == gpu_of_.end())
      return refuse(where, "runs on gpu \"" + gpu + "\", which is not listed");
    pack.gpu = found->second;
    if (const Value* after = v.find("after")) {
      if (after->as_array() == nullptr) return refuse(where, "after is not a list");
      for (const Value& a : *after->as_array()) {
        if (a.as_object() == nullptr)
          return refuse(where, "after holds something that is no object");
        ERGON_TRY(const std::string other, text(a.find("pack"), where + ", after", "pack"));
        const auto target = pack_of_.find(other);
        if (target == pack_of_.end())
          return refuse(where, "waits for pack \"" + other + "\", which is not listed");
        ERGON_TRY(const double lag, figure_or_zero(a, where + ", after", "lag_s"));
        pack.after.push_back(After{.pack = target->second, .lag_s = lag});
      }
    }
    return options(v, where, pack);
  }

  Status options(const Value& v, const std::string& where, Pack& pack) {
    const Value* list = v.find("options");
    if (list == nullptr || list->as_array() == nullptr || list->as_array()->empty())
      return refuse(where, "has no options");
    std::unordered_set<double> clocks;
    for (const Value& o : *list->as_array()) {
      if (o.as_object() == nullptr) return refuse(where, "holds an option that is no object");
      Option option;
      ERGON_TRY(option.clock_hz, figure(o.find("clock_hz"), where, "clock_hz", Sign::kAboveZero));
      ERGON_TRY(option.time_s, figure(o.find("time_s"), where, "time_s", Sign::kZeroOrMore));
      ERGON_TRY(option.energy_j, figure(o.find("energy_j"), where, "energy_j", Sign::kZeroOrMore));
      if (!clocks.insert(option.clock_hz).second) {
        return refuse(where,
                      "lists the clock " + io::to_json(Value(option.clock_hz), 0) + " Hz twice");
      }
      pack.options.push_back(option);
    }
    return {};
  }

  // A pack that waits for a later one is an error either way; a cycle (through `after` and the
  // order on each gpu) is named as such, because moving the pack would not help.
  Status order() const {
    const std::size_t n = out_.packs.size();
    std::size_t early = n;
    for (std::size_t i = 0; i < n && early == n; ++i) {
      for (const After& a : out_.packs[i].after) {
        if (a.pack >= i) early = i;
      }
    }
    if (early == n) return {};
    std::vector<std::vector<std::uint32_t>> next(n);
    std::vector<std::uint32_t> waits(n, 0);
    std::vector<std::size_t> last(out_.gpus.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t& previous = last[out_.packs[i].gpu];
      if (previous != n) {
        next[previous].push_back(static_cast<std::uint32_t>(i));
        ++waits[i];
      }
      previous = i;
      for (const After& a : out_.packs[i].after) {
        next[a.pack].push_back(static_cast<std::uint32_t>(i));
        ++waits[i];
      }
    }
    std::vector<std::uint32_t> ready;
    for (std::size_t i = 0; i < n; ++i) {
      if (waits[i] == 0) ready.push_back(static_cast<std::uint32_t>(i));
    }
    while (!ready.empty()) {
      const std::uint32_t i = ready.back();
      ready.pop_back();
      for (const std::uint32_t j : next[i]) {
        if (--waits[j] == 0) ready.push_back(j);
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (waits[i] != 0 && on_cycle(next, i)) {
        return refuse(pack_name(out_.packs[i].id),
                      "is part of a cycle of waits (the order of the packs on each gpu included)",
                      "remove one of the waits");
      }
    }
    return refuse(pack_name(out_.packs[early].id), "is listed before a pack that it waits for",
                  "list every pack after all that it waits for");
  }

  static bool on_cycle(const std::vector<std::vector<std::uint32_t>>& next, std::size_t start) {
    std::vector<char> seen(next.size(), 0);
    std::vector<std::uint32_t> stack = next[start];
    while (!stack.empty()) {
      const std::uint32_t i = stack.back();
      stack.pop_back();
      if (i == start) return true;
      if (seen[i] != 0) continue;
      seen[i] = 1;
      stack.insert(stack.end(), next[i].begin(), next[i].end());
    }
    return false;
  }

  const Value& root_;
  Problem out_;
  std::unordered_map<std::string, std::uint32_t> gpu_of_;
  std::unordered_map<std::string, std::uint32_t> pack_of_;
};

// JSON has no NaN and no 1e999, so such a figure already fails as JSON: say in which pack it lies.
std::string place_of(std::string_view text, std::uint64_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t packs = before.find("\"packs\"");
  if (packs == std::string_view::npos) return {};
  const std::size_t key = before.rfind("\"id\"");
  if (key == std::string_view::npos || key < packs) return {};
  const std::size_t open = before.find('"', key + 4);
  if (open == std::string_view::npos) return {};
  const std::size_t close = before.find('"', open + 1);
  if (close == std::string_view::npos) return {};
  return "in or after pack " + std::string(before.substr(open, close + 1 - open)) + ": ";
}

}  // namespace

Result<Problem> read_packs(std::string_view json_text) {
  auto root = io::parse_json(json_text, io::Twice::kRefuse);
  if (!root) {
    Error error = std::move(root).error();
    if (error.offset) error.message = place_of(json_text, *error.offset) + error.message;
    return fail(std::move(error));
  }
  return Reader(*root).problem();
}

std::string write_packs(const Problem& problem) {
  Value root = Value::object();
  root.set("schema", kSchema);
  Value gpus = Value::array();
  for (const Gpu& g : problem.gpus) {
    Value v = Value::object();
    v.set("id", g.id).set("idle_power_w", g.idle_power_w);
    gpus.push(std::move(v));
  }
  root.set("gpus", std::move(gpus));
  Value switching = Value::object();
  switching.set("time_s", problem.switching.time_s);
  switching.set("energy_j", problem.switching.energy_j);
  switching.set("min_run_s", problem.switching.min_run_s);
  root.set("switch", std::move(switching));
  root.set("repeats", problem.repeats);
  Value packs = Value::array();
  for (const Pack& p : problem.packs) {
    Value v = Value::object();
    v.set("id", p.id).set("gpu", problem.gpus[p.gpu].id);
    Value after = Value::array();
    for (const After& a : p.after) {
      Value w = Value::object();
      w.set("pack", problem.packs[a.pack].id).set("lag_s", a.lag_s);
      after.push(std::move(w));
    }
    v.set("after", std::move(after));
    Value options = Value::array();
    for (const Option& o : p.options) {
      Value w = Value::object();
      w.set("clock_hz", o.clock_hz).set("time_s", o.time_s).set("energy_j", o.energy_j);
      options.push(std::move(w));
    }
    v.set("options", std::move(options));
    packs.push(std::move(v));
  }
  root.set("packs", std::move(packs));
  return io::to_json(root) + "\n";
}

}  // namespace ergon::plan
