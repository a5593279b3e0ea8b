// The vocabulary of DVFS tables.
#include "columns.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "ergon/io.hpp"

namespace ergon::study {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, std::initializer_list<std::string_view> any) {
  return std::ranges::any_of(words,
                             [&](const auto& w) { return std::ranges::find(any, w) != any.end(); });
}

struct UnitWord {
  std::string_view word;
  Unit unit;
};
constexpr std::array kUnits = {UnitWord{"s", {Dim::kTime, 1}},
                               UnitWord{"sec", {Dim::kTime, 1}},
                               UnitWord{"secs", {Dim::kTime, 1}},
                               UnitWord{"second", {Dim::kTime, 1}},
                               UnitWord{"seconds", {Dim::kTime, 1}},
                               UnitWord{"ms", {Dim::kTime, 1e-3}},
                               UnitWord{"msec", {Dim::kTime, 1e-3}},
                               UnitWord{"us", {Dim::kTime, 1e-6}},
                               UnitWord{"uw", {Dim::kPower, 1e-6}},
                               UnitWord{"nj", {Dim::kEnergy, 1e-9}},
                               UnitWord{"usec", {Dim::kTime, 1e-6}},
                               UnitWord{"ns", {Dim::kTime, 1e-9}},
                               UnitWord{"nsec", {Dim::kTime, 1e-9}},
                               UnitWord{"min", {Dim::kTime, 60}},
                               UnitWord{"h", {Dim::kTime, 3600}},
                               UnitWord{"hr", {Dim::kTime, 3600}},
                               UnitWord{"hours", {Dim::kTime, 3600}},
                               UnitWord{"w", {Dim::kPower, 1}},
                               UnitWord{"watt", {Dim::kPower, 1}},
                               UnitWord{"watts", {Dim::kPower, 1}},
                               UnitWord{"mw", {Dim::kPower, 1e-3}},
                               UnitWord{"kw", {Dim::kPower, 1e3}},
                               UnitWord{"j", {Dim::kEnergy, 1}},
                               UnitWord{"joule", {Dim::kEnergy, 1}},
                               UnitWord{"joules", {Dim::kEnergy, 1}},
                               UnitWord{"mj", {Dim::kEnergy, 1e-3}},
                               UnitWord{"uj", {Dim::kEnergy, 1e-6}},
                               UnitWord{"kj", {Dim::kEnergy, 1e3}},
                               UnitWord{"wh", {Dim::kEnergy, 3600}},
                               UnitWord{"mwh", {Dim::kEnergy, 3.6}},
                               UnitWord{"kwh", {Dim::kEnergy, 3.6e6}},
                               UnitWord{"ws", {Dim::kEnergy, 1}},
                               UnitWord{"hz", {Dim::kClock, 1}},
                               UnitWord{"khz", {Dim::kClock, 1e3}},
                               UnitWord{"mhz", {Dim::kClock, 1e6}},
                               UnitWord{"ghz", {Dim::kClock, 1e9}},
                               UnitWord{"pct", {Dim::kShare, 0.01}},
                               UnitWord{"percent", {Dim::kShare, 0.01}},
                               UnitWord{"%", {Dim::kShare, 0.01}},
                               UnitWord{"c", {Dim::kTemperature, 1}},
                               UnitWord{"celsius", {Dim::kTemperature, 1}}};

