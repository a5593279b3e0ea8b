// InfluxDB's line protocol, as Telegraf's plugins for GPUs write it:
// "nvidia_smi,index=0,name=A100 power_draw=61.2,temperature_gpu=41i 1700000000000000000".
#include <algorithm>
#include <cmath>
#include <map>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

struct LinePoint {
  std::string measurement;
  std::vector<std::pair<std::string, std::string>> tags;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string_view time;
};

// A name or an unquoted value up to one of `ends`; a backslash protects what follows.
std::string word_at(std::string_view text, std::size_t& at, std::string_view ends) {
  std::string out;
  while (at < text.size() && ends.find(text[at]) == std::string_view::npos) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    out += text[at++];
  }
  return out;
}

std::optional<std::string> value_at(std::string_view text, std::size_t& at) {
  if (at < text.size() && text[at] == '"') {
    ++at;
    std::string out = word_at(text, at, "\"");
    if (at >= text.size()) return std::nullopt;
    ++at;
    return out;
  }
  std::string out = word_at(text, at, ", ");
  if (out.empty()) return std::nullopt;
  if (out == "t" || out == "T" || out == "f" || out == "F" || same(out, "true") ||
      same(out, "false"))
    return out;
  const auto number = number_of(out);
  if (!number) return std::nullopt;
  if (number->rest.empty()) return out;
  if (number->rest != "i" && number->rest != "u") return std::nullopt;
  out.pop_back();
  return out;
}

// nullopt: this is no line of it, or it is cut.
std::optional<LinePoint> parse_point(std::string_view t) {
  LinePoint p;
  std::size_t at = 0;
  p.measurement = word_at(t, at, ", =");
  if (p.measurement.empty() || at >= t.size() || t[at] == '=') return std::nullopt;
  const char first = p.measurement.front();
  if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_'))
    return std::nullopt;
  while (t[at] == ',') {
    ++at;
    std::string key = word_at(t, at, "=, ");
    if (key.empty() || at >= t.size() || t[at] != '=') return std::nullopt;
    ++at;
    std::string value = word_at(t, at, ", ");
    if (at >= t.size()) return std::nullopt;
    p.tags.emplace_back(std::move(key), std::move(value));
  }
  do {
    ++at;  // the blank before the fields, or the comma between them
    std::string key = word_at(t, at, "=, ");
    if (key.empty() || at >= t.size() || t[at] != '=') return std::nullopt;
    ++at;
    auto value = value_at(t, at);
    if (!value) return std::nullopt;
    p.fields.emplace_back(std::move(key), std::move(*value));
  } while (at < t.size() && t[at] == ',');
  if (at < t.size()) {
    if (t[at] != ' ') return std::nullopt;
    p.time = trim(t.substr(at));
    const bool whole = std::ranges::all_of(p.time, [](char c) { return c >= '0' && c <= '9'; });
    if (!whole || p.time.empty() || p.time.size() > 19) return std::nullopt;
  }
  return p;
}

class LineProtocol final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override {
    std::string_view t = trim(line.text);
    if (t.starts_with("> ")) t = trim(t.substr(2));  // telegraf --test
    if (t.find('=') == std::string_view::npos) return false;
    const auto point = parse_point(t);
    // Without tags and a date it may be what any poller prints.
    const bool sure = point && (!point->tags.empty() || point->time.size() >= 10);
    if (!sure || (line.unended && running_ && point->time.size() != digits_)) {
      if (!running_ || !line.unended) return false;
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    running_ = true;
    digits_ = point->time.size();
    if (!keep(*point, line.number, out)) out.skip("measurements that are no reading of a GPU");
    return true;
  }

  void end(Builder& out) override {
    for (const auto& [key, row] : rows_) emit(row, &key, out);
    rows_.clear();
  }

