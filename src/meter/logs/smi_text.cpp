// nvidia-smi -q as text and as XML: one row a GPU and report.
#include <algorithm>
#include <map>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

// What the two forms call the same thing. Drivers before 535 have "Power Readings", later ones "GPU
// Power Readings", and rails of their own beside it. Sections are compared without their blanks.
struct QueryKey {
  const char* section;
  const char* key;
  const char* column;
};
constexpr QueryKey kQueryKeys[] = {
    {"power readings", "power draw", "power_w"},
    {"power readings", "average power draw", "average_power_w"},
    {"power readings", "instantaneous power draw", "instant_power_w"},
    {"power readings", "instant power draw", "instant_power_w"},
    {"power readings", "power limit", "power_limit_w"},
    {"power readings", "current power limit", "power_limit_w"},
    {"power readings", "enforced power limit", "enforced_power_limit_w"},
    {"power readings", "default power limit", "default_power_limit_w"},
    {"power readings", "min power limit", "min_power_limit_w"},
    {"power readings", "max power limit", "max_power_limit_w"},
    {"gpu power readings", "power draw", "power_w"},
    {"gpu power readings", "average power draw", "average_power_w"},
    {"gpu power readings", "instantaneous power draw", "instant_power_w"},
    {"gpu power readings", "instant power draw", "instant_power_w"},
    {"gpu power readings", "current power limit", "power_limit_w"},
    {"gpu power readings", "requested power limit", "requested_power_limit_w"},
    {"gpu power readings", "default power limit", "default_power_limit_w"},
    {"gpu power readings", "min power limit", "min_power_limit_w"},
    {"gpu power readings", "max power limit", "max_power_limit_w"},
    {"gpu memory power readings", "average power draw", "memory_power_w"},
    {"gpu memory power readings", "power draw", "memory_power_w"},
    {"gpu memory power readings", "instantaneous power draw", "memory_instant_power_w"},
    {"module power readings", "power draw", "module_power_w"},
    {"module power readings", "average power draw", "module_power_w"},
    {"module power readings", "instantaneous power draw", "module_instant_power_w"},
    {"module power readings", "current power limit", "module_power_limit_w"},
    {"clocks", "sm", "clock_hz"},
    {"clocks", "sm clock", "clock_hz"},
    {"clocks", "graphics", "graphics_clock_hz"},
    {"clocks", "graphics clock", "graphics_clock_hz"},
    {"clocks", "memory", "memory_clock_hz"},
    {"clocks", "mem clock", "memory_clock_hz"},
    {"temperature", "gpu current temp", "temperature_c"},
    {"temperature", "gpu temp", "temperature_c"},
    {"temperature", "gpu", "temperature_c"},
    {"temperature", "memory current temp", "memory_temperature_c"},
    {"temperature", "memory temp", "memory_temperature_c"},
    {"utilization", "gpu", "utilization"},
    {"utilization", "gpu util", "utilization"},
    {"utilization", "memory", "memory_utilization"},
    {"utilization", "memory util", "memory_utilization"},
    {"fb memory usage", "used", "memory_used_bytes"},
    {"", "product name", "name"},
    {"", "performance state", "pstate"},
    {"", "fan speed", "fan_speed_ratio"},
    {"", "gpu uuid", "uuid"},
    {"", "uuid", "uuid"},
};