// The words of a column's name; a unit stays one word in any case ("mW" is not "m", "w"), and so
// does one that follows what it measures ("powermW"). `mega`: the unit is written MW or MJ.
Words words_of_column(std::string_view name, bool* mega = nullptr) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view two = name.substr(i, 2);
    const bool micro = two == "\xc2\xb5" || two == "\xce\xbc";  // both code points of mu
    text += micro ? 'u' : name[i];
    i += micro ? 1 : 0;
  }
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_letter(text[i])) {
      out += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_letter(text[end])) ++end;
    std::string token = text.substr(i, end - i);
    i = end;
    for (const std::string_view thing : {"power", "energy"}) {
      if (token.size() > thing.size() && lower(token).starts_with(thing) &&
          std::ranges::any_of(kUnits, [&](const UnitWord& u) {
            return u.word == lower(token.substr(thing.size()));
          })) {
        out += thing;
        out += ' ';
        token.erase(0, thing.size());
        break;
      }
    }
    if (mega != nullptr && (token == "MW" || token == "MJ")) *mega = true;
    const bool unit = std::ranges::any_of(
        kUnits, [&](const UnitWord& u) { return u.word.size() > 1 && u.word == lower(token); });
    out += unit ? lower(token) : token;
  }
  return words_of(out);
}

// The unit that stands last in a name and fits what the name is of.
Unit last_unit(const Words& words, Dim dim) {
  for (auto it = words.rbegin(); it != words.rend(); ++it) {
    const Unit unit = unit_of(*it);
    if (unit.dim == dim && !(dim == Dim::kTime && *it == "min" && it != words.rbegin()))
      return unit;
  }
  return {};
}

std::string after_per(const Words& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "per") return words[i + 1];
  }
  return {};
}

double manner(const Words& words) {
  double score = 0;
  if (has(words, {"avg", "average", "aver", "mean"})) score += 1;
  if (has(words, {"min", "minimum", "max", "maximum", "peak", "p50", "p90", "p95", "p99"}))
    score -= 3;
  if (has(words, {"process", "idle", "host", "cpu", "dram", "system", "node", "warmup", "setup",
                  "monitoring", "wall", "predicted", "model", "static", "dynamic"}))
    score -= 4;
  return score - 0.01 * static_cast<double>(words.size());
}

int gpu_index(const Words& words) {
  for (const auto& w : words) {
    if (!w.starts_with("gpu") || w.size() == 3 || w.size() > 5) continue;
    if (const auto number = io::parse_double(w.substr(3))) return static_cast<int>(*number);
  }
  return -1;
}

bool spread(const Words& words) {
  return has(words, {"std", "stddev", "stdev", "var", "variance", "coeff", "cv", "sigma", "ci",
                     "error", "err"});
}

// Clocks: which memory or core, asked or achieved.
Sense clock_sense(const Words& words) {
  Sense s;
  s.unit = last_unit(words, Dim::kClock);
  const bool memory = has(words, {"mem", "memory", "mclk", "dram", "hbm"});
  s.score = 1 - 0.01 * static_cast<double>(words.size());
  const bool asked = has(words, {"target", "set", "requested", "request", "asked", "locked", "lock",
                                 "applied", "app", "setting"});
  const bool got = has(words, {"achieved", "avg", "average", "mean", "actual", "current",
                               "measured", "real", "pclk", "mclk", "observed"});
  if (has(words, {"target", "set", "requested", "asked"})) s.score += 2;
  if (has(words, {"core", "sm", "graphics", "gpu", "gr"})) s.score += 0.5;
  if (has(words, {"video", "shader", "cpu", "host"})) s.score -= 2;
  s.role = memory ? Role::kMemoryClock : Role::kClock;
  if (asked) return s;
  if (has(words, {"min", "minimum", "low"})) {
    s.role = memory ? Role::kMemoryLow : Role::kAchievedLow;
  } else if (has(words, {"max", "maximum", "peak", "high"})) {
    s.role = memory ? Role::kMemoryHigh : Role::kAchievedHigh;
  } else if (got) {
    s.role = memory ? Role::kMemoryAchieved : Role::kAchieved;
  }
  return s;
}

bool is_clock(const Words& words) {
  if (has(words, {"miss", "optimal", "fastest", "supported", "bandwidth", "count", "voltage"}))
    return false;
  if (has(words, {"clock", "clk", "clocks", "freq", "frequency", "mhz", "ghz", "pclk", "mclk",
                  "sclk", "corefreq", "memfreq"}))
    return true;
  return words.size() == 2 && (words[0] == "f" || words[1] == "f") &&
         has(words, {"core", "mem", "gpu", "sm"});
}

