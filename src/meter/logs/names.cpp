// Names of columns: exact ones first, then by the words in them.
#include "logs/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "ergon/base/number.hpp"

namespace ergon::meter::logs {
namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> set) {
  return std::ranges::find(set, word) != set.end();
}

std::vector<std::string> words_of(const std::string& key) {
  std::vector<std::string> words;
  std::size_t from = 0;
  while (from <= key.size()) {
    const std::size_t to = std::min(key.find('_', from), key.size());
    if (to > from) words.push_back(key.substr(from, to - from));
    from = to + 1;
  }
  return words;
}

struct Words {
  std::vector<std::string> list;
  [[nodiscard]] bool any(std::initializer_list<std::string_view> set) const {
    return std::ranges::any_of(list, [&](const std::string& w) { return one_of(w, set); });
  }
};

Field value(std::string name, int rank, std::string fallback = {}) {
  Field f;
  f.fixed = true;
  f.fallback = fallback.empty() ? name : std::move(fallback);
  f.name = std::move(name);
  f.rank = rank;
  return f;
}

Field with_role(Field::Role role, int rank = 0) {
  Field f;
  f.role = role;
  f.rank = rank;
  return f;
}

Field text(const std::string& key) {
  Field f;
  f.name = key;
  f.text = true;
  return f;
}

