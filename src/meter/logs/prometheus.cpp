// Prometheus text: the DCGM exporter, nvidia_gpu_exporter, and whoever names things alike.
#include <algorithm>
#include <cmath>
#include <map>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

bool name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

struct Sample {
  std::string name;
  std::map<std::string, std::string, std::less<>> labels;
  std::string_view value;
  std::string_view time;
};

std::optional<Sample> parse(std::string_view text) {
  Sample s;
  std::size_t at = 0;
  while (at < text.size() && name_char(text[at])) ++at;
  if (at < 3 || (text[0] >= '0' && text[0] <= '9')) return std::nullopt;
  s.name = std::string(text.substr(0, at));
  if (at < text.size() && text[at] == '{') {
    ++at;
    while (at < text.size() && text[at] != '}') {
      while (at < text.size() && (text[at] == ',' || text[at] == ' ')) ++at;
      if (at < text.size() && text[at] == '}') break;
      const std::size_t key = at;
      while (at < text.size() && name_char(text[at])) ++at;
      const std::string label(text.substr(key, at - key));
      if (label.empty() || at + 1 >= text.size() || text[at] != '=' || text[at + 1] != '"')
        return std::nullopt;
      at += 2;
      std::string value;
      while (at < text.size() && text[at] != '"') {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        value += text[at++];
      }
      if (at >= text.size()) return std::nullopt;
      ++at;
      s.labels[lower(label)] = value;
    }
    if (at >= text.size()) return std::nullopt;
    ++at;
  } else if (at >= text.size() || text[at] != ' ') {
    return std::nullopt;
  }
  std::vector<std::string_view> words;
  split_blanks(text.substr(at), words);
  if (words.empty() || words.size() > 2) return std::nullopt;
  s.value = words[0];
  if (!number_of(s.value) && !missing_marker(s.value) && !same(s.value, "+inf") &&
      !same(s.value, "-inf")) {
    return std::nullopt;
  }
  if (words.size() == 2) s.time = words[1];
  return s;
}

// Prometheus stamps are whole milliseconds; those of OpenMetrics are seconds, with a fraction or
// too few for a date in milliseconds.
double unit_of_stamp(std::string_view text) {
  constexpr double kLeastDate = 6e8;
  constexpr double kLeastDateMs = 1e11;
  const auto number = number_of(text);
  if (!number) return 1e-3;
  const bool seconds =
      number->decimals >= 0 || (number->value > kLeastDate && number->value < kLeastDateMs);
  return seconds ? 1 : 1e-3;
}

class Prometheus final : public Reader {
 public:
  bool begins(const Line& line) override {
    const std::string_view t = trim(line.text);
    if (t.starts_with("# HELP ") || t.starts_with("# TYPE ") || t.starts_with("# UNIT ") ||
        t == "# EOF") {
      running_ = true;
      return true;
    }
    if (!running_ && (t.find('{') == std::string_view::npos || !parse(t))) return false;
    running_ = true;
    return false;  // the sample itself goes through take()
  }

  bool take(const Line& line, Builder& out) override {
    if (!running_) return false;
    const std::string_view t = trim(line.text);
    if (t.empty()) return true;
    const auto sample = parse(t);
    if (!sample) {
      if (line.unended) {
        out.defect(line.number, "truncated_line", "the last line is cut");
        out.skip("truncated last line");
        return true;
      }
      return false;
    }
    const std::string key = key_of(sample->name);
    Field field = field_of(sample->name);
    const bool ours = key.starts_with("dcgm_") || key.starts_with("nvidia_") ||
                      key.starts_with("amd_") || key.starts_with("gpu_") ||
                      key.starts_with("energy_monitor_") || field.fixed;
    const std::string gpu = gpu_of(*sample);
    if (!ours || (gpu.empty() && !field.fixed)) {
      out.skip("metrics that are no reading of a GPU");
      return true;
    }
    if (!field.fixed && !interesting(key)) {
      out.skip("metrics that are no reading of a sensor");
      return true;
    }
    // A series that comes again begins the next scrape.
    const std::string instance = label(*sample, "gpu_i_id");
    const std::string series = sample->name + '\n' + gpu + '\n' + instance;
    if (seen_.contains(series)) flush(out);
    seen_.insert({series, true});
    Row& row = row_of(gpu, line.number);
    if (!instance.empty()) row.mig = true;
    if (!sample->time.empty()) {
      if (const auto stamp = number_time(sample->time, unit_of_stamp(sample->time)))
        row.time = stamp;
    }
    const auto number = number_of(sample->value);
    const double value = number && std::isfinite(number->value)
                             ? (field.unit ? apply(*field.unit, *number) : number->value)
                             : kMissing;
    const std::string column =
        field.unit && !field.fixed ? with_suffix(field.name, field.unit->suffix) : field.name;
    const auto [at, fresh] = row.values.emplace(column, value);
    if (fresh) {
      row.order.push_back(column);
    } else {
      // Each MIG instance repeats what the whole GPU draws: summing would multiply it.
      if (!instance.empty()) {
        out.defect(line.number, "mig_repeats_parent", "instance " + instance + " of GPU " + gpu);
      }
      if (is_missing(at->second) || value > at->second) at->second = value;
    }
    return true;
  }

  void end(Builder& out) override { flush(out); }

 private:
  struct Row {
    std::string gpu;
    std::uint64_t line = 0;
    std::optional<Stamp> time;
    bool mig = false;
    std::map<std::string, double> values;
    std::vector<std::string> order;
  };

  static std::string label(const Sample& s, std::string_view name) {
    const auto found = s.labels.find(name);
    return found == s.labels.end() ? std::string() : found->second;
  }
  static std::string gpu_of(const Sample& s) {
    for (const char* name :
         {"gpu", "index", "minor_number", "gpu_id", "device", "uuid", "gpu_uuid", "pci_bus_id"}) {
      if (const auto id = label(s, name); !id.empty()) return id;
    }
    return {};
  }
  static bool interesting(const std::string& key) {
    for (const char* word : {"power", "energy", "clock", "temp", "util", "fan", "memory_used",
                             "fb_used", "throttle", "prof_"}) {
      if (key.find(word) != std::string::npos) return true;
    }
    return false;
  }
  Row& row_of(const std::string& gpu, std::uint64_t line) {
    for (Row& r : rows_) {
      if (r.gpu == gpu) return r;
    }
    rows_.push_back({gpu, line, {}, false, {}, {}});
    return rows_.back();
  }
  void flush(Builder& out) {
    for (const Row& r : rows_) {
      out.format("prometheus text");
      out.begin_row(r.line);
      if (r.time) out.set_time(*r.time);
      if (!r.gpu.empty()) out.set_gpu(r.gpu);
      for (const auto& column : r.order) out.set(out.column(column, false), r.values.at(column));
    }
    rows_.clear();
    seen_.clear();
  }

  bool running_ = false;
  std::map<std::string, bool> seen_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<Reader> prometheus_reader() { return std::make_unique<Prometheus>(); }

}  // namespace ergon::meter::logs