bool is_rate(const Words& words) {
  if (has(words, {"read", "write", "load", "store", "gld", "gst", "shared", "tex", "l2",
                  "transactions", "unit", "peak"}))
    return false;
  if (has(words, {"throughput", "performance", "perf", "fps", "gups", "flops", "gflops", "tflops",
                  "bandwidth", "speed"}))
    return true;
  const std::string per = after_per(words);
  return per == "s" || per == "sec" || per == "second";
}

Sense factor(std::string name, double score = 1) {
  Sense s;
  s.role = Role::kFactor;
  s.factor = std::move(name);
  s.score = score;
  return s;
}

Sense plain(Role role, double score = 1) {
  Sense s;
  s.role = role;
  s.score = score;
  return s;
}

// Names of things: workloads and factors.
Sense name_sense(const Words& words) {
  if (has(words, {"batch", "bs", "batchsize"}))
    return factor("batch", has(words, {"avg", "average", "mean"}) ? 0.5 : 2);
  if (has(words, {"network", "net", "nickname"})) return factor("network", 2);
  if (has(words, {"dataset"})) return factor("dataset");
  if (has(words, {"optimizer", "optimiser"})) return factor("optimizer");
  if (has(words, {"algo", "algorithm", "algorithms"})) return factor("algorithm");
  if (has(words, {"precision", "dtype"})) return factor("precision");
  if (words.size() <= 2 && has(words, {"gpu", "device", "card"}) &&
      !has(words, {"id", "index", "num", "util", "count"}))
    return factor("gpu", 2);
  if (has(words, {"model"}) && words.size() <= 2) return factor("network", 1);
  if (has(words, {"app", "appname", "application", "benchmark", "bench", "workload", "program",
                  "task", "test"}) &&
      words.size() <= 2)
    return plain(Role::kWorkload, 3);
  if (words == Words{"window", "name"}) return plain(Role::kSetting);
  if (words == Words{"kernel"} || words == Words{"kernel", "name"})
    return plain(Role::kWorkload, 2);
  if (words == Words{"name"}) return plain(Role::kWorkload, 2.5);
  if (has(words, {"arg", "args", "argno", "argument", "arguments", "input"}) && words.size() <= 2)
    return plain(Role::kArgument);
  if (words == Words{"arg", "no"}) return plain(Role::kArgument);
  if (words == Words{"mode"} || words == Words{"phase"}) return factor("mode");
  if (words == Words{"tile"} || words == Words{"n"} || words == Words{"size"} ||
      words == Words{"num", "gpus"} || words == Words{"threads"} ||
      words == Words{"max", "num", "seqs"} || has(words, {"parallel"}) || has(words, {"degree"}) ||
      words == Words{"image", "height"} || words == Words{"image", "width"} ||
      words == Words{"inference", "steps"}) {
    std::string joined;
    for (const auto& w : words) joined += (joined.empty() ? "" : "_") + w;
    return factor(joined == "max_num_seqs" ? "batch" : joined, 1);
  }
  return {};
}

Sense sense_of_words(const Words& words);

}  // namespace

Unit unit_of(std::string_view word) {
  // Megajoules and megawatts are not met in this field; taking them for milli would be worse than
  // not knowing.
  if (word == "MJ" || word == "MW") return {};
  const std::string small = lower(word);
  for (const auto& u : kUnits) {
    if (u.word == small) return u.unit;
  }
  return {};
}

Sense sense_of(std::string_view name) {
  bool mega = false;
  Sense s = sense_of_words(words_of_column(name, &mega));
  s.mega = mega && (s.unit.dim == Dim::kPower || s.unit.dim == Dim::kEnergy);
  return s;
}