// Names that are what they are, whatever words they hold. dmon, DCGM, exporters, vendors' own.
const std::map<std::string, Field, std::less<>>& exact() {
  static const std::map<std::string, Field, std::less<>> names = [] {
    std::map<std::string, Field, std::less<>> m;
    for (const char* key : {"timestamp",
                            "time",
                            "datetime",
                            "date_time",
                            "ts",
                            "t",
                            "epoch",
                            "unix_time",
                            "unix_timestamp",
                            "time_stamp",
                            "sample_time",
                            "elapsed",
                            "elapsed_time",
                            "timestamp_utc",
                            "time_utc",
                            "utc",
                            "local_time",
                            "time_since_start",
                            "wall_time",
                            "t_mono",
                            "time_abs",
                            "timestamp_local",
                            "timestamp_epoch",
                            "epoch_time",
                            "time_epoch",
                            "relative_time",
                            "usec",
                            "date_and_time",
                            "query_time"}) {
      m[key] = with_role(Field::Role::kTime,
                         one_of(key, {"timestamp_utc", "time_utc", "epoch"}) ? 2 : 1);
    }
    m["date"] = with_role(Field::Role::kDate);
    m["yyyymmdd"] = with_role(Field::Role::kDate);
    for (const char* key :
         {"index", "gpu", "gpu_id", "gpu_index", "idx", "gpu_idx", "device", "device_id", "card",
          "gpu_number", "gpu_num", "gpuid", "device_index", "gpu_no", "deviceid", "gpuindex"}) {
      m[key] = with_role(Field::Role::kGpu, 4);
    }
    for (const char* key : {"uuid", "gpu_uuid"}) m[key] = with_role(Field::Role::kGpu, 3);
    for (const char* key : {"pci_bus_id", "gpu_bus_id", "bus_id", "pci_bus"}) {
      m[key] = with_role(Field::Role::kGpu, key == std::string_view("pci_bus") ? 1 : 2);
    }
    for (const auto& [key, name] : std::initializer_list<std::pair<const char*, const char*>>{
             {"pwr", "power_w"},
             {"watts", "power_w"},
             {"gtemp", "temperature_c"},
             {"mtemp", "memory_temperature_c"},
             {"temperature_aip", "temperature_c"},
             {"utilization_aip", "utilization"},
             {"gpu_t", "temperature_c"},
             {"mem_t", "memory_temperature_c"},
             {"gpu_power", "power_w"},
             {"dgpu_power", "power_w"},
             {"mclk", "memory_clock_hz"},
             {"pclk", "clock_hz"},
             {"sclk", "clock_hz"},
             {"gfx_clk", "clock_hz"},
             {"gfx_clock", "clock_hz"},
             {"mem_clk", "memory_clock_hz"},
             {"gfx", "utilization"},
             {"gfx_activity", "utilization"},
             {"umc_activity", "memory_utilization"},
             {"gpu_util", "utilization"},
             {"mem_util", "memory_utilization"},
             {"memory_controller_load", "memory_utilization"},
             {"gpu_use", "utilization"},
             {"gpu_memory_use", "memory_utilization"},
             {"average_graphics_package_power", "power_w"},
             {"current_socket_graphics_package_power", "power_w"},
             {"average_socket_power", "power_w"},
             {"current_socket_power", "power_w"},
             {"socket_power", "power_w"},
             {"dcgm_fi_dev_power_usage", "power_w"},
             {"dcgm_fi_dev_power_usage_instant", "instant_power_w"},
             {"dcgm_fi_dev_total_energy_consumption", "energy_j"},
             {"dcgm_fi_dev_sm_clock", "clock_hz"},
             {"dcgm_fi_dev_mem_clock", "memory_clock_hz"},
             {"dcgm_fi_dev_gpu_temp", "temperature_c"},
             {"dcgm_fi_dev_memory_temp", "memory_temperature_c"},
             {"dcgm_fi_dev_gpu_util", "utilization"},
             {"dcgm_fi_dev_mem_copy_util", "memory_utilization"},
             {"dcgm_fi_dev_power_mgmt_limit", "power_limit_w"},
             {"dcgm_fi_dev_enforced_power_limit", "power_limit_w"},
             {"nvidia_smi_power_draw_watts", "power_w"},
             {"nvidia_smi_energy_joules_total", "energy_j"},
             {"nvidia_smi_clocks_current_sm_clock_hz", "clock_hz"},
             {"nvidia_smi_clocks_current_memory_clock_hz", "memory_clock_hz"},
             {"nvidia_smi_temperature_gpu", "temperature_c"},
             {"nvidia_smi_utilization_gpu_ratio", "utilization"},
             {"nvidia_smi_utilization_memory_ratio", "memory_utilization"},
             {"nvidia_smi_power_limit_watts", "power_limit_w"},
             {"smtemp", "temperature_c"},
             {"pkgwatt", "package_power_w"},
             {"corwatt", "core_power_w"},
             {"ramwatt", "dram_power_w"},
             {"gfxwatt", "power_w"},
             {"syswatt", "system_power_w"},
             {"hotspot", "hotspot_temperature_c"},
             {"hotspot_temperature", "hotspot_temperature_c"},
             {"edge_temperature", "temperature_c"}}) {
      m[key] = value(name, 5);
    }
    m["dcgm_fi_dev_total_energy_consumption"].unit = Unit{"j", 1, 1e3};
    m["nvidia_smi_clocks_current_sm_clock_hz"].unit = Unit{"hz"};
    m["nvidia_smi_clocks_current_memory_clock_hz"].unit = Unit{"hz"};
    m["nvidia_smi_utilization_gpu_ratio"].unit = Unit{"ratio"};
    m["nvidia_smi_utilization_memory_ratio"].unit = Unit{"ratio"};
    for (const char* key : {"name",
                            "gpu_name",
                            "product_name",
                            "driver_version",
                            "serial",
                            "gpu_serial",
                            "vbios_version",
                            "pstate",
                            "performance_state",
                            "pci_domain",
                            "pci_device",
                            "pci_device_id",
                            "pci_sub_device_id",
                            "inforom_img",
                            "inforom_oem",
                            "inforom_ecc",
                            "inforom_pwr",
                            "compute_cap",
                            "compute_mode",
                            "power_management",
                            "persistence_mode",
                            "modelname",
                            "gpu_pdi",
                            "hostname",
                            "host",
                            "node",
                            "label",
                            "command",
                            "type",
                            "display_active",
                            "display_mode"}) {
      m[key] = text(key);
    }
    return m;
  }();
  return names;
}