// One GPU of one report, collected before it becomes a row.
class Report {
 public:
  void begin(std::string id, std::uint64_t line) {
    id_ = std::move(id);
    line_ = line;
    open_ = true;
    values_.clear();
  }
  [[nodiscard]] bool open() const { return open_; }
  void time(std::string_view text) { time_ = wall_time(text); }
  void note(const std::string& section, const std::string& key, std::string_view value) {
    if (!open_) return;
    for (const QueryKey& k : kQueryKeys) {
      if (section != k.section || key != k.key) continue;
      // "MIG Device" and other blocks repeat names; the first is the GPU's own.
      values_.emplace(k.column, std::string(value));
      return;
    }
  }
  void close(Builder& out) {
    if (!open_) return;
    open_ = false;
    const auto has = [&](const char* name) { return values_.contains(name); };
    // A report of another sort (-d SUPPORTED_CLOCKS) holds no reading.
    if (!has("power_w") && !has("average_power_w") && !has("instant_power_w") && !has("clock_hz") &&
        !has("graphics_clock_hz") && !has("temperature_c") && !has("utilization") &&
        !has("module_power_w")) {
      out.skip("nvidia-smi reports without readings");
      return;
    }
    out.format("nvidia-smi -q");
    out.begin_row(line_);
    if (time_) out.set_time(*time_);
    out.set_gpu(id_);
    // power.draw is the average where there is one, else the instantaneous draw.
    if (!has("power_w")) {
      const bool average = has("average_power_w") && !missing_marker(values_["average_power_w"]);
      const char* from = average ? "average_power_w" : "instant_power_w";
      if (has(from)) values_["power_w"] = values_[from];
    }
    if (!has("clock_hz") && has("graphics_clock_hz"))
      values_["clock_hz"] = values_["graphics_clock_hz"];
    for (const auto& [column, value] : values_) out.set_cell(canonical_field(column), value);
  }

 private:
  std::string id_;
  std::uint64_t line_ = 0;
  bool open_ = false;
  std::optional<Stamp> time_;
  std::map<std::string, std::string> values_;
};

class QueryText final : public Reader {
 public:
  bool begins(const Line& line) override {
    if (line.text.find("NVSMI LOG") == std::string_view::npos) return false;
    sections_.clear();
    running_ = true;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (!running_) return false;
    const std::string_view text = line.text;
    const std::string_view trimmed = trim(text);
    if (trimmed.empty()) return true;
    const std::size_t indent = static_cast<std::size_t>(trimmed.data() - text.data());
    const std::size_t colon = trimmed.find(" : ");
    const bool tail = trimmed.ends_with(" :");
    if (colon == std::string_view::npos && !tail) {
      if (indent == 0) {
        if (trimmed.starts_with("GPU ") && trimmed.find(':') != std::string_view::npos) {
          report_.close(out);
          report_.begin(std::string(trim(trimmed.substr(4))), line.number);
          sections_.clear();
          return true;
        }
        report_.close(out);
        running_ = false;
        return false;
      }
      while (!sections_.empty() && sections_.back().first >= indent) sections_.pop_back();
      sections_.emplace_back(indent, lower(trimmed));
      return true;
    }
    const std::string key = lower(
        trim(trimmed.substr(0, colon == std::string_view::npos ? trimmed.size() - 2 : colon)));
    const std::string_view value =
        colon == std::string_view::npos ? std::string_view() : trim(trimmed.substr(colon + 3));
    if (indent == 0) {
      if (key == "timestamp") {
        report_.close(out);  // the last GPU of the report before has that report's time
        report_.time(value);
      } else if (key != "driver version" && key != "cuda version" && key != "attached gpus") {
        report_.close(out);
        running_ = false;
        return false;
      }
      return true;
    }
    while (!sections_.empty() && sections_.back().first >= indent) sections_.pop_back();
    report_.note(sections_.empty() ? std::string() : sections_.back().second, key, value);
    return true;
  }

  void end(Builder& out) override { report_.close(out); }

 private:
  bool running_ = false;
  std::vector<std::pair<std::size_t, std::string>> sections_;
  Report report_;
};

// nvidia-smi -q -x writes one element a line.
class QueryXml final : public Reader {
 public:
  bool begins(const Line& line) override {
    const std::string_view text = trim(line.text);
    if (text.starts_with("<?xml") || text.starts_with("<!DOCTYPE nvidia_smi_log"))
      return text.find("<nvidia_smi_log>") == std::string_view::npos;
    if (!text.starts_with("<nvidia_smi_log") || text.find('<', 1) != std::string_view::npos)
      return false;
    running_ = true;
    path_.clear();
    return true;
  }