namespace {

// "P (W)", "Leistung_W", "E_tot", "t_exec": a unit, or the letter that physics has for it.
Sense symbol_sense(const Words& words) {
  if (words.size() < 2 || words.size() > 4) return {};
  const Words rest(words.begin() + 1, words.end());
  const bool of_run = has(rest, {"exec", "run", "kernel", "avg", "average", "mean", "tot", "total",
                                 "gpu", "board", "iter", "iteration", "step", "inference"});
  Sense s;
  for (const Dim dim : {Dim::kEnergy, Dim::kPower}) {
    const bool letter = words.front() == (dim == Dim::kEnergy ? "e" : "p") && of_run;
    s.unit = last_unit(words, dim);
    if (s.unit.dim != dim && !letter) continue;
    s.role = dim == Dim::kEnergy ? Role::kEnergy : Role::kPower;
    s.score = 2 + manner(words);
    s.per = after_per(words);
    return s;
  }
  if (words.front() != "t" || !of_run) return {};
  s.role = Role::kTime;
  s.score = 2 + manner(words);
  s.per = after_per(words);
  return s;
}

Sense sense_of_words(const Words& words) {
  if (words.empty()) return {};
  // The ends of an interval count where both stand beside the energy.
  if (has(words, {"energy"}) && last_unit(words, Dim::kPower).dim == Dim::kNone) {
    const bool low = has(words, {"low", "lower"});
    if (low != has(words, {"high", "upper"}) && !has(words, {"clock", "freq", "load", "power"})) {
      Sense s = plain(low ? Role::kEnergyLow : Role::kEnergyHigh);
      s.unit = last_unit(words, Dim::kEnergy);
      s.score -= 0.01 * static_cast<double>(words.size());
      return s;
    }
  }
  if (spread(words)) return {};
  if (has(words, {"valid", "ok", "held", "success", "good"}) &&
      !has(words, {"reason", "why", "points"}))
    return plain(Role::kGood);
  if (has(words, {"reason", "invalid", "why"}) && !has(words, {"clocks", "throttle"}))
    return plain(Role::kReason);
  if (has(words, {"throttle", "throttled", "throttling"}) ||
      (has(words, {"reasons"}) && has(words, {"clocks", "event"})))
    return plain(Role::kThrottle);
  if (words == Words{"baseline"} || words == Words{"is", "baseline"}) return plain(Role::kBaseline);
  if (has(words, {"saving", "savings", "saved", "improvement", "ratio", "path", "log", "host",
                  "hostname", "wasted"}))
    return {};
  if (has(words, {"temp", "temperature", "gtemp"})) {
    return plain(Role::kTemperature, 2 + manner(words) - (has(words, {"mem", "memory"}) ? 5 : 0));
  }
  if (has(words, {"util", "utilization", "utilisation"})) {
    return plain(Role::kUtilization,
                 2 + manner(words) - (has(words, {"mem", "memory", "bw"}) ? 5 : 0));
  }
  if (has(words, {"unit"}) && is_rate({words.begin(), words.end() - 1}))
    return plain(Role::kUnitName);
  const bool per_watt = is_rate(words) && (has(words, {"w", "watt"}) || has(words, {"joule", "j"}));
  if (has(words, {"efficiency"}) || per_watt) return plain(Role::kCheck);
  if (has(words, {"limit", "cap", "powerlimit", "powercap", "capping"}) &&
      !has(words, {"min", "max", "default"}) &&
      (has(words, {"power", "pwr", "w", "watts", "powerlimit", "powercap"}) || words.size() == 1)) {
    Sense s = plain(Role::kPowerLimit, has(words, {"asked", "set", "requested", "target"}) ? 2 : 1);
    s.unit = last_unit(words, Dim::kPower);
    return s;
  }
  if (has(words, {"limit", "cap"})) return {};
  if (is_clock(words)) return clock_sense(words);
  if (has(words, {"energy", "joules", "joule", "wh", "kwh"})) {
    Sense s = plain(Role::kEnergy, 5 + manner(words));
    s.unit = last_unit(words, Dim::kEnergy);
    s.per = after_per(words);
    s.index = gpu_index(words);
    return s;
  }
  if (has(words, {"power", "pwr", "watts", "watt"})) {
    Sense s = plain(Role::kPower, 5 + manner(words));
    s.unit = last_unit(words, Dim::kPower);
    s.index = gpu_index(words);
    return s;
  }
  if (is_rate(words) && !has(words, {"fan"})) {  // the speed of a fan is no result
    Sense s = plain(Role::kRate, has(words, {"throughput", "performance", "perf"}) ? 5 : 3);
    s.score += manner(words);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i + 1] == "per") s.counts = words[i];
    }
    const std::string per = after_per(words);
    if (!s.counts.empty() && (per == "s" || per == "sec" || per == "second"))
      s.unit = {.dim = Dim::kTime, .scale = 1};
    return s;
  }
  if (has(words, {"timestamp", "datetime", "date", "stamp"}) || words == Words{"t", "start"} ||
      (has(words, {"start"}) && has(words, {"time"})))
    return plain(Role::kStart, has(words, {"start"}) ? 2 : 1);
  if (has(words, {"start", "end", "steps", "std"}) && !has(words, {"per"})) {
    if (const Sense s = name_sense(words); s.role != Role::kNone) return s;
    return {};
  }
  const Unit time_unit = last_unit(words, Dim::kTime);
  const bool word_of_time = has(
      words, {"time", "runtime", "elapsed", "duration", "latency", "walltime", "makespan", "itl"});
  if (word_of_time || time_unit.dim == Dim::kTime) {
    Sense s = plain(Role::kTime, (word_of_time ? 5 : 3) + manner(words));
    if (has(words, {"latency", "itl"})) s.score -= 1;
    if (has(words, {"window"})) s.score -= 3;
    s.unit = time_unit;
    s.per = after_per(words);
    return s;
  }
  if (has(words, {"run", "repeat", "rep", "trial", "repetition", "attempt"}) && words.size() <= 2)
    return plain(Role::kRun);
  if (const Sense s = name_sense(words); s.role != Role::kNone) return s;
  return symbol_sense(words);
}

}  // namespace