// The last part of a name as a unit: power_mw, freq_mhz, temp_c, util_pct, time_us,
// energy_joules_total.
std::optional<Unit> unit_in_name(std::string& key) {
  std::string_view name = key;
  if (name.ends_with("joules_total")) name.remove_suffix(std::string_view("_total").size());
  const std::size_t at = name.rfind('_');
  if (at == std::string::npos || at == 0) return std::nullopt;
  const std::string last(name.substr(at + 1));
  if (!one_of(last, {"w",
                     "mw",
                     "kw",
                     "uw",
                     "watts",
                     "watt",
                     "j",
                     "mj",
                     "uj",
                     "kj",
                     "joules",
                     "wh",
                     "mwh",
                     "kwh",
                     "hz",
                     "khz",
                     "mhz",
                     "ghz",
                     "c",
                     "degc",
                     "celsius",
                     "pct",
                     "percent",
                     "ratio",
                     "s",
                     "sec",
                     "seconds",
                     "ms",
                     "us",
                     "ns",
                     "v",
                     "mv",
                     "ma",
                     "mib",
                     "gib",
                     "bytes",
                     "rpm",
                     "milliwatts",
                     "milliwatt",
                     "microwatts",
                     "kilowatts",
                     "millijoules",
                     "microjoules",
                     "kilojoules",
                     "hertz",
                     "kilohertz",
                     "megahertz",
                     "gigahertz",
                     "milliseconds",
                     "microseconds",
                     "nanoseconds"})) {
    return std::nullopt;
  }
  const auto unit = unit_of(last);
  if (unit) key.erase(at);
  return unit;
}

struct Header {
  std::string key;
  std::optional<Unit> unit;
  bool stated = false;
};

// "power.draw [W]", "Power Draw (W)", "Fan Speed (%) [%]", "power/W", "power_w".
Header header_of(std::string_view header) {
  Header out;
  std::string_view name = trim(header);
  while (!name.empty() && (name.back() == ']' || name.back() == ')')) {
    const char open = name.back() == ']' ? '[' : '(';
    const std::size_t at = name.rfind(open);
    if (at == std::string_view::npos) break;
    const std::string_view inside = trim(name.substr(at + 1, name.size() - at - 2));
    // "[% of TDP]" and whatever else it may be a percentage of.
    const auto unit = unit_of(inside.starts_with('%') ? inside.substr(0, 1) : inside);
    if (!unit && !inside.empty()) break;
    if (unit && !out.unit) out.unit = unit;
    out.stated = out.stated || unit.has_value();
    // "Fan Speed (%) [%]" and "Fan Speed (RPM) [RPM]" differ in what stands in parentheses.
    if (open == '(' && out.unit && out.unit->suffix == "rpm") break;
    name = trim(name.substr(0, at));
  }
  const std::size_t slash = name.rfind('/');
  if (!out.unit && slash != std::string_view::npos) {
    if (const auto unit = unit_of(name.substr(slash + 1))) {
      out.unit = unit;
      out.stated = true;
      name = trim(name.substr(0, slash));
    }
  }
  out.key = key_of(name);
  if (!out.unit && name.ends_with('%') && Words{words_of(out.key)}.any({"power", "pwr", "tdp"})) {
    out.unit = unit_of("%");
    out.stated = true;
  }
  if (!exact().contains(out.key)) {
    if (const auto unit = unit_in_name(out.key)) {
      if (!out.unit) out.unit = unit;
      out.stated = true;
    }
  }
  return out;
}

// "gpu1_power", "power_gpu_1", "gpu_1_power_draw": the number, taken out of the words.
int lane_of(std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string& w = words[i];
    const auto lane_in = [](std::string_view s) {
      const auto number = s.size() <= 3 ? parse_number<int>(s) : std::nullopt;
      return number && *number >= 0 ? number : std::nullopt;
    };
    if (w.starts_with("gpu")) {
      if (const auto lane = lane_in(std::string_view(w).substr(3))) {
        w = "gpu";
        return *lane;
      }
    }
    if (w == "gpu" && i + 1 < words.size()) {
      if (const auto lane = lane_in(words[i + 1])) {
        words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return *lane;
      }
    }
  }
  return -1;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) {
    if (!out.empty()) out += '_';
    out += w;
  }
  return out;
}

// "Core 0 Clock", "Core Clocks (avg)", "Core Temperatures": a GPU has one core clock, these are a
// processor's.
bool cores_of_a_processor(const std::vector<std::string>& words) {
  const Words all{words};
  if (all.any({"gpu", "dgpu", "sm", "gfx", "graphics"})) return false;
  const auto core = std::ranges::find(words, "core");
  if (core == words.end()) return all.any({"cores"});
  const bool numbered =
      core + 1 != words.end() && (core + 1)->front() >= '0' && (core + 1)->front() <= '9';
  return numbered || all.any({"clocks", "temperatures"});
}