  // Also where all elements stand on one line.
  bool take(const Line& line, Builder& out) override {
    std::string_view text = trim(line.text);
    if (!running_ && text.find("<nvidia_smi_log>") == std::string_view::npos) return false;
    while (!text.empty()) {
      const std::size_t end = text.find("><");
      const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
      if (!element(text.substr(0, size), line, out)) return false;
      text = trim(text.substr(size));
    }
    return true;
  }

  void end(Builder& out) override { report_.close(out); }

 private:
  bool element(std::string_view text, const Line& line, Builder& out) {
    if (text.starts_with("<nvidia_smi_log")) {
      running_ = true;
      path_.clear();
      return true;
    }
    if (!running_) return text.starts_with("<?") || text.starts_with("<!");
    if (text.empty() || text.front() != '<') return text.empty();
    if (text.starts_with("</")) {
      if (text.starts_with("</nvidia_smi_log")) {
        running_ = false;
        return true;
      }
      if (text.starts_with("</gpu>")) report_.close(out);
      if (!path_.empty()) path_.pop_back();
      return true;
    }
    if (text.starts_with("<?") || text.starts_with("<!")) return true;
    const std::size_t name_end = text.find_first_of(" >/", 1);
    const std::size_t open_end = text.find('>');
    if (name_end == std::string_view::npos || open_end == std::string_view::npos) return true;
    const std::string name(text.substr(1, name_end - 1));
    const std::size_t close = text.find("</", open_end);
    if (text[open_end - 1] == '/') return true;  // <empty/>
    if (close == std::string_view::npos) {
      if (name == "gpu") {
        const std::size_t id = text.find("id=\"");
        const std::size_t from = id == std::string_view::npos ? 0 : id + 4;
        const std::size_t to = text.find('"', from);
        report_.begin(id == std::string_view::npos || to == std::string_view::npos
                          ? "0"
                          : std::string(text.substr(from, to - from)),
                      line.number);
        path_.clear();
        return true;
      }
      path_.push_back(spoken(name));
      return true;
    }
    const std::string_view value = trim(text.substr(open_end + 1, close - open_end - 1));
    if (name == "timestamp") {
      report_.time(value);
    } else {
      report_.note(path_.empty() ? std::string() : path_.back(), spoken(name), value);
    }
    return true;
  }

  static std::string spoken(std::string name) {
    std::ranges::replace(name, '_', ' ');
    return name;
  }
  bool running_ = false;
  std::vector<std::string> path_;
  Report report_;
};

// The table that a bare nvidia-smi prints. Rounded figures of one moment: data only where there is
// nothing else.
class Banner final : public Reader {
 public:
  bool begins(const Line& line) override {
    const std::string_view t = trim(line.text);
    if (!t.starts_with("+--") && !t.starts_with("|") &&
        !(t.starts_with("+") && t.find("---") != std::string_view::npos)) {
      // "Fri Dec  3 13:29:07 2021" stands above the table.
      if (!t.empty() && t.front() >= 'A' && t.front() <= 'Z' && t.size() < 40) {
        if (const auto stamp = wall_time(t)) {
          time_ = stamp;
          return true;
        }
      }
      return false;
    }
    if (first_ == 0) first_ = line.number;
    read(t, line.number);
    return true;
  }
  bool take(const Line& line, Builder& out) override {
    static_cast<void>(line);
    static_cast<void>(out);
    return false;
  }

  void end(Builder& out) override {
    if (first_ == 0) return;
    if (out.rows() > 0 || rows_.empty()) {
      out.defect(first_, "banner", "the table of a bare nvidia-smi");
      out.skip("nvidia-smi table");
      return;
    }
    out.format("nvidia-smi table");
    for (const Row& r : rows_) {
      out.begin_row(r.line);
      if (r.time) out.set_time(*r.time);
      out.set_gpu(r.id);
      for (const auto& [column, value] : r.values) out.set_cell(canonical_field(column), value);
    }
  }