std::string label_of(std::string_view name, std::string& measure) {
  std::string label;
  measure.clear();
  for (const auto& w : words_of_column(name)) {
    const bool of_measure =
        unit_of(w).dim != Dim::kNone ||
        has(Words{w},
            {"time",   "runtime",    "elapsed",     "duration", "latency", "power", "pwr",
             "energy", "throughput", "avg",         "average",  "mean",    "exec",  "execution",
             "total",  "gpu",        "consumption", "used",     "in",      "of",    "per",
             "run",    "kernel",     "board",       "device"});
    std::string& into = of_measure ? measure : label;
    into += (into.empty() ? "" : "_") + w;
  }
  return label;
}

Role role_named(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Role>, 16> kNames = {{
      {"clock", Role::kClock},
      {"achieved_clock", Role::kAchieved},
      {"memory_clock", Role::kMemoryClock},
      {"achieved_memory_clock", Role::kMemoryAchieved},
      {"power_limit", Role::kPowerLimit},
      {"time", Role::kTime},
      {"power", Role::kPower},
      {"energy", Role::kEnergy},
      {"rate", Role::kRate},
      {"efficiency", Role::kCheck},
      {"temperature", Role::kTemperature},
      {"utilization", Role::kUtilization},
      {"valid", Role::kGood},
      {"run", Role::kRun},
      {"workload", Role::kWorkload},
      {"throttled", Role::kThrottle},
  }};
  for (const auto& [name, role] : kNames) {
    if (name == word) return role;
  }
  return Role::kNone;
}

}  // namespace ergon::study