Field power_field(const Words& words, const std::string& key) {
  if (words.any({"limit", "cap", "tdp", "enforced", "max", "min", "default", "requested",
                 "management", "budget", "floor", "target", "maximum", "minimum"})) {
    const bool plain =
        one_of(key, {"power_limit", "current_power_limit", "power_cap", "gpu_power_limit",
                     "power_limit_current", "management_limit", "powercap", "gpu_power_cap"});
    const bool enforced = one_of(key, {"enforced_power_limit"});
    if (plain || enforced) return value("power_limit_w", plain ? 5 : 4, "enforced_power_limit_w");
    return value(with_suffix(key, "w"), 0);
  }
  std::vector<std::string> rail;
  for (const auto& w : words.list) {
    if (one_of(w, {"power",  "draw",      "usage",         "watt",        "watts",    "pwr",
                   "w",      "current",   "reading",       "gpu",         "average",  "avg",
                   "mean",   "instant",   "instantaneous", "consumption", "measure",  "nvml",
                   "nvidia", "smi",       "chip",          "input",       "measured", "dgpu",
                   "asic",   "powerdraw", "powerwatts",    "value",       "graphics", "ergon"})) {
      continue;
    }
    if (w == "system" && words.any({"gpu"})) continue;  // wandb: system.gpu.0.powerWatts
    rail.push_back(w);
  }
  const bool average = words.any({"average", "avg", "mean"});
  const bool instant = words.any({"instant", "instantaneous"});
  if (rail.empty()) {
    if (average) return value("average_power_w", 5);
    if (instant) return value("instant_power_w", 5);
    return value("power_w", words.any({"chip"}) ? 6 : 5, joined(words.list) + "_w");
  }
  std::string name = joined(rail);
  if (name == "mem" || name == "vram" || name == "hbm") name = "memory";
  if (name == "pkg") name = "package";
  // One value of a rail is enough for it; the average is what power.draw means on such boards.
  if (average) return value(name + "_power_w", 5, name + "_average_power_w");
  if (instant) return value(name + "_power_w", 4, name + "_instant_power_w");
  return value(name + "_power_w", 6, with_suffix(key, "w"));
}

}  // namespace

std::string key_of(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0 && u < 0x80) {
      out += static_cast<char>(std::tolower(u));
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (out.ends_with('_')) out.pop_back();
  return out;
}

std::string with_suffix(const std::string& stem, std::string_view suffix) {
  if (suffix.empty()) return stem;
  const std::string tail = "_" + std::string(suffix);
  return stem.ends_with(tail) ? stem : stem + tail;
}

const std::vector<std::string>& canonical_order() {
  static const std::vector<std::string> order = {
      "power_w",       "energy_j",      "clock_hz",   "memory_clock_hz",
      "power_limit_w", "temperature_c", "utilization"};
  return order;
}

std::optional<Unit> default_unit(const std::string& name) {
  if (name.ends_with("power_w") || name.ends_with("limit_w") || name.ends_with("_w"))
    return Unit{"w"};
  if (name.ends_with("clock_hz") || name.ends_with("_hz")) return Unit{"hz", 1e6};
  if (name.ends_with("utilization")) return Unit{"ratio", 1, 100};
  if (name.ends_with("temperature_c")) return Unit{"c"};
  if (name.ends_with("energy_j")) return Unit{"j"};
  return std::nullopt;
}

Field canonical_field(std::string column, std::optional<Unit> unit) {
  Field f;
  f.fixed = true;
  f.text = column == "name" || column == "pstate" || column == "uuid";
  f.unit = unit ? unit : default_unit(column);
  if (!unit && column == "fan_speed_ratio") f.unit = Unit{"ratio", 1, 100};
  if (!unit && column == "memory_used_bytes") f.unit = Unit{"bytes", 1048576};
  f.fallback = column;
  f.name = std::move(column);
  return f;
}