 private:
  struct Row {
    std::uint64_t line = 0;
    std::string gpu;
    bool processor = false;
    std::vector<std::pair<Field, std::string>> cells;
  };
  struct Key {
    Nanos ns = 0;
    std::string gpu;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  bool keep(const LinePoint& point, std::uint64_t line, Builder& out) {
    Row row{.line = line,
            .gpu = gpu_of(point),
            .processor = point.measurement.starts_with("powerstat"),
            .cells = {}};
    bool reading = false;
    bool draw = false;
    for (const auto& [name, value] : point.fields) {
      const bool bare = name == "value" || name == "gauge" || name == "counter";
      Field field = field_of(bare ? point.measurement : name);
      if (field.role != Field::Role::kValue) continue;
      if (row.processor) {
        if (name != "current_power_consumption_watts" &&
            name != "current_dram_power_consumption_watts")
          continue;
        const bool dram = name.find("dram") != std::string::npos;
        field = canonical_field(dram ? "dram_power_w" : "package_power_w");
      } else if (point.measurement == "nvidia_smi" &&
                 (name == "memory_used" || name == "fan_speed")) {
        field = canonical_field(name == "fan_speed" ? "fan_speed_ratio" : "memory_used_bytes");
      }
      draw = draw || (field.fixed && (field.name.ends_with("power_w") || field.name == "energy_j"));
      reading = reading || field.fixed;
      row.cells.emplace_back(std::move(field), value);
    }
    // Without a GPU's tag only a draw tells that it is not a disk's or a processor's temperature.
    const bool ours = row.processor || !row.gpu.empty() || point.tags.empty();
    if (!reading || !ours || (row.gpu.empty() && !draw)) return false;
    for (const auto& [name, value] : point.tags) {
      const Field field = field_of(name);
      if (field.text && field.name != "host") row.cells.emplace_back(field, value);
    }
    const auto stamp = point.time.empty() ? std::nullopt : number_time(point.time, std::nullopt);
    if (!stamp || stamp->kind != Stamp::Kind::kUtc) {
      emit(row, nullptr, out);
      return true;
    }
    // The same series at the same time is one point, whatever line its fields stand on.
    auto [at, fresh] = rows_.try_emplace(Key{stamp->ns, row.gpu}, row);
    if (!fresh) {
      for (auto& cell : row.cells) {
        const auto known = std::ranges::find(at->second.cells, cell.first.name,
                                             [](const auto& c) { return c.first.name; });
        if (known == at->second.cells.end()) {
          at->second.cells.push_back(std::move(cell));
        } else {
          known->second = std::move(cell.second);
        }
      }
    }
    return true;
  }

  // By the tag that tells GPUs apart best. Another host's GPU of the same number is another one.
  std::string gpu_of(const LinePoint& point) {
    std::string id;
    std::string host;
    int rank = 0;
    for (const auto& [name, value] : point.tags) {
      const Field field = field_of(name);
      if (name == "host" || name == "hostname") host = value;
      // rocm-smi's gpu_id is the model's, and its name is the card.
      const bool card = name == "name" && value.starts_with("card");
      const int its = card ? 9 : field.role == Field::Role::kGpu ? field.rank : 0;
      if (its > rank && !value.empty()) {
        rank = its;
        id = value;
      }
    }
    if (id.empty() || host.empty()) return id;
    const auto [first, fresh] = host_of_.emplace(id, host);
    return first->second == host ? id : host + ':' + id;
  }

  static void emit(const Row& row, const Key* key, Builder& out) {
    out.format("line protocol");
    out.begin_row(row.line);
    if (key != nullptr) out.set_time({Stamp::Kind::kUtc, key->ns});
    if (!row.gpu.empty()) out.set_gpu(row.gpu);
    if (row.processor) out.no_gpu();
    std::vector<std::string> used;
    for (const auto& [field, text] : row.cells) {
      if (std::ranges::find(used, field.name) != used.end()) continue;
      used.push_back(field.name);
      out.set_cell(field, text);
    }
  }

  bool running_ = false;
  std::size_t digits_ = 0;  ///< of the last time, 0 where there was none
  std::map<std::string, std::string> host_of_;
  std::map<Key, Row> rows_;
};

}  // namespace

std::unique_ptr<Reader> line_protocol_reader() { return std::make_unique<LineProtocol>(); }

}  // namespace ergon::meter::logs