 private:
  struct Row {
    std::uint64_t line = 0;
    std::string id;
    std::optional<Stamp> time;
    std::vector<std::pair<std::string, std::string>> values;
  };

  void read(std::string_view line, std::uint64_t number) {
    if (!line.starts_with("|")) return;
    if (line.find("Processes:") != std::string_view::npos) processes_ = true;
    if (line.find("NVIDIA-SMI") != std::string_view::npos) processes_ = false;
    if (processes_) return;
    // "|   0  Tesla V100-PCIE...  On   | 00000000:58:00.0 Off |                    0 |"
    if (line.find(':') != std::string_view::npos && line.find("Bus-Id") == std::string_view::npos &&
        line.find("Version") == std::string_view::npos &&
        line.find("Pwr:") == std::string_view::npos) {
      const std::string_view first = trim(line.substr(1));
      const auto index = number_of(first);
      if (index && index->decimals < 0) {
        id_ = std::to_string(static_cast<long long>(index->value));
        std::string_view name = trim(index->rest.substr(0, index->rest.find('|')));
        // The persistence mode stands after the name.
        const std::size_t gap = name.rfind("  ");
        if (gap != std::string_view::npos) name = trim(name.substr(0, gap));
        name_ = std::string(name);
      }
      return;
    }
    // "| N/A   30C    P0    25W / 250W |      0MiB / 32510MiB |      0%      Default |"
    const std::size_t slash = line.find(" / ");
    if (slash == std::string_view::npos || id_.empty()) return;
    const std::string_view cell = line.substr(1, line.find('|', 1) - 1);
    std::vector<std::string_view> words;
    split_blanks(cell, words);
    const auto bar = std::ranges::find(words, std::string_view("/"));
    if (bar == words.end() || bar == words.begin()) return;
    Row row{number, id_, time_, {}};
    if (!name_.empty()) row.values.emplace_back("name", name_);
    row.values.emplace_back("power_w", std::string(*(bar - 1)));
    if (bar + 1 != words.end()) row.values.emplace_back("power_limit_w", std::string(*(bar + 1)));
    for (const std::string_view w : words) {
      if (w.size() >= 2 && w.back() == 'C' && w.front() >= '0' && w.front() <= '9') {
        row.values.emplace_back("temperature_c", std::string(w));
      } else if (w.size() >= 2 && w.size() <= 3 && w.front() == 'P' && w[1] >= '0' && w[1] <= '9') {
        row.values.emplace_back("pstate", std::string(w));
      } else if (w.ends_with('%')) {
        row.values.emplace_back("fan_speed_ratio", std::string(w));
      }
    }
    const std::size_t second = line.find('|', 1);
    const std::size_t third =
        second == std::string_view::npos ? second : line.find('|', second + 1);
    if (third != std::string_view::npos) {
      split_blanks(line.substr(second + 1, third - second - 1), words);
      if (!words.empty()) row.values.emplace_back("memory_used_bytes", std::string(words.front()));
      split_blanks(line.substr(third + 1), words);
      if (!words.empty()) row.values.emplace_back("utilization", std::string(words.front()));
    }
    rows_.push_back(std::move(row));
    id_.clear();
    name_.clear();
  }

  std::uint64_t first_ = 0;
  bool processes_ = false;
  std::string id_;
  std::string name_;
  std::optional<Stamp> time_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Reader> smi_query_text_reader() { return std::make_unique<QueryText>(); }
std::unique_ptr<Reader> smi_xml_reader() { return std::make_unique<QueryXml>(); }
std::unique_ptr<Reader> banner_reader() { return std::make_unique<Banner>(); }

}  // namespace ergon::meter::logs