Field field_of(std::string_view header) {
  Header h = header_of(header);
  Field field;
  const auto finish = [&](Field f) {
    f.unit_stated = h.unit.has_value();
    if (h.unit) {
      f.unit = h.unit;
    } else if (!f.unit && f.fixed) {
      f.unit = default_unit(f.name);
    }
    // A header's unit that contradicts the name is another thing: "Power Consumption (%)".
    if (f.fixed && h.unit) {
      const auto usual = default_unit(f.name);
      if (usual && usual->suffix != h.unit->suffix) {
        f.fixed = false;
        f.name = h.key;
        f.fallback = h.key;
        f.rank = 0;
      }
    }
    return f;
  };
  if (const auto found = exact().find(h.key); found != exact().end()) {
    Field f = found->second;
    if (f.role == Field::Role::kTime && h.unit && h.unit->suffix != "s") f = Field{};
    if (f.role != Field::Role::kValue || f.fixed || f.text) return finish(std::move(f));
  }
  std::vector<std::string> list = words_of(h.key);
  const int lane = lane_of(list);
  const Words words{list};
  const std::string key = joined(list);
  const std::string_view unit = h.unit ? h.unit->suffix : std::string_view();
  field.name = h.key;
  field.fallback = h.key;

  const bool setting =
      words.any({"reasons", "event", "throttle", "smoothing", "state", "management", "ecc",
                 "errors", "retired", "remapped", "pages", "profile", "mode", "supported", "smooth",
                 "scaling", "policy", "perfcap"});
  if (!setting) {
    if (unit == "j" || (unit.empty() && words.any({"energy", "joules"}))) {
      std::vector<std::string> rail;
      for (const auto& w : list) {
        if (!one_of(w, {"energy", "joules", "total", "gpu", "consumption", "counter", "consumed",
                        "nvml", "j", "cumulative", "accumulated", "ergon"})) {
          rail.push_back(w);
        }
      }
      std::string name = joined(rail);
      if (name == "pkg") name = "package";
      field = value(name.empty() ? "energy_j" : name + "_energy_j", 5);
    } else if (unit == "w" || (unit.empty() && words.any({"power", "watt", "watts", "pwr",
                                                          "powerdraw", "powerwatts"}))) {
      field = power_field(words, key);
    } else if (cores_of_a_processor(list)) {
      field.fixed = false;
    } else if (unit == "hz" || (unit.empty() && words.any({"clock", "clocks", "freq", "frequency",
                                                           "clk", "mclk", "sclk"}))) {
      const bool memory = words.any({"mem", "memory", "mclk", "vram"});
      const bool other =
          words.any({"max",    "min",  "applications", "default", "video",     "target",  "soc",
                     "vclk",   "dclk", "boost",        "base",    "requested", "app",     "cpu",
                     "locked", "set",  "limit",        "fclk",    "bzy",       "dcefclk", "socclk",
                     "lclk",   "pcie", "deep",         "sleep",   "req"});
      const bool level = words.any({"level"});
      if (!other && level) {
        field = value(memory ? "memory_clock_hz" : "clock_hz", 3, key);
        field.needs_unit = true;
      } else if (!other && memory) {
        field = value("memory_clock_hz", 5, with_suffix(key, "hz"));
      } else if (!other) {
        const bool graphics = words.any({"graphics", "gr", "gfx"});
        field = value("clock_hz", graphics ? 4 : 5,
                      graphics && list.size() < 4 ? "graphics_clock_hz" : with_suffix(key, "hz"));
      }
    } else if (unit == "c" || (unit.empty() && words.any({"temp", "temperature", "tmp"}))) {
      const bool other =
          words.any({"tlimit", "limit", "hotspot", "hot", "spot", "slowdown", "shutdown", "max",
                     "min", "target", "cpu", "vr", "junction", "edge", "margin", "case"});
      if (!other && words.any({"mem", "memory", "hbm", "vram"})) {
        field = value("memory_temperature_c", 5);
      } else if (!other || words.any({"edge"})) {
        field = value("temperature_c", words.any({"edge"}) ? 4 : 5);
      }
    } else if (unit == "ratio" ||
               (unit.empty() && words.any({"utilization", "util", "load", "utilisation"}))) {
      const bool other =
          words.any({"encoder", "decoder",    "jpeg",  "ofa",         "video", "engine", "fan",
                     "cpu",     "bus",        "power", "consumption", "enc",   "dec",    "sm",
                     "alloc",   "multiplier", "tdp",   "speed",       "pwm",   "vram",   "used"});
      if (!other && words.any({"mem", "memory", "controller"})) {
        field = value("memory_utilization", 5);
      } else if (!other &&
                 words.any({"gpu", "utilization", "util", "load", "utilisation", "use", "busy"})) {
        field = value("utilization", 5);
      }
    }
  }
  field.lane = field.fixed ? lane : -1;
  return finish(std::move(field));
}

bool known_name(std::string_view header) {
  const Field f = field_of(header);
  return f.role != Field::Role::kValue || f.fixed || f.text || f.unit_stated;
}

}  // namespace ergon::meter::logs
